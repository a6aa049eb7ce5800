/*
 * The parts of a run, each measured by itself: launches that do nothing, the
 * computation without communication, stores to peers, copies in a rank's own
 * memory, and what a recorded run says of meetings.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/choices/machine.h"
#include "tools/bench/bench.h"
#include "tools/perf/kernels/kernels.h"

/* ------------------------------------------------------------------ a kernel in a row */

enum { LAUNCHES = 64, CHUNK_BYTES = 1 << 16 };

/** Launches of one kernel, one directly behind the other. */
typedef struct row_of_launches {
	bench_session_t *session;
	perf_move_args_t args;
	int blocks, count;
} row_of_launches_t;

static tsr_status_t launch(const row_of_launches_t *row, int count)
{
	tsr_stream_t *stream = row->session->workload->stream(row->session->run);
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = tsr_launch(stream, &perf_copy, row->blocks, &row->args);
	return status;
}

/** All launches of the row, behind one more that is not counted. */
static tsr_status_t time_row(void *ctx, uint64_t *ns_out)
{
	const row_of_launches_t *row = ctx;
	bench_session_t *session = row->session;
	tsr_stream_t *stream = session->workload->stream(session->run);
	tsr_status_t status = tsr_barrier(session->world);
	if (status == TSR_OK)
		status = launch(row, 1);
	if (status == TSR_OK)
		status = tsr_event_record(session->begin, stream);
	if (status == TSR_OK)
		status = launch(row, row->count);
	if (status == TSR_OK)
		status = tsr_event_record(session->end, stream);
	if (status == TSR_OK)
		status = session->workload->sync(session->run);
	return status == TSR_OK ? tsr_event_elapsed_ns(session->begin, session->end, ns_out)
				: status;
}

/** The median time of one launch. Collective. */
static tsr_status_t time_launches(bench_session_t *session, const perf_move_args_t *args, int count,
				  double *ns_out)
{
	const bench_sampling_t sampling = {session->options->iterations, 1, 0};
	tsr_device_props_t device = {.size = sizeof device};
	bench_times_t times = {.count = 0};
	tsr_status_t status = tsr_world_device(session->world, &device);
	row_of_launches_t row = {session, *args, device.resident_blocks, count};
	if (status == TSR_OK)
		status = bench_sample(session->world, &sampling, time_row, &row, &times);
	*ns_out = (double)bench_median_ns(&times) / count;
	bench_times_free(&times);
	return status;
}

/* ------------------------------------------------------------------ stores to peers */

typedef struct stores {
	bench_baseline_t *baseline;
	bench_timed_t timed;
} stores_t;

static tsr_status_t time_stores(void *ctx, uint64_t *ns_out)
{
	const stores_t *stores = ctx;
	return bench_baseline_time(stores->baseline, &stores->timed, ns_out);
}

static tsr_status_t measure_stores(bench_session_t *session, bench_baseline_t *b, double *gbps_out)
{
	const bench_sampling_t sampling = {session->options->iterations, session->options->warmup,
					   0};
	stores_t stores = {b, {0, 0, BENCH_PUSH_ALL}};
	const size_t others = (size_t)tsr_world_size(session->world) - 1;
	bench_times_t times = {.count = 0};
	if (bench_baseline_missing(b, &stores.timed))
		return TSR_OK;
	const tsr_status_t status =
		bench_sample(session->world, &sampling, time_stores, &stores, &times);
	const uint64_t ns = bench_median_ns(&times);
	*gbps_out = ns ? (double)(others * bench_baseline_push_bytes(b)) / (double)ns : 0;
	bench_times_free(&times);
	return status;
}

/** A machine that is simulated has no libraries to measure with: the rate in its file. */
static tsr_status_t look_up_rate(const bench_session_t *session, double *gbps_out)
{
	tsr_device_props_t device;
	workload_place_t place;
	const tsr_status_t status = machine_place(session->world, &device, &place);
	if (status == TSR_OK)
		*gbps_out = place.ranks > 2 ? place.machine->link_all : place.machine->link_pair;
	return status;
}

/** The rate of plain stores, each rank to each other. */
static tsr_status_t measure_rate(bench_session_t *session, double *gbps_out)
{
	char sentence[1024];
	bench_baseline_t *b = NULL;
	if (!bench_has_baseline(tsr_world_backend(session->world)))
		return look_up_rate(session, gbps_out);
	const bench_task_t task = {session->workload, &session->options->config, session->run};
	tsr_status_t status = bench_baseline_open(session->world, &task, &b);
	if (status == TSR_OK)
		status = measure_stores(session, b, gbps_out);
	(void)snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	const tsr_status_t closed = bench_baseline_close(b, status != TSR_OK);
	return status == TSR_OK ? closed : tsr_error(status, "%s", sentence);
}

/** Stores and the computation, where --baseline has not measured them. */
static tsr_status_t measure_both(bench_session_t *session, bench_alone_t *alone)
{
	workload_config_t ignored;
	bench_times_t computing = {.count = 0};
	tsr_status_t status = TSR_OK;
	if (tsr_world_size(session->world) > 1)
		status = measure_rate(session, &alone->send_gbps);
	if (status == TSR_OK)
		status = bench_own_measure(session, &ignored, &computing);
	alone->compute_ns = bench_median_ns(&computing);
	bench_times_free(&computing);
	return status;
}

tsr_status_t bench_alone_measure(bench_session_t *session, const bench_theirs_t *theirs,
				 bench_alone_t *alone)
{
	const perf_move_args_t nothing = {.repeats = 0};
	double launch_ns = 0;
	const tsr_status_t status = time_launches(session, &nothing, LAUNCHES, &launch_ns);
	alone->launch_ns = (uint64_t)launch_ns;
	if (status != TSR_OK || !theirs->measured)
		return status == TSR_OK ? measure_both(session, alone) : status;
	alone->send_gbps = theirs->all_gbps;
	alone->compute_ns = bench_median_ns(&theirs->own);
	return TSR_OK;
}

/* ------------------------------------------------------------------ intermediates */

/**
 * The time of a copy that reads half of `bytes` and writes the other half, or of
 * a smaller one where there is no room. Negative: there is none at all.
 */
static tsr_status_t time_between(bench_session_t *session, double bytes, double *ns_out)
{
	const size_t most = (size_t)128 << 20, line = 4096;
	tsr_heap_usage_t heap = {.size = sizeof heap};
	TSR_HEAP void *memory = NULL;
	tsr_status_t status = tsr_heap_usage(session->world, &heap);
	*ns_out = bytes > 0 ? -1 : 0;
	if (status != TSR_OK || bytes <= 0)
		return status;
	size_t each = heap.largest_bytes / 4 / line * line;
	each = each < most ? each : most;
	each = (double)each < bytes / 2 ? each : ((size_t)(bytes / 2) + line - 1) / line * line;
	if (each == 0)
		return TSR_OK;
	status = tsr_heap_alloc(session->world, 2 * each, 0, "bench.between", &memory);
	if (status != TSR_OK)
		return status;
	const int rank = tsr_world_rank(session->world);
	const perf_move_args_t args = {.dst = (TSR_HEAP char *)memory + each,
				       .src = memory,
				       .size_bytes = each,
				       .chunk_bytes = CHUNK_BYTES,
				       .repeats = 1,
				       .src_peer = rank,
				       .dst_peer = rank};
	double ns = 0;
	status = time_launches(session, &args, 4, &ns);
	if (status != TSR_OK)
		return status;
	*ns_out = ns * bytes / (2.0 * (double)each);
	return tsr_heap_free(session->world, memory);
}

/* ------------------------------------------------------------------ one pattern */

static tsr_status_t read_recording(bench_session_t *session, bench_idling_t *idling_out)
{
	bench_recording_t recording;
	tsr_status_t status = bench_record_gather(session->world, true, &recording);
	if (status != TSR_OK)
		return status;
	status = bench_idling_of(&recording, idling_out);
	bench_record_free(&recording);
	return status;
}

/** Two runs in a row, as those that are timed. Times the second. */
static tsr_status_t run_twice(bench_session_t *session, uint64_t *ns_out)
{
	const workload_t *workload = session->workload;
	tsr_stream_t *stream = workload->stream(session->run);
	tsr_status_t status = workload->start(session->run);
	if (status == TSR_OK)
		status = tsr_event_record(session->begin, stream);
	if (status == TSR_OK)
		status = workload->start(session->run);
	if (status == TSR_OK)
		status = tsr_event_record(session->end, stream);
	if (status == TSR_OK)
		status = workload->sync(session->run);
	return status == TSR_OK ? tsr_event_elapsed_ns(session->begin, session->end, ns_out)
				: status;
}

/** Two runs in one recording. */
static tsr_status_t record_pair(bench_session_t *session, bench_idling_t *idling_out)
{
	uint64_t run_ns = 0;
	*idling_out = (bench_idling_t){.known = false};
	tsr_status_t status = tsr_record_start(session->world);
	if (status == TSR_ERR_UNSUPPORTED)
		return TSR_OK;
	if (status == TSR_OK)
		status = tsr_barrier(session->world);
	if (status == TSR_OK)
		status = run_twice(session, &run_ns);
	if (status != TSR_OK)
		return status;
	status = tsr_record_stop(session->world);
	if (status == TSR_ERR_UNSUPPORTED)
		return TSR_OK;
	if (status == TSR_OK)
		status = read_recording(session, idling_out);
	idling_out->run_ns = (double)run_ns;
	return status;
}

static int by_run(const void *a, const void *b)
{
	const bench_idling_t *x = a, *y = b;
	return (x->run_ns > y->run_ns) - (x->run_ns < y->run_ns);
}

static int by_idle(const void *a, const void *b)
{
	const bench_idling_t *x = a, *y = b;
	return (x->idle_ns > y->idle_ns) - (x->idle_ns < y->idle_ns);
}

/** Of several recordings the one with the median idle time, and the median time of a run. */
static tsr_status_t measure_idling(bench_session_t *session, bench_idling_t *idling_out)
{
	enum { RECORDINGS = 5 };
	bench_idling_t all[RECORDINGS];
	for (int i = 0; i < RECORDINGS; i++) {
		const tsr_status_t status = record_pair(session, &all[i]);
		if (status != TSR_OK)
			return status;
		if (!all[i].known) {
			*idling_out = all[i];
			return TSR_OK;
		}
	}
	qsort(all, RECORDINGS, sizeof *all, by_run);
	const double run_ns = all[RECORDINGS / 2].run_ns;
	qsort(all, RECORDINGS, sizeof *all, by_idle);
	*idling_out = all[RECORDINGS / 2];
	idling_out->run_ns = run_ns;
	return TSR_OK;
}

/** The most that any rank has to move. */
static workload_cost_t most_cost(const bench_session_t *session)
{
	const workload_config_t config = bench_chosen(session);
	workload_cost_t most = bench_cost(session, &config, 0);
	for (int r = 1; r < tsr_world_size(session->world); r++) {
		const workload_cost_t cost = bench_cost(session, &config, r);
		if (cost.link_bytes > most.link_bytes)
			most.link_bytes = cost.link_bytes;
		if (cost.between_bytes > most.between_bytes)
			most.between_bytes = cost.between_bytes;
		if (cost.operations > most.operations)
			most.operations = cost.operations;
	}
	return most;
}

tsr_status_t bench_taxes_measure(bench_session_t *session, const bench_alone_t *alone,
				 const bench_times_t *whole, bench_taxes_t *taxes_out)
{
	const workload_cost_t cost = most_cost(session);
	const int ranks = tsr_world_size(session->world);
	bench_taxes_t t = {.measured = true,
			   .whole_ns = (double)bench_median_ns(whole),
			   .between_bytes = cost.between_bytes,
			   .send_bytes = cost.link_bytes};
	tsr_status_t status = time_between(session, t.between_bytes, &t.between_ns);
	if (status == TSR_OK)
		status = measure_idling(session, &t.idling);
	if (status != TSR_OK)
		return status;
	const bool recorded = t.idling.known;
	t.launches = recorded ? t.idling.launches : cost.launches;
	t.launch_ns = t.launches * (double)alone->launch_ns;
	t.met = recorded && t.idling.meetings == (ranks > 1 ? cost.meetings : 0);
	t.idle_ns = t.met ? t.idling.idle_ns : -1;
	t.compute_ns = alone->compute_ns || cost.operations <= 0 ? (double)alone->compute_ns : -1;
	t.send_ns = cost.link_bytes <= 0   ? 0
		    : alone->send_gbps > 0 ? cost.link_bytes / alone->send_gbps
					   : -1;
	const double shorter = t.compute_ns < t.send_ns ? t.compute_ns : t.send_ns;
	t.overlap_ns = shorter <= 0 ? shorter : recorded ? t.idling.overlap * shorter : -1;
	*taxes_out = t;
	return TSR_OK;
}

double bench_taxes_sum(const bench_taxes_t *t)
{
	const double parts[] = {t->launch_ns,  t->idle_ns, t->between_ns,
				t->compute_ns, t->send_ns, t->overlap_ns};
	double sum = -2 * t->overlap_ns;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (parts[i] < 0)
			return -1;
		sum += parts[i];
	}
	return sum;
}

bool bench_taxes_have_times(const tsr_world_t *world)
{
	return strcmp(tsr_world_backend(world), "cpuemu") != 0;
}

/*
 * The measured limit of a link and of memory: the fastest of plain stores, plain
 * loads and the device's copy engine at one large size. Measurements say how
 * many percent of it an operation reaches.
 */
#include <stdio.h>
#include <string.h>

#include "tools/perf/move.h"

enum { LIMIT_BYTES = 64 << 20 };

bool perf_has_limits(const perf_options_t *options, bool on_host)
{
	return !on_host && (options->vias || (options->pairs && perf_op_moves(options->op)));
}

/** Measures one more way, and raises `*most` (GB/s) if it is faster. On the rank that moves. */
static tsr_status_t try_way(perf_move_t *move, double *most)
{
	perf_pair_t pair;

	PERF_TRY(perf_move_warm_up(move));
	PERF_TRY(perf_sample(move->run, false, perf_move_sample, move, &pair));
	const double ns = perf_samples_median(&pair.kernel),
		     rate = ns > 0 ? (double)move->args.size_bytes / ns : 0;
	*most = rate > *most ? rate : *most;
	return TSR_OK;
}

/** Measures plain accesses by all multiprocessors, from rank `from` to rank `to`. */
static tsr_status_t try_plain(perf_move_t *move, int from, int to, double *most)
{
	perf_run_t *run = move->run;
	perf_move_t plain = *move;

	plain.kernel = &perf_plain;
	PERF_TRY(tsr_heap_translate(run->world, move->source.data, from, &plain.args.src));
	PERF_TRY(tsr_heap_translate(run->world, move->destination, to, &plain.args.dst));
	return try_way(&plain, most);
}

static tsr_status_t try_all(perf_move_t *move, int other, double *gbps_out)
{
	perf_run_t *run = move->run;
	tsr_device_props_t props = {.size = sizeof props};

	*gbps_out = 0;
	PERF_TRY(tsr_world_device(run->world, &props));
	PERF_TRY(perf_move_open(move, LIMIT_BYTES, false));
	perf_move_divided(move, LIMIT_BYTES, 1, props.resident_blocks);
	if (run->rank == 0) {
		PERF_TRY(try_plain(move, 0, other, gbps_out));
		PERF_TRY(try_plain(move, other, 0, gbps_out));
		PERF_TRY(try_way(move, gbps_out));
	}
	return tsr_team_broadcast(tsr_world_team(run->world), gbps_out, sizeof *gbps_out, 0);
}

/** Measures the limit between rank 0 and `other`, which may be rank 0 itself. Collective. */
static tsr_status_t measure_limit(perf_run_t *run, int other, double *gbps_out)
{
	perf_move_t move = {.run = run, .to = other, .messages = 1};

	return perf_move_close(&move, try_all(&move, other, gbps_out));
}

tsr_status_t perf_measure_limits(perf_run_t *run)
{
	perf_limits_t limits = {.link = 0};

	PERF_TRY(measure_limit(run, 0, &limits.memory));
	if (run->size > 1)
		PERF_TRY(measure_limit(run, 1, &limits.link));
	run->limits = limits;
	if (!run->report)
		return TSR_OK;
	tool_progress_clear(&run->report->progress);
	printf("# limit: %.1f GB/s within a rank's memory", limits.memory);
	if (run->size > 1)
		printf(", %.1f GB/s between ranks 0 and 1", limits.link);
	printf(" (the fastest of plain stores,\n"
	       "# plain loads and the device's copy engine, of %d MiB)\n",
	       LIMIT_BYTES >> 20);
	return TSR_OK;
}

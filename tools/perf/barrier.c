/* barrier: tsr_barrier_ranks in kernels, beside the host's tsr_barrier. */
#include <string.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

enum { MEETINGS = 100 };

typedef struct meeting {
	perf_run_t *run;
	perf_barrier_args_t args;
	uint64_t repeats, host_repeats; /* of a sample */
} meeting_t;

static tsr_status_t meet(meeting_t *m, double *ns_out)
{
	perf_barrier_args_t lead = m->args;

	PERF_TRY(tsr_barrier(m->run->world));
	lead.repeats = perf_lead(m->repeats);
	m->args.repeats = m->repeats;
	return perf_time(m->run, &perf_barrier, 1, &lead, &m->args, ns_out);
}

static tsr_status_t meet_on_hosts(meeting_t *m, double *ns_out)
{
	PERF_TRY(tsr_barrier(m->run->world));
	uint64_t begin = perf_now_ns();
	for (uint64_t i = 0; i < m->host_repeats; i++)
		PERF_TRY(tsr_barrier(m->run->world));
	*ns_out = (double)(perf_now_ns() - begin);
	return TSR_OK;
}

/** Rank 0 finds how many barriers make a sample, and tells the others. Warms up on the way. */
static tsr_status_t choose_repeats(meeting_t *m)
{
	const perf_options_t *options = m->run->options;
	double kernel, host, fastest_kernel = 0, fastest_host = 0;

	m->repeats = m->host_repeats = options->repeats ? (uint64_t)options->repeats : 1000;
	for (long i = 0; i < options->warmup + 1; i++) {
		PERF_TRY(meet(m, &kernel));
		PERF_TRY(meet_on_hosts(m, &host));
		fastest_kernel = i == 0 || kernel < fastest_kernel ? kernel : fastest_kernel;
		fastest_host = i == 0 || host < fastest_host ? host : fastest_host;
	}
	if (!options->repeats) {
		m->repeats = perf_enough(m->repeats, fastest_kernel);
		m->host_repeats = perf_enough(m->host_repeats, fastest_host);
	}
	PERF_TRY(tsr_team_broadcast(tsr_world_team(m->run->world), &m->repeats, sizeof m->repeats,
				    0));
	return tsr_team_broadcast(tsr_world_team(m->run->world), &m->host_repeats,
				  sizeof m->host_repeats, 0);
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	meeting_t *m = ctx;
	double ns;

	PERF_TRY(meet(m, &ns));
	perf_samples_add(&pair->kernel, ns / (double)m->repeats);
	PERF_TRY(meet_on_hosts(m, &ns));
	perf_samples_add(&pair->host, ns / (double)m->host_repeats);
	return TSR_OK;
}

/**
 * In each meeting every rank tells the others its number; a rank that finds
 * another number was let through too early.
 */
static tsr_status_t count_wrong(perf_run_t *run, perf_barrier_args_t *args, int64_t *wrong_out)
{
	uint64_t rounds[MEETINGS], kept[MEETINGS * TSR_MAX_RANKS], missed;
	TSR_HEAP void *heap_rounds, *heap_told, *heap_kept;
	int64_t wrong = 0;

	for (uint64_t i = 0; i < MEETINGS; i++)
		rounds[i] = i + 1;
	PERF_TRY(perf_alloc_clear(run, sizeof rounds, "perf rounds", &heap_rounds));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t) * TSR_MAX_RANKS, "perf told", &heap_told));
	PERF_TRY(perf_alloc_clear(run, sizeof kept, "perf kept", &heap_kept));
	PERF_TRY(tsr_memcpy_to_heap(run->world, heap_rounds, rounds, sizeof rounds));
	args->rounds = (TSR_HEAP uint64_t *)heap_rounds;
	args->told = (TSR_HEAP uint64_t *)heap_told;
	args->kept = (TSR_HEAP uint64_t *)heap_kept;
	args->repeats = MEETINGS;
	PERF_TRY(tsr_launch(run->stream, &perf_meeting, 1, args));
	PERF_TRY(tsr_stream_sync(run->stream));
	PERF_TRY(tsr_memcpy_from_heap(run->world, kept, heap_kept, sizeof kept));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &missed, args->missed, sizeof missed));
	for (int i = 0; i < MEETINGS; i++) {
		for (int r = 0; r < run->size; r++)
			wrong += kept[i * TSR_MAX_RANKS + r] != rounds[i];
	}
	PERF_TRY(perf_sum(run, wrong + (int64_t)missed, wrong_out));
	PERF_TRY(tsr_heap_free(run->world, heap_kept));
	PERF_TRY(tsr_heap_free(run->world, heap_told));
	return tsr_heap_free(run->world, heap_rounds);
}

tsr_status_t perf_run_barrier(perf_run_t *run)
{
	meeting_t m = {.run = run};
	perf_pair_t pair;
	TSR_HEAP void *state, *missed;
	int64_t wrong = 0;

	if (run->report)
		tool_progress_step(&run->report->progress, "barrier");
	PERF_TRY(perf_alloc_clear(run, tsr_barrier_state_bytes(run->size), "perf barrier", &state));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf missed", &missed));
	m.args.state = state;
	m.args.missed = (TSR_HEAP uint64_t *)missed;
	PERF_TRY(choose_repeats(&m));
	PERF_TRY(perf_sample(run, true, sample, &m, &pair));
	if (run->options->check)
		PERF_TRY(count_wrong(run, &m.args, &wrong));
	if (run->report) {
		perf_row_t row = {
			.what = "all ranks",
			.type = "-",
			.type_bytes = 1,
			.wrong = run->options->check ? wrong : -1,
		};
		PERF_TRY(perf_report_row(run->report, &row, &pair));
	}
	PERF_TRY(tsr_heap_free(run->world, missed));
	return tsr_heap_free(run->world, state);
}

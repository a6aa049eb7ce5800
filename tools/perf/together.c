/* Moves of pairs of ranks: one pair alone, and all ranks at once. */
#include "tools/perf/move.h"

tsr_status_t perf_measure_move(perf_run_t *run, int actor, int other, perf_pair_t *pair_out,
			       int64_t *wrong_out)
{
	perf_move_t move = perf_move_of(run, actor, other);
	tsr_status_t status = perf_move_open(&move, run->options->max_bytes, true);

	if (status == TSR_OK)
		status = perf_move_whole(&move, run->options->max_bytes);
	if (status == TSR_OK)
		status = perf_move_measure(&move, pair_out, wrong_out);
	return perf_move_close(&move, status);
}

/** The time of the slowest rank. Collective. */
static tsr_status_t slowest(const perf_run_t *run, double mine, double *ns_out)
{
	double all[TSR_MAX_RANKS];

	PERF_TRY(tsr_team_gather_all(tsr_world_team(run->world), &mine, all, sizeof mine));
	*ns_out = 0;
	for (int r = 0; r < run->size; r++)
		*ns_out = all[r] > *ns_out ? all[r] : *ns_out;
	return TSR_OK;
}

/** Every rank moves at the same time. Collective. */
static tsr_status_t move_together(void *ctx, uint64_t repeats, double *ns_out)
{
	const perf_move_t *move = ctx;
	double mine;

	PERF_TRY(tsr_barrier(move->run->world));
	PERF_TRY(perf_move_time(move, repeats, &mine));
	return slowest(move->run, mine, ns_out);
}

/** Times the reference: the limit, or memcpy by all hosts at once. 0: none. Collective. */
static tsr_status_t reference_together(const perf_move_t *move, double *ns_out)
{
	const perf_run_t *run = move->run;
	const double limit = run->size > 1 ? run->limits.link : run->limits.memory;

	if (limit > 0) {
		*ns_out = (double)move->args.size_bytes * (double)move->repeats / limit;
		return TSR_OK;
	}
	PERF_TRY(tsr_barrier(run->world));
	return slowest(run, perf_move_time_memcpy(move, move->repeats), ns_out);
}

static tsr_status_t sample_together(void *ctx, perf_pair_t *pair)
{
	perf_move_t *move = ctx;
	double ns;

	PERF_TRY(move_together(move, move->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / (double)move->repeats);
	PERF_TRY(reference_together(move, &ns));
	if (ns > 0)
		perf_samples_add(&pair->host, ns / (double)move->repeats);
	return TSR_OK;
}

static tsr_status_t measure_together(perf_move_t *move, size_t size_bytes, perf_pair_t *pair_out)
{
	perf_run_t *run = move->run;

	PERF_TRY(perf_move_open(move, size_bytes, false)); /* nothing is verified */
	PERF_TRY(perf_move_whole(move, size_bytes));
	PERF_TRY(perf_choose(run, perf_move_guess(run, size_bytes), move_together, move,
			     &move->repeats));
	return perf_sample(run, true, sample_together, move, pair_out);
}

tsr_status_t perf_measure_moves_together(perf_run_t *run, size_t size_bytes, perf_pair_t *pair_out)
{
	perf_move_t move = perf_move_of(run, run->rank, (run->rank + 1) % run->size);

	return perf_move_close(&move, measure_together(&move, size_bytes, pair_out));
}

/*
 * --pairs: an operation of every rank with every rank, one pair after the
 * other, and then of all ranks at once. Rank 0 tells and draws.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/perf/perf.h"

/** What has been measured: of each rank (row) with each rank (column). */
typedef struct pairs {
	perf_run_t *run;
	double *value; /* GB/s, or million additions a second */
} pairs_t;

static perf_row_t row_of(const perf_run_t *run, const char *what, bool crosses, int64_t wrong)
{
	const perf_options_t *o = run->options;
	const bool moves = perf_op_moves(o->op);
	const size_t bytes = moves ? o->max_bytes : sizeof(uint64_t);
	perf_row_t row = {
		.what = what,
		.size_bytes = bytes,
		.type = moves ? tsr_dtype_name(o->dtype) : "u64",
		.type_bytes = moves ? tsr_dtype_bytes(o->dtype) : sizeof(uint64_t),
		.link_bytes = crosses ? bytes : 0,
		.wrong = o->check ? wrong : -1,
	};
	return row;
}

/** Bytes a nanosecond, or additions a microsecond. */
static double value_of(const perf_run_t *run, perf_pair_t *pair)
{
	const double ns = perf_samples_median(&pair->kernel);

	if (ns <= 0)
		return 0;
	return perf_op_moves(run->options->op) ? (double)run->options->max_bytes / ns : 1000 / ns;
}

static tsr_status_t measure_pair(pairs_t *p, int actor, int other)
{
	perf_run_t *run = p->run;
	perf_pair_t pair = {.kernel = {.count = 0}};
	int64_t wrong = 0;
	char what[48];

	snprintf(what, sizeof what, "rank %d with rank %d", actor, other);
	if (run->report)
		tool_progress_step(&run->report->progress, "%s", what);
	if (perf_op_moves(run->options->op))
		PERF_TRY(perf_measure_move(run, actor, other, &pair, &wrong));
	else
		PERF_TRY(perf_measure_atomic(run, actor, other, &pair, &wrong));
	PERF_TRY(tsr_team_broadcast(tsr_world_team(run->world), &pair, sizeof pair, actor));
	if (!run->report)
		return TSR_OK;
	const perf_row_t row = row_of(run, what, actor != other, wrong);
	p->value[actor * run->size + other] = value_of(run, &pair);
	return perf_report_row(run->report, &row, &pair);
}

static tsr_status_t measure_together(pairs_t *p)
{
	perf_run_t *run = p->run;
	const bool moves = perf_op_moves(run->options->op), alone = run->size == 1;
	perf_pair_t pair = {.kernel = {.count = 0}};
	int64_t wrong = -1;

	if (run->report)
		tool_progress_step(&run->report->progress, "all ranks at once");
	if (moves)
		PERF_TRY(perf_measure_moves_together(run, &pair));
	else
		PERF_TRY(perf_measure_atomics_together(run, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	perf_row_t row = row_of(run,
				moves ? "each rank with the next, all at once"
				      : "all ranks at rank 0's counter, each",
				!alone, wrong);
	row.crowded = true;
	if (moves)
		row.wrong = -1; /* not verified: the same move of each pair was */
	return perf_report_row(run->report, &row, &pair);
}

static tsr_status_t draw(const pairs_t *p)
{
	const perf_options_t *o = p->run->options;
	const bool moves = perf_op_moves(o->op);
	char title[96];

	if (moves)
		snprintf(title, sizeof title, "tessera perf %s of %zu bytes, %s",
			 perf_op_name(o->op), o->max_bytes, tsr_world_backend(p->run->world));
	else
		snprintf(title, sizeof title, "tessera perf %s, %s", perf_op_name(o->op),
			 tsr_world_backend(p->run->world));
	const perf_heat_t heat = {p->run->size, p->value, title,
				  moves ? "GB/s" : "million additions a second"};
	return perf_draw_heat(o->picture, &heat);
}

static tsr_status_t measure_all(pairs_t *p)
{
	const int ranks = p->run->size;

	for (int actor = 0; actor < ranks; actor++)
		for (int other = 0; other < ranks; other++)
			PERF_TRY(measure_pair(p, actor, other));
	PERF_TRY(measure_together(p));
	return p->run->report && p->run->options->picture ? draw(p) : TSR_OK;
}

tsr_status_t perf_run_pairs(perf_run_t *run)
{
	const size_t count = (size_t)run->size * (size_t)run->size;
	pairs_t p = {.run = run, .value = calloc(count, sizeof *p.value)};

	if (!p.value)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the figures of %d ranks: end other programs",
				 run->size);
	const tsr_status_t status = measure_all(&p);
	free(p.value);
	return status;
}

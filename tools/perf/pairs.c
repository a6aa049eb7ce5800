/*
 * --pairs: an operation of every rank with every rank, one pair after the
 * other, and then of all ranks at once. Rank 0 reports and draws.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/perf/move.h"

/** One operation: a move, or one of the atomics. */
typedef struct pairs {
	perf_run_t *run;
	perf_atomic_t atomic; /* where no bytes are moved */
	perf_heat_t *heat;
	double *value, *share; /* the heat's */
} pairs_t;

static bool moves(const pairs_t *p)
{
	return perf_op_moves(p->run->options->op);
}

static size_t bytes_of(const pairs_t *p)
{
	const perf_options_t *o = p->run->options;

	return moves(p) ? perf_move_bytes(o->op, o->max_bytes) : sizeof(uint64_t);
}

/** Bytes a nanosecond, or operations a microsecond. */
static double value_of(const pairs_t *p, perf_pair_t *pair)
{
	const double ns = perf_samples_median(&pair->kernel);

	if (ns <= 0)
		return 0;
	return moves(p) ? (double)bytes_of(p) / ns : 1000 / ns;
}

/** The rate divided by the reference's rate. 0: there is no reference. */
static double share_of(perf_pair_t *pair)
{
	const double ns = perf_samples_median(&pair->kernel);

	return ns > 0 ? perf_samples_median(&pair->host) / ns : 0;
}

static tsr_status_t report(const pairs_t *p, const char *what, bool crosses, int64_t wrong,
			   perf_pair_t *pair, bool crowded)
{
	const perf_options_t *o = p->run->options;
	const size_t bytes = bytes_of(p);
	char text[64];
	const perf_row_t row = {
		.what = text,
		.atomic = moves(p) ? NULL : perf_atomic_name(p->atomic),
		.size_bytes = bytes,
		.type = moves(p) ? tsr_dtype_name(o->dtype) : "u64",
		.type_bytes = moves(p) ? tsr_dtype_bytes(o->dtype) : sizeof(uint64_t),
		.link_bytes = crosses ? bytes : 0,
		.crowded = crowded,
		.wrong = o->check ? wrong : -1,
	};

	snprintf(text, sizeof text, "%s%s%s", row.atomic ? row.atomic : "", row.atomic ? ", " : "",
		 what);
	return perf_report_row(p->run->report, &row, pair);
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
	if (moves(p))
		PERF_TRY(perf_measure_move(run, actor, other, &pair, &wrong));
	else
		PERF_TRY(perf_measure_atomic(run, p->atomic, actor, other, &pair, &wrong));
	PERF_TRY(tsr_team_broadcast(tsr_world_team(run->world), &pair, sizeof pair, actor));
	if (!run->report)
		return TSR_OK;
	p->value[actor * run->size + other] = value_of(p, &pair);
	p->share[actor * run->size + other] = share_of(&pair);
	return report(p, what, actor != other, wrong, &pair, false);
}

static tsr_status_t measure_together(pairs_t *p)
{
	perf_run_t *run = p->run;
	perf_pair_t pair = {.kernel = {.count = 0}};
	int64_t wrong = -1; /* moves are not verified: the same move of each pair was */

	if (run->report)
		tool_progress_step(&run->report->progress, "all ranks at once");
	if (moves(p))
		PERF_TRY(perf_measure_moves_together(run, &pair));
	else
		PERF_TRY(perf_measure_atomics_together(run, p->atomic, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	p->heat->together = value_of(p, &pair);
	p->heat->together_share = share_of(&pair);
	return report(p,
		      moves(p) ? "each rank with the next, all at once"
			       : "all ranks at rank 0's word, each",
		      run->size > 1, wrong, &pair, true);
}

/** Fills in the heat map of this operation. */
static void describe(const pairs_t *p)
{
	const perf_run_t *run = p->run;
	const perf_options_t *o = run->options;
	perf_heat_t *heat = p->heat;

	heat->ranks = run->size;
	heat->value = p->value;
	heat->share = p->share;
	heat->unit = moves(p) ? "GB/s" : "million operations a second";
	heat->reference = run->report->reference;
	if (moves(p))
		snprintf(heat->title, sizeof heat->title, "tessera perf %s of %zu bytes, %s",
			 perf_op_name(o->op), bytes_of(p), tsr_world_backend(run->world));
	else
		snprintf(heat->title, sizeof heat->title, "tessera perf %s --op %s, %s",
			 perf_op_name(o->op), perf_atomic_name(p->atomic),
			 tsr_world_backend(run->world));
}

static tsr_status_t measure_all(pairs_t *p)
{
	const int ranks = p->run->size;

	for (int actor = 0; actor < ranks; actor++)
		for (int other = 0; other < ranks; other++)
			PERF_TRY(measure_pair(p, actor, other));
	PERF_TRY(measure_together(p));
	if (p->run->report)
		describe(p);
	return TSR_OK;
}

/** `figures`: room for values and shares of all operations. */
static tsr_status_t measure_each(perf_run_t *run, perf_heat_t heats[PERF_ATOMICS], double *figures)
{
	const perf_options_t *o = run->options;
	const size_t count = (size_t)run->size * (size_t)run->size;
	/* a move is one operation */
	const unsigned wanted = o->atomics ? o->atomics : 1;
	int drawn = 0;

	for (unsigned i = 0; i < PERF_ATOMICS; i++) {
		double *value = figures + 2 * count * (size_t)drawn;
		pairs_t p = {.run = run,
			     .atomic = (perf_atomic_t)i,
			     .heat = &heats[drawn],
			     .value = value,
			     .share = value + count};
		if (!(wanted >> i & 1))
			continue;
		PERF_TRY(measure_all(&p));
		drawn++;
	}
	return run->report && o->picture ? perf_draw_heats(o->picture, heats, drawn) : TSR_OK;
}

tsr_status_t perf_run_pairs(perf_run_t *run)
{
	const size_t count = (size_t)run->size * (size_t)run->size;
	perf_heat_t heats[PERF_ATOMICS] = {{.ranks = 0}};
	double *figures = calloc(2 * count * PERF_ATOMICS, sizeof *figures);

	if (!figures)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the figures of %d ranks: end other programs",
				 run->size);
	const tsr_status_t status = measure_each(run, heats, figures);
	free(figures);
	return status;
}

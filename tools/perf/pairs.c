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
} pairs_t;

static bool moves(const pairs_t *p)
{
	return perf_op_moves(p->run->options->op);
}

/** Bytes of an operation for which the options say `size_bytes`. */
static size_t bytes_of(const pairs_t *p, size_t size_bytes)
{
	return moves(p) ? perf_move_bytes(p->run->options->op, size_bytes) : sizeof(uint64_t);
}

/** Bytes a nanosecond, or operations a microsecond; and its share of the reference. */
static void keep(const pairs_t *p, perf_figures_t figures, int at, size_t bytes, perf_pair_t *pair)
{
	const double ns = perf_samples_median(&pair->kernel);

	if (ns <= 0)
		return;
	figures.value[at] = moves(p) ? (double)bytes / ns : 1000 / ns;
	figures.share[at] = perf_samples_median(&pair->host) / ns;
}

/** What all rows of an operation have in common. */
static perf_row_t row_of(const pairs_t *p, size_t bytes, bool crosses, int64_t wrong)
{
	const perf_options_t *o = p->run->options;

	return (perf_row_t){
		.atomic = moves(p) ? NULL : perf_atomic_name(p->atomic),
		.size_bytes = bytes,
		.type = moves(p) ? tsr_dtype_name(o->dtype) : "u64",
		.type_bytes = moves(p) ? tsr_dtype_bytes(o->dtype) : sizeof(uint64_t),
		.link_bytes = crosses ? bytes : 0,
		.wrong = o->check ? wrong : -1,
	};
}

static tsr_status_t report(const pairs_t *p, perf_row_t row, const char *what, perf_pair_t *pair)
{
	char text[64];

	snprintf(text, sizeof text, "%s%s%s", row.atomic ? row.atomic : "", row.atomic ? ", " : "",
		 what);
	row.what = text;
	return perf_report_row(p->run->report, &row, pair);
}

static tsr_status_t measure_pair(pairs_t *p, int actor, int other)
{
	perf_run_t *run = p->run;
	const size_t bytes = bytes_of(p, run->options->max_bytes);
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
	keep(p, p->heat->pairs, actor * run->size + other, bytes, &pair);
	return report(p, row_of(p, bytes, actor != other, wrong), what, &pair);
}

/** All ranks at once, at the size of number `at`. */
static tsr_status_t measure_together(pairs_t *p, int at, size_t size_bytes)
{
	perf_run_t *run = p->run;
	const size_t bytes = bytes_of(p, size_bytes);
	perf_pair_t pair = {.kernel = {.count = 0}};
	int64_t wrong = -1; /* moves are not verified: the same move of each pair was */

	if (run->report)
		tool_progress_step(&run->report->progress, "all ranks at once");
	if (moves(p))
		PERF_TRY(perf_measure_moves_together(run, size_bytes, &pair));
	else
		PERF_TRY(perf_measure_atomics_together(run, p->atomic, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	perf_row_t row = row_of(p, bytes, run->size > 1, wrong);
	row.crowded = true;
	keep(p, p->heat->together, at, bytes, &pair);
	return report(p, row,
		      moves(p) ? "each rank with the next, all at once"
			       : "all ranks at rank 0's word, each",
		      &pair);
}

/** Names the heat map of this operation. */
static void describe(const pairs_t *p)
{
	const perf_run_t *run = p->run;
	const perf_options_t *o = run->options;
	perf_heat_t *heat = p->heat;

	heat->unit = moves(p) ? "GB/s" : "million operations a second";
	heat->reference = run->report->reference;
	if (moves(p))
		snprintf(heat->title, sizeof heat->title, "tessera perf %s of %zu bytes, %s",
			 perf_op_name(o->op), bytes_of(p, o->max_bytes),
			 tsr_world_backend(run->world));
	else
		snprintf(heat->title, sizeof heat->title, "tessera perf %s --op %s, %s",
			 perf_op_name(o->op), perf_atomic_name(p->atomic),
			 tsr_world_backend(run->world));
}

static tsr_status_t measure_all(pairs_t *p, size_t *bytes)
{
	const perf_options_t *o = p->run->options;
	const int ranks = p->run->size;
	size_t size = moves(p) ? o->min_bytes : o->max_bytes;

	for (int actor = 0; actor < ranks; actor++)
		for (int other = 0; other < ranks; other++)
			PERF_TRY(measure_pair(p, actor, other));
	for (int at = 0; at < p->heat->sizes; at++, size = perf_next_size(o, size)) {
		bytes[at] = bytes_of(p, size);
		PERF_TRY(measure_together(p, at, size));
	}
	if (p->run->report)
		describe(p);
	return TSR_OK;
}

/** A heat map without figures; `room`: for the figures, behind which the next ones begin. */
static perf_heat_t make_heat(const perf_run_t *run, int sizes, const size_t *bytes, double **room)
{
	const size_t pairs = (size_t)run->size * (size_t)run->size;
	const perf_heat_t heat = {
		.ranks = run->size,
		.sizes = sizes,
		.pairs = {*room, *room + pairs},
		.together = {*room + 2 * pairs, *room + 2 * pairs + sizes},
		.bytes = bytes,
	};

	*room += 2 * pairs + 2 * (size_t)sizes;
	return heat;
}

static tsr_status_t measure_each(perf_run_t *run, int sizes, double *room, size_t *bytes)
{
	const perf_options_t *o = run->options;
	/* a move is one operation */
	const unsigned wanted = o->atomics ? o->atomics : 1;
	perf_heat_t heats[PERF_ATOMICS];
	int drawn = 0;

	for (unsigned i = 0; i < PERF_ATOMICS; i++) {
		pairs_t p = {.run = run, .atomic = (perf_atomic_t)i, .heat = &heats[drawn]};
		if (!(wanted >> i & 1))
			continue;
		heats[drawn++] = make_heat(run, sizes, bytes, &room);
		PERF_TRY(measure_all(&p, bytes));
	}
	return run->report && o->picture ? perf_draw_heats(o->picture, heats, drawn) : TSR_OK;
}

tsr_status_t perf_run_pairs(perf_run_t *run)
{
	const int sizes = perf_op_moves(run->options->op) ? perf_sizes(run->options) : 1;
	const size_t each = (size_t)run->size * (size_t)run->size + (size_t)sizes;
	double *room = calloc(2 * each * PERF_ATOMICS, sizeof *room);
	size_t *bytes = calloc((size_t)sizes, sizeof *bytes);
	tsr_status_t status = TSR_OK;

	if (room && bytes)
		status = measure_each(run, sizes, room, bytes);
	else
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "no host memory for the figures of %d ranks: end other programs",
				   run->size);
	free(room);
	free(bytes);
	return status;
}

/*
 * The main loop of attention: queries, keys and values are copied through the
 * memory layer into private panels, and the online softmax runs on those.
 */
#include <math.h>

#include "common/dev/spans.h"
#include "cpuemu/dev/arithmetic/blas.h"
#include "cpuemu/dev/fragments/state.h"
#include "cpuemu/events.h"
#include "src/base/os/clock.h"

/** One call: what all tasks share, and this thread's rows. */
typedef struct attention {
	tsr_coop_t *coop;
	tsr_cpu_tile_t tile;
	tsr_view_t q, k, v;
	float scale; /* of scores in base 2 */
	tsr_keys_gate_fn gate;
	const void *ctx;
	tsr_state_t *state;
	int64_t first, rows; /* of the tile, this thread's */
	/* rows x D; D x N, and before that N x D as loaded; N x D; rows x N */
	float *queries, *keys, *loaded, *values, *scores;
} attention_t;

/* ------------------------------------------------------------------ misuse */

static bool check_call(const attention_t *a, float scale, tsr_tasks_t tasks)
{
	const tsr_view_t views[] = {a->q, a->k, a->v};
	if (a->coop->kind != TSR_CPU_BLOCK && a->coop->worker->index != 0)
		return tsr_cpu_misuse(a->coop, "tsr_attend",
				      "only the block or its worker 0 has the threads for it",
				      "by worker %d", a->coop->worker->index);
	for (int i = 0; i < 3; i++)
		if (views[i].dtype != a->tile.dtype)
			return tsr_cpu_misuse(a->coop, "tsr_attend",
					      "declare the tile with the dtype of Q, K and V",
					      "of a view of %s with tiles of %s",
					      tsr_dtype_name((tsr_dtype_t)views[i].dtype),
					      tsr_dtype_name((tsr_dtype_t)a->tile.dtype));
	if (!(scale > 0) || isinf(scale))
		return tsr_cpu_misuse(a->coop, "tsr_attend",
				      "the scale is positive and finite, usually 1 / sqrt(D)",
				      "with a scale of %g", (double)scale);
	if (tasks.step < 1)
		return tsr_cpu_misuse(
			a->coop, "tsr_attend",
			"a step of the number of sharing blocks visits each task once",
			"with a step of %lld between tasks", (long long)tasks.step);
	return true;
}

/** The columns of a head within a view. */
static bool check_head(const attention_t *a, const char *what, tsr_view_t view, tsr_pos_t at)
{
	const int64_t columns = a->tile.n;
	if (at.row < 0 || at.col < 0 || at.col + columns > view.cols)
		return tsr_cpu_misuse(a->coop, "tsr_attend",
				      "the D columns of a head lie within the view",
				      "of %s at %lld, %lld of a view of %lld x %lld", what,
				      (long long)at.row, (long long)at.col, (long long)view.rows,
				      (long long)view.cols);
	if (tsr_cpu_bytes(a->tile.dtype) == 2 && at.col % 8)
		return tsr_cpu_misuse(
			a->coop, "tsr_attend",
			"heads of 16-bit elements begin at multiples of 8 along the rows of a view",
			"of %s at column %lld", what, (long long)at.col);
	return true;
}

static bool check_span(const attention_t *a, const tsr_span_t *span)
{
	if (!check_head(a, "queries", a->q, span->q) || !check_head(a, "keys", a->k, span->kv) ||
	    !check_head(a, "values", a->v, span->kv))
		return false;
	if (span->k0 < 0 || span->first < 0 || span->group < 0)
		return tsr_cpu_misuse(
			a->coop, "tsr_attend",
			"keys and rows are counted from 0, and a group has at least one row",
			"of a span from key %lld on, row %lld, groups of %d", (long long)span->k0,
			(long long)span->first, (int)span->group);
	if (span->mask != TSR_MASK_NONE && span->mask != TSR_MASK_CAUSAL)
		return tsr_cpu_misuse(a->coop, "tsr_attend",
				      "take TSR_MASK_NONE or TSR_MASK_CAUSAL",
				      "of a span with mask %d, which is none", (int)span->mask);
	return true;
}

/* ------------------------------------------------------------------ operands */

/** Copies rows x D elements of a view into a dense panel; false: a misuse was noted. */
static bool load_panel(const attention_t *a, float *panel, tsr_view_t view, tsr_pos_t at,
		       int64_t rows, int rank)
{
	tsr_mem_t mem;
	const tsr_view_t part = tsr_view_part(view, at, rows, a->tile.n);
	const size_t element = tsr_cpu_bytes(part.dtype);
	if (!tsr_mem_reach_part(a->coop, "tsr_attend", view, part, false, rank, TSR_MEM_READ, &mem))
		return false;
	a->coop->worker->apart = true;
	tsr_mem_read_part(&mem, TSR_F32, (unsigned char *)panel,
			  &(tsr_mem_part_t){mem.at, (size_t)part.ld * element, part.dtype,
					    part.rows, part.cols});
	a->coop->worker->apart = false;
	a->coop->worker->record.operand_bytes += (uint64_t)(part.rows * part.cols) * element;
	return true;
}

/** This thread's queries; zeros in place of those that the span does not have. */
static bool load_queries(const attention_t *a, const tsr_span_t *span)
{
	const tsr_pos_t at = {span->q.row + a->first, span->q.col};
	const int64_t left = tsr_lesser(span->queries - a->first, a->q.rows - at.row),
		      rows = tsr_lesser(left, a->rows);
	memset(a->queries, 0, (size_t)(a->rows * a->tile.n) * sizeof(float));
	return rows <= 0 || load_panel(a, a->queries, a->q, at, rows, tsr_rank(a->coop));
}

/** The keys of a run, transposed, and its values. */
static bool load_keys(const attention_t *a, const tsr_span_t *run, int rank)
{
	const tsr_pos_t at = {run->kv.row + run->k0, run->kv.col};
	const int64_t keys = run->k1 - run->k0;
	if (!load_panel(a, a->loaded, a->k, at, keys, rank) ||
	    !load_panel(a, a->values, a->v, at, keys, rank))
		return false;
	for (int64_t key = 0; key < keys; key++)
		for (int64_t col = 0; col < a->tile.n; col++)
			a->keys[col * keys + key] = a->loaded[key * a->tile.n + col];
	return true;
}

/* ------------------------------------------------------------------ the loop */

/**
 * Softmax of one row of scores, which become factors rounded to the tile's
 * dtype. Adds the unrounded ones to the row's sum, and rescales the row.
 */
static void soften_row(const attention_t *a, int64_t row, float *scores, int64_t keys, int64_t seen)
{
	unsigned char narrow[4];
	float *top = tsr_row_top(a->state, row), *sum = tsr_row_sum(a->state, row),
	      *o = tsr_row_o(a->state, row), new = *top, added = 0;
	for (int64_t key = 0; key < keys; key++) {
		scores[key] = key < seen ? scores[key] * a->scale : -INFINITY;
		new = scores[key] > new ? scores[key] : new;
	}
	const float base = new == -INFINITY ? 0 : new, shrink = exp2f(*top - base);
	for (int64_t key = 0; key < keys; key++) {
		const float factor = exp2f(scores[key] - base);
		added += factor;
		tsr_row_narrow(a->tile.dtype, narrow, TSR_F32, &factor, 1);
		tsr_row_widen(TSR_F32, &scores[key], a->tile.dtype, narrow, 1);
	}
	*top = new;
	*sum = *sum * shrink + added;
	for (int64_t col = 0; col < a->tile.n; col++)
		o[col] *= shrink;
}

/** The keys of the run that a row of the tile sees. */
static int64_t seen_of(const tsr_span_t *run, int64_t row)
{
	return tsr_lesser(tsr_span_limit(run, row) - run->k0, run->k1 - run->k0);
}

/**
 * Adds the values that are not finite to the rows that see their keys, and puts
 * zeros in their places: the product would multiply them by the zeros of the rows
 * that do not, which gives NaN. The first row sees the fewest keys.
 */
static void add_infinite(const attention_t *a, const tsr_span_t *run)
{
	const int64_t keys = run->k1 - run->k0, depth = a->tile.n, first = seen_of(run, a->first);
	for (int64_t key = first > 0 ? first : 0; key < keys; key++)
		for (int64_t col = 0; col < depth; col++) {
			float *value = a->values + key * depth + col;
			if (isfinite(*value))
				continue;
			for (int64_t row = 0; row < a->rows; row++)
				if (key < seen_of(run, a->first + row))
					tsr_row_o(a->state, a->first + row)[col] +=
						a->scores[row * keys + key] * *value;
			*value = 0;
		}
}

/** Adds the keys of a run, which have been loaded. */
static void add_keys(const attention_t *a, const tsr_span_t *run)
{
	const int keys = (int)(run->k1 - run->k0), depth = a->tile.n;
	memset(a->scores, 0, (size_t)(a->rows * keys) * sizeof(float));
	tsr_blas_add_product(a->coop, TSR_F32, (int)a->rows, keys, depth, a->queries, depth,
			     a->keys, keys, a->scores, keys);
	for (int64_t row = 0; row < a->rows; row++)
		soften_row(a, a->first + row, a->scores + row * keys, keys,
			   tsr_span_limit(run, a->first + row) - run->k0);
	add_infinite(a, run);
	tsr_blas_add_product(a->coop, TSR_F32, (int)a->rows, depth, keys, a->scores, keys,
			     a->values, depth, tsr_row_o(a->state, a->first), depth);
}

/**
 * Called once for the coop, by its first thread, with a coop of its own. Numbers of
 * keys are below 2^31, so a word holds both members of what the gate says.
 */
static tsr_keys_from_t pass_gate(const attention_t *a, const tsr_span_t *run)
{
	tsr_keys_from_t from = {tsr_rank(a->coop), run->k1};
	if (!a->gate)
		return from;
	if (tsr_cpu_leads(a->coop)) {
		tsr_coop_t loader = *a->coop;
		loader.kind = TSR_CPU_LOADER;
		loader.index = 0;
		loader.count = 1;
		from = a->gate(&loader, *run, a->ctx);
	}
	const int64_t until = from.until > run->k1 ? tsr_lesser(from.until, INT32_MAX) : run->k1;
	const uint64_t given =
		tsr_cpu_give(a->coop, "tsr_attend", (uint64_t)until << 32 | (uint32_t)from.rank);
	from.rank = (int32_t)(uint32_t)given;
	from.until = (int64_t)(given >> 32);
	return from;
}

/** All runs of a task. False: the world has ended. */
static bool attend_runs(const attention_t *a, const tsr_span_t *span)
{
	tsr_span_t run = *span;
	tsr_keys_from_t from = {tsr_rank(a->coop), span->k0};
	for (run.k1 = run.k0; run.k1 < span->k1;) {
		run.k0 = run.k1;
		run.k1 = tsr_lesser(run.k0 + a->tile.k, span->k1);
		if (run.k1 > from.until)
			from = pass_gate(a, &run);
		if (tsr_cpu_aborted(a->coop)) /* a wait in the gate has ended the world */
			return false;
		if (a->rows == 0)
			continue;
		if (run.k0 == span->k0 && !load_queries(a, span))
			return false;
		if (!load_keys(a, &run, from.rank))
			return false;
		add_keys(a, &run);
	}
	return true;
}

static void attend_task(const attention_t *a, const tsr_span_t *span)
{
	tsr_record_entry_t *record = &a->coop->worker->record;
	const uint64_t begin_ns = tsr_cpu_event_begin(a->coop), bytes = record->operand_bytes;
	if (!attend_runs(a, span))
		return;
	tsr_cpu_event_product(a->coop, begin_ns, record->operand_bytes - bytes);
	if (!tsr_cpu_leads(a->coop))
		return;
	record->products++;
	record->last_product_ns = tsr_now_ns();
}

/** The span that the loop computes. False: a misuse was noted. */
static bool next_span(const attention_t *a, tsr_span_fn span_of, int64_t task, tsr_span_t *span)
{
	*span = span_of(task, a->ctx);
	if (!check_span(a, span))
		return false;
	*span = tsr_span_cut(*span, a->tile.m, tsr_lesser(a->k.rows, a->v.rows) - span->kv.row);
	return true;
}

static void attend_tasks(attention_t *a, tsr_tasks_t tasks, tsr_span_fn span_of,
			 tsr_cpu_state_fn start, tsr_cpu_state_fn epilogue, void *ctx)
{
	const char *file = a->coop->file; /* start and epilogue note places of their own */
	const int line = a->coop->line;
	tsr_span_t span;
	tsr_state_neutral(a->coop, a->state);
	for (int64_t task = tasks.first; task < tasks.end && !tsr_cpu_aborted(a->coop);
	     task += tasks.step) {
		tsr_cpu_at(a->coop, file, line);
		if (!next_span(a, span_of, task, &span))
			break;
		a->coop->worker->tiled = true;
		a->coop->worker->tile = span.q;
		if (start)
			start(a->coop, a->state, span, ctx);
		else
			tsr_state_neutral(a->coop, a->state);
		tsr_cpu_at(a->coop, file, line);
		attend_task(a, &span);
		epilogue(a->coop, a->state, span, ctx);
	}
	a->coop->worker->tiled = false;
	tsr_cpu_at(a->coop, file, line);
}

/** The panels, in one piece of private memory. False: a lack of it was noted. */
static bool take_panels(attention_t *a)
{
	const size_t width = (size_t)a->tile.n, keys = (size_t)a->tile.k, rows = (size_t)a->rows;
	a->queries = (float *)tsr_cpu_arena_take(a->coop,
						 (rows * width + 3 * keys * width + rows * keys) *
							 sizeof(float));
	if (!a->queries)
		return false;
	a->keys = a->queries + rows * width;
	a->loaded = a->keys + keys * width;
	a->values = a->loaded + keys * width;
	a->scores = a->values + keys * width;
	return true;
}

void tsr_cpu_attend(tsr_coop_t *coop, tsr_cpu_tile_t tile, tsr_view_t q, tsr_view_t k, tsr_view_t v,
		    float scale, tsr_tasks_t tasks, tsr_span_fn span, tsr_keys_gate_fn gate,
		    tsr_cpu_state_fn start, tsr_cpu_state_fn epilogue, void *ctx)
{
	tsr_state_t state = tsr_cpu_state_take(coop, tile);
	attention_t a = {.coop = coop,
			 .tile = tile,
			 .q = q,
			 .k = k,
			 .v = v,
			 .scale = scale * 1.44269504f, /* log2 of e */
			 .gate = gate,
			 .ctx = ctx,
			 .state = &state,
			 .first = state.o->first,
			 .rows = state.o->last - state.o->first};
	if (state.o->elements && state.sum->elements && check_call(&a, scale, tasks) &&
	    take_panels(&a)) {
		tsr_cpu_met(coop);
		attend_tasks(&a, tasks, span, start, epilogue, ctx);
		tsr_cpu_met(coop);
		tsr_cpu_arena_drop(coop);
	}
	tsr_cpu_state_drop(&state);
}

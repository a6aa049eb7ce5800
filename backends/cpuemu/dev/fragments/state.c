/* States of attention: the arithmetic of partial results (dev/attend.h). */
#include <math.h>

#include "cpuemu/dev/fragments/state.h"

enum { SAVED_ALIGN_BYTES = 16 };

static const float log2_e = 1.44269504f, ln_2 = 0.693147181f;

tsr_state_t tsr_cpu_state_take(tsr_coop_t *coop, tsr_cpu_tile_t tile)
{
	tsr_state_t state;
	state.o = tsr_cpu_frag_take(coop, tile, TSR_CPU_FRAG_C);
	state.top = tsr_cpu_frag_take(coop, tile, TSR_CPU_FRAG_ROWS);
	state.sum = tsr_cpu_frag_take(coop, tile, TSR_CPU_FRAG_ROWS);
	return state;
}

void tsr_cpu_state_drop(tsr_state_t *state)
{
	tsr_cpu_frag_drop(&state->sum);
	tsr_cpu_frag_drop(&state->top);
	tsr_cpu_frag_drop(&state->o);
}

/** Whether there was memory for it; a lack of it has been noted. */
static bool state_is_whole(const tsr_state_t *state)
{
	return state->o->elements && state->top->elements && state->sum->elements;
}

static void state_set(tsr_state_t *state)
{
	state->o->set = state->top->set = state->sum->set = true;
}

bool tsr_state_has_values(tsr_coop_t *coop, const char *call, const tsr_state_t *state)
{
	if (!state_is_whole(state) || !tsr_frag_is_mine(coop, call, state->o))
		return false;
	if (state->o->set && state->top->set && state->sum->set)
		return true;
	return tsr_cpu_misuse(
		coop, call,
		"give it values first: tsr_state_neutral, tsr_state_load, or a main loop",
		"of a state that nothing has given values");
}

void tsr_state_neutral(tsr_coop_t *coop, tsr_state_t *state)
{
	if (!state_is_whole(state) || !tsr_frag_is_mine(coop, __func__, state->o))
		return;
	for (int64_t row = state->o->first; row < state->o->last; row++) {
		*tsr_row_top(state, row) = -INFINITY;
		*tsr_row_sum(state, row) = 0;
		memset(tsr_row_o(state, row), 0, (size_t)state->o->cols * sizeof(float));
	}
	state_set(state);
}

void tsr_row_merge(tsr_state_t *state, int64_t row, float top, float sum, const float *o)
{
	float *mine = tsr_row_o(state, row);
	const float old = *tsr_row_top(state, row), new = top > old ? top : old,
		    base = new == -INFINITY ? 0 : new;
	const float keep = exp2f(old - base), add = exp2f(top - base);
	*tsr_row_top(state, row) = new;
	*tsr_row_sum(state, row) = *tsr_row_sum(state, row) * keep + sum * add;
	/* where nothing is added, `o` may be no number */
	for (int64_t col = 0; col < state->o->cols; col++)
		mine[col] = mine[col] * keep + (add > 0 ? o[col] * add : 0);
}

static void merge(tsr_state_t *state, const tsr_state_t *other)
{
	for (int64_t row = state->o->first; row < state->o->last; row++)
		tsr_row_merge(state, row, *tsr_row_top(other, row), *tsr_row_sum(other, row),
			      tsr_row_o(other, row));
}

void tsr_state_merge(tsr_coop_t *coop, tsr_state_t *state, const tsr_state_t *other)
{
	const tsr_frag_t *x = state->o, *y = other->o;
	if (!tsr_state_has_values(coop, __func__, state) ||
	    !tsr_state_has_values(coop, __func__, other))
		return;
	if (x->rows != y->rows || x->cols != y->cols || x->first != y->first || x->last != y->last)
		(void)tsr_cpu_misuse(coop, __func__,
				     "declare both with one configuration and one coop",
				     "of different states, %d x %d and %d x %d", (int)x->rows,
				     (int)x->cols, (int)y->rows, (int)y->cols);
	else
		merge(state, other);
}

/* ------------------------------------------------------------------ in memory */

/** Where the parts of a saved state stand: O row by row, the maxima, the sums. */
typedef struct saved {
	tsr_view_t o, top, sum;
} saved_t;

static tsr_view_t saved_part(const TSR_HEAP void *memory, int64_t begin, int64_t rows, int64_t cols)
{
	return (tsr_view_t){(TSR_HEAP void *)((uintptr_t)memory + (size_t)begin * sizeof(float)),
			    rows,
			    cols,
			    cols,
			    TSR_F32,
			    TSR_SPACE_HEAP};
}

/** False: a misuse was noted, or a lack of memory has been. */
static bool saved_views(tsr_coop_t *coop, const char *call, const tsr_state_t *state,
			const TSR_HEAP void *memory, saved_t *saved)
{
	const int64_t rows = state->o->rows, cols = state->o->cols;
	if (!state_is_whole(state))
		return false;
	if ((uintptr_t)memory % SAVED_ALIGN_BYTES != 0)
		return tsr_cpu_misuse(coop, call, "align it to 16 bytes", "of memory at %p",
				      (const void *)memory);
	saved->o = saved_part(memory, 0, rows, cols);
	saved->top = saved_part(memory, rows * cols, rows, 1);
	saved->sum = saved_part(memory, rows * cols + rows, rows, 1);
	return true;
}

void tsr_state_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_state_t *state)
{
	const tsr_cpu_elements_t of = TSR_CPU_OF_SAVED_STATE;
	const int me = tsr_rank(coop);
	saved_t to;
	if (!tsr_state_has_values(coop, __func__, state) ||
	    !saved_views(coop, __func__, state, memory, &to))
		return;
	tsr_frag_store_saved(coop, __func__, to.o, state->o, of, me);
	tsr_frag_store_saved(coop, __func__, to.top, state->top, of, me);
	tsr_frag_store_saved(coop, __func__, to.sum, state->sum, of, me);
}

static void load(tsr_coop_t *coop, const char *call, tsr_state_t *state,
		 const TSR_HEAP void *memory)
{
	const tsr_cpu_elements_t of = TSR_CPU_OF_SAVED_STATE;
	saved_t from;
	if (!saved_views(coop, call, state, memory, &from))
		return;
	tsr_frag_load_saved(coop, call, state->o, from.o, of);
	tsr_frag_load_saved(coop, call, state->top, from.top, of);
	tsr_frag_load_saved(coop, call, state->sum, from.sum, of);
}

void tsr_state_load(tsr_coop_t *coop, tsr_state_t *state, const TSR_HEAP void *memory)
{
	load(coop, __func__, state, memory);
}

void tsr_state_merge_saved(tsr_coop_t *coop, tsr_state_t *state, const TSR_HEAP void *memory)
{
	if (!tsr_state_has_values(coop, __func__, state))
		return;
	tsr_state_t saved = tsr_cpu_state_take(coop, state->o->tile);
	load(coop, __func__, &saved, memory);
	if (state_is_whole(&saved) && saved.sum->set)
		merge(state, &saved);
	tsr_cpu_state_drop(&saved);
}

/* ------------------------------------------------------------------ finished results */

void tsr_state_merge_output(tsr_coop_t *coop, tsr_state_t *state, tsr_view_t o, tsr_pos_t at,
			    tsr_view_t lse, tsr_pos_t lse_at, int peer)
{
	if (!tsr_state_has_values(coop, __func__, state))
		return;
	tsr_state_t stored = tsr_cpu_state_take(coop, state->o->tile);
	if (state_is_whole(&stored)) {
		tsr_frag_load(coop, __func__, stored.o, o, at, peer);
		tsr_frag_load(coop, __func__, stored.top, lse, lse_at, peer);
	}
	/* Rows outside the views were loaded as zeros: outputs of 0 with the logarithm 0 would
	 * change the state of a query that is not there, and nothing looks at it. */
	for (int64_t row = state->o->first;
	     stored.o->set && stored.top->set && row < state->o->last; row++)
		tsr_row_merge(state, row, *tsr_row_top(&stored, row) * log2_e, 1,
			      tsr_row_o(&stored, row));
	tsr_cpu_state_drop(&stored);
}

void tsr_state_finish(tsr_coop_t *coop, const tsr_state_t *state, tsr_frag_t *o, tsr_rows_t *lse)
{
	if (!tsr_state_has_values(coop, __func__, state) ||
	    !tsr_frag_is_rows(coop, __func__, lse) || !o->elements)
		return;
	if (o->use != TSR_CPU_FRAG_C || o->rows != state->o->rows || o->cols != state->o->cols ||
	    o->first != state->o->first || o->last != state->o->last) {
		(void)tsr_cpu_misuse(coop, __func__,
				     "declare output and state with one configuration and one coop",
				     "of a fragment of %d x %d elements", (int)o->rows,
				     (int)o->cols);
		return;
	}
	for (int64_t row = o->first; row < o->last; row++) {
		const float sum = *tsr_row_sum(state, row), factor = sum == 0 ? 0 : 1 / sum;
		const float *from = tsr_row_o(state, row);
		float *to = (float *)(void *)tsr_frag_at(o, row, 0);
		for (int64_t col = 0; col < o->cols; col++)
			to[col] = from[col] * factor;
		*(float *)(void *)tsr_frag_at(lse, row, 0) =
			sum == 0 ? -INFINITY : (*tsr_row_top(state, row) + log2f(sum)) * ln_2;
	}
	o->set = lse->set = true;
}

/*
 * States of attention: bodies of tsr_state_* (dev/attend.h). O is an
 * accumulator. The maxima and sums of rows are distributed in one of two ways:
 * in turn, as a fragment of row values is; or, where the port says so
 * (tsr_port_layout: keeps_rows), each thread has those of the rows in which it
 * has elements of O, so that nothing passes through shared memory.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_STATE_H
#define TESSERA_GPU_DEV_FRAGMENTS_STATE_H

#include "gpu/dev/fragments/rows.h"

template <typename T, int N> struct tsr_gpu_state {
	typedef T tile_t;
	typedef tsr_gpu_frag<T, TSR_GPU_ACCUMULATOR> frag_t;
	typedef tsr_gpu_frag<T, TSR_GPU_ROWS> rows_t;
	typedef tsr_port_layout<frag_t> layout_t;
	enum {
		keys = N,
		/* rows of a thread, at most */
		slots = (int)layout_t::row_slots > (int)rows_t::capacity ? (int)layout_t::row_slots
									 : (int)rows_t::capacity,
		/* its parts in memory: O, the maxima, the sums */
		bytes = ((int)T::M * (int)T::N + 2 * (int)T::M) * 4
	};
	static_assert(T::dtype_t::code == TSR_BF16 || T::dtype_t::code == TSR_F16 ||
			      T::dtype_t::code == TSR_F32,
		      "attention takes bf16, f16 and f32");
	static_assert(2 * (int)T::M * (int)sizeof(float) <= TSR_GPU_SCRATCH_BYTES,
		      "two values of each row do not fit the scratch memory: take fewer queries");
	frag_t o;
	float top[slots], sum[slots];
};

constexpr float tsr_gpu_log2_e = 1.44269504f, tsr_gpu_ln_2 = 0.693147181f;

TSR_DEV float tsr_gpu_no_keys(void)
{
	return -__builtin_huge_valf();
}

/* ---- the rows of a thread */

/** Whether threads have the rows of their elements. A constant after inlining. */
template <typename S> TSR_DEV bool tsr_gpu_keeps_rows(const tsr_coop_t *coop)
{
	return S::layout_t::keeps_rows(coop->threads);
}

/** The row of this thread's slot; M or more: it has none. */
template <typename S> TSR_DEV int tsr_gpu_slot_row(const tsr_coop_t *coop, int slot)
{
	if (!tsr_gpu_keeps_rows<S>(coop))
		return slot * coop->threads + coop->thread;
	return slot < (int)S::layout_t::row_slots ? S::layout_t::slot_row(coop, slot)
						  : (int)S::tile_t::M;
}

/** Runs the body for each of this thread's rows: it is `row_`, in slot `slot_`. */
#define TSR_GPU_EACH_SLOT(S_, coop_, slot_, row_)       \
	TSR_GPU_UNROLL                                  \
	for (int slot_ = 0; slot_ < S_::slots; slot_++) \
		if (int row_ = tsr_gpu_slot_row<S_>((coop_), slot_); row_ < (int)S_::tile_t::M)

/** Of several threads that have a row, one owns it. */
template <typename S> TSR_DEV bool tsr_gpu_owns_rows(const tsr_coop_t *coop)
{
	return !tsr_gpu_keeps_rows<S>(coop) || S::layout_t::owns_rows(coop);
}

/**
 * Gives values of rows to the threads that have elements of these rows: as
 * list 0 or 1. Between the last of these calls and the values' use the coop
 * meets once (tsr_gpu_rows_meet), and once after it.
 */
template <typename S>
TSR_DEV void tsr_gpu_rows_give(const tsr_coop_t *coop, const float *value, int list)
{
	float *scratch = tsr_gpu_scratch<float>(coop) + list * (int)S::tile_t::M;
	if (tsr_gpu_keeps_rows<S>(coop))
		return;
	TSR_GPU_EACH_SLOT(S, coop, slot, row)
	{
		scratch[row] = value[slot];
	}
}

template <typename S> TSR_DEV void tsr_gpu_rows_meet(const tsr_coop_t *coop)
{
	if (!tsr_gpu_keeps_rows<S>(coop))
		tsr_gpu_meet(coop);
}

/** The value that was given for the row of this thread's element i of O. */
template <typename S>
TSR_DEV float tsr_gpu_row_value(const tsr_coop_t *coop, const float *value, int list, int i)
{
	if (tsr_gpu_keeps_rows<S>(coop))
		return value[S::layout_t::slot(i)];
	return tsr_gpu_scratch<float>(coop)[list * (int)S::tile_t::M +
					    tsr_gpu_row<typename S::frag_t>(coop, i)];
}

/* ---- arithmetic */

template <typename S> TSR_DEV void tsr_gpu_state_clear(tsr_coop_t *coop, S *state)
{
	tsr_frag_zero(coop, &state->o);
	TSR_GPU_UNROLL
	for (int slot = 0; slot < S::slots; slot++) {
		state->top[slot] = tsr_gpu_no_keys();
		state->sum[slot] = 0;
	}
}

TSR_DEV_STATE void tsr_state_neutral(tsr_coop_t *coop, tsr_state_t *state)
{
	tsr_gpu_state_clear(coop, state);
}

TSR_DEV_STATE void tsr_state_merge(tsr_coop_t *coop, tsr_state_t *state, const tsr_state_t *other)
{
	typedef typename tsr_state_t::frag_t frag_t;
	float keep[tsr_state_t::slots], add[tsr_state_t::slots];
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, &state->o);
	TSR_GPU_UNROLL
	for (int slot = 0; slot < tsr_state_t::slots; slot++) {
		const float old = state->top[slot], theirs = other->top[slot],
			    top = theirs > old ? theirs : old,
			    base = top == tsr_gpu_no_keys() ? 0 : top;
		keep[slot] = tsr_port_exp2(old - base);
		add[slot] = tsr_port_exp2(theirs - base);
		state->top[slot] = top;
		state->sum[slot] = state->sum[slot] * keep[slot] + other->sum[slot] * add[slot];
	}
	tsr_gpu_rows_give<tsr_state_t>(coop, keep, 0);
	tsr_gpu_rows_give<tsr_state_t>(coop, add, 1);
	tsr_gpu_rows_meet<tsr_state_t>(coop);
	TSR_GPU_EACH(frag_t, coop, i, e)
	{
		const float of_mine = tsr_gpu_row_value<tsr_state_t>(coop, keep, 0, i),
			    of_theirs = tsr_gpu_row_value<tsr_state_t>(coop, add, 1, i);
		/* where nothing is added, the output may be no number */
		state->o.v[i] =
			state->o.v[i] * of_mine + (of_theirs > 0 ? other->o.v[i] * of_theirs : 0);
	}
	tsr_gpu_rows_meet<tsr_state_t>(coop);
}

/* ---- in memory */

/** The maxima of a saved state; its sums follow. */
template <typename S> TSR_DEV float *tsr_gpu_saved_rows(const TSR_HEAP void *memory)
{
	return tsr_port_global((float *)memory) + (int)S::tile_t::M * (int)S::tile_t::N;
}

TSR_DEV_STATE void tsr_state_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_state_t *state)
{
	float *rows = tsr_gpu_saved_rows<tsr_state_t>(memory);
	if (!tsr_gpu_accepts(coop, memory, tsr_state_t::bytes, tsr_rank(coop)))
		return;
	tsr_port_settle(coop);
	if (tsr_gpu_keeps_rows<tsr_state_t>(coop))
		tsr_gpu_meet(coop); /* other threads than their owner may be loading these rows */
	TSR_GPU_EACH_SLOT(tsr_state_t, coop, slot, row)
	{
		if (!tsr_gpu_owns_rows<tsr_state_t>(coop))
			continue;
		rows[row] = state->top[slot];
		rows[tsr_state_t::tile_t::M + row] = state->sum[slot];
	}
	tsr_frag_save(coop, memory, &state->o); /* which meets: a load finds these rows too */
}

TSR_DEV_STATE void tsr_state_load(tsr_coop_t *coop, tsr_state_t *state, const TSR_HEAP void *memory)
{
	const float *rows = tsr_gpu_saved_rows<tsr_state_t>(memory);
	tsr_gpu_state_clear(coop, state);
	if (!tsr_gpu_accepts(coop, memory, tsr_state_t::bytes, tsr_rank(coop)))
		return;
	tsr_frag_add(coop, &state->o, memory);
	TSR_GPU_EACH_SLOT(tsr_state_t, coop, slot, row)
	{
		state->top[slot] = rows[row];
		state->sum[slot] = rows[tsr_state_t::tile_t::M + row];
	}
}

TSR_DEV_STATE void tsr_state_merge_saved(tsr_coop_t *coop, tsr_state_t *state,
					 const TSR_HEAP void *memory)
{
	tsr_state_t saved;
	tsr_state_load(coop, &saved, memory);
	tsr_state_merge(coop, state, (const tsr_state_t *)&saved);
}

/* ---- finished results */

/** The logarithms of a column become maxima; each of the sums is 1. */
template <typename D, typename S>
TSR_DEV void tsr_gpu_state_logarithms(const tsr_coop_t *coop, const tsr_gpu_target_t &target,
				      S *state)
{
	TSR_GPU_EACH_SLOT(S, coop, slot, row)
	{
		const typename D::stored_t *from =
			tsr_gpu_row_at<const typename D::stored_t>(target, row);
		state->top[slot] = (from ? tsr_gpu_decode<float, D>(*from) : 0) * tsr_gpu_log2_e;
		state->sum[slot] = 1;
	}
}

TSR_DEV_STATE void tsr_state_merge_output(tsr_coop_t *coop, tsr_state_t *state, tsr_view_t o,
					  tsr_pos_t at, tsr_view_t lse, tsr_pos_t lse_at, int peer)
{
	tsr_state_t stored;
	tsr_gpu_state_clear(coop, &stored);
	if (!tsr_gpu_accepts_view(coop, lse, peer))
		return;
	tsr_load(coop, &stored.o, o, at, peer);
	const tsr_gpu_target_t target = tsr_gpu_target(coop, lse, lse_at, peer);
	tsr_gpu_asking_t a = {-1, 0};
	const tsr_gpu_target_t here =
		tsr_gpu_far_load<typename tsr_state_t::rows_t>(coop, target, &a);
	if (!target.far || a.room)
		TSR_GPU_BY_DTYPE(here.dtype, D, (tsr_gpu_state_logarithms<D>(coop, here, &stored)))
	if (target.far)
		tsr_gpu_far_end(coop, a);
	tsr_state_merge(coop, state, (const tsr_state_t *)&stored);
}

/**
 * Row values from the threads that have them to those of the fragment, which are
 * the same if rows are distributed in turn.
 */
template <typename S>
TSR_DEV void tsr_gpu_rows_hand_over(tsr_coop_t *coop, typename S::rows_t *rows, const float *value)
{
	typedef typename S::rows_t rows_t;
	float *scratch = tsr_gpu_scratch<float>(coop);
	if (tsr_gpu_keeps_rows<S>(coop)) {
		TSR_GPU_EACH_SLOT(S, coop, slot, row)
		{
			if (tsr_gpu_owns_rows<S>(coop))
				scratch[row] = value[slot];
		}
		tsr_gpu_meet(coop);
	}
	TSR_GPU_EACH(rows_t, coop, i, row)
	{
		rows->v[i] = tsr_gpu_keeps_rows<S>(coop) ? scratch[row] : value[i];
	}
	if (tsr_gpu_keeps_rows<S>(coop))
		tsr_gpu_meet(coop);
}

TSR_DEV_STATE_FRAG void tsr_state_finish(tsr_coop_t *coop, const tsr_state_t *state, tsr_frag_t *o,
					 tsr_rows_t *lse)
{
	float factor[tsr_state_t::slots], logarithm[tsr_state_t::slots];
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, o);
	tsr_gpu_frag_changes(coop, lse);
	TSR_GPU_UNROLL
	for (int slot = 0; slot < tsr_state_t::slots; slot++) {
		const float sum = state->sum[slot];
		factor[slot] = sum == 0 ? 0 : 1 / sum;
		logarithm[slot] = sum == 0 ? tsr_gpu_no_keys()
					   : (state->top[slot] + tsr_port_log2(sum)) * tsr_gpu_ln_2;
	}
	tsr_gpu_rows_give<tsr_state_t>(coop, factor, 0);
	tsr_gpu_rows_meet<tsr_state_t>(coop);
	TSR_GPU_EACH(tsr_frag_t, coop, i, e)
	{
		o->v[i] = state->o.v[i] * tsr_gpu_row_value<tsr_state_t>(coop, factor, 0, i);
	}
	tsr_gpu_rows_meet<tsr_state_t>(coop);
	tsr_gpu_rows_hand_over<tsr_state_t>(coop, lse, logarithm);
}

#endif

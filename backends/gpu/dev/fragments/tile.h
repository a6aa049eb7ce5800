/* Bodies of dev/tile.h. */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_TILE_H
#define TESSERA_GPU_DEV_FRAGMENTS_TILE_H

#include "gpu/dev/fragments/value.h"

TSR_DEV_FRAG void tsr_frag_zero(tsr_coop_t *coop, tsr_frag_t *frag)
{
	tsr_gpu_frag_changes(coop, frag);
	TSR_GPU_EACH(tsr_frag_t, coop, i, e)
	{
		tsr_gpu_set(frag, i, 0);
	}
}

/**
 * Converts the result of a map function to the type that the fragment holds.
 */
template <typename F> TSR_DEV typename F::value_t tsr_gpu_mapped(float x)
{
	return tsr_gpu_decode<typename F::value_t, tsr_gpu_f32>(x);
}

TSR_DEV_FRAG void tsr_frag_map(tsr_coop_t *coop, tsr_frag_t *frag, tsr_pos_t at, tsr_map_fn fn,
			       const void *ctx)
{
	tsr_gpu_frag_changes(coop, frag);
	TSR_GPU_EACH(tsr_frag_t, coop, i, e)
	{
		int row = tsr_gpu_row<tsr_frag_t>(coop, i), col = tsr_gpu_col<tsr_frag_t>(coop, i);
		tsr_gpu_set(frag, i,
			    tsr_gpu_mapped<tsr_frag_t>(fn((float)tsr_gpu_get(frag, i), at.row + row,
							  at.col + col, ctx)));
	}
}

TSR_DEV_FRAG void tsr_frag_zip(tsr_coop_t *coop, tsr_frag_t *x, const tsr_frag_t *y, tsr_zip_fn fn,
			       const void *ctx)
{
	tsr_gpu_frag_changes(coop, x);
	TSR_GPU_EACH(tsr_frag_t, coop, i, e)
	{
		tsr_gpu_set(x, i,
			    tsr_gpu_mapped<tsr_frag_t>(fn((float)tsr_gpu_get(x, i),
							  (float)tsr_gpu_get(y, i), ctx)));
	}
}

/** The value of an empty row: no value is smaller, or larger. */
template <typename V> TSR_DEV V tsr_gpu_reduce_empty(tsr_reduce_t op)
{
	if (op == TSR_REDUCE_SUM)
		return 0;
	if constexpr (tsr_gpu_is_integer<V>)
		return op == TSR_REDUCE_MAX ? tsr_gpu_limits<V>::low : tsr_gpu_limits<V>::high;
	else
		return op == TSR_REDUCE_MAX ? (V)-__builtin_huge_val() : (V)__builtin_huge_val();
}

template <typename V> TSR_DEV V tsr_gpu_reduce(tsr_reduce_t op, V x, V y)
{
	if (op == TSR_REDUCE_SUM)
		return x + y;
	return op == TSR_REDUCE_MAX ? tsr_gpu_extreme_of<true>(x, y)
				    : tsr_gpu_extreme_of<false>(x, y);
}

/*
 * The thread that holds a row's value walks the row, so that sums run from left
 * to right in every coop.
 */
TSR_DEV_FRAG_ROWS void tsr_frag_reduce_rows(tsr_coop_t *coop, tsr_rows_t *rows,
					    const tsr_frag_t *frag, int64_t cols, tsr_reduce_t op)
{
	typedef typename tsr_frag_t::value_t value_t;
	const value_t *scratch = tsr_gpu_scratch<value_t>(coop);
	int length = cols < tsr_frag_t::cols ? (int)cols : (int)tsr_frag_t::cols;
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, rows);
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < tsr_frag_t::rows; first += tsr_frag_t::band) {
		tsr_gpu_frag_lay(coop, frag, first);
		tsr_gpu_meet(coop);
		TSR_GPU_EACH(tsr_rows_t, coop, i, row)
		{
			value_t sum = tsr_gpu_reduce_empty<value_t>(op);
			if (row < first || row >= first + tsr_frag_t::band)
				continue;
			TSR_GPU_NO_UNROLL
			for (int col = 0; col < length; col++)
				sum = tsr_gpu_reduce(
					op, sum, scratch[(row - first) * tsr_frag_t::cols + col]);
			rows->v[i] = sum;
		}
		tsr_gpu_meet(coop);
	}
}

TSR_DEV_FRAG_ROWS void tsr_frag_map_rows(tsr_coop_t *coop, tsr_frag_t *frag, const tsr_rows_t *rows,
					 tsr_map_rows_fn fn, const void *ctx)
{
	static_assert((int)tsr_rows_t::band == (int)tsr_rows_t::rows,
		      "a column of the tile does not fit the scratch memory");
	const typename tsr_rows_t::value_t *scratch =
		tsr_gpu_scratch<typename tsr_rows_t::value_t>(coop);
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, frag);
	tsr_gpu_frag_lay(coop, rows, 0);
	tsr_gpu_meet(coop);
	TSR_GPU_EACH(tsr_frag_t, coop, i, e)
	{
		float of_row = (float)scratch[tsr_gpu_row<tsr_frag_t>(coop, i)];
		tsr_gpu_set(frag, i,
			    tsr_gpu_mapped<tsr_frag_t>(fn((float)tsr_gpu_get(frag, i), of_row,
							  ctx)));
	}
	tsr_gpu_meet(coop);
}

/**
 * The number of a thread's elements that are saved together as S: a pack, if
 * all threads have the same number of them.
 */
template <typename F, typename S> TSR_DEV int tsr_gpu_saved_together(const tsr_coop_t *coop)
{
	constexpr int pack = 16 / (int)sizeof(S);
	return F::elements % (coop->threads * pack) == 0 && tsr_gpu_deals_evenly<F>(coop) ? pack
											  : 1;
}

/**
 * The position where this thread's element i, the first of `together`, is
 * saved; the units of neighbouring threads are adjacent.
 */
template <typename F> TSR_DEV int64_t tsr_gpu_saved_at(const tsr_coop_t *coop, int i, int together)
{
	if (!tsr_gpu_deals_evenly<F>(coop))
		return tsr_gpu_element<F>(coop, i);
	return (int64_t)i * coop->threads + coop->thread * together;
}

/** Whether this thread has an element i. */
template <typename F> TSR_DEV bool tsr_gpu_has(const tsr_coop_t *coop, int i)
{
	return tsr_gpu_holds<F>(coop, i, tsr_gpu_element<F>(coop, i));
}

TSR_DEV_FRAG void tsr_frag_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag)
{
	static_assert((int)tsr_frag_t::role == (int)TSR_GPU_ACCUMULATOR,
		      "only accumulators are saved");
	typedef typename tsr_frag_t::value_t value_t;
	typedef tsr_gpu_pack<value_t> pack_t;
	const int together = tsr_gpu_saved_together<tsr_frag_t, value_t>(coop);
	value_t *saved = tsr_port_global((value_t *)memory);
	if (!tsr_gpu_accepts(coop, memory, tsr_frag_t::elements * sizeof(value_t), tsr_rank(coop)))
		return;
	tsr_port_settle(coop);
	TSR_GPU_UNROLL
	for (int i = 0; i < tsr_frag_t::capacity && i < tsr_gpu_most<tsr_frag_t>(coop);
	     i += together) {
		value_t *to = saved + tsr_gpu_saved_at<tsr_frag_t>(coop, i, together);
		if (together > 1) {
			pack_t pack;
			TSR_GPU_UNROLL
			for (int j = 0; j < 16 / (int)sizeof(value_t); j++)
				pack.element[j] = frag->v[i + j];
			*(pack_t *)to = pack;
		} else if (tsr_gpu_has<tsr_frag_t>(coop, i)) {
			*to = frag->v[i];
		}
	}
	tsr_gpu_meet(coop); /* the coop's next call finds everything saved */
}

TSR_DEV_FRAG void tsr_frag_add(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory)
{
	static_assert((int)tsr_frag_t::role == (int)TSR_GPU_ACCUMULATOR,
		      "only accumulators are saved");
	typedef typename tsr_frag_t::value_t value_t;
	typedef tsr_gpu_pack<value_t> pack_t;
	const int together = tsr_gpu_saved_together<tsr_frag_t, value_t>(coop);
	const value_t *saved = tsr_port_global((const value_t *)memory);
	if (!tsr_gpu_accepts(coop, memory, tsr_frag_t::elements * sizeof(value_t), tsr_rank(coop)))
		return;
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, frag);
	TSR_GPU_UNROLL
	for (int i = 0; i < tsr_frag_t::capacity && i < tsr_gpu_most<tsr_frag_t>(coop);
	     i += together) {
		const value_t *from = saved + tsr_gpu_saved_at<tsr_frag_t>(coop, i, together);
		if (together > 1) {
			const pack_t pack = *(const pack_t *)from;
			TSR_GPU_UNROLL
			for (int j = 0; j < 16 / (int)sizeof(value_t); j++)
				frag->v[i + j] += pack.element[j];
		} else if (tsr_gpu_has<tsr_frag_t>(coop, i)) {
			frag->v[i] += *from;
		}
	}
}

TSR_DEV_FRAG void tsr_tile_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at)
{
	tsr_load(coop, frag, view, at, tsr_rank(coop));
}

TSR_DEV_FRAG void tsr_tile_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_frag_t *frag)
{
	tsr_store(coop, view, at, frag, tsr_rank(coop));
}

#endif

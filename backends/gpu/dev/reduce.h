/*
 * Bodies of tsr_reduce and tsr_all_reduce (dev/value.h). One band of rows at a
 * time; each thread reduces the same elements of all ranks.
 */
#ifndef TESSERA_GPU_DEV_REDUCE_H
#define TESSERA_GPU_DEV_REDUCE_H

#include "gpu/dev/fragments/tile.h"

/** The ranks whose elements are combined, and how. */
typedef struct tsr_gpu_ranks {
	const tsr_coop_t *coop;
	tsr_reduce_t op;
} tsr_gpu_ranks_t;

/** The address of a rank's copy of `mine`. */
template <typename T>
TSR_DEV const T *tsr_gpu_of_rank(const tsr_gpu_ranks_t &ranks, const T *mine, int rank)
{
	return (const T *)((const char *)mine +
			   tsr_port_constant(ranks.coop->context->peer_offset + rank));
}

/**
 * Groups of sixteen bytes that a thread has in flight, from each of two ranks;
 * fewer of bytes, whose sums take four times the registers.
 */
template <typename S> struct tsr_gpu_held {
	enum { groups = sizeof(S) == 1 ? 1 : sizeof(S) == 2 ? 2 : 4 };
};

/**
 * Combines a few groups of elements of all ranks, in rank order. Each group begins
 * at a multiple of 16 bytes on each rank. The next rank's are in flight meanwhile.
 */
template <typename D, typename V, int HELD>
TSR_DEV void tsr_gpu_reduce_packs(const tsr_gpu_ranks_t &from,
				  const typename D::stored_t *const (&mine)[HELD],
				  V (&sum)[HELD][16 / sizeof(typename D::stored_t)])
{
	typedef typename D::stored_t stored_t;
	typedef typename tsr_gpu_loaded<stored_t>::type pack_t;
	enum { SIZE = 16 / (int)sizeof(stored_t) };
	const int ranks = tsr_size(from.coop);
	pack_t next[HELD];
	TSR_GPU_UNROLL
	for (int i = 0; i < HELD; i++)
		next[i] = *tsr_gpu_of_rank(from, (const pack_t *)mine[i], 0);
	TSR_GPU_NO_UNROLL
	for (int rank = 0; rank < ranks; rank++) {
		pack_t pack[HELD];
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			pack[i] = next[i];
			if (rank + 1 < ranks)
				next[i] = *tsr_gpu_of_rank(from, (const pack_t *)mine[i], rank + 1);
		}
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			TSR_GPU_UNROLL
			for (int j = 0; j < SIZE; j++) {
				const V x = tsr_gpu_decode<V, D>(
					tsr_gpu_loaded_element<stored_t>(pack[i], j));
				sum[i][j] = rank == 0 ? x : tsr_gpu_reduce(from.op, sum[i][j], x);
			}
		}
	}
}

template <typename D, typename V>
TSR_DEV V tsr_gpu_reduce_one(const tsr_gpu_ranks_t &from, const typename D::stored_t *mine)
{
	V sum = tsr_gpu_decode<V, D>(*tsr_gpu_of_rank(from, mine, 0));
	TSR_GPU_NO_UNROLL
	for (int rank = 1; rank < tsr_size(from.coop); rank++)
		sum = tsr_gpu_reduce(from.op, sum,
				     tsr_gpu_decode<V, D>(*tsr_gpu_of_rank(from, mine, rank)));
	return sum;
}

/**
 * Combines a band of whole groups of all ranks in the scratch memory. A thread whose
 * last groups are beyond the end repeats its first.
 */
template <typename D, int COLS, typename V>
TSR_DEV void tsr_gpu_whole_band_reduce(const tsr_gpu_ranks_t &from, const tsr_gpu_target_t &target,
				       V *scratch, int first, int rows)
{
	typedef typename D::stored_t stored_t;
	constexpr int group = tsr_gpu_group<stored_t, COLS>::size,
		      HELD = tsr_gpu_held<stored_t>::groups;
	const int step = from.coop->threads * group;
	TSR_GPU_NO_UNROLL
	for (int e = from.coop->thread * group; e < rows * COLS; e += HELD * step) {
		const stored_t *mine[HELD];
		V sum[HELD][16 / sizeof(stored_t)];
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			const int at = e + i * step < rows * COLS ? e + i * step : e;
			mine[i] = (const stored_t *)target.data +
				  ((target.at.row + first + at / COLS) * target.ld + target.at.col +
				   at % COLS);
		}
		tsr_gpu_reduce_packs<D, V, HELD>(from, mine, sum);
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			TSR_GPU_UNROLL
			for (int j = 0; j < group; j++)
				if (e + i * step < rows * COLS)
					scratch[e + i * step + j] = sum[i][j];
		}
	}
}

/** Combines a band of all ranks in the scratch memory. */
template <typename D, int COLS, typename V>
TSR_DEV void tsr_gpu_band_reduce(const tsr_gpu_ranks_t &from, const tsr_gpu_target_t &target,
				 V *scratch, int first, int rows)
{
	const tsr_coop_t *coop = from.coop;
	typedef typename D::stored_t stored_t;
	constexpr int group = tsr_gpu_group<stored_t, COLS>::size;
	const bool packs = group > 1 && tsr_gpu_packs<stored_t>(target);
	const int64_t begin = target.at.row + first;
	if (packs && begin >= 0 && begin + rows <= target.rows && target.at.col >= 0 &&
	    target.at.col + COLS <= target.cols) {
		tsr_gpu_whole_band_reduce<D, COLS>(from, target, scratch, first, rows);
		return;
	}
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread * group; e < rows * COLS; e += coop->threads * group) {
		const int64_t row = begin + e / COLS, col = target.at.col + e % COLS;
		const stored_t *mine = (const stored_t *)target.data + (row * target.ld + col);
		if (packs && row >= 0 && row < target.rows && col >= 0 &&
		    col + group <= target.cols) {
			const stored_t *const one[1] = {mine};
			V sum[1][16 / sizeof(stored_t)];
			tsr_gpu_reduce_packs<D, V, 1>(from, one, sum);
			TSR_GPU_UNROLL
			for (int j = 0; j < group; j++)
				scratch[e + j] = sum[0][j];
			continue;
		}
		TSR_GPU_NO_UNROLL
		for (int j = 0; j < group; j++)
			scratch[e + j] = tsr_gpu_touches(target, row, col + j)
						 ? tsr_gpu_reduce_one<D, V>(from, mine + j)
						 : (V)0;
	}
}

/**
 * Whether the call may reduce the view. Debug builds note a mistake; the call
 * then does nothing.
 */
TSR_DEV bool tsr_gpu_reduces(const tsr_coop_t *coop, tsr_view_t view)
{
	if (!tsr_gpu_accepts_view(coop, view, tsr_rank(coop)))
		return false;
#if defined(TSR_DEBUG)
	if (view.space != TSR_SPACE_HEAP)
		tsr_gpu_fault(coop, TSR_GPU_NOTE_POINTER, view.data, tsr_gpu_view_bytes(view),
			      tsr_rank(coop));
#endif
	return view.space == TSR_SPACE_HEAP;
}

/** x = x combined with y. */
template <typename F>
TSR_DEV void tsr_gpu_take_frag(tsr_coop_t *coop, F *x, const F *y, tsr_reduce_t op)
{
	tsr_gpu_frag_changes(coop, x);
	TSR_GPU_EACH(F, coop, i, e)
	{
		tsr_gpu_set(x, i, tsr_gpu_reduce(op, tsr_gpu_get(x, i), tsr_gpu_get(y, i)));
	}
}

/**
 * tsr_reduce by loads of one rank after the other: the members of a node first,
 * and then the nodes.
 */
template <typename F>
TSR_DEV void tsr_gpu_reduce_nodes(tsr_coop_t *coop, F *frag, tsr_view_t view, tsr_pos_t at,
				  tsr_reduce_t op)
{
	F part, next;
	tsr_frag_zero(coop, frag);
	TSR_GPU_NO_UNROLL
	for (int node = 0; node < tsr_gpu_node_count(coop); node++) {
		tsr_frag_zero(coop, &part);
		TSR_GPU_NO_UNROLL
		for (int i = 0; i < tsr_gpu_members(coop, node); i++) {
			tsr_load(coop, &next, view, at, tsr_gpu_member(coop, node, i));
			if (i == 0)
				part = next;
			else
				tsr_gpu_take_frag(coop, &part, &next, op);
		}
		if (node == 0)
			*frag = part;
		else
			tsr_gpu_take_frag(coop, frag, &part, op);
	}
	tsr_gpu_frag_changes(coop, frag);
}

TSR_DEV_FRAG void tsr_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			     tsr_reduce_t op)
{
	static_assert((int)tsr_frag_t::role == (int)TSR_GPU_ACCUMULATOR,
		      "reduce into an accumulator: TSR_FRAG");
	typedef typename tsr_frag_t::value_t value_t;
	if (!tsr_gpu_reduces(coop, view))
		return;
	if constexpr (TSR_PORT_NODES) { /* in a team of one node, that is the order of ranks */
		tsr_gpu_reduce_nodes(coop, frag, view, at, op);
		return;
	}
	const tsr_gpu_ranks_t from = {coop, op};
	const tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, tsr_rank(coop));
	value_t *scratch = tsr_gpu_scratch<value_t>(coop);
	tsr_port_settle(coop);
	tsr_gpu_record_reduced<tsr_frag_t>(coop, target);
	tsr_gpu_frag_changes(coop, frag);
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < tsr_frag_t::rows; first += tsr_frag_t::band) {
		const int rows = (int)tsr_gpu_least(tsr_frag_t::rows - first, tsr_frag_t::band);
		TSR_GPU_BY_DTYPE(target.dtype, D,
				 (tsr_gpu_band_reduce<D, tsr_frag_t::cols>(from, target, scratch,
									   first, rows)))
		tsr_gpu_meet_shared(coop);
		tsr_gpu_frag_take(coop, frag, first);
		tsr_gpu_meet_shared(coop);
	}
}

/*
 * One thread may store what another has read. That is safe, because all threads
 * have met since, with what they read in the scratch memory.
 */
TSR_DEV_FRAG void tsr_all_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				 tsr_reduce_t op)
{
	if (!tsr_gpu_reduces(coop, view))
		return;
	tsr_reduce(coop, frag, view, at, op);
	tsr_store_all(coop, view, at, frag);
}

#endif

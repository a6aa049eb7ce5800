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
 * Combines a group of elements of all ranks, in rank order. The group begins at
 * a multiple of 16 bytes on each rank. The next rank's elements are in flight
 * meanwhile.
 */
template <typename D, typename V>
TSR_DEV void tsr_gpu_reduce_pack(const tsr_gpu_ranks_t &from, const typename D::stored_t *mine,
				 V *to)
{
	typedef tsr_gpu_pack<typename D::stored_t> pack_t;
	enum { SIZE = 16 / (int)sizeof(typename D::stored_t) };
	const int ranks = tsr_size(from.coop);
	pack_t next = *tsr_gpu_of_rank(from, (const pack_t *)mine, 0);
	V sum[SIZE];
	TSR_GPU_NO_UNROLL
	for (int rank = 0; rank < ranks; rank++) {
		const pack_t pack = next;
		if (rank + 1 < ranks)
			next = *tsr_gpu_of_rank(from, (const pack_t *)mine, rank + 1);
		TSR_GPU_UNROLL
		for (int j = 0; j < SIZE; j++) {
			const V x = tsr_gpu_decode<V, D>(pack.element[j]);
			sum[j] = rank == 0 ? x : tsr_gpu_reduce(from.op, sum[j], x);
		}
	}
	TSR_GPU_UNROLL
	for (int j = 0; j < SIZE; j++)
		to[j] = sum[j];
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

/** Combines a band of all ranks in the scratch memory. */
template <typename D, int COLS, typename V>
TSR_DEV void tsr_gpu_band_reduce(const tsr_gpu_ranks_t &from, const tsr_gpu_target_t &target,
				 V *scratch, int first, int rows)
{
	const tsr_coop_t *coop = from.coop;
	typedef typename D::stored_t stored_t;
	constexpr int group = tsr_gpu_group<stored_t, COLS>::size;
	const bool packs = group > 1 && tsr_gpu_packs<stored_t>(target);
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread * group; e < rows * COLS; e += coop->threads * group) {
		const int64_t row = target.at.row + first + e / COLS,
			      col = target.at.col + e % COLS;
		const stored_t *mine = (const stored_t *)target.data + (row * target.ld + col);
		if (packs && row >= 0 && row < target.rows && col >= 0 &&
		    col + group <= target.cols) {
			tsr_gpu_reduce_pack<D>(from, mine, scratch + e);
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

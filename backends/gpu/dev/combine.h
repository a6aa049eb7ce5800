/*
 * Body of tsr_port_combine (common/dev/combine.h). Each thread combines elements
 * of its own, sixteen bytes of each rank at a time, and stores what it has: no
 * thread waits for another.
 */
#ifndef TESSERA_GPU_DEV_COMBINE_H
#define TESSERA_GPU_DEV_COMBINE_H

#include "gpu/dev/reduce.h"

/**
 * Groups of sixteen bytes that a thread has in flight, from each of two ranks;
 * fewer of bytes, whose sums take four times the registers.
 */
template <typename S> struct tsr_gpu_held {
	enum { groups = sizeof(S) == 1 ? 1 : sizeof(S) == 2 ? 2 : 4 };
};

/** What is combined: addresses in my memory, and where the result goes. */
typedef struct tsr_gpu_combined {
	const char *src;
	char *dst;
	int64_t rows, cols, src_ld, dst_ld;
	int32_t to;
	bool packs; /* groups of sixteen bytes are aligned everywhere */
} tsr_gpu_combined_t;

TSR_DEV int tsr_gpu_combined_places(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c)
{
	return c.to == TSR_ANY_RANK ? tsr_size(from.coop) : 1;
}

/** Bytes from my memory to the `i`-th place. */
TSR_DEV int64_t tsr_gpu_combined_offset(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c,
					int i)
{
	const tsr_gpu_every_rank_t every = {from.coop->context, 0};
	return c.to == TSR_ANY_RANK ? tsr_gpu_peer_offset(every, i)
				    : tsr_port_constant(from.coop->context->peer_offset + c.to);
}

/** A few groups of all ranks, in rank order. The next rank's are in flight meanwhile. */
template <typename D, int HELD>
TSR_DEV void tsr_gpu_combine_groups(const tsr_gpu_ranks_t &from,
				    const typename D::stored_t *const (&mine)[HELD],
				    tsr_gpu_pack<typename D::stored_t> (&result)[HELD])
{
	typedef tsr_gpu_pack<typename D::stored_t> pack_t;
	typedef typename D::value_t value_t;
	enum { SIZE = 16 / (int)sizeof(typename D::stored_t) };
	const int ranks = tsr_size(from.coop);
	value_t sum[HELD][SIZE];
	TSR_GPU_UNROLL
	for (int i = 0; i < HELD; i++)
		result[i] = *tsr_gpu_of_rank(from, (const pack_t *)mine[i], 0);
	TSR_GPU_NO_UNROLL
	for (int rank = 0; rank < ranks; rank++) {
		pack_t pack[HELD];
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			pack[i] = result[i];
			if (rank + 1 < ranks)
				result[i] =
					*tsr_gpu_of_rank(from, (const pack_t *)mine[i], rank + 1);
		}
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			TSR_GPU_UNROLL
			for (int j = 0; j < SIZE; j++) {
				const value_t x = tsr_gpu_decode<value_t, D>(pack[i].element[j]);
				sum[i][j] = rank == 0 ? x : tsr_gpu_reduce(from.op, sum[i][j], x);
			}
		}
	}
	TSR_GPU_UNROLL
	for (int i = 0; i < HELD; i++) {
		TSR_GPU_UNROLL
		for (int j = 0; j < SIZE; j++)
			result[i].element[j] = tsr_gpu_encode<D>(sum[i][j]);
	}
}

/**
 * The whole groups of all rows. A thread whose last groups are beyond the end
 * repeats its first.
 */
template <typename D>
TSR_DEV void tsr_gpu_combine_packs(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c,
				   int64_t groups)
{
	typedef typename D::stored_t stored_t;
	typedef tsr_gpu_pack<stored_t> pack_t;
	constexpr int SIZE = 16 / (int)sizeof(stored_t), HELD = tsr_gpu_held<stored_t>::groups;
	const int64_t all = c.rows * groups, step = from.coop->threads;
	TSR_GPU_NO_UNROLL
	for (int64_t at = from.coop->thread; at < all; at += HELD * step) {
		const stored_t *mine[HELD];
		stored_t *to[HELD];
		pack_t result[HELD];
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			const int64_t group = at + i * step < all ? at + i * step : at,
				      row = c.rows == 1 ? 0 : group / groups,
				      col = (group - row * groups) * SIZE;
			mine[i] = (const stored_t *)c.src + row * c.src_ld + col;
			to[i] = (stored_t *)c.dst + row * c.dst_ld + col;
		}
		tsr_gpu_combine_groups<D, HELD>(from, mine, result);
		TSR_GPU_NO_UNROLL
		for (int place = 0; place < tsr_gpu_combined_places(from, c); place++) {
			const int64_t offset = tsr_gpu_combined_offset(from, c, place);
			TSR_GPU_UNROLL
			for (int i = 0; i < HELD; i++)
				if (at + i * step < all)
					*(pack_t *)((char *)to[i] + offset) = result[i];
		}
	}
}

/** The columns from `first` on, one by one. */
template <typename D>
TSR_DEV void tsr_gpu_combine_ones(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c,
				  int64_t first)
{
	typedef typename D::stored_t stored_t;
	const int64_t cols = c.cols - first, all = c.rows * cols;
	TSR_GPU_NO_UNROLL
	for (int64_t at = from.coop->thread; at < all; at += from.coop->threads) {
		const int64_t row = c.rows == 1 ? 0 : at / cols, col = first + at - row * cols;
		const stored_t one = tsr_gpu_encode<D>(tsr_gpu_reduce_one<D, typename D::value_t>(
			from, (const stored_t *)c.src + row * c.src_ld + col));
		char *to = (char *)((stored_t *)c.dst + row * c.dst_ld + col);
		TSR_GPU_NO_UNROLL
		for (int place = 0; place < tsr_gpu_combined_places(from, c); place++)
			*(stored_t *)(to + tsr_gpu_combined_offset(from, c, place)) = one;
	}
}

template <typename D>
TSR_DEV void tsr_gpu_combine(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c)
{
	enum { SIZE = 16 / (int)sizeof(typename D::stored_t) };
	const int64_t groups = c.packs ? c.cols / SIZE : 0;
	if (groups > 0)
		tsr_gpu_combine_packs<D>(from, c, groups);
	if (groups * SIZE < c.cols)
		tsr_gpu_combine_ones<D>(from, c, groups * SIZE);
}

TSR_DEV void tsr_port_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op,
			      int to, int64_t apart)
{
	const tsr_gpu_ranks_t from = {coop, op, apart};
	const int me = tsr_rank(coop);
	const int64_t element = tsr_gpu_dtype_bytes(src.dtype),
		      bytes = src.rows * src.cols * element;
	tsr_gpu_combined_t c;
	tsr_port_settle(coop);
	if (!tsr_gpu_reduces(coop, src) ||
	    !tsr_gpu_accepts_view(coop, dst, to == TSR_ANY_RANK ? me : to) || bytes <= 0)
		return;
	c.src = tsr_gpu_view_address(coop, src, me);
	c.dst = tsr_gpu_view_address(coop, dst, me);
	c.rows = src.rows;
	c.cols = src.cols;
	c.src_ld = src.ld;
	c.dst_ld = dst.ld;
	c.to = to;
	c.packs = (((uintptr_t)c.src | (uintptr_t)c.dst | (uint64_t)apart |
		    (uint64_t)(c.rows > 1 ? (c.src_ld | c.dst_ld) * element : 0)) %
		   16) == 0;
	TSR_GPU_BY_DTYPE(src.dtype, D, (tsr_gpu_combine<D>(from, c)))
}

#endif

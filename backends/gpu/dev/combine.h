/*
 * Bodies of tsr_port_combine and tsr_port_combine_as (common/dev/combine.h). Each
 * thread combines elements of its own, sixteen bytes of each rank at a time, and
 * stores what it has: no thread waits for another. D is how the ranks hold
 * elements, and E how the result is stored.
 */
#ifndef TESSERA_GPU_DEV_COMBINE_H
#define TESSERA_GPU_DEV_COMBINE_H

#include "gpu/dev/node_sums.h"
#include "gpu/dev/reduce.h"

/** What is combined: addresses in my memory, and where the result goes. */
typedef struct tsr_gpu_combined {
	const char *src;
	char *dst;
	int64_t rows, cols, src_ld, dst_ld;
	int32_t to;
	bool packs; /* groups are aligned everywhere */
} tsr_gpu_combined_t;

/** The result of a group: as many elements as sixteen bytes of D have. */
template <typename D, typename E>
struct __attribute__((aligned(16 / sizeof(typename D::stored_t) * sizeof(typename E::stored_t))))
tsr_gpu_combined_group {
	typename E::stored_t element[16 / sizeof(typename D::stored_t)];
};

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

/** The results of a few groups of all ranks. */
template <typename D, typename E, int HELD>
TSR_DEV void tsr_gpu_combine_groups(const tsr_gpu_ranks_t &from,
				    const typename D::stored_t *const (&mine)[HELD],
				    tsr_gpu_combined_group<D, E> (&result)[HELD])
{
	enum { SIZE = 16 / (int)sizeof(typename D::stored_t) };
	typename D::value_t sum[HELD][SIZE];
	tsr_gpu_reduce_packs<D, typename D::value_t, HELD>(from, mine, sum);
	TSR_GPU_UNROLL
	for (int i = 0; i < HELD; i++) {
		TSR_GPU_UNROLL
		for (int j = 0; j < SIZE; j++)
			result[i].element[j] = tsr_gpu_encode<E>(sum[i][j]);
	}
}

/**
 * The whole groups of all rows. A thread whose last groups are beyond the end
 * repeats its first.
 */
template <typename D, typename E>
TSR_DEV void tsr_gpu_combine_packs(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c,
				   int64_t groups)
{
	typedef typename D::stored_t stored_t;
	typedef typename E::stored_t result_t;
	typedef tsr_gpu_combined_group<D, E> group_t;
	constexpr int SIZE = 16 / (int)sizeof(stored_t), HELD = tsr_gpu_held<stored_t>::groups;
	const int64_t all = c.rows * groups, step = from.coop->threads;
	TSR_GPU_NO_UNROLL
	for (int64_t at = from.coop->thread; at < all; at += HELD * step) {
		const stored_t *mine[HELD];
		result_t *to[HELD];
		group_t result[HELD];
		TSR_GPU_UNROLL
		for (int i = 0; i < HELD; i++) {
			const int64_t group = at + i * step < all ? at + i * step : at,
				      row = c.rows == 1 ? 0 : tsr_quotient(group, groups),
				      col = (group - row * groups) * SIZE;
			mine[i] = (const stored_t *)c.src + row * c.src_ld + col;
			to[i] = (result_t *)c.dst + row * c.dst_ld + col;
		}
		tsr_gpu_combine_groups<D, E, HELD>(from, mine, result);
		TSR_GPU_NO_UNROLL
		for (int place = 0; place < tsr_gpu_combined_places(from, c); place++) {
			const int64_t offset = tsr_gpu_combined_offset(from, c, place);
			TSR_GPU_UNROLL
			for (int i = 0; i < HELD; i++)
				if (at + i * step < all)
					*(group_t *)((char *)to[i] + offset) = result[i];
		}
	}
}

/** The columns from `first` on, one by one. */
template <typename D, typename E>
TSR_DEV void tsr_gpu_combine_ones(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c,
				  int64_t first)
{
	typedef typename D::stored_t stored_t;
	typedef typename E::stored_t result_t;
	const int64_t cols = c.cols - first, all = c.rows * cols;
	TSR_GPU_NO_UNROLL
	for (int64_t at = from.coop->thread; at < all; at += from.coop->threads) {
		const int64_t row = c.rows == 1 ? 0 : tsr_quotient(at, cols),
			      col = first + at - row * cols;
		const result_t one = tsr_gpu_encode<E>(tsr_gpu_reduce_one<D, typename D::value_t>(
			from, (const stored_t *)c.src + row * c.src_ld + col));
		char *to = (char *)((result_t *)c.dst + row * c.dst_ld + col);
		TSR_GPU_NO_UNROLL
		for (int place = 0; place < tsr_gpu_combined_places(from, c); place++)
			*(result_t *)(to + tsr_gpu_combined_offset(from, c, place)) = one;
	}
}

template <typename D, typename E>
TSR_DEV void tsr_gpu_combine(const tsr_gpu_ranks_t &from, const tsr_gpu_combined_t &c)
{
	enum { SIZE = 16 / (int)sizeof(typename D::stored_t) };
	const int64_t groups = c.packs ? c.cols / SIZE : 0;
	if (groups > 0)
		tsr_gpu_combine_packs<D, E>(from, c, groups);
	if (groups * SIZE < c.cols)
		tsr_gpu_combine_ones<D, E>(from, c, groups * SIZE);
}

/** Records what a call reads and writes. */
TSR_DEV void tsr_gpu_record_combined(const tsr_gpu_ranks_t &from, int to, uint64_t begun,
				     uint64_t read_bytes, uint64_t written_bytes)
{
#if defined(TSR_RECORDED)
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < tsr_size(from.coop); i++)
		tsr_gpu_record_read(from.coop, i, read_bytes);
	if (to == TSR_ANY_RANK)
		tsr_gpu_record_written_all(from.coop, begun, 0, written_bytes);
	else
		tsr_gpu_record_written(from.coop, begun, to, written_bytes);
#else
	(void)from, (void)to, (void)begun, (void)read_bytes, (void)written_bytes;
#endif
}

/** Describes what is combined. False: nothing, or a view that the call may not reach. */
TSR_DEV bool tsr_gpu_combines(tsr_coop_t *coop, tsr_gpu_combined_t *c, tsr_view_t dst,
			      tsr_view_t src, int to)
{
	const int me = tsr_rank(coop);
	const int64_t read = tsr_gpu_dtype_bytes(src.dtype),
		      written = tsr_gpu_dtype_bytes(dst.dtype),
		      group_bytes = 16 / (read > 0 ? read : 16) * written;
	tsr_port_settle(coop);
	if (!tsr_gpu_reduces(coop, src) ||
	    !tsr_gpu_accepts_view(coop, dst, to == TSR_ANY_RANK ? me : to) ||
	    src.rows * src.cols * read <= 0)
		return false;
	c->src = tsr_gpu_view_address(coop, src, me);
	c->dst = tsr_gpu_view_address(coop, dst, me);
	c->rows = src.rows;
	c->cols = src.cols;
	c->src_ld = src.ld;
	c->dst_ld = dst.ld;
	c->to = to;
	c->packs =
		(((uintptr_t)c->src | (uint64_t)(c->rows > 1 ? c->src_ld * read : 0)) % 16) == 0 &&
		(((uintptr_t)c->dst | (uint64_t)(c->rows > 1 ? c->dst_ld * written : 0)) %
		 (uint64_t)group_bytes) == 0;
	return true;
}

TSR_DEV void tsr_port_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op,
			      int to)
{
	const tsr_gpu_ranks_t from = {coop, op};
	const uint64_t begun = tsr_gpu_record_now();
	tsr_gpu_combined_t c;
	if (tsr_gpu_combines_nodes(coop, dst, src, op, to) ||
	    !tsr_gpu_combines(coop, &c, dst, src, to))
		return;
	TSR_GPU_BY_DTYPE(src.dtype, D, (tsr_gpu_combine<D, D>(from, c)))
	tsr_gpu_record_combined(from, to, begun, tsr_gpu_view_bytes(src), tsr_gpu_view_bytes(src));
}

TSR_DEV void tsr_port_combine_as(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op,
				 int to)
{
	const tsr_gpu_ranks_t from = {coop, op};
	const uint64_t begun = tsr_gpu_record_now();
	tsr_gpu_combined_t c;
	if (dst.dtype == src.dtype) {
		tsr_port_combine(coop, dst, src, op, to);
		return;
	}
	if (tsr_gpu_combines_nodes(coop, dst, src, op, to) ||
	    !tsr_gpu_combines(coop, &c, dst, src, to))
		return;
	if (dst.dtype == TSR_BF16)
		tsr_gpu_combine<tsr_gpu_f32, tsr_gpu_bf16>(from, c);
	else
		tsr_gpu_combine<tsr_gpu_f32, tsr_gpu_f16>(from, c);
	tsr_gpu_record_combined(from, to, begun, tsr_gpu_view_bytes(src), tsr_gpu_view_bytes(dst));
}

#endif

/*
 * Bodies of what the collectives that combine ask of a port whose teams span
 * nodes (common/dev/partials.h, common/dev/combine.h). Each thread combines
 * elements of its own. What ranks of other nodes have, and what goes to one,
 * passes through the room of a request, some rows and columns at a time.
 */
#ifndef TESSERA_GPU_DEV_NODE_SUMS_H
#define TESSERA_GPU_DEV_NODE_SUMS_H

#include "common/dev/partials.h"
#include "gpu/dev/far.h"
#include "gpu/dev/reduce.h"

#if TSR_PORT_NODES

/** What is combined, and where it goes. */
typedef struct tsr_gpu_noded {
	tsr_coop_t *coop;
	tsr_view_t dst, src;
	const tsr_partials_t *partials; /* of the other nodes; null: there are none */
	tsr_reduce_t op;
	int to;   /* a rank, or TSR_ANY_RANK */
	int node; /* whose members are combined; -1: those of all nodes */
} tsr_gpu_noded_t;

/** What is combined at a time: rows where all their columns fit, or else columns of one row. */
typedef struct tsr_gpu_stretch {
	int64_t row, col, rows, cols;
	char *room; /* what far ranks have: each rank's part, and the result behind them */
	int64_t each;
} tsr_gpu_stretch_t;

/** The dtype of partials of sums of D. */
template <typename V> struct tsr_gpu_partial_of;
template <> struct tsr_gpu_partial_of<float> {
	typedef tsr_gpu_f32 type;
};
template <> struct tsr_gpu_partial_of<double> {
	typedef tsr_gpu_f64 type;
};
template <> struct tsr_gpu_partial_of<int32_t> {
	typedef tsr_gpu_i32 type;
};
template <> struct tsr_gpu_partial_of<int64_t> {
	typedef tsr_gpu_i64 type;
};

TSR_DEV char *tsr_gpu_element_at(const tsr_view_t &view, int64_t row, int64_t col)
{
	return (char *)view.data + (row * view.ld + col) * tsr_gpu_dtype_bytes(view.dtype);
}

/** The address of element `i` of the stretch in a view. */
TSR_DEV char *tsr_gpu_stretched(const tsr_view_t &view, const tsr_gpu_stretch_t &s, int64_t i)
{
	const int row = (int)i / (int)s.cols, col = (int)i % (int)s.cols;
	return tsr_gpu_element_at(view, s.row + row, s.col + col);
}

/** What a rank has of element `i` of the stretch. */
template <typename D>
TSR_DEV typename D::value_t tsr_gpu_noded_of(const tsr_gpu_noded_t &n, const tsr_gpu_stretch_t &s,
					     int64_t i, int rank)
{
	typedef typename D::stored_t stored_t;
	const stored_t *mine = (const stored_t *)tsr_gpu_stretched(n.src, s, i);
	const stored_t *at = tsr_gpu_is_far(n.coop, rank)
				     ? (const stored_t *)(s.room + rank * s.each) + i
				     : tsr_gpu_heap_address(n.coop, mine, rank);
	return tsr_gpu_decode<typename D::value_t, D>(*at);
}

/** What the members of a node have together, in the team's order. */
template <typename D>
TSR_DEV typename D::value_t tsr_gpu_noded_members(const tsr_gpu_noded_t &n,
						  const tsr_gpu_stretch_t &s, int64_t i, int node)
{
	typename D::value_t sum = 0;
	TSR_GPU_NO_UNROLL
	for (int k = 0; k < tsr_port_node_members(n.coop, node); k++) {
		const typename D::value_t x =
			tsr_gpu_noded_of<D>(n, s, i, tsr_port_node_member(n.coop, node, k));
		sum = k == 0 ? x : tsr_gpu_reduce(n.op, sum, x);
	}
	return sum;
}

/** What another node has given. */
template <typename D>
TSR_DEV typename D::value_t tsr_gpu_noded_partial(const tsr_gpu_noded_t &n,
						  const tsr_gpu_stretch_t &s, int64_t i, int node,
						  int mine)
{
	typedef typename D::value_t value_t;
	typedef typename tsr_gpu_partial_of<value_t>::type wide_t;
	const tsr_view_t view = tsr_partial(n.partials, node < mine ? node : node - 1,
					    tsr_port_node_members(n.coop, node));
	const char *at = tsr_gpu_stretched(view, s, i);
	if (view.dtype == (int32_t)D::code)
		return tsr_gpu_decode<value_t, D>(*(const typename D::stored_t *)at);
	return tsr_gpu_decode<value_t, wide_t>(*(const typename wide_t::stored_t *)at);
}

/** Element `i` of the stretch: each node's members first, then the nodes. */
template <typename D>
TSR_DEV typename D::value_t tsr_gpu_noded_one(const tsr_gpu_noded_t &n, const tsr_gpu_stretch_t &s,
					      int64_t i)
{
	const int mine = tsr_port_node(n.coop, tsr_rank(n.coop));
	if (n.node >= 0)
		return tsr_gpu_noded_members<D>(n, s, i, n.node);
	typename D::value_t sum = 0;
	TSR_GPU_NO_UNROLL
	for (int node = 0; node < tsr_port_nodes(n.coop); node++) {
		const typename D::value_t x =
			n.partials && node != mine ? tsr_gpu_noded_partial<D>(n, s, i, node, mine)
						   : tsr_gpu_noded_members<D>(n, s, i, node);
		sum = node == 0 ? x : tsr_gpu_reduce(n.op, sum, x);
	}
	return sum;
}

/** Gets what far ranks have of a stretch, where it is not given as partials. */
TSR_GPU_CALLED void tsr_gpu_noded_get(const tsr_gpu_noded_t &n, const tsr_gpu_stretch_t &s,
				      tsr_gpu_asking_t *a)
{
	if (n.node >= 0 || n.partials)
		return;
	const int64_t bytes = tsr_gpu_dtype_bytes(n.src.dtype);
	TSR_GPU_NO_UNROLL
	for (int rank = 0; rank < tsr_size(n.coop) && a->room; rank++) {
		if (!tsr_gpu_is_far(n.coop, rank))
			continue;
		tsr_gpu_request_t want =
			tsr_gpu_far_rows(n.coop, TSR_GPU_ASK_GET,
					 tsr_gpu_element_at(n.src, s.row, s.col), n.src.ld * bytes,
					 s.cols * bytes, s.rows, rank);
		want.bits = (uint64_t)(rank * s.each);
		tsr_gpu_far_fetch(n.coop, a, want);
	}
}

/** Stores the result of a stretch, which the room has at `at`, to one rank. */
TSR_GPU_CALLED void tsr_gpu_noded_give(const tsr_gpu_noded_t &n, const tsr_gpu_stretch_t &s,
				       tsr_gpu_asking_t *a, int64_t at, int rank)
{
	const int64_t bytes = tsr_gpu_dtype_bytes(n.dst.dtype), row_bytes = s.cols * bytes;
	char *mine = tsr_gpu_element_at(n.dst, s.row, s.col);
	if (tsr_gpu_is_far(n.coop, rank)) {
		tsr_gpu_request_t want =
			tsr_gpu_far_rows(n.coop, TSR_GPU_ASK_PUT, mine, n.dst.ld * bytes, row_bytes,
					 s.rows, rank);
		want.bits = (uint64_t)at;
		tsr_gpu_far_send(n.coop, a, want);
		return;
	}
	tsr_gpu_one_place_t there;
	const tsr_gpu_rows_of_bytes_t job = {tsr_gpu_heap_address(n.coop, mine, rank),
					     s.room + at,
					     n.dst.ld * bytes,
					     row_bytes,
					     s.rows,
					     row_bytes};
	tsr_gpu_copy_rows(n.coop, there, job);
}

template <typename D, typename E>
TSR_DEV void tsr_gpu_noded_stretch(const tsr_gpu_noded_t &n, const tsr_gpu_stretch_t &s,
				   tsr_gpu_asking_t *a)
{
	const int ranks = tsr_size(n.coop);
	const int64_t at = ranks * s.each;
	typename E::stored_t *result = (typename E::stored_t *)(s.room + at);
	tsr_gpu_noded_get(n, s, a);
	TSR_GPU_NO_UNROLL
	for (int64_t i = n.coop->thread; i < s.rows * s.cols && a->room; i += n.coop->threads)
		result[i] = tsr_gpu_encode<E>(tsr_gpu_noded_one<D>(n, s, i));
	tsr_gpu_meet(n.coop);
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < (n.to == TSR_ANY_RANK ? ranks : 1) && a->room; i++)
		tsr_gpu_noded_give(n, s, a, at, n.to == TSR_ANY_RANK ? tsr_peer(n.coop, i) : n.to);
	tsr_gpu_meet(n.coop); /* the room is written again */
}

/** D is how the ranks hold elements, and E how the result is stored. */
template <typename D, typename E> TSR_DEV void tsr_gpu_combine_noded(const tsr_gpu_noded_t &n)
{
	const int64_t slots = tsr_size(n.coop) + 1, each = TSR_GPU_ROOM_BYTES / slots / 16 * 16,
		      most = each / 8, wide = n.src.cols < most ? n.src.cols : most,
		      high = most / wide;
	tsr_gpu_asking_t a = tsr_gpu_far_begin(n.coop);
	TSR_GPU_NO_UNROLL
	for (int64_t row = 0; row < n.src.rows; row += high)
		TSR_GPU_NO_UNROLL
	for (int64_t col = 0; col < n.src.cols && a.room; col += wide) {
		const tsr_gpu_stretch_t s = {row,
					     col,
					     n.src.rows - row < high ? n.src.rows - row : high,
					     n.src.cols - col < wide ? n.src.cols - col : wide,
					     a.room,
					     each};
		tsr_gpu_noded_stretch<D, E>(n, s, &a);
	}
	tsr_gpu_far_end(n.coop, a);
}

template <typename D> TSR_DEV void tsr_gpu_combine_noded_as(const tsr_gpu_noded_t &n)
{
	typedef typename tsr_gpu_partial_of<typename D::value_t>::type wide_t;
	if (n.dst.dtype == (int32_t)D::code)
		tsr_gpu_combine_noded<D, D>(n);
	else if (n.dst.dtype == (int32_t)wide_t::code)
		tsr_gpu_combine_noded<D, wide_t>(n);
	else if (n.dst.dtype == TSR_BF16)
		tsr_gpu_combine_noded<D, tsr_gpu_bf16>(n);
	else
		tsr_gpu_combine_noded<D, tsr_gpu_f16>(n);
}

TSR_GPU_CALLED void tsr_gpu_combine_nodes_seldom(const tsr_gpu_noded_t &n)
{
	const int me = tsr_rank(n.coop);
	tsr_port_settle(n.coop);
	if (n.src.rows <= 0 || n.src.cols <= 0 || !tsr_gpu_reduces(n.coop, n.src) ||
	    !tsr_gpu_accepts_view(n.coop, n.dst, n.to == TSR_ANY_RANK ? me : n.to))
		return;
	TSR_GPU_BY_DTYPE(n.src.dtype, D, (tsr_gpu_combine_noded_as<D>(n)))
}

TSR_DEV void tsr_gpu_combine_nodes(tsr_gpu_noded_t n)
{
	tsr_coop_t *coop = n.coop, seldom = tsr_gpu_seldom(coop);
	n.coop = &seldom;
	tsr_gpu_combine_nodes_seldom(n);
	tsr_gpu_seldom_end(coop, &seldom);
}

TSR_DEV void tsr_port_combine_node(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
				   tsr_reduce_t op, int to)
{
	const tsr_gpu_noded_t n = {coop, dst, src, 0, op, to, tsr_port_node(coop, tsr_rank(coop))};
	tsr_gpu_combine_nodes(n);
}

TSR_DEV void tsr_port_combine_nodes(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
				    const tsr_partials_t *partials, int to)
{
	const tsr_gpu_noded_t n = {coop, dst, src, partials, (tsr_reduce_t)partials->op, to, -1};
	tsr_gpu_combine_nodes(n);
}

/** tsr_port_combine in a team that spans nodes: whether this is one. */
TSR_DEV bool tsr_gpu_combines_nodes(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
				    tsr_reduce_t op, int to)
{
	const tsr_gpu_noded_t n = {coop, dst, src, 0, op, to, -1};
	if (!tsr_gpu_spans_nodes(coop))
		return false;
	if (src.rows > 0 && src.cols > 0)
		tsr_gpu_combine_nodes(n);
	return true;
}

#else

TSR_DEV bool tsr_gpu_combines_nodes(tsr_coop_t *, tsr_view_t, tsr_view_t, tsr_reduce_t, int)
{
	return false;
}

#endif

#endif

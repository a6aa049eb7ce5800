/*
 * Bodies of dev/gemm.h, and of tsr_tile_dot. Operands are staged in the scratch
 * memory; every thread sums its own elements, or the port's matrix unit does
 * (tsr_port_multiply). This is the main loop for any GPU, type and shape.
 * tsr_gemm calls the port's tsr_port_gemm, which uses this loop if it has none
 * of its own. tsr_tile_dot uses it if the port cannot multiply fragments in
 * registers (tsr_port_dot).
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_GEMM_H
#define TESSERA_GPU_DEV_FRAGMENTS_GEMM_H

#include "gpu/dev/fragments/tile.h"

#include TSR_PORT_DOT

/** The stage of a configuration: A as M rows of `depth`, then B as `depth` rows of N. */
template <typename T> struct tsr_gpu_stage {
	typedef typename T::dtype_t::value_t value_t;
	enum {
		fit = TSR_GPU_SCRATCH_BYTES / ((T::M + T::N) * (int)sizeof(value_t)),
		depth = fit < T::K ? fit : (int)T::K
	};
	static_assert(fit > 0, "a column of A and a row of B do not fit the scratch memory: choose "
			       "a smaller tile");
};

TSR_DEV float tsr_gpu_fma(float x, float y, float sum)
{
	return __builtin_fmaf(x, y, sum);
}

TSR_DEV double tsr_gpu_fma(double x, double y, double sum)
{
	return __builtin_fma(x, y, sum);
}

TSR_DEV int32_t tsr_gpu_fma(int32_t x, int32_t y, int32_t sum)
{
	/* wraps around, as two's complement does */
	return (int32_t)((uint32_t)sum + (uint32_t)x * (uint32_t)y);
}

/** acc += staged A * staged B. Called between two meetings. */
template <typename F> TSR_DEV void tsr_gpu_multiply(const tsr_coop_t *coop, F *acc)
{
	typedef typename F::tile_t tile_t;
	constexpr int depth = tsr_gpu_stage<tile_t>::depth;
	const typename F::value_t *a = tsr_gpu_scratch<typename F::value_t>(coop),
				  *b = a + tile_t::M * depth;
	if (tsr_port_multiply(coop, acc, a, b, depth))
		return;
	TSR_GPU_NO_UNROLL
	for (int k = 0; k < depth; k++) {
		TSR_GPU_EACH(F, coop, i, e)
		{
			int row = tsr_gpu_row<F>(coop, i), col = tsr_gpu_col<F>(coop, i);
			acc->v[i] =
				tsr_gpu_fma(a[row * depth + k], b[k * tile_t::N + col], acc->v[i]);
		}
	}
}

/**
 * For element e of an operand: its index along K, and its row of A or column of
 * B.
 */
template <typename F> TSR_DEV int tsr_gpu_operand_k(int e)
{
	return (int)F::role == (int)TSR_GPU_OPERAND_B ? e / F::cols : e % F::cols;
}

template <typename F> TSR_DEV int tsr_gpu_operand_row(int e)
{
	return (int)F::role == (int)TSR_GPU_OPERAND_B ? e % F::cols : e / F::cols;
}

/**
 * Writes columns k0 .. of an operand to the stage, as many as fit, with the
 * given steps. Skips those past K.
 */
template <typename F>
TSR_DEV void tsr_gpu_stage_operand(const tsr_coop_t *coop, typename F::value_t *stage,
				   const F *operand, int k0, int row_step, int k_step)
{
	constexpr int depth = tsr_gpu_stage<typename F::tile_t>::depth;
	if (!tsr_gpu_owns<F>(coop))
		return;
	TSR_GPU_EACH(F, coop, i, e)
	{
		int k = tsr_gpu_operand_k<F>(e) - k0;
		if (k >= 0 && k < depth)
			stage[tsr_gpu_operand_row<F>(e) * row_step + k * k_step] =
				tsr_gpu_get(operand, i);
	}
}

/** acc += a * b through the scratch memory. */
template <typename F, typename A, typename B>
TSR_DEV void tsr_gpu_dot(tsr_coop_t *coop, F *acc, const A *a, const B *b)
{
	typedef typename F::tile_t tile_t;
	constexpr int depth = tsr_gpu_stage<tile_t>::depth;
	typename F::value_t *stage_a = tsr_gpu_scratch<typename F::value_t>(coop),
			    *stage_b = stage_a + tile_t::M * depth;
	tsr_port_settle(coop);
	TSR_GPU_NO_UNROLL
	for (int k0 = 0; k0 < tile_t::K; k0 += depth) {
		/* The last step may reach past K: write zeros there. */
		for (int e = coop->thread;
		     k0 + depth > tile_t::K && e < (tile_t::M + tile_t::N) * depth;
		     e += coop->threads)
			stage_a[e] = 0;
		if (k0 + depth > tile_t::K)
			tsr_gpu_meet(coop);
		tsr_gpu_stage_operand(coop, stage_a, a, k0, depth, 1);
		tsr_gpu_stage_operand(coop, stage_b, b, k0, 1, tile_t::N);
		tsr_gpu_meet(coop);
		tsr_gpu_multiply(coop, acc);
		tsr_gpu_meet(coop);
	}
}

TSR_DEV_FRAG_DOT void tsr_tile_dot(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
				   const tsr_frag_b_t *b)
{
	static_assert((int)tsr_frag_b_t::role == (int)TSR_GPU_OPERAND_B,
		      "b is K x N: declare it with TSR_FRAG_B");
	tsr_gpu_frag_changes(coop, acc);
	if (!tsr_port_dot(coop, acc, a, b))
		tsr_gpu_dot(coop, acc, a, b);
}

TSR_DEV_FRAG_DOT_BT void tsr_tile_dot_bt(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
					 const tsr_frag_bt_t *b)
{
	static_assert((int)tsr_frag_bt_t::role == (int)TSR_GPU_OPERAND_BT,
		      "b is N x K: declare it with TSR_FRAG_BT");
	tsr_gpu_frag_changes(coop, acc);
	if (!tsr_port_dot(coop, acc, a, b))
		tsr_gpu_dot(coop, acc, a, b);
}

/**
 * Loads the ROWS x COLS elements of a view from `from.at` on into a stage,
 * which has the same layout, or with TURNED the transposed one. Elements
 * outside the view's first rows_end rows and cols_end columns are zeros.
 */
template <typename D, int ROWS, int COLS, bool TURNED, typename V>
TSR_DEV void tsr_gpu_stage_load(const tsr_coop_t *coop, V *stage, const tsr_gpu_target_t &from,
				int64_t rows_end, int64_t cols_end)
{
	typedef typename D::stored_t stored_t;
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread; e < ROWS * COLS; e += coop->threads) {
		int64_t row = from.at.row + e / COLS, col = from.at.col + e % COLS;
		V x = 0;
		if (row >= 0 && row < rows_end && col >= 0 && col < cols_end)
			x = tsr_gpu_decode<V, D>(((const stored_t *)
							  from.data)[row * from.ld + col]);
		stage[TURNED ? e % COLS * ROWS + e / COLS : e] = x;
	}
}

/** The depth K of a product by tiles of T: the smaller one of both views. */
template <typename T> TSR_DEV int64_t tsr_gpu_depth(const tsr_view_t &a, const tsr_view_t &b)
{
	return tsr_gpu_least(T::A_ALONG ? a.cols : a.rows, T::B_ALONG ? b.cols : b.rows);
}

/** For the record: the bytes of whole operands of a tile, `depth` of K deep. */
template <typename T> TSR_DEV uint64_t tsr_gpu_operand_bytes(int64_t depth)
{
	return depth > 0 ? (uint64_t)(depth * (T::M + T::N)) * sizeof(typename T::dtype_t::stored_t)
			 : 0;
}

/** The B of a task, which begins b0 rows into the view. T: a configuration. */
template <typename T> TSR_DEV tsr_view_t tsr_gpu_task_b(tsr_view_t b, int64_t b0)
{
	b.data = (char *)b.data + b0 * b.ld * (int64_t)sizeof(typename T::dtype_t::stored_t);
	return b;
}

/**
 * Loads one operand's part of a chunk into its stage: EXTENT rows of A, or
 * columns of B, from `first` on, and `depth` of K from `k` on, below k1. ALONG:
 * K runs along the rows of its view. TURNED: the stage has the transposed
 * layout.
 */
template <typename D, int EXTENT, int DEPTH, bool ALONG, bool TURNED, typename V>
TSR_DEV void tsr_gpu_stage_operand(tsr_coop_t *coop, V *stage, tsr_view_t view, int64_t first,
				   int64_t k, int64_t k1, int peer)
{
	tsr_pos_t at;
	at.row = ALONG ? first : k;
	at.col = ALONG ? k : first;
	tsr_gpu_stage_load<D, ALONG ? EXTENT : DEPTH, ALONG ? DEPTH : EXTENT, TURNED>(
		coop, stage, tsr_gpu_target(coop, view, at, peer),
		ALONG ? view.rows : tsr_gpu_least(view.rows, k1),
		ALONG ? tsr_gpu_least(view.cols, k1) : view.cols);
}

/**
 * Gets the operand's part of a chunk from a rank of another node into the room,
 * `skip` bytes behind its begin. The view has it at the same coordinates.
 */
template <int EXTENT, bool ALONG>
TSR_DEV tsr_view_t tsr_gpu_far_operand(tsr_coop_t *coop, tsr_gpu_asking_t *a, int64_t skip,
				       tsr_view_t view, int64_t first, const tsr_part_t &chunk,
				       int peer)
{
	tsr_pos_t at;
	at.row = ALONG ? first : chunk.k0;
	at.col = ALONG ? chunk.k0 : first;
	const int64_t depth = chunk.k1 - chunk.k0;
	return tsr_gpu_far_get_tile(coop, a, skip, view, at, ALONG ? EXTENT : depth,
				    ALONG ? depth : EXTENT, peer);
}

/**
 * Adds the product of a chunk, after its gate has returned the ranks to read
 * from.
 */
template <typename F>
TSR_DEV void tsr_gpu_gemm_chunk(tsr_coop_t *coop, F *acc, tsr_view_t a, tsr_view_t b,
				const tsr_part_t &chunk, tsr_from_t from)
{
	typedef typename F::tile_t tile_t;
	typedef typename F::dtype_t dtype_t;
	constexpr int depth = tsr_gpu_stage<tile_t>::depth;
	typename F::value_t *stage = tsr_gpu_scratch<typename F::value_t>(coop);
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, acc);
	TSR_GPU_NO_UNROLL
	for (int64_t k = chunk.k0; k < chunk.k1; k += depth) {
		tsr_gpu_stage_operand<dtype_t, tile_t::M, depth, tile_t::A_ALONG, !tile_t::A_ALONG>(
			coop, stage, a, chunk.at.row, k, chunk.k1, from.a);
		tsr_gpu_stage_operand<dtype_t, tile_t::N, depth, tile_t::B_ALONG, tile_t::B_ALONG>(
			coop, stage + tile_t::M * depth, b, chunk.at.col, k, chunk.k1, from.b);
		tsr_gpu_meet(coop);
		tsr_gpu_multiply(coop, acc);
		tsr_gpu_meet(coop);
	}
}

/** The operands of a chunk: what is on another node, in a room. */
template <typename T>
TSR_DEV tsr_gpu_asking_t tsr_gpu_far_operands(tsr_coop_t *coop, tsr_view_t *a, tsr_view_t *b,
					      const tsr_part_t &chunk, tsr_from_t *from)
{
	constexpr int64_t a_bytes = (int64_t)T::M * T::K * 8, b_bytes = (int64_t)T::N * T::K * 8;
	static_assert(a_bytes + b_bytes <= TSR_GPU_ROOM_BYTES || !TSR_PORT_NODES,
		      "operands of ranks on other nodes do not fit a request's room");
	tsr_port_settle(coop);
	tsr_gpu_asking_t asking = tsr_gpu_far_begin(coop);
	if (asking.room && tsr_gpu_is_far(coop, from->a)) {
		*a = tsr_gpu_far_operand<T::M, T::A_ALONG>(coop, &asking, 0, *a, chunk.at.row,
							   chunk, from->a);
		from->a = tsr_rank(coop);
	}
	if (asking.room && tsr_gpu_is_far(coop, from->b)) {
		*b = tsr_gpu_far_operand<T::N, T::B_ALONG>(coop, &asking, a_bytes, *b, chunk.at.col,
							   chunk, from->b);
		from->b = tsr_rank(coop);
	}
	return asking;
}

TSR_DEV_FRAG void tsr_gemm_mainloop(tsr_coop_t *coop, tsr_frag_t *acc, tsr_view_t a, tsr_view_t b,
				    tsr_part_t part, tsr_gate_fn gate, const void *ctx)
{
	const int64_t end =
		tsr_gpu_least(part.k1, tsr_gpu_depth<typename tsr_frag_t::tile_t>(a, b));
	const tsr_view_t task_b = tsr_gpu_task_b<typename tsr_frag_t::tile_t>(b, part.b0);
	tsr_part_t chunk = part;
	tsr_gpu_record_product(coop);
	TSR_GPU_NO_UNROLL
	for (; chunk.k0 < end; chunk.k0 = chunk.k1) {
		chunk.k1 = tsr_gpu_least(chunk.k0 + tsr_frag_t::tile_t::K, end);
		tsr_from_t from =
			gate ? gate(coop, chunk, ctx) : tsr_from(tsr_rank(coop), tsr_rank(coop));
		if (!tsr_gpu_accepts_view(coop, a, from.a) ||
		    !tsr_gpu_accepts_view(coop, task_b, from.b))
			continue;
		const bool far = tsr_gpu_is_far(coop, from.a) || tsr_gpu_is_far(coop, from.b);
		tsr_gpu_asking_t asking = {-1, 0};
		tsr_view_t here_a = a, here_b = task_b;
		if (far)
			asking = tsr_gpu_far_operands<typename tsr_frag_t::tile_t>(coop, &here_a,
										   &here_b, chunk,
										   &from);
		if (!far || asking.room)
			tsr_gpu_gemm_chunk(coop, acc, here_a, here_b, chunk, from);
		if (far)
			tsr_gpu_far_end(coop, asking);
	}
	tsr_gpu_record_produced(coop,
				tsr_gpu_operand_bytes<typename tsr_frag_t::tile_t>(end - part.k0));
}

/** tsr_gemm. K is the smaller one of A and B. */
template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_gpu_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		F acc;
		tsr_part_t part = ORDER(task, ctx);
		tsr_frag_zero(coop, &acc);
		tsr_gemm_mainloop(coop, &acc, a, b, part, GATE, (const void *)ctx);
		EPILOGUE(coop, &acc, part.at, ctx);
	}
}

#include TSR_PORT_GEMM

#endif

/*
 * Products of fragments on the tensor cores. Each warp multiplies by itself;
 * operands and sums stay in its registers, in the layout of layout.h. A tile
 * whose operands do not fit there is staged in the scratch memory, and
 * multiplied from there by the same instruction.
 */
#ifndef TESSERA_CUDA_DOT_H
#define TESSERA_CUDA_DOT_H

#include "cuda/dev/mma.h"

/**
 * A word of A for a block's half and a step: the lower or the higher pair of K.
 */
template <typename A>
TSR_DEV uint32_t tsr_cuda_word_a(const A *a, tsr_cuda_lanes_t l, int block, int run, int half,
				 int pair)
{
	return a->v[tsr_cuda_a_at(l, block, run, half, 2 * pair) / 2];
}

template <typename B>
TSR_DEV uint32_t tsr_cuda_word_b(const B *b, tsr_cuda_lanes_t l, int block, int run, int pair)
{
	if constexpr ((int)B::role == (int)TSR_GPU_OPERAND_BT)
		return b->v[tsr_cuda_bt_at(l, block, run, 2 * pair) / 2];
	else
		return b->v[tsr_cuda_b_at(l, block, run, 2 * pair) / 2];
}

/** acc += A * B, if all are held by WARPS warps. */
template <int WARPS, typename F, typename A, typename B>
TSR_DEV void tsr_cuda_dot(F *acc, const A *a, const B *b)
{
	typedef tsr_cuda_deal<typename F::tile_t, TSR_GPU_ACCUMULATOR, WARPS> deal;
	constexpr tsr_cuda_lanes_t l = deal::lanes;
	constexpr int runs = tsr_cuda_runs(l);
	TSR_GPU_UNROLL
	for (int run = 0; run < runs; run++)
		TSR_GPU_UNROLL
	for (int pair = 0; pair < l.run / 2; pair += 2)
		TSR_GPU_UNROLL
	for (int m = 0; m < l.blocks_m; m++) {
		const uint32_t words[4] = {tsr_cuda_word_a(a, l, m, run, 0, pair),
					   tsr_cuda_word_a(a, l, m, run, 1, pair),
					   tsr_cuda_word_a(a, l, m, run, 0, pair + 1),
					   tsr_cuda_word_a(a, l, m, run, 1, pair + 1)};
		TSR_GPU_UNROLL
		for (int n = 0; n < l.blocks_n; n++)
			tsr_cuda_mma<typename F::dtype_t>::add(acc->v + tsr_cuda_sum_at(l, m, n),
							       words,
							       tsr_cuda_word_b(b, l, n, run, pair),
							       tsr_cuda_word_b(b, l, n, run,
									       pair + 1));
	}
}

/**
 * acc += A * B, if the coop holds all three in that layout. Its result is a
 * constant after inlining.
 */
template <typename F, typename A, typename B>
TSR_DEV bool tsr_port_dot(const tsr_coop_t *coop, F *acc, const A *a, const B *b)
{
	if (!tsr_gpu_by_port<A>(coop) || !tsr_gpu_by_port<B>(coop))
		return false;
	if constexpr (tsr_cuda_multiplies<typename F::dtype_t>) {
		if (!tsr_port_layout<F>::multiplies(coop))
			return true;
		switch (tsr_cuda_warps(coop->threads)) {
		case 32:
			tsr_cuda_dot<32>(acc, a, b);
			break;
		case 16:
			tsr_cuda_dot<16>(acc, a, b);
			break;
		case 8:
			tsr_cuda_dot<8>(acc, a, b);
			break;
		default:
			tsr_cuda_dot<4>(acc, a, b);
			break;
		}
	}
	return true;
}

/* ---- from the scratch memory */

/**
 * Elements k and k + 1 of a stage's row or column, which are `step` apart.
 * Elements past its depth are zeros.
 */
template <typename D>
TSR_DEV uint32_t tsr_cuda_staged(const float *stage, int step, int k, int depth)
{
	const float first = k < depth ? stage[k * step] : 0,
		    second = k + 1 < depth ? stage[(k + 1) * step] : 0;
	return tsr_cuda_pair<D>(first, second);
}

/**
 * The warp's first or second operand in the stage: its number of rows or
 * columns, their distance, and the distance of their elements.
 */
typedef struct tsr_cuda_stage {
	const float *data;
	int count, step, k_step;
} tsr_cuda_stage_t;

/**
 * The same for row or column `index`. One past the tile's edge reads the last
 * one instead; its sums are not used.
 */
template <typename D>
TSR_DEV uint32_t tsr_cuda_staged_at(const tsr_cuda_stage_t &stage, int index, int k, int depth)
{
	return tsr_cuda_staged<D>(stage.data + (index < stage.count ? index : stage.count - 1) *
						       stage.step,
				  stage.k_step, k, depth);
}

/**
 * acc += A * B, which are in the scratch memory as M rows of `depth` and
 * `depth` rows of N, if the tensor cores can multiply the type.
 */
template <typename F>
TSR_DEV bool tsr_port_multiply(const tsr_coop_t *coop, F *acc, const typename F::value_t *a,
			       const typename F::value_t *b, int depth)
{
	typedef typename F::tile_t tile_t;
	typedef typename F::dtype_t dtype_t;
	typedef tsr_port_layout<F> layout;
	if constexpr (tsr_cuda_multiplies<dtype_t>) {
		const int group = coop->thread % TSR_CUDA_LANES / 4, turn = coop->thread % 4;
		const tsr_cuda_stage_t of_a = {a, tile_t::M, depth, 1},
				       of_b = {b, tile_t::N, 1, tile_t::N};
		const tsr_cuda_stage_t first = layout::turned(coop->threads) ? of_b : of_a;
		const tsr_cuda_stage_t second = layout::turned(coop->threads) ? of_a : of_b;
		if (!tsr_gpu_by_port<F>(coop))
			return false;
		if (!layout::multiplies(coop))
			return true;
		TSR_GPU_NO_UNROLL
		for (int k0 = 2 * turn; k0 < depth + 2 * turn; k0 += TSR_CUDA_STEP)
			TSR_GPU_UNROLL
		for (int m = 0; m * 4 < F::capacity && m < layout::blocks_m(coop->threads); m++) {
			uint32_t words[4];
			TSR_GPU_UNROLL
			for (int i = 0; i < 4; i++)
				words[i] = tsr_cuda_staged_at<dtype_t>(
					first, layout::block_row(coop, m, group + i % 2 * 8),
					k0 + i / 2 * 8, depth);
			TSR_GPU_UNROLL
			for (int n = 0; n * 4 < F::capacity && n < layout::blocks_n(coop->threads);
			     n++) {
				const int col = layout::block_col(coop, n, group);
				tsr_cuda_mma<dtype_t>::add(
					acc->v + (m * layout::blocks_n(coop->threads) + n) * 4,
					words, tsr_cuda_staged_at<dtype_t>(second, col, k0, depth),
					tsr_cuda_staged_at<dtype_t>(second, col, k0 + 8, depth));
			}
		}
		return true;
	}
	return false;
}

#endif

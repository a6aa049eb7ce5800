/*
 * Products of fragments on the matrix cores: operands and sums stay in
 * registers, as layout.h deals them.
 */
#ifndef TESSERA_HIP_DOT_H
#define TESSERA_HIP_DOT_H

#include "hip/dev/mfma.h"

/** What a lane gives of an operand to one instruction: the elements from number `i` on. */
template <typename V, typename O> TSR_DEV V tsr_hip_operand(const O *operand, int i)
{
	if constexpr (O::packed) {
		const struct {
			uint32_t word[2];
		} words = {{operand->v[i / 2], operand->v[i / 2 + 1]}};
		return __builtin_bit_cast(V, words);
	} else {
		return operand->v[i];
	}
}

/** The sums of a block, from where they are held, and back. */
template <typename S, typename F>
TSR_DEV S tsr_hip_sums(const F *acc, tsr_hip_lanes_t l, int m, int n)
{
	S sums;
	TSR_GPU_UNROLL
	for (int reg = 0; reg < (int)(sizeof(S) / sizeof(float)); reg++)
		sums[reg] = acc->v[tsr_hip_held(l, m, n, reg)];
	return sums;
}

template <typename S, typename F>
TSR_DEV void tsr_hip_keep_sums(F *acc, tsr_hip_lanes_t l, int m, int n, S sums)
{
	TSR_GPU_UNROLL
	for (int reg = 0; reg < (int)(sizeof(S) / sizeof(float)); reg++)
		acc->v[tsr_hip_held(l, m, n, reg)] = sums[reg];
}

/** acc += A * B. Blocks in the inner loops: no instruction waits for the one before. */
template <int THREADS, typename F, typename A, typename B>
TSR_DEV void tsr_hip_dot(F *acc, const A *a, const B *b)
{
	typedef typename F::tile_t tile_t;
	constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<tile_t, THREADS>;
	typedef tsr_hip_mfma<typename F::dtype_t, l.edge> mfma_t;
	typedef typename mfma_t::operand_t operand_t;
	constexpr int blocks_m = tsr_hip_blocks_m(l), blocks_n = tsr_hip_blocks_n(l),
		      each = tsr_hip_each(l);
	typename mfma_t::sum_t sums[blocks_m][blocks_n];
	TSR_GPU_UNROLL
	for (int m = 0; m < blocks_m; m++)
		TSR_GPU_UNROLL
	for (int n = 0; n < blocks_n; n++)
		sums[m][n] = tsr_hip_sums<typename mfma_t::sum_t>(acc, l, m, n);
	TSR_GPU_UNROLL
	for (int k = 0; k < tsr_hip_own_k(l, tile_t::K); k += each)
		TSR_GPU_UNROLL
	for (int m = 0; m < blocks_m; m++)
		TSR_GPU_UNROLL
	for (int n = 0; n < blocks_n; n++)
		sums[m][n] = mfma_t::multiply(
			tsr_hip_operand<operand_t>(a, m * tsr_hip_own_k(l, tile_t::K) + k),
			tsr_hip_operand<operand_t>(b, n * tsr_hip_own_k(l, tile_t::K) + k),
			sums[m][n]);
	TSR_GPU_UNROLL
	for (int m = 0; m < blocks_m; m++)
		TSR_GPU_UNROLL
	for (int n = 0; n < blocks_n; n++)
		tsr_hip_keep_sums(acc, l, m, n, sums[m][n]);
}

/** acc += A * B, where the coop holds all three so. A constant, once inlined. */
template <typename F, typename A, typename B>
TSR_DEV bool tsr_port_dot(const tsr_coop_t *coop, F *acc, const A *a, const B *b)
{
	typedef typename F::tile_t tile_t;
	if constexpr (tsr_hip_holds<tile_t, TSR_HIP_SOLE_THREADS>)
		if (coop->threads == TSR_HIP_SOLE_THREADS) {
			tsr_hip_dot<TSR_HIP_SOLE_THREADS>(acc, a, b);
			return true;
		}
	if constexpr (tsr_hip_holds<tile_t, TSR_HIP_WAVE_THREADS>)
		if (coop->threads == TSR_HIP_WAVE_THREADS) {
			tsr_hip_dot<TSR_HIP_WAVE_THREADS>(acc, a, b);
			return true;
		}
	return false;
}

/**
 * The scratch memory is multiplied by each thread's own arithmetic: tiles that
 * get there are none for the matrix cores.
 */
template <typename F, typename V>
TSR_DEV bool tsr_port_multiply(const tsr_coop_t *, F *, const V *, const V *, int)
{
	return false;
}

#endif

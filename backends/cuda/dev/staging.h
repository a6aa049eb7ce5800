/*
 * How a finished tile leaves: through shared memory, from where the copy engine stores its rows to my or a peer's memory while the
 * threads go on. Several stores of one tile share what was laid down once.
 */
#ifndef TESSERA_CUDA_STAGING_H
#define TESSERA_CUDA_STAGING_H

#include "cuda/dev/pipeline.h"

/** Until the coop's stores have ended, those of all its threads. Stores of others than consumers end when they are made. */
TSR_DEV void tsr_port_settle(tsr_coop_t *coop)
{
	if (!coop->under_way)
		return;
	tsr_cuda_bulk_await();
	tsr_gpu_meet(coop);
	coop->under_way = 0;
}

TSR_DEV void tsr_port_complete(void)
{
	tsr_cuda_bulk_await();
}

/** The threads of a warpgroup of consumers meet. Each lays down and sends its own rows. */
TSR_DEV void tsr_cuda_meet_warpgroup(const tsr_coop_t *coop)
{
	__asm__ volatile("bar.sync %0, %1;" ::"r"(TSR_CUDA_BARRIER_WARPGROUP + coop->thread / TSR_CUDA_WARPGROUP_THREADS),
			 "n"(TSR_CUDA_WARPGROUP_THREADS)
			 : "memory");
}

/** Two neighbours of a row, rounded to D; the first in the lower half. */
template <typename D> TSR_DEV uint32_t tsr_cuda_pair(float first, float second)
{
	uint32_t pair;
	if constexpr ((int)D::code == TSR_BF16)
		__asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
	else
		__asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
	return pair;
}

/** Lays columns first .. first + part_cols - 1 of the warpgroup's rows down, once what stood there has been read. */
template <typename F> TSR_DEV void tsr_cuda_lay(const tsr_coop_t *coop, const F *frag, int first)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	tsr_cuda_bulk_await_reads();
	tsr_cuda_meet_warpgroup(coop);
	TSR_GPU_UNROLL
	for (int i = 0; i < F::elements / TSR_CUDA_CONSUMER_THREADS; i += 2) {
		int row = tsr_gpu_row<F>(coop, i), col = tsr_gpu_col<F>(coop, i);
		int first_col = i % tsr_port_layout<F>::band_elements / 4 * 8; /* without the thread's part, so a constant */
		if (first_col < first || first_col >= first + division::part_cols)
			continue;
		*(uint32_t *)(coop->scratch->bytes + row * division::pitch_bytes + (col - first) * 2) =
			tsr_cuda_pair<typename F::dtype_t>(frag->v[i], frag->v[i + 1]);
	}
	tsr_cuda_shared_to_engine();
	tsr_cuda_meet_warpgroup(coop);
}

/** Starts the stores of what has been laid down; each thread sends one row, as far as the target's edges allow. */
template <typename F> TSR_DEV void tsr_cuda_send(const tsr_coop_t *coop, const tsr_gpu_target_t &target, int first)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	constexpr int rows = F::rows / 2; /* of a warpgroup */
	int thread = coop->thread % TSR_CUDA_WARPGROUP_THREADS;
	int row = coop->thread / TSR_CUDA_WARPGROUP_THREADS * rows + thread;
	int64_t cols = target.cols - target.at.col - first;
	if (cols > division::part_cols)
		cols = division::part_cols;
	if (thread < rows && target.at.row + row < target.rows && cols > 0) {
		uint16_t *to = (uint16_t *)target.data + ((target.at.row + row) * target.ld + target.at.col + first);
		const unsigned char *from = coop->scratch->bytes + row * division::pitch_bytes;
		int whole = (int)cols / 8 * 8;
		if (whole > 0)
			tsr_cuda_bulk_store(to, tsr_cuda_shared_address(from), (uint32_t)whole * 2u);
		for (int j = whole; j < (int)cols; j++)
			to[j] = ((const uint16_t *)from)[j];
	}
	tsr_cuda_bulk_commit();
}

/** Whether the copy engine can store the tile: 16-bit elements as they are laid down, in global memory, at multiples of 16 bytes.
 */
template <typename F> TSR_DEV bool tsr_cuda_sends(const tsr_coop_t *coop, const tsr_gpu_target_t &target)
{
	return target.dtype == (int32_t)F::dtype_t::code && target.space != TSR_SPACE_SHARED && target.at.row >= 0 &&
	       target.at.col >= 0 && tsr_gpu_packs<uint16_t>(target);
}

template <typename F> TSR_DEV bool tsr_port_store(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	if constexpr (tsr_port_layout<F>::threads != 0) {
		typedef tsr_cuda_division<typename F::tile_t> division;
		if (!tsr_gpu_by_port<F>(coop) || !tsr_cuda_sends<F>(coop, target))
			return false;
		TSR_GPU_UNROLL
		for (int first = 0; first < F::cols; first += division::part_cols) {
			if (division::parts > 1 || coop->laid != frag->stamp)
				tsr_cuda_lay(coop, frag, first);
			tsr_cuda_send<F>(coop, target, first);
		}
		coop->laid = division::parts > 1 ? 0 : frag->stamp;
		coop->under_way = 1;
		return true;
	} else {
		(void)coop, (void)target, (void)frag;
		return false;
	}
}

#endif

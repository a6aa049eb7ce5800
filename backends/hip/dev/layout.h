/* How fragments are dealt to threads: accumulators as the matrix cores leave them, where these multiply the tile. */
#ifndef TESSERA_HIP_LAYOUT_H
#define TESSERA_HIP_LAYOUT_H

#include "hip/dev/lanes.h"
#include "hip/dev/threads.h"

/**
 * Shared memory that the main loop's stages may have. A workgroup has 64 KiB: a block's main loop leaves the scratch memory and
 * 7 KiB of it. A worker's shares it with tiles that the kernel keeps there, and has the less the wider their elements are.
 */
template <int THREADS, int ELEMENT_BYTES>
constexpr int tsr_hip_stages_bytes = THREADS == TSR_HIP_SOLE_THREADS ? 48 * 1024 : 32 * 1024 / ELEMENT_BYTES;

/** How a coop of so many threads multiplies tiles of configuration T. */
template <typename T, int THREADS>
constexpr tsr_hip_lanes_t tsr_hip_lanes_of =
	tsr_hip_lanes(T::M, T::N, T::K, (int)sizeof(typename T::dtype_t::stored_t), THREADS / TSR_HIP_LANES,
		      tsr_hip_stages_bytes<THREADS, (int)sizeof(typename T::dtype_t::stored_t)>);

/** Whether they are tiles for the matrix cores: of a type these multiply and sum in f32, and four rows fit the scratch memory. */
template <typename T, int THREADS>
constexpr bool tsr_hip_multiplies =
	(T::dtype_t::code == TSR_BF16 || T::dtype_t::code == TSR_F16 || T::dtype_t::code == TSR_F32) &&
	tsr_hip_lanes_of<T, THREADS>.depth != 0 && TSR_HIP_QUAD *T::N *(int)sizeof(float) <= TSR_GPU_SCRATCH_BYTES;

template <typename F> struct tsr_port_layout {
	TSR_DEV int together(int)
	{
		return 0;
	}
	TSR_DEV int row(const tsr_coop_t *, int)
	{
		return 0;
	}
	TSR_DEV int col(const tsr_coop_t *, int)
	{
		return 0;
	}
};

/** A coop's constants are copied to each function: the compiler does not look into those of a class on a device. */
template <typename T> struct tsr_port_layout<tsr_gpu_frag<T, TSR_GPU_ACCUMULATOR>> {
	TSR_DEV int together(int threads)
	{
		constexpr int of_block = tsr_hip_multiplies<T, TSR_HIP_SOLE_THREADS>
						 ? tsr_hip_together(tsr_hip_lanes_of<T, TSR_HIP_SOLE_THREADS>)
						 : 0;
		constexpr int of_wave = tsr_hip_multiplies<T, TSR_HIP_WAVE_THREADS>
						? tsr_hip_together(tsr_hip_lanes_of<T, TSR_HIP_WAVE_THREADS>)
						: 0;
		return threads == TSR_HIP_SOLE_THREADS ? of_block : threads == TSR_HIP_WAVE_THREADS ? of_wave : 0;
	}
	TSR_DEV int row(const tsr_coop_t *coop, int i)
	{
		constexpr tsr_hip_lanes_t of_block = tsr_hip_lanes_of<T, TSR_HIP_SOLE_THREADS>;
		constexpr tsr_hip_lanes_t of_wave = tsr_hip_lanes_of<T, TSR_HIP_WAVE_THREADS>;
		return tsr_hip_held_row(coop->threads == TSR_HIP_SOLE_THREADS ? of_block : of_wave, coop->thread, i);
	}
	TSR_DEV int col(const tsr_coop_t *coop, int i)
	{
		constexpr tsr_hip_lanes_t of_block = tsr_hip_lanes_of<T, TSR_HIP_SOLE_THREADS>;
		constexpr tsr_hip_lanes_t of_wave = tsr_hip_lanes_of<T, TSR_HIP_WAVE_THREADS>;
		return tsr_hip_held_col(coop->threads == TSR_HIP_SOLE_THREADS ? of_block : of_wave, coop->thread, i);
	}
};

#endif

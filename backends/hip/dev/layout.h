/*
 * How fragments are dealt to threads: accumulators as the matrix cores leave
 * them, where these multiply the tile, or compute its attention.
 */
#ifndef TESSERA_HIP_LAYOUT_H
#define TESSERA_HIP_LAYOUT_H

#include "hip/dev/attend_lanes.h"
#include "hip/dev/lanes.h"
#include "hip/dev/threads.h"

/**
 * Shared memory that the main loop's stages may have. A workgroup has 64 KiB: a
 * block's main loop leaves the scratch memory and 7 KiB of it. A worker's
 * shares it with tiles that the kernel keeps there, and has the less the wider
 * their elements are.
 */
template <int THREADS, int ELEMENT_BYTES>
constexpr int tsr_hip_stages_bytes =
	THREADS == TSR_HIP_SOLE_THREADS ? 48 * 1024 : 32 * 1024 / ELEMENT_BYTES;

/** How a coop of so many threads multiplies tiles of configuration T. */
template <typename T, int THREADS>
constexpr tsr_hip_lanes_t tsr_hip_lanes_of =
	tsr_hip_lanes(T::M, T::N, T::K, (int)sizeof(typename T::dtype_t::stored_t),
		      THREADS / TSR_HIP_LANES,
		      tsr_hip_stages_bytes<THREADS, (int)sizeof(typename T::dtype_t::stored_t)>);

/** Whether a coop of so many threads computes attention with these tiles on the matrix cores. */
template <typename T, int THREADS>
constexpr bool tsr_hip_attends =
	(T::dtype_t::code == TSR_BF16 || T::dtype_t::code == TSR_F16) &&
	THREADS == TSR_HIP_ATTEND_WAVES *TSR_HIP_LANES &&tsr_hip_attend_takes(T::M, T::ATTENDS,
									      T::N);

/**
 * Whether they are tiles for the matrix cores: of a type these multiply and sum
 * in f32, and four rows fit the scratch memory. Tiles of attention have their own
 * lanes.
 */
template <typename T, int THREADS>
constexpr bool tsr_hip_multiplies =
	(T::dtype_t::code == TSR_BF16 || T::dtype_t::code == TSR_F16 ||
	 T::dtype_t::code == TSR_F32) &&
	!tsr_hip_attends<T, THREADS> && tsr_hip_lanes_of<T, THREADS>.depth != 0 &&
	TSR_HIP_QUAD * T::N * (int)sizeof(float) <= TSR_GPU_SCRATCH_BYTES;

/** Whether a coop of so many threads holds operands as the matrix cores take them. */
template <typename T, int THREADS>
constexpr bool tsr_hip_holds =
	tsr_hip_multiplies<T, THREADS> &&tsr_hip_held_words(tsr_hip_lanes_of<T, THREADS>,
							    T::K) <= TSR_HIP_MOST_HELD;

/**
 * What a fragment of configuration T is to a coop of so many threads. Constants
 * are copied to each function: the compiler does not look into those of a class
 * on a device.
 */
template <typename T, int ROLE, int THREADS> struct tsr_hip_deal {
	enum {
		sums = ROLE == TSR_GPU_ACCUMULATOR,
		a = ROLE == TSR_GPU_OPERAND_A,
		b = ROLE == TSR_GPU_OPERAND_B,
		rows = ROLE == TSR_GPU_ROWS,
		dealt = sums ? tsr_hip_multiplies<T, THREADS> : !rows && tsr_hip_holds<T, THREADS>
	};
	TSR_DEV tsr_hip_lanes_t of(void)
	{
		constexpr tsr_hip_lanes_t lanes = tsr_hip_lanes_of<T, THREADS>;
		return lanes;
	}
	TSR_DEV int most(void)
	{
		constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<T, THREADS>;
		return sums ? T::M * T::N / THREADS
			    : (a ? tsr_hip_blocks_m(l) : tsr_hip_blocks_n(l)) *
				       tsr_hip_own_k(l, T::K);
	}
	TSR_DEV int together(void)
	{
		constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<T, THREADS>;
		return !dealt ? 0 : sums ? tsr_hip_together(l) : b ? tsr_hip_each(l) : l.run;
	}
	/**
	 * Of a row, side by side in memory. Sums are laid into the scratch memory, for their lanes
	 * have single columns.
	 */
	TSR_DEV int length(void)
	{
		constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<T, THREADS>;
		return !dealt || sums ? 0 : b ? 1 : l.run;
	}
	TSR_DEV int row(int thread, int i)
	{
		constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<T, THREADS>;
		if constexpr (!dealt)
			return 0;
		else if constexpr (sums)
			return tsr_hip_held_row(l, thread, i);
		else if constexpr (a)
			return tsr_hip_operand_row_a(l, T::K, thread, i);
		else
			return b ? tsr_hip_operand_k(l, T::K, thread, i)
				 : tsr_hip_operand_col_b(l, T::K, thread, i);
	}
	TSR_DEV int col(int thread, int i)
	{
		constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<T, THREADS>;
		if constexpr (!dealt)
			return 0;
		else if constexpr (sums)
			return tsr_hip_held_col(l, thread, i);
		else
			return b ? tsr_hip_operand_col_b(l, T::K, thread, i)
				 : tsr_hip_operand_k(l, T::K, thread, i);
	}
	/** Waves that need the same rows of A hold them all, and so with B's columns. */
	TSR_DEV bool owns(int thread)
	{
		constexpr tsr_hip_lanes_t l = tsr_hip_lanes_of<T, THREADS>;
		return sums || (a ? tsr_hip_wave_col(l, thread) : tsr_hip_wave_row(l, thread)) == 0;
	}
};

/**
 * The same of O in attention: a thread has one row, or half of it. All of its
 * elements are looked at together. They are laid into the scratch memory, because
 * a row's lanes would store too few bytes side by side.
 */
template <typename T> struct tsr_hip_attend_deal {
	enum { dealt = 1 };
	TSR_DEV int most(void)
	{
		return T::M * T::N / TSR_HIP_SOLE_THREADS;
	}
	TSR_DEV int together(void)
	{
		return most();
	}
	TSR_DEV int length(void)
	{
		return 0;
	}
	TSR_DEV int row(int thread, int)
	{
		return tsr_hip_attend_row(thread);
	}
	TSR_DEV int col(int thread, int i)
	{
		return tsr_hip_attend_col(thread, i);
	}
	TSR_DEV bool owns(int)
	{
		return true;
	}
};

template <typename T, int ROLE, bool ATTENDS> struct tsr_hip_deal_of_block {
	typedef tsr_hip_deal<T, ROLE, TSR_HIP_SOLE_THREADS> type;
};
template <typename T> struct tsr_hip_deal_of_block<T, TSR_GPU_ACCUMULATOR, true> {
	typedef tsr_hip_attend_deal<T> type;
};

template <typename F> struct tsr_port_layout;

/** Blocks have four waves, workers one. */
template <typename T, int ROLE> struct tsr_port_layout<tsr_gpu_frag<T, ROLE>> {
	enum { attends = ROLE == TSR_GPU_ACCUMULATOR && tsr_hip_attends<T, TSR_HIP_SOLE_THREADS> };
	typedef typename tsr_hip_deal_of_block<T, ROLE, attends>::type of_block;
	typedef tsr_hip_deal<T, ROLE, TSR_HIP_WAVE_THREADS> of_wave;
	/* What a wave holds is no more than its share of the fragment, of which there is room for a
	 * worker's in any case. */
	enum { capacity = of_block::dealt || of_wave::dealt };
	TSR_DEV int together(int threads)
	{
		return threads == TSR_HIP_SOLE_THREADS   ? of_block::together()
		       : threads == TSR_HIP_WAVE_THREADS ? of_wave::together()
							 : 0;
	}
	TSR_DEV bool evenly(int)
	{
		return true;
	}
	TSR_DEV int most(int threads)
	{
		return threads == TSR_HIP_SOLE_THREADS ? of_block::most() : of_wave::most();
	}
	TSR_DEV int row(const tsr_coop_t *coop, int i)
	{
		return coop->threads == TSR_HIP_SOLE_THREADS ? of_block::row(coop->thread, i)
							     : of_wave::row(coop->thread, i);
	}
	TSR_DEV int col(const tsr_coop_t *coop, int i)
	{
		return coop->threads == TSR_HIP_SOLE_THREADS ? of_block::col(coop->thread, i)
							     : of_wave::col(coop->thread, i);
	}
	TSR_DEV bool multiplies(const tsr_coop_t *)
	{
		return true;
	}
	TSR_DEV bool inside(const tsr_coop_t *, int)
	{
		return true;
	}
	TSR_DEV bool owns(const tsr_coop_t *coop)
	{
		return coop->threads == TSR_HIP_SOLE_THREADS ? of_block::owns(coop->thread)
							     : of_wave::owns(coop->thread);
	}
	TSR_DEV int length(int threads)
	{
		return threads == TSR_HIP_SOLE_THREADS   ? of_block::length()
		       : threads == TSR_HIP_WAVE_THREADS ? of_wave::length()
							 : 0;
	}
	TSR_DEV int piece(int threads, int p, int j)
	{
		return p * length(threads) + j;
	}
	/* A lane of attention has its row's values; all others are distributed in turn. */
	enum { row_slots = attends };
	TSR_DEV bool keeps_rows(int threads)
	{
		return attends && threads == TSR_HIP_SOLE_THREADS;
	}
	TSR_DEV int slot(int)
	{
		return 0;
	}
	TSR_DEV int slot_row(const tsr_coop_t *coop, int)
	{
		return tsr_hip_attend_row(coop->thread);
	}
	TSR_DEV bool owns_rows(const tsr_coop_t *coop)
	{
		return tsr_hip_attend_owns(coop->thread);
	}
};

#endif

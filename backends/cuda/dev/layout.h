/*
 * How fragments are dealt to threads: sums of products as the tensor cores
 * leave them, operands as they take them.
 */
#ifndef TESSERA_CUDA_LAYOUT_H
#define TESSERA_CUDA_LAYOUT_H

#include "cuda/dev/lanes.h"

template <typename D> constexpr bool tsr_cuda_multiplies = false;
template <> constexpr bool tsr_cuda_multiplies<tsr_gpu_bf16> = true;
template <> constexpr bool tsr_cuda_multiplies<tsr_gpu_f16> = true;

/**
 * Whether the tile has so few rows that the tensor cores make its transposed
 * product: their blocks have 64 rows, and any multiple of 8 columns.
 */
template <typename T>
constexpr bool tsr_cuda_is_flat = ((int)T::M == 16 || (int)T::M == 64) && (int)T::N % 128 == 0;

/**
 * Whether the main loop's instructions make a tile's product: T's extents
 * divide into their blocks, for two warpgroups of consumers.
 */
template <typename T>
constexpr bool tsr_cuda_is_fast = tsr_cuda_multiplies<typename T::dtype_t> &&
				  (int)T::K == TSR_CUDA_TILE_DEPTH &&
				  ((int)T::N % 64 == 0 || (int)T::N == 224) &&
				  (((int)T::M == 128 && (int)T::N <= 256) ||
				   ((int)T::M == 256 && (int)T::N <= 128) ||
				   (tsr_cuda_is_flat<T> && (int)T::N <= 256));

/**
 * Warps of a coop that multiply, a power of two; 0: none do. The block's others
 * are few beside them.
 */
TSR_CUDA_INDEX int tsr_cuda_warps(int threads)
{
	return threads >= 1024  ? 32
	       : threads >= 512 ? 16
	       : threads >= 256 ? 8
	       : threads >= 128 ? 4
				: 0;
}

/**
 * What a fragment of configuration T is to a grid of WARPS warps: lanes.h.
 * Indices are constants, threads are not.
 */
template <typename T, int ROLE, int WARPS> struct tsr_cuda_deal {
	/* many threads have few registers */
	enum { words = WARPS <= 8 ? (int)TSR_CUDA_HELD_WORDS : 36 };
	static constexpr tsr_cuda_lanes_t lanes = tsr_cuda_lanes(T::M, T::N, T::K, WARPS, words);
	enum {
		sums = ROLE == TSR_GPU_ACCUMULATOR,
		a = ROLE == TSR_GPU_OPERAND_A,
		b = ROLE == TSR_GPU_OPERAND_B,
		bt = ROLE == TSR_GPU_OPERAND_BT,
		dealt = tsr_cuda_multiplies<typename T::dtype_t> &&
			(sums || (ROLE != TSR_GPU_ROWS && lanes.run != 0)),
		most = !dealt ? 0
		       : sums ? tsr_cuda_sums(lanes)
		       : a    ? tsr_cuda_a_elements(lanes)
			      : tsr_cuda_b_elements(lanes),
		/* of a row, side by side in memory */
		length = sums ? 2 * lanes.unit
			 : b  ? lanes.unit
			      : lanes.run,
		grid_rows = lanes.warps_m * lanes.blocks_m * TSR_CUDA_BLOCK_ROWS,
		grid_cols = lanes.warps_n * lanes.blocks_n * TSR_CUDA_BLOCK_COLS,
		/* the grid reaches past none of the tile's edges */
		rows_fit = bt || b || grid_rows == (int)T::M,
		cols_fit = a || grid_cols == (int)T::N
	};
	TSR_DEV tsr_cuda_lanes_t of(void)
	{
		constexpr tsr_cuda_lanes_t l = lanes;
		return l;
	}
	TSR_DEV int row(int thread, int i)
	{
		constexpr tsr_cuda_lanes_t l = lanes;
		if constexpr (!dealt)
			return 0;
		else if constexpr (sums)
			return tsr_cuda_sum_row(l, thread, i);
		else if constexpr (a)
			return tsr_cuda_a_row(l, thread, i);
		else
			return b ? tsr_cuda_b_k(l, thread, i) : tsr_cuda_bt_col(l, thread, i);
	}
	TSR_DEV int col(int thread, int i)
	{
		constexpr tsr_cuda_lanes_t l = lanes;
		if constexpr (!dealt)
			return 0;
		else if constexpr (sums)
			return tsr_cuda_sum_col(l, thread, i);
		else if constexpr (a)
			return tsr_cuda_a_k(l, thread, i);
		else
			return b ? tsr_cuda_b_col(l, thread, i) : tsr_cuda_bt_k(l, thread, i);
	}
	/** Of a lane whose warp multiplies. */
	TSR_DEV bool inside(int thread, int i)
	{
		const int of_m = b || bt ? 0 : row(thread, i), of_n = a    ? 0
								      : bt ? row(thread, i)
									   : col(thread, i);
		return (rows_fit || of_m < (int)T::M) && (cols_fit || of_n < (int)T::N);
	}
	TSR_DEV bool owns(int thread)
	{
		constexpr tsr_cuda_lanes_t l = lanes;
		return sums || (a ? tsr_cuda_warp_n(l, thread) : tsr_cuda_warp_m(l, thread)) == 0;
	}
	/** Element `j` of those of the lane's piece `p` that stand side by side in memory. */
	TSR_DEV int piece(int p, int j)
	{
		constexpr tsr_cuda_lanes_t l = lanes;
		if constexpr (!dealt || a || bt)
			return p * length + j;
		constexpr int groups = l.blocks_n / l.unit;
		const int block = p % groups * l.unit + j % l.unit, of_k = p / groups;
		if constexpr (b)
			return tsr_cuda_b_at(l, block, of_k / (l.run ? l.run : 1),
					     of_k % (l.run ? l.run : 1));
		else
			return tsr_cuda_sum_at(l, of_k / 2, block) + of_k % 2 * 2 + j / l.unit;
	}
};

/** Evaluates to the expression, of the grid that the coop has: a constant, once inlined. */
#define TSR_CUDA_BY_WARPS(threads_, deal_, expression_, none_)    \
	do {                                                      \
		switch (tsr_cuda_warps(threads_)) {               \
		case 32: {                                        \
			typedef tsr_cuda_deal<T, ROLE, 32> deal_; \
			return expression_;                       \
		}                                                 \
		case 16: {                                        \
			typedef tsr_cuda_deal<T, ROLE, 16> deal_; \
			return expression_;                       \
		}                                                 \
		case 8: {                                         \
			typedef tsr_cuda_deal<T, ROLE, 8> deal_;  \
			return expression_;                       \
		}                                                 \
		case 4: {                                         \
			typedef tsr_cuda_deal<T, ROLE, 4> deal_;  \
			return expression_;                       \
		}                                                 \
		default:                                          \
			return none_;                             \
		}                                                 \
	} while (0)

template <typename F> struct tsr_port_layout;

/**
 * A main loop's consumers have sums as its instructions leave them: each
 * warpgroup has half of the rows, in bands of 64. Of a band a warp has 16 rows
 * and a thread four elements of every eight columns: two that are neighbours,
 * and two eight rows below. PTX ISA 8.0, section 9.7.15.5, matrix D. Of a flat
 * tile, whose transposed product that is, each has half of the columns in bands
 * of 64, and so on with rows and columns exchanged. All others have fragments
 * as lanes.h deals them.
 */
template <typename T, int ROLE> struct tsr_port_layout<tsr_gpu_frag<T, ROLE>> {
	enum {
		dealt = ROLE == TSR_GPU_ACCUMULATOR && tsr_cuda_is_fast<T>,
		flat = tsr_cuda_is_flat<T>,
		/* of the block that the consumers make: its columns */
		across = flat ? (int)T::M : (int)T::N,
		bands = (flat ? (int)T::N : (int)T::M) / 128,             /* of a warpgroup */
		band_elements = 64 * across / TSR_CUDA_WARPGROUP_THREADS, /* of a thread */
		of_few = (int)tsr_cuda_deal<T, ROLE, 4>::most > (int)tsr_cuda_deal<T, ROLE, 8>::most
				 ? (int)tsr_cuda_deal<T, ROLE, 4>::most
				 : (int)tsr_cuda_deal<T, ROLE, 8>::most,
		of_many = (int)tsr_cuda_deal<T, ROLE, 16>::most >
					  (int)tsr_cuda_deal<T, ROLE, 32>::most
				  ? (int)tsr_cuda_deal<T, ROLE, 16>::most
				  : (int)tsr_cuda_deal<T, ROLE, 32>::most,
		capacity = of_few > of_many ? (int)of_few : (int)of_many
	};
	TSR_DEV bool of_consumers(int threads)
	{
		return tsr_cuda_is_fast<T> && threads == TSR_CUDA_CONSUMER_THREADS;
	}
	TSR_DEV int together(int threads)
	{
		if (of_consumers(threads))
			return !dealt ? 0 : flat ? 1 : 2;
		TSR_CUDA_BY_WARPS(threads, deal, deal::dealt ? 2 : 0, 0);
	}
	TSR_DEV bool evenly(int threads)
	{
		return of_consumers(threads);
	}
	TSR_DEV int most(int threads)
	{
		if (of_consumers(threads))
			return bands * band_elements;
		TSR_CUDA_BY_WARPS(threads, deal, (int)deal::most, 0);
	}
	/** Row and column of the block that consumers make. */
	TSR_DEV int down(const tsr_coop_t *coop, int i)
	{
		return block_row(coop, i / band_elements, coop->thread % 32 / 4 + i / 2 % 2 * 8);
	}
	TSR_DEV int along(const tsr_coop_t *coop, int i)
	{
		return i % band_elements / 4 * 8 + coop->thread % 4 * 2 + i % 2;
	}
	TSR_DEV int row(const tsr_coop_t *coop, int i)
	{
		if (of_consumers(coop->threads))
			return flat ? along(coop, i) : down(coop, i);
		TSR_CUDA_BY_WARPS(coop->threads, deal, deal::row(coop->thread, i), 0);
	}
	TSR_DEV int col(const tsr_coop_t *coop, int i)
	{
		if (of_consumers(coop->threads))
			return flat ? down(coop, i) : along(coop, i);
		TSR_CUDA_BY_WARPS(coop->threads, deal, deal::col(coop->thread, i), 0);
	}
	TSR_DEV bool inside(const tsr_coop_t *coop, int i)
	{
		if (of_consumers(coop->threads))
			return true;
		TSR_CUDA_BY_WARPS(coop->threads, deal, deal::inside(coop->thread, i), false);
	}
	TSR_DEV bool owns(const tsr_coop_t *coop)
	{
		if (of_consumers(coop->threads))
			return true;
		TSR_CUDA_BY_WARPS(coop->threads, deal, deal::owns(coop->thread), true);
	}
	TSR_DEV int length(int threads)
	{
		if (of_consumers(threads))
			return 0;
		TSR_CUDA_BY_WARPS(threads, deal, deal::dealt ? (int)deal::length : 0, 0);
	}
	TSR_DEV int piece(int threads, int p, int j)
	{
		TSR_CUDA_BY_WARPS(threads, deal, deal::piece(p, j), 0);
	}

	/* Of sums: blocks of 16 by 8 that a warp has, and where row `row` and column `col` of
	 * them are; if turned, blocks are of the transposed product, whose rows are the tile's
	 * columns. */
	TSR_DEV bool turned(int threads)
	{
		return flat && of_consumers(threads);
	}
	TSR_DEV int blocks_m(int threads)
	{
		if (of_consumers(threads))
			return bands;
		TSR_CUDA_BY_WARPS(threads, deal, (int)deal::lanes.blocks_m, 0);
	}
	TSR_DEV int blocks_n(int threads)
	{
		if (of_consumers(threads))
			return across / TSR_CUDA_BLOCK_COLS;
		TSR_CUDA_BY_WARPS(threads, deal, (int)deal::lanes.blocks_n, 0);
	}
	TSR_DEV int block_row(const tsr_coop_t *coop, int block, int row)
	{
		const int warpgroup = coop->thread / TSR_CUDA_WARPGROUP_THREADS,
			  warp = coop->thread / 32 % 4;
		if (of_consumers(coop->threads))
			return (warpgroup * bands + block) * 64 + warp * 16 + row;
		TSR_CUDA_BY_WARPS(coop->threads, deal,
				  tsr_cuda_row_of(deal::of(), coop->thread, block, row), 0);
	}
	TSR_DEV int block_col(const tsr_coop_t *coop, int block, int col)
	{
		if (of_consumers(coop->threads))
			return block * TSR_CUDA_BLOCK_COLS + col;
		TSR_CUDA_BY_WARPS(coop->threads, deal,
				  tsr_cuda_col_of(deal::of(), coop->thread, block, col), 0);
	}
	/** Whether the thread's warp multiplies. */
	TSR_DEV bool multiplies(const tsr_coop_t *coop)
	{
		if (of_consumers(coop->threads))
			return true;
		TSR_CUDA_BY_WARPS(coop->threads, deal,
				  tsr_cuda_multiplies_in(deal::of(), coop->thread) != 0, false);
	}
};

#endif

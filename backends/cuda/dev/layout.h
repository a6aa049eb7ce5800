/*
 * The distribution of fragments over threads: sums of products as the tensor
 * cores leave them, operands as they take them.
 */
#ifndef TESSERA_CUDA_LAYOUT_H
#define TESSERA_CUDA_LAYOUT_H

#include "cuda/dev/lanes.h"

template <typename D> constexpr bool tsr_cuda_multiplies = false;
template <> constexpr bool tsr_cuda_multiplies<tsr_gpu_bf16> = true;
template <> constexpr bool tsr_cuda_multiplies<tsr_gpu_f16> = true;

/**
 * Whether the tile has so few rows that the tensor cores compute the transposed
 * product. Their blocks have 64 rows, and any multiple of 8 columns.
 */
template <typename T>
constexpr bool tsr_cuda_is_flat = ((int)T::M == 16 || (int)T::M == 64) && (int)T::N % 128 == 0;

/**
 * Whether the main loop's instructions can compute a tile's product: T's
 * extents can be divided into their blocks, for two warpgroups of consumers.
 */
template <typename T>
constexpr bool tsr_cuda_is_fast = tsr_cuda_multiplies<typename T::dtype_t> &&
				  (int)T::K == TSR_CUDA_TILE_DEPTH &&
				  ((int)T::N % 64 == 0 || (int)T::N == 224) &&
				  (((int)T::M == 128 && (int)T::N <= 256) ||
				   ((int)T::M == 256 && (int)T::N <= 128) ||
				   (tsr_cuda_is_flat<T> && (int)T::N <= 256));

/**
 * The number of warps of a coop that multiply, a power of two; 0: none. The
 * other warps of the block are few.
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
 * The layout of a fragment of configuration T on a grid of WARPS warps:
 * lanes.h. Indices of elements are constants, indices of threads are not.
 */
template <typename T, int ROLE, int WARPS> struct tsr_cuda_deal {
	/* with many threads, each has few registers */
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
		/* elements of a row that are adjacent in memory */
		length = sums ? 2 * lanes.unit
			 : b  ? lanes.unit
			      : lanes.run,
		grid_rows = lanes.warps_m * lanes.blocks_m * TSR_CUDA_BLOCK_ROWS,
		grid_cols = lanes.warps_n * lanes.blocks_n * TSR_CUDA_BLOCK_COLS,
		/* the grid does not reach past the tile's edges */
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
	/** For a lane whose warp multiplies. */
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
	/** Element `j` of the lane's piece `p`, whose elements are adjacent in memory. */
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

/** Evaluates the expression for the coop's grid: a constant after inlining. */
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
 * The layout of a main loop's consumers is that of its instructions: each
 * warpgroup has half of the rows, in bands of 64. In a band a warp has 16 rows,
 * and a thread four elements of every eight columns: two neighbours, and two
 * eight rows below. PTX ISA 8.0, section 9.7.15.5, matrix D. For a flat tile
 * that is the layout of the transposed product: each warpgroup has half of the
 * columns in bands of 64, and rows and columns are exchanged. All other
 * fragments have the layout of lanes.h.
 */
template <typename T, int ROLE> struct tsr_port_layout<tsr_gpu_frag<T, ROLE>> {
	enum {
		dealt = ROLE == TSR_GPU_ACCUMULATOR && tsr_cuda_is_fast<T>,
		flat = tsr_cuda_is_flat<T>,
		/* columns of the block that the consumers compute */
		across = flat ? (int)T::M : (int)T::N,
		bands = (flat ? (int)T::N : (int)T::M) / 128,             /* in a warpgroup */
		band_elements = 64 * across / TSR_CUDA_WARPGROUP_THREADS, /* in a thread */
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
	/** Row and column in the block that consumers compute. */
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

	/* A main loop's consumers keep what belongs to a row: two rows of each band, which four
	 * lanes share. */
	enum { row_slots = dealt && !flat ? 2 * bands : 0 };
	TSR_DEV bool keeps_rows(int threads)
	{
		return row_slots > 0 && of_consumers(threads);
	}
	TSR_DEV int slot(int i)
	{
		return i / band_elements * 2 + i / 2 % 2;
	}
	TSR_DEV int slot_row(const tsr_coop_t *coop, int slot)
	{
		return block_row(coop, slot / 2, coop->thread % 32 / 4 + slot % 2 * 8);
	}
	TSR_DEV bool owns_rows(const tsr_coop_t *coop)
	{
		return coop->thread % 4 == 0;
	}

	/* For sums: a warp's blocks of 16 by 8, and the place of row `row` and column `col` of
	 * them. If turned, blocks are of the transposed product, whose rows are the tile's
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

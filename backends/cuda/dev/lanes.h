/*
 * Which thread holds what of a tile that warps multiply by themselves,
 * mma.m16n8k16 by mma.m16n8k16 (PTX ISA 8.0, section 9.7.14.5). Index
 * arithmetic alone, C11 and C++17: the device compiler makes constants of most
 * of it, and a unit test, test_cuda_lanes, runs it on a CPU.
 *
 * Warps share the tile as a grid; those that the grid does not need hold
 * nothing. Each multiplies its part in blocks of 16 rows by 8 columns. A block
 * that reaches past the tile's edge is multiplied whole: what its threads hold
 * of that is no element of the tile. A warp's threads are lanes: lane l has
 * group l / 4 and turn l % 4. Operands are held in the form in which the
 * instruction takes them, by every warp that needs them. So neither a load nor
 * a product passes through shared memory.
 *
 * Which column of the tile is which column of a block does not matter, as long
 * as B and the sums agree; nor which element of K is which, as long as A and B
 * agree. So both are chosen for memory: a lane's columns of neighbouring
 * blocks, `unit` of them, stand side by side, and so do `run` elements of K.
 */
#ifndef TESSERA_CUDA_LANES_H
#define TESSERA_CUDA_LANES_H

#if defined(__cplusplus)
#define TSR_CUDA_INDEX \
	static inline __attribute__((always_inline, unused)) constexpr TSR_PORT_DEVICE
#else
#define TSR_CUDA_INDEX static inline __attribute__((unused))
#endif

enum {
	TSR_CUDA_LANES = 32,      /* of a warp */
	TSR_CUDA_BLOCK_ROWS = 16, /* of an instruction's sums */
	TSR_CUDA_BLOCK_COLS = 8,
	TSR_CUDA_STEP = 16,     /* of K */
	TSR_CUDA_MOST_UNIT = 8, /* columns: 16 bytes of B */
	/* of operands and sums in a thread's registers; where a block has few threads */
	TSR_CUDA_HELD_WORDS = 112
};

typedef struct tsr_cuda_lanes {
	int m, n, k;
	int warps_m, warps_n;   /* the grid */
	int blocks_m, blocks_n; /* of a warp */
	/* columns of a row that a lane has side by side, in so many blocks */
	int unit;
	/* elements of K that it has side by side; 0: operands are not held so */
	int run;
} tsr_cuda_lanes_t;

TSR_CUDA_INDEX int tsr_cuda_ceil(int x, int by)
{
	return (x + by - 1) / by;
}

/** Registers that hold operands and sums. */
TSR_CUDA_INDEX int tsr_cuda_held_words(tsr_cuda_lanes_t l)
{
	return l.blocks_m * l.k / 4 + l.blocks_n * l.k / 8 + l.blocks_m * l.blocks_n * 4;
}

/**
 * How at most `warps` warps multiply tiles of m x n, k deep: in few steps, of
 * few operands; with `words` registers for it.
 */
TSR_CUDA_INDEX tsr_cuda_lanes_t tsr_cuda_lanes(int m, int n, int k, int warps, int words)
{
	tsr_cuda_lanes_t best = {m, n, k, 0, 0, 0, 0, 1, 0};
	int least = 0, fewest = 0;
	for (int warps_n = 1; warps_n <= warps; warps_n *= 2)
		for (int warps_m = 1; warps_m * warps_n <= warps; warps_m *= 2) {
			int blocks_m =
				tsr_cuda_ceil(tsr_cuda_ceil(m, TSR_CUDA_BLOCK_ROWS), warps_m);
			int blocks_n =
				tsr_cuda_ceil(tsr_cuda_ceil(n, TSR_CUDA_BLOCK_COLS), warps_n);
			int products = blocks_m * blocks_n, operands = 2 * blocks_m + blocks_n;
			if (best.warps_m &&
			    (products > least || (products == least && operands >= fewest)))
				continue;
			least = products;
			fewest = operands;
			best.warps_m = warps_m;
			best.warps_n = warps_n;
			best.blocks_m = blocks_m;
			best.blocks_n = blocks_n;
		}
	while (best.unit < TSR_CUDA_MOST_UNIT && best.blocks_n % (2 * best.unit) == 0)
		best.unit *= 2;
	if (k % TSR_CUDA_STEP == 0 && tsr_cuda_held_words(best) <= words)
		best.run = k % (2 * TSR_CUDA_STEP) == 0 ? 8 : 4;
	return best;
}

/* ---- where a lane is */

TSR_CUDA_INDEX int tsr_cuda_warp_m(tsr_cuda_lanes_t l, int thread)
{
	return thread / TSR_CUDA_LANES / l.warps_n;
}

TSR_CUDA_INDEX int tsr_cuda_warp_n(tsr_cuda_lanes_t l, int thread)
{
	return thread / TSR_CUDA_LANES % l.warps_n;
}

/** Whether its warp is of the grid. */
TSR_CUDA_INDEX int tsr_cuda_multiplies_in(tsr_cuda_lanes_t l, int thread)
{
	return thread / TSR_CUDA_LANES < l.warps_m * l.warps_n;
}

/** The row of the tile that is row `row` of its warp's block `block`. */
TSR_CUDA_INDEX int tsr_cuda_row_of(tsr_cuda_lanes_t l, int thread, int block, int row)
{
	return (tsr_cuda_warp_m(l, thread) * l.blocks_m + block) * TSR_CUDA_BLOCK_ROWS + row;
}

/** The column of the tile that is column `col` of its warp's block `block`. */
TSR_CUDA_INDEX int tsr_cuda_col_of(tsr_cuda_lanes_t l, int thread, int block, int col)
{
	return (tsr_cuda_warp_n(l, thread) * l.blocks_n + block / l.unit * l.unit) *
		       TSR_CUDA_BLOCK_COLS +
	       col * l.unit + block % l.unit;
}

TSR_CUDA_INDEX int tsr_cuda_group(int thread)
{
	return thread % TSR_CUDA_LANES / 4;
}

TSR_CUDA_INDEX int tsr_cuda_turn(int thread)
{
	return thread % 4;
}

/* ---- sums: element i of a lane is register i % 4 of a block */

TSR_CUDA_INDEX int tsr_cuda_sums(tsr_cuda_lanes_t l)
{
	return l.blocks_m * l.blocks_n * 4;
}

/** The first of four. */
TSR_CUDA_INDEX int tsr_cuda_sum_at(tsr_cuda_lanes_t l, int block_m, int block_n)
{
	return (block_m * l.blocks_n + block_n) * 4;
}

TSR_CUDA_INDEX int tsr_cuda_sum_row(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_row_of(l, thread, i / 4 / l.blocks_n,
			       tsr_cuda_group(thread) + i / 2 % 2 * 8);
}

TSR_CUDA_INDEX int tsr_cuda_sum_col(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_col_of(l, thread, i / 4 % l.blocks_n, tsr_cuda_turn(thread) * 2 + i % 2);
}

/*
 * ---- operands, where they are held. Elements 2w and 2w + 1 of a lane are the
 * word w of its registers: neighbours in K.
 */

/** Runs of K that a lane has of a row or column. */
TSR_CUDA_INDEX int tsr_cuda_runs(tsr_cuda_lanes_t l)
{
	return l.run ? l.k / (4 * l.run) : 0;
}

/** Element `j` of a lane's run `run`. */
TSR_CUDA_INDEX int tsr_cuda_k_of(tsr_cuda_lanes_t l, int thread, int run, int j)
{
	return (run * 4 + tsr_cuda_turn(thread)) * l.run + j;
}

TSR_CUDA_INDEX int tsr_cuda_a_elements(tsr_cuda_lanes_t l)
{
	return l.blocks_m * 2 * tsr_cuda_runs(l) * l.run;
}

/** A: rows 0 .. 7 of a block and 8 .. 15 are its halves. */
TSR_CUDA_INDEX int tsr_cuda_a_at(tsr_cuda_lanes_t l, int block, int run, int half, int j)
{
	return ((block * tsr_cuda_runs(l) + run) * 2 + half) * l.run + j;
}

TSR_CUDA_INDEX int tsr_cuda_a_row(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_row_of(l, thread, i / l.run / 2 / tsr_cuda_runs(l),
			       tsr_cuda_group(thread) + i / l.run % 2 * 8);
}

TSR_CUDA_INDEX int tsr_cuda_a_k(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_k_of(l, thread, i / l.run / 2 % tsr_cuda_runs(l), i % l.run);
}

TSR_CUDA_INDEX int tsr_cuda_b_elements(tsr_cuda_lanes_t l)
{
	return l.blocks_n * tsr_cuda_runs(l) * l.run;
}

/** B as K x N: blocks that stand side by side in memory are neighbours. */
TSR_CUDA_INDEX int tsr_cuda_b_at(tsr_cuda_lanes_t l, int block, int run, int j)
{
	return ((run * (l.run / 2) + j / 2) * l.blocks_n + block) * 2 + j % 2;
}

TSR_CUDA_INDEX int tsr_cuda_b_k(tsr_cuda_lanes_t l, int thread, int i)
{
	int pair = i / 2 / l.blocks_n;
	return tsr_cuda_k_of(l, thread, pair / (l.run / 2), pair % (l.run / 2) * 2 + i % 2);
}

TSR_CUDA_INDEX int tsr_cuda_b_col(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_col_of(l, thread, i / 2 % l.blocks_n, tsr_cuda_group(thread));
}

/** B as N x K: runs of K are side by side in memory. */
TSR_CUDA_INDEX int tsr_cuda_bt_at(tsr_cuda_lanes_t l, int block, int run, int j)
{
	return (block * tsr_cuda_runs(l) + run) * l.run + j;
}

TSR_CUDA_INDEX int tsr_cuda_bt_k(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_k_of(l, thread, i / l.run % tsr_cuda_runs(l), i % l.run);
}

TSR_CUDA_INDEX int tsr_cuda_bt_col(tsr_cuda_lanes_t l, int thread, int i)
{
	return tsr_cuda_col_of(l, thread, i / l.run / tsr_cuda_runs(l), tsr_cuda_group(thread));
}

#endif

/*
 * Which thread loads, reads and holds what of a tile that the matrix cores
 * multiply. Index arithmetic alone, C11 and C++17: the device compiler makes
 * constants of most of it, and a unit test, test_hip_lanes, runs it on a CPU.
 *
 * The waves of a coop share the tile as a grid, and each multiplies its part in
 * square blocks of `edge`. The lanes of a wave read rows of A and columns of B
 * alike: lane l has row l % edge of a block, and of its K the group l / edge.
 * An instruction takes `each` elements of K from every lane. Which elements of
 * K those are does not matter as long as A and B agree, so a lane reads `run`
 * of them side by side, for several instructions.
 *
 * In shared memory a stage is A as M rows and B as N rows, each row `depth`
 * elements of K. Where K runs along the rows of an operand in memory, too,
 * units of these are laid as they are; else the operand is transposed on the
 * way.
 */
#ifndef TESSERA_HIP_LANES_H
#define TESSERA_HIP_LANES_H

#if defined(__cplusplus)
#define TSR_HIP_INDEX static inline __attribute__((always_inline, unused)) constexpr
#else
#define TSR_HIP_INDEX static inline __attribute__((unused))
#endif

enum {
	TSR_HIP_LANES = 64,      /* of a wave */
	TSR_HIP_UNIT_BYTES = 16, /* what a lane moves at once */
	TSR_HIP_LINE_UNITS = 8,  /* units that all banks of shared memory hold side by side */
	/* rows that a lane's registers hold side by side; elements of K that are transposed
	 * together */
	TSR_HIP_QUAD = 4,
	/* of a lane: the other half of its registers is for the rest */
	TSR_HIP_MOST_ACCUMULATORS = 256,
	/* of its registers, for the operands and sums of fragments */
	TSR_HIP_MOST_HELD = 384
};

typedef struct tsr_hip_lanes {
	int m, n, element_bytes;
	int waves_m, waves_n; /* the grid of waves */
	int edge;             /* of a block: 32 or 16 */
	int run;              /* elements of K that a lane reads at once */
	/* of a stage, which divides K; 0: the tile is not one for the matrix cores */
	int depth;
} tsr_hip_lanes_t;

/** Elements of a unit. */
TSR_HIP_INDEX int tsr_hip_unit(tsr_hip_lanes_t l)
{
	return TSR_HIP_UNIT_BYTES / l.element_bytes;
}

/**
 * Elements of K that an instruction takes from a lane: 32x32x8 and 16x16x16 of
 * 16 bits, 32x32x2 and 16x16x4 of 32.
 */
TSR_HIP_INDEX int tsr_hip_each(tsr_hip_lanes_t l)
{
	return l.element_bytes == 2 ? 4 : 1;
}

/** Elements of K that a wave reads at once. */
TSR_HIP_INDEX int tsr_hip_step(tsr_hip_lanes_t l)
{
	return TSR_HIP_LANES / l.edge * l.run;
}

/** Rows and columns of blocks that a wave multiplies. */
TSR_HIP_INDEX int tsr_hip_blocks_m(tsr_hip_lanes_t l)
{
	return l.m / l.waves_m / l.edge;
}

TSR_HIP_INDEX int tsr_hip_blocks_n(tsr_hip_lanes_t l)
{
	return l.n / l.waves_n / l.edge;
}

TSR_HIP_INDEX int tsr_hip_stage_bytes(tsr_hip_lanes_t l)
{
	return (l.m + l.n) * l.depth * l.element_bytes;
}

/** The deepest stage of which two fit; 0 where none does. */
TSR_HIP_INDEX int tsr_hip_depth(tsr_hip_lanes_t l, int k, int bytes)
{
	for (l.depth = k; l.depth > 0; l.depth--)
		if (k % l.depth == 0 && l.depth % tsr_hip_step(l) == 0 &&
		    l.depth % tsr_hip_unit(l) == 0 && 2 * tsr_hip_stage_bytes(l) <= bytes)
			return l.depth;
	return 0;
}

/**
 * How `waves` waves multiply tiles of m x n, k deep, with `bytes` of shared
 * memory: large blocks, and parts near to squares.
 */
TSR_HIP_INDEX tsr_hip_lanes_t tsr_hip_lanes(int m, int n, int k, int element_bytes, int waves,
					    int bytes)
{
	tsr_hip_lanes_t best = {m, n, element_bytes, 1, 1, 16, 1, 0};
	for (int edge = 32; edge >= 16 && best.depth == 0; edge /= 2)
		for (int waves_m = 1; waves_m <= waves; waves_m++) {
			tsr_hip_lanes_t l = {m, n, element_bytes, waves_m, waves / waves_m, edge,
					     1, 0};
			if (waves % waves_m || m % (l.waves_m * edge) || n % (l.waves_n * edge) ||
			    m * n > waves * TSR_HIP_LANES * TSR_HIP_MOST_ACCUMULATORS)
				continue;
			l.run = tsr_hip_unit(l);
			l.depth = tsr_hip_depth(l, k, bytes);
			if (l.depth == 0) {
				l.run = tsr_hip_each(l);
				l.depth = tsr_hip_depth(l, k, bytes);
			}
			if (l.depth &&
			    (best.depth == 0 ||
			     m / l.waves_m + n / l.waves_n < m / best.waves_m + n / best.waves_n))
				best = l;
		}
	return best;
}

/* ---- shared memory */

/**
 * Where element k of a row stands in its half of a stage. Lanes that are served
 * together either read units of one group in rows near each other, or write
 * rows as far apart as a unit is long: the units of a line change places so
 * that both spread over all banks.
 */
TSR_HIP_INDEX int tsr_hip_place(tsr_hip_lanes_t l, int row, int k)
{
	int unit = row * (l.depth / tsr_hip_unit(l)) + k / tsr_hip_unit(l),
	    line = unit / TSR_HIP_LINE_UNITS;
	return (unit ^ ((line ^ line >> 1 ^ line >> 4) % TSR_HIP_LINE_UNITS)) * tsr_hip_unit(l) +
	       k % tsr_hip_unit(l);
}

/*
 * ---- loading `rows` rows of a stage's half: piece `e` of all that a coop's
 * threads load in turn. A piece of an operand that K runs along is a unit of a
 * row.
 */

TSR_HIP_INDEX int tsr_hip_pieces_along(tsr_hip_lanes_t l, int rows)
{
	return rows * (l.depth / tsr_hip_unit(l));
}

TSR_HIP_INDEX int tsr_hip_along_row(tsr_hip_lanes_t l, int e)
{
	return e / (l.depth / tsr_hip_unit(l));
}

TSR_HIP_INDEX int tsr_hip_along_k(tsr_hip_lanes_t l, int e)
{
	return e % (l.depth / tsr_hip_unit(l)) * tsr_hip_unit(l);
}

/**
 * A piece of one that K runs across is a block: four of K, of a unit's rows.
 * Neighbours in turn fill a unit of shared memory together, then come the rows.
 */
TSR_HIP_INDEX int tsr_hip_pieces_across(tsr_hip_lanes_t l, int rows)
{
	return l.depth / TSR_HIP_QUAD * (rows / tsr_hip_unit(l));
}

TSR_HIP_INDEX int tsr_hip_across_k(tsr_hip_lanes_t l, int rows, int e)
{
	int quads = tsr_hip_unit(l) / TSR_HIP_QUAD;
	return e / quads / (rows / tsr_hip_unit(l)) * tsr_hip_unit(l) + e % quads * TSR_HIP_QUAD;
}

TSR_HIP_INDEX int tsr_hip_across_row(tsr_hip_lanes_t l, int rows, int e)
{
	return e / (tsr_hip_unit(l) / TSR_HIP_QUAD) % (rows / tsr_hip_unit(l)) * tsr_hip_unit(l);
}

/* ---- multiplying */

TSR_HIP_INDEX int tsr_hip_wave_row(tsr_hip_lanes_t l, int thread)
{
	return thread / TSR_HIP_LANES / l.waves_n * (l.m / l.waves_m);
}

TSR_HIP_INDEX int tsr_hip_wave_col(tsr_hip_lanes_t l, int thread)
{
	return thread / TSR_HIP_LANES % l.waves_n * (l.n / l.waves_n);
}

/** Which row of A the thread reads for its wave's row `block` of blocks. */
TSR_HIP_INDEX int tsr_hip_read_row_a(tsr_hip_lanes_t l, int thread, int block)
{
	return tsr_hip_wave_row(l, thread) + block * l.edge + thread % l.edge;
}

/** Which column of B, for its wave's column `block` of blocks. */
TSR_HIP_INDEX int tsr_hip_read_col_b(tsr_hip_lanes_t l, int thread, int block)
{
	return tsr_hip_wave_col(l, thread) + block * l.edge + thread % l.edge;
}

/** The first of the `run` elements of K that the thread reads of either. */
TSR_HIP_INDEX int tsr_hip_read_k(tsr_hip_lanes_t l, int thread, int step)
{
	return step * tsr_hip_step(l) + thread % TSR_HIP_LANES / l.edge * l.run;
}

/*
 * ---- operands of fragments: for each block a lane has its elements of K, runs
 * of them side by side
 */

/** Elements of K that a lane has of a row or column, of `k` in all. */
TSR_HIP_INDEX int tsr_hip_own_k(tsr_hip_lanes_t l, int k)
{
	return k * l.edge / TSR_HIP_LANES;
}

/** Which of K element `i` of a lane is. */
TSR_HIP_INDEX int tsr_hip_operand_k(tsr_hip_lanes_t l, int k, int thread, int i)
{
	int own = i % tsr_hip_own_k(l, k);
	return tsr_hip_read_k(l, thread, own / l.run) + own % l.run;
}

TSR_HIP_INDEX int tsr_hip_operand_row_a(tsr_hip_lanes_t l, int k, int thread, int i)
{
	return tsr_hip_read_row_a(l, thread, i / tsr_hip_own_k(l, k));
}

TSR_HIP_INDEX int tsr_hip_operand_col_b(tsr_hip_lanes_t l, int k, int thread, int i)
{
	return tsr_hip_read_col_b(l, thread, i / tsr_hip_own_k(l, k));
}

/** Registers that operands and sums take. */
TSR_HIP_INDEX int tsr_hip_held_words(tsr_hip_lanes_t l, int k)
{
	int operands = (tsr_hip_blocks_m(l) + tsr_hip_blocks_n(l)) * tsr_hip_own_k(l, k);
	return operands * l.element_bytes / 4 +
	       tsr_hip_blocks_m(l) * tsr_hip_blocks_n(l) * l.edge * l.edge / TSR_HIP_LANES;
}

/*
 * ---- holding: element v[i] of a thread's accumulators. Those of the same four
 * rows of a wave's blocks follow each other.
 */

/** How many those are. */
TSR_HIP_INDEX int tsr_hip_together(tsr_hip_lanes_t l)
{
	return tsr_hip_blocks_n(l) * TSR_HIP_QUAD;
}

/**
 * Quads of registers that an instruction leaves in each lane: quad q is rows 8q
 * + 4 (lane / edge) and on of a block.
 */
TSR_HIP_INDEX int tsr_hip_quads(tsr_hip_lanes_t l)
{
	return l.edge * l.edge / TSR_HIP_LANES / TSR_HIP_QUAD;
}

/** Where register `reg` of block (block_m, block_n) goes. */
TSR_HIP_INDEX int tsr_hip_held(tsr_hip_lanes_t l, int block_m, int block_n, int reg)
{
	int quad = block_m * tsr_hip_quads(l) + reg / TSR_HIP_QUAD;
	return quad * tsr_hip_together(l) + block_n * TSR_HIP_QUAD + reg % TSR_HIP_QUAD;
}

TSR_HIP_INDEX int tsr_hip_held_row(tsr_hip_lanes_t l, int thread, int i)
{
	int quad = i / tsr_hip_together(l);
	return tsr_hip_wave_row(l, thread) + quad / tsr_hip_quads(l) * l.edge +
	       quad % tsr_hip_quads(l) * 2 * TSR_HIP_QUAD +
	       thread % TSR_HIP_LANES / l.edge * TSR_HIP_QUAD + i % TSR_HIP_QUAD;
}

TSR_HIP_INDEX int tsr_hip_held_col(tsr_hip_lanes_t l, int thread, int i)
{
	return tsr_hip_wave_col(l, thread) + i % tsr_hip_together(l) / TSR_HIP_QUAD * l.edge +
	       thread % l.edge;
}

#endif

/*
 * Which thread loads, reads and holds what of attention on the matrix cores.
 * Index arithmetic alone, as lanes.h: C11 and C++17, run on a CPU by
 * a unit test, test_hip_lanes.
 *
 * A wave has 32 queries, and both products are transposed: S^T = K * Q^T and
 * O^T = V^T * P^T. So the columns of sums are queries: lane l and lane l + 32
 * share query l of the wave's. Of each block of 32 x 32 an instruction leaves in
 * a lane rows 8q + 4 (l / 32) and on, four for each q. A lane reads row
 * tsr_hip_key_of_lane of K for row l % 32 of a block, an order of the keys by
 * which its registers hold two runs of eight keys side by side: they are, once
 * rounded, what it gives of P^T to the second product, against eight keys that it
 * reads of V^T at once.
 *
 * In shared memory keys are rows of 64 columns, those of wider heads below each
 * other; values are transposed, rows of one column, of all the step's keys.
 */
#ifndef TESSERA_HIP_ATTEND_LANES_H
#define TESSERA_HIP_ATTEND_LANES_H

#include "hip/dev/lanes.h"

enum {
	TSR_HIP_ATTEND_EDGE = 32,
	TSR_HIP_ATTEND_WAVES = 4,
	TSR_HIP_ATTEND_QUERIES = TSR_HIP_ATTEND_WAVES * TSR_HIP_ATTEND_EDGE,
	TSR_HIP_ATTEND_STEP = 4096,  /* elements of K in a step, and of V */
	TSR_HIP_ATTEND_COLS = 64,    /* of a row of keys in shared memory */
	TSR_HIP_ATTEND_LOADERS = 128 /* threads that load keys; as many load values */
};

/** The keys of a step. */
TSR_HIP_INDEX int tsr_hip_attend_keys(int d)
{
	return TSR_HIP_ATTEND_STEP / d;
}

/** Whether matrix cores take tiles of m queries, which meet `keys` at a time, for d columns. */
TSR_HIP_INDEX int tsr_hip_attend_takes(int m, int keys, int d)
{
	return m == TSR_HIP_ATTEND_QUERIES && (d == 64 || d == 128) && keys > 0 &&
	       keys % tsr_hip_attend_keys(d) == 0;
}

/** The rows of keys in shared memory, of which lanes read columns. */
TSR_HIP_INDEX tsr_hip_lanes_t tsr_hip_attend_k(void)
{
	tsr_hip_lanes_t lanes = {TSR_HIP_ATTEND_STEP / TSR_HIP_ATTEND_COLS,
				 TSR_HIP_ATTEND_QUERIES,
				 2,
				 1,
				 TSR_HIP_ATTEND_WAVES,
				 TSR_HIP_ATTEND_EDGE,
				 8,
				 TSR_HIP_ATTEND_COLS};
	return lanes;
}

/** The rows of values, of which lanes read keys. */
TSR_HIP_INDEX tsr_hip_lanes_t tsr_hip_attend_v(int d)
{
	tsr_hip_lanes_t lanes = {d, TSR_HIP_ATTEND_QUERIES, 2,
				 1, TSR_HIP_ATTEND_WAVES,   TSR_HIP_ATTEND_EDGE,
				 8, tsr_hip_attend_keys(d)};
	return lanes;
}

/* ---- loading: unit e of a step's keys, piece e of its values (lanes.h: across) */

TSR_HIP_INDEX int tsr_hip_attend_load_key(int d, int e)
{
	return tsr_hip_along_row(tsr_hip_attend_k(), e) % tsr_hip_attend_keys(d);
}

TSR_HIP_INDEX int tsr_hip_attend_load_col(int d, int e)
{
	tsr_hip_lanes_t l = tsr_hip_attend_k();
	return tsr_hip_along_row(l, e) / tsr_hip_attend_keys(d) * TSR_HIP_ATTEND_COLS +
	       tsr_hip_along_k(l, e);
}

/** Where column `col` of a key stands in its stage; the columns of a unit follow. */
TSR_HIP_INDEX int tsr_hip_attend_place(int d, int key, int col)
{
	return tsr_hip_place(tsr_hip_attend_k(),
			     col / TSR_HIP_ATTEND_COLS * tsr_hip_attend_keys(d) + key,
			     col % TSR_HIP_ATTEND_COLS);
}

/* ---- multiplying */

/** Which key of a block of 32 a lane reads. */
TSR_HIP_INDEX int tsr_hip_key_of_lane(int lane)
{
	int row = lane % TSR_HIP_ATTEND_EDGE;
	return row / 16 * 16 + row / 4 % 2 * 8 + row / 8 % 2 * 4 + row % 4;
}

/** Which key of a block the sum in register `reg` of a lane is of. */
TSR_HIP_INDEX int tsr_hip_key_of_sum(int lane, int reg)
{
	return reg / 8 * 16 + lane % TSR_HIP_LANES / TSR_HIP_ATTEND_EDGE * 8 + reg % 8;
}

/**
 * The first of the eight columns that a lane reads of a key, and of its query, for
 * group `i` of 16 columns; the first of eight keys that it reads of a column, for
 * group `i` of 16 keys.
 */
TSR_HIP_INDEX int tsr_hip_attend_read(int lane, int i)
{
	return i * 16 + lane % TSR_HIP_LANES / TSR_HIP_ATTEND_EDGE * 8;
}

/* ---- holding: element v[i] of a thread's part of O */

TSR_HIP_INDEX int tsr_hip_attend_row(int thread)
{
	return thread / TSR_HIP_LANES * TSR_HIP_ATTEND_EDGE + thread % TSR_HIP_ATTEND_EDGE;
}

TSR_HIP_INDEX int tsr_hip_attend_col(int thread, int i)
{
	return i / 16 * TSR_HIP_ATTEND_EDGE + i % 16 / TSR_HIP_QUAD * 2 * TSR_HIP_QUAD +
	       thread % TSR_HIP_LANES / TSR_HIP_ATTEND_EDGE * TSR_HIP_QUAD + i % TSR_HIP_QUAD;
}

/** Of the two lanes of a query, one owns it. */
TSR_HIP_INDEX int tsr_hip_attend_owns(int thread)
{
	return thread % TSR_HIP_LANES < TSR_HIP_ATTEND_EDGE;
}

#endif

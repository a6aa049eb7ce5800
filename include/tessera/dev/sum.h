/* Weighted sums of chosen rows of my memory, stored at any rank. */
#ifndef TESSERA_DEV_SUM_H
#define TESSERA_DEV_SUM_H

#include "tessera/dev/port.h"
#include "tessera/dev/view.h"

enum { TSR_SUM_ROWS_MOST = 256 };

/**
 * Sums rows: `dst`, a view of one row (or an empty one), at rank `to`, becomes the sum over i = 0,
 * 1, .. count - 1 of weights[i] times row rows[i] of my `src`. The columns are
 * those that both views have. Where no row is chosen, zeros are stored.
 *
 * Called by:  block or worker.
 * Arrays:     `rows` and `weights` have `count` elements, at most
 *             TSR_SUM_ROWS_MOST. They are in shared memory, or variables of the
 *             kernel with one content in all threads. On GPUs shared memory is
 *             better: what is indexed must be in memory. `weights` may be null:
 *             all are 1. A negative row is left out, with its weight. A row may
 *             be chosen more than once.
 * Views:      f32, f16 or bf16; the two may differ. Each is in the heap or in
 *             shared memory (`dst`: then `to` is my own rank). `dst` may be a row
 *             of `src` that is not read; otherwise they do not overlap.
 * Result:     in f32, in the order of i, beginning with 0, and rounded once, to
 *             the dtype of `dst`. Each product and each sum is rounded to f32; a
 *             device may fuse the two, so results differ in the last place
 *             between backends where products are not exact. A device may treat
 *             subnormal numbers as 0.
 * Ordering:   weak accesses of the caller, as in tsr_put (dev/pointer.h).
 * Meetings:   none, as in tsr_put.
 * Completion: as in tsr_put.
 * Cost:       16 bytes at a time if the rows of both views begin at multiples of
 *             16 bytes, otherwise one element; two such loads of each of
 *             four rows are on their way at once.
 * Errors:     as in tsr_put; TSR_ERR_KERNEL for another dtype. A row behind
 *             those of `src` ends the launch with TSR_ERR_KERNEL on the emulator, and on
 *             GPUs in debug builds. On the emulator also a `dst` of several
 *             rows, and more than TSR_SUM_ROWS_MOST rows to sum.
 * Source:     the combine step of mixtures of experts: ParallelKittens, section
 *             4.3; DeepEP.
 */
TSR_DEV void tsr_sum_rows(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, const int32_t *rows,
			  const float *weights, int count, int to);

#endif

/*
 * Combining what all ranks have: sums, maxima and minima of views. By one block,
 * which waits for nobody, and by collectives of all blocks of all ranks.
 */
#ifndef TESSERA_DEV_REDUCTION_H
#define TESSERA_DEV_REDUCTION_H

#include "tessera/dev/collective.h"
#include "tessera/dev/port.h"
#include "tessera/dev/tile.h"
#include "tessera/dev/view.h"

/*
 * The rules for all collectives on views (dev/collective.h) hold, and their
 * state serves these calls, too. Besides:
 *   Views:      `src` has the same address, the same extents and the same
 *               distance between rows on all ranks. Elements are f64, f32, f16,
 *               bf16, i32, i8 or u8.
 *   Result:     ranks are taken in order, from 0 on. In a team that spans nodes,
 *               each node's members are taken first, in order, and then what the
 *               nodes have, in the order of tsr_world_node: the bits of a sum may
 *               differ from those of the same ranks on one node. Sums of f32, f16 and bf16
 *               are computed in f32, those of integers in i32, and rounded once
 *               (integers: saturated) at the end. So an element has the same
 *               bits on all ranks, in every run, with any number of blocks and
 *               on every backend. A device may treat subnormal numbers as 0.
 *               TSR_REDUCE_MAX and TSR_REDUCE_MIN as in tsr_frag_reduce_rows.
 *   Cost:       16 bytes at a time if rows of both views begin at multiples of
 *               16 bytes, otherwise one element. Views without gaps between rows
 *               are combined as if they were one row, so their shape does not
 *               matter.
 *   Errors:     also TSR_ERR_KERNEL for elements of another type.
 */

/*
 * Teams that span nodes (dev/collective.h): one member of each other node combines
 * what its node has of a rank's part, and sends that, not rounded, to the rank.
 * So a part crosses between two nodes once: sums of 16-bit and 8-bit elements with
 * 4 bytes an element, unless the node has one member. Where this would be more
 * bytes than the members' own elements (8-bit elements and two or three members
 * a node), each rank reads its part of every rank's `src`. An all-reduce sends
 * each result once to each other node. A large part goes in chunks that fit the
 * state.
 */

/**
 * Combines the `src` of all ranks, and stores the result to `dst` of rank `to`,
 * or of every rank if that is TSR_ANY_RANK. Meets nobody. It is tsr_reduce
 * (dev/value.h) for results that need not be held: with a group of elements a
 * thread, many more of them are on their way than with a tile.
 *
 * Called by:  a block or a worker, as tsr_put.
 * Views:      as for the collectives below, but `dst` of f32 may also be f16 or
 *             bf16: sums are rounded once. Either may be empty; `to` is a rank
 *             of the team.
 * In place:   `dst` is `src`.
 * Ordering:   none; plain accesses. The caller has waited for what the ranks put
 *             into `src` (READY), and for `dst` (RETIRED).
 * Completion: as of a tsr_put to these ranks.
 * Errors:     as in tsr_put; TSR_ERR_KERNEL, if the views do not fit each other.
 */
TSR_DEV void tsr_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to);

/**
 * Combines the `src` of all ranks. Rank r gets part r of the result, along
 * `dim`, in its `dst`, which is as large as my part of `src`. Each rank reads
 * its part of every rank's `src`.
 *
 * One step:   each rank puts every rank its part, and combines what it takes.
 * In place:   `dst` is my part of `src`.
 * Cost:       on each link a part's bytes from every other rank; in one step
 *             twice them.
 * Source:     ParallelKittens, appendix B (reduce-scatter along either
 *             dimension).
 */
TSR_DEV tsr_wait_result_t tsr_reduce_scatter(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					     tsr_dim_t dim, tsr_reduce_t op,
					     TSR_HEAP tsr_collective_state_t *state);

/**
 * Combines the `src` of all ranks, and leaves the result in every rank's `dst`,
 * which has the same address and extents on all ranks. The bits are the same in
 * one step and in two.
 *
 * One step:   each rank puts its elements to all, and combines what it takes.
 *             Views without gaps between rows count as one row. With two H200s
 *             both ways would take as long at 700 KB, with eight at 57 KB;
 *             backends/common/dev/states.h says of which figures this is made.
 * Two steps:  each rank combines its share of the elements, and stores it to
 *             all.
 * In place:   `dst` is `src`.
 * Cost:       one step: on each link twice the bytes of `src`, and a signal. Two
 *             steps: on each link twice the bytes of a share, for every other
 *             rank.
 * Source:     ParallelKittens, appendix C (all_reduce), which uses the fabric's
 *             own reductions; one step: NCCL's protocol LL.
 */
TSR_DEV tsr_wait_result_t tsr_all_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					      tsr_reduce_t op,
					      TSR_HEAP tsr_collective_state_t *state);

/**
 * Combines the `src` of all ranks, and leaves the result in the root's `dst`.
 * All ranks pass `dst` alike; only the root's is written. Each rank combines its
 * share of the elements, and stores it to the root.
 *
 * In place:   `dst` is `src`, on all ranks.
 * Cost:       on each link a share's bytes from every other rank, and on the
 *             root's also the share of every other rank.
 */
TSR_DEV tsr_wait_result_t tsr_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					  tsr_reduce_t op, int root,
					  TSR_HEAP tsr_collective_state_t *state);

#endif

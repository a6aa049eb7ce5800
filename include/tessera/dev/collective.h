/* Collectives: calls that all blocks of all ranks make together, with no launch in between. */
#ifndef TESSERA_DEV_COLLECTIVE_H
#define TESSERA_DEV_COLLECTIVE_H

#include "tessera/dev/port.h"

/**
 * The counts of an all-gather of a team: tsr_all_gather_state_bytes(ranks) of
 * the heap, aligned to 128, cleared before the first use, and never again. For
 * one all-gather at a time, always in the same team.
 */
typedef struct tsr_all_gather_state tsr_all_gather_state_t;

enum { TSR_ALL_GATHER_MAX_BLOCKS = 1 << 20 };

/**
 * Every rank of the team gets the pieces of all: `size_bytes` of rank r's `src`
 * at r * size_bytes of everybody's `dst`.
 *
 * Called by:  every block of the launch, on every rank, as often as the others;
 *             all of them are resident at one time. The size is the same on all
 *             ranks; the number of blocks need not be, nor that of one launch
 *             and the next, but it is below TSR_ALL_GATHER_MAX_BLOCKS. A kernel
 *             that is split calls it with `block`.
 * Memory:     `src` and `dst` in the heap, of any size and alignment (16 bytes
 *             are fastest). In place: `src` is where my piece lies in `dst`.
 *             Else the two do not overlap. Any block of my rank may have
 *             written any part of `src` before the call.
 * Ordering:   a barrier of all blocks: what any block of any rank did before
 *             the call happens before what any block does after it. So the
 *             earlier contents of `dst` may be read until the call, by
 *             whichever block.
 * Completion: on TSR_WAIT_OK all of `dst` is there, for every block, and `src`
 *             may be written again.
 * Progress:   each block waits for all blocks of all ranks to come (they let go
 *             of `dst`: RETIRED; those of its own rank have written `src`),
 *             puts its part of the piece to all at once, and waits for all
 *             pieces (READY).
 * Errors:     TSR_WAIT_ABORTED where the world has ended, or a rank has not
 *             come within the world's deadline: the wait record names it. As
 *             tsr_put for ranks and memory.
 * Cost:       on each link (n - 1) / n of what a rank has in the end, and two
 *             signals of each block to every rank.
 * Litmus:     MP.mcast.diffGPU-sss and MP.count.diffGPU-sss (READY),
 *             LB.retired.diffGPU-ss (RETIRED), MP.reuse.diffGPU-ss (both).
 * Source:     Iris paper, Listing 5 (all-scatter); "Three Taxes", Algorithms 1
 *             and 2 (push).
 */
TSR_DEV tsr_wait_result_t tsr_all_gather(tsr_coop_t *block, TSR_HEAP void *dst,
					 const TSR_HEAP void *src, size_t size_bytes,
					 TSR_HEAP tsr_all_gather_state_t *state);

#endif

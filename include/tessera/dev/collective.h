/*
 * Collectives inside a kernel: calls that all blocks of all ranks make
 * together.
 */
#ifndef TESSERA_DEV_COLLECTIVE_H
#define TESSERA_DEV_COLLECTIVE_H

#include "tessera/dev/port.h"

/**
 * The state of an all-gather of a team: tsr_all_gather_state_bytes(ranks) bytes
 * of the heap, aligned to 128. Clear it before the first use, and never again.
 * It serves one all-gather at a time, always in the same team.
 */
typedef struct tsr_all_gather_state tsr_all_gather_state_t;

enum { TSR_ALL_GATHER_MAX_BLOCKS = 1 << 20 };

/**
 * Gathers the pieces of all ranks of the team on every rank: `size_bytes` of
 * rank r's `src` are copied to offset `r * size_bytes` of everybody's `dst`.
 *
 * Called by:  every block of the launch, on every rank, equally often. All
 *             blocks must be resident at the same time. The size is the same on
 *             all ranks. The number of blocks may differ between ranks and
 *             between launches; it is below TSR_ALL_GATHER_MAX_BLOCKS. A split
 *             kernel calls it with `block`.
 * Memory:     `src` and `dst` are in the heap, with any size and alignment (16
 *             bytes are fastest). In place: `src` is the place of my piece in
 *             `dst`. Otherwise the two do not overlap. Any block of my rank may
 *             have written any part of `src` before the call.
 * Ordering:   a barrier of all blocks: what any block of any rank did before
 *             the call happens before what any block does after it. So every
 *             block may read the earlier contents of `dst` until it makes the
 *             call.
 * Completion: on TSR_WAIT_OK all of `dst` is there, for every block, and `src`
 *             may be written again.
 * Progress:   each block waits until all blocks of all ranks have arrived.
 *             Their arrival says that they no longer use `dst` (RETIRED); the
 *             arrival of the blocks of its own rank also says that `src` is
 *             written. Then it puts its part of the piece to all ranks at once,
 *             and waits for all pieces (READY).
 * Errors:     TSR_WAIT_ABORTED if the world has ended, or a rank has not
 *             arrived within the world's deadline; the wait record names it.
 *             For ranks and memory as in tsr_put.
 * Cost:       on each link (n - 1) / n of the bytes of `dst`, and two signals
 *             from each block to every rank.
 * Litmus:     MP.mcast.diffGPU-sss and MP.count.diffGPU-sss (READY),
 *             LB.retired.diffGPU-ss (RETIRED), MP.reuse.diffGPU-ss (both).
 * Source:     Iris paper, Listing 5 (all-scatter); "Three Taxes", Algorithms 1
 *             and 2 (push).
 */
TSR_DEV tsr_wait_result_t tsr_all_gather(tsr_coop_t *block, TSR_HEAP void *dst,
					 const TSR_HEAP void *src, size_t size_bytes,
					 TSR_HEAP tsr_all_gather_state_t *state);

#endif

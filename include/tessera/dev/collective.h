/*
 * Collectives inside a kernel: calls that all blocks of all ranks make
 * together.
 */
#ifndef TESSERA_DEV_COLLECTIVE_H
#define TESSERA_DEV_COLLECTIVE_H

#include "tessera/dev/port.h"
#include "tessera/dev/view.h"

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
 *             from each block to every rank. In a team that spans nodes, a piece
 *             crosses to each other node once; a member passes it on there.
 * Litmus:     MP.mcast.diffGPU-sss and MP.count.diffGPU-sss (READY),
 *             LB.retired.diffGPU-ss (RETIRED), MP.reuse.diffGPU-ss (both).
 * Source:     Iris paper, Listing 5 (all-scatter); "Three Taxes", Algorithms 1
 *             and 2 (push).
 */
TSR_DEV tsr_wait_result_t tsr_all_gather(tsr_coop_t *block, TSR_HEAP void *dst,
					 const TSR_HEAP void *src, size_t size_bytes,
					 TSR_HEAP tsr_all_gather_state_t *state);

/**
 * The state of the collectives on views, of those below and of dev/reduction.h:
 * tsr_collective_state_bytes(ranks) bytes of the heap (some 10 MiB, for the
 * messages of small calls), aligned to 128. Clear it before the first use, and
 * never again. It serves one call at a time, of any kind, always in the same
 * team.
 */
typedef struct tsr_collective_state tsr_collective_state_t;

/*
 * Where another call has a collective's plain name, that on views ends in
 * _view: tsr_all_gather moves bytes, and tsr_reduce and tsr_all_reduce
 * (dev/value.h) combine one tile. For all collectives on views:
 *   Called by:  every block of the launch, on every rank, equally often. All
 *               blocks must be resident at the same time. The number of blocks
 *               may differ between ranks and between launches; it is below
 *               TSR_ALL_GATHER_MAX_BLOCKS. A split kernel calls them with
 *               `block`.
 *   Views:      are in the heap and have one dtype. Their rows may be any
 *               distance apart. A view that other ranks reach has the same
 *               address and the same distance between rows on all ranks.
 *               Extents may be 0, and ranks need not divide them: a rank's part
 *               is what tsr_view_cut gives. Any block of my rank may have
 *               written any part of `src` before the call.
 *   In place:   each call says which memory `dst` and `src` may share.
 *               Otherwise they share none; two parts of one matrix may have
 *               rows in turn.
 *   Ordering:   a barrier of all blocks: what any block of any rank did before
 *               the call happens before what any block does after it. So every
 *               block may read the earlier contents of `dst` until it makes the
 *               call. Calls may follow each other with nothing in between.
 *   Completion: on TSR_WAIT_OK all of `dst` is there, for every block, and `src`
 *               may be written again. That is said of my own `dst`. A peer's is
 *               there behind a signal of that peer.
 *   Progress:   each block waits until all blocks of all ranks have arrived.
 *               Their arrival says that `src` is written (READY) and `dst` no
 *               longer used (RETIRED). Then it moves its part, and waits until
 *               all blocks have moved theirs.
 *   One step:   all-gather, all-to-all, reduce-scatter and all-reduce of small
 *               matrices do not wait at their end for what others have moved.
 *               Messages travel in words that carry their own flag
 *               (dev/marked.h), each row beginning with a new word. A call takes
 *               one step if the message to each rank has at most 256 KiB divided
 *               by the number of ranks (in whole lines of 128 bytes), counted in
 *               words of four bytes. All ranks find the same. What is promised
 *               here does not hang on it. Messages take twice their bytes on the
 *               link, and there is one meeting of all ranks less.
 *   Nodes:      in a team that spans nodes, what all ranks get crosses between two
 *               nodes once, to one member, which passes it on to those of its
 *               node. The blocks of a node meet first, and one rank of each node
 *               tells those of the others. A call takes one step only if the
 *               message to each rank has at most 2 KiB. All-to-all, gather and
 *               scatter have nothing that crosses twice, and only their meetings
 *               are by nodes.
 *   Errors:     TSR_WAIT_ABORTED if the world has ended, or a rank has not
 *               arrived within the world's deadline; the wait record names it.
 *               TSR_ERR_KERNEL, if the views do not fit the call, or share
 *               memory in another way, or `root` is outside the team.
 *               `tessera check` also compares what the ranks pass
 *               (collective-mismatch). For memory as in tsr_put.
 *   Litmus:     MP.count.diffGPU-sss (READY), LB.retired.diffGPU-ss (RETIRED),
 *               MP.reuse.diffGPU-ss (both). In one step: MP.mcast.diffGPU-sss
 *               (what came before the call), LB.marked.diffGPU-ss (the words'
 *               reuse).
 */

/**
 * Gathers the `src` of all ranks on every rank: rank r's becomes part r of
 * everybody's `dst`, along `dim`. So `src` is as large as my part of `dst`.
 *
 * In place:   `src` is my part of `dst`.
 * Cost:       on each link the bytes of `src` to every other rank; in one step
 *             twice them.
 * Source:     ParallelKittens, appendix B (all-gather along either dimension);
 *             one step: NCCL's protocol LL.
 */
TSR_DEV tsr_wait_result_t tsr_all_gather_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					      tsr_dim_t dim,
					      TSR_HEAP tsr_collective_state_t *state);

/**
 * Sends every rank another part of `src`: part r along `split` goes to rank r.
 * What arrives from rank r becomes part r of `dst`, along `place`.
 *
 * Shapes:     if `split` and `place` differ, the ranks exchange how one matrix
 *             is spread over them: each has had all of it along `split`, and
 *             its part along `place`; in the end, the other way round. If they
 *             are one dimension, `src` has the same extents on all ranks, and
 *             along it `dst` has as many pieces as the team has ranks, each as
 *             large as my part of `src`.
 * In place:   never.
 * Cost:       on each link the bytes of a part to every other rank; in one step
 *             twice them.
 * Source:     ParallelKittens, appendix B (all-to-all of sequence and heads);
 *             DeepSpeed-Ulysses; one step: NCCL's protocol LL.
 */
TSR_DEV tsr_wait_result_t tsr_all_to_all(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					 tsr_dim_t split, tsr_dim_t place,
					 TSR_HEAP tsr_collective_state_t *state);

/**
 * Copies the root's `src` to every rank's `dst`, the root's included. Both have
 * the same extents on all ranks. Each rank fetches its part from the root and
 * puts it to all, so that the root's link carries each byte once or twice,
 * however many ranks there are. In a team that spans nodes, the members of each
 * node share the fetching, and each puts its part to those of its node.
 *
 * In place:   `dst` is `src`. The root's memory is then written too, with what
 *             it holds.
 * Cost:       on each link at most twice the bytes of `src`.
 */
TSR_DEV tsr_wait_result_t tsr_broadcast(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src, int root,
					TSR_HEAP tsr_collective_state_t *state);

/**
 * Gathers the `src` of all ranks on one: rank r's becomes part r of the root's
 * `dst`, along `dim`. So `src` is as large as my part of `dst`. All ranks pass
 * `dst` alike; only the root's is written.
 *
 * In place:   `src` is my part of `dst`, on any of the ranks.
 * Cost:       on the root's links the bytes of `src` from every other rank.
 */
TSR_DEV tsr_wait_result_t tsr_gather(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
				     tsr_dim_t dim, int root,
				     TSR_HEAP tsr_collective_state_t *state);

/**
 * Deals the root's `src` out: part r, along `dim`, becomes rank r's `dst`. So
 * `dst` is as large as my part of `src`. All ranks pass `src` alike; only the
 * root's is read. Each rank fetches its part, so that all ranks' blocks work.
 *
 * In place:   `dst` is my part of `src`, on any of the ranks.
 * Cost:       on the root's links the bytes of a part to every other rank.
 */
TSR_DEV tsr_wait_result_t tsr_scatter(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
				      tsr_dim_t dim, int root,
				      TSR_HEAP tsr_collective_state_t *state);

#endif

/*
 * Collectives on streams: all members of a team exchange or combine tensors.
 * The same calls within a kernel: dev/collective.h and dev/reduction.h. Those of
 * hosts, which exchange bytes of host memory: team.h.
 */
#ifndef TESSERA_COLLECTIVE_H
#define TESSERA_COLLECTIVE_H

#include "tessera/stream.h"
#include "tessera/tensor.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_collective_state tsr_collective_state_t;

/*
 * For all of them:
 *   Called by:  every member of the stream's team, any thread of it, on a stream
 *               of that team: as often and in the same order on all. Returns
 *               without waiting for the collective. It is one launch of a kernel
 *               of the library's, with at most half of the blocks that the
 *               device holds at a time, and no more than run at the same time.
 *               A captured or repeated launch may repeat it.
 *   Agreement:  all members pass the same dtype, the same extents of what the
 *               ranks have together, the same operation, root and dimensions.
 *               What other ranks reach has the same place in the heap and the
 *               same strides on all: `dst` of all_gather, all_to_all, gather,
 *               broadcast, all_reduce and reduce, and `src` of scatter,
 *               broadcast, all_reduce, reduce_scatter and reduce; also `dst` of
 *               a rank whose part has no elements, if it sends some. Free are
 *               place and strides of all others: `src` of all_gather, all_to_all
 *               and gather, `dst` of reduce_scatter and scatter.
 *   Compared:   on the emulator always, on GPUs by a debug build, or with
 *               TESSERA_CHECK_COLLECTIVES=1, which all ranks set: before it
 *               launches, a rank compares with the members on its node that
 *               have made the call, and they with it. If two differ, the world
 *               ends with TSR_ERR_MISMATCH, and a sentence that names both
 *               ranks, both lines, and what differs. Nobody has stored anything
 *               but to the state then. In a team that spans nodes each rank
 *               also tells the other nodes what it passes, and compares with
 *               what their members have told: on the emulator before the kernel
 *               begins, so that nobody has stored anything either; on GPUs when
 *               the host waits for the stream, or for an event behind the call,
 *               before it does: then kernels may have stored something. A wait
 *               of the host succeeds for calls alone that have been compared. A
 *               member on another node that does not make the call is waited for
 *               until the deadline. A rank that is some 30 calls with a state
 *               ahead of a member waits for it (on GPUs also if a member on
 *               another node is some 15 calls behind). Of graphs the captured
 *               call is compared, so all members capture it, or none. Where a
 *               node has no room to note more states (it has for some hundred
 *               of them, of few ranks), nodes compare nothing from then on.
 *   Tensors:    in the heap, of one dtype. A dimension is split as
 *               tsr_view_cut does it: rank r of n gets elements extent * r / n
 *               up to extent * (r + 1) / n. Where elements of later dimensions
 *               lie within one of the dimension that is split, the number of
 *               ranks must divide its extent, unless it is the first. A rank's
 *               part may have an extent of 0. Strides may be any that make a
 *               matrix: the elements of a row are neighbours, and rows equally
 *               far apart.
 *   In place:   as each call says for the kernel's call of the same name.
 *               Otherwise `dst` and `src` share no memory.
 *   Nodes:      in a team that spans nodes, data crosses between two nodes once
 *               where it can (dev/collective.h, dev/reduction.h).
 *   State:      `state` is tsr_collective_state_bytes(team size) bytes of the
 *               heap, aligned to 128, cleared before the first use and never
 *               again. It serves one call at a time: one stream, or streams
 *               that events or waits of the host order; always in the same team,
 *               until it is freed. All members pass the same one. Kernels on the
 *               stream may use it, too.
 *   Orders:     the collective begins behind the stream's earlier work, and the
 *               stream's later work begins when it is complete on this rank.
 *               What any member's stream did before it happens before what any
 *               member's stream does behind it.
 *   Completion: behind it on the stream, `dst` is there and `src` may be written
 *               again. On the host: tsr_stream_sync.
 *   Errors:     TSR_ERR_ARGUMENT (a null pointer; a root outside the team; a
 *               dimension, shapes or dtypes that do not fit the call; strides
 *               that make no matrix; memory outside the heap; and where calls
 *               are compared, a state of another team, or that another stream
 *               may use at the same time), TSR_ERR_ABORTED, TSR_ERR_MISMATCH,
 *               TSR_ERR_TIMEOUT (a rank far ahead has waited),
 *               TSR_ERR_UNSUPPORTED (the library has no code for this device).
 *               After an error nothing is started. tsr_stream_sync returns
 *               TSR_ERR_KERNEL for tensors that share memory in another way,
 *               or (on the emulator) for a state that is not cleared,
 *               TSR_ERR_MISMATCH if another rank finds that the calls differ,
 *               and TSR_ERR_TIMEOUT if a member does not come, or passes another
 *               state; the sentence names it.
 *   Source:     NCCL's collectives; the "on stream" operations of NVSHMEM.
 */

/**
 * Combines the elements of all members' `src` into every member's `dst`: sums,
 * largest or smallest, in rank order, or, in a team that spans nodes, by nodes and
 * then by ranks, with the same bits on all. Elements are
 * f64, f32, f16, bf16, i32, i8 or u8; tsr_all_reduce_view says how they are
 * rounded.
 */
TSR_API tsr_status_t tsr_stream_all_reduce(tsr_stream_t *stream, const tsr_tensor_t *dst,
					   const tsr_tensor_t *src, tsr_reduce_t op,
					   TSR_HEAP tsr_collective_state_t *state);

/** The same into the root's `dst` alone (tsr_reduce_view). */
TSR_API tsr_status_t tsr_stream_reduce(tsr_stream_t *stream, const tsr_tensor_t *dst,
				       const tsr_tensor_t *src, tsr_reduce_t op, int root,
				       TSR_HEAP tsr_collective_state_t *state);

/**
 * The same, of which rank r gets part r along dimension `dim` in its `dst`
 * (tsr_reduce_scatter).
 */
TSR_API tsr_status_t tsr_stream_reduce_scatter(tsr_stream_t *stream, const tsr_tensor_t *dst,
					       const tsr_tensor_t *src, int dim, tsr_reduce_t op,
					       TSR_HEAP tsr_collective_state_t *state);

/**
 * Rank r's `src` becomes part r of every member's `dst`, along dimension `dim`
 * (tsr_all_gather_view).
 */
TSR_API tsr_status_t tsr_stream_all_gather(tsr_stream_t *stream, const tsr_tensor_t *dst,
					   const tsr_tensor_t *src, int dim,
					   TSR_HEAP tsr_collective_state_t *state);

/**
 * Part r of `src` along dimension `split` goes to rank r, where it becomes my
 * part of `dst` along dimension `place` (tsr_all_to_all). If the two differ, the
 * dimension that is later of the two directly follows the other, or the number
 * of ranks divides the earlier one's extent; dimensions before both are batches,
 * and are exchanged one after the other.
 */
TSR_API tsr_status_t tsr_stream_all_to_all(tsr_stream_t *stream, const tsr_tensor_t *dst,
					   const tsr_tensor_t *src, int split, int place,
					   TSR_HEAP tsr_collective_state_t *state);

/** The root's `src` becomes every member's `dst` (tsr_broadcast). */
TSR_API tsr_status_t tsr_stream_broadcast(tsr_stream_t *stream, const tsr_tensor_t *dst,
					  const tsr_tensor_t *src, int root,
					  TSR_HEAP tsr_collective_state_t *state);

/** Rank r's `src` becomes part r of the root's `dst`, along `dim` (tsr_gather). */
TSR_API tsr_status_t tsr_stream_gather(tsr_stream_t *stream, const tsr_tensor_t *dst,
				       const tsr_tensor_t *src, int dim, int root,
				       TSR_HEAP tsr_collective_state_t *state);

/** Part r of the root's `src`, along `dim`, becomes rank r's `dst` (tsr_scatter). */
TSR_API tsr_status_t tsr_stream_scatter(tsr_stream_t *stream, const tsr_tensor_t *dst,
					const tsr_tensor_t *src, int dim, int root,
					TSR_HEAP tsr_collective_state_t *state);

#ifdef __cplusplus
}
#endif
#endif

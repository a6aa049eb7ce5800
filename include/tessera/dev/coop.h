/*
 * Who calls: the block, or one of its workers. A set of threads (coop) is not a
 * scope of memory (TSR_SCOPE_*).
 */
#ifndef TESSERA_DEV_COOP_H
#define TESSERA_DEV_COOP_H

#include "tessera/dev/port.h"

/** This rank, and the number of ranks of the world. Never wait; any coop. */
TSR_DEV int tsr_rank(const tsr_coop_t *coop);
TSR_DEV int tsr_size(const tsr_coop_t *coop);

/**
 * The `i`-th peer to visit, i from 0 to tsr_size - 1: me first, then the ranks
 *  after me in turn, so that not all push to rank 0 at one time.
 */
TSR_DEV int tsr_peer(const tsr_coop_t *coop, int i);

/** Index of the block in its launch, and blocks of the launch. */
TSR_DEV int tsr_block_index(const tsr_coop_t *coop);
TSR_DEV int tsr_block_count(const tsr_coop_t *coop);

/** Index of the worker in its block (0 for the coop of a block), and workers of the block. */
TSR_DEV int tsr_worker_index(const tsr_coop_t *coop);
TSR_DEV int tsr_worker_count(const tsr_coop_t *coop);

/**
 * Meeting of the coop's threads: what each did before happens before what each
 * does after (block scope). It stands between calls of one coop that touch the
 * same memory, where no other call meets: docs/order-in-a-block.md.
 * Called by:  block (all its workers), or worker. Has the world's deadline on
 *             the emulator.
 * Completion: when all have arrived.
 */
TSR_DEV void tsr_sync(tsr_coop_t *coop);

/**
 * Divides a block that moves data among workers, as many as the device does
 * well with (tsr_worker_count of the result; one on the emulator): while one
 * waits for a flag or for what it loads, another stores. The result is the
 * caller's worker, whose calls are collective over it alone; a call with
 * `block` is still the whole block's.
 * Called by:  block of one worker (all kernels but TSR_KERNEL_SPLIT), any
 *             number of times; not in a gate or an epilogue.
 * Workers may: all but fragments and tsr_gemm.
 * Ordering:   the block meets: what it did before happens before what the
 *             workers do (block scope). A worker's release covers its own
 *             accesses alone, a later one of the block's covers all of theirs.
 * Errors:     TSR_ERR_KERNEL on the emulator, by a worker or in a block of
 *             several.
 * Source:     ParallelKittens, section 3.2.3 and appendix D: the communicator,
 *             which has multiprocessors of its own.
 */
TSR_DEV tsr_coop_t tsr_split(tsr_coop_t *block);

/**
 * Names the caller's role in the record of the run (tessera/record.h). Costs
 * nothing on a device. `role` is a string literal.
 */
TSR_DEV void tsr_role(tsr_coop_t *coop, const char *role);

/**
 * Deals the blocks of a launch to roles: the first blocks to role 0, those
 * behind them to role 1. `shares` says how many blocks each role gets, none
 * where it is less than 1; the last role gets those that are left, too. Blocks
 * are dealt in the order in which the device starts them: what others wait for
 * comes first, so that it is resident first.
 * Gives the block's role, from 0 to roles - 1; in `*index` which of the role's
 * blocks it is, in `*count` how many those are.
 * A launch of fewer blocks than the shares together takes them from the first
 * roles, but leaves each with a share a block, as long as there are as many
 * blocks as such roles.
 * Called by:  block or worker, any thread. Never waits.
 * Source:     ParallelKittens, section 3.2.3: multiprocessors that communicate;
 *             Iris paper, section 4.2.2, Listing 5.
 */
TSR_DEV int tsr_role_of(const tsr_coop_t *block, const int32_t *shares, int roles, int *index,
			int *count);

/**
 * Exclusive prefix sum: each of the `count` values in shared memory becomes the
 * sum of those before it, and the sum of all is returned to all threads. Sums
 * wrap around as those of 32 bits do. No values (count < 1): the sum is 0, and
 * the coop meets.
 * Called by:  block (values of the block) or worker (values that no other
 *             worker touches meanwhile); not in a gate.
 * Meetings:   before and after, as tsr_sync: what the coop stored there before
 *             is summed, what it reads afterwards are the sums.
 * Errors:     as in dev/pointer.h; on the emulator also values that are not in
 *             shared memory.
 */
TSR_DEV int32_t tsr_coop_scan(tsr_coop_t *coop, int32_t *values, int count);

/** Clears shared memory, with a tsr_sync before and after. Called by: block. */
TSR_DEV void tsr_shared_clear(tsr_coop_t *block, void *shared, size_t size_bytes);

#endif

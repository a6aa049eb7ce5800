/* Locks: one coop of all ranks at a time. */
#ifndef TESSERA_DEV_LOCK_H
#define TESSERA_DEV_LOCK_H

#include "tessera/dev/port.h"

/*
 * A lock is a u64 in the heap, zero at first. Every rank has a copy, and each
 * copy is a lock of its own: `peer` says which is meant. While it is taken the
 * word is 1 + the rank that has it, so that wait records and reports say who
 * that is: a rank of the team, so a lock is always used in the same team.
 * Nothing else writes it.
 *
 *   Called by:  block or worker, not in a gate. The coop has the lock,
 *               whichever of its threads goes on. It must not take a lock that
 *               it has: that waits for ever. Who waits must not keep the holder
 *               from running: where blocks of one rank take a lock, the holder
 *               is resident, so it does not.
 *   Meetings:   tsr_lock meets the coop's threads when it returns, tsr_unlock
 *               before it gives the lock back (docs/order-in-a-block.md).
 *   Ordering:   acquire and release at system scope: what a coop did before it
 *               gave the lock back happens before what the next one does that
 *               has it. Partners: tsr_unlock and the next tsr_lock of the same
 *               word.
 *               Litmus: MP.casacq.diffGPU-ss.
 *   Fairness:   none. Whoever comes first when it is free has it; a ticket lock
 *               (dev/word.h) serves in order, but a ticket cannot be given back
 *               when a deadline has passed.
 *   Cost:       one compare-and-swap where it is free, over the links where
 *               `peer` is not mine. Who waits polls.
 *   Errors:     as in dev/pointer.h.
 *   Source:     the lock variants of Iris' examples; test-and-test-and-set:
 *               Rudolph and Segall, 1984.
 */

/**
 * Takes the lock, waiting until it is free.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED: the world has ended, or the lock
 *         was not seen free for the world's deadline. The wait record names the
 *         holder as `from`. Each time that another coop was faster the deadline
 *         begins anew.
 */
TSR_DEV tsr_wait_result_t tsr_lock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer);

/**
 * The same with a deadline of its own, relative, in nanoseconds. @return also
 * TSR_WAIT_EXPIRED: the coop does not have the lock.
 */
TSR_DEV tsr_wait_result_t tsr_lock_until(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer,
					 uint64_t deadline_ns);

/** Gives back the lock, which the coop has. */
TSR_DEV void tsr_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer);

#endif

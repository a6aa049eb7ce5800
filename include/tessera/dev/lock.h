/* Locks: at most one coop of all ranks holds a lock. */
#ifndef TESSERA_DEV_LOCK_H
#define TESSERA_DEV_LOCK_H

#include "tessera/dev/port.h"

/*
 * A lock is a u64 in the heap, zero at first. Every rank has a copy, and each
 * copy is a lock of its own: `peer` says which one. While a coop holds the
 * lock, the word is 1 + the holder's rank, so that wait records and reports can
 * name the holder. That rank is counted in the team, so a lock must always be
 * used in the same team. Nothing else may write the word.
 *
 *   Called by:  block or worker, not in a gate. The lock belongs to the coop,
 *               not to a thread. A coop must not take a lock that it holds: it
 *               would wait for itself. A waiting block must not keep the holder
 *               from running. Blocks of one rank do not: the holder is resident
 *               already.
 *   Meetings:   tsr_lock meets the coop's threads when it returns, tsr_unlock
 *               before it releases the lock (docs/order-in-a-block.md).
 *   Ordering:   acquire and release at system scope: what a coop did before it
 *               released the lock happens before what the next holder does.
 *               Partners: tsr_unlock and the next tsr_lock of the same word.
 *   Litmus:     MP.casacq.diffGPU-ss.
 *   Fairness:   none. The first coop that arrives while the lock is free takes
 *               it. A ticket lock (dev/word.h) serves in order, but a ticket
 *               cannot be returned when a deadline has passed.
 *   Cost:       one compare-and-swap if the lock is free, over the links if
 *               `peer` is another rank. A waiting coop polls.
 *   Errors:     as in dev/pointer.h. TSR_ERR_KERNEL on the emulator also if
 *               tsr_unlock finds a word other than 1 + the caller's rank: the
 *               coop does not hold the lock. The word does not tell coops of
 *               one rank apart.
 *   Source:     the lock variants of Iris' examples; test-and-test-and-set:
 *               Rudolph and Segall, 1984.
 */

/**
 * Takes the lock; waits until it is free.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED: the world has ended, or the lock
 *         was not seen free within the world's deadline. The wait record names
 *         the holder as `from`. The deadline starts anew each time that another
 *         coop takes the lock first.
 */
TSR_DEV tsr_wait_result_t tsr_lock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer);

/**
 * The same with its own deadline, in nanoseconds from the call. It too starts
 * anew each time that another coop takes the lock first.
 * @return also TSR_WAIT_EXPIRED: the coop does not hold the lock.
 */
TSR_DEV tsr_wait_result_t tsr_lock_until(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer,
					 uint64_t deadline_ns);

/** Releases the lock, which the coop holds. */
TSR_DEV void tsr_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer);

#endif

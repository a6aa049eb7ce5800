/* Waits for words in any rank's memory, by any comparison. */
#ifndef TESSERA_DEV_WORD_H
#define TESSERA_DEV_WORD_H

#include "tessera/dev/port.h"

/*
 * For synchronisation that a monotone flag cannot express: ticket locks, queues
 * and their tails, words that go up and down. A loop of one's own over
 * tsr_atomic_load or tsr_atomic_cas has no deadline and leaves no wait record:
 * if the word never comes, the world hangs, past TESSERA_DEADLINE.
 *
 * `p` is my address of a u32 or u64, in the heap or in shared memory. `peer`
 * says whose copy is read; for shared memory it is my own rank. `order` is
 * TSR_RELAXED or TSR_ACQUIRE, `scope` is one of TSR_SCOPE_*. Write both as
 * these names in the call itself.
 *
 *   tsr_wait_result_t tsr_wait_word(coop, p, cmp, value, peer, order, scope,
 *                                   from, seen_out)
 *
 *     Waits until the word at `p` compares with `value` as `cmp` (tsr_cmp_t)
 *     says. A u32 is compared with the low half of `value`.
 *
 *     @param from  the rank that is to write the word, for reports; or
 *                  TSR_ANY_RANK.
 *     @param seen_out  the value that ended the wait, the same for all threads;
 *                      points to a uint64_t of the caller. May be null.
 *     @return TSR_WAIT_OK, or TSR_WAIT_ABORTED if the world's deadline has
 *             passed or the world has ended.
 *
 *   tsr_wait_result_t tsr_wait_word_until(coop, p, cmp, value, peer, order,
 *                                         scope, from, deadline_ns, seen_out)
 *
 *     The same with its own deadline, in nanoseconds from the call.
 *     @return also TSR_WAIT_EXPIRED: the world goes on.
 *
 *   Called by:  block or worker; in a gate with the loader, in an epilogue with
 *               its coop. One thread polls; all get the result.
 *   Meetings:   with TSR_ACQUIRE the coop's threads meet when the call returns,
 *               whatever the result. With TSR_RELAXED there is no meeting, as
 *               for a relaxed atomic (docs/order-in-a-block.md).
 *   Ordering:   polls relaxed. With TSR_ACQUIRE the value that ends the wait is
 *               acquired at `scope`: what its writer did before the release
 *               happens before what the whole coop does next.
 *   Partner:    any release of that value to that word whose scope includes the
 *               waiter: tsr_atomic_*, tsr_signal, tsr_unlock.
 *   Litmus:     MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for a word that is
 *               counted.
 *   Values:     a word that keeps changing may have another value when the wait
 *               returns; only `*seen_out` is certain. A wait may miss a value
 *               that comes and goes. So wait for a value that stays until the
 *               waiter has acted, or use TSR_CMP_GE.
 *   Cost:       a word of a peer is polled over the links between devices. Wait
 *               for a word of your own memory if the peer can write there.
 *   Errors:     as in dev/pointer.h. When the deadline expires, the call leaves
 *               a wait record (tsr_wait_record), as tsr_wait does.
 *   Source:     OpenSHMEM 1.5, shmem_wait_until; tickets: Mellor-Crummey and
 *               Scott, 1991.
 */
#if !defined(tsr_wait_word) || !defined(tsr_wait_word_until)
#error "the port does not define waits for words"
#endif

#endif

/* Waits for words of anybody's memory, by any comparison. */
#ifndef TESSERA_DEV_WORD_H
#define TESSERA_DEV_WORD_H

#include "tessera/dev/port.h"

/*
 * For what a monotone flag cannot say: ticket locks, queues and their tails,
 * words that go up and down. A loop of one's own over tsr_atomic_load has no
 * deadline, leaves no wait record, and hangs the world where the word never
 * comes.
 *
 * `p` is my address of a u32 or u64, in the heap or in shared memory; `peer`
 * says whose copy is looked at (shared memory: my own rank). `order` is
 * TSR_RELAXED or TSR_ACQUIRE, `scope` one of TSR_SCOPE_*, both written as these
 * names in the call itself.
 *
 *   tsr_wait_result_t tsr_wait_word(coop, p, cmp, value, peer, order, scope,
 *                                   from, seen_out)
 *
 *     Waits until the word at `p` compares with `value` as `cmp` (tsr_cmp_t)
 *     says. A u32 is compared with the low half of `value`.
 *
 *     @param from      the rank that is to write the word, for reports; or
 *                      TSR_ANY_RANK.
 *     @param seen_out  a uint64_t of the caller's own: the value that ended the
 *                      wait, the same for all threads. Or null.
 *     @return TSR_WAIT_OK, or TSR_WAIT_ABORTED where the world's deadline has
 *             passed or the world has ended.
 *
 *   tsr_wait_result_t tsr_wait_word_until(coop, p, cmp, value, peer, order,
 *                                         scope, from, deadline_ns, seen_out)
 *
 *     The same with a deadline of its own, relative, in nanoseconds. @return
 *     also TSR_WAIT_EXPIRED: the world goes on.
 *
 *   Called by:  block or worker; in a gate with the loader, in an epilogue with
 *               its coop. One thread looks, all are told.
 *   Meetings:   with TSR_ACQUIRE the coop's threads meet when it returns, with
 *               whatever result; with TSR_RELAXED nobody, as for a relaxed
 *               atomic (docs/order-in-a-block.md).
 *   Ordering:   polls relaxed. With TSR_ACQUIRE the value that ends the wait is
 *               acquired at `scope`: what its writer did before the release
 *               happens before what the whole coop does next. Partner: any
 *               release of that value to that word whose scope includes the
 *               waiter: tsr_atomic_*, tsr_signal, tsr_unlock.
 *               Litmus: MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for a word
 *               that is counted.
 *   Values:     a word that changes on may have another value by the time the
 *               wait returns; only `*seen_out` is known. A value that comes and
 *               goes may be missed: wait for one that stays until the waiter
 *               has acted, or for TSR_CMP_GE.
 *   Cost:       a word of a peer is polled over the links between devices. Wait
 *               at home for what a peer can write here.
 *   Errors:     as in dev/pointer.h. When the deadline expires, a wait record
 *               is left (tsr_wait_record), as by tsr_wait.
 *   Source:     OpenSHMEM 1.5, shmem_wait_until; tickets: Mellor-Crummey and
 *               Scott, 1991.
 */
#if !defined(tsr_wait_word) || !defined(tsr_wait_word_until)
#error "the port does not define waits for words"
#endif

#endif

/* Atomics and fences, each with a memory order and a scope. */
#ifndef TESSERA_DEV_ATOMIC_H
#define TESSERA_DEV_ATOMIC_H

#include "tessera/dev/port.h"

/*
 * Order:      TSR_RELAXED TSR_ACQUIRE TSR_RELEASE TSR_ACQ_REL TSR_SEQ_CST.
 * Scope:      TSR_SCOPE_BLOCK TSR_SCOPE_DEVICE TSR_SCOPE_SYSTEM. Two accesses
 *             synchronise only if the scope of each includes the other's
 *             thread. Between ranks that is always TSR_SCOPE_SYSTEM.
 *
 * Write both as these names in the call itself: compilers need literals, so all
 * of this family are macros.
 *
 * `p` is my address of a u32, i32, u64, i64, f32 or f64 in the heap or in
 * shared memory. `peer` says whose copy the call accesses; for shared memory it
 * is my own rank. Integers take every operation; f32 and f64 take add, min,
 * max, xchg, load and store. min and max of floats are those of tsr_reduce_t: if
 * either value is NaN the result is NaN, and -0 is less than +0.
 *
 *   T    tsr_atomic_load (coop, p, peer, order, scope)
 *       relaxed, acquire, seq_cst
 *   void tsr_atomic_store(coop, p, v, peer, order, scope)
 *       relaxed, release, seq_cst
 *   T    tsr_atomic_xchg (coop, p, v, peer, order, scope)
 *       returns the old value, as all below
 *   T    tsr_atomic_add  (coop, p, v, peer, order, scope)
 *   T    tsr_atomic_and, tsr_atomic_or, tsr_atomic_xor, tsr_atomic_min,
 *        tsr_atomic_max (the same arguments)
 *   T    tsr_atomic_cas  (coop, p, expected, desired, peer, order,
 *                         failure_order, scope)
 *       stores `desired` if the old value equals `expected`; otherwise it is
 *       a load with failure_order, which releases nothing
 *   void tsr_fence(coop, order, scope)
 *       acquire, release, acq_rel, seq_cst
 *
 *   Called by:  block or worker. The access is made once a call, whatever the
 *               number of threads; all threads get the result. A gate may make
 *               loads, and tsr_fence that acquires, with the loader. An
 *               epilogue may make all of them, with its coop.
 *   Meetings:   a release covers the earlier accesses of the whole coop, so its
 *               threads meet before it. An acquire orders the later accesses of
 *               the whole coop, so they meet after it. acq_rel and seq_cst do
 *               both. The same holds for tsr_fence. A relaxed access has no
 *               meeting: it orders nothing, not even among the coop's own
 *               threads. So put a tsr_sync between a relaxed access and a plain
 *               access of the coop to the same word, whichever comes first
 *               (docs/order-in-a-block.md).
 *   Ordering:   as in C11, with scopes (the model is scoped RC11), where a coop
 *               is one thread. An order that the operation cannot have does not
 *               compile. A fence covers accesses of the coop that makes it: a
 *               worker's fence and a relaxed store of the block do not work
 *               together, nor the other way round.
 *   Fences:     put, fence, relaxed store on one side; relaxed load, fence, get
 *               on the other:
 *
 *                   tsr_put(block, dst, src, size_bytes, peer);
 *                   tsr_fence(block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
 *                   tsr_atomic_store(block, flag, 1, peer, TSR_RELAXED,
 *                                    TSR_SCOPE_SYSTEM);
 *
 *                   while (tsr_atomic_load(block, flag, me, TSR_RELAXED,
 *                                          TSR_SCOPE_SYSTEM) < 1)
 *                           ;
 *                   tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
 *                   tsr_get(block, mine, dst, size_bytes, me);
 *
 *               For one flag behind its data, prefer a release (tsr_signal). A
 *               fence serves several flags.
 *   Litmus:     MP.frel.facq.diffGPU-ss, and
 *               fences_order_what_all_threads_have_put of
 *               tests/litmus/test_blocks.c.
 *   Errors:     as in dev/pointer.h.
 *   Source:     Iris paper, section 3.3.3 and Table 3.
 *
 *   void tsr_signal_local(coop, flag, value, scope)
 *       release store of `value` at block or device scope
 *   int  tsr_wait_local(coop, flag, value, scope)
 *       acquires; waits until *flag >= value; returns TSR_WAIT_*; its deadline
 *       is that of tsr_wait
 *
 *     Signals between blocks of one rank (TSR_SCOPE_DEVICE), or between workers
 *     of one block (TSR_SCOPE_BLOCK). `flag` is a u64 of mine, in the heap or
 *     in shared memory. It only grows, and is never reset while a coop may wait
 *     for it. Release and acquire are as above.
 *     The partner of tsr_wait_local is tsr_signal_local on the same flag with a
 *     scope that includes the waiter.
 *     Litmus:     MP.rel.acq.sameGPU-aa between blocks, MP.rel.acq.sameWG-ww
 *                 between workers.
 */
#if !defined(TSR_RELAXED) || !defined(TSR_ACQUIRE) || !defined(TSR_RELEASE) ||         \
	!defined(TSR_ACQ_REL) || !defined(TSR_SEQ_CST) || !defined(TSR_SCOPE_BLOCK) || \
	!defined(TSR_SCOPE_DEVICE) || !defined(TSR_SCOPE_SYSTEM)
#error "the port does not define orders and scopes"
#endif
#if !defined(tsr_atomic_load) || !defined(tsr_atomic_store) || !defined(tsr_atomic_xchg) || \
	!defined(tsr_atomic_add) || !defined(tsr_atomic_and) || !defined(tsr_atomic_or) ||  \
	!defined(tsr_atomic_xor) || !defined(tsr_atomic_min) || !defined(tsr_atomic_max) || \
	!defined(tsr_atomic_cas) || !defined(tsr_fence) || !defined(tsr_signal_local) ||    \
	!defined(tsr_wait_local)
#error "the port does not define ordered accesses"
#endif

#endif

/*
 * Signals between ranks, and waits for them: release and acquire at system
 * scope.
 */
#ifndef TESSERA_DEV_SIGNAL_H
#define TESSERA_DEV_SIGNAL_H

#include "tessera/dev/port.h"

/*
 * A flag is a u64 in the heap, aligned to 8, zero at first. It only grows:
 * producers raise it, and consumers wait until it is at least a value. A flag
 * is never compared for equality and never reset while it is in use. Instead of
 * a reset, an epoch in device memory counts the rounds. READY ("the data is
 * there") and RETIRED ("the buffer may be overwritten") are two flags; both are
 * signalled.
 *
 * Deadlines:  every wait has the world's deadline, or its own in the _until
 *             form. A loop of one's own has none (dev/word.h). When a deadline
 *             expires, the wait leaves a wait record (tsr_wait_record). The
 *             plain form then ends the world: later waits return
 *             TSR_WAIT_ABORTED at once, and the launch fails with
 *             TSR_ERR_TIMEOUT. The _until form returns TSR_WAIT_EXPIRED, and
 *             the world goes on. A kernel whose wait did not return TSR_WAIT_OK
 *             continues to its end; nothing that it does after an abort counts.
 * Meetings:   a signal meets the coop's threads before it raises the flag, and
 *             not after. A wait meets them when it returns, whatever the
 *             result. A barrier does both (docs/order-in-a-block.md).
 * Called by:  block or worker. Reports name the rank `from`.
 * Source:     Iris paper, Listing 5; "Three Taxes", Algorithms 2 to 4.
 */

/**
 * Raises `peer`'s copy of `flag`, with release at system scope: all earlier
 * accesses of the whole coop happen before what follows a wait that sees the
 * new value. Implementation: complete the stores of all threads, meet, then one
 * thread releases.
 * Partner:    tsr_wait.
 * Litmus:     MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for ADD.
 */
TSR_DEV void tsr_signal(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
			tsr_signal_op_t op, int peer);

/** tsr_signal to every rank, this one included, with one release for all. */
TSR_DEV void tsr_signal_all(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
			    tsr_signal_op_t op);

/**
 * tsr_put or tsr_put_2d, then tsr_signal to the same peer, as one operation: a
 * coop that acquires the signal sees the data. Where there is nothing to put, the
 * signal is given all the same.
 */
TSR_DEV void tsr_put_signal(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			    size_t size_bytes, TSR_HEAP uint64_t *flag, uint64_t value,
			    tsr_signal_op_t op, int peer);
TSR_DEV void tsr_put_signal_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
			       TSR_HEAP uint64_t *flag, uint64_t value, tsr_signal_op_t op,
			       int peer);

/**
 * Waits until my `flag` is at least `value`. Acquires at system scope, for the
 * whole coop: polls relaxed, then acquires.
 * @param from  the rank that is to signal, for reports; or TSR_ANY_RANK.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED.
 * Partner:    tsr_signal, tsr_put_signal.
 * Litmus:     MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for ADD.
 */
TSR_DEV tsr_wait_result_t tsr_wait(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
				   int from);

/**
 * The same with its own deadline, in nanoseconds from the call.
 * @return also TSR_WAIT_EXPIRED.
 */
TSR_DEV tsr_wait_result_t tsr_wait_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
					 int from, uint64_t deadline_ns);

/**
 * Waits until one of my flags[0 .. count - 1] is at least `value`. Looks at the
 * flags in turn, beginning with `start`.
 * @param which_out  the index of the flag that ended the wait, the same for all
 *                   threads of the coop; points to a variable of the caller.
 *                   Written only on TSR_WAIT_OK.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED; the _until form, whose deadline is
 *         in nanoseconds from the call, also TSR_WAIT_EXPIRED.
 */
TSR_DEV tsr_wait_result_t tsr_wait_any(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
				       int start, uint64_t value, int *which_out);
TSR_DEV tsr_wait_result_t tsr_wait_any_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
					     int start, uint64_t value, uint64_t deadline_ns,
					     int *which_out);

/**
 * The state of a barrier of the ranks of a team: tsr_barrier_state_bytes(ranks)
 * bytes of the heap, aligned to 8. Clear it before its first use. At any time
 * one block of each rank may use it, always in the same team.
 */
typedef struct tsr_barrier_state tsr_barrier_state_t;

/**
 * Waits until all ranks of the team have arrived: what any rank did before the
 * call happens before what any rank does after it. The state needs no reset,
 * because its epoch advances in memory.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED.
 * Litmus:     MP.rel.acq.diffGPU-ss, in both directions.
 */
TSR_DEV tsr_wait_result_t tsr_barrier_ranks(tsr_coop_t *coop, TSR_HEAP tsr_barrier_state_t *state);

#endif

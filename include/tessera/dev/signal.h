/* Signals between ranks: release and acquire at system scope. */
#ifndef TESSERA_DEV_SIGNAL_H
#define TESSERA_DEV_SIGNAL_H

#include "tessera/dev/port.h"

/*
 * A flag is a u64 in the heap, aligned to 8, zero at first, and monotone:
 * producers raise it, consumers wait for `>=`.
 * It is never compared for equality and never reset while it is in use: an
 * epoch in device memory takes the place of a reset.
 * READY ("the data is there") and RETIRED ("the buffer may be written again")
 * are two flags, and both edges are signalled.
 *
 * Every wait has the world's deadline, or its own in the _until form. When it
 * expires, a wait record is left (tsr_wait_record).
 * The plain form then ends the world: later waits return at once with
 * TSR_WAIT_ABORTED and the launch fails with TSR_ERR_TIMEOUT. The _until form
 * returns TSR_WAIT_EXPIRED and the world goes on. A kernel whose wait did not
 * return TSR_WAIT_OK goes on to its end: nothing it does after an abort counts.
 *
 * A signal meets the coop's threads before it raises the flag, and not
 * afterwards; a wait meets them when it returns, with whatever result; a
 * barrier does both (docs/order-in-a-block.md).
 *
 * Called by: block or worker. Source: Iris paper, Listing 5; "Three Taxes",
 * Algorithms 2 to 4. Reports name `from`.
 */

/**
 * Raises `peer`'s copy of `flag`. Release at system scope: all earlier accesses
 * of the whole coop happen before what follows a wait that sees it. Its recipe:
 * complete the stores of all threads, meet, then one thread releases.
 * Partner: tsr_wait. Litmus: MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for
 * ADD.
 */
TSR_DEV void tsr_signal(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
			tsr_signal_op_t op, int peer);

/** tsr_signal to every rank, myself included, with one release for all. */
TSR_DEV void tsr_signal_all(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
			    tsr_signal_op_t op);

/**
 * tsr_put, then tsr_signal to the same peer, as one operation: who acquires the
 * signal sees the data.
 */
TSR_DEV void tsr_put_signal(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			    size_t size_bytes, TSR_HEAP uint64_t *flag, uint64_t value,
			    tsr_signal_op_t op, int peer);
TSR_DEV void tsr_put_signal_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
			       TSR_HEAP uint64_t *flag, uint64_t value, tsr_signal_op_t op,
			       int peer);

/**
 * Waits until my `flag` is at least `value`. Acquire at system scope for the
 * whole coop. Polls relaxed, acquires after success.
 * @param from  the rank that is to signal, for reports; or TSR_ANY_RANK.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED.
 * Partner: tsr_signal, tsr_put_signal. Litmus: MP.rel.acq.diffGPU-ss, and
 * MP.rmw.diffGPU-ss for ADD.
 */
TSR_DEV tsr_wait_result_t tsr_wait(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
				   int from);

/** The same with a deadline of its own, relative, in nanoseconds. @return also TSR_WAIT_EXPIRED. */
TSR_DEV tsr_wait_result_t tsr_wait_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
					 int from, uint64_t deadline_ns);

/**
 * Waits until one of my flags[0 .. count - 1] is at least `value`, looking from
 * `start` on in turn.
 * @param which_out  the flag's index, the same for all threads of the coop; a
 *                   variable of the caller's own. Written on TSR_WAIT_OK only.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED; with a deadline of its own also
 *         TSR_WAIT_EXPIRED.
 */
TSR_DEV tsr_wait_result_t tsr_wait_any(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
				       int start, uint64_t value, int *which_out);
TSR_DEV tsr_wait_result_t tsr_wait_any_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
					     int start, uint64_t value, uint64_t deadline_ns,
					     int *which_out);

/**
 * A barrier of the ranks of a team: tsr_barrier_state_bytes(ranks) of the heap,
 * aligned to 8, cleared before its first use. One block a rank uses it at a
 * time, always in the same team.
 */
typedef struct tsr_barrier_state tsr_barrier_state_t;

/**
 * Meets all ranks of the team: what any did before happens before what any does
 * after. Needs no reset: the epoch advances in memory.
 * @return TSR_WAIT_OK or TSR_WAIT_ABORTED. Litmus: MP.rel.acq.diffGPU-ss, both
 *         ways.
 */
TSR_DEV tsr_wait_result_t tsr_barrier_ranks(tsr_coop_t *coop, TSR_HEAP tsr_barrier_state_t *state);

#endif

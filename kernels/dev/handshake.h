/*
 * How the ranks begin and end a run. RETIRED says "my memory may be written",
 * READY says "what I have for you is there".
 * When the launch with handshake_close ends on a rank, all that others store
 * there is complete; the next run may follow at once, with the same arguments.
 */
#ifndef KERNELS_DEV_HANDSHAKE_H
#define KERNELS_DEV_HANDSHAKE_H

#include "kernels/dev/handshake_state.h"
#include "tessera/dev.h"

/**
 * The run's epoch, for who raises flags or waits for them. It was stored before
 * the last run's launch with handshake_close ended, which happens before this
 * one begins, so relaxed is enough.
 */
TSR_FN uint64_t handshake_epoch(tsr_coop_t *me, TSR_HEAP handshake_t *state)
{
	return 1 + tsr_atomic_load(me, &state->epoch, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/**
 * Until every other rank has raised its flag among `flags`. A block of one
 * worker waits for all at one time, each by one of the workers that it is
 * divided among; what each acquires is the block's when it meets. Partners: the
 * signals of handshake_retire, behind which this block writes what others have
 * read (litmus: LB.retired.diffGPU-ss), and of handshake_close, behind which it
 * has what others wrote (MP.rel.acq.diffGPU-ss), on the other ranks.
 */
TSR_FN void handshake_await(tsr_coop_t *me, TSR_HEAP uint64_t *flags, uint64_t epoch)
{
	if (tsr_worker_count(me) > 1) {
		for (int i = 1; i < tsr_size(me); i++)
			tsr_wait(me, &flags[tsr_peer(me, i)], epoch, tsr_peer(me, i));
		return;
	}
	tsr_coop_t worker = tsr_split(me);
	for (int i = 1 + tsr_worker_index(&worker); i < tsr_size(me);
	     i += tsr_worker_count(&worker))
		tsr_wait(&worker, &flags[tsr_peer(me, i)], epoch, tsr_peer(me, i));
	tsr_sync(me);
}

/**
 * The first of my senders tells every rank that my memory may be written.
 * Partner: handshake_await, or handshake_await_each, on the other ranks.
 * Litmus: LB.retired.diffGPU-ss.
 */
TSR_FN void handshake_retire(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch,
			     int sender)
{
	if (sender == 0)
		tsr_signal_all(me, &state->retired[tsr_rank(me)], epoch, TSR_SIGNAL_SET);
}

/**
 * Before a sender's first store to a peer, or a copy that is made for it: the
 * first of my senders tells every rank that my memory may be written; each
 * waits until all ranks have said so. Called by every sender, `sender` being
 * its index; where copies send, by one block for them.
 */
TSR_FN void handshake_open(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch, int sender)
{
	handshake_retire(me, state, epoch, sender);
	handshake_await(me, state->retired, epoch);
}

/**
 * The wait of handshake_open alone, in an epilogue, for a block that has one
 * tile: the flags have come while it multiplied.
 * Partner: handshake_retire on the other ranks. Litmus: LB.retired.diffGPU-ss.
 */
TSR_FN void handshake_await_each(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch)
{
	for (int i = 1; i < tsr_size(me); i++)
		tsr_wait(me, &state->retired[tsr_peer(me, i)], epoch, tsr_peer(me, i));
}

/**
 * After a sender's last store: the last of my `senders` to come here tells
 * every rank that what I have for it is there, waits until all ranks have said
 * so, and advances the epoch.
 * The add releases each sender's stores to the last one, which acquires them
 * (litmus: MP.rmw.sameGPU-aa) and passes them on with its own release
 * (ISA2.ra.GPU+SYS-as). The signal's partner is handshake_await on the other
 * ranks. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_FN void handshake_close(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch,
			    int senders)
{
	uint64_t before = tsr_atomic_add(me, &state->finished, (uint64_t)1, tsr_rank(me),
					 TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)senders)
		return;
	tsr_signal_all(me, &state->stored[tsr_rank(me)], epoch, TSR_SIGNAL_SET);
	handshake_await(me, state->stored, epoch);
	/* Read by the next launch only, which begins after this one has ended. */
	tsr_atomic_store(me, &state->finished, (uint64_t)0, tsr_rank(me), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
	tsr_atomic_store(me, &state->epoch, epoch, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

#endif

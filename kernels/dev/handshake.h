/*
 * The handshake of ranks at the start and the end of a run. RETIRED says "my
 * memory may be overwritten"; READY says "all that I send to you has arrived".
 * When the launch that calls handshake_close ends on a rank, all stores of
 * other ranks to it are complete. The next run may follow at once, with the
 * same arguments.
 */
#ifndef KERNELS_DEV_HANDSHAKE_H
#define KERNELS_DEV_HANDSHAKE_H

#include "kernels/dev/handshake_state.h"
#include "tessera/dev.h"

/**
 * The epoch of this run, for blocks that raise flags or wait for them. It was
 * stored before the last launch with handshake_close ended. That launch happens
 * before this one, so a relaxed load is enough.
 */
TSR_FN uint64_t handshake_epoch(tsr_coop_t *me, TSR_HEAP handshake_t *state)
{
	return 1 + tsr_atomic_load(me, &state->epoch, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/**
 * Waits until every other rank has raised its flag in `flags`. A block with one
 * worker is split, so that its workers wait for several flags at the same time;
 * when the block meets, it has what each worker acquired.
 * Partners on the other ranks: the signals of handshake_retire, after which
 * this block overwrites what others have read (litmus: LB.retired.diffGPU-ss),
 * and of handshake_close, after which it sees what others wrote
 * (MP.rel.acq.diffGPU-ss).
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
 * Sender 0 of this rank tells every rank that this rank's memory may be
 * overwritten.
 * Partner:    handshake_await, or handshake_await_each, on the other ranks.
 * Litmus:     LB.retired.diffGPU-ss.
 */
TSR_FN void handshake_retire(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch,
			     int sender)
{
	if (sender == 0)
		tsr_signal_all(me, &state->retired[tsr_rank(me)], epoch, TSR_SIGNAL_SET);
}

/**
 * Opens a run, before a sender's first store to a peer: sender 0 tells every
 * rank that this rank's memory may be overwritten, and each sender waits until
 * all ranks have said so. Every sender makes the call with its index. If copy
 * engines send, one block makes the call for them.
 */
TSR_FN void handshake_open(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch, int sender)
{
	handshake_retire(me, state, epoch, sender);
	handshake_await(me, state->retired, epoch);
}

/**
 * The wait of handshake_open, in the epilogue of a block that has only one
 * tile. The flags have arrived while the block computed.
 * Partner:    handshake_retire on the other ranks.
 * Litmus:     LB.retired.diffGPU-ss.
 */
TSR_FN void handshake_await_each(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch)
{
	for (int i = 1; i < tsr_size(me); i++)
		tsr_wait(me, &state->retired[tsr_peer(me, i)], epoch, tsr_peer(me, i));
}

/**
 * Prepares the state for the next run. Only the next launch reads it; it begins
 * after this one has ended.
 */
TSR_FN void handshake_advance(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch)
{
	tsr_atomic_store(me, &state->finished, (uint64_t)0, tsr_rank(me), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
	tsr_atomic_store(me, &state->epoch, epoch, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/**
 * Closes a run, after a sender's last store. The last of this rank's `senders`
 * that makes the call tells every rank that the data for it has arrived, waits
 * until all ranks have said so, and advances the epoch.
 * The atomic add releases each sender's stores to the last sender, which
 * acquires them (litmus: MP.rmw.sameGPU-aa) and passes them on with its own
 * release (ISA2.ra.GPU+SYS-as). The partner of that signal is handshake_await
 * on the other ranks (MP.rel.acq.diffGPU-ss).
 * Returns whether this was the last sender: all others have made the call.
 */
TSR_FN int handshake_close(tsr_coop_t *me, TSR_HEAP handshake_t *state, uint64_t epoch, int senders)
{
	uint64_t before = tsr_atomic_add(me, &state->finished, (uint64_t)1, tsr_rank(me),
					 TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)senders)
		return 0;
	tsr_signal_all(me, &state->stored[tsr_rank(me)], epoch, TSR_SIGNAL_SET);
	handshake_await(me, state->stored, epoch);
	handshake_advance(me, state, epoch);
	return 1;
}

#endif

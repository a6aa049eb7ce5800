/*
 * How the ranks begin and end a product. RETIRED says "my C may be written", READY says "my tiles are in your C".
 * When the launch with gas_close ends on a rank, all of C on that rank is complete; the next product may follow at once, with the
 * same arguments.
 */
#ifndef GEMM_ALL_SCATTER_HANDSHAKE_H
#define GEMM_ALL_SCATTER_HANDSHAKE_H

#include "kernels/gemm_all_scatter/tiles.h"

/**
 * The product's epoch, for who raises flags or waits for them. It was stored before the last product's launch with gas_close ended,
 * which happens before this one begins, so relaxed is enough.
 */
TSR_FN uint64_t gas_epoch(tsr_coop_t *me, const gas_args_t *a)
{
	return 1 + tsr_atomic_load(me, &a->sync->epoch, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** For blocks that raise no flag and wait for none, or not before their product is made: none waits for an epoch first. */
TSR_FN gas_run_t gas_begin_alone(tsr_coop_t *me, const gas_args_t *a)
{
	gas_run_t run = {a, 0};
	tsr_declare_writes(me, gas_slab(a));
	return run;
}

/** For all others. */
TSR_FN gas_run_t gas_begin(tsr_coop_t *me, const gas_args_t *a)
{
	gas_run_t run = gas_begin_alone(me, a);
	run.epoch = gas_epoch(me, a);
	return run;
}

/**
 * Until every other rank has raised its flag among `flags`. A block of one worker waits for all at one time, each by one of the
 * workers that it is divided among; what each acquires is the block's when it meets. Partners: the signals of gas_retire, behind
 * which this block writes what others have read (litmus: LB.retired.diffGPU-ss), and of gas_close, behind which it has what others
 * wrote (MP.rel.acq.diffGPU-ss), on the other ranks.
 */
TSR_FN void gas_await_ranks(tsr_coop_t *me, const gas_run_t *run, TSR_HEAP uint64_t *flags)
{
	if (tsr_worker_count(me) > 1) {
		for (int i = 1; i < tsr_size(me); i++)
			tsr_wait(me, &flags[tsr_peer(me, i)], run->epoch, tsr_peer(me, i));
		return;
	}
	tsr_coop_t worker = tsr_split(me);
	for (int i = 1 + tsr_worker_index(&worker); i < tsr_size(me); i += tsr_worker_count(&worker))
		tsr_wait(&worker, &flags[tsr_peer(me, i)], run->epoch, tsr_peer(me, i));
	tsr_sync(me);
}

/** The first of my senders tells every rank that my C may be written. Partner: gas_await_ranks, or gas_await_each, on the other
 * ranks. Litmus: LB.retired.diffGPU-ss. */
TSR_FN void gas_retire(tsr_coop_t *me, const gas_run_t *run, int sender)
{
	if (sender == 0)
		tsr_signal_all(me, &run->args->sync->retired[tsr_rank(me)], run->epoch, TSR_SIGNAL_SET);
}

/**
 * Before a sender's first store to a peer, or a copy that is made for it: the first of my senders tells every rank that my C may be
 * written; each waits until all ranks have said so. Called by every sender, `sender` being its index; where copies send, by one
 * block for them.
 */
TSR_FN void gas_open(tsr_coop_t *me, const gas_run_t *run, int sender)
{
	gas_retire(me, run, sender);
	gas_await_ranks(me, run, run->args->sync->retired);
}

/** The wait of gas_open alone, in an epilogue, for a block that has one tile: the flags have come while it multiplied. Partner:
 * gas_retire on the other ranks. Litmus: LB.retired.diffGPU-ss. */
TSR_FN void gas_await_each(tsr_coop_t *me, const gas_run_t *run)
{
	for (int i = 1; i < tsr_size(me); i++)
		tsr_wait(me, &run->args->sync->retired[tsr_peer(me, i)], run->epoch, tsr_peer(me, i));
}

/**
 * After a sender's last store: the last of my `senders` to come here tells every rank that my tiles are in its C, waits until all
 * ranks have said so, and advances the epoch.
 * The add releases each sender's stores to the last one, which acquires them (litmus: MP.rmw.sameGPU-aa) and passes
 * them on with its own release (ISA2.ra.GPU+SYS-as). The signal's partner is gas_await_ranks on the other ranks. Litmus:
 * MP.rel.acq.diffGPU-ss.
 */
TSR_FN void gas_close(tsr_coop_t *me, const gas_run_t *run, int senders)
{
	TSR_HEAP gas_sync_t *sync = run->args->sync;
	uint64_t before = tsr_atomic_add(me, &sync->finished, (uint64_t)1, tsr_rank(me), TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)senders)
		return;
	tsr_signal_all(me, &sync->stored[tsr_rank(me)], run->epoch, TSR_SIGNAL_SET);
	gas_await_ranks(me, run, sync->stored);
	/* Read by the next launch only, which begins after this one has ended. */
	tsr_atomic_store(me, &sync->finished, (uint64_t)0, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_store(me, &sync->epoch, run->epoch, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

#endif

/*
 * Gather: one kernel, and memory for all shards. The last blocks put this rank's
 * shard chunk by chunk to the other ranks, one flag a chunk. The other blocks
 * compute: a tile of queries meets this rank's shard first, then those of the
 * ranks before it, and its state stays in registers.
 *
 * No meeting ends the run. A rank reads of others only what it has waited for.
 * The next run's chunks are put when the receiver has said that it has computed
 * this run's (RETIRED).
 *
 * Source:     ParallelKittens, section 4.2; Triton-distributed's attention for
 *             sequences that ranks share, whose copy engines gather.
 */
#ifndef RING_ATTENTION_GATHER_H
#define RING_ATTENTION_GATHER_H

#include "kernels/ring_attention/shards.h"

/** The first row of rank `source`'s shard in k and v. */
TSR_FN int32_t ring_shard_row(const ring_args_t *a, int source)
{
	return a->key_heads * a->first[source];
}

/** A tile has a task for each shard, one after the other. */
TSR_FN tsr_span_t ring_gather_span(int64_t task, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	const uint32_t ranks = (uint32_t)a->ranks, number = (uint32_t)task / ranks;
	const int source = ring_source(a, (int)((uint32_t)task - number * ranks));
	return ring_meet(run, number, source, ring_shard_row(a, source));
}

/** A tile's first task begins with nothing, and the others go on. */
TSR_FN void ring_gather_start(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	(void)span;
	if (run->number == 0)
		tsr_state_neutral(me, state);
}

/** Its last task stores the result. */
TSR_FN void ring_gather_end(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	ring_run_t *run = (ring_run_t *)ctx;
	run->number++;
	if (run->number < (uint32_t)run->args->ranks)
		return;
	run->number = 0;
	ring_store(me, state, span, run->args);
}

/** Gate: waits for the chunks of other ranks' shards. Partner and litmus: ring_await. */
TSR_FN int ring_gather_gate(tsr_coop_t *loader, tsr_span_t keys, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	int source = 0;
	while (ring_shard_row(a, source + 1) <= (int32_t)keys.kv.row)
		source++;
	if (source != a->me)
		ring_await(loader, run, source, source, ring_shard_row(a, source), keys);
	return a->me;
}

TSR_FN tsr_tasks_t ring_gather_tasks(const ring_run_t *run)
{
	const ring_args_t *a = run->args;
	const tsr_tasks_t tasks = {0, 1, (int64_t)attend_count(&a->deal, run->block) * a->ranks};
	return tasks;
}

/**
 * Sending block `index` of `count`: puts chunks in the order in which the other
 * ranks need them: of the first heads first, and to the next rank first.
 * The signal's partner is ring_await on the receiver (litmus:
 * MP.rel.acq.diffGPU-ss). The wait's partner is handshake_retire in ring_gather
 * on the receiver, after which what its last run has read is overwritten
 * (LB.retired.diffGPU-ss).
 */
TSR_FN void ring_send(tsr_coop_t *block, const ring_run_t *run, int index, int count)
{
	const ring_args_t *a = run->args;
	const int32_t shard = ring_shard_row(a, a->me);
	tsr_role(block, "send");
	for (int i = index; i < (a->ranks - 1) * a->chunks; i += count) {
		const int32_t number = i / (a->ranks - 1);
		const int peer = tsr_peer(block, 1 + i % (a->ranks - 1));
		const ring_rows_t chunk = ring_chunk(a, a->me, number, shard);
		tsr_wait(block, &a->sync->retired[peer], run->epoch, peer);
		ring_put(block, a->k, chunk, chunk.skip, peer);
		ring_put(block, a->v, chunk, chunk.skip, peer);
		tsr_signal(block, ring_come(a, a->me, number), run->epoch, TSR_SIGNAL_SET, peer);
	}
}

TSR_KERNEL(ring_gather, ring_args_t, a)
{
	const int index = tsr_block_index(block), computing = (int)a->deal.step;
	ring_run_t run = ring_begin(block, a);
	handshake_retire(block, a->sync, run.epoch, index);
	if (index < computing) {
		tsr_role(block, "compute");
		tsr_attend(tile, block, a->q, a->k, a->v, a->scale, ring_gather_tasks(&run),
			   ring_gather_span, ring_gather_gate, ring_gather_start, ring_gather_end,
			   &run);
	} else {
		ring_send(block, &run, index - computing, tsr_block_count(block) - computing);
	}
	handshake_leave(block, a->sync, run.epoch);
}

#endif

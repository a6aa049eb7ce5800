/*
 * Gather: one kernel, and memory for all shards. The last blocks put this rank's
 * shard chunk by chunk to the other ranks, one flag a chunk. The other blocks
 * compute. A rank's keys lie in an order of its own, in which all that a tile
 * sees is one range; so a tile is one task, whose state stays in registers:
 *
 *   full: the own shard, then those of ranks r+1, r+2, ... ; every tile sees all.
 *   causal: the shards of ranks r+1, r+2, ..., of which early tiles see nothing;
 *   the early pieces of ranks 0, 1, ... r-1; the own shard, whose diagonal ends
 *   the range. What no tile sees is not sent.
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

/** The rank whose shard comes first in a head of rank `rank`'s keys; it may be the one past all. */
TSR_FN int ring_begins(const ring_args_t *a, int rank)
{
	return rank + (a->causal ? 1 : 0);
}

/** Rows before the first rank's, of those that come first and of all. */
TSR_FN int32_t ring_rows_behind(const ring_args_t *a, int rank)
{
	return a->first[a->ranks] - a->first[ring_begins(a, rank)];
}

/** The row at which rank `source`'s shard begins in a head of rank `rank`'s keys. */
TSR_FN int32_t ring_place(const ring_args_t *a, int rank, int source)
{
	const int begins = ring_begins(a, rank);
	return source >= begins ? a->first[source] - a->first[begins]
				: ring_rows_behind(a, rank) + a->early[source];
}

TSR_FN tsr_span_t ring_gather_span(int64_t task, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	const ring_tile_t t = ring_tile_at(run, (uint32_t)task);
	const int32_t own = ring_place(a, a->me, a->me),
		      k0 = a->causal && !t.is_late ? ring_rows_behind(a, a->me) : 0,
		      k1 = a->causal ? own + ring_positions(a, a->me) : a->first[a->ranks];
	return ring_span(a, t, t.key_head * a->head_rows, k0, k1, a->causal, own);
}

/** A place in a head of this rank's keys: the rank whose it is, and the rows of its shard. */
typedef struct ring_found {
	int32_t source, begin, end;
} ring_found_t;

TSR_FN ring_found_t ring_find(const ring_args_t *a, int32_t row)
{
	int source = ring_begins(a, a->me) % a->ranks;
	int32_t begin = 0, end = ring_seen(a, a->me, source);
	while (end <= row) {
		source = source + 1 < a->ranks ? source + 1 : 0;
		begin = end;
		end += ring_seen(a, a->me, source);
	}
	const ring_found_t found = {source, begin, end};
	return found;
}

/**
 * Gate: waits for the chunks of other ranks' shards that a run of keys reads. It is
 * called again behind the last of them, or behind the own shard.
 * Partner:    the signal of ring_send on the rank whose shard it is. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN tsr_keys_from_t ring_gather_gate(tsr_coop_t *loader, tsr_span_t keys, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	const int32_t key_head = (int32_t)((uint32_t)keys.kv.row / (uint32_t)a->head_rows),
		      end = (int32_t)keys.k1;
	int32_t at = (int32_t)keys.k0;
	while (at < end) {
		const ring_found_t in = ring_find(a, at);
		const int32_t chunk = (at - in.begin) / a->chunk_rows,
			      next = in.begin + (chunk + 1) * a->chunk_rows;
		if (in.source != a->me)
			tsr_wait(loader, ring_come(a, in.source, key_head, chunk), run->epoch,
				 in.source);
		at = in.source != a->me && next < in.end ? next : in.end;
	}
	const tsr_keys_from_t from = {a->me, at};
	return from;
}

TSR_FN tsr_tasks_t ring_gather_tasks(const ring_run_t *run)
{
	const tsr_tasks_t tasks = {0, 1, attend_count(&run->args->deal, run->block)};
	return tasks;
}

/** A chunk of this rank's shard, and who gets it; `rows`: from its first to the last one seen. */
typedef struct ring_parcel {
	int32_t key_head, chunk, peer, rows;
} ring_parcel_t;

/** How many there are, and the `index`-th: of the first heads first, and to the next ranks. */
TSR_FN int32_t ring_parcels(const ring_args_t *a)
{
	return (a->ranks - 1) * a->key_heads * a->head_chunks;
}

TSR_FN ring_parcel_t ring_parcel_at(const ring_args_t *a, int32_t index)
{
	const int32_t number = index / (a->ranks - 1), chunk = number % a->head_chunks,
		      before = a->me - 1 - index % (a->ranks - 1),
		      peer = before < 0 ? before + a->ranks : before;
	const ring_parcel_t parcel = {number / a->head_chunks, chunk, peer,
				      ring_seen(a, peer, a->me) - chunk * a->chunk_rows};
	return parcel;
}

/** Puts it to its place there. */
TSR_FN void ring_put_parcel(tsr_coop_t *block, const ring_args_t *a, ring_parcel_t parcel)
{
	const int32_t row = parcel.key_head * a->head_rows + parcel.chunk * a->chunk_rows;
	ring_put(block, a, row + ring_place(a, parcel.peer, a->me),
		 row + ring_place(a, a->me, a->me), parcel.rows, parcel.peer);
}

/**
 * Sending block `index` of `count`: puts the chunks that are seen, in the order in
 * which the other ranks need them. The signal's partner is ring_gather_gate on the
 * receiver (litmus: MP.rel.acq.diffGPU-ss). The partner of handshake_await is
 * handshake_retire in ring_gather on the receivers, after which what their last
 * runs have read is overwritten (LB.retired.diffGPU-ss).
 */
TSR_FN void ring_send(tsr_coop_t *block, const ring_run_t *run, int index, int count)
{
	const ring_args_t *a = run->args;
	tsr_role(block, "send");
	handshake_await(block, a->sync->retired, run->epoch);
	for (int32_t i = index; i < ring_parcels(a); i += count) {
		const ring_parcel_t parcel = ring_parcel_at(a, i);
		if (parcel.rows <= 0)
			continue;
		ring_put_parcel(block, a, parcel);
		tsr_signal(block, ring_come(a, a->me, parcel.key_head, parcel.chunk), run->epoch,
			   TSR_SIGNAL_SET, parcel.peer);
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
			   ring_gather_span, ring_gather_gate, TSR_NO_START, ring_store, &run);
	} else {
		ring_send(block, &run, index - computing, tsr_block_count(block) - computing);
	}
	handshake_leave(block, a->sync);
}

#endif

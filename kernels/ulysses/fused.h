/*
 * Fused: one kernel. The last blocks put this rank's positions to the ranks that
 * have the heads, chunk by chunk, one flag a chunk. The other blocks compute; a
 * tile waits for the chunks of its heads that it reads. Its result is stored to
 * the rank that has its positions, so nothing is exchanged afterwards.
 *
 * A meeting ends the run: all results are here then, and all have read what they
 * attend, so the next run may overwrite it without another meeting. A result may
 * be stored as soon as its queries are here: the rank that sent them has begun
 * this run, and so no longer uses the result of the last one (RETIRED).
 *
 * Source:     DeepSpeed-Ulysses; ParallelKittens, section 4.2.
 */
#ifndef ULYSSES_FUSED_H
#define ULYSSES_FUSED_H

#include "kernels/ulysses/heads.h"

/**
 * Waits for the chunks that have positions begin .. end-1 of a sequence, and a
 * group of heads. Returns the first position behind them.
 * Partner:    the signal of uly_send on the rank that has the positions. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN int32_t uly_await(tsr_coop_t *loader, const uly_run_t *run, int32_t sequence, int32_t group,
			 int32_t begin, int32_t end)
{
	const uly_args_t *a = run->args;
	int source = uly_rank_with(a, begin);
	while (begin < end) {
		const int32_t rows = (begin - a->position[source]) / a->chunk_rows,
			      chunk_end = a->position[source] + (rows + 1) * a->chunk_rows,
			      shard_end = a->position[source + 1];
		tsr_wait(loader, uly_come(a, source, sequence, group, rows), run->epoch, source);
		begin = chunk_end < shard_end ? chunk_end : shard_end;
		while (begin < end && a->position[source + 1] <= begin)
			source++;
	}
	return begin;
}

/**
 * Gate: waits for a run of keys, and at a tile's first for its queries; again behind
 * the chunks of the run. As uly_await.
 */
TSR_FN tsr_keys_from_t uly_gate(tsr_coop_t *loader, tsr_span_t keys, const void *ctx)
{
	const uly_run_t *run = (const uly_run_t *)ctx;
	const uly_args_t *a = run->args;
	const int32_t sequence = (int32_t)((uint32_t)keys.kv.row / (uint32_t)a->position[a->ranks]),
		      group = (int32_t)((uint32_t)keys.kv.col / (uint32_t)(a->dim * a->group)),
		      first = (int32_t)keys.first, left = (int32_t)keys.queries;
	if (keys.k0 == 0)
		uly_await(loader, run, sequence, group, first,
			  first + (left < TSR_TILE_M(tile) ? left : TSR_TILE_M(tile)));
	const tsr_keys_from_t from = {
		a->me, uly_await(loader, run, sequence, group, (int32_t)keys.k0, (int32_t)keys.k1)};
	return from;
}

/**
 * Stores a tile's result to the rank that has its positions. They are complete
 * there when handshake_close has met all ranks. The accesses of that rank to what
 * is overwritten come before the signal of its chunk of queries, for which the
 * gate has waited (litmus: LB.retired.diffGPU-ss).
 */
TSR_FN void uly_store_to_owner(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const uly_run_t *run = (const uly_run_t *)ctx;
	const uly_args_t *a = run->args;
	const tsr_pos_t at = {0, 0};
	TSR_FRAG(tile, o, me);
	if (span.queries <= 0)
		return;
	const int owner = uly_rank_with(a, (int32_t)span.first);
	const int64_t sequence = (uint32_t)span.kv.row / (uint32_t)a->position[a->ranks];
	const tsr_pos_t place = {sequence * uly_positions(a, owner) + span.first -
					 a->position[owner],
				 (int64_t)a->key_head[a->me] * a->share * a->dim + span.q.col};
	uly_finish(me, state, o);
	tsr_store(me, tsr_view_part(a->o, place, span.queries, a->dim), at, o, owner);
}

/**
 * Sending block `index` of `count`: puts chunks of this rank's positions.
 * Partner:    uly_await on the rank that gets it (litmus: MP.rel.acq.diffGPU-ss).
 *             What is overwritten there has been read: handshake_close of the last
 *             run has met that rank (LB.retired.diffGPU-ss).
 */
TSR_FN void uly_send(tsr_coop_t *block, const uly_run_t *run, int index, int count)
{
	const uly_args_t *a = run->args;
	tsr_role(block, "send");
	for (int32_t i = index; i < uly_chunk_count(a); i += count) {
		const uly_chunk_t chunk = uly_chunk_at(a, i);
		uly_put_in(block, a, chunk);
		tsr_signal(block, uly_come(a, a->me, chunk.sequence, chunk.group, chunk.rows),
			   run->epoch, TSR_SIGNAL_SET, chunk.target);
	}
}

TSR_KERNEL(uly_fused, uly_args_t, a)
{
	const int index = tsr_block_index(block), computing = (int)a->deal.step;
	uly_run_t run = uly_begin(block, a);
	if (index < computing) {
		tsr_role(block, "compute and store");
		tsr_attend(tile, block, a->heads[ULY_OF_Q], a->heads[ULY_OF_K], a->heads[ULY_OF_V],
			   a->scale, uly_tasks(&run), uly_span, uly_gate, TSR_NO_START,
			   uly_store_to_owner, &run);
	} else {
		uly_send(block, &run, index - computing, tsr_block_count(block) - computing);
	}
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif

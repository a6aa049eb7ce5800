/*
 * Rotate: one kernel, and memory for two shards beside the own one. At step s a
 * rank holds the shard of the rank s places before it, and meets it with all its
 * tiles of queries; the states of these wait in memory between steps. Meanwhile
 * the last blocks put the shard to the next rank, chunk by chunk as it arrives
 * here: into the place where that rank had the shard of two steps ago.
 *
 * So a place is overwritten when the next rank has said that none of its blocks
 * has any more use for it (RETIRED). No meeting ends the run.
 *
 * Source:     ParallelKittens, section 4.2; Ring Attention (Liu, Zaharia,
 *             Abbeel).
 */
#ifndef RING_ATTENTION_ROTATE_H
#define RING_ATTENTION_ROTATE_H

#include "kernels/attend/state.h"
#include "kernels/ring_attention/shards.h"

/** The rank whose shard this rank holds at step `step`: its own, then those before it. */
TSR_FN int ring_source(const ring_args_t *a, int step)
{
	return step > a->me ? a->me - step + a->ranks : a->me - step;
}

/** The first row of the shard that it holds: its own, or one of two places. */
TSR_FN int32_t ring_held(const ring_args_t *a, int step)
{
	return step == 0 ? 0 : (1 + step % 2) * a->key_heads * a->head_rows;
}

/* ------------------------------------------------------------ tasks */

/**
 * Step after step, all tiles of the block. Without a mask nobody reads `diagonal`:
 * there it is the rank whose shard it is, for the gate.
 */
TSR_FN tsr_span_t ring_rotate_span(int64_t task, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	const uint32_t count = attend_count(&a->deal, run->block), step = (uint32_t)task / count;
	const ring_tile_t t = ring_tile_at(run, (uint32_t)task - step * count);
	const int source = ring_source(a, (int)step), is_causal = a->causal && step == 0,
		  sees_none = a->causal && source > a->me && !t.is_late;
	return ring_span(a, t, ring_held(a, (int)step) + t.key_head * a->head_rows, 0,
			 sees_none ? 0 : ring_seen(a, a->me, source), is_causal,
			 is_causal ? 0 : source);
}

/**
 * Gate: waits for the chunks of another rank's shard that a run of keys reads. It is
 * called again behind the last of them.
 * Partner:    the signal of ring_pass_on on the rank before. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN tsr_keys_from_t ring_rotate_gate(tsr_coop_t *loader, tsr_span_t keys, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	const int source = (int)keys.diagonal,
		  is_own = keys.mask == TSR_MASK_CAUSAL || source == a->me;
	const uint32_t head = (uint32_t)keys.kv.row / (uint32_t)a->head_rows;
	const int32_t key_head = (int32_t)(head % (uint32_t)a->key_heads),
		      last = ((int32_t)keys.k1 - 1) / a->chunk_rows;
	int32_t chunk = (int32_t)keys.k0 / a->chunk_rows;
	for (; !is_own && chunk <= last; chunk++)
		tsr_wait(loader, ring_come(a, source, key_head, chunk), run->epoch,
			 ring_source(a, 1));
	const tsr_keys_from_t from = {a->me, is_own ? a->head_rows : (last + 1) * a->chunk_rows};
	return from;
}

/* the host allocates so much for each */
typedef char ring_state_is_as_large
	[TSR_STATE_BYTES(tile) == ATTEND_STATE_BYTES(TSR_TILE_M(tile), TSR_TILE_N(tile)) ? 1 : -1];

/** The place of the state of a block's `number`-th tile. */
TSR_FN TSR_HEAP unsigned char *ring_state(const ring_run_t *run)
{
	const uint32_t place = run->block + run->number * run->args->deal.step;
	return run->args->states + place * (int64_t)TSR_STATE_BYTES(tile);
}

/** Whether a tile meets no key, and neither begins nor ends: its state stays where it is. */
TSR_FN int ring_passes(const ring_run_t *run, tsr_span_t span)
{
	return span.k0 >= span.k1 && run->step > 0 && run->step < run->args->ranks - 1;
}

TSR_FN void ring_rotate_start(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	if (run->step == 0)
		tsr_state_neutral(me, state);
	else if (!ring_passes(run, span))
		tsr_state_load(me, state, ring_state(run));
}

/* ------------------------------------------------------------ between ranks */

/** Whether the rank before waits for this one at step `step`: it overwrites the place later. */
TSR_FN int ring_is_awaited(const ring_args_t *a, int step)
{
	return step > 0 && step + 2 < a->ranks;
}

/**
 * Says that this block has no more use for what the rank holds at step `step`.
 * The last block tells the rank before this one, which waits for it before it
 * overwrites the place two steps later.
 * The adds are partners of each other: the last one acquires what the others have
 * read and released (litmus: MP.rmw.sameGPU-aa), and its signal passes that on.
 * Partner:    the wait of ring_pass_on on the rank before. Litmus:
 *             LB.retired.diffGPU-ss.
 */
TSR_FN void ring_release(tsr_coop_t *block, const ring_run_t *run, int step)
{
	const ring_args_t *a = run->args;
	const uint64_t before = tsr_atomic_add(block, &a->left[step], (uint64_t)1, a->me,
					       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)tsr_block_count(block))
		return;
	tsr_atomic_store(block, &a->left[step], (uint64_t)0, a->me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_signal(block, &a->passed[step], run->epoch, TSR_SIGNAL_SET, ring_source(a, 1));
}

/**
 * Epilogue: keeps a tile's state, and ends a step behind its last tile. What this
 * block has saved it loads at the next step, so the fence orders the block's own
 * threads only.
 */
TSR_FN void ring_rotate_end(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	ring_run_t *run = (ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	if (run->step == a->ranks - 1)
		ring_store(me, state, span, ctx);
	else if (!ring_passes(run, span))
		tsr_state_save(me, ring_state(run), state);
	run->number++;
	if (run->number < attend_count(&a->deal, run->block))
		return;
	tsr_fence(me, TSR_ACQ_REL, TSR_SCOPE_BLOCK);
	if (ring_is_awaited(a, run->step))
		ring_release(me, run, run->step);
	run->number = 0;
	run->step++;
}

/**
 * Moving block `index` of `count`, at step `step`: puts the shard that this rank
 * holds to the next one, and signals each chunk. The first wait is for the place;
 * its partners on the next rank are the signal that begins its run, and
 * ring_release (litmus: LB.retired.diffGPU-ss). The second is for the chunk to
 * arrive here; its partner is this signal on the rank before
 * (MP.rel.acq.diffGPU-ss). This signal's partners are ring_rotate_gate, and the
 * second wait, on the next rank.
 */
TSR_FN void ring_pass_on(tsr_coop_t *block, const ring_run_t *run, int step, int index, int count)
{
	const ring_args_t *a = run->args;
	const int source = ring_source(a, step), next = tsr_peer(block, 1);
	tsr_wait(block, &a->passed[step > 1 ? step - 1 : 0], run->epoch, next);
	for (int32_t i = index; i < a->key_heads * a->head_chunks; i += count) {
		const int32_t key_head = i / a->head_chunks, chunk = i % a->head_chunks,
			      skip = chunk * a->chunk_rows, row = key_head * a->head_rows + skip;
		TSR_HEAP uint64_t *come = ring_come(a, source, key_head, chunk);
		if (step > 0)
			tsr_wait(block, come, run->epoch, ring_source(a, 1));
		ring_put(block, a, ring_held(a, step + 1) + row, ring_held(a, step) + row,
			 ring_positions(a, source) - skip, next);
		tsr_signal(block, come, run->epoch, TSR_SIGNAL_SET, next);
	}
}

/** A computing block's steps. One without tiles says so at once. */
TSR_FN void ring_turn(tsr_coop_t *block, ring_run_t *run)
{
	const ring_args_t *a = run->args;
	const uint32_t count = attend_count(&a->deal, run->block);
	const tsr_tasks_t tasks = {0, 1, (int64_t)count * a->ranks};
	tsr_role(block, "compute");
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, tasks, ring_rotate_span,
		   ring_rotate_gate, ring_rotate_start, ring_rotate_end, run);
	for (int step = 0; count == 0 && step < a->ranks; step++)
		if (ring_is_awaited(a, step))
			ring_release(block, run, step);
}

/**
 * Block 0 tells the rank before that both places may be overwritten: the last run
 * is done. Partner: ring_pass_on there. Litmus: LB.retired.diffGPU-ss.
 */
TSR_KERNEL(ring_rotate, ring_args_t, a)
{
	const int index = tsr_block_index(block), computing = (int)a->deal.step;
	ring_run_t run = ring_begin(block, a);
	if (index == 0 && a->ranks > 1)
		tsr_signal(block, &a->passed[0], run.epoch, TSR_SIGNAL_SET, ring_source(a, 1));
	if (index < computing) {
		ring_turn(block, &run);
	} else {
		tsr_role(block, "pass on");
		for (int step = 0; step + 1 < a->ranks; step++) {
			ring_pass_on(block, &run, step, index - computing,
				     tsr_block_count(block) - computing);
			if (ring_is_awaited(a, step))
				ring_release(block, &run, step);
		}
	}
	handshake_leave(block, a->sync);
}

#endif

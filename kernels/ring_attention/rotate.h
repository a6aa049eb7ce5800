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

/* ------------------------------------------------------------ where a shard is */

/** The memory of the shard that a rank holds at step `step`, beginning with `own`. */
TSR_FN TSR_HEAP unsigned char *ring_held(const ring_args_t *a, TSR_HEAP void *own,
					 TSR_HEAP unsigned char *slots, int step)
{
	return step == 0 ? (TSR_HEAP unsigned char *)own
			 : slots + step % 2 * a->slot_rows * a->row_bytes;
}

/** The view of this rank's own keys, or values, at step `step`. */
TSR_FN tsr_view_t ring_held_view(const ring_run_t *run, tsr_view_t own,
				 TSR_HEAP unsigned char *slots)
{
	const ring_args_t *a = run->args;
	const int source = ring_source(run->me, run->ranks, run->step);
	return tsr_view(ring_held(a, own.data, slots, run->step), (tsr_dtype_t)own.dtype,
			(int64_t)a->key_heads * ring_positions(a, source), own.cols, own.ld);
}

/* ------------------------------------------------------------ tasks of a step */

TSR_FN tsr_span_t ring_rotate_span(int64_t task, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	return ring_meet(run, (uint32_t)task, ring_source(run->me, run->ranks, run->step), 0);
}

/** Gate: waits for the chunks of another rank's shard. Partner and litmus: ring_await. */
TSR_FN int ring_rotate_gate(tsr_coop_t *loader, tsr_span_t keys, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	if (run->step > 0)
		ring_await(loader, run, ring_source(run->me, run->ranks, run->step),
			   ring_source(run->me, run->ranks, 1), keys.kv.row, keys);
	return run->me;
}

/* the host allocates so much for each */
typedef char ring_state_is_as_large[TSR_STATE_BYTES(tile) ==
						    ATTEND_STATE_BYTES(TSR_TILE_M(tile),
								       TSR_TILE_N(tile))
					    ? 1
					    : -1];

/** The place of the state of a block's `number`-th tile. */
TSR_FN TSR_HEAP unsigned char *ring_state(const ring_run_t *run)
{
	const int64_t place = run->deal.first + (int64_t)run->number * run->deal.step;
	return run->args->states + place * (int64_t)TSR_STATE_BYTES(tile);
}

/** Whether a tile meets no key, and neither begins nor ends: its state stays where it is. */
TSR_FN int ring_passes(const ring_run_t *run, tsr_span_t span)
{
	return span.k0 >= span.k1 && run->step > 0 && run->step < run->ranks - 1;
}

TSR_FN void ring_rotate_start(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	if (run->step == 0)
		tsr_state_neutral(me, state);
	else if (!ring_passes(run, span))
		tsr_state_load(me, state, ring_state(run));
}

TSR_FN void ring_rotate_end(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	ring_run_t *run = (ring_run_t *)ctx;
	if (run->step == run->ranks - 1)
		ring_store(me, state, span, run->args);
	else if (!ring_passes(run, span))
		tsr_state_save(me, ring_state(run), state);
	run->number++;
}

/* ------------------------------------------------------------ between ranks */

/**
 * Says that this block has no more use for what the rank holds at step `step`.
 * The last block tells the rank before this one, which waits for it before it
 * overwrites the place two steps later; at the last steps nobody does.
 * The adds are partners of each other: the last one acquires what the others have
 * read and released (litmus: MP.rmw.sameGPU-aa), and its signal passes that on.
 * Partner:    the wait of ring_pass_on on the rank before. Litmus:
 *             LB.retired.diffGPU-ss.
 */
TSR_FN void ring_release(tsr_coop_t *block, const ring_run_t *run, int step)
{
	const ring_args_t *a = run->args;
	if (step < 1 || step + 2 >= run->ranks)
		return;
	const uint64_t before = tsr_atomic_add(block, &a->left[step], (uint64_t)1, run->me,
					       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)tsr_block_count(block))
		return;
	tsr_atomic_store(block, &a->left[step], (uint64_t)0, run->me, TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
	tsr_signal(block, &a->passed[step], run->epoch, TSR_SIGNAL_SET,
		   ring_source(run->me, run->ranks, 1));
}

/**
 * Moving block `index` of `count`, at step `step`: puts the shard that this rank
 * holds to the next one, and signals each chunk. The first wait is for the chunk
 * to arrive here; its partner is this signal on the rank before (litmus:
 * MP.rel.acq.diffGPU-ss), and its chunk is passed on by this signal (ISA2). The
 * second is for the place; its partners on the next rank are the signal that
 * begins its run, and ring_release (LB.retired.diffGPU-ss).
 */
TSR_FN void ring_pass_on(tsr_coop_t *block, const ring_run_t *run, int step, int index, int count)
{
	const ring_args_t *a = run->args;
	const int source = ring_source(run->me, run->ranks, step), next = tsr_peer(block, 1),
		  before = ring_source(run->me, run->ranks, 1);
	for (int32_t number = index; number < a->chunks; number += count) {
		const ring_chunk_t chunk = ring_chunk(a, source, number);
		if (step > 0)
			tsr_wait(block, ring_come(a, source, number), run->epoch, before);
		tsr_wait(block, &a->passed[step > 1 ? step - 1 : 0], run->epoch, next);
		tsr_put(block, ring_held(a, 0, a->k_slots, step + 1) + chunk.skip,
			ring_held(a, a->k.data, a->k_slots, step) + chunk.skip, chunk.size_bytes,
			next);
		tsr_put(block, ring_held(a, 0, a->v_slots, step + 1) + chunk.skip,
			ring_held(a, a->v.data, a->v_slots, step) + chunk.skip, chunk.size_bytes,
			next);
		tsr_signal(block, ring_come(a, source, number), run->epoch, TSR_SIGNAL_SET, next);
	}
}

/** A computing block's steps. */
TSR_FN void ring_turn(tsr_coop_t *block, ring_run_t *run)
{
	const ring_args_t *a = run->args;
	const tsr_tasks_t tasks = {0, 1, run->deal.count};
	tsr_role(block, "compute");
	for (int step = 0; step < run->ranks; step++) {
		run->step = step;
		run->number = 0;
		tsr_attend(tile, block, a->q, ring_held_view(run, a->k, a->k_slots),
			   ring_held_view(run, a->v, a->v_slots), a->scale, tasks, ring_rotate_span,
			   ring_rotate_gate, ring_rotate_start, ring_rotate_end, run);
		ring_release(block, run, step);
	}
}

/**
 * Block 0 tells the rank before that both places may be overwritten: the last run
 * is done. Partner: ring_pass_on there. Litmus: LB.retired.diffGPU-ss.
 */
TSR_KERNEL(ring_rotate, ring_args_t, a)
{
	const int index = tsr_block_index(block), computing = a->computing;
	ring_run_t run = ring_begin(block, a, computing);
	if (index == 0 && run.ranks > 1)
		tsr_signal(block, &a->passed[0], run.epoch, TSR_SIGNAL_SET,
			   ring_source(run.me, run.ranks, 1));
	if (index < computing) {
		ring_turn(block, &run);
	} else {
		tsr_role(block, "pass on");
		for (int step = 0; step + 1 < run.ranks; step++) {
			ring_pass_on(block, &run, step, index - computing,
				     tsr_block_count(block) - computing);
			ring_release(block, &run, step);
		}
	}
	handshake_leave(block, a->sync, run.epoch);
}

#endif

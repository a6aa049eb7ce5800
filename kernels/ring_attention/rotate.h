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

/** The first row of the shard that a rank holds at step `step`: its own, or one of two places. */
TSR_FN int32_t ring_held(const ring_args_t *a, int step)
{
	return step == 0 ? 0 : (1 + step % 2) * a->place_rows;
}

/* ------------------------------------------------------------ tasks of a step */

TSR_FN tsr_span_t ring_rotate_span(int64_t task, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	return ring_meet(run, (uint32_t)task, ring_source(a, run->step), ring_held(a, run->step));
}

/** Gate: waits for the chunks of another rank's shard. Partner and litmus: ring_await. */
TSR_FN int ring_rotate_gate(tsr_coop_t *loader, tsr_span_t keys, const void *ctx)
{
	const ring_run_t *run = (const ring_run_t *)ctx;
	const ring_args_t *a = run->args;
	if (run->step > 0)
		ring_await(loader, run, ring_source(a, run->step), ring_source(a, 1),
			   ring_held(a, run->step), keys);
	return a->me;
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

TSR_FN void ring_rotate_end(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	ring_run_t *run = (ring_run_t *)ctx;
	if (run->step == run->args->ranks - 1)
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
	if (step < 1 || step + 2 >= a->ranks)
		return;
	const uint64_t before = tsr_atomic_add(block, &a->left[step], (uint64_t)1, a->me,
					       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)tsr_block_count(block))
		return;
	tsr_atomic_store(block, &a->left[step], (uint64_t)0, a->me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_signal(block, &a->passed[step], run->epoch, TSR_SIGNAL_SET, ring_source(a, 1));
}

/**
 * Moving block `index` of `count`, at step `step`: puts the shard that this rank
 * holds to the next one, and signals each chunk. The first wait is for the chunk
 * to arrive here; its partner is this signal on the rank before (litmus:
 * MP.rel.acq.diffGPU-ss). The second is for the place; its partners on the next
 * rank are the signal that begins its run, and ring_release
 * (LB.retired.diffGPU-ss). This signal's partner is ring_await, and the first
 * wait, on the next rank.
 */
TSR_FN void ring_pass_on(tsr_coop_t *block, const ring_run_t *run, int step, int index, int count)
{
	const ring_args_t *a = run->args;
	const int source = ring_source(a, step), next = tsr_peer(block, 1);
	const int64_t ahead = (int64_t)(ring_held(a, step + 1) - ring_held(a, step)) * a->row_bytes;
	for (int32_t number = index; number < a->chunks; number += count) {
		const ring_rows_t chunk = ring_chunk(a, source, number, ring_held(a, step));
		if (step > 0)
			tsr_wait(block, ring_come(a, source, number), run->epoch,
				 ring_source(a, 1));
		tsr_wait(block, &a->passed[step > 1 ? step - 1 : 0], run->epoch, next);
		ring_put(block, a->k, chunk, chunk.skip + ahead, next);
		ring_put(block, a->v, chunk, chunk.skip + ahead, next);
		tsr_signal(block, ring_come(a, source, number), run->epoch, TSR_SIGNAL_SET, next);
	}
}

/** A computing block's steps. */
TSR_FN void ring_turn(tsr_coop_t *block, ring_run_t *run)
{
	const ring_args_t *a = run->args;
	const tsr_tasks_t tasks = {0, 1, attend_count(&a->deal, run->block)};
	tsr_role(block, "compute");
	for (int step = 0; step < a->ranks; step++) {
		run->step = step;
		run->number = 0;
		tsr_attend(tile, block, a->q, a->k, a->v, a->scale, tasks, ring_rotate_span,
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
			ring_release(block, &run, step);
		}
	}
	handshake_leave(block, a->sync, run.epoch);
}

#endif

/*
 * Fused: behind the plan, one kernel for each product. Beside the first product
 * some blocks send this rank's tokens, and others fill the rows that it reads. A
 * block that has sent fills rows, too. Beside the second product as many blocks
 * return results: its columns are computed in bands, and a band is returned while
 * the next one is computed. A block that has computed its tiles returns results, too.
 *
 * The first blocks move, because others wait for them: they become resident first.
 *
 * Source:     ParallelKittens, sections 3.1.3 and 4.3.
 */
#ifndef MOE_FUSED_H
#define MOE_FUSED_H

#include "kernels/moe/combine.h"
#include "kernels/moe/dispatch.h"

typedef struct moe_dispatching {
	moe_groups_t groups;
	moe_sending_t sending;
} moe_dispatching_t;

/** What a block does, and which of those that do so it is. */
typedef struct moe_role {
	int role, index, count;
} moe_role_t;

enum { MOE_SENDS, MOE_FILLS, MOE_COMPUTES, MOE_ROLES };

TSR_FN moe_role_t moe_role(tsr_coop_t *block, const moe_args_t *a)
{
	const int32_t computing = tsr_block_count(block) - a->senders - a->expanders,
		      shares[MOE_ROLES] = {a->senders, a->expanders, computing};
	moe_role_t mine;
	mine.role = tsr_role_of(block, shares, MOE_ROLES, &mine.index, &mine.count);
	return mine;
}

/* No meeting ends a run: a rank reads of others only what it has waited for. */
TSR_KERNEL_SHARED(moe_dispatch, moe_dispatching_t, moe_args_t, a)
{
	moe_run_t run = moe_begin(block, a, &shared->groups);
	const moe_role_t mine = moe_role(block, a);
	moe_set_first(&run);
	if (mine.role == MOE_SENDS) {
		moe_send(block, &shared->sending, &run, mine.index, mine.count);
		moe_expand(block, shared->sending.places, &run);
	} else if (mine.role == MOE_FILLS) {
		moe_expand(block, shared->sending.places, &run);
	} else {
		tsr_role(block, "compute");
		tsr_gemm(tile, block, a->rows, a->w1, moe_tasks(&run, mine.index, mine.count),
			 moe_order, moe_gate, moe_finish_first, &run);
	}
}

/* ------------------------------------------------------------ the second product */

typedef struct moe_returning {
	moe_groups_t groups;
	moe_combining_t combining;
} moe_returning_t;

/**
 * Says of the bands below `end` that this block has computed its tiles of them.
 * Partner:    moe_await_band in this rank's blocks. Litmus: MP.rmw.sameGPU-aa.
 */
TSR_FN void moe_say_done(tsr_coop_t *me, moe_run_t *run, int32_t end)
{
	for (; run->band < end; run->band++)
		(void)tsr_atomic_add(me, run->args->done + run->band, (uint64_t)1, run->args->me,
				     TSR_RELEASE, TSR_SCOPE_DEVICE);
}

/** Epilogue: stores a tile, and says so behind the last one of a band. */
TSR_FN void moe_finish_second(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	moe_run_t *run = (moe_run_t *)ctx;
	tsr_tile_store(me, run->args->y2, at, sums);
	run->task += run->step;
	moe_say_done(me, run, moe_band_of(run, run->task));
}

/**
 * Waits until all of this rank's computing blocks have computed a band. Each adds
 * one in every run.
 * Partner:    moe_say_done. Litmus: MP.rmw.sameGPU-aa.
 */
TSR_FN void moe_await_band(tsr_coop_t *worker, const moe_run_t *run, int32_t band, int computing)
{
	tsr_wait_local(worker, run->args->done + band, run->epoch * (uint64_t)computing,
		       TSR_SCOPE_DEVICE);
}

/**
 * A step of combine: a worker returns a batch of a band to a rank, or finishes one
 * of this rank's own. A band is finished behind the return of the next one, so that
 * workers wait little.
 *
 * A worker waits for this rank's product, or for other ranks' returns, which come
 * before its own step in their order. So some worker can always go on.
 */
typedef struct moe_step {
	int32_t band, batch;
	int32_t distance; /* of the rank to which it is returned; -1: it is finished */
} moe_step_t;

/** How many steps return a band, and how many finish one. On one rank a return is all. */
TSR_FN int32_t moe_returns(const moe_args_t *a)
{
	return a->ranks * a->batches;
}

TSR_FN int32_t moe_finishes(const moe_args_t *a)
{
	return a->ranks > 1 ? a->batches : 0;
}

/** Step `number`: round 0 returns the first band, and the last one only finishes. */
TSR_FN moe_step_t moe_step_at(const moe_run_t *run, int32_t number)
{
	const moe_args_t *a = run->args;
	const int32_t returns = moe_returns(a), each = returns + moe_finishes(a);
	int32_t round = 0, index = number;
	if (number >= returns) {
		round = 1 + (number - returns) / each;
		index = (number - returns) % each;
	}
	if (round == run->bands)
		index += returns;
	moe_step_t step;
	step.band = index < returns ? round : round - 1;
	step.batch = index % a->batches;
	step.distance = index < returns ? (1 + index / a->batches) % a->ranks : -1;
	return step;
}

/**
 * A worker: takes steps that nobody has taken yet, until there is none. The plan sets
 * the counter to 0, and its launch has ended.
 * Partner:    the adds, of each other. Litmus: MP.rmw.sameGPU-aa. Relaxed adds would
 *             be load buffering, together with the signals of several ranks.
 */
TSR_FN void moe_take_steps(tsr_coop_t *worker, moe_combining_t *shared, const moe_run_t *run,
			   int computing)
{
	const moe_args_t *a = run->args;
	const int32_t steps = run->bands * (moe_returns(a) + moe_finishes(a));
	int32_t computed = 0; /* bands that this worker has waited for */
	for (;;) {
		const uint64_t number = tsr_atomic_add(worker, a->steps, (uint64_t)1, a->me,
						       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
		if (number >= (uint64_t)steps)
			return;
		const moe_step_t step = moe_step_at(run, (int32_t)number);
		if (step.distance < 0) {
			moe_finish_batch(worker, shared, run, step.batch, step.band);
			continue;
		}
		for (; computed <= step.band; computed++)
			moe_await_band(worker, run, computed, computing);
		moe_return_batch(worker, shared, run, tsr_peer(worker, step.distance), step.batch,
				 step.band);
	}
}

/** Combine, by the workers of all blocks. More than MOE_WORKERS of a block have nothing to do. */
TSR_FN void moe_take_all(tsr_coop_t *block, moe_combining_t *shared, const moe_run_t *run,
			 int computing)
{
	tsr_role(block, "return");
	tsr_coop_t worker = tsr_split(block);
	if (tsr_worker_index(&worker) < MOE_WORKERS)
		moe_take_steps(&worker, shared, run, computing);
	tsr_sync(block);
}

/** A block that computes: all of its tiles. It counts in every band, also where it has none. */
TSR_FN void moe_multiply_second(tsr_coop_t *block, moe_run_t *run, int index, int count)
{
	const moe_args_t *a = run->args;
	run->task = index;
	run->step = count;
	moe_say_done(block, run, moe_band_of(run, run->task));
	tsr_gemm(tile, block, a->y1, a->w2, moe_tasks(run, index, count), moe_order, TSR_NO_GATE,
		 moe_finish_second, run);
}

TSR_KERNEL_SHARED(moe_combine, moe_returning_t, moe_args_t, a)
{
	moe_run_t run = moe_begin(block, a, &shared->groups);
	const int movers = a->senders + a->expanders, computing = tsr_block_count(block) - movers,
		  index = tsr_block_index(block);
	moe_set_second(&run);
	if (index >= movers) {
		tsr_role(block, "compute");
		moe_multiply_second(block, &run, index - movers, computing);
	}
	moe_take_all(block, &shared->combining, &run, computing);
}

#endif

/*
 * Fused: behind the plan, one kernel for each product. Beside the first product
 * some blocks send this rank's tokens, and others fill the rows that it reads. A
 * block that has sent fills rows, too. Beside the second product the same blocks
 * return results: its columns are computed in bands, and a band is returned while
 * the next one is computed. All blocks return the last band.
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
 * A worker of the blocks that move: returns all bands but the last, and finishes
 * each when the next one has been returned, so that it waits little.
 */
TSR_FN void moe_return_early(tsr_coop_t *worker, moe_combining_t *shared, const moe_run_t *run,
			     moe_worker_t mine, int computing)
{
	for (int32_t band = 0; band + 1 < run->bands; band++) {
		moe_await_band(worker, run, band, computing);
		moe_return_band(worker, shared, run, band, mine);
		if (band > 0)
			moe_finish_band(worker, shared, run, band - 1, mine);
	}
	if (run->bands > 1)
		moe_finish_band(worker, shared, run, run->bands - 2, mine);
}

/** The last band, by the workers of all blocks. */
TSR_FN void moe_return_last(tsr_coop_t *block, moe_combining_t *shared, const moe_run_t *run,
			    int computing)
{
	tsr_coop_t worker = tsr_split(block);
	const moe_worker_t mine =
		moe_worker(&worker, tsr_block_index(block), tsr_block_count(block));
	moe_await_band(&worker, run, run->bands - 1, computing);
	moe_return_band(&worker, shared, run, run->bands - 1, mine);
	moe_finish_band(&worker, shared, run, run->bands - 1, mine);
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
	if (index < movers) {
		tsr_role(block, "return");
		tsr_coop_t worker = tsr_split(block);
		moe_return_early(&worker, &shared->combining, &run,
				 moe_worker(&worker, index, movers), computing);
		tsr_sync(block);
	} else {
		tsr_role(block, "compute");
		moe_multiply_second(block, &run, index - movers, computing);
	}
	moe_return_last(block, &shared->combining, &run, computing);
}

#endif

/*
 * Bulk-synchronous: one launch after the other on one stream, and all blocks do
 * the same. The plan; each rank sends its tokens, and the ranks meet; the rows are
 * filled; the first product. For a whole layer then: the second product; each rank
 * returns its sums, and the ranks meet; they are added.
 */
#ifndef MOE_BULK_SYNCHRONOUS_H
#define MOE_BULK_SYNCHRONOUS_H

#include "kernels/dev/handshake.h"
#include "kernels/moe/combine.h"
#include "kernels/moe/dispatch.h"

typedef union moe_moving {
	moe_sending_t sending;
	moe_combining_t combining;
} moe_moving_t;

typedef struct moe_moving_shared {
	moe_groups_t groups;
	moe_moving_t moving;
} moe_moving_shared_t;

/** Fills this block's share of the rows, of tokens that are all here. */
TSR_FN void moe_fill_all(tsr_coop_t *block, int32_t *origins, const moe_run_t *run)
{
	moe_seen_t seen = {-1, 0};
	const int32_t pieces = moe_block_count(run) * MOE_FILLS_OF_TILE;
	for (int32_t i = tsr_block_index(block); i < pieces; i += tsr_block_count(block))
		moe_fill(block, origins, run, i, 0, &seen);
}

/** This block's share of a step that the block's workers do: of the one band that there is. */
TSR_FN void moe_sum_all(tsr_coop_t *block, moe_combining_t *shared, const moe_run_t *run, int step)
{
	tsr_coop_t worker = tsr_split(block);
	const moe_worker_t mine =
		moe_worker(&worker, tsr_block_index(block), tsr_block_count(block));
	if (step == MOE_RETURN)
		moe_return_band(&worker, shared, run, 0, mine);
	else
		moe_finish_band(&worker, shared, run, 0, mine);
	tsr_sync(block);
}

/*
 * One of the steps that move. After a meeting all that ranks have put is here. What
 * they overwrite has been read: the plan has taken the counts of all ranks.
 */
TSR_KERNEL_SHARED(moe_move, moe_moving_shared_t, moe_args_t, a)
{
	const moe_run_t run = moe_begin(block, a, &shared->groups);
	tsr_role(block, "move");
	if (a->step == MOE_SEND)
		moe_send(block, &shared->moving.sending, &run, tsr_block_index(block),
			 tsr_block_count(block));
	else if (a->step == MOE_EXPAND)
		moe_fill_all(block, shared->moving.sending.places, &run);
	else
		moe_sum_all(block, &shared->moving.combining, &run, a->step);
	if (a->step == MOE_SEND || a->step == MOE_RETURN)
		handshake_close(block, a->meeting, handshake_epoch(block, a->meeting),
				tsr_block_count(block));
}

/** Epilogue of the second product: stores a tile. */
TSR_FN void moe_store_second(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	tsr_tile_store(me, ((const moe_run_t *)ctx)->args->y2, at, sums);
}

TSR_KERNEL_SHARED(moe_first, moe_groups_t, moe_args_t, a)
{
	moe_run_t run = moe_begin(block, a, shared);
	tsr_role(block, "compute");
	moe_set_first(&run);
	run.early = 0;
	tsr_gemm(tile, block, a->rows, a->w1,
		 moe_tasks(&run, tsr_block_index(block), tsr_block_count(block)), moe_order,
		 TSR_NO_GATE, moe_finish_first, &run);
}

TSR_KERNEL_SHARED(moe_second, moe_groups_t, moe_args_t, a)
{
	moe_run_t run = moe_begin(block, a, shared);
	tsr_role(block, "compute");
	moe_set_second(&run);
	tsr_gemm(tile, block, a->y1, a->w2,
		 moe_tasks(&run, tsr_block_index(block), tsr_block_count(block)), moe_order,
		 TSR_NO_GATE, moe_store_second, &run);
}

#endif

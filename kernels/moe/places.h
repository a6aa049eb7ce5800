/*
 * Places: where each choice of each token has its row. They follow from the
 * routing tables of all ranks alone.
 *
 * A rank has its experts' rows one below the other. An expert has first the
 * tokens of its own rank, then those of the rank before it, and so on: the order
 * in which they arrive. Each rank's tokens keep their order. An expert begins at
 * a multiple of the padding.
 */
#ifndef MOE_PLACES_H
#define MOE_PLACES_H

#include "kernels/moe/args.h"
#include "tessera/dev.h"

/* Experts are divided as share_of (kernels/host/share.h) does. */

/** The first expert of rank `rank`; behind the last rank, their number. */
TSR_FN int32_t moe_first_expert(const moe_args_t *a, int rank)
{
	return (int32_t)((uint32_t)rank * (uint32_t)a->all_experts / (uint32_t)a->ranks);
}

/** The rank that has an expert. */
TSR_FN int moe_owner(const moe_args_t *a, int32_t expert)
{
	return (int)((((uint32_t)expert + 1) * (uint32_t)a->ranks - 1) / (uint32_t)a->all_experts);
}

/** How many ranks' tokens come before those of rank `source` at the experts of `owner`. */
TSR_FN int moe_turn(const moe_args_t *a, int owner, int source)
{
	return owner >= source ? owner - source : owner - source + a->ranks;
}

/** The blocks of an expert with `rows` tokens, padding included. */
TSR_FN int32_t moe_blocks(const moe_args_t *a, int32_t rows)
{
	return (int32_t)(((uint32_t)rows + (uint32_t)a->padding - 1) / (uint32_t)a->padding *
			 ((uint32_t)a->padding / (uint32_t)TSR_TILE_M(tile)));
}

/** The row of rank `source`'s token `token` in what the ranks have for each other. */
TSR_FN int32_t moe_row(const moe_args_t *a, int source, int32_t token)
{
	return source * a->tokens_most + token;
}

/** The rank of a place, and -1 of none. */
TSR_FN int moe_rank_of(const moe_args_t *a, int32_t place)
{
	return place < 0 ? -1 : (int)((uint32_t)place / (uint32_t)a->capacity);
}

/**
 * Reads `rows` rows of `cols` columns of a table, from row `first` on, to shared
 * memory, where they lie without gaps.
 */
TSR_FN void moe_read(tsr_coop_t *coop, const moe_args_t *a, void *to, tsr_view_t table,
		     int64_t first, int64_t rows, int64_t cols)
{
	const tsr_pos_t at = {first, 0};
	const tsr_view_t dense = tsr_view_shared(to, (tsr_dtype_t)table.dtype, rows, cols, cols);
	tsr_get_2d(coop, dense, tsr_view_part(table, at, rows, cols), a->me);
}

/** The epoch of the run whose plan this stream has completed. */
TSR_FN uint64_t moe_epoch(tsr_coop_t *block, const moe_args_t *a)
{
	return tsr_atomic_load(block, &a->plan->epoch, a->me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

#endif

/*
 * Bulk-synchronous: three launches on one stream. The first exchanges Q, K and V,
 * and ends with a meeting of all ranks; the second computes; the third exchanges
 * O in the other direction, and meets again.
 *
 * Source:     DeepSpeed-Ulysses.
 */
#ifndef ULYSSES_BULK_SYNCHRONOUS_H
#define ULYSSES_BULK_SYNCHRONOUS_H

#include "kernels/ulysses/heads.h"

/** Puts the results of this rank's heads to the rank that has their positions. */
TSR_FN void uly_put_out(tsr_coop_t *block, const uly_args_t *a, uly_chunk_t chunk)
{
	const int32_t columns = uly_columns(a, ULY_OF_Q);
	const uly_chunk_t back = {chunk.sequence, chunk.group, chunk.rows, chunk.target,
				  chunk.source};
	const tsr_view_t to = uly_by_positions(a, back, a->o, columns);
	tsr_put_2d(block, to, uly_by_heads(a, back, a->result, columns), back.source);
}

TSR_KERNEL(uly_exchange, uly_args_t, a)
{
	const uint64_t epoch = handshake_epoch(block, a->sync);
	tsr_role(block, "exchange");
	handshake_open(block, a->sync, epoch, tsr_block_index(block));
	for (int32_t i = tsr_block_index(block); i < uly_chunk_count(a);
	     i += tsr_block_count(block)) {
		const uly_chunk_t chunk = uly_chunk_at(a, i);
		if (a->step == ULY_IN)
			uly_put_in(block, a, chunk);
		else
			uly_put_out(block, a, chunk);
	}
	handshake_close(block, a->sync, epoch, tsr_block_count(block));
}

/** Epilogue: stores a tile's result where this rank's heads are. */
TSR_FN void uly_store_here(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const uly_args_t *a = ((const uly_run_t *)ctx)->args;
	const tsr_pos_t at = {0, 0};
	TSR_FRAG(tile, o, me);
	if (span.queries <= 0)
		return;
	uly_finish(me, state, o);
	tsr_tile_store(me, tsr_view_part(a->result, span.q, span.queries, a->dim), at, o);
}

TSR_KERNEL(uly_attend, uly_args_t, a)
{
	uly_run_t run = {a, 0, (uint32_t)tsr_block_index(block)};
	tsr_role(block, "compute");
	tsr_attend(tile, block, a->heads[ULY_OF_Q], a->heads[ULY_OF_K], a->heads[ULY_OF_V],
		   a->scale, uly_tasks(&run), uly_span, TSR_NO_KEYS_GATE, TSR_NO_START,
		   uly_store_here, &run);
}

#endif

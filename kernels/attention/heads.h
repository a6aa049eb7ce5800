/*
 * Attention of this rank's heads, by persistent blocks. Tiles of queries are
 * dealt in pairs, the n-th from the end with the n-th from the beginning of a
 * head, so that with a causal mask each block has about the same to do. Blocks
 * next to each other have tiles of one head, whose keys they find in the cache.
 */
#ifndef ATTENTION_HEADS_H
#define ATTENTION_HEADS_H

#include "kernels/attention/args.h"

/** Counts of tiles fit into 32 bits, which GPUs divide many times faster. */
typedef struct attention_run {
	attention_args_t args;
	uint32_t tiles, pairs; /* of a head; the middle tile of an odd number has no partner */
	uint32_t first, step;  /* pairs of this block: of all heads, counted head by head */
} attention_run_t;

/** Tasks 2 i and 2 i + 1 are the block's i-th pair. A missing partner has no queries. */
TSR_FN tsr_span_t attention_span(int64_t task, const void *ctx)
{
	const attention_run_t *run = (const attention_run_t *)ctx;
	const attention_args_t *a = &run->args;
	const uint32_t pair = run->first + (uint32_t)task / 2 * run->step, low = pair % run->pairs,
		       high = run->tiles - 1 - low;
	const int64_t head = pair / run->pairs,
		      row = (int64_t)(task % 2 == 0 ? high : low) * TSR_TILE_M(tile);
	const int is_missing = task % 2 == 1 && low == high;
	tsr_span_t span = {{head * a->queries + row, 0},
			   {(uint32_t)head / (uint32_t)a->share * a->keys, 0},
			   is_missing ? 0 : a->queries - row,
			   0,
			   is_missing ? 0 : a->keys,
			   a->causal ? (int32_t)TSR_MASK_CAUSAL : (int32_t)TSR_MASK_NONE,
			   1,
			   row,
			   a->diagonal};
	return span;
}

TSR_FN void attention_store(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const attention_args_t *a = &((const attention_run_t *)ctx)->args;
	const tsr_pos_t at = {0, 0};
	TSR_FRAG(tile, o, me);
	TSR_FRAG_ROWS(tile, lse, me);
	if (span.queries <= 0)
		return;
	tsr_state_finish(me, state, o, lse);
	tsr_tile_store(me, tsr_view_part(a->o, span.q, span.queries, a->o.cols), at, o);
	tsr_rows_store(me, tsr_view_part(a->lse, span.q, span.queries, 1), at, lse, tsr_rank(me));
}

TSR_KERNEL(attention_heads, attention_args_t, a)
{
	attention_run_t run;
	run.args = *a;
	run.tiles = (uint32_t)tsr_tiles(a->queries, TSR_TILE_M(tile));
	run.pairs = (run.tiles + 1) / 2;
	run.first = (uint32_t)tsr_block_index(block);
	run.step = (uint32_t)tsr_block_count(block);
	const uint32_t all = run.pairs * (uint32_t)a->heads,
		       mine = all > run.first ? (all - run.first - 1) / run.step + 1 : 0;
	const tsr_tasks_t tasks = {0, 1, 2 * (int64_t)mine};
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, tasks, attention_span, TSR_NO_KEYS_GATE,
		   TSR_NO_START, attention_store, &run);
}

#endif

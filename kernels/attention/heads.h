/* Attention of this rank's heads, by persistent blocks. */
#ifndef ATTENTION_HEADS_H
#define ATTENTION_HEADS_H

#include "kernels/attend/deal.h"
#include "kernels/attention/args.h"

typedef struct attention_run {
	attention_args_t args;
	uint32_t block;
} attention_run_t;

TSR_FN tsr_span_t attention_span(int64_t task, const void *ctx)
{
	const attention_run_t *run = (const attention_run_t *)ctx;
	const attention_args_t *a = &run->args;
	const attend_dealt_t dealt = attend_dealt(&a->deal, run->block, (uint32_t)task);
	const int64_t row = (int64_t)dealt.tile * TSR_TILE_M(tile);
	tsr_span_t span = {{dealt.head * a->queries + row, 0},
			   {dealt.head / (uint32_t)a->share * a->keys, 0},
			   dealt.is_missing ? 0 : a->queries - row,
			   0,
			   dealt.is_missing ? 0 : a->keys,
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
	run.block = (uint32_t)tsr_block_index(block);
	const tsr_tasks_t tasks = {0, 1, attend_count(&a->deal, run.block)};
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, tasks, attention_span, TSR_NO_KEYS_GATE,
		   TSR_NO_START, attention_store, &run);
}

#endif

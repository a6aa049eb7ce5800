/*
 * What all patterns have in common: the tiles of queries of this rank's heads,
 * and the chunks in which the ranks exchange positions for heads.
 *
 * A tile's queries are positions of one rank, to which its result goes. It meets
 * the keys of all positions in their order. Extents have 32 bits: divisions of 64
 * bits take registers from the main loop.
 */
#ifndef ULYSSES_HEADS_H
#define ULYSSES_HEADS_H

#include "kernels/attend/deal.h"
#include "kernels/dev/handshake.h"
#include "kernels/ulysses/args.h"

/** One launch. */
typedef struct uly_run {
	const uly_args_t *args;
	uint64_t epoch;
	uint32_t block; /* the block's index; those that compute come first */
} uly_run_t;

TSR_FN uly_run_t uly_begin(tsr_coop_t *block, const uly_args_t *a)
{
	const uly_run_t run = {a, handshake_epoch(block, a->sync),
			       (uint32_t)tsr_block_index(block)};
	return run;
}

/** The number of positions, and of key heads, that rank `rank` has. */
TSR_FN int32_t uly_positions(const uly_args_t *a, int rank)
{
	return a->position[rank + 1] - a->position[rank];
}

TSR_FN int32_t uly_key_heads(const uly_args_t *a, int rank)
{
	return a->key_head[rank + 1] - a->key_head[rank];
}

/* ------------------------------------------------------------ tiles */

TSR_FN tsr_span_t uly_span(int64_t task, const void *ctx)
{
	const uly_run_t *run = (const uly_run_t *)ctx;
	const uly_args_t *a = run->args;
	const attend_dealt_t dealt = attend_dealt(&a->deal, run->block, (uint32_t)task);
	const uint32_t heads = (uint32_t)a->heads_here, sequence = dealt.head / heads,
		       head = dealt.head - sequence * heads,
		       source = dealt.tile / (uint32_t)a->tiles;
	const int32_t skip = (int32_t)(dealt.tile - source * (uint32_t)a->tiles) * TSR_TILE_M(tile),
		      left = dealt.is_missing ? 0 : uly_positions(a, (int)source) - skip,
		      all = a->position[a->ranks], first = a->position[source] + skip,
		      row = (int32_t)sequence * all;
	tsr_span_t span = {{row + first, (int32_t)head * a->dim},
			   {row, (int32_t)(head / (uint32_t)a->share) * a->dim},
			   left,
			   0,
			   left > 0 ? all : 0,
			   a->causal ? (int32_t)TSR_MASK_CAUSAL : (int32_t)TSR_MASK_NONE,
			   1,
			   first,
			   0};
	return span;
}

TSR_FN tsr_tasks_t uly_tasks(const uly_run_t *run)
{
	const tsr_tasks_t tasks = {0, 1, attend_count(&run->args->deal, run->block)};
	return tasks;
}

/** The rank that has position `position`. */
TSR_FN int uly_rank_with(const uly_args_t *a, int32_t position)
{
	int rank = 0;
	while (a->position[rank + 1] <= position)
		rank++;
	return rank;
}

/** The result of a tile, for an epilogue that stores it. */
TSR_FN void uly_finish(tsr_coop_t *me, const tile_state_t *state, tile_frag_t *o)
{
	TSR_FRAG_ROWS(tile, lse, me);
	tsr_state_finish(me, state, o, lse);
}

/* ------------------------------------------------------------ chunks */

/** A chunk: what rank `source` has of a sequence, for the heads of rank `target`. */
typedef struct uly_chunk {
	int32_t sequence, group, rows; /* their numbers */
	int source, target;
} uly_chunk_t;

/**
 * The `index`-th chunk that a rank sends: first those of the first heads, to each
 * rank in turn, beginning with the next one and ending with this one.
 */
TSR_FN uly_chunk_t uly_chunk_at(const uly_args_t *a, int32_t index)
{
	const int32_t ranks = a->ranks, place = index / ranks, above = place / a->row_chunks;
	const int after = a->me + 1 + index % ranks;
	const uly_chunk_t chunk = {above / a->groups, above % a->groups, place % a->row_chunks,
				   a->me, after < ranks ? after : after - ranks};
	return chunk;
}

/** How many chunks a rank sends. Some may be empty. */
TSR_FN int32_t uly_chunk_count(const uly_args_t *a)
{
	return a->batch * a->groups * a->row_chunks * a->ranks;
}

/** The flag of a chunk on the rank that gets it; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *uly_come(const uly_args_t *a, int source, int32_t sequence, int32_t group,
				   int32_t rows)
{
	const int32_t place = (source * a->batch + sequence) * a->groups + group;
	return a->come + (int64_t)place * a->row_chunks + rows;
}

/** The rows and columns of a chunk, on the side where positions are divided, */
TSR_FN tsr_view_t uly_by_positions(const uly_args_t *a, uly_chunk_t c, tsr_view_t view,
				   int32_t columns)
{
	const int32_t skip = c.rows * a->chunk_rows, mine = uly_positions(a, c.source),
		      left = mine - skip, heads = uly_key_heads(a, c.target) - c.group * a->group;
	const tsr_pos_t at = {(int64_t)c.sequence * mine + skip,
			      (int64_t)(a->key_head[c.target] + c.group * a->group) * columns};
	return tsr_view_part(view, at, left < a->chunk_rows ? (left > 0 ? left : 0) : a->chunk_rows,
			     (int64_t)(heads < a->group ? (heads > 0 ? heads : 0) : a->group) *
				     columns);
}

/** and on the side where heads are. The view has columns for the most heads of any rank. */
TSR_FN tsr_view_t uly_by_heads(const uly_args_t *a, uly_chunk_t c, tsr_view_t view, int32_t columns)
{
	const tsr_pos_t at = {(int64_t)c.sequence * a->position[a->ranks] + a->position[c.source] +
				      c.rows * a->chunk_rows,
			      (int64_t)c.group * a->group * columns};
	return tsr_view_part(view, at, a->chunk_rows, (int64_t)a->group * columns);
}

/** Columns of what a key head has: in K and V; in Q and O, with all heads that share it. */
TSR_FN int32_t uly_columns(const uly_args_t *a, int input)
{
	return input == ULY_OF_Q ? a->share * a->dim : a->dim;
}

/** Puts a chunk of Q, K and V to the rank that has its heads. A put moves the smaller extents. */
TSR_FN void uly_put_in(tsr_coop_t *block, const uly_args_t *a, uly_chunk_t chunk)
{
	for (int i = 0; i < ULY_INPUTS; i++) {
		const int32_t columns = uly_columns(a, i);
		tsr_put_2d(block, uly_by_heads(a, chunk, a->heads[i], columns),
			   uly_by_positions(a, chunk, a->given[i], columns), chunk.target);
	}
}

#endif

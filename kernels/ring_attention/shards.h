/*
 * What all patterns have in common: the shards of keys and values, which tiles of
 * queries meet which of them, and how results are stored.
 *
 * A rank has one piece of the sequence, or with a causal mask two: of 2 W pieces
 * rank r has r and 2 W - 1 - r, so that all ranks have about the same to do
 * (zig-zag). Then what a tile sees of another rank's shard is never cut by the
 * diagonal: of a rank before this one its early piece; of a rank behind it
 * nothing, or, for tiles of the late piece, all of it. In its own shard a tile
 * sees what lies before it.
 *
 * Rows are counted in 32 bits. What does not change in a launch is in the
 * arguments: the main loop needs the registers.
 */
#ifndef RING_ATTENTION_SHARDS_H
#define RING_ATTENTION_SHARDS_H

#include "kernels/attend/deal.h"
#include "kernels/dev/leave.h"
#include "kernels/ring_attention/args.h"

/** One launch. `number` belongs to start and epilogue: how many tasks have ended. */
typedef struct ring_run {
	const ring_args_t *args;
	uint64_t epoch;
	uint32_t block; /* the block's index; those that compute come first */
	uint32_t number;
	int32_t step; /* rotate: the step, which is the same for all tasks of a loop */
} ring_run_t;

TSR_FN ring_run_t ring_begin(tsr_coop_t *block, const ring_args_t *a)
{
	const ring_run_t run = {a, handshake_epoch(block, a->sync),
				(uint32_t)tsr_block_index(block), 0, 0};
	return run;
}

/** The number of positions of rank `rank`. */
TSR_FN int32_t ring_positions(const ring_args_t *a, int rank)
{
	return a->first[rank + 1] - a->first[rank];
}

/** The rank whose shard this rank meets at step `step`: its own, then those before it. */
TSR_FN int ring_source(const ring_args_t *a, int step)
{
	return step > a->me ? a->me - step + a->ranks : a->me - step;
}

/* ------------------------------------------------------------ tasks */

/** How many positions of rank `source` a tile sees, whose queries are of a late piece or not. */
TSR_FN int32_t ring_seen(const ring_args_t *a, int source, int is_late)
{
	if (!a->causal || source == a->me || (source > a->me && is_late))
		return ring_positions(a, source);
	return source < a->me ? a->early[source] : 0;
}

/**
 * The block's `number`-th tile of queries and the shard of rank `source`, which
 * begins at row `shard` of k and v.
 */
TSR_FN tsr_span_t ring_meet(const ring_run_t *run, uint32_t number, int source, int32_t shard)
{
	const ring_args_t *a = run->args;
	const attend_dealt_t dealt = attend_dealt(&a->deal, run->block, number);
	const int is_late = dealt.tile >= a->early_tiles, is_causal = a->causal && source == a->me;
	const int32_t early = a->early[a->me], mine = ring_positions(a, a->me),
		      tile_number = (int32_t)(is_late ? dealt.tile - a->early_tiles : dealt.tile),
		      row = tile_number * TSR_TILE_M(tile) + (is_late ? early : 0),
		      key_head = (int32_t)(dealt.head / (uint32_t)a->share);
	tsr_span_t span = {{(int32_t)dealt.head * mine + row, 0},
			   {shard + key_head * ring_positions(a, source), 0},
			   dealt.is_missing ? 0 : (is_late ? mine : early) - row,
			   0,
			   dealt.is_missing ? 0 : ring_seen(a, source, is_late),
			   is_causal ? (int32_t)TSR_MASK_CAUSAL : (int32_t)TSR_MASK_NONE,
			   1,
			   row,
			   0};
	return span;
}

/** Stores the result of a tile that has met all shards. */
TSR_FN void ring_store(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, const ring_args_t *a)
{
	const tsr_pos_t at = {0, 0};
	TSR_FRAG(tile, o, me);
	TSR_FRAG_ROWS(tile, lse, me);
	if (span.queries <= 0)
		return;
	tsr_state_finish(me, state, o, lse);
	tsr_tile_store(me, tsr_view_part(a->o, span.q, span.queries, a->o.cols), at, o);
	tsr_rows_store(me, tsr_view_part(a->lse, span.q, span.queries, 1), at, lse, tsr_rank(me));
}

/* ------------------------------------------------------------ chunks */

/** The flag of chunk `chunk` of rank `source`'s shard; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *ring_come(const ring_args_t *a, int source, int32_t chunk)
{
	return a->come + (int64_t)source * a->chunks + chunk;
}

/** Rows of keys, or of values, in memory. */
typedef struct ring_rows {
	int64_t skip; /* bytes before them */
	size_t size_bytes;
} ring_rows_t;

/** Chunk `chunk` of rank `source`'s shard, which begins at row `shard`. It may be empty. */
TSR_FN ring_rows_t ring_chunk(const ring_args_t *a, int source, int32_t chunk, int32_t shard)
{
	const int64_t rows = (int64_t)a->key_heads * ring_positions(a, source),
		      skip = (int64_t)chunk * a->chunk_rows, left = rows > skip ? rows - skip : 0;
	const ring_rows_t found = {
		(shard + skip) * a->row_bytes,
		(size_t)((left < a->chunk_rows ? left : a->chunk_rows) * a->row_bytes)};
	return found;
}

/** Puts rows of a matrix to a place in the same matrix of `peer`. */
TSR_FN void ring_put(tsr_coop_t *block, tsr_view_t matrix, ring_rows_t from, int64_t to_skip,
		     int peer)
{
	TSR_HEAP unsigned char *data = (TSR_HEAP unsigned char *)matrix.data;
	tsr_put(block, data + to_skip, data + from.skip, from.size_bytes, peer);
}

/**
 * Waits for the chunks that a run of keys reads and the runs before it did not, of
 * rank `source`'s shard, which begins at row `shard`. `from` is the rank that puts
 * them here.
 * Partner:    the signals of ring_send and ring_pass_on on that rank. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN void ring_await(tsr_coop_t *loader, const ring_run_t *run, int source, int from,
		       int32_t shard, tsr_span_t keys)
{
	const ring_args_t *a = run->args;
	const int32_t row = (int32_t)keys.kv.row - shard, begin = row + (int32_t)keys.k0,
		      last = (row + (int32_t)keys.k1 - 1) / a->chunk_rows;
	int32_t chunk = keys.k0 > 0 ? (begin - 1) / a->chunk_rows + 1 : begin / a->chunk_rows;
	for (; chunk <= last; chunk++)
		tsr_wait(loader, ring_come(a, source, chunk), run->epoch, from);
}

#endif

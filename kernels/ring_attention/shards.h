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
 */
#ifndef RING_ATTENTION_SHARDS_H
#define RING_ATTENTION_SHARDS_H

#include "kernels/attend/deal.h"
#include "kernels/dev/leave.h"
#include "kernels/ring_attention/args.h"

/** One launch. `number` belongs to start and epilogue: how many tasks have ended. */
typedef struct ring_run {
	const ring_args_t *args;
	attend_deal_t deal;
	uint64_t epoch;
	int32_t me, ranks;
	uint32_t early_tiles; /* of a head: those of the early piece */
	int32_t step;         /* rotate: the step, which is the same for all tasks of a loop */
	uint32_t number;
} ring_run_t;

/** The number of positions of rank `rank`. */
TSR_FN int32_t ring_positions(const ring_args_t *a, int rank)
{
	return a->first[rank + 1] - a->first[rank];
}

/** Begins a launch in which the first `computing` blocks compute. */
TSR_FN ring_run_t ring_begin(tsr_coop_t *block, const ring_args_t *a, int computing)
{
	ring_run_t run;
	run.args = a;
	run.me = tsr_rank(block);
	run.ranks = tsr_size(block);
	run.epoch = handshake_epoch(block, a->sync);
	run.step = 0;
	run.number = 0;
	const int32_t late = ring_positions(a, run.me) - a->early[run.me];
	run.early_tiles = (uint32_t)tsr_tiles(a->early[run.me], TSR_TILE_M(tile));
	run.deal = attend_deal(run.early_tiles + (uint32_t)tsr_tiles(late, TSR_TILE_M(tile)),
			       (uint32_t)a->heads, a->causal, tsr_block_index(block), computing);
	return run;
}

/** The rank whose shard this rank meets at step `step`: its own, then those before it. */
TSR_FN int ring_source(int me, int ranks, int step)
{
	return step > me ? me - step + ranks : me - step;
}

/* ------------------------------------------------------------ tasks */

/**
 * A tile of queries and the shard of rank `source`, which begins at row `shard`
 * of k and v.
 */
TSR_FN tsr_span_t ring_meet(const ring_run_t *run, uint32_t number, int source, int64_t shard)
{
	const ring_args_t *a = run->args;
	const attend_dealt_t dealt = attend_dealt(&run->deal, number);
	const int is_late = dealt.tile >= run->early_tiles;
	const int32_t mine = ring_positions(a, run->me), theirs = ring_positions(a, source),
		      early = a->early[run->me],
		      row = is_late ? early + (int32_t)(dealt.tile - run->early_tiles) *
						      TSR_TILE_M(tile)
				    : (int32_t)dealt.tile * TSR_TILE_M(tile),
		      end = is_late ? mine : early;
	int32_t seen = theirs;
	if (a->causal && source != run->me)
		seen = source < run->me ? a->early[source] : is_late ? theirs : 0;
	tsr_span_t span = {{(int64_t)dealt.head * mine + row, 0},
			   {shard + (int64_t)(dealt.head / (uint32_t)a->share) * theirs, 0},
			   dealt.is_missing ? 0 : end - row,
			   0,
			   dealt.is_missing ? 0 : seen,
			   a->causal && source == run->me ? (int32_t)TSR_MASK_CAUSAL
							  : (int32_t)TSR_MASK_NONE,
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

/** A chunk of a shard: where it begins in the shard, and its size. */
typedef struct ring_chunk {
	int64_t skip;
	size_t size_bytes;
} ring_chunk_t;

/** Chunk `chunk` of rank `source`'s shard of keys, or of values. It may be empty. */
TSR_FN ring_chunk_t ring_chunk(const ring_args_t *a, int source, int32_t chunk)
{
	const int64_t rows = (int64_t)a->key_heads * ring_positions(a, source),
		      skip = (int64_t)chunk * a->chunk_rows, left = rows > skip ? rows - skip : 0;
	const ring_chunk_t found = {
		skip * a->row_bytes,
		(size_t)((left < a->chunk_rows ? left : a->chunk_rows) * a->row_bytes)};
	return found;
}

/**
 * Waits for the chunks that a run of keys reads and the runs before it did not:
 * keys k0 .. k1-1 behind row `row` of rank `source`'s shard. `from` is the rank
 * that puts them here.
 * Partner:    the signals of ring_send and ring_pass_on on that rank. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN void ring_await(tsr_coop_t *loader, const ring_run_t *run, int source, int from, int64_t row,
		       tsr_span_t keys)
{
	const ring_args_t *a = run->args;
	const int32_t begin = (int32_t)(row + keys.k0), end = (int32_t)(row + keys.k1),
		      last = (end - 1) / a->chunk_rows;
	int32_t chunk = keys.k0 > 0 ? (begin - 1) / a->chunk_rows + 1 : begin / a->chunk_rows;
	for (; chunk <= last; chunk++)
		tsr_wait(loader, ring_come(a, source, chunk), run->epoch, from);
}

#endif

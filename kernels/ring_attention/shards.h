/*
 * What all patterns have in common: the shards of keys and values, the tiles of
 * queries, and how results are stored.
 *
 * A rank has one piece of the sequence, or with a causal mask two: of 2 W pieces
 * rank r has r and 2 W - 1 - r, so that all ranks have about the same to do
 * (zig-zag). Then what a tile sees of another rank's shard is never cut by the
 * diagonal: of a rank before this one its early piece; of a rank behind it
 * nothing, or, for tiles of the late piece, all of it. In its own shard a tile
 * sees what lies before it.
 *
 * Rows are counted in 32 bits, and what does not change in a launch is in the
 * arguments: the main loop needs the registers.
 */
#ifndef RING_ATTENTION_SHARDS_H
#define RING_ATTENTION_SHARDS_H

#include "kernels/attend/deal.h"
#include "kernels/dev/leave.h"
#include "kernels/ring_attention/args.h"

/** One launch. */
typedef struct ring_run {
	const ring_args_t *args;
	uint64_t epoch;
	uint32_t block; /* the block's index; those that compute come first */
	/* rotate, for start and epilogue: the step, and how many of its tasks have ended */
	int32_t step;
	uint32_t number;
} ring_run_t;

TSR_FN ring_run_t ring_begin(tsr_coop_t *block, const ring_args_t *a)
{
	const ring_run_t run = {a, handshake_epoch(block, a->sync),
				(uint32_t)tsr_block_index(block), 0, 0};
	return run;
}

/** The number of positions of a rank, and of those of its early piece. */
TSR_FN int32_t ring_positions(const ring_args_t *a, int rank)
{
	return a->first[rank + 1] - a->first[rank];
}

TSR_FN int32_t ring_early(const ring_args_t *a, int rank)
{
	return a->early[rank + 1] - a->early[rank];
}

/** How many positions of rank `source` any tile of rank `rank` sees, from its first one on. */
TSR_FN int32_t ring_seen(const ring_args_t *a, int rank, int source)
{
	return a->causal && source < rank ? ring_early(a, source) : ring_positions(a, source);
}

/* ------------------------------------------------------------ tiles */

/** A tile of queries. */
typedef struct ring_tile {
	int32_t head, key_head;
	int32_t row;     /* the first, of its head */
	int32_t queries; /* rows from there on to the end of its piece; 0: there is no tile */
	int32_t is_late; /* they are of the late piece */
} ring_tile_t;

/** The block's `number`-th. */
TSR_FN ring_tile_t ring_tile_at(const ring_run_t *run, uint32_t number)
{
	const ring_args_t *a = run->args;
	const attend_dealt_t dealt = attend_dealt(&a->deal, run->block, number);
	const int is_late = dealt.tile >= a->early_tiles;
	const int32_t early = ring_early(a, a->me),
		      end = is_late ? ring_positions(a, a->me) : early,
		      within = (int32_t)(is_late ? dealt.tile - a->early_tiles : dealt.tile),
		      row = within * TSR_TILE_M(tile) + (is_late ? early : 0);
	const ring_tile_t t = {(int32_t)dealt.head, (int32_t)(dealt.head / (uint32_t)a->share), row,
			       dealt.is_missing ? 0 : end - row, is_late};
	return t;
}

/** The span of a tile with keys k0 .. k1-1 from row `key_row` of k and v on. */
TSR_FN tsr_span_t ring_span(const ring_args_t *a, ring_tile_t t, int32_t key_row, int32_t k0,
			    int32_t k1, int is_causal, int32_t diagonal)
{
	const tsr_span_t span = {{t.head * ring_positions(a, a->me) + t.row, 0},
				 {key_row, 0},
				 t.queries,
				 k0,
				 t.queries > 0 ? k1 : k0,
				 is_causal ? (int32_t)TSR_MASK_CAUSAL : (int32_t)TSR_MASK_NONE,
				 1,
				 t.row,
				 diagonal};
	return span;
}

/** Stores the result of a tile that has met all that it sees. */
TSR_FN void ring_store(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const ring_args_t *a = ((const ring_run_t *)ctx)->args;
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

/** The flag of a chunk of rank `source`'s shard; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *ring_come(const ring_args_t *a, int source, int32_t key_head,
				    int32_t chunk)
{
	const int64_t head = (int64_t)source * a->key_heads + key_head;
	return a->come + head * a->head_chunks + chunk;
}

/** Bytes of rows of k, or of v, and of so many of them as a chunk has, of `rows` from it on. */
TSR_FN int64_t ring_bytes(const ring_args_t *a, int32_t rows)
{
	return (int64_t)rows * a->row_bytes;
}

TSR_FN size_t ring_chunk_bytes(const ring_args_t *a, int32_t rows)
{
	const int32_t most = rows < a->chunk_rows ? rows : a->chunk_rows;
	return most > 0 ? (size_t)ring_bytes(a, most) : 0;
}

/** Puts a chunk of keys, and of values: from row `from` to `peer`'s row `to`, of `rows`. */
TSR_FN void ring_put(tsr_coop_t *block, const ring_args_t *a, int32_t to, int32_t from,
		     int32_t rows, int peer)
{
	TSR_HEAP unsigned char *k = (TSR_HEAP unsigned char *)a->k.data,
			       *v = (TSR_HEAP unsigned char *)a->v.data;
	const size_t size_bytes = ring_chunk_bytes(a, rows);
	tsr_put(block, k + ring_bytes(a, to), k + ring_bytes(a, from), size_bytes, peer);
	tsr_put(block, v + ring_bytes(a, to), v + ring_bytes(a, from), size_bytes, peer);
}

#endif

/*
 * Automatic choices: the tile, the blocks and how many of them move shards, and
 * the rows of a chunk.
 */
#include <inttypes.h>

#include "kernels/all_gather_gemm/plan.h"
#include "kernels/choices/cost.h"
#include "kernels/host/share.h"

/*
 * Bytes of a chunk. Blocks: a block takes about 11 us to put so many (45 GB/s on
 * H200), ten times as long as to signal them. Copy engines: on H200 they reach
 * 312 GB/s with copies of this size, and 379 GB/s with eight times as much.
 */
enum { CHUNK_BYTES = 512 << 10, COPY_BYTES = 4 << 20 };

/*
 * In a tile of so many elements or fewer, a loader that calls a gate for every 64
 * columns of K is not done when the product of 64 columns is: 16 % slower on one
 * H200, in tiles of 128 x 128. In larger tiles it is.
 */
enum { GATED_TILE = 128 * 128 };
static const double GATED_LOSS = 1.16;

/* Rows of a chunk, at least: a tile then waits for few flags. */
enum { CHUNK_ROWS = 16 };

/** The number of tiles of a rank's part of C, the largest on any rank. */
static int64_t most_tiles(const agg_config_t *c, tile_size_t tile, int ranks)
{
	const bool of_a = agg_gathered(c) == AGG_A;
	return tiles_of(of_a ? c->m : share_largest(c->m, ranks), tile.m) *
	       tiles_of(of_a ? share_largest(c->n, ranks) : c->n, tile.n);
}

/** A configuration whose tile is to be chosen, and where it is to run. */
typedef struct candidate {
	const agg_config_t *config;
	const workload_place_t *place;
} candidate_t;

/** A rank's product in tiles, the largest on any rank. */
static cost_product_t product_in(const agg_config_t *c, tile_size_t tile, int ranks)
{
	return (cost_product_t){.m = agg_gathered(c) == AGG_A ? c->m : share_largest(c->m, ranks),
				.k = c->k,
				.tile = tile,
				.tiles = most_tiles(c, tile, ranks),
				.parts = 1};
}

static double cost_in_tiles(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const workload_place_t *place = candidate->place;
	const agg_config_t *c = candidate->config;
	const int ranks = place->ranks;
	const cost_product_t product = product_in(c, tile, ranks);
	const cost_computing_t computing =
		cost_compute(place->machine, &product, place->device->resident_blocks);
	const double time = computing.time;
	const bool waits = c->pattern != AGG_BULK_SYNCHRONOUS && ranks > 1,
		   is_late = waits && tile.m * tile.n <= GATED_TILE;
	cost_explain(place->explain, &computing);
	explain_bound(place->explain, cost_bound(&computing));
	if (is_late)
		explain_part(place->explain, "late loads", time * GATED_LOSS - time);
	return is_late ? time * GATED_LOSS : time;
}

/** Nanoseconds of a cost of 1, with the tile that is chosen; 0: not known. */
static double unit_ns(const agg_config_t *c, const workload_place_t *place)
{
	return cost_is_fast_tile(place->device, c->tile, c->dtype)
		       ? cost_unit_ns(place->machine, place->device, c->dtype)
		       : 0;
}

static tsr_status_t choose_tile(agg_config_t *c, const workload_place_t *place)
{
	const candidate_t candidate = {c, place};
	const cost_search_t search = {
		.kernel = agg_patterns[c->pattern].kernels[0],
		.dtype = c->dtype,
		.device = place->device,
		.cost = cost_in_tiles,
		.ctx = &candidate,
		.explain = place->explain,
		.formula = COST_COMPUTING " + late loads",
		.unit_ns = cost_unit_ns(place->machine, place->device, c->dtype)};
	return cost_choose_tile(&search, agg_patterns[c->pattern].name, &c->tile);
}

/**
 * By columns, all ranks' chunks of the same rows are needed together, and a chunk
 * has whole tiles.
 */
static void choose_chunks(agg_config_t *c, const workload_place_t *place)
{
	const int ranks = place->ranks;
	const agg_extents_t e = agg_extents(c, ranks);
	const int64_t row_bytes = e.shard_cols * (int64_t)tsr_dtype_bytes(c->dtype),
		      chunk_bytes = c->pattern == AGG_COPY_ENGINES ? COPY_BYTES : CHUNK_BYTES;
	const int64_t fit = chunk_bytes / row_bytes;
	if (c->chunk_rows == 0)
		c->chunk_rows = fit < CHUNK_ROWS ? CHUNK_ROWS : fit;
	if (c->chunk_rows > e.shard_rows)
		c->chunk_rows = e.shard_rows;
	if (c->along == AGG_BY_COLUMNS)
		c->chunk_rows = tiles_of(c->chunk_rows, c->tile.m) * c->tile.m;
	explain_rule(place->explain, "chunk-rows", explain_number(c->chunk_rows),
		     "chunks of %" PRId64
		     " KiB, which take far longer than their signal, are %" PRId64
		     " rows; at least %d, and at most a shard's %" PRId64 "%s",
		     chunk_bytes >> 10, fit, CHUNK_ROWS, e.shard_rows,
		     c->along == AGG_BY_COLUMNS ? "; by columns, whole tiles" : "");
}

/**
 * By columns a tile needs rows of all shards. And where each pair of ranks has a
 * link of its own, all links are used only if all shards travel at one time.
 */
static void choose_arrival(agg_config_t *c, const workload_place_t *place)
{
	const bool by_columns = c->along == AGG_BY_COLUMNS, is_mesh = place->machine->link_mesh > 0;
	if (!agg_patterns[c->pattern].moves_apart) {
		explain_rule(place->explain, "arrival", explain_number(c->arrival),
			     EXPLAIN_NO_SENDERS);
		return;
	}
	if (c->arrival == AGG_ANY_ORDER)
		c->arrival = by_columns || is_mesh ? AGG_IN_TURN : AGG_SHARD_AFTER_SHARD;
	explain_rule(place->explain, "arrival", explain_number(c->arrival), "%s",
		     by_columns ? "by columns a tile needs rows of all shards"
		     : is_mesh ? "each peer has a link of its own (link_mesh): all of them are used"
			       : "tiles need one shard after the other");
}

/** Time until all of this rank's shard is on the other ranks, if `movers` blocks put it. */
static double moving(const agg_config_t *c, const workload_place_t *place, int movers)
{
	const machine_t *machine = place->machine;
	const double elements = (double)(place->ranks - 1) *
				(double)agg_shard_bytes(c, place->ranks) /
				(double)tsr_dtype_bytes(c->dtype),
		     by_links = machine->send_depth / machine->link_blocks,
		     enough = machine->link_pair / machine->block_rate; /* blocks, to fill a link */
	return elements * by_links * (enough > movers ? enough / movers : 1);
}

/**
 * Time of a run in which `movers` of `most` blocks do not compute: until all is
 * computed, and at least until the last chunk has come and the tiles that wait
 * for it are computed. Records it as a candidate.
 */
static double time_beside(const agg_config_t *c, const workload_place_t *place, int most,
			  int movers)
{
	const cost_product_t product = product_in(c, c->tile, place->ranks);
	const cost_computing_t computing = cost_compute(place->machine, &product, most - movers);
	const double put = moving(c, place, movers),
		     moved = put + cost_whole_tile(place->machine, &product),
		     time = computing.time > moved ? computing.time : moved;
	explain_try(place->explain, explain_number(movers));
	cost_explain(place->explain, &computing);
	explain_part(place->explain, "move", put);
	explain_part(place->explain, "last tile", moved - put);
	explain_bound(place->explain,
		      computing.time > moved ? cost_bound(&computing) : "moving shards");
	explain_cost(place->explain, time);
	return time;
}

/** The number of movers of least time; of equal times, the larger. */
static int cheapest_movers(const agg_config_t *c, const workload_place_t *place, int most)
{
	const int lanes = cost_send(place->machine, place->ranks - 1).lanes;
	int best = 1;
	explain_begin(place->explain, "comm-blocks");
	explain_unit(place->explain, unit_ns(c, place));
	explain_formula(place->explain, "max(" COST_COMPUTING ", move + last tile)");
	double least = time_beside(c, place, most, 1);
	for (int movers = 2; movers <= lanes && movers < most; movers++) {
		const double time = time_beside(c, place, most, movers);
		if (time <= least) {
			best = movers;
			least = time;
		}
	}
	explain_end(place->explain, explain_number(best), 0,
		    "the least cost of at most %d blocks, which fill the links; of equal costs the "
		    "most blocks",
		    lanes);
	return best;
}

/** As many movers as are wanted, but no more than chunks, and one block that computes. */
static int limit_movers(const workload_place_t *place, int wanted, int64_t chunks, int most)
{
	const int64_t least = wanted < chunks ? wanted : chunks;
	const int movers = least < most ? (int)least : most > 1 ? most - 1 : 1;
	if (movers != wanted)
		explain_rule(place->explain, "comm-blocks", explain_number(movers),
			     "%d are wanted, but there are %" PRId64 " chunks and %d blocks",
			     wanted, chunks, most);
	return movers;
}

/**
 * The number of blocks that move shards: what should take least time, if the
 * machine's links are known; else a sixth, as 48 of 304 in the Iris paper. Where
 * words are marked, as many as fill the links. No more than chunks.
 */
static int choose_movers(const agg_config_t *c, const workload_place_t *place, int most)
{
	if (!agg_patterns[c->pattern].moves_apart || place->ranks == 1) {
		explain_rule(place->explain, "comm-blocks", explain_number(0), "%s",
			     place->ranks == 1 ? "one rank has nothing to move"
					       : EXPLAIN_NO_SENDERS);
		return 0;
	}
	if (c->comm_blocks > 0)
		return c->comm_blocks;
	/* marked: each block takes rows */
	const bool is_marked = c->pattern == AGG_MARKED;
	const int64_t rows_each = is_marked ? c->chunk_rows : 1,
		      chunks = (place->ranks - 1) * agg_most_chunks(c, place->ranks) * rows_each;
	int wanted = (most + 5) / 6;
	if (!cost_knows_links(place->machine)) {
		explain_rule(place->explain, "comm-blocks", explain_number(wanted), EXPLAIN_SIXTH,
			     most);
	} else if (is_marked) {
		wanted = cost_send(place->machine, place->ranks - 1).lanes;
		explain_rule(place->explain, "comm-blocks", explain_number(wanted),
			     "as many as fill the links to %d peers", place->ranks - 1);
	} else {
		wanted = cheapest_movers(c, place, most);
	}
	return limit_movers(place, wanted, chunks, most);
}

static tsr_status_t choose_blocks(agg_config_t *c, const workload_place_t *place)
{
	/* one block of copy-engines signals beside the product */
	const bool copies = c->pattern == AGG_COPY_ENGINES && place->ranks > 1;
	const int most = place->device->resident_blocks - copies;
	const int64_t tiles = most_tiles(c, c->tile, place->ranks);
	c->comm_blocks = choose_movers(c, place, c->blocks > 0 ? c->blocks : most);
	if (c->blocks == 0) {
		const int left = most > c->comm_blocks ? most - c->comm_blocks : 1;
		c->blocks = c->comm_blocks + (tiles < left ? (int)tiles : left);
		explain_blocks(place->explain, c->blocks, tiles, c->comm_blocks, most);
	}
	if (c->blocks > most)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks%s wait for each other, and %s holds %d at one time; "
				 "launch fewer blocks",
				 c->blocks, copies ? " and one that signals" : "",
				 place->device->name, place->device->resident_blocks);
	return TSR_OK;
}

/** The rows of all peers' shards. */
static int64_t rows_that_come(const agg_config_t *c, int ranks)
{
	return agg_extents(c, ranks).shard_rows * (ranks - 1);
}

/**
 * Small shards go in words that carry their own flag, if a block takes those of all
 * peers in less time than a signal needs, and if no block takes two rows: rows
 * follow each other slowly. On two H100s shards of 64 KiB were 1 % faster so, and
 * shards of 512 KiB and more slower.
 */
static int64_t by_size(const agg_config_t *c, const workload_place_t *place, unsigned compared)
{
	const machine_t *machine = place->machine;
	const int64_t shard = agg_shard_bytes(c, place->ranks), come = shard * (place->ranks - 1),
		      rows = rows_that_come(c, place->ranks);
	/* what a block takes (GB/s) while a signal travels (ns) */
	const double meanwhile = machine->block_memory_rate * machine->signal;
	const int blocks = cost_send(machine, place->ranks - 1).lanes;
	const bool is_small = shard <= AGG_MARKED_BYTES && (double)come < meanwhile;
	const int64_t pattern = is_small && rows <= blocks ? AGG_MARKED : AGG_PUSH;
	explain_pattern_rule(place->explain, compared, pattern,
			     "the peers' shards have %" PRId64 " KiB in %" PRId64
			     " rows; words with flags are for less than %.0f KiB, which a block "
			     "takes while a signal travels (block_memory_rate, signal), in %d rows "
			     "at most, one for each block that fills links",
			     come >> 10, rows, meanwhile / 1024, blocks);
	return pattern;
}

/**
 * Between nodes a shard crosses to each node once in bulk-synchronous, and to each
 * rank in all others. On one node blocks push shards that are not small: copy
 * engines were faster at few shapes, and by little.
 */
int64_t agg_fastest(const agg_config_t *c, const workload_place_t *place)
{
	const unsigned compared = 1U << AGG_BULK_SYNCHRONOUS | 1U << AGG_MARKED | 1U << AGG_PUSH;
	if (place->ranks == 1 || place->nodes > 1 || c->blocks == 1) {
		explain_pattern_rule(
			place->explain, compared, AGG_BULK_SYNCHRONOUS, "%s",
			place->ranks == 1  ? "one rank has nothing to gather"
			: place->nodes > 1 ? "a shard crosses to each node once, and in the others "
					     "to each rank"
					   : "no block is left that could move shards");
		return AGG_BULK_SYNCHRONOUS;
	}
	if (cost_knows_links(place->machine) && place->machine->signal > 0)
		return by_size(c, place, compared);
	explain_pattern_rule(place->explain, compared, AGG_PUSH,
			     "blocks push shards; the machine's file has no figures of signals");
	return AGG_PUSH;
}

tsr_status_t agg_choose(agg_config_t *c, const workload_place_t *place)
{
	tsr_status_t status = TSR_OK;
	if (tile_is_automatic(c->tile))
		status = choose_tile(c, place);
	if (status != TSR_OK)
		return status;
	choose_chunks(c, place);
	choose_arrival(c, place);
	return choose_blocks(c, place);
}

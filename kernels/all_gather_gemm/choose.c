/*
 * Automatic choices: the tile, the blocks and how many of them move shards, and
 * the rows of a chunk.
 */
#include "kernels/all_gather_gemm/plan.h"
#include "kernels/host/cost.h"
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
	const double time =
		cost_compute(place->machine, &product, place->device->resident_blocks).time;
	const bool waits = c->pattern != AGG_BULK_SYNCHRONOUS && ranks > 1;
	return waits && tile.m * tile.n <= GATED_TILE ? time * GATED_LOSS : time;
}

static tsr_status_t choose_tile(agg_config_t *c, const workload_place_t *place)
{
	const candidate_t candidate = {c, place};
	const cost_search_t search = {.kernel = agg_patterns[c->pattern].kernels[0],
				      .dtype = c->dtype,
				      .device = place->device,
				      .cost = cost_in_tiles,
				      .ctx = &candidate};
	return cost_choose_tile(&search, agg_patterns[c->pattern].name, &c->tile);
}

/**
 * By columns, all ranks' chunks of the same rows are needed together, and a chunk
 * has whole tiles.
 */
static void choose_chunks(agg_config_t *c, int ranks)
{
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
 * for it are computed.
 */
static double time_beside(const agg_config_t *c, const workload_place_t *place, int most,
			  int movers)
{
	const cost_product_t product = product_in(c, c->tile, place->ranks);
	const double computing = cost_compute(place->machine, &product, most - movers).time,
		     moved = moving(c, place, movers) + cost_whole_tile(place->machine, &product);
	return computing > moved ? computing : moved;
}

/** The number of movers of least time; of equal times, the larger. */
static int cheapest_movers(const agg_config_t *c, const workload_place_t *place, int most)
{
	const int lanes = cost_send(place->machine, place->ranks - 1).lanes;
	int best = 1;
	for (int movers = 2; movers <= lanes && movers < most; movers++)
		if (time_beside(c, place, most, movers) <= time_beside(c, place, most, best))
			best = movers;
	return best;
}

/**
 * The number of blocks that move shards: what should take least time, if the
 * machine's links are known; else a sixth, as 48 of 304 in the Iris paper. Where
 * words are marked, as many as fill the links. No more than chunks.
 */
static int choose_movers(const agg_config_t *c, const workload_place_t *place, int most)
{
	if (!agg_patterns[c->pattern].moves_apart || place->ranks == 1)
		return 0;
	if (c->comm_blocks > 0)
		return c->comm_blocks;
	/* marked: each block takes rows */
	const bool is_marked = c->pattern == AGG_MARKED;
	const int64_t rows_each = is_marked ? c->chunk_rows : 1,
		      chunks = (place->ranks - 1) * agg_most_chunks(c, place->ranks) * rows_each;
	int wanted = (most + 5) / 6;
	if (cost_knows_links(place->machine))
		wanted = is_marked ? cost_send(place->machine, place->ranks - 1).lanes
				   : cheapest_movers(c, place, most);
	wanted = wanted < chunks ? wanted : (int)chunks;
	return wanted < most ? wanted : most > 1 ? most - 1 : 1;
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
	}
	if (c->blocks > most)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks%s wait for each other, and %s holds %d at one time; "
				 "launch fewer blocks",
				 c->blocks, copies ? " and one that signals" : "",
				 place->device->name, place->device->resident_blocks);
	return TSR_OK;
}

/**
 * Between nodes a shard crosses to each node once in bulk-synchronous, and to each
 * rank in all others. On one node small shards go in words that carry their own
 * flag: twice the bytes take less time than a signal behind them. Others are
 * pushed by blocks: on two H100s copy engines were faster at few shapes, and by
 * little.
 */
int64_t agg_fastest(const agg_config_t *c, const workload_place_t *place)
{
	const int64_t shard = agg_shard_bytes(c, place->ranks);
	if (place->ranks == 1 || place->nodes > 1)
		return AGG_BULK_SYNCHRONOUS;
	/* what a link moves (GB/s) while a signal travels (ns); 0 if they are not known */
	return shard <= AGG_MARKED_BYTES &&
			       (double)shard < place->machine->link_pair * place->machine->signal
		       ? AGG_MARKED
		       : AGG_PUSH;
}

tsr_status_t agg_choose(agg_config_t *c, const workload_place_t *place)
{
	tsr_status_t status = TSR_OK;
	if (tile_is_automatic(c->tile))
		status = choose_tile(c, place);
	if (status != TSR_OK)
		return status;
	choose_chunks(c, place->ranks);
	return choose_blocks(c, place);
}

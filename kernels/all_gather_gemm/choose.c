/*
 * Automatic choices: the tile, the blocks and how many of them move A, and the
 * rows of a chunk.
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

/* Rows of a chunk, at least: a tile then waits for few flags. */
enum { CHUNK_ROWS = 16 };

/** The number of tiles of a rank's part of C, the largest on any rank. */
static int64_t most_tiles(const agg_config_t *c, tile_size_t tile, int ranks)
{
	return tiles_of(c->m, tile.m) * tiles_of(share_largest(c->n, ranks), tile.n);
}

/** A configuration whose tile is to be chosen, and where it is to run. */
typedef struct candidate {
	const agg_config_t *config;
	const workload_place_t *place;
} candidate_t;

static double cost_in_tiles(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const workload_place_t *place = candidate->place;
	const agg_config_t *c = candidate->config;
	const cost_product_t product = {.m = c->m,
					.k = c->k,
					.tile = tile,
					.tiles = most_tiles(c, tile, place->ranks),
					.parts = 1};
	return cost_compute(place->machine, &product, place->device->resident_blocks).time;
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
	const bool by_rows = c->along == AGG_BY_ROWS;
	const int64_t rows = by_rows ? share_largest(c->m, ranks) : c->m,
		      cols = by_rows ? c->k : share_largest(c->k, ranks),
		      row_bytes = cols * (int64_t)tsr_dtype_bytes(c->dtype),
		      chunk_bytes = c->pattern == AGG_COPY_ENGINES ? COPY_BYTES : CHUNK_BYTES;
	const int64_t fit = chunk_bytes / row_bytes;
	if (c->chunk_rows == 0)
		c->chunk_rows = fit < CHUNK_ROWS ? CHUNK_ROWS : fit;
	if (c->chunk_rows > rows)
		c->chunk_rows = rows;
	if (!by_rows)
		c->chunk_rows = tiles_of(c->chunk_rows, c->tile.m) * c->tile.m;
}

/**
 * The number of blocks that move A: as many as fill the links, if the machine
 * says so; else a sixth, as 48 of 304 in the Iris paper. No more than chunks.
 */
static int choose_movers(const agg_config_t *c, const workload_place_t *place, int most)
{
	if (!agg_patterns[c->pattern].moves_apart || place->ranks == 1)
		return 0;
	if (c->comm_blocks > 0)
		return c->comm_blocks;
	const int64_t chunks = (place->ranks - 1) * agg_most_chunks(c, place->ranks);
	int wanted = cost_knows_links(place->machine)
			     ? cost_send(place->machine, place->ranks - 1).lanes
			     : (most + 5) / 6;
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

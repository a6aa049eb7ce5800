/* Automatic choices: the tile, the blocks, how many of them move shards, and the chunks. */
#include <inttypes.h>

#include "kernels/attend/movers.h"
#include "kernels/attend/tiles.h"
#include "kernels/ring_attention/ring.h"

/*
 * Bytes of a chunk of keys, and of values. A block takes about 11 us to put both
 * (45 GB/s on H200), ten times as long as to signal them.
 */
enum { CHUNK_BYTES = 256 << 10 };

/*
 * Chunks of a long shard in gather, where the loop calls its gate once for each.
 * With 6144 positions a rank 2048 in a chunk take 2.4 % less than 1024 (H200s).
 */
enum { LEAST_CHUNKS = 3 };

/** Tasks of the rank with the most: pairs of tiles if they are causal. */
static int64_t most_tasks(const ring_config_t *c, int ranks)
{
	int64_t most = 0;
	for (int rank = 0; rank < ranks; rank++) {
		const int64_t tiles = ring_tiles(c, rank, ranks),
			      each = c->causal ? (tiles + 1) / 2 : tiles;
		most = each > most ? each : most;
	}
	return most * ring_all_heads(c);
}

static void choose_chunks(ring_config_t *c, const workload_place_t *place)
{
	const int64_t rows = ring_most_positions(c, place->ranks),
		      fit = CHUNK_BYTES / (c->dim * (int64_t)tsr_dtype_bytes(c->dtype)),
		      longest = rows / LEAST_CHUNKS / fit * fit;
	const bool is_long = c->pattern == RING_GATHER && longest > fit;
	if (c->chunk_rows == 0)
		c->chunk_rows = is_long ? longest : fit;
	if (c->chunk_rows > rows)
		c->chunk_rows = rows;
	explain_rule(place->explain, "chunk-rows", explain_number(c->chunk_rows),
		     "%d KiB of keys are %" PRId64 " rows, which take ten times as long as their "
		     "signal; %s a rank's %" PRId64,
		     CHUNK_BYTES >> 10, fit, is_long ? "at least three chunks of" : "at most",
		     rows);
}

/** Blocks that only move: none in bulk-synchronous, in which all blocks do first. */
static int choose_movers(const ring_config_t *c, const workload_place_t *place, int most)
{
	const int ranks = place->ranks;
	const double s = (double)c->sequence, seen = c->causal ? s / 2 : s,
		     positions = (double)ring_most_positions(c, ranks),
		     /* of a rank before this one, early pieces alone are sent */
		sent = c->causal && c->pattern == RING_GATHER ? 0.75 : 1,
		     keys = 2 * positions * (double)(ring_all_key_heads(c) * c->dim);
	const int64_t chunks = ring_all_key_heads(c) * ring_head_chunks(c, ranks);
	const attend_work_t work = {
		.operations = 4 * positions * (double)ring_all_heads(c) * seen * (double)c->dim,
		.tasks = most_tasks(c, ranks),
		.link_bytes = sent * keys * (double)tsr_dtype_bytes(c->dtype) * (ranks - 1),
		.chunks = chunks * (c->pattern == RING_GATHER ? ranks - 1 : 1)};
	if (ranks == 1 || c->pattern == RING_BULK_SYNCHRONOUS) {
		explain_rule(place->explain, "comm-blocks", explain_number(0), "%s",
			     ranks == 1 ? "one rank has nothing to move" : EXPLAIN_NO_SENDERS);
		return 0;
	}
	return c->comm_blocks > 0 ? c->comm_blocks : attend_movers(place, &work, most);
}

static tsr_status_t choose_blocks(ring_config_t *c, const workload_place_t *place)
{
	const int most = c->blocks > 0 ? c->blocks : place->device->resident_blocks;
	c->comm_blocks = choose_movers(c, place, most);
	return attend_choose_blocks(place, most_tasks(c, place->ranks), c->comm_blocks, &c->blocks);
}

tsr_status_t ring_choose(const workload_config_t *config, const workload_place_t *place,
			 workload_config_t *config_out)
{
	ring_config_t c = ring_config_of(config);
	if (tile_is_automatic(c.tile))
		c.tile = attend_largest_tile(ring_patterns[c.pattern].kernels[0], c.dtype, c.dim,
					     place->explain);
	choose_chunks(&c, place);
	const tsr_status_t status = choose_blocks(&c, place);
	if (status != TSR_OK)
		return status;
	*config_out = *config;
	config_out->value[RING_TILE] = (workload_value_t){{c.tile.m, c.tile.n, c.tile.k}};
	config_out->value[RING_BLOCKS] = (workload_value_t){{c.blocks}};
	config_out->value[RING_COMM_BLOCKS] = (workload_value_t){{c.comm_blocks}};
	config_out->value[RING_CHUNK_ROWS] = (workload_value_t){{c.chunk_rows}};
	return TSR_OK;
}

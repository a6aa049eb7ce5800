/* Automatic choices: the tile, the blocks, how many of them send, and the chunks. */
#include <inttypes.h>

#include "kernels/attend/movers.h"
#include "kernels/attend/tiles.h"
#include "kernels/ulysses/ulysses.h"

/*
 * A row of a chunk of Q has this many bytes if there are so many. Rows lie 16 and 32
 * KiB apart: on H200 a block's threads copy such rows of 1 KiB at 30 GB/s, of 4 KiB at
 * 24, and its copy engine these at 18. And a chunk of Q has so many: a block takes some
 * 50 us to put it with its keys and values.
 */
enum { ROW_BYTES = 1 << 10, CHUNK_BYTES = 512 << 10 };

/*
 * Chunks of a rank's positions at most, if they are that large: the loader of a
 * tile waits for each chunk of its keys.
 */
enum { MOST_ROW_CHUNKS = 4 };

static int64_t at_most(int64_t wanted, int64_t most)
{
	return wanted > most ? most : wanted;
}

static void choose_chunks(uly_config_t *c, const workload_place_t *place)
{
	const int ranks = place->ranks;
	const int64_t element = (int64_t)tsr_dtype_bytes(c->dtype),
		      head_bytes = uly_share(c) * c->dim * element,
		      positions = share_largest(c->sequence, ranks),
		      key_heads = share_largest(c->key_heads, ranks);
	if (c->group == 0)
		c->group = (ROW_BYTES + head_bytes - 1) / head_bytes;
	c->group = at_most(c->group, key_heads);
	explain_rule(place->explain, "group-heads", explain_number(c->group),
		     "a key head has %" PRId64 " bytes of a row of Q, and rows of %d bytes are "
		     "copied fastest; at most a rank's %" PRId64 " key heads",
		     head_bytes, ROW_BYTES, key_heads);
	const int64_t fit = CHUNK_BYTES / (c->group * head_bytes),
		      quarter = (positions + MOST_ROW_CHUNKS - 1) / MOST_ROW_CHUNKS;
	if (c->chunk_rows == 0)
		c->chunk_rows = fit > quarter ? fit : quarter;
	c->chunk_rows = at_most(c->chunk_rows, positions);
	explain_rule(place->explain, "chunk-rows", explain_number(c->chunk_rows),
		     "the larger of %d KiB of Q, %" PRId64 " rows, and one in %d of a rank's "
		     "%" PRId64 " positions, %" PRId64,
		     CHUNK_BYTES >> 10, fit, MOST_ROW_CHUNKS, positions, quarter);
}

/** Tasks of the rank with the most: pairs of tiles if they are causal. */
static int64_t most_tasks(const uly_config_t *c, int ranks)
{
	const int64_t tiles = uly_tiles(c, ranks) * ranks;
	return c->batch * share_largest(c->key_heads, ranks) * uly_share(c) *
	       (c->causal ? (tiles + 1) / 2 : tiles);
}

/** Blocks that only send: none in bulk-synchronous, in which all blocks do in their turn. */
static int choose_senders(const uly_config_t *c, const workload_place_t *place, int most)
{
	const int ranks = place->ranks;
	const double element = (double)tsr_dtype_bytes(c->dtype), s = (double)c->sequence,
		     heads = (double)(c->batch * share_largest(c->key_heads, ranks)),
		     given = element * (double)(c->batch * share_largest(c->sequence, ranks)) *
			     (double)((uly_share(c) + 2) * c->key_heads * c->dim);
	const attend_work_t work = {.operations = 4 * heads * (double)uly_share(c) * s *
						  (c->causal ? s / 2 : s) * (double)c->dim,
				    .tasks = most_tasks(c, ranks),
				    .link_bytes = given * (ranks - 1) / ranks,
				    .own_bytes = given / ranks,
				    .chunks = c->batch * uly_groups(c, ranks) *
					      uly_row_chunks(c, ranks) * ranks};
	if (c->pattern == ULY_BULK_SYNCHRONOUS) {
		explain_rule(place->explain, "comm-blocks", explain_number(0), EXPLAIN_NO_SENDERS);
		return 0;
	}
	return c->comm_blocks > 0 ? c->comm_blocks : attend_movers(place, &work, most);
}

static tsr_status_t choose_blocks(uly_config_t *c, const workload_place_t *place)
{
	const int most = c->blocks > 0 ? c->blocks : place->device->resident_blocks;
	c->comm_blocks = choose_senders(c, place, most);
	return attend_choose_blocks(place, most_tasks(c, place->ranks), c->comm_blocks, &c->blocks);
}

tsr_status_t uly_choose(const workload_config_t *config, const workload_place_t *place,
			workload_config_t *config_out)
{
	uly_config_t c = uly_config_of(config);
	if (tile_is_automatic(c.tile))
		c.tile = attend_largest_tile(uly_patterns[c.pattern].kernels[0], c.dtype, c.dim,
					     place->explain);
	choose_chunks(&c, place);
	const tsr_status_t status = choose_blocks(&c, place);
	if (status != TSR_OK)
		return status;
	*config_out = *config;
	config_out->value[ULY_TILE] = (workload_value_t){{c.tile.m, c.tile.n, c.tile.k}};
	config_out->value[ULY_BLOCKS] = (workload_value_t){{c.blocks}};
	config_out->value[ULY_COMM_BLOCKS] = (workload_value_t){{c.comm_blocks}};
	config_out->value[ULY_CHUNK_ROWS] = (workload_value_t){{c.chunk_rows}};
	config_out->value[ULY_GROUP] = (workload_value_t){{c.group}};
	return TSR_OK;
}

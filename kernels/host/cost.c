#include "kernels/host/cost.h"

#include <math.h>

int64_t cost_rounds(int64_t tiles, int64_t blocks)
{
	return (tiles - 1) / blocks + 1;
}

int64_t cost_whole_tiles(int64_t tiles, int64_t blocks, int parts)
{
	return parts > 1 && blocks >= parts && tiles > 0 ? (tiles - 1) / blocks * blocks : tiles;
}

int64_t cost_last_tiles(const cost_product_t *product, int64_t blocks)
{
	const int64_t tiles = product->tiles,
		      whole = cost_whole_tiles(tiles, blocks, product->parts),
		      each = whole < tiles ? product->parts : 1;
	const int64_t parts = each * (tiles - whole);
	const int64_t last =
		parts >= blocks ? (blocks + each - 1) / each : blocks - parts + parts / each;
	return last < tiles ? last : tiles;
}

/* ---------------------------------------------------------------- multiplying */

double cost_tile(const machine_t *machine, tile_size_t tile)
{
	const int box = (int)machine->load_box;
	const int columns = tile.n > box ? (tile.n + box - 1) / box * box : tile.n;
	const double edge = machine->load_edge;
	return ((double)tile.m * tile.n + edge * (tile.m + columns)) /
	       (1 + edge / 128 + edge / 256);
}

double cost_whole_tile(const machine_t *machine, const cost_product_t *product)
{
	return cost_tile(machine, product->tile) * (double)product->k;
}

/* Few rows: at most one tile of the usual height. */
enum { FEW_ROWS = 128 };

/**
 * Time for the blocks to read B in a product of few rows, in which B is most of
 * what is read. A further row of tiles finds about half of B's columns in the
 * cache.
 */
static double reading(const machine_t *machine, const cost_product_t *product, int64_t blocks)
{
	if (product->m > FEW_ROWS)
		return 0;
	const double rows = (double)tiles_of(product->m, product->tile.m),
		     columns = (double)product->tiles / rows * product->tile.n;
	return machine->read_column * columns * (double)product->k * (rows + 1) / 2 /
	       (double)blocks;
}

cost_computing_t cost_compute(const machine_t *machine, const cost_product_t *product,
			      int64_t blocks)
{
	const tile_size_t tile = product->tile;
	const int64_t whole = cost_whole_tiles(product->tiles, blocks, product->parts),
		      parts = product->parts * (product->tiles - whole);
	const int64_t whole_rounds = whole > 0 ? cost_rounds(whole, blocks) : 0,
		      rounds = parts > 0 ? cost_rounds(parts, blocks) : 0;
	/* The block that completes a tile adds the sums of all other parts, one after the other. */
	const double handed_over = rounds > 0 ? (double)(rounds + product->parts - 2) : 0;
	cost_computing_t computing = {.rounds = (double)whole_rounds +
						(parts > 0 ? (double)rounds / product->parts : 0)};
	computing.time = computing.rounds * cost_whole_tile(machine, product) +
			 handed_over * machine->hand_over * tile.m * tile.n +
			 reading(machine, product, blocks);
	return computing;
}

/* ---------------------------------------------------------------- sending */

bool cost_knows_links(const machine_t *machine)
{
	return machine->send_depth > 0 && machine->link_blocks > 0;
}

cost_sending_t cost_send(const machine_t *machine, int peers)
{
	if (peers == 0)
		return (cost_sending_t){0, 0, (int)machine->link_blocks};
	/* A block reads an element once, and stores it to each peer. */
	const double block = machine->read_depth +
			     peers * (machine->send_depth - machine->read_depth),
		     links = peers * machine->send_depth / machine->link_blocks;
	return (cost_sending_t){block, links, (int)ceil(block / links)};
}

/* ---------------------------------------------------------------- the tile */

bool cost_is_fast_tile(const tsr_device_props_t *device, tile_size_t tile, tsr_dtype_t dtype)
{
	return device->tile_depth > 0 && tile.k == device->tile_depth &&
	       tsr_dtype_bytes(dtype) == 2;
}

static bool can_be(const cost_search_t *search, tile_size_t tile)
{
	char variant[VARIANT_NAME];
	variant_name(search->dtype, tile, variant);
	return variant_fits(tsr_kernel_find(search->kernel, variant), search->device) &&
	       (!search->can || search->can(search->ctx, tile));
}

tsr_status_t cost_choose_tile(const cost_search_t *search, const char *pattern,
			      tile_size_t *tile_out)
{
	tile_size_t tile, best = {0, 0, 0}, smallest = {0, 0, 0};
	bool is_best_fast = false;
	double least = 0;
	for (int index = 0; variant_at(&index, search->kernel, search->dtype, &tile);) {
		if (!can_be(search, tile))
			continue;
		if (smallest.m == 0 || tile.m * tile.n < smallest.m * smallest.n)
			smallest = tile;
		const bool is_fast = cost_is_fast_tile(search->device, tile, search->dtype);
		if (is_fast < is_best_fast ||
		    (!is_fast && search->suits && !search->suits(search->ctx, tile)))
			continue;
		const double cost = search->cost(search->ctx, tile);
		if (best.m == 0 || is_fast > is_best_fast || cost < least) {
			best = tile;
			least = cost;
			is_best_fast = is_fast;
		}
	}
	if (smallest.m == 0)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "no tile that is built for %s and pattern %s fits a block of %s "
				 "(%s of shared memory, %d workers): choose another pattern",
				 tsr_dtype_name(search->dtype), pattern, search->device->name,
				 TSR_SIZE(search->device->shared_bytes),
				 search->device->workers_per_block);
	*tile_out = best.m > 0 ? best : smallest;
	return TSR_OK;
}

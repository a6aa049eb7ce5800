#include "kernels/choices/cost.h"

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

/** Time for a block to load the rows and columns of a tile's operands, beside m * n. */
static double edges(const machine_t *machine, tile_size_t tile)
{
	const int box = (int)machine->load_box;
	const int columns = tile.n > box ? (tile.n + box - 1) / box * box : tile.n;
	return machine->load_edge * (tile.m + columns);
}

double cost_tile(const machine_t *machine, tile_size_t tile)
{
	const double edge = machine->load_edge;
	return ((double)tile.m * tile.n + edges(machine, tile)) / (1 + edge / 128 + edge / 256);
}

double cost_multiplying(const machine_t *machine, tile_size_t tile)
{
	const double area = (double)tile.m * tile.n;
	return area / (area + edges(machine, tile));
}

double cost_whole_tile(const machine_t *machine, const cost_product_t *product)
{
	return cost_tile(machine, product->tile) * (double)product->k;
}

/* The tile of the machine's figure `epilogue`. */
enum { EPILOGUE_TILE = 128 * 256 };

double cost_epilogue_ns(const machine_t *machine, double area)
{
	return machine->epilogue / machine->clock * area / EPILOGUE_TILE;
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
	const double in_tiles = computing.rounds * cost_whole_tile(machine, product);
	computing.handing_over = handed_over * machine->hand_over * tile.m * tile.n;
	computing.reading = reading(machine, product, blocks);
	computing.time = in_tiles + computing.handing_over + computing.reading;
	computing.multiplying = in_tiles * cost_multiplying(machine, tile);
	computing.loading = in_tiles - computing.multiplying;
	return computing;
}

void cost_explain(explain_t *explain, const cost_computing_t *computing)
{
	explain_count(explain, "rounds", computing->rounds);
	explain_part(explain, "multiply", computing->multiplying);
	explain_part(explain, "load", computing->loading);
	if (computing->handing_over > 0)
		explain_part(explain, "pass sums on", computing->handing_over);
	if (computing->reading > 0)
		explain_part(explain, "read B", computing->reading);
}

const char *cost_bound(const cost_computing_t *computing)
{
	const double others[] = {computing->loading, computing->handing_over, computing->reading};
	static const char *const names[] = {"loads of operands", "passing sums on", "reading B"};
	const char *bound = "multiplying";
	double longest = computing->multiplying;
	for (int i = 0; i < 3; i++)
		if (others[i] > longest) {
			longest = others[i];
			bound = names[i];
		}
	return bound;
}

double cost_unit_ns(const machine_t *machine, const tsr_device_props_t *device, tsr_dtype_t dtype)
{
	const bool is_known = machine->clock > 0 && machine->tensor_width > 0 &&
			      device->tile_depth > 0 && tsr_dtype_bytes(dtype) == 2;
	/* a multiplication and an addition */
	return is_known ? 2 / (machine->tensor_width * machine->clock) : 0;
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

double cost_send_both(double by_blocks, double by_links)
{
	return pow(pow(by_blocks, 4) + pow(by_links, 4), 0.25);
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

/** The best tile so far, and the smallest of all. */
typedef struct tile_choice {
	tile_size_t best, smallest; /* m 0: none */
	bool is_best_fast;
	double least; /* the cost of the best */
} tile_choice_t;

static const char not_fast[] = "the device multiplies other tiles many times faster";

static workload_value_t value_of(tile_size_t tile)
{
	return (workload_value_t){{tile.m, tile.n, tile.k}};
}

/** Prices a tile that can be chosen, unless it cannot be better than the best. */
static void try_tile(const cost_search_t *search, tile_size_t tile, tile_choice_t *choice)
{
	explain_t *explain = search->explain;
	explain_try(explain, value_of(tile));
	if (choice->smallest.m == 0 || tile.m * tile.n < choice->smallest.m * choice->smallest.n)
		choice->smallest = tile;
	const bool is_fast = cost_is_fast_tile(search->device, tile, search->dtype);
	if (is_fast < choice->is_best_fast) {
		explain_skip(explain, not_fast);
		return;
	}
	if (!is_fast && search->suits && !search->suits(search->ctx, tile)) {
		explain_skip(explain, "a rank's part of C has too few of them");
		return;
	}
	const double cost = search->cost(search->ctx, tile);
	explain_cost(explain, cost);
	if (is_fast > choice->is_best_fast)
		explain_skip_former(explain, not_fast);
	if (choice->best.m == 0 || is_fast > choice->is_best_fast || cost < choice->least)
		*choice = (tile_choice_t){tile, choice->smallest, is_fast, cost};
}

/** Ends the record of the choice. */
static void explain_tile(const cost_search_t *search, const tile_choice_t *choice, tile_size_t tile)
{
	if (choice->is_best_fast)
		explain_unit(search->explain, search->unit_ns);
	if (choice->best.m == 0)
		explain_end(search->explain, value_of(tile), 0,
			    "no tile suits the shape, so the smallest that is built");
	else
		explain_end(search->explain, value_of(tile), 0,
			    "the least cost of the tiles that are built for %s and fit a block",
			    tsr_dtype_name(search->dtype));
}

tsr_status_t cost_choose_tile(const cost_search_t *search, const char *pattern,
			      tile_size_t *tile_out)
{
	tile_choice_t choice = {.least = 0};
	tile_size_t tile;
	explain_begin(search->explain, "tile");
	explain_formula(search->explain, search->formula);
	for (int index = 0; variant_at(&index, search->kernel, search->dtype, &tile);)
		if (can_be(search, tile))
			try_tile(search, tile, &choice);
	if (choice.smallest.m == 0)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "no tile that is built for %s and pattern %s fits a block of %s "
				 "(%s of shared memory, %d workers): choose another pattern",
				 tsr_dtype_name(search->dtype), pattern, search->device->name,
				 TSR_SIZE(search->device->shared_bytes),
				 search->device->workers_per_block);
	*tile_out = choice.best.m > 0 ? choice.best : choice.smallest;
	explain_tile(search, &choice, *tile_out);
	return TSR_OK;
}

/* What is automatic in a configuration: the tile, the blocks, and how many of them send. */
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/share.h"

#include <math.h>

/* Tiles a rank should have at least, where the tile is ours to choose. */
enum { TILES_TO_OVERLAP = 8 };

/*
 * What a row or a column of a tile costs to load, in elements of its area that
 * are multiplied meanwhile: by the times of fused-sequential on four H200s in
 * tiles of 128, 192 and 256 columns (docs/performance.md).
 */
static const double LOADING = 35;

/* Columns are loaded in boxes of so many. */
enum { BOX = 64 };

/* Costs that differ by less are the same. */
static const double SAME = 0.001;

int64_t gas_whole_tiles(int64_t tiles, int64_t blocks, int parts)
{
	return parts > 1 && blocks >= parts && tiles > 0 ? (tiles - 1) / blocks * blocks : tiles;
}

static int64_t rounds_of(int64_t tiles, int64_t blocks)
{
	return (tiles - 1) / blocks + 1;
}

/**
 * How long a block multiplies a tile, a unit of K: in elements of a tile of 128
 * x 256, of which each takes as long as another.
 */
static double tile_cost(tile_size_t tile)
{
	const int columns = tile.n > BOX ? (tile.n + BOX - 1) / BOX * BOX : tile.n;
	return ((double)tile.m * tile.n + LOADING * (tile.m + columns)) /
	       (1 + LOADING / 128 + LOADING / 256);
}

/*
 * What a column of B costs a block to read from memory, where few rows are
 * multiplied with it: as much as so many rows of a tile take to be multiplied.
 * 4.2 TB/s beside 790 TFLOP/s, on an H200.
 */
static const double READING = 190;

/* Rows that are few: one tile of the usual ones. */
enum { FEW_ROWS = 128 };

/**
 * How long the blocks read B in a product of few rows, where its columns are
 * the most of what is read. Another row of tiles finds about half of them in
 * the cache.
 */
static double reading_time(const gas_config_t *config, tile_size_t tile, int64_t tiles,
			   int64_t computing)
{
	if (config->m > FEW_ROWS)
		return 0;
	const double rows = (double)tiles_of(config->m, tile.m),
		     cols = (double)tiles / rows * tile.n;
	return READING * cols * (double)config->k * (rows + 1) / 2 / (double)computing;
}

/** How long a block takes to multiply a tile, all of its K. */
static double round_cost(const gas_config_t *config, tile_size_t tile)
{
	return tile_cost(tile) * (double)config->k;
}

/* ---------------------------------------------------------------- blocks that send */

static bool knows_links(const tsr_device_props_t *device)
{
	return device->send_depth > 0 && device->link_blocks > 0;
}

/**
 * What sending takes, an element of C to all other ranks: a block that sends,
 * and a rank's links, which several blocks fill.
 */
typedef struct sending {
	double block, links;
	int lanes; /* blocks that fill the links */
} sending_t;

static sending_t sending_to(int peers, const tsr_device_props_t *device)
{
	if (peers == 0)
		return (sending_t){0, 0, device->link_blocks};
	const double block = device->read_depth +
			     peers * (double)(device->send_depth - device->read_depth),
		     links = peers * (double)device->send_depth / device->link_blocks;
	return (sending_t){block, links, (int)ceil(block / links)};
}

/*
 * Handing a part of a tile's sums over takes as long as so much of its K: some
 * 8 us, on four H200s (docs/performance.md).
 */
static const double HANDING_OVER = 730;

/*
 * How long the last tiles take that blocks send themselves, in the time that
 * links need for them: by the times of two and four tiles at 8192x3584x14336
 * and 8192x8192x8192 on four H200s (the same page).
 */
static const double LEFT_LAST = 1.5;

/**
 * A run, where some blocks send: until what the others compute is there, and
 * all but their last tiles is sent; and then those.
 */
typedef struct run_time {
	double computed, sent, last;
	double rounds; /* of whole tiles: those of parts count as what they are of them */
} run_time_t;

/** Rounds of whole tiles, and of parts. */
static run_time_t compute_time(const gas_config_t *config, tile_size_t tile, int64_t tiles,
			       int64_t computing)
{
	const int64_t whole = gas_whole_tiles(tiles, computing, config->parts),
		      parts = config->parts * (tiles - whole);
	const int64_t whole_rounds = whole > 0 ? rounds_of(whole, computing) : 0,
		      rounds = parts > 0 ? rounds_of(parts, computing) : 0;
	/* Who completes a tile gets all sums but its own, one after the other. */
	const double handed_over = rounds > 0 ? (double)(rounds + config->parts - 2) : 0;
	run_time_t time = {.rounds = (double)whole_rounds +
				     (parts > 0 ? (double)rounds / config->parts : 0)};
	time.computed = time.rounds * round_cost(config, tile) +
			handed_over * HANDING_OVER * tile.m * tile.n +
			reading_time(config, tile, tiles, computing);
	return time;
}

/** How many tiles come last: those that the last task of a block completes. */
static int64_t last_tiles(const gas_config_t *config, int64_t tiles, int64_t computing)
{
	const int64_t whole = gas_whole_tiles(tiles, computing, config->parts),
		      each = whole < tiles ? config->parts : 1;
	const int64_t parts = each * (tiles - whole);
	const int64_t last = parts >= computing ? (computing + each - 1) / each
						: computing - parts + parts / each;
	return last < tiles ? last : tiles;
}

static run_time_t run_time(const gas_config_t *config, tile_size_t tile, int ranks, int blocks,
			   int senders, const tsr_device_props_t *device)
{
	const int64_t tiles = gas_most_tiles(config, tile, ranks), computing = blocks - senders;
	const int64_t last = last_tiles(config, tiles, computing);
	const double area = (double)tile.m * tile.n;
	run_time_t time = compute_time(config, tile, tiles, computing);
	if (!knows_links(device))
		return time;
	const sending_t sending = sending_to(ranks - 1, device);
	/* Who sends beside its own products sends all the time; what is computed last is left, if
	 * the links have taken all else. */
	if (config->pattern == GAS_FUSED_SEQUENTIAL &&
	    (double)tiles * sending.links * area < time.computed)
		time.last = LEFT_LAST * (double)last * sending.links * area;
	if (senders == 0)
		return time;
	const double each = fmax(sending.block / senders, sending.links) * area;
	/* The first tiles are there after a round, of parts where none is multiplied whole. */
	const double first =
		tiles > last && time.rounds > 1 ? round_cost(config, tile) : time.computed;
	time.sent = tiles > last ? first + (double)(tiles - last) * each : 0;
	/* Of the last round's tiles, each by the block that has computed it, or all by those that
	 * send. */
	time.last = (double)last *
		    (config->pattern == GAS_FUSED_WORKGROUP ? sending.links * area : each);
	return time;
}

static double run_cost(run_time_t time)
{
	return fmax(time.computed, time.sent) + time.last;
}

/**
 * What tiles and parts are compared by. Here what fused-workgroup-specialized
 * sends last counts for as long as it takes, where run_time counts it at the
 * links' full rate: there, more blocks that only send would always leave less
 * to be computed last, and seem to be better without an end.
 */
static double tile_run_cost(const gas_config_t *config, run_time_t time)
{
	return run_cost(time) +
	       (config->pattern == GAS_FUSED_WORKGROUP ? (LEFT_LAST - 1) * time.last : 0);
}

/**
 * Whether blocks may send that had better compute, were it not for others: the
 * run takes no round more, or the product has time to spare beside what is
 * sent. Then more blocks than fill the links fill them better, for all ranks
 * store to each at once.
 */
static bool may_send(run_time_t time, run_time_t best, int senders, int lanes)
{
	static const double spare = 1.05;
	return time.rounds <= best.rounds ||
	       (time.computed * spare < time.sent && senders <= 2 * lanes);
}

/**
 * Of `blocks`, those that send: with more of them a run takes less time, or no
 * more and they may. Where the device does not say what it sends, a sixth, as
 * 48 of 304 in the paper.
 */
static int choose_senders(const gas_config_t *config, tile_size_t tile, int ranks, int blocks,
			  const tsr_device_props_t *device)
{
	int chosen = 1;
	if (!gas_pattern_kernels(config->pattern)->sends_apart)
		return 0;
	if (config->comm_blocks > 0)
		return config->comm_blocks;
	if (!knows_links(device))
		return (blocks + 5) / 6;
	const int lanes = sending_to(ranks - 1, device).lanes;
	run_time_t best = run_time(config, tile, ranks, blocks, chosen, device);
	for (int senders = 2; senders < blocks; senders++) {
		const run_time_t time = run_time(config, tile, ranks, blocks, senders, device);
		const double cost = run_cost(time), least = run_cost(best);
		if (cost < least * (1 - SAME) ||
		    (cost < least * (1 + SAME) && may_send(time, best, senders, lanes))) {
			chosen = senders;
			best = time;
		}
	}
	return chosen;
}

/** A task for every block that computes, as long as there are blocks. */
static int choose_blocks(const gas_config_t *config, tile_size_t tile, int ranks,
			 const tsr_device_props_t *device)
{
	const bool sends_apart = gas_pattern_kernels(config->pattern)->sends_apart;
	const int least = sends_apart ? 1 + (config->comm_blocks > 1 ? config->comm_blocks : 1) : 1;
	int64_t wanted =
		gas_most_tiles(config, tile, ranks) * (config->parts > 1 ? config->parts : 1) +
		(sends_apart && knows_links(device) ? sending_to(ranks - 1, device).lanes : 0);
	if (config->blocks > 0)
		return config->blocks;
	if (wanted > device->resident_blocks)
		wanted = device->resident_blocks;
	return wanted > least ? (int)wanted : least;
}

/** A run with the blocks and senders that are chosen for it. */
static run_time_t chosen_time(const gas_config_t *config, tile_size_t tile, int ranks,
			      const tsr_device_props_t *device)
{
	const int blocks = choose_blocks(config, tile, ranks, device);
	const int senders = choose_senders(config, tile, ranks, blocks, device);
	/* or it will be refused */
	return run_time(config, tile, ranks, blocks, senders < blocks ? senders : blocks - 1,
			device);
}

/** What a run costs with so many parts. */
static double cost_in_parts(const gas_config_t *config, tile_size_t tile, int parts, int ranks,
			    const tsr_device_props_t *device)
{
	gas_config_t divided = *config;
	divided.parts = parts;
	return tile_run_cost(config, chosen_time(&divided, tile, ranks, device));
}

/**
 * Parts of the last tiles. Halves, where the device is known and they should
 * save 6 %: what they save of rounds that blocks have nothing to do in is worth
 * less than it looks (docs/performance.md). More, where there are fewer tiles
 * than blocks: each should save as much again.
 */
static int choose_parts(const gas_config_t *config, tile_size_t tile, int ranks,
			const tsr_device_props_t *device)
{
	static const double saved = 0.06;
	const int64_t tiles = gas_most_tiles(config, tile, ranks);
	if (!gas_can_divide(config->pattern))
		return 1;
	if (config->parts > 0)
		return config->parts;
	if (!knows_links(device))
		return 1;
	const int most = tiles < device->resident_blocks ? GAS_MOST_PARTS(tile.m, tile.n) : 2;
	int chosen = 1;
	double least = cost_in_parts(config, tile, 1, ranks, device);
	for (int parts = 2; parts <= most && (parts == 2 || parts <= tiles_of(config->k, tile.k));
	     parts++) {
		const double cost = cost_in_parts(config, tile, parts, ranks, device);
		if (cost < (1 - saved) * least) {
			chosen = parts;
			least = cost;
		}
	}
	return chosen;
}

tsr_status_t gas_blocks_choose(gas_config_t *config, int ranks, const tsr_device_props_t *device)
{
	config->parts = choose_parts(config, config->tile, ranks, device);
	config->blocks = choose_blocks(config, config->tile, ranks, device);
	if (config->blocks > device->resident_blocks)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks of pattern %s wait for each other, and %s holds %d at "
				 "one time; launch fewer blocks",
				 config->blocks, gas_pattern_name(config->pattern), device->name,
				 device->resident_blocks);
	config->comm_blocks = choose_senders(config, config->tile, ranks, config->blocks, device);
	return TSR_OK;
}

/* ---------------------------------------------------------------- the tile */

/**
 * Whether a rank's part of C is large enough for the tile: to fill it, and to
 * have other tiles to compute while one is sent.
 */
static bool suits_shape(const gas_config_t *config, tile_size_t tile, int ranks)
{
	return tile.m <= config->m && tile.n <= share_largest(config->n, ranks) &&
	       gas_most_tiles(config, tile, ranks) >= TILES_TO_OVERLAP;
}

/**
 * What a run costs in such tiles, with the blocks that would be chosen for
 * them. Where what is computed and what is sent take about as long, the one
 * that comes late now and then holds up the other, and nothing makes up for it.
 */
static double cost_of(const gas_config_t *config, tile_size_t tile, int ranks,
		      const tsr_device_props_t *device)
{
	static const double about = 0.95, held_up = 1.03;
	const bool sends_apart = gas_pattern_kernels(config->pattern)->sends_apart;
	gas_config_t candidate = *config;
	/* Where some blocks only send, tiles are compared whole: halves of wide ones come out
	 * slower than they should by this. */
	candidate.parts =
		sends_apart && config->parts == 0 ? 1 : choose_parts(config, tile, ranks, device);
	const run_time_t time = chosen_time(&candidate, tile, ranks, device);
	const bool is_tight =
		fmin(time.computed, time.sent) > about * fmax(time.computed, time.sent);
	return tile_run_cost(config, time) * (is_tight ? held_up : 1);
}

/**
 * Whether the device multiplies such tiles many times faster than others: of
 * its depth, of 16-bit elements. (Rows of a plan's A and B begin where copy
 * engines take them.) Then even one that the shape does not fill is the better
 * choice.
 */
static bool is_preferred(const gas_config_t *config, tile_size_t tile,
			 const tsr_device_props_t *device)
{
	return device->tile_depth > 0 && tile.k == device->tile_depth &&
	       tsr_dtype_bytes(config->dtype) == 2;
}

tsr_status_t gas_tile_choose(gas_config_t *config, int ranks, const tsr_device_props_t *device)
{
	tile_size_t tile, best = {0, 0, 0}, smallest = {0, 0, 0};
	const char *kernel = gas_pattern_kernels(config->pattern)->kernels[0];
	bool is_best_preferred = false;
	double least = 0;
	for (int index = 0; variant_at(&index, gas_pattern_kernels(config->pattern)->kernels[0],
				       config->dtype, &tile);) {
		char variant[VARIANT_NAME];
		variant_name(config->dtype, tile, variant);
		if (!variant_fits(tsr_kernel_find(kernel, variant), device) ||
		    config->parts > GAS_MOST_PARTS(tile.m, tile.n))
			continue;
		if (smallest.m == 0 || tile.m * tile.n < smallest.m * smallest.n)
			smallest = tile;
		const double cost = cost_of(config, tile, ranks, device);
		const bool preferred = is_preferred(config, tile, device);
		if (preferred < is_best_preferred ||
		    (!preferred && !suits_shape(config, tile, ranks)))
			continue;
		if (best.m == 0 || preferred > is_best_preferred || cost < least) {
			best = tile;
			least = cost;
			is_best_preferred = preferred;
		}
	}
	if (smallest.m == 0)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "no tile that is built for %s and pattern %s fits a block of %s "
				 "(%s of shared memory, %d "
				 "workers): choose another pattern",
				 tsr_dtype_name(config->dtype), gas_pattern_name(config->pattern),
				 device->name, TSR_SIZE(device->shared_bytes),
				 device->workers_per_block);
	config->tile = best.m ? best : smallest;
	return TSR_OK;
}

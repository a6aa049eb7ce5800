/*
 * Automatic choices in a configuration: the tile, the number of blocks, and how
 * many of them send. The choices come from a model of a run's time. Its unit is
 * the time that a block needs to multiply one element of a 128 x 256 tile, for
 * one unit of K.
 */
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/share.h"

#include <math.h>

/*
 * A tile suits the shape if a rank has at least this many, so that one can be
 * sent while others are computed.
 */
enum { TILES_TO_OVERLAP = 8 };

/*
 * Time to load one row or column of a tile, for each unit of K. Measured with
 * fused-sequential on four H200s in tiles of 128, 192 and 256 columns
 * (docs/performance.md).
 */
static const double LOADING = 35;

/* Columns are loaded in boxes of this many. */
enum { BOX = 64 };

/* Costs whose relative difference is smaller count as equal. */
static const double SAME = 0.001;

int64_t gas_whole_tiles(int64_t tiles, int64_t blocks, int parts)
{
	return parts > 1 && blocks >= parts && tiles > 0 ? (tiles - 1) / blocks * blocks : tiles;
}

static int64_t rounds_of(int64_t tiles, int64_t blocks)
{
	return (tiles - 1) / blocks + 1;
}

/** Time for a block to multiply a tile, for each unit of K. */
static double tile_cost(tile_size_t tile)
{
	const int columns = tile.n > BOX ? (tile.n + BOX - 1) / BOX * BOX : tile.n;
	return ((double)tile.m * tile.n + LOADING * (tile.m + columns)) /
	       (1 + LOADING / 128 + LOADING / 256);
}

/*
 * Time for a block to read one column of B from memory, for each unit of K, in
 * products of few rows: as long as multiplying this many rows of a tile. From
 * 4.2 TB/s and 790 TFLOP/s, on an H200.
 */
static const double READING = 190;

/* Few rows: at most one tile of the usual height. */
enum { FEW_ROWS = 128 };

/**
 * Time for the blocks to read B in a product of few rows, in which B is most of
 * what is read. A further row of tiles finds about half of B's columns in the
 * cache.
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

/** Time for a block to multiply a tile, with all of its K. */
static double round_cost(const gas_config_t *config, tile_size_t tile)
{
	return tile_cost(tile) * (double)config->k;
}

/*
 * ------------------------------------------------------------ blocks that send
 */

static bool knows_links(const tsr_device_props_t *device)
{
	return device->send_depth > 0 && device->link_blocks > 0;
}

/**
 * Time to send one element of C to all peers: by one block, and for the rank's
 * links as a whole.
 */
typedef struct sending {
	double block, links;
	int lanes; /* number of blocks that fill the links */
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
 * Time to hand over a part's sums: as long as multiplying this many units of K,
 * about 8 us. Measured on four H200s (docs/performance.md).
 */
static const double HANDING_OVER = 730;

/*
 * Computing blocks send their last tiles this many times slower than the links
 * allow. From runs with two and four tiles at 8192x3584x14336 and
 * 8192x8192x8192 on four H200s (docs/performance.md).
 */
static const double LEFT_LAST = 1.5;

/**
 * Model of a run. `computed`: until the computing blocks have finished. `sent`:
 * until the sending blocks have sent all tiles but the last ones. Both overlap.
 * `last`: time to send the last tiles, after both.
 */
typedef struct run_time {
	double computed, sent, last;
	/* rounds of whole tiles; a round of parts counts as its fraction of a tile */
	double rounds;
} run_time_t;

/** Computing time: rounds of whole tiles, then rounds of parts. */
static run_time_t compute_time(const gas_config_t *config, tile_size_t tile, int64_t tiles,
			       int64_t computing)
{
	const int64_t whole = gas_whole_tiles(tiles, computing, config->parts),
		      parts = config->parts * (tiles - whole);
	const int64_t whole_rounds = whole > 0 ? rounds_of(whole, computing) : 0,
		      rounds = parts > 0 ? rounds_of(parts, computing) : 0;
	/* The block that completes a tile adds the sums of all other parts, one after the other. */
	const double handed_over = rounds > 0 ? (double)(rounds + config->parts - 2) : 0;
	run_time_t time = {.rounds = (double)whole_rounds +
				     (parts > 0 ? (double)rounds / config->parts : 0)};
	time.computed = time.rounds * round_cost(config, tile) +
			handed_over * HANDING_OVER * tile.m * tile.n +
			reading_time(config, tile, tiles, computing);
	return time;
}

/** The number of last tiles: those that a block's last task completes. */
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
	/* Blocks that send their own tiles send during the whole run. If the links keep up with
	 * that, only the tiles that are computed last remain to be sent. */
	if (config->pattern == GAS_FUSED_SEQUENTIAL &&
	    (double)tiles * sending.links * area < time.computed)
		time.last = LEFT_LAST * (double)last * sending.links * area;
	if (senders == 0)
		return time;
	const double each = fmax(sending.block / senders, sending.links) * area;
	/* The first tiles are complete after one round; if there is no round of whole tiles, after
	 * all parts. */
	const double first =
		tiles > last && time.rounds > 1 ? round_cost(config, tile) : time.computed;
	time.sent = tiles > last ? first + (double)(tiles - last) * each : 0;
	/* Each tile of the last round is sent by the block that has computed it, or all of them by
	 * the sending blocks. */
	time.last = (double)last *
		    (config->pattern == GAS_FUSED_WORKGROUP ? sending.links * area : each);
	return time;
}

static double run_cost(run_time_t time)
{
	return fmax(time.computed, time.sent) + time.last;
}

/**
 * The cost by which tiles and parts are compared. For
 * fused-workgroup-specialized, run_time counts the last tiles at the full rate
 * of the links; here they count with the time that they really take. run_time
 * must not do that: it compares numbers of sending blocks, and each further one
 * would seem better, because it leaves fewer tiles for last.
 */
static double tile_run_cost(const gas_config_t *config, run_time_t time)
{
	return run_cost(time) +
	       (config->pattern == GAS_FUSED_WORKGROUP ? (LEFT_LAST - 1) * time.last : 0);
}

/**
 * Whether more blocks may send although this rank's run does not become
 * shorter: if the run takes no more rounds, or if computing has time to spare
 * beside sending. All ranks store to each rank at the same time, so more blocks
 * than fill the links of one rank then fill all links better.
 */
static bool may_send(run_time_t time, run_time_t best, int senders, int lanes)
{
	static const double spare = 1.05;
	return time.rounds <= best.rounds ||
	       (time.computed * spare < time.sent && senders <= 2 * lanes);
}

/**
 * The number of sending blocks, of `blocks`: each further one must shorten the
 * run, or leave its length as it is if may_send allows that. If the device does
 * not know the rate of its links: a sixth of the blocks, as 48 of 304 in the
 * paper.
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

/**
 * The number of blocks: one computing block for each task, as far as the device
 * holds them.
 */
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

/**
 * The time of a run with the numbers of blocks and senders that would be chosen
 * for it.
 */
static run_time_t chosen_time(const gas_config_t *config, tile_size_t tile, int ranks,
			      const tsr_device_props_t *device)
{
	const int blocks = choose_blocks(config, tile, ranks, device);
	const int senders = choose_senders(config, tile, ranks, blocks, device);
	/* with too many senders the configuration is refused later */
	return run_time(config, tile, ranks, blocks, senders < blocks ? senders : blocks - 1,
			device);
}

/** The cost of a run with `parts` parts. */
static double cost_in_parts(const gas_config_t *config, tile_size_t tile, int parts, int ranks,
			    const tsr_device_props_t *device)
{
	gas_config_t divided = *config;
	divided.parts = parts;
	return tile_run_cost(config, chosen_time(&divided, tile, ranks, device));
}

/**
 * The number of parts of the last tiles. Two, if the link rates are known and
 * that is expected to save at least 6 %: idle rounds that are saved are worth
 * less than they look (docs/performance.md). More than two only if there are
 * fewer tiles than blocks; each larger number must save as much again.
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

/* ------------------------------------------------------------ the tile */

/**
 * Whether a rank's part of C is large enough for the tile: it fills at least
 * one, and has others to compute while one is sent.
 */
static bool suits_shape(const gas_config_t *config, tile_size_t tile, int ranks)
{
	return tile.m <= config->m && tile.n <= share_largest(config->n, ranks) &&
	       gas_most_tiles(config, tile, ranks) >= TILES_TO_OVERLAP;
}

/**
 * The cost of a run with such tiles and the blocks that would be chosen for
 * them. If computing and sending take about equally long, the slower one delays
 * the other now and then, and nothing makes up for that.
 */
static double cost_of(const gas_config_t *config, tile_size_t tile, int ranks,
		      const tsr_device_props_t *device)
{
	static const double about = 0.95, held_up = 1.03;
	const bool sends_apart = gas_pattern_kernels(config->pattern)->sends_apart;
	gas_config_t candidate = *config;
	/* In patterns with blocks that only send, whole tiles are compared: halves of wide tiles
	 * are slower than this model says. */
	candidate.parts =
		sends_apart && config->parts == 0 ? 1 : choose_parts(config, tile, ranks, device);
	const run_time_t time = chosen_time(&candidate, tile, ranks, device);
	const bool is_tight =
		fmin(time.computed, time.sent) > about * fmax(time.computed, time.sent);
	return tile_run_cost(config, time) * (is_tight ? held_up : 1);
}

/**
 * Whether the device multiplies such tiles many times faster than others:
 * 16-bit elements, and the K of its matrix units. (The rows of a plan's A and B
 * are aligned for copy engines.) Such a tile is the better choice even if the
 * shape does not fill it.
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

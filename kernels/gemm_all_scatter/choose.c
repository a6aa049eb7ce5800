/*
 * Automatic choices in a configuration: the tile, the parts of K, the number of
 * blocks, and how many of them send. The choices come from a model of a run's
 * time. What products and links cost is in kernels/host/cost.h; how the patterns
 * overlap the two is here.
 */
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/cost.h"
#include "kernels/host/share.h"

#include <math.h>

/*
 * A tile suits the shape if a rank has at least this many, so that one can be
 * sent while others are computed.
 */
enum { TILES_TO_OVERLAP = 8 };

/* Costs whose relative difference is smaller count as equal. */
static const double SAME = 0.001;

static bool sends_apart(const gas_config_t *config)
{
	return gas_pattern_kernels(config->pattern)->sends_apart;
}

static cost_product_t product_in_tiles(const gas_config_t *config, int ranks)
{
	return (cost_product_t){.m = config->m,
				.k = config->k,
				.tile = config->tile,
				.tiles = gas_most_tiles(config, config->tile, ranks),
				.parts = config->parts};
}

/* ------------------------------------------------------------ the time of a run */

/** Model of a run: it computes and sends at the same time, then sends the last tiles. */
typedef struct run_time {
	double computed; /* until the computing blocks have finished */
	double sent;     /* until the sending blocks have sent all tiles but the last ones */
	double last;     /* time to send the last tiles, after both */
	double rounds;   /* of whole tiles, as cost_compute counts them */
} run_time_t;

static double run_cost(run_time_t time)
{
	return fmax(time.computed, time.sent) + time.last;
}

/**
 * Time to send the last tiles if each block sends its own tiles during its next
 * product. If the links keep up with that, only the tiles that are computed last
 * remain to be sent.
 */
static double left_of_fused_sequential(const cost_product_t *product, cost_sending_t sending,
				       double computed, int64_t last_tiles,
				       const machine_t *machine)
{
	const double tile_on_links = sending.links * product->tile.m * product->tile.n;
	return (double)product->tiles * tile_on_links < computed
		       ? machine->last_sends * (double)last_tiles * tile_on_links
		       : 0;
}

/** Adds the times of sending if `senders` blocks only send. */
static void send_apart(const gas_config_t *config, const workload_place_t *place, int senders,
		       int64_t last_tiles, run_time_t *time)
{
	const cost_product_t product = product_in_tiles(config, place->ranks);
	const cost_sending_t sending = cost_send(place->machine, place->ranks - 1);
	const double area = (double)product.tile.m * product.tile.n,
		     tile_on_links = sending.links * area,
		     tile_by_senders = fmax(sending.block / senders, sending.links) * area;
	/* The first tiles are complete after one round; if there is no round of whole tiles, after
	 * all parts. */
	const double first = product.tiles > last_tiles && time->rounds > 1
				     ? cost_whole_tile(place->machine, &product)
				     : time->computed;
	time->sent = product.tiles > last_tiles
			     ? first + (double)(product.tiles - last_tiles) * tile_by_senders
			     : 0;
	/* Each of the last tiles is sent by the block that has computed it, or all of them by the
	 * sending blocks. */
	time->last = (double)last_tiles *
		     (config->pattern == GAS_FUSED_WORKGROUP ? tile_on_links : tile_by_senders);
}

static run_time_t run_time(const gas_config_t *config, const workload_place_t *place, int senders)
{
	const cost_product_t product = product_in_tiles(config, place->ranks);
	const int64_t computing_blocks = config->blocks - senders,
		      last_tiles = cost_last_tiles(&product, computing_blocks);
	const cost_computing_t computing = cost_compute(place->machine, &product, computing_blocks);
	run_time_t time = {.computed = computing.time, .rounds = computing.rounds};
	if (!cost_knows_links(place->machine))
		return time;
	if (config->pattern == GAS_FUSED_SEQUENTIAL)
		time.last = left_of_fused_sequential(&product,
						     cost_send(place->machine, place->ranks - 1),
						     time.computed, last_tiles, place->machine);
	if (senders > 0)
		send_apart(config, place, senders, last_tiles, &time);
	return time;
}

/* ------------------------------------------------------------ blocks that send */

/**
 * Whether more blocks may send although this rank's run does not become
 * shorter: if the run takes no more rounds, or if computing has time to spare
 * beside sending. All ranks store to each rank at the same time, so more blocks
 * than fill the links of one rank then fill all links better.
 */
static bool may_send(run_time_t time, run_time_t best, int senders, int lanes,
		     const machine_t *machine)
{
	return time.rounds <= best.rounds ||
	       (time.computed * machine->spare_ratio < time.sent && senders <= 2 * lanes);
}

/**
 * The number of sending blocks: each further one must shorten the run, or leave
 * its length as it is if may_send allows that. If the cost of sending is not
 * known: a sixth of the blocks, as 48 of 304 in the paper.
 */
static int choose_senders(const gas_config_t *config, const workload_place_t *place)
{
	int chosen = 1;
	if (!sends_apart(config))
		return 0;
	if (config->comm_blocks > 0)
		return config->comm_blocks;
	if (!cost_knows_links(place->machine))
		return (config->blocks + 5) / 6;
	const int lanes = cost_send(place->machine, place->ranks - 1).lanes;
	run_time_t best = run_time(config, place, chosen);
	for (int senders = 2; senders < config->blocks; senders++) {
		const run_time_t time = run_time(config, place, senders);
		const double cost = run_cost(time), least = run_cost(best);
		if (cost < least * (1 - SAME) ||
		    (cost < least * (1 + SAME) &&
		     may_send(time, best, senders, lanes, place->machine))) {
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
static int choose_blocks(const gas_config_t *config, const workload_place_t *place)
{
	if (config->blocks > 0)
		return config->blocks;
	const int least =
		sends_apart(config) ? 1 + (config->comm_blocks > 1 ? config->comm_blocks : 1) : 1;
	int64_t wanted = gas_most_tiles(config, config->tile, place->ranks) *
			 (config->parts > 1 ? config->parts : 1);
	if (sends_apart(config) && cost_knows_links(place->machine))
		wanted += cost_send(place->machine, place->ranks - 1).lanes;
	if (wanted > place->device->resident_blocks)
		wanted = place->device->resident_blocks;
	return wanted > least ? (int)wanted : least;
}

/**
 * The time of a run with `parts` parts, and with the numbers of blocks and
 * senders that would be chosen for it.
 */
static run_time_t chosen_time(const gas_config_t *config, const workload_place_t *place, int parts)
{
	gas_config_t candidate = *config;
	candidate.parts = parts;
	candidate.blocks = choose_blocks(&candidate, place);
	const int senders = choose_senders(&candidate, place), most = candidate.blocks - 1;
	/* With too many senders the configuration is refused later. */
	return run_time(&candidate, place, senders < most ? senders : most);
}

/* ------------------------------------------------------------ parts, and the tile */

/**
 * The cost by which tiles and parts are compared. For
 * fused-workgroup-specialized, run_time counts the last tiles at the full rate
 * of the links; here they count with the time that they really take. run_time
 * must not do that: it compares numbers of sending blocks, and each further one
 * would seem better, because it leaves fewer tiles for last.
 */
static double tile_run_cost(const gas_config_t *config, run_time_t time, const machine_t *machine)
{
	return run_cost(time) +
	       (config->pattern == GAS_FUSED_WORKGROUP ? (machine->last_sends - 1) * time.last : 0);
}

/**
 * The number of parts of the last tiles. Two, if the cost of sending is known and
 * they are expected to save enough: idle rounds that are saved are worth less
 * than they look (docs/performance.md). More than two only if there are fewer
 * tiles than blocks; each larger number must save as much again.
 */
static int choose_parts(const gas_config_t *config, const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const tile_size_t tile = config->tile;
	if (!gas_can_divide(config->pattern))
		return 1;
	if (config->parts > 0)
		return config->parts;
	if (!cost_knows_links(machine))
		return 1;
	const bool has_few =
		gas_most_tiles(config, tile, place->ranks) < place->device->resident_blocks;
	const int most = has_few ? TILING_MOST_PARTS(tile.m, tile.n) : 2;
	int chosen = 1;
	double least = tile_run_cost(config, chosen_time(config, place, 1), machine);
	for (int parts = 2; parts <= most && (parts == 2 || parts <= tiles_of(config->k, tile.k));
	     parts++) {
		const double cost =
			tile_run_cost(config, chosen_time(config, place, parts), machine);
		if (cost < (1 - machine->divide_gain) * least) {
			chosen = parts;
			least = cost;
		}
	}
	return chosen;
}

/** A configuration whose tile is to be chosen, and where it is to run. */
typedef struct candidate {
	const gas_config_t *config;
	const workload_place_t *place;
} candidate_t;

static bool can_be_divided(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	return candidate->config->parts <= TILING_MOST_PARTS(tile.m, tile.n);
}

/**
 * Whether a rank's part of C is large enough for the tile: it fills at least
 * one, and has others to compute while one is sent.
 */
static bool suits_shape(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const gas_config_t *config = candidate->config;
	const int ranks = candidate->place->ranks;
	return tile.m <= config->m && tile.n <= share_largest(config->n, ranks) &&
	       gas_most_tiles(config, tile, ranks) >= TILES_TO_OVERLAP;
}

/**
 * The cost of a run with such tiles. If computing and sending take about equally
 * long, the slower one delays the other now and then, and nothing makes up for
 * that.
 */
static double cost_in_tiles(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const machine_t *machine = candidate->place->machine;
	gas_config_t config = *candidate->config;
	config.tile = tile;
	/* In patterns with blocks that only send, whole tiles are compared: halves of wide tiles
	 * are slower than this model says. */
	const int parts = sends_apart(&config) && config.parts == 0
				  ? 1
				  : choose_parts(&config, candidate->place);
	const run_time_t time = chosen_time(&config, candidate->place, parts);
	const bool is_tight = fmin(time.computed, time.sent) >
			      machine->tight_ratio * fmax(time.computed, time.sent);
	return tile_run_cost(&config, time, machine) * (is_tight ? machine->tight_loss : 1);
}

tsr_status_t gas_tile_choose(gas_config_t *config, const workload_place_t *place)
{
	const candidate_t candidate = {config, place};
	const cost_search_t search = {
		.kernel = gas_pattern_kernels(config->pattern)->kernels[0],
		.dtype = config->dtype,
		.device = place->device,
		.can = can_be_divided,
		.suits = suits_shape,
		.cost = cost_in_tiles,
		.ctx = &candidate,
	};
	return cost_choose_tile(&search, gas_pattern_name(config->pattern), &config->tile);
}

tsr_status_t gas_blocks_choose(gas_config_t *config, const workload_place_t *place)
{
	config->parts = choose_parts(config, place);
	config->blocks = choose_blocks(config, place);
	if (config->blocks > place->device->resident_blocks)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks of pattern %s wait for each other, and %s holds %d at "
				 "one time; launch fewer blocks",
				 config->blocks, gas_pattern_name(config->pattern),
				 place->device->name, place->device->resident_blocks);
	config->comm_blocks = choose_senders(config, place);
	return TSR_OK;
}

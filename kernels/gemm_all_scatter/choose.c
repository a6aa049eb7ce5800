/*
 * Automatic choices in a configuration: the tile, the parts of K, the number of
 * blocks, and how many of them send. The choices come from a model of a run's
 * time. What products and links cost is in kernels/choices/cost.h; how the patterns
 * overlap the two is here.
 */
#include "kernels/choices/cost.h"
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/share.h"

#include <math.h>

/*
 * A tile suits the shape if a rank has at least this many, so that one can be
 * sent while others are computed.
 */
enum { TILES_TO_OVERLAP = 8 };

/*
 * So many times as many blocks send at most as could fill the links: 44 where 11
 * could were as fast as any on four H200s (8192x14336x4096, 15adc83).
 */
enum { MOST_LANES = 4 };

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

/** Nanoseconds of a cost of 1, with the tile that is chosen; 0: not known. */
static double unit_ns(const gas_config_t *config, const workload_place_t *place)
{
	return cost_is_fast_tile(place->device, config->tile, config->dtype)
		       ? cost_unit_ns(place->machine, place->device, config->dtype)
		       : 0;
}

/* ------------------------------------------------------------ the time of a run */

/** Model of a run: it computes and sends at the same time, then sends the last tiles. */
typedef struct run_time {
	double computed; /* until the computing blocks have finished */
	double sent;     /* until the sending blocks have sent all tiles but the last ones */
	double last;     /* time to send the last tiles, after both */
	double rounds;   /* of whole tiles, as cost_compute counts them */
	/* what that comes from: the computing blocks' work, and the numbers of parts and senders */
	cost_computing_t computing;
	int parts, senders;
	bool is_by_links; /* more senders would not send faster */
} run_time_t;

static double run_cost(run_time_t time)
{
	return fmax(time.computed, time.sent) + time.last;
}

/* This cost in terms of the parts that explain_run records. */
#define RUN_FORMULA "max(" COST_COMPUTING ", send) + last sends"

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
		     tile_by_senders =
			     cost_send_both(sending.block / senders, sending.links) * area;
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
	time->is_by_links = sending.block / senders <= sending.links;
}

static run_time_t run_time(const gas_config_t *config, const workload_place_t *place, int senders)
{
	const cost_product_t product = product_in_tiles(config, place->ranks);
	const int64_t computing_blocks = config->blocks - senders,
		      last_tiles = cost_last_tiles(&product, computing_blocks);
	const cost_computing_t computing = cost_compute(place->machine, &product, computing_blocks);
	run_time_t time = {.computed = computing.time,
			   .rounds = computing.rounds,
			   .computing = computing,
			   .parts = config->parts > 1 ? config->parts : 1,
			   .senders = senders};
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

/** What a run waits for longest. */
static const char *bound_of(run_time_t time, double last)
{
	if (last > fmax(time.computed, time.sent))
		return "the last sends";
	if (time.sent > time.computed)
		return time.is_by_links ? "links" : "blocks that send";
	return cost_bound(&time.computing);
}

/** Records a run whose last tiles take `last`. */
static void explain_run(explain_t *explain, run_time_t time, double last)
{
	cost_explain(explain, &time.computing);
	if (time.sent > 0)
		explain_part(explain, "send", time.sent);
	if (last > 0)
		explain_part(explain, "last sends", last);
	explain_bound(explain, bound_of(time, last));
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

static run_time_t priced_senders(const gas_config_t *config, const workload_place_t *place,
				 int senders)
{
	const run_time_t time = run_time(config, place, senders);
	explain_try(place->explain, explain_number(senders));
	explain_run(place->explain, time, time.last);
	explain_cost(place->explain, run_cost(time));
	return time;
}

/** The number of sending blocks that takes least time, if the cost of sending is known. */
static int cheapest_senders(const gas_config_t *config, const workload_place_t *place)
{
	const int lanes = cost_send(place->machine, place->ranks - 1).lanes;
	int chosen = 1;
	double margin = 1 + SAME; /* of steps that count as equal, one behind the other */
	explain_begin(place->explain, "comm-blocks");
	explain_unit(place->explain, unit_ns(config, place));
	explain_formula(place->explain, RUN_FORMULA);
	run_time_t best = priced_senders(config, place, chosen);
	for (int senders = 2; senders < config->blocks && senders <= MOST_LANES * lanes;
	     senders++) {
		const run_time_t time = priced_senders(config, place, senders);
		const double cost = run_cost(time), least = run_cost(best);
		const bool is_less = cost < least * (1 - SAME);
		if (is_less || (cost < least * (1 + SAME) &&
				may_send(time, best, senders, lanes, place->machine))) {
			chosen = senders;
			best = time;
			margin = is_less ? 1 + SAME : margin * (1 + SAME);
		}
	}
	explain_end(place->explain, explain_number(chosen), margin - 1,
		    "each further one shortens the run by %g %%, or leaves it as long within that "
		    "and takes no further round or has time to spare (spare_ratio)",
		    100 * SAME);
	return chosen;
}

/**
 * The number of sending blocks: each further one must shorten the run, or leave
 * its length as it is if may_send allows that. If the cost of sending is not
 * known: a sixth of the blocks, as 48 of 304 in the paper.
 */
static int choose_senders(const gas_config_t *config, const workload_place_t *place)
{
	if (!sends_apart(config)) {
		explain_rule(place->explain, "comm-blocks", explain_number(0), EXPLAIN_NO_SENDERS);
		return 0;
	}
	if (config->comm_blocks > 0)
		return config->comm_blocks;
	if (cost_knows_links(place->machine))
		return cheapest_senders(config, place);
	const int sixth = (config->blocks + 5) / 6;
	explain_rule(place->explain, "comm-blocks", explain_number(sixth), EXPLAIN_SIXTH,
		     config->blocks);
	return sixth;
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
	const int64_t tasks = gas_most_tiles(config, config->tile, place->ranks) *
			      (config->parts > 1 ? config->parts : 1);
	const int lanes = sends_apart(config) && cost_knows_links(place->machine)
				  ? cost_send(place->machine, place->ranks - 1).lanes
				  : 0;
	const int most = place->device->resident_blocks;
	const int64_t wanted = tasks + lanes < most ? tasks + lanes : most;
	const int blocks = wanted > least ? (int)wanted : least;
	explain_blocks(place->explain, blocks, tasks, lanes, most);
	return blocks;
}

/**
 * The time of a run with `parts` parts, and with the numbers of blocks and
 * senders that would be chosen for it.
 */
static run_time_t chosen_time(const gas_config_t *config, const workload_place_t *place, int parts)
{
	gas_config_t candidate = *config;
	candidate.parts = parts;
	const workload_place_t unheard = explain_unheard(place);
	candidate.blocks = choose_blocks(&candidate, &unheard);
	const int senders = choose_senders(&candidate, &unheard), most = candidate.blocks - 1;
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

/** The time that the last tiles add to a run, as tile_run_cost counts it. */
static double last_cost(const gas_config_t *config, run_time_t time, const machine_t *machine)
{
	return tile_run_cost(config, time, machine) - fmax(time.computed, time.sent);
}

static double priced_parts(const gas_config_t *config, const workload_place_t *place, int parts)
{
	const machine_t *machine = place->machine;
	const run_time_t time = chosen_time(config, place, parts);
	const double cost = tile_run_cost(config, time, machine);
	explain_try(place->explain, explain_number(parts));
	if (time.senders > 0)
		explain_count(place->explain, "senders", time.senders);
	explain_run(place->explain, time, last_cost(config, time, machine));
	explain_cost(place->explain, cost);
	return cost;
}

/**
 * The number of parts that takes least time: two, if that is expected to save
 * enough. More than two only if there are fewer tiles than blocks; each larger
 * number must save as much again.
 */
static int cheapest_parts(const gas_config_t *config, const workload_place_t *place)
{
	const double gain = place->machine->divide_gain;
	const tile_size_t tile = config->tile;
	const bool has_few =
		gas_most_tiles(config, tile, place->ranks) < place->device->resident_blocks;
	const int most = has_few ? TILING_MOST_PARTS(tile.m, tile.n) : 2;
	int chosen = 1;
	explain_begin(place->explain, "parts");
	explain_unit(place->explain, unit_ns(config, place));
	explain_formula(place->explain, RUN_FORMULA);
	double least = priced_parts(config, place, 1);
	for (int parts = 2; parts <= most && (parts == 2 || parts <= tiles_of(config->k, tile.k));
	     parts++) {
		const double cost = priced_parts(config, place, parts);
		if (cost < (1 - gain) * least) {
			chosen = parts;
			least = cost;
		}
	}
	explain_end(place->explain, explain_number(chosen), gain / (1 - gain),
		    "the least cost, where a larger number must save %g %% (divide_gain)",
		    100 * gain);
	return chosen;
}

/**
 * The number of parts of the last tiles: one, unless the cost of sending is known
 * and dividing saves enough. Idle rounds that are saved are worth less than they
 * look (docs/performance.md).
 */
static int choose_parts(const gas_config_t *config, const workload_place_t *place)
{
	const bool can_divide = gas_can_divide(config->pattern);
	if (can_divide && config->parts > 0)
		return config->parts;
	if (can_divide && cost_knows_links(place->machine))
		return cheapest_parts(config, place);
	explain_rule(place->explain, "parts", explain_number(1),
		     can_divide ? "whole tiles: the machine's file has no figures of links"
				: "this pattern does not divide tiles");
	return 1;
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
	const workload_place_t *place = candidate->place, unheard = explain_unheard(place);
	const machine_t *machine = place->machine;
	gas_config_t config = *candidate->config;
	config.tile = tile;
	/* In patterns with blocks that only send, whole tiles are compared: halves of wide tiles
	 * are slower than this model says. */
	const int parts =
		sends_apart(&config) && config.parts == 0 ? 1 : choose_parts(&config, &unheard);
	const run_time_t time = chosen_time(&config, place, parts);
	const bool is_tight = fmin(time.computed, time.sent) >
			      machine->tight_ratio * fmax(time.computed, time.sent);
	const double alone = tile_run_cost(&config, time, machine),
		     cost = alone * (is_tight ? machine->tight_loss : 1);
	explain_count(place->explain, "parts", time.parts);
	if (time.senders > 0)
		explain_count(place->explain, "senders", time.senders);
	explain_run(place->explain, time, last_cost(&config, time, machine));
	if (is_tight)
		explain_part(place->explain, "hold up", cost - alone);
	return cost;
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
		.explain = place->explain,
		.formula = RUN_FORMULA " + hold up",
		.unit_ns = cost_unit_ns(place->machine, place->device, config->dtype),
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

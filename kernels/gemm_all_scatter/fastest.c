/*
 * Automatic choice of the pattern. Four were the fastest of some shape on one, two
 * and four H200s: bulk-synchronous, fused-sequential, fused-workgroup-specialized
 * and banded. Each is priced with the tile and the blocks that it would have.
 */
#include <math.h>

#include "kernels/choices/cost.h"
#include "kernels/choices/pattern.h"
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/share.h"

enum {
	COMPARED = 1U << GAS_BULK_SYNCHRONOUS | 1U << GAS_FUSED_SEQUENTIAL |
		   1U << GAS_FUSED_WORKGROUP | 1U << GAS_BANDED
};

/*
 * Beside copies by copy engines a product takes so much longer (docs/performance.md,
 * Copy engines).
 */
static const double BESIDE_COPIES = 1.03;

/** A problem, and where it is to run. */
typedef struct problem {
	const gas_config_t *config;
	const workload_place_t *place;
} problem_t;

/** A run of a pattern. Times are in nanoseconds. */
typedef struct run {
	const machine_t *machine;
	int peers;
	double computing, first; /* of all rounds of tiles, and of the first one */
	double bytes;            /* that go to all peers */
	double links;            /* in which the links carry them */
	double last;             /* the part of all tiles that a block's last task completes */
	double launch, signal;
	int senders, bands;
} run_t;

/** Makes the choices that a run in this pattern would have. False: it cannot run. */
static bool configure(const problem_t *problem, gas_pattern_t pattern, gas_config_t *config_out)
{
	const workload_place_t unheard = explain_unheard(problem->place);
	gas_config_t *c = config_out;
	*c = *problem->config;
	c->pattern = pattern;
	return gas_config_check(c, unheard.ranks) == TSR_OK &&
	       (!tile_is_automatic(c->tile) || gas_tile_choose(c, &unheard) == TSR_OK) &&
	       gas_blocks_choose(c, &unheard) == TSR_OK && c->comm_blocks < c->blocks;
}

static run_t run_of(const gas_config_t *c, const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const int64_t cols = share_largest(c->n, place->ranks), blocks = c->blocks - c->comm_blocks;
	const cost_product_t product = {.m = c->m,
					.k = c->k,
					.tile = c->tile,
					.tiles = gas_most_tiles(c, c->tile, place->ranks),
					.parts = c->parts};
	const cost_computing_t computing = cost_compute(machine, &product, blocks);
	run_t run = {.machine = machine,
		     .peers = place->ranks - 1,
		     .launch = machine->launch * 1e3,
		     .signal = machine->signal,
		     .senders = c->comm_blocks};
	run.computing =
		computing.time * cost_unit_ns(machine, place->device, c->dtype) +
		ceil(computing.rounds) * cost_epilogue_ns(machine, (double)c->tile.m * c->tile.n);
	run.first = run.computing / fmax(1, computing.rounds);
	run.last = (double)cost_last_tiles(&product, blocks) / (double)product.tiles;
	run.bytes = (double)c->m * (double)cols * (double)tsr_dtype_bytes(c->dtype) * run.peers;
	run.links = run.peers > 0 ? run.bytes / machine_egress(machine, run.peers) : 0;
	run.bands = (int)gas_bands(tiles_of(c->m, c->tile.m), tiles_of(cols, c->tile.n),
				   TILING_GROUP, c->blocks,
				   gas_bands_wanted(c, cols, place->ranks, machine), c->bands > 0)
			    .count;
	return run;
}

/* ------------------------------------------------------------ the patterns
 *
 * How many signals follow each other, by the number of peers, is fitted to
 * simulations of small shapes (bench/compare-choices).
 */

/** The second kernel waits for its first loads and stores, and tells each peer in turn. */
static pattern_time_t bulk_synchronous(const run_t *run)
{
	const machine_t *machine = run->machine;
	const double second = run->launch + machine->memory_latency + machine->link_latency;
	return (pattern_time_t){.computing = run->computing,
				.last = run->links,
				.starting = run->peers > 0 ? second + run->peers * run->signal : 0};
}

/**
 * Each block sends its tile while it computes the next one, and is slower
 * meanwhile (send_loss). It stores to one peer after the other, and tells them so.
 */
static pattern_time_t fused_sequential(const run_t *run)
{
	const bool sends = run->peers > 0;
	const double loss = sends ? run->machine->send_loss : 0;
	pattern_time_t time = {.computing = run->computing * (1 + loss),
			       .sending = sends ? run->first + run->links * (1 - run->last) : 0,
			       .last = run->links * run->last,
			       .starting = sends ? (2 * run->peers - 1) * run->signal : 0};
	/* Links that have kept up wait for blocks in the end. */
	if (time.computing > time.sending)
		time.last = fmin(run->links, run->machine->last_sends * time.last);
	return time;
}

/**
 * Some blocks only send, to half of the peers at a time. Each of the last tiles is
 * sent by the block that has computed it.
 */
static pattern_time_t fused_workgroup(const run_t *run)
{
	const double by_senders = run->bytes / (run->senders * run->machine->block_copy),
		     sending = cost_send_both(by_senders, run->links);
	return (pattern_time_t){.computing = run->computing,
				.sending = run->first + sending * (1 - run->last),
				.last = run->machine->last_sends * run->links * run->last,
				.starting = run->peers > 0 ? (1 + run->peers) * run->signal / 2
							   : run->launch};
}

/** Copy engines send each band while the next one is computed. */
static pattern_time_t banded(const run_t *run)
{
	const machine_t *machine = run->machine;
	const bool copies = run->peers > 0;
	const double sending = copies ? run->bytes / machine->copy_rate : 0;
	return (pattern_time_t){
		.computing = run->computing * (copies ? BESIDE_COPIES : 1) +
			     (run->bands - 1) * machine->first_operand * 1e3,
		.sending = run->computing / run->bands + sending * (1 - 1.0 / run->bands),
		.last = sending / run->bands,
		.starting = run->launch + copies * (2 * machine->copy_start * 1e3 + run->signal)};
}

static const char *time_of(const void *ctx, int64_t pattern, pattern_time_t *time_out)
{
	const problem_t *problem = ctx;
	gas_config_t config;
	if (!configure(problem, (gas_pattern_t)pattern, &config))
		return PATTERN_CANNOT_RUN;
	const run_t run = run_of(&config, problem->place);
	if (pattern == GAS_BANDED && run.peers > 1)
		return "copies to several peers take up to twice as long as to one";
	*time_out = pattern == GAS_BULK_SYNCHRONOUS   ? bulk_synchronous(&run)
		    : pattern == GAS_FUSED_SEQUENTIAL ? fused_sequential(&run)
		    : pattern == GAS_FUSED_WORKGROUP  ? fused_workgroup(&run)
						      : banded(&run);
	return NULL;
}

/* ------------------------------------------------------------ the choice */

/** Where times are not known. */
static gas_pattern_t by_rule(const problem_t *problem)
{
	const workload_place_t *place = problem->place;
	gas_config_t config;
	gas_pattern_t pattern = GAS_BULK_SYNCHRONOUS;
	const char *why = "one rank has nothing to send";
	if (place->ranks > 1) {
		const bool can = configure(problem, GAS_FUSED_WORKGROUP, &config);
		pattern = can ? GAS_FUSED_WORKGROUP : GAS_FUSED_SEQUENTIAL;
		why = can ? "tiles are sent while others are computed; the machine's file has no "
			    "figures of such products or of links"
			  : "no block is left that could send beside others that compute";
	}
	explain_pattern_rule(place->explain, COMPARED, pattern, "%s", why);
	return pattern;
}

gas_pattern_t gas_fastest(const gas_config_t *config, const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const problem_t problem = {config, place};
	const pattern_search_t search = {
		.compared = COMPARED, .time = time_of, .ctx = &problem, .explain = place->explain};
	const bool is_known = cost_unit_ns(machine, place->device, config->dtype) > 0 &&
			      cost_knows_links(machine) && machine->launch > 0 &&
			      machine->copy_rate > 0 && place->nodes <= 1;
	return is_known ? (gas_pattern_t)pattern_cheapest(&search) : by_rule(&problem);
}

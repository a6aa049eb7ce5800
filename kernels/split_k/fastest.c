/*
 * Automatic choice of the pattern. Compared are those that add in the same order
 * on every run, and round sums as often as --sums says: so not store-add, and ring
 * only with sums in f32. Blocks that only communicate were never faster on two
 * H100s.
 */
#include <math.h>

#include "kernels/choices/cost.h"
#include "kernels/choices/pattern.h"
#include "kernels/host/share.h"
#include "kernels/split_k/split_k.h"

/** A problem, and where it is to run. */
typedef struct problem {
	const splitk_kind_t *kind;
	const workload_config_t *config;
	const workload_place_t *place;
} problem_t;

/** A run of a pattern. Times are in nanoseconds, bytes are those that a rank sends. */
typedef struct run {
	const machine_t *machine;
	int ranks, peers, bands;
	double computing, first; /* of all rounds of tiles, and of the first one */
	double slots;            /* bytes of sums in whole tiles */
	double sums, results;    /* bytes of sums and of results, without what fills tiles up */
	double passing;          /* time for a block to store a tile's sums to a peer */
	double adding;           /* time to add all peers' sums to the tiles of a chunk */
	double rate;             /* of stores to all peers, GB/s */
} run_t;

/** Makes the choices that a run in this pattern would have. False: it cannot run. */
static bool configure(const problem_t *problem, int64_t pattern, splitk_config_t *config_out)
{
	const workload_place_t unheard = explain_unheard(problem->place);
	workload_config_t config = *problem->config, chosen;
	config.pattern = pattern;
	if (splitk_check(problem->kind, &config, unheard.ranks) != TSR_OK ||
	    splitk_choose(problem->kind, &config, &unheard, &chosen) != TSR_OK)
		return false;
	*config_out = splitk_config_of(&chosen);
	return true;
}

/** The time of the product: of multiplying, or of reading the operands. */
static void add_computing(const splitk_config_t *c, const workload_place_t *place, double tiles,
			  run_t *run)
{
	const machine_t *machine = place->machine;
	const double depth = (double)share_largest(c->k, place->ranks),
		     rounds = ceil(tiles / c->blocks), area = (double)c->tile.m * c->tile.n,
		     tile = cost_tile(machine, c->tile) * depth *
			    cost_unit_ns(machine, place->device, c->dtype),
		     multiplying = rounds * (tile + cost_epilogue_ns(machine, area)),
		     reading = ((double)c->m + (double)c->n) * depth *
			       (double)tsr_dtype_bytes(c->dtype) / machine->memory_rate;
	run->computing = fmax(multiplying, reading);
	run->first = multiplying / rounds;
}

static run_t run_of(const splitk_kind_t *kind, const splitk_config_t *c,
		    const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const int64_t rows = share_largest(c->m, place->ranks),
		      tiles = tiles_of(rows, c->tile.m) * tiles_of(c->n, c->tile.n);
	const double sum_bytes = (double)tsr_dtype_bytes(c->sums),
		     slot = (double)c->tile.m * c->tile.n * sum_bytes,
		     elements = (double)rows * (double)c->n;
	run_t run = {.machine = machine,
		     .ranks = place->ranks,
		     .peers = place->ranks - 1,
		     .bands = c->bands};
	add_computing(c, place, (double)(tiles * place->ranks), &run);
	run.slots = run.peers * (double)tiles * slot;
	run.sums = run.peers * elements * sum_bytes;
	run.results = kind->to_all ? run.peers * elements * (double)tsr_dtype_bytes(c->dtype) : 0;
	run.passing = slot / machine->block_rate;
	run.adding =
		ceil((double)tiles / c->blocks) * run.peers * slot / machine->block_memory_rate;
	run.rate = run.peers > 0 ? machine_egress(machine, run.peers) : 1;
	return run;
}

/* ------------------------------------------------------------ the patterns
 *
 * How many signals follow each other, by the number of peers, is fitted to
 * simulations of small shapes (bench/compare-choices).
 */

/*
 * The second kernel loads the sums of all ranks. They all load from the same rank at
 * a time, and the more of them there are the less each gets: simulated, a third of
 * what links carry, of eight.
 */
static pattern_time_t bulk_synchronous(const run_t *run)
{
	const machine_t *machine = run->machine;
	const double part = fmin(1, 3.0 / (run->ranks + 1)),
		     loads = machine->load_rate / machine->link_pair * run->rate * part;
	if (run->peers == 0)
		return (pattern_time_t){.computing = run->computing,
					.starting = machine->launch * 1e3};
	return (pattern_time_t){.computing = run->computing,
				.last = run->sums / loads + run->results / run->rate,
				.starting = machine->launch * 1e3 + machine->memory_latency +
					    machine->link_latency + run->peers * machine->signal};
}

/**
 * Tiles of others' chunks are sent whole, while the next ones are computed. Of the
 * own chunk the peers' sums are added in the end. Tiles that are complete then go
 * to all ranks, if they have to, band by band.
 */
static pattern_time_t own_chunk_last(const run_t *run, bool to_all)
{
	const double sums = run->first + run->slots / run->rate, results = run->results / run->rate,
		     signal = run->machine->signal;
	if (run->peers == 0)
		return (pattern_time_t){.computing = run->computing};
	if (to_all)
		return (pattern_time_t){.computing = run->computing + run->adding,
					.sending = sums + results * (1 - 1.0 / run->bands),
					.last = results / run->bands,
					.starting = 1.5 * run->ranks * signal};
	return (pattern_time_t){.computing = run->computing,
				.sending = sums,
				.last = run->adding,
				.starting = (2 + run->peers) * signal};
}

/**
 * The same sends, but each tile adds one peer's sums as it is computed. Where a
 * chunk takes less time than passing a tile on, ranks wait for each other.
 */
static pattern_time_t ring(const run_t *run)
{
	const double waiting = fmax(0, run->passing - run->computing / run->ranks);
	if (run->peers == 0)
		return (pattern_time_t){.computing = run->computing};
	return (pattern_time_t){.computing = run->computing + run->adding,
				.sending = run->first + run->slots / run->rate,
				.last = run->peers * waiting,
				.starting = (2 + 1.5 * run->peers) * run->machine->signal};
}

static const char *time_of(const void *ctx, int64_t number, pattern_time_t *time_out)
{
	const problem_t *problem = ctx;
	const splitk_pattern_t *pattern = &problem->kind->patterns[number];
	splitk_config_t config;
	if (!configure(problem, number, &config))
		return PATTERN_CANNOT_RUN;
	if (pattern->passes_on && config.sums != TSR_F32)
		return "it rounds sums at each rank";
	const run_t run = run_of(problem->kind, &config, problem->place);
	*time_out = pattern->passes_on ? ring(&run)
		    : pattern->sends   ? own_chunk_last(&run, problem->kind->to_all)
				       : bulk_synchronous(&run);
	return NULL;
}

/* ------------------------------------------------------------ the choice */

/** The patterns that add in a fixed order, and in which all blocks compute. */
static unsigned compared(const splitk_kind_t *kind)
{
	unsigned patterns = 0;
	for (int64_t p = 0; p < kind->count; p++)
		if (!kind->patterns[p].adds && !kind->patterns[p].has_senders)
			patterns |= 1U << p;
	return patterns;
}

/** Where times are not known. */
static int64_t by_rule(const workload_place_t *place)
{
	const unsigned both = 1U << SPLITK_BULK_SYNCHRONOUS | 1U << SPLITK_OWN_CHUNK_LAST;
	const bool is_far = place->nodes > 1;
	const int64_t pattern = is_far ? SPLITK_BULK_SYNCHRONOUS : SPLITK_OWN_CHUNK_LAST;
	explain_pattern_rule(place->explain, both, pattern, "%s",
			     is_far ? "between nodes it sends the sums of each node, and others "
				      "those of each rank"
				    : "it sends sums while the product goes on, and keeps none in "
				      "memory on one rank");
	return pattern;
}

int64_t splitk_fastest(const splitk_kind_t *kind, const workload_config_t *config,
		       const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const tsr_dtype_t dtype = splitk_config_of(config).dtype;
	const problem_t problem = {kind, config, place};
	const pattern_search_t search = {.compared = compared(kind),
					 .time = time_of,
					 .ctx = &problem,
					 .explain = place->explain};
	const bool is_known = cost_unit_ns(machine, place->device, dtype) > 0 &&
			      cost_knows_links(machine) && machine->load_rate > 0 &&
			      place->nodes <= 1;
	return is_known ? pattern_cheapest(&search) : by_rule(place);
}

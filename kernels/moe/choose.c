/*
 * Automatic choices: the tile, the blocks and what they do, and the pieces in
 * which tokens and results travel.
 */
#include <inttypes.h>

#include "kernels/choices/cost.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"

/* A chunk of tokens has a flag. So many chunks at most, because fillers wait for each. */
enum { CHUNKS = 64, CHUNK_ROWS = 16 };

/* Bytes of a copy by copy engines: on H200 they reach 312 GB/s with copies of this size. */
enum { COPY_BYTES = 4 << 20 };

/* Bands of columns that are returned one after the other. */
enum { BANDS = 4 };

/*
 * GB/s at which a block's warps copy rows of 14 KiB in its own memory, on an H100
 * (2026-11-26). There 1024 tokens took 2.3 ms with 4 movers and 1.8 with 8, and 8192
 * took 4.6 ms with 12 and 7.4 with 20.
 */
static const double FILL_RATE = 17;
enum { LEAST_MOVERS = 8, MOST_MOVERS = 12 };

/** A rank's share of the work, if the tokens choose evenly. */
typedef struct work {
	double rows;       /* of its experts */
	double operations; /* of the first product */
	double sent;       /* bytes that it sends to other ranks */
	double filled;     /* bytes that it copies to rows */
} work_t;

static work_t work_of(const moe_config_t *c, int ranks)
{
	const double tokens = (double)moe_tokens_before(c, ranks, ranks),
		     row = (double)c->hidden * (double)tsr_dtype_bytes(c->dtype),
		     rows = tokens * (double)c->top_k / ranks,
		     /* each token goes to each other rank, or once a choice */
		others = c->top_k < ranks - 1 ? (double)c->top_k : (double)(ranks - 1);
	return (work_t){.rows = rows,
			.operations = 2 * rows * (double)c->hidden * (double)c->inner,
			.sent = (double)c->tokens * others * row,
			.filled = rows * row};
}

/* ------------------------------------------------------------ tile */

typedef struct candidate {
	const moe_config_t *config;
	const workload_place_t *place;
} candidate_t;

static bool can_tile(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	return moe_padding(candidate->config, candidate->place->ranks) % tile.m == 0;
}

static double cost_in_tiles(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const workload_place_t *place = candidate->place;
	const moe_config_t *c = candidate->config;
	const int ranks = place->ranks;
	const int64_t experts = share_largest(c->experts, ranks),
		      rows = (int64_t)work_of(c, ranks).rows / experts + 1,
		      padding = moe_padding(c, ranks),
		      padded = (rows + padding - 1) / padding * padding * experts;
	const cost_product_t product = {.m = padded,
					.k = c->hidden,
					.tile = tile,
					.tiles = padded / tile.m * tiles_of(c->inner, tile.n),
					.parts = 1};
	const cost_computing_t computing =
		cost_compute(place->machine, &product, place->device->resident_blocks);
	cost_explain(place->explain, &computing);
	explain_bound(place->explain, cost_bound(&computing));
	return computing.time;
}

static tsr_status_t choose_tile(moe_config_t *c, const workload_place_t *place)
{
	const candidate_t candidate = {c, place};
	const cost_search_t search = {
		.kernel = moe_patterns[c->pattern].kernels[0],
		.dtype = c->dtype,
		.device = place->device,
		.can = can_tile,
		.cost = cost_in_tiles,
		.ctx = &candidate,
		.explain = place->explain,
		.formula = COST_COMPUTING,
		.unit_ns = cost_unit_ns(place->machine, place->device, c->dtype)};
	if (!tile_is_automatic(c->tile))
		return TSR_OK;
	return cost_choose_tile(&search, moe_patterns[c->pattern].name, &c->tile);
}

/* ------------------------------------------------------------ blocks */

/** Times of the first product by the whole device, in seconds; 0: the machine is not known. */
typedef struct times {
	double computing, reading;
} times_t;

static times_t times_of(const moe_config_t *c, const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const work_t work = work_of(c, place->ranks);
	if (!cost_knows_links(machine) || machine->tensor_rate <= 0)
		return (times_t){0, 0};
	const double weights = (double)share_largest(c->experts, place->ranks) * (double)c->hidden *
			       (double)c->inner * (double)tsr_dtype_bytes(c->dtype);
	return (times_t){work.operations / (machine->tensor_rate * 1e12),
			 (weights + work.filled) / (machine->memory_rate * 1e9)};
}

static double product_time(const moe_config_t *c, const workload_place_t *place)
{
	const times_t times = times_of(c, place);
	return times.computing > times.reading ? times.computing : times.reading;
}

/*
 * Copies take memory's time, so beside a product that waits for its weights they
 * hide nothing: on two H100s bulk-synchronous was faster up to 2048 tokens of a rank
 * (0.4 of reading is computing), and fused from 4096 on (0.85).
 */
int64_t moe_fastest(const moe_config_t *c, const workload_place_t *place)
{
	const times_t times = times_of(c, place);
	const int blocks = c->blocks > 0 ? c->blocks : place->device->resident_blocks,
		  movers = c->senders + c->expanders;
	const bool is_enough = blocks > (movers > 1 ? movers : 1),
		   hides = times.computing >= 0.6 * times.reading;
	const int64_t pattern = is_enough && hides ? MOE_FUSED : MOE_BULK_SYNCHRONOUS;
	const unsigned both = 1U << MOE_FUSED | 1U << MOE_BULK_SYNCHRONOUS;
	if (!is_enough)
		explain_pattern_rule(place->explain, both, pattern,
				     "of %d blocks none would be left to compute beside those that "
				     "move",
				     blocks);
	else if (times.reading > 0)
		explain_pattern_rule(
			place->explain, both, pattern,
			"computing takes %.3g us (tensor_rate), and reading weights and "
			"rows %.3g (memory_rate): from 0.6 of it on copies hide beside "
			"the product",
			times.computing * 1e6, times.reading * 1e6);
	else
		explain_pattern_rule(
			place->explain, both, pattern,
			"its copies go on beside the product; the machine's file has no "
			"figures of links");
	return pattern;
}

static int between(double wanted, int least, int most)
{
	return wanted < least ? least : wanted < most ? (int)wanted : most;
}

/** Records why so many blocks send, or fill. */
static void explain_movers(explain_t *explain, const char *param, int blocks, double wanted,
			   int movers, bool has_any)
{
	if (!has_any)
		explain_rule(explain, param, explain_number(blocks),
			     "in this pattern, or on one rank, no block does that alone");
	else if (wanted > 0)
		explain_rule(
			explain, param, explain_number(blocks),
			"%.1f blocks would make all copies while the product lasts; %d move, %d "
			"to %d, and half of them send first",
			wanted, movers, LEAST_MOVERS, MOST_MOVERS);
	else
		explain_rule(explain, param, explain_number(blocks),
			     "the machine's file has no figures of links: a third of the blocks "
			     "moves, %d, and half of them send first",
			     movers);
}

/**
 * Blocks that move: enough for all copies while the product lasts. Half of them
 * send first, so that tokens arrive early; at least one computes.
 */
static void choose_movers(moe_config_t *c, const workload_place_t *place, int most)
{
	const work_t work = work_of(c, place->ranks);
	const double time = product_time(c, place), giga = 1e9;
	const bool sends = c->pattern == MOE_FUSED && place->ranks > 1;
	const double wanted =
		time > 0
			? 1 + work.filled / giga / time / FILL_RATE +
				  (sends ? work.sent / giga / time / place->machine->block_rate : 0)
			: 0;
	int movers = most / 3 > 2 ? most / 3 : 2;
	if (time > 0)
		movers = between(wanted, LEAST_MOVERS, MOST_MOVERS);
	movers = movers < most ? movers : most - 1;
	if (!sends)
		c->senders = 0;
	else if (c->senders == 0)
		c->senders = movers / 2 > 1 ? movers / 2 : 1;
	if (c->pattern == MOE_BULK_SYNCHRONOUS)
		c->expanders = 0;
	else if (c->expanders == 0)
		c->expanders = movers > c->senders ? movers - c->senders : !sends;
	explain_movers(place->explain, "comm-blocks", c->senders, wanted, movers, sends);
	explain_movers(place->explain, "fill-blocks", c->expanders, wanted, movers,
		       c->pattern != MOE_BULK_SYNCHRONOUS);
}

static tsr_status_t choose_blocks(moe_config_t *c, const workload_place_t *place)
{
	/* one block of copy-engines signals beside the others */
	const bool copies = moe_copiers(c, place->ranks) > 0;
	const int most = place->device->resident_blocks - copies;
	choose_movers(c, place, c->blocks > 0 ? c->blocks : most);
	if (c->blocks == 0) {
		c->blocks = most;
		explain_rule(place->explain, "blocks", explain_number(most),
			     "all that the device holds%s", copies ? ", but one that signals" : "");
	}
	if (c->blocks > most)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks%s wait for each other, and %s holds %d at one time; "
				 "launch fewer blocks",
				 c->blocks, copies ? " and one that signals" : "",
				 place->device->name, place->device->resident_blocks);
	if (c->pattern != MOE_BULK_SYNCHRONOUS && c->senders + c->expanders >= c->blocks)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "pattern %s needs at least %d blocks, %d that move tokens and one "
				 "that computes; launch more, or take --pattern bulk-synchronous",
				 moe_patterns[c->pattern].name, c->senders + c->expanders + 1,
				 c->senders + c->expanders);
	return TSR_OK;
}

/* ------------------------------------------------------------ pieces */

static void choose_chunks(moe_config_t *c, const workload_place_t *place)
{
	const int64_t row = c->hidden * (int64_t)tsr_dtype_bytes(c->dtype),
		      few = (c->tokens + CHUNKS - 1) / CHUNKS, copied = COPY_BYTES / row,
		      wanted = c->pattern == MOE_COPY_ENGINES && copied > few ? copied : few;
	if (c->chunk_rows == 0)
		c->chunk_rows = wanted < CHUNK_ROWS ? CHUNK_ROWS : wanted;
	if (c->chunk_rows > c->tokens)
		c->chunk_rows = c->tokens;
	explain_rule(place->explain, "chunk-rows", explain_number(c->chunk_rows),
		     "%d chunks have %" PRId64 " tokens%s; at least %d, and at most a rank's "
		     "%" PRId64,
		     CHUNKS, few,
		     wanted > few ? ", but a copy by copy engines is 4 MiB, to be fast" : "",
		     CHUNK_ROWS, c->tokens);
}

/**
 * The experts whose own tokens are multiplied before those of others: as many as
 * take until the others' have come. Own tokens are one part in as many as ranks.
 */
static void choose_early(moe_config_t *c, const workload_place_t *place)
{
	const double time = product_time(c, place),
		     arriving = time > 0 ? work_of(c, place->ranks).sent /
						   (place->machine->link_pair * 1e9)
					 : 0;
	if (place->ranks == 1 || c->pattern == MOE_BULK_SYNCHRONOUS)
		c->early = 0;
	else if (c->early == 0)
		c->early = time > 0 ? between(100 * place->ranks * arriving / time, 1, 100) : 100;
	if (c->early == 0)
		explain_rule(place->explain, "own-first", explain_number(0),
			     "all tokens are here before the first product begins");
	else if (time > 0)
		explain_rule(
			place->explain, "own-first", explain_number(c->early),
			"others' tokens arrive in %.1f us (link_pair), and the product takes "
			"%.1f: per cent of the experts that take as long with own tokens alone",
			arriving * 1e6, time * 1e6);
	else
		explain_rule(place->explain, "own-first", explain_number(c->early),
			     "all: the machine's file has no figures of links");
}

static void choose_bands(moe_config_t *c, explain_t *explain)
{
	const int64_t tiles = tiles_of(c->hidden, c->tile.n);
	if (c->pattern == MOE_BULK_SYNCHRONOUS || !c->is_layer)
		c->bands = 1;
	else if (c->bands == 0)
		c->bands = BANDS;
	if (c->bands > tiles)
		c->bands = tiles;
	if (c->pattern == MOE_BULK_SYNCHRONOUS || !c->is_layer)
		explain_rule(explain, "bands", explain_number(c->bands),
			     "no results are returned while the product goes on");
	else
		explain_rule(explain, "bands", explain_number(c->bands),
			     "%d, or as many as there are columns of tiles: %" PRId64, BANDS,
			     tiles);
}

tsr_status_t moe_choose(const workload_config_t *config, const workload_place_t *place,
			workload_config_t *config_out)
{
	moe_config_t c = moe_config_of(config);
	tsr_status_t status = choose_tile(&c, place);
	if (status == TSR_OK)
		status = choose_blocks(&c, place);
	if (status != TSR_OK)
		return status;
	choose_chunks(&c, place);
	choose_early(&c, place);
	choose_bands(&c, place->explain);
	*config_out = *config;
	config_out->value[MOE_TILE] = (workload_value_t){{c.tile.m, c.tile.n, c.tile.k}};
	config_out->value[MOE_BLOCKS] = (workload_value_t){{c.blocks}};
	config_out->value[MOE_SENDERS] = (workload_value_t){{c.senders}};
	config_out->value[MOE_EXPANDERS] = (workload_value_t){{c.expanders}};
	config_out->value[MOE_CHUNK_ROWS] = (workload_value_t){{c.chunk_rows}};
	config_out->value[MOE_EARLY] = (workload_value_t){{c.early}};
	config_out->value[MOE_BANDS] = (workload_value_t){{c.bands}};
	return TSR_OK;
}

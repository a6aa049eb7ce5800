/* Automatic choices: the tile, the blocks and how many of them communicate, the bands. */
#include <inttypes.h>

#include "kernels/choices/cost.h"
#include "kernels/host/share.h"
#include "kernels/split_k/split_k.h"

/**
 * The number of tiles of all chunks. Each chunk is covered by as many rows of
 * tiles as the largest one.
 */
static int64_t tiles_of_all(const splitk_config_t *c, tile_size_t tile, int ranks)
{
	return ranks * tiles_of(share_largest(c->m, ranks), tile.m) * tiles_of(c->n, tile.n);
}

/*
 * Bands if finished tiles go to all ranks. With one band, all of them are sent
 * while a rank's own chunk is computed, which comes last; with eight, an eighth.
 * But with several a rank waits for the others in every band. So one is enough if
 * a chunk's sums are sent while another chunk is computed, and its results in
 * twice that time. And a band has about a round of tiles, in whole rows of them.
 *
 * On two H100s, with one band and with eight: sums in bf16, 4096 cubed 157 and 187
 * us, 8192 cubed 845 and 848, 32768 cubed 57 to 60 and 67 to 69 ms; in f32, 4096
 * cubed 209 and 223 us, 8192 cubed 971 and 902, 16384 cubed 6496 and 6475.
 */
enum { BANDS_TO_ALL = 8, RESULTS_BEHIND = 2 };

static int bands_to_all(const splitk_config_t *c, const workload_place_t *place)
{
	const machine_t *machine = place->machine;
	const double computing = (double)share_largest(c->k, place->ranks) /
				 place->device->resident_blocks,
		     results = cost_send(machine, place->ranks - 1).links,
		     sums = cost_send(machine, 1).links * (double)tsr_dtype_bytes(c->sums) /
			    (double)tsr_dtype_bytes(c->dtype);
	const int64_t tiles = tiles_of_all(c, c->tile, place->ranks) / place->ranks,
		      rounds = tiles / place->device->resident_blocks,
		      rows = tiles_of(share_largest(c->m, place->ranks), c->tile.m),
		      most = rounds < rows ? rounds : rows;
	const bool keeps_up = RESULTS_BEHIND * computing >= results && computing >= sums;
	const int several = most < BANDS_TO_ALL ? (int)most : BANDS_TO_ALL,
		  bands = keeps_up || most < 2 ? 1 : several;
	explain_rule(place->explain, "bands", explain_number(bands),
		     "computing a chunk takes %.3g of sending its sums and %.3g of sending its "
		     "results: from 1 and 0.5 on one band is enough, else a band has a round of "
		     "tiles, and there are at most %d",
		     computing / sums, computing / results, BANDS_TO_ALL);
	return bands;
}

static int choose_bands(const splitk_kind_t *kind, const splitk_config_t *c,
			const workload_place_t *place)
{
	if (!kind->to_all || place->ranks == 1) {
		explain_rule(place->explain, "bands", explain_number(1),
			     "no finished tile goes to other ranks");
		return 1;
	}
	if (cost_knows_links(place->machine) && !kind->patterns[c->pattern].has_senders)
		return bands_to_all(c, place);
	explain_rule(place->explain, "bands", explain_number(BANDS_TO_ALL),
		     "with %d bands an eighth of the finished tiles is sent last%s", BANDS_TO_ALL,
		     cost_knows_links(place->machine)
			     ? ""
			     : "; the machine's file has no figures of links");
	return BANDS_TO_ALL;
}

/** A configuration whose tile is to be chosen, and where it is to run. */
typedef struct candidate {
	const splitk_config_t *config;
	const workload_place_t *place;
} candidate_t;

/** Computing time: rounds of tiles. */
static double cost_in_tiles(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const workload_place_t *place = candidate->place;
	const int64_t tiles = tiles_of_all(candidate->config, tile, place->ranks);
	cost_computing_t c = {.rounds = (double)cost_rounds(tiles, place->device->resident_blocks)};
	c.time = c.rounds * cost_tile(place->machine, tile);
	c.multiplying = c.time * cost_multiplying(place->machine, tile);
	c.loading = c.time - c.multiplying;
	cost_explain(place->explain, &c);
	explain_bound(place->explain, cost_bound(&c));
	return c.time;
}

static tsr_status_t choose_tile(const splitk_pattern_t *pattern, splitk_config_t *c,
				const workload_place_t *place)
{
	const candidate_t candidate = {c, place};
	const double depth = (double)share_largest(c->k, place->ranks);
	const cost_search_t search = {
		.kernel = pattern->kernels[0],
		.dtype = c->dtype,
		.device = place->device,
		.cost = cost_in_tiles,
		.ctx = &candidate,
		.explain = place->explain,
		.formula = COST_COMPUTING,
		/* costs are those of one unit of K */
		.unit_ns = depth * cost_unit_ns(place->machine, place->device, c->dtype)};
	return cost_choose_tile(&search, pattern->name, &c->tile);
}

/**
 * The number of blocks that only communicate: as many as fill the links, if the
 * machine says so; else a sixth, as 48 of 304 in the Iris paper. No more than
 * tiles.
 */
static int choose_senders(const splitk_config_t *c, const workload_place_t *place, int most)
{
	if (c->comm_blocks > 0)
		return c->comm_blocks;
	const int64_t tiles = tiles_of_all(c, c->tile, place->ranks) / place->ranks;
	const bool is_known = cost_knows_links(place->machine) && place->ranks > 1;
	int wanted = is_known ? cost_send(place->machine, place->ranks - 1).lanes : (most + 5) / 6;
	wanted = wanted < tiles ? wanted : (int)tiles;
	const int senders = wanted < most ? wanted : most > 1 ? most - 1 : 1;
	if (is_known)
		explain_rule(
			place->explain, "comm-blocks", explain_number(senders),
			"as many as fill the links to %d peers, at most one for each of %" PRId64
			" tiles",
			place->ranks - 1, tiles);
	else if (place->ranks == 1)
		explain_rule(place->explain, "comm-blocks", explain_number(senders),
			     "a sixth of %d blocks; one rank has no peers", most);
	else
		explain_rule(place->explain, "comm-blocks", explain_number(senders),
			     EXPLAIN_SIXTH "; at most one for each of %" PRId64 " tiles", most,
			     tiles);
	return senders;
}

static tsr_status_t choose_blocks(const splitk_pattern_t *pattern, splitk_config_t *c,
				  const workload_place_t *place)
{
	const tsr_device_props_t *device = place->device;
	const int most = device->resident_blocks;
	const int64_t tiles = tiles_of_all(c, c->tile, place->ranks);
	if (!pattern->has_senders)
		explain_rule(place->explain, "comm-blocks", explain_number(0), EXPLAIN_NO_SENDERS);
	c->comm_blocks = pattern->has_senders
				 ? choose_senders(c, place, c->blocks > 0 ? c->blocks : most)
				 : 0;
	if (c->blocks == 0) {
		const int left = most > c->comm_blocks ? most - c->comm_blocks : 1;
		c->blocks = c->comm_blocks + (tiles < left ? (int)tiles : left);
		explain_blocks(place->explain, c->blocks, tiles, c->comm_blocks, most);
	}
	if (c->blocks <= most)
		return TSR_OK;
	return tsr_error(TSR_ERR_RESIDENCY,
			 "%d blocks wait for each other, and %s holds %d at one time; launch fewer "
			 "blocks",
			 c->blocks, device->name, most);
}

tsr_status_t splitk_choose(const splitk_kind_t *kind, const workload_config_t *config,
			   const workload_place_t *place, workload_config_t *config_out)
{
	splitk_config_t c = splitk_config_of(config);
	const splitk_pattern_t *pattern = &kind->patterns[c.pattern];
	tsr_status_t status = TSR_OK;
	if (tile_is_automatic(c.tile))
		status = choose_tile(pattern, &c, place);
	if (status == TSR_OK)
		status = choose_blocks(pattern, &c, place);
	if (status != TSR_OK)
		return status;
	if (c.bands == 0)
		c.bands = choose_bands(kind, &c, place);
	*config_out = splitk_workload_config(&c);
	return TSR_OK;
}

/* ------------------------------------------------------------ candidates of a search */

bool splitk_try_tile(const splitk_kind_t *kind, const workload_config_t *config, int index,
		     workload_value_t *value_out)
{
	const splitk_config_t c = splitk_config_of(config);
	tile_size_t tile;
	if (!variant_candidate(kind->patterns[c.pattern].kernels[0], c.dtype, index, &tile))
		return false;
	*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
	return true;
}

/** With several bands, the sums for one band are in flight while the next is computed. */
bool splitk_try_bands(const splitk_kind_t *kind, const workload_config_t *config, int index,
		      workload_value_t *value_out)
{
	static const int bands[] = {1, 2, 4, 8};
	const bool overlaps = kind->patterns[config->pattern].sends ||
			      kind->patterns[config->pattern].has_senders;
	if (index >= (overlaps ? (int)(sizeof bands / sizeof *bands) : 1))
		return false;
	*value_out = (workload_value_t){{bands[index]}};
	return true;
}

bool splitk_try_senders(const splitk_kind_t *kind, const workload_config_t *config, int index,
			workload_value_t *value_out)
{
	static const int divisors[] = {32, 16, 8, 4};
	const bool has_senders = kind->patterns[config->pattern].has_senders;
	if (index >= (has_senders ? (int)(sizeof divisors / sizeof *divisors) : 1))
		return false;
	const int64_t blocks = config->value[SPLITK_BLOCKS].x[0];
	*value_out = (workload_value_t){{has_senders ? 1 + blocks / divisors[index] : 0}};
	return true;
}

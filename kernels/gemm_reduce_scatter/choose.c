/* Automatic choices: the tile, the blocks and the bands. */
#include "kernels/gemm_reduce_scatter/plan.h"
#include "kernels/host/cost.h"
#include "kernels/host/share.h"

/**
 * The number of tiles of all chunks. Each chunk is covered by as many rows of
 * tiles as the largest one.
 */
static int64_t tiles_of_all(const grs_config_t *c, tile_size_t tile, int ranks)
{
	return ranks * tiles_of(share_largest(c->m, ranks), tile.m) * tiles_of(c->n, tile.n);
}

/** A configuration whose tile is to be chosen, and where it is to run. */
typedef struct candidate {
	const grs_config_t *config;
	const workload_place_t *place;
} candidate_t;

/** Computing time: rounds of tiles. */
static double cost_in_tiles(const void *ctx, tile_size_t tile)
{
	const candidate_t *candidate = ctx;
	const workload_place_t *place = candidate->place;
	const int64_t tiles = tiles_of_all(candidate->config, tile, place->ranks);
	return (double)cost_rounds(tiles, place->device->resident_blocks) *
	       cost_tile(place->machine, tile);
}

/**
 * Chooses the fastest tile, among those for which the device has matrix units
 * if there are any.
 */
static tsr_status_t choose_tile(grs_config_t *c, const workload_place_t *place)
{
	const candidate_t candidate = {c, place};
	const cost_search_t search = {.kernel = grs_patterns[c->pattern].kernels[0],
				      .dtype = c->dtype,
				      .device = place->device,
				      .cost = cost_in_tiles,
				      .ctx = &candidate};
	return cost_choose_tile(&search, grs_patterns[c->pattern].name, &c->tile);
}

tsr_status_t grs_choose(grs_config_t *c, const workload_place_t *place)
{
	const tsr_device_props_t *device = place->device;
	tsr_status_t status = TSR_OK;
	if (tile_is_automatic(c->tile))
		status = choose_tile(c, place);
	if (status != TSR_OK)
		return status;
	const int64_t tiles = tiles_of_all(c, c->tile, place->ranks);
	if (c->blocks == 0)
		c->blocks = tiles < device->resident_blocks ? (int)tiles : device->resident_blocks;
	if (c->blocks > device->resident_blocks)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks wait for each other, and %s holds %d at one time; "
				 "launch fewer blocks",
				 c->blocks, device->name, device->resident_blocks);
	if (c->bands == 0)
		c->bands = 1;
	return TSR_OK;
}

/* Automatic choices, and what a run costs. */
#include <inttypes.h>

#include "kernels/attend/tiles.h"
#include "kernels/flash_decode/flash_decode.h"

/*
 * Steps of keys that a block has at least, so that the parts of a group are few
 * to merge. (Computed for 132 blocks; not measured.)
 */
enum { STEPS_OF_BLOCK = 2 };

bool fd_try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		 workload_value_t *value_out)
{
	const fd_config_t c = fd_config_of(config);
	(void)place;
	return attend_try_tile("fd_attend", c.dtype, c.dim, index, value_out);
}

/** Blocks that attend: as many as there are, or so that groups are divided less. */
bool fd_try_blocks(const workload_config_t *config, const workload_place_t *place, int index,
		   workload_value_t *value_out)
{
	static const int divisors[] = {1, 2, 4, 8};
	const int resident = place->device ? place->device->resident_blocks : 1;
	(void)config;
	if (index >= (int)(sizeof divisors / sizeof *divisors) || resident / divisors[index] < 1)
		return false;
	*value_out = (workload_value_t){{resident / divisors[index]}};
	return true;
}

/** One for some steps of keys, at least one for each group, as far as the device holds them. */
static int64_t choose_blocks(const fd_config_t *c, const workload_place_t *place)
{
	const int64_t groups = fd_groups(c), resident = place->device->resident_blocks;
	int64_t units = 0;
	for (int rank = 0; rank < place->ranks; rank++) {
		const int64_t of_rank = fd_units(c, rank, place->ranks);
		units = of_rank > units ? of_rank : units;
	}
	const int64_t wanted = units / STEPS_OF_BLOCK > groups ? units / STEPS_OF_BLOCK : groups,
		      blocks = wanted < resident ? wanted : resident;
	explain_rule(place->explain, "blocks", explain_number(blocks),
		     "one for %d of %" PRId64 " steps of keys, at least one for each of %" PRId64
		     " groups of heads, as far as the device holds them: %" PRId64,
		     STEPS_OF_BLOCK, units, groups, resident);
	return blocks;
}

tsr_status_t fd_choose(const workload_config_t *config, const workload_place_t *place,
		       workload_config_t *config_out)
{
	workload_config_t chosen = *config;
	const int64_t resident = place->device->resident_blocks;
	fd_config_t c = fd_config_of(config);
	if (tile_is_automatic(c.tile))
		c.tile = attend_largest_tile("fd_attend", c.dtype, c.dim, place->explain);
	chosen.value[FD_TILE] = (workload_value_t){{c.tile.m, c.tile.n, c.tile.k}};
	if (c.blocks == 0)
		chosen.value[FD_BLOCKS].x[0] = choose_blocks(&c, place);
	if (c.blocks > resident)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks wait for each other, and %s holds %" PRId64
				 " at one time; launch fewer blocks",
				 c.blocks, place->device->name, resident);
	*config_out = chosen;
	return TSR_OK;
}

/* ------------------------------------------------------------ costs */

/** Kernels of a run. */
static const int launches[FD_PATTERNS] = {
	[FD_BULK_SYNCHRONOUS] = 4, [FD_OWN_ALL_GATHER] = 4, [FD_FINE_WAITS] = 4, [FD_FUSED] = 3,
	[FD_ONE_LAUNCH] = 1,
};

/** On a stream the library gathers small results without a meeting: src/collectives/short.c. */
static bool in_one_step(double result_bytes, int ranks)
{
	return result_bytes <= (256 << 10) / (double)ranks;
}

static int meetings(const fd_config_t *c, double result_bytes, int ranks)
{
	if (c->pattern == FD_BULK_SYNCHRONOUS)
		return in_one_step(result_bytes, ranks) ? 0 : 2;
	return c->pattern == FD_OWN_ALL_GATHER ? 2 : 0;
}

/**
 * How often results of all ranks lie in memory in between: where they arrive;
 * in words, which are twice as large, and behind them.
 */
static const int copies_between[FD_PATTERNS] = {
	[FD_BULK_SYNCHRONOUS] = 1, [FD_OWN_ALL_GATHER] = 1, [FD_FINE_WAITS] = 1, [FD_FUSED] = 1,
	[FD_ONE_LAUNCH] = 3,
};

/** Parts that are saved before they are merged. */
static double saved_parts(const fd_config_t *c, int rank, int ranks)
{
	const double groups = (double)fd_groups(c), units = (double)fd_units(c, rank, ranks),
		     blocks = c->blocks < units ? c->blocks : units;
	const double parts = groups + blocks - 1; /* at most: borders may coincide */
	if (c->pattern != FD_ONE_LAUNCH)
		return parts;
	return blocks > 1 && units > groups ? (groups < blocks ? parts : 2 * (blocks - 1)) : 0;
}

workload_cost_t fd_cost(const workload_config_t *config, int rank, int ranks)
{
	const fd_config_t c = fd_config_of(config);
	const bool is_chosen = !tile_is_automatic(c.tile) && c.blocks > 0,
		   is_alone = ranks == 1 && c.pattern == FD_ONE_LAUNCH;
	const double heads = (double)(c.batch * c.heads), dim = (double)c.dim,
		     keys = (double)fd_keys(&c, rank, ranks).count,
		     key_rows = (double)(c.batch * c.key_heads) * keys,
		     element = (double)tsr_dtype_bytes(c.dtype),
		     result = heads * (double)fd_result_floats(&c) * sizeof(float),
		     mine = is_alone || c.pattern == FD_FUSED ? 0 : result,
		     all = is_alone ? 0 : result * ranks * copies_between[c.pattern],
		     saved = is_chosen ? saved_parts(&c, rank, ranks) * (double)fd_state_bytes(&c)
				       : 0;
	return (workload_cost_t){
		.operations = 4 * heads * keys * dim,
		.memory_bytes =
			heads * (2 * dim * element + sizeof(float)) + 2 * key_rows * dim * element,
		.link_bytes = result * (ranks - 1) * (c.pattern == FD_ONE_LAUNCH ? 2 : 1),
		.between_bytes = 2 * (saved + mine + all),
		.launches = launches[c.pattern],
		.meetings = ranks > 1 ? meetings(&c, result, ranks) : 0};
}

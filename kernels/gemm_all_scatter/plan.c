/*
 * A plan: the memory, streams and events of one pattern on one rank. run.c
 * launches it.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/cost.h"
#include "kernels/host/errors.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

/*
 * Rows of tiles that are walked together, so that neighbours share operands in
 * cache. The Iris paper's runs use about 6.
 */
enum { GROUP = 6 };

/* ------------------------------------------------------------ memory */

/** The number of computing blocks. */
static int64_t computing_blocks(const gas_config_t *config)
{
	return config->blocks - config->comm_blocks;
}

/**
 * The largest number of divided tiles on any rank, for at most `tiles` tiles.
 * Ranks have different shares; the last round has at most one tile for each
 * block.
 */
static int64_t most_divided(const gas_config_t *config, int64_t tiles)
{
	const int64_t blocks = computing_blocks(config);
	return cost_whole_tiles(tiles, blocks, config->parts) == tiles ? 0
	       : tiles < blocks                                        ? tiles
								       : blocks;
}

/**
 * Describes the buffers, of which none is allocated. The sizes cannot overflow:
 * gas_config_check has checked the matrices, a tile has more elements than its
 * flag has bytes, and no more tiles are divided than there are blocks, each of
 * which holds one tile.
 */
static void describe_buffers(const gas_config_t *config, int ranks,
			     buffer_t buffers_out[GAS_BUFFERS])
{
	const int64_t share = share_largest(config->n, ranks);
	const int64_t tiles = gas_most_tiles(config, config->tile, ranks);
	const size_t sums = (size_t)most_divided(config, tiles) * (size_t)(config->parts - 1),
		     sum_bytes = (size_t)config->tile.m * (size_t)config->tile.n * sizeof(float),
		     tile_flags = (size_t)tiles * sizeof(uint64_t);
	const buffer_t buffers[GAS_BUFFERS] = {
		[GAS_BUFFER_A] = {.name = "A",
				  .size_bytes = matrix_bytes(config->dtype, config->m, config->k)},
		[GAS_BUFFER_B] = {.name = "B",
				  .size_bytes = matrix_bytes(config->dtype, config->k, share)},
		[GAS_BUFFER_C] = {.name = "C",
				  .size_bytes = matrix_bytes(config->dtype, config->m, config->n)},
		[GAS_SYNC] = {.name = "gemm_all_scatter.sync",
			      .size_bytes = sizeof(handshake_t),
			      .is_flags = true},
		[GAS_TILE_READY] = {.name = "gemm_all_scatter.tile_ready",
				    .size_bytes = tile_flags,
				    .is_flags = true},
		[GAS_TAKEN] = {.name = "gemm_all_scatter.taken",
			       .size_bytes = sizeof(uint64_t),
			       .is_flags = true},
		[GAS_PART_SUM] = {.name = "gemm_all_scatter.part_sum",
				  .size_bytes = sums * sum_bytes},
		[GAS_PART_READY] = {.name = "gemm_all_scatter.part_ready",
				    .size_bytes = sums * sizeof(uint64_t),
				    .is_flags = true},
	};
	memcpy(buffers_out, buffers, sizeof buffers);
}

static tsr_status_t check_heap(const gas_plan_t *plan)
{
	const product_t product = gas_product(&plan->config);
	char words[PRODUCT_WORDS];
	product_words(&product, words);
	return buffers_check(plan->world, plan->buffer, GAS_BUFFERS, words);
}

/** Sets the arguments that depend on the product alone. */
static void set_product(gas_plan_t *plan)
{
	const gas_config_t *c = &plan->config;
	const share_t share =
		share_of(c->n, tsr_world_rank(plan->world), tsr_world_size(plan->world));
	gas_args_t *args = &plan->args;
	args->a = matrix_view(plan->buffer[GAS_BUFFER_A].data, c->dtype, c->m, c->k);
	args->b = matrix_view(plan->buffer[GAS_BUFFER_B].data, c->dtype, c->k, share.count);
	args->c = matrix_view(plan->buffer[GAS_BUFFER_C].data, c->dtype, c->m, c->n);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[GAS_SYNC].data;
	args->first_col = share.first;
}

/** Sets the others: how tiles become tasks, and what blocks hand to each other. */
static void set_tasks(gas_plan_t *plan)
{
	const gas_config_t *c = &plan->config;
	const int64_t blocks = computing_blocks(c), chunks = tiles_of(c->k, c->tile.k);
	tiling_t *tiling = &plan->args.tiling;
	plan->args.taken = (TSR_HEAP uint64_t *)plan->buffer[GAS_TAKEN].data;
	tiling->tile_ready = (TSR_HEAP uint64_t *)plan->buffer[GAS_TILE_READY].data;
	tiling->part_sum = plan->buffer[GAS_PART_SUM].data;
	tiling->part_ready = (TSR_HEAP uint64_t *)plan->buffer[GAS_PART_READY].data;
	tiling->tiles_m = (uint32_t)tiles_of(c->m, c->tile.m);
	tiling->tiles_n = (uint32_t)tiles_of(plan->args.b.cols, c->tile.n);
	tiling->group = GROUP;
	tiling->blocks = (int32_t)blocks;
	tiling->whole =
		cost_whole_tiles((int64_t)tiling->tiles_m * tiling->tiles_n, blocks, c->parts);
	tiling->parts = c->parts > 1 ? c->parts : 1;
	tiling->part_chunks = (int32_t)(chunks / tiling->parts);
	tiling->shorter_parts = tiling->parts - (int32_t)(chunks % tiling->parts);
}

/* ----------------------------------------------------- creation and release */

int gas_pattern_sides(gas_pattern_t pattern, int ranks)
{
	if (pattern == GAS_BANDED)
		return 1 + (ranks - 1 < GAS_COPIERS ? ranks - 1 : GAS_COPIERS);
	return pattern == GAS_PRODUCER_CONSUMER ? 1 : 0;
}

/** Creates the streams that the pattern needs and the plan does not have yet. */
static tsr_status_t create_streams(gas_plan_t *plan)
{
	const gas_pattern_t pattern = plan->config.pattern;
	_Static_assert((int)GAS_BANDS <= (int)STREAMS_MARKS, "a band has a mark");
	return streams_create(plan->world, gas_pattern_sides(pattern, tsr_world_size(plan->world)),
			      pattern == GAS_BANDED ? GAS_BANDS : 0, &plan->streams);
}

/** Makes the automatic choices and finds the kernels. Allocates nothing. */
static tsr_status_t decide(gas_plan_t *plan)
{
	tsr_device_props_t device;
	workload_place_t place;
	tsr_status_t status = machine_place(plan->world, &device, &place);
	if (status == TSR_OK && tile_is_automatic(plan->config.tile))
		status = gas_tile_choose(&plan->config, &place);
	if (status == TSR_OK)
		status = variants_find(gas_pattern_kernels(plan->config.pattern)->kernels,
				       plan->config.dtype, plan->config.tile, &device,
				       plan->kernels);
	if (status == TSR_OK)
		status = gas_blocks_choose(&plan->config, &place);
	if (status == TSR_OK)
		plan->machine = place.machine;
	return status;
}

/** Fills in `plan`. After an error, gas_plan_destroy releases what was made. */
static tsr_status_t build(gas_plan_t *plan)
{
	tsr_status_t status = decide(plan);
	if (status != TSR_OK)
		return status;
	describe_buffers(&plan->config, tsr_world_size(plan->world), plan->buffer);
	status = check_heap(plan);
	if (status == TSR_OK)
		status = buffers_allocate(plan->world, plan->buffer, GAS_BUFFERS);
	if (status == TSR_OK)
		status = create_streams(plan);
	if (status != TSR_OK)
		return status;
	set_product(plan);
	set_tasks(plan);
	return tsr_barrier(plan->world);
}

tsr_status_t gas_plan_create(tsr_world_t *world, const gas_config_t *config, gas_plan_t **plan_out)
{
	tsr_status_t status = gas_config_check(config, tsr_world_size(world));
	if (status != TSR_OK)
		return status;
	gas_plan_t *plan = calloc(1, sizeof *plan);
	if (!plan)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a plan; free some");
	plan->world = world;
	plan->config = *config;
	status = build(plan);
	if (status != TSR_OK)
		return gas_plan_abandon(plan, status);
	*plan_out = plan;
	return TSR_OK;
}

static bool same_product(const gas_config_t *a, const gas_config_t *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && a->dtype == b->dtype;
}

/**
 * Only the hand-off buffers depend on the changed members. The new ones are
 * allocated before the old ones are freed.
 */
tsr_status_t gas_plan_adapt(gas_plan_t *plan, const gas_config_t *config)
{
	gas_plan_t next = *plan;
	next.config = *config;
	tsr_status_t status = gas_config_check(config, tsr_world_size(plan->world));
	if (status == TSR_OK && !same_product(config, &plan->config))
		status = tsr_error(TSR_ERR_ARGUMENT, "a plan's shape and dtype are its own: make "
						     "another plan for another product");
	if (status == TSR_OK)
		status = decide(&next);
	if (status != TSR_OK)
		return status;
	buffer_t before[GAS_BUFFERS];
	const int handoff = GAS_BUFFERS - GAS_HANDOFF;
	memcpy(before, plan->buffer, sizeof before);
	describe_buffers(&next.config, tsr_world_size(plan->world), next.buffer);
	memcpy(next.buffer, before, GAS_HANDOFF * sizeof *before);
	status = buffers_allocate(plan->world, next.buffer + GAS_HANDOFF, handoff);
	if (status != TSR_OK)
		return status;
	set_tasks(&next);
	*plan = next;
	status = create_streams(plan);
	/* buffers_free waits for the runs with the old flags, and for every rank. So the new flags
	 * are zero on all ranks. */
	return error_first(status, buffers_free(plan->world, before + GAS_HANDOFF, handoff));
}

tsr_status_t gas_plan_destroy(gas_plan_t *plan)
{
	if (!plan)
		return TSR_OK;
	tsr_status_t status = streams_destroy(&plan->streams);
	status = error_first(status, buffers_free(plan->world, plan->buffer, GAS_BUFFERS));
	free(plan);
	return status;
}

tsr_status_t gas_plan_abandon(gas_plan_t *plan, tsr_status_t status)
{
	const kept_error_t error = error_keep(status);
	(void)gas_plan_destroy(plan);
	return error_again(&error);
}

const gas_config_t *gas_plan_config(const gas_plan_t *plan)
{
	return &plan->config;
}

tsr_stream_t *gas_plan_stream(const gas_plan_t *plan)
{
	return plan->streams.main;
}

tsr_view_t gas_plan_a(const gas_plan_t *plan)
{
	return plan->args.a;
}

tsr_view_t gas_plan_b(const gas_plan_t *plan)
{
	return plan->args.b;
}

tsr_view_t gas_plan_c(const gas_plan_t *plan)
{
	return plan->args.c;
}

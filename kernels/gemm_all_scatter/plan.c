/* The memory, streams and arguments of a plan. */
#include <string.h>

#include "kernels/choices/cost.h"
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

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

static gas_plan_t *plan_of(const plan_t *plan)
{
	return (gas_plan_t *)plan;
}

/**
 * Takes the configuration, and describes the buffers. The sizes cannot overflow:
 * gas_config_check has checked the matrices, a tile has more elements than its
 * flag has bytes, and no more tiles are divided than there are blocks, each of
 * which holds one tile.
 */
static void prepare(plan_t *plan)
{
	const gas_config_t of_plan = gas_config_of(&plan->config), *config = &of_plan;
	const int ranks = plan->ranks;
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
			      .is_cleared = true},
		[GAS_TILE_READY] = {.name = "gemm_all_scatter.tile_ready",
				    .size_bytes = tile_flags,
				    .is_cleared = true},
		[GAS_TAKEN] = {.name = "gemm_all_scatter.taken",
			       .size_bytes = sizeof(uint64_t),
			       .is_cleared = true},
		[GAS_PART_SUM] = {.name = "gemm_all_scatter.part_sum",
				  .size_bytes = sums * sum_bytes},
		[GAS_PART_READY] = {.name = "gemm_all_scatter.part_ready",
				    .size_bytes = sums * sizeof(uint64_t),
				    .is_cleared = true},
	};
	memcpy(plan->buffer, buffers, sizeof buffers);
	plan->dtype = config->dtype;
	plan->tile = config->tile;
	plan_of(plan)->config = of_plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const product_t product = gas_product(&plan_of(plan)->config);
	product_words(&product, words_out);
}

/** Sets the arguments that depend on the product alone. */
static void set_product(plan_t *plan)
{
	gas_plan_t *self = plan_of(plan);
	const gas_config_t *c = &self->config;
	const share_t share = share_of(c->n, plan->rank, plan->ranks);
	gas_args_t *args = &self->args;
	args->a = matrix_view(plan->buffer[GAS_BUFFER_A].data, c->dtype, c->m, c->k);
	args->b = matrix_view(plan->buffer[GAS_BUFFER_B].data, c->dtype, c->k, share.count);
	args->c = matrix_view(plan->buffer[GAS_BUFFER_C].data, c->dtype, c->m, c->n);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[GAS_SYNC].data;
	args->first_col = share.first;
}

/** Sets the others: how tiles become tasks, and what blocks hand to each other. */
static void set_tasks(plan_t *plan)
{
	gas_plan_t *self = plan_of(plan);
	const gas_config_t *c = &self->config;
	const int64_t blocks = computing_blocks(c), chunks = tiles_of(c->k, c->tile.k);
	tiling_t *tiling = &self->args.tiling;
	self->args.taken = (TSR_HEAP uint64_t *)plan->buffer[GAS_TAKEN].data;
	tiling->tile_ready = (TSR_HEAP uint64_t *)plan->buffer[GAS_TILE_READY].data;
	tiling->part_sum = plan->buffer[GAS_PART_SUM].data;
	tiling->part_ready = (TSR_HEAP uint64_t *)plan->buffer[GAS_PART_READY].data;
	tiling->tiles_m = (uint32_t)tiles_of(c->m, c->tile.m);
	tiling->tiles_n = (uint32_t)tiles_of(self->args.b.cols, c->tile.n);
	tiling->group = TILING_GROUP;
	tiling->blocks = (int32_t)blocks;
	tiling->whole =
		cost_whole_tiles((int64_t)tiling->tiles_m * tiling->tiles_n, blocks, c->parts);
	tiling->parts = c->parts > 1 ? c->parts : 1;
	tiling->part_chunks = (int32_t)(chunks / tiling->parts);
	tiling->shorter_parts = tiling->parts - (int32_t)(chunks % tiling->parts);
	self->bands = gas_plan_bands(self);
}

int gas_pattern_sides(gas_pattern_t pattern, int ranks)
{
	if (pattern == GAS_BANDED)
		return 1 + (ranks - 1 < GAS_COPIERS ? ranks - 1 : GAS_COPIERS);
	return pattern == GAS_PRODUCER_CONSUMER ? 1 : 0;
}

static void count_streams(const plan_t *plan, int *sides_out, int *marks_out)
{
	const gas_pattern_t pattern = plan_of(plan)->config.pattern;
	_Static_assert((int)GAS_BANDS <= (int)STREAMS_MARKS, "a band has a mark");
	*sides_out = gas_pattern_sides(pattern, plan->ranks);
	*marks_out = pattern == GAS_BANDED ? GAS_BANDS : 0;
}

static tsr_view_t view(const plan_t *plan, int matrix)
{
	const gas_args_t *args = &plan_of(plan)->args;
	return matrix == GAS_A ? args->a : matrix == GAS_B ? args->b : args->c;
}

static void place(plan_t *plan, int matrix, tsr_view_t view)
{
	gas_args_t *args = &plan_of(plan)->args;
	*(matrix == GAS_A ? &args->a : matrix == GAS_B ? &args->b : &args->c) = view;
}

const plan_kind_t gas_plan_kind = {
	.workload = &gemm_all_scatter,
	.size_bytes = sizeof(gas_plan_t),
	.buffers = GAS_BUFFERS,
	.kept = GAS_HANDOFF,
	.words = words,
	.prepare = prepare,
	.set_problem = set_product,
	.set_exchange = set_tasks,
	.count_streams = count_streams,
	.run = gas_run,
	.compute = gas_compute,
	.view = view,
	.place = place,
};

/* ------------------------------------------------------------ plans for C programs */

static workload_run_t *run_of(const gas_plan_t *plan)
{
	return (workload_run_t *)plan;
}

tsr_status_t gas_plan_create(tsr_world_t *world, const gas_config_t *config, gas_plan_t **plan_out)
{
	const workload_config_t asked = gas_workload_config(config);
	return plan_open(&gas_plan_kind, world, &asked, (workload_run_t **)plan_out);
}

tsr_status_t gas_plan_adapt(gas_plan_t *plan, const gas_config_t *config)
{
	const workload_config_t asked = gas_workload_config(config);
	return plan_reconfigure(run_of(plan), &asked);
}

tsr_status_t gas_plan_run(gas_plan_t *plan)
{
	return plan_start(run_of(plan));
}

tsr_status_t gas_plan_run_product(gas_plan_t *plan)
{
	return plan_compute(run_of(plan));
}

tsr_status_t gas_plan_sync(gas_plan_t *plan)
{
	return plan_sync(run_of(plan));
}

tsr_status_t gas_plan_destroy(gas_plan_t *plan)
{
	return plan_close(run_of(plan), TSR_OK);
}

tsr_status_t gas_plan_abandon(gas_plan_t *plan, tsr_status_t status)
{
	return plan_close(run_of(plan), status);
}

const gas_config_t *gas_plan_config(const gas_plan_t *plan)
{
	return &plan->config;
}

tsr_stream_t *gas_plan_stream(const gas_plan_t *plan)
{
	return plan->plan.streams.main;
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

/*
 * A plan: the memory, streams and events of one pattern on one rank. run.c
 * launches it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/cost.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

/*
 * Rows of tiles that are walked together, so that neighbours share operands in
 * cache. The Iris paper's runs use about 6.
 */
enum { GROUP = 6 };

/*
 * The default alignment of tsr_heap_alloc; sizes of allocations are rounded up
 * to it.
 */
enum { HEAP_ALIGN_BYTES = 256 };

static tsr_status_t find_kernels(gas_plan_t *plan, const tsr_device_props_t *device)
{
	const gas_pattern_kernels_t *pattern = gas_pattern_kernels(plan->config.pattern);
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < 2 && pattern->kernels[i]; i++)
		status = variant_find(pattern->kernels[i], plan->config.dtype, plan->config.tile,
				      device, &plan->kernels[i]);
	return status;
}

/* ------------------------------------------------------------ memory */

/**
 * Sizes in bytes of the plan's allocations: A, B, C, the tiles' flags, the sums
 * of blocks that share a tile and their flags, the handshake. The same on every
 * rank.
 */
typedef struct gas_sizes {
	size_t a, b, c, tile_ready, part_sum, part_ready, sync;
} gas_sizes_t;

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
 * The sizes cannot overflow: gas_config_check has checked the matrices, a tile
 * has more elements than its flag has bytes, and no more tiles are divided than
 * there are blocks, each of which holds one tile.
 */
static gas_sizes_t plan_sizes(const gas_config_t *config, int ranks)
{
	const int64_t share = share_largest(config->n, ranks);
	const int64_t tiles = gas_most_tiles(config, config->tile, ranks);
	size_t sums = (size_t)most_divided(config, tiles) * (size_t)(config->parts - 1);
	return (gas_sizes_t){.a = matrix_bytes(config->dtype, config->m, config->k),
			     .b = matrix_bytes(config->dtype, config->k, share),
			     .c = matrix_bytes(config->dtype, config->m, config->n),
			     .tile_ready = (size_t)tiles * sizeof(uint64_t),
			     .part_sum = sums * (size_t)config->tile.m * (size_t)config->tile.n *
					 sizeof(float),
			     .part_ready = sums * sizeof(uint64_t),
			     .sync = sizeof(handshake_t)};
}

static tsr_status_t check_heap(const gas_plan_t *plan, const gas_sizes_t *sizes)
{
	const size_t bytes[] = {sizes->a,        sizes->b,          sizes->c,   sizes->tile_ready,
				sizes->part_sum, sizes->part_ready, sizes->sync};
	const gas_config_t *c = &plan->config;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	size_t total = 0;
	tsr_status_t status = tsr_heap_usage(plan->world, &usage);
	if (status != TSR_OK)
		return status;
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
		size_t rounded =
			(bytes[i] + HEAP_ALIGN_BYTES - 1) / HEAP_ALIGN_BYTES * HEAP_ALIGN_BYTES;
		if (__builtin_add_overflow(total, rounded, &total))
			total = SIZE_MAX;
	}
	if (total <= usage.free_bytes)
		return TSR_OK;
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "shape %" PRId64 "x%" PRId64 "x%" PRId64
			 " in %s needs %s of each rank's heap, and of its %s %s are free "
			 "(largest piece %s); set TESSERA_HEAP_SIZE higher, or use a smaller shape",
			 c->m, c->n, c->k, tsr_dtype_name(c->dtype), TSR_SIZE(total),
			 TSR_SIZE(usage.heap_bytes), TSR_SIZE(usage.free_bytes),
			 TSR_SIZE(usage.largest_bytes));
}

static tsr_status_t allocate_matrix(gas_plan_t *plan, size_t size_bytes, const char *name,
				    int64_t rows, int64_t cols, tsr_view_t *view_out)
{
	TSR_HEAP void *data;
	tsr_status_t status = tsr_heap_alloc(plan->world, size_bytes, 0, name, &data);
	if (status != TSR_OK)
		return status;
	*view_out = matrix_view(data, plan->config.dtype, rows, cols);
	return TSR_OK;
}

/**
 * Allocates flags and sets them to zero. The barrier in gas_plan_create ensures
 * that the other ranks' flags are zero too before the first run.
 */
static tsr_status_t allocate_flags(const gas_plan_t *plan, size_t size_bytes, const char *name,
				   TSR_HEAP void **flags_out)
{
	tsr_status_t status = tsr_heap_alloc(plan->world, size_bytes, 0, name, flags_out);
	return status == TSR_OK ? tsr_memset_heap(plan->world, *flags_out, 0, size_bytes) : status;
}

/**
 * Allocates the buffers that depend on more than the product: how tiles become
 * tasks, and the sums and flags that blocks hand to each other.
 */
static tsr_status_t allocate_handoff(const gas_plan_t *plan, const gas_sizes_t *sizes,
				     gas_args_t *args)
{
	const gas_config_t *c = &plan->config;
	TSR_HEAP void *tile_ready = NULL, *part_sum = NULL, *part_ready = NULL;
	tsr_status_t status =
		allocate_flags(plan, sizes->tile_ready, "gemm_all_scatter.tile_ready", &tile_ready);
	if (status == TSR_OK && sizes->part_sum > 0)
		status = tsr_heap_alloc(plan->world, sizes->part_sum, 0,
					"gemm_all_scatter.part_sum", &part_sum);
	if (status == TSR_OK && sizes->part_sum > 0)
		status = allocate_flags(plan, sizes->part_ready, "gemm_all_scatter.part_ready",
					&part_ready);
	args->tile_ready = (TSR_HEAP uint64_t *)tile_ready;
	args->part_sum = part_sum;
	args->part_ready = (TSR_HEAP uint64_t *)part_ready;
	args->tiles_m = (uint32_t)tiles_of(c->m, c->tile.m);
	args->tiles_n = (uint32_t)tiles_of(args->b.cols, c->tile.n);
	args->whole = cost_whole_tiles((int64_t)args->tiles_m * args->tiles_n, computing_blocks(c),
				       c->parts);
	args->parts = c->parts > 1 ? c->parts : 1;
	args->part_chunks = (int32_t)(tiles_of(c->k, c->tile.k) / args->parts);
	args->shorter_parts = args->parts - (int32_t)(tiles_of(c->k, c->tile.k) % args->parts);
	args->gemm_blocks = (int32_t)computing_blocks(c);
	return status;
}

static tsr_status_t first_error(tsr_status_t earlier, tsr_status_t later)
{
	return earlier != TSR_OK ? earlier : later;
}

static tsr_status_t free_handoff(const gas_plan_t *plan, const gas_args_t *args)
{
	TSR_HEAP void *memory[] = {args->tile_ready, args->part_sum, args->part_ready};
	tsr_status_t status = TSR_OK;
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		if (memory[i])
			status = first_error(status, tsr_heap_free(plan->world, memory[i]));
	return status;
}

static tsr_status_t allocate(gas_plan_t *plan, const gas_sizes_t *sizes)
{
	const gas_config_t *c = &plan->config;
	gas_args_t *args = &plan->args;
	TSR_HEAP void *sync = NULL;
	share_t share = share_of(c->n, tsr_world_rank(plan->world), tsr_world_size(plan->world));
	tsr_status_t status = allocate_matrix(plan, sizes->a, "A", c->m, c->k, &args->a);
	if (status == TSR_OK)
		status = allocate_matrix(plan, sizes->b, "B", c->k, share.count, &args->b);
	if (status == TSR_OK)
		status = allocate_matrix(plan, sizes->c, "C", c->m, c->n, &args->c);
	if (status == TSR_OK)
		status = allocate_handoff(plan, sizes, args);
	if (status == TSR_OK)
		status = allocate_flags(plan, sizes->sync, "gemm_all_scatter.sync", &sync);
	args->sync = (TSR_HEAP handshake_t *)sync;
	args->first_col = share.first;
	args->group = GROUP;
	return status;
}

/* ----------------------------------------------------- creation and release */

int gas_pattern_sides(gas_pattern_t pattern, int ranks)
{
	if (pattern == GAS_BANDED)
		return 1 + (ranks - 1 < GAS_COPIERS ? ranks - 1 : GAS_COPIERS);
	return pattern == GAS_PRODUCER_CONSUMER ? 1 : 0;
}

static tsr_status_t create_event(gas_plan_t *plan, tsr_event_t **event)
{
	return *event ? TSR_OK : tsr_event_create(plan->world, event);
}

static tsr_status_t create_stream(gas_plan_t *plan, tsr_stream_t **stream)
{
	return *stream ? TSR_OK : tsr_stream_create(tsr_world_team(plan->world), stream);
}

/**
 * Creates the streams and events that the pattern needs and the plan does not
 * have yet.
 */
static tsr_status_t create_streams(gas_plan_t *plan)
{
	const int sides = gas_pattern_sides(plan->config.pattern, tsr_world_size(plan->world));
	tsr_status_t status = create_stream(plan, &plan->main);
	if (status == TSR_OK && sides > 0)
		status = create_event(plan, &plan->forked);
	for (int i = 0; status == TSR_OK && i < sides; i++) {
		status = create_stream(plan, &plan->side[i]);
		if (status == TSR_OK)
			status = create_event(plan, &plan->joined[i]);
	}
	for (int i = 0; status == TSR_OK && plan->config.pattern == GAS_BANDED && i < GAS_BANDS;
	     i++)
		status = create_event(plan, &plan->computed[i]);
	return status;
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
		status = find_kernels(plan, &device);
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
	gas_sizes_t sizes = plan_sizes(&plan->config, tsr_world_size(plan->world));
	status = check_heap(plan, &sizes);
	if (status == TSR_OK)
		status = allocate(plan, &sizes);
	if (status == TSR_OK)
		status = create_streams(plan);
	return status == TSR_OK ? tsr_barrier(plan->world) : status;
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
 * Releases the buffers of an allocation that failed, and keeps its sentence.
 */
static tsr_status_t give_back(const gas_plan_t *plan, const gas_args_t *args, tsr_status_t status)
{
	char sentence[1024];
	(void)snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	(void)free_handoff(plan, args);
	return tsr_error(status, "%s", sentence);
}

/**
 * Only the hand-off buffers depend on the changed members. The new ones are
 * allocated before the old ones are freed.
 */
tsr_status_t gas_plan_adapt(gas_plan_t *plan, const gas_config_t *config)
{
	gas_plan_t next = *plan;
	next.config = *config;
	memset(next.kernels, 0, sizeof next.kernels);
	tsr_status_t status = gas_config_check(config, tsr_world_size(plan->world));
	if (status == TSR_OK && !same_product(config, &plan->config))
		status = tsr_error(TSR_ERR_ARGUMENT, "a plan's shape and dtype are its own: make "
						     "another plan for another product");
	if (status == TSR_OK)
		status = decide(&next);
	if (status != TSR_OK)
		return status;
	gas_sizes_t sizes = plan_sizes(&next.config, tsr_world_size(plan->world));
	status = allocate_handoff(&next, &sizes, &next.args);
	if (status != TSR_OK)
		return give_back(plan, &next.args, status);
	const gas_args_t before = plan->args;
	*plan = next;
	status = create_streams(plan);
	/* tsr_heap_free waits for the runs with the old flags, and for every rank. So the new flags
	 * are zero on all ranks. */
	return first_error(status, free_handoff(plan, &before));
}

static tsr_status_t destroy_streams(gas_plan_t *plan)
{
	tsr_status_t status = tsr_stream_destroy(plan->main);
	for (int i = 0; i < GAS_SIDES; i++)
		status = first_error(status, tsr_stream_destroy(plan->side[i]));
	for (int i = 0; i < GAS_SIDES; i++)
		if (plan->joined[i])
			status = first_error(status, tsr_event_destroy(plan->joined[i]));
	for (int i = 0; i < GAS_BANDS; i++)
		if (plan->computed[i])
			status = first_error(status, tsr_event_destroy(plan->computed[i]));
	return plan->forked ? first_error(status, tsr_event_destroy(plan->forked)) : status;
}

tsr_status_t gas_plan_destroy(gas_plan_t *plan)
{
	if (!plan)
		return TSR_OK;
	gas_args_t *args = &plan->args;
	TSR_HEAP void *memory[] = {args->a.data, args->b.data, args->c.data, args->sync};
	tsr_status_t status = destroy_streams(plan);
	status = first_error(status, free_handoff(plan, args));
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		if (memory[i])
			status = first_error(status, tsr_heap_free(plan->world, memory[i]));
	free(plan);
	return status;
}

tsr_status_t gas_plan_abandon(gas_plan_t *plan, tsr_status_t status)
{
	char sentence[1024];
	(void)snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
	(void)gas_plan_destroy(plan);
	return tsr_error(status, "%s", sentence);
}

const gas_config_t *gas_plan_config(const gas_plan_t *plan)
{
	return &plan->config;
}

tsr_stream_t *gas_plan_stream(const gas_plan_t *plan)
{
	return plan->main;
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

#include "kernels/gemm_reduce_scatter/plan.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/host/cost.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

/*
 * Rows of tiles that are walked together, so that neighbours share operands in
 * cache.
 */
enum { GROUP = 6 };

/* Additional bytes of a sent tile: a header, and rounding up. */
enum { SLOT_MORE_BYTES = 128 };

const char *const grs_kernels[GRS_PATTERNS][2] = {
	[GRS_BULK_SYNCHRONOUS] = {"grs_gemm", "grs_reduce"},
	[GRS_OWN_CHUNK_LAST] = {"grs_own_chunk_last", NULL},
};

/* -------------------------------------------------------- the configuration */

workload_matrix_t grs_matrix(const grs_config_t *config, int matrix, int rank, int ranks)
{
	static const char *const names[GRS_MATRICES] = {"A", "B", "C", "sums"};
	static const workload_use_t uses[GRS_MATRICES] = {WORKLOAD_INPUT, WORKLOAD_INPUT,
							  WORKLOAD_OUTPUT, WORKLOAD_BETWEEN};
	const int64_t rows = matrix == GRS_B ? config->k : config->m,
		      cols = matrix == GRS_A ? config->k : config->n;
	const share_t all_rows = {0, rows}, all_cols = {0, cols};
	const share_t of_rows =
		matrix == GRS_B || matrix == GRS_C ? share_of(rows, rank, ranks) : all_rows;
	const share_t of_cols = matrix == GRS_A ? share_of(cols, rank, ranks) : all_cols;
	return (workload_matrix_t){.name = names[matrix],
				   .use = uses[matrix],
				   .dtype = config->dtype,
				   .stream = matrix == GRS_B,
				   .rows = rows,
				   .cols = cols,
				   .first_row = of_rows.first,
				   .part_rows = of_rows.count,
				   .first_col = of_cols.first,
				   .part_cols = of_cols.count};
}

tsr_status_t grs_config_check(const grs_config_t *c, int ranks)
{
	if (ranks < 1 || ranks > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world has 1 to %d ranks, not %d",
				 TSR_MAX_RANKS, ranks);
	/* checked with the largest element, because sums may be wider than the matrices */
	const product_t product = {.m = c->m, .n = c->n, .k = c->k, .dtype = TSR_F64};
	tsr_status_t status = product_check(&product);
	if (status != TSR_OK)
		return status;
	if (c->sums != TSR_F32 && c->sums != c->dtype)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"sums are sent as f32, or in the matrices' dtype %s, and not as %s",
			tsr_dtype_name(c->dtype), tsr_dtype_name(c->sums));
	return variant_check("GEMM + reduce-scatter", grs_kernels[c->pattern][0], c->dtype,
			     c->tile);
}

/* -------------------------------------------------------- automatic choices */

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
	const cost_search_t search = {.kernel = grs_kernels[c->pattern][0],
				      .dtype = c->dtype,
				      .device = place->device,
				      .cost = cost_in_tiles,
				      .ctx = &candidate};
	if (cost_cheapest_tile(&search, &c->tile))
		return TSR_OK;
	return tsr_error(TSR_ERR_UNSUPPORTED, "no tile that is built for %s fits a block of %s",
			 tsr_dtype_name(c->dtype), place->device->name);
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

static tsr_status_t decide(grs_plan_t *plan)
{
	grs_config_t *c = &plan->config;
	tsr_device_props_t device;
	workload_place_t place;
	tsr_status_t status = machine_place(plan->world, &device, &place);
	if (status == TSR_OK)
		status = grs_choose(c, &place);
	for (int i = 0; status == TSR_OK && i < 2 && grs_kernels[c->pattern][i]; i++)
		status = variant_find(grs_kernels[c->pattern][i], c->dtype, c->tile, &device,
				      &plan->kernels[i]);
	return status;
}

/* ------------------------------------------------------------ memory */

static tsr_status_t allocate_matrix(const grs_plan_t *plan, int matrix, const char *name,
				    tsr_dtype_t dtype, tsr_view_t *view_out)
{
	const int ranks = tsr_world_size(plan->world);
	const workload_matrix_t mine =
		grs_matrix(&plan->config, matrix, tsr_world_rank(plan->world), ranks);
	TSR_HEAP void *data;
	size_t most = 1;
	for (int r = 0; r < ranks; r++) {
		const workload_matrix_t theirs = grs_matrix(&plan->config, matrix, r, ranks);
		const size_t bytes = matrix_bytes(dtype, theirs.part_rows, theirs.part_cols);
		most = bytes > most ? bytes : most;
	}
	tsr_status_t status = tsr_heap_alloc(plan->world, most, 0, name, &data);
	if (status == TSR_OK)
		*view_out = matrix_view(data, dtype, mine.part_rows, mine.part_cols);
	return status;
}

static tsr_status_t allocate_cleared(const grs_plan_t *plan, size_t bytes, const char *name,
				     TSR_HEAP void **memory_out)
{
	tsr_status_t status = tsr_heap_alloc(plan->world, bytes, 0, name, memory_out);
	return status == TSR_OK ? tsr_memset_heap(plan->world, *memory_out, 0, bytes) : status;
}

/**
 * Allocates the buffers that depend on more than the product. The caller makes
 * a barrier afterwards, so that flags are zero on all ranks.
 */
static tsr_status_t allocate_exchange(const grs_plan_t *plan, grs_args_t *args)
{
	const grs_config_t *c = &plan->config;
	const int ranks = tsr_world_size(plan->world);
	TSR_HEAP void *come = NULL;
	tsr_status_t status = TSR_OK;
	args->tiles_m = tiles_of(share_largest(c->m, ranks), c->tile.m);
	args->tiles_n = tiles_of(c->n, c->tile.n);
	args->bands = c->bands;
	args->sums = (int32_t)c->sums;
	args->slot_bytes =
		(int64_t)((size_t)c->tile.m * (size_t)c->tile.n * tsr_dtype_bytes(c->sums) +
			  SLOT_MORE_BYTES) /
		64 * 64;
	args->inbox = NULL;
	args->come = NULL;
	memset(&args->partial, 0, sizeof args->partial);
	const size_t slots = (size_t)(ranks * args->tiles_m * args->tiles_n);
	if (c->pattern == GRS_BULK_SYNCHRONOUS)
		return allocate_matrix(plan, GRS_PARTIAL, "gemm_reduce_scatter.sums", c->sums,
				       &args->partial);
	status = tsr_heap_alloc(plan->world, slots * (size_t)args->slot_bytes, 0,
				"gemm_reduce_scatter.inbox", &args->inbox);
	if (status == TSR_OK)
		status = allocate_cleared(plan, slots * sizeof(uint64_t),
					  "gemm_reduce_scatter.come", &come);
	args->come = (TSR_HEAP uint64_t *)come;
	return status;
}

static tsr_status_t first_error(tsr_status_t earlier, tsr_status_t later)
{
	return earlier != TSR_OK ? earlier : later;
}

static tsr_status_t free_all(const grs_plan_t *plan, TSR_HEAP void *const *memory, int count)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < count; i++)
		if (memory[i])
			status = first_error(status, tsr_heap_free(plan->world, memory[i]));
	return status;
}

static tsr_status_t free_exchange(const grs_plan_t *plan, const grs_args_t *args)
{
	TSR_HEAP void *const memory[] = {args->partial.data, args->inbox, args->come};
	return free_all(plan, memory, 3);
}

static tsr_status_t build(grs_plan_t *plan)
{
	grs_args_t *args = &plan->args;
	TSR_HEAP void *sync = NULL;
	tsr_status_t status = decide(plan);
	if (status == TSR_OK)
		status = allocate_matrix(plan, GRS_A, "A", plan->config.dtype, &args->a);
	if (status == TSR_OK)
		status = allocate_matrix(plan, GRS_B, "B", plan->config.dtype, &args->b);
	if (status == TSR_OK)
		status = allocate_matrix(plan, GRS_C, "C", plan->config.dtype, &args->c);
	if (status == TSR_OK)
		status = allocate_cleared(plan, sizeof(handshake_t), "gemm_reduce_scatter.sync",
					  &sync);
	if (status == TSR_OK)
		status = allocate_exchange(plan, args);
	if (status == TSR_OK)
		status = tsr_stream_create(tsr_world_team(plan->world), &plan->stream);
	args->sync = (TSR_HEAP handshake_t *)sync;
	args->rows = plan->config.m;
	args->group = GROUP;
	return status == TSR_OK ? tsr_barrier(plan->world) : status;
}

/* ----------------------------------------------------- creation and release */

tsr_status_t grs_plan_create(tsr_world_t *world, const grs_config_t *config, grs_plan_t **plan_out)
{
	tsr_status_t status = grs_config_check(config, tsr_world_size(world));
	if (status != TSR_OK)
		return status;
	grs_plan_t *plan = calloc(1, sizeof *plan);
	if (!plan)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a plan; free some");
	plan->world = world;
	plan->config = *config;
	/* even after an error: the caller destroys the plan and keeps the sentence */
	*plan_out = plan;
	return build(plan);
}

tsr_status_t grs_plan_adapt(grs_plan_t *plan, const grs_config_t *config)
{
	grs_plan_t next = *plan;
	next.config = *config;
	memset(next.kernels, 0, sizeof next.kernels);
	tsr_status_t status = grs_config_check(config, tsr_world_size(plan->world));
	if (status == TSR_OK &&
	    (config->m != plan->config.m || config->n != plan->config.n ||
	     config->k != plan->config.k || config->dtype != plan->config.dtype))
		status = tsr_error(TSR_ERR_ARGUMENT, "a plan's shape and dtype are its own: make "
						     "another plan for another product");
	if (status == TSR_OK)
		status = decide(&next);
	if (status == TSR_OK)
		status = tsr_stream_sync(plan->stream);
	if (status != TSR_OK)
		return status;
	status = allocate_exchange(&next, &next.args);
	if (status != TSR_OK) {
		char sentence[1024];
		(void)strncpy(sentence, tsr_last_error(), sizeof sentence - 1);
		sentence[sizeof sentence - 1] = '\0';
		(void)free_exchange(plan, &next.args);
		return tsr_error(status, "%s", sentence);
	}
	const grs_args_t before = plan->args;
	*plan = next;
	/* Waits for every rank, so the new flags are zero on all ranks. */
	return free_exchange(plan, &before);
}

tsr_status_t grs_plan_run_product(grs_plan_t *plan)
{
	if (plan->config.pattern != GRS_BULK_SYNCHRONOUS)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"this pattern does not compute without sending; use bulk-synchronous");
	return tsr_launch(plan->stream, plan->kernels[0], plan->config.blocks, &plan->args);
}

tsr_status_t grs_plan_run(grs_plan_t *plan)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < 2 && plan->kernels[i]; i++)
		status = tsr_launch(plan->stream, plan->kernels[i], plan->config.blocks,
				    &plan->args);
	return status;
}

tsr_status_t grs_plan_destroy(grs_plan_t *plan)
{
	if (!plan)
		return TSR_OK;
	const grs_args_t *args = &plan->args;
	TSR_HEAP void *const memory[] = {args->a.data, args->b.data, args->c.data, args->sync};
	tsr_status_t status = tsr_stream_destroy(plan->stream);
	status = first_error(status, free_exchange(plan, args));
	status = first_error(status, free_all(plan, memory, 4));
	free(plan);
	return status;
}

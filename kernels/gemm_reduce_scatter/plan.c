#include "kernels/gemm_reduce_scatter/plan.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/host/cost.h"
#include "kernels/host/errors.h"
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
	if (status == TSR_OK)
		status = variants_find(grs_kernels[c->pattern], c->dtype, c->tile, &device,
				       plan->kernels);
	return status;
}

/* ------------------------------------------------------------ memory */

/** Rows and columns of tiles of a chunk, the largest on any rank. */
static int64_t chunk_tiles_m(const grs_config_t *c, int ranks)
{
	return tiles_of(share_largest(c->m, ranks), c->tile.m);
}

/** Bytes of a slot, which holds a sent tile. */
static int64_t slot_bytes(const grs_config_t *c)
{
	const size_t tile = (size_t)c->tile.m * (size_t)c->tile.n * tsr_dtype_bytes(c->sums);
	return (int64_t)(tile + SLOT_MORE_BYTES) / 64 * 64;
}

/** Describes the buffers, of which none is allocated. */
static void describe_buffers(const grs_config_t *c, int ranks, buffer_t buffers_out[GRS_BUFFERS])
{
	const int64_t rows = share_largest(c->m, ranks), depth = share_largest(c->k, ranks);
	const bool is_bulk = c->pattern == GRS_BULK_SYNCHRONOUS;
	const size_t sums = is_bulk ? matrix_bytes(c->sums, c->m, c->n) : 0;
	const size_t slots =
		is_bulk ? 0 : (size_t)(ranks * chunk_tiles_m(c, ranks) * tiles_of(c->n, c->tile.n));
	const size_t inbox = slots * (size_t)slot_bytes(c), flags = slots * sizeof(uint64_t);
	const buffer_t buffers[GRS_BUFFERS] = {
		[GRS_BUFFER_A] = {.name = "A", .size_bytes = matrix_bytes(c->dtype, c->m, depth)},
		[GRS_BUFFER_B] = {.name = "B", .size_bytes = matrix_bytes(c->dtype, depth, c->n)},
		[GRS_BUFFER_C] = {.name = "C", .size_bytes = matrix_bytes(c->dtype, rows, c->n)},
		[GRS_SYNC] = {.name = "gemm_reduce_scatter.sync",
			      .size_bytes = sizeof(handshake_t),
			      .is_flags = true},
		[GRS_SUMS] = {.name = "gemm_reduce_scatter.sums", .size_bytes = sums},
		[GRS_INBOX] = {.name = "gemm_reduce_scatter.inbox", .size_bytes = inbox},
		[GRS_COME] = {.name = "gemm_reduce_scatter.come",
			      .size_bytes = flags,
			      .is_flags = true},
	};
	memcpy(buffers_out, buffers, sizeof buffers);
}

static tsr_status_t check_heap(const grs_plan_t *plan)
{
	const grs_config_t *c = &plan->config;
	const product_t product = {.m = c->m, .n = c->n, .k = c->k, .dtype = c->dtype};
	char words[PRODUCT_WORDS];
	product_words(&product, words);
	return buffers_check(plan->world, plan->buffer, GRS_BUFFERS, words);
}

/** The view of this rank's part of a matrix. */
static tsr_view_t view_of(const grs_plan_t *plan, int matrix, int buffer, tsr_dtype_t dtype)
{
	const workload_matrix_t part =
		grs_matrix(&plan->config, matrix, tsr_world_rank(plan->world),
			   tsr_world_size(plan->world));
	return matrix_view(plan->buffer[buffer].data, dtype, part.part_rows, part.part_cols);
}

/** Sets the arguments that depend on the product alone. */
static void set_product(grs_plan_t *plan)
{
	const int ranks = tsr_world_size(plan->world);
	const tsr_dtype_t dtype = plan->config.dtype;
	grs_args_t *args = &plan->args;
	args->a = view_of(plan, GRS_A, GRS_BUFFER_A, dtype);
	args->b = view_of(plan, GRS_B, GRS_BUFFER_B, dtype);
	args->c = view_of(plan, GRS_C, GRS_BUFFER_C, dtype);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[GRS_SYNC].data;
	args->chunk_rows = plan->config.m / ranks;
	args->rest = (int32_t)(plan->config.m % ranks);
	args->group = GROUP;
}

/** Sets the others: tiles, and what ranks exchange. */
static void set_exchange(grs_plan_t *plan)
{
	const grs_config_t *c = &plan->config;
	grs_args_t *args = &plan->args;
	args->tiles_m = chunk_tiles_m(c, tsr_world_size(plan->world));
	args->tiles_n = tiles_of(c->n, c->tile.n);
	args->bands = c->bands;
	args->sums = (int32_t)c->sums;
	args->slot_bytes = slot_bytes(c);
	args->inbox = plan->buffer[GRS_INBOX].data;
	args->come = (TSR_HEAP uint64_t *)plan->buffer[GRS_COME].data;
	args->partial = plan->buffer[GRS_SUMS].data ? view_of(plan, GRS_PARTIAL, GRS_SUMS, c->sums)
						    : (tsr_view_t){.data = NULL};
}

static tsr_status_t build(grs_plan_t *plan)
{
	tsr_status_t status = decide(plan);
	if (status != TSR_OK)
		return status;
	describe_buffers(&plan->config, tsr_world_size(plan->world), plan->buffer);
	status = check_heap(plan);
	if (status == TSR_OK)
		status = buffers_allocate(plan->world, plan->buffer, GRS_BUFFERS);
	if (status == TSR_OK)
		status = streams_create(plan->world, 0, 0, &plan->streams);
	if (status != TSR_OK)
		return status;
	set_product(plan);
	set_exchange(plan);
	return tsr_barrier(plan->world);
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
	tsr_status_t status = grs_config_check(config, tsr_world_size(plan->world));
	if (status == TSR_OK &&
	    (config->m != plan->config.m || config->n != plan->config.n ||
	     config->k != plan->config.k || config->dtype != plan->config.dtype))
		status = tsr_error(TSR_ERR_ARGUMENT, "a plan's shape and dtype are its own: make "
						     "another plan for another product");
	if (status == TSR_OK)
		status = decide(&next);
	if (status == TSR_OK)
		status = streams_sync(&plan->streams);
	if (status != TSR_OK)
		return status;
	buffer_t before[GRS_BUFFERS];
	const int exchange = GRS_BUFFERS - GRS_EXCHANGE;
	memcpy(before, plan->buffer, sizeof before);
	describe_buffers(&next.config, tsr_world_size(plan->world), next.buffer);
	memcpy(next.buffer, before, GRS_EXCHANGE * sizeof *before);
	status = buffers_allocate(plan->world, next.buffer + GRS_EXCHANGE, exchange);
	if (status != TSR_OK)
		return status;
	set_exchange(&next);
	*plan = next;
	/* buffers_free waits for every rank, so the new flags are zero on all ranks. */
	return buffers_free(plan->world, before + GRS_EXCHANGE, exchange);
}

tsr_status_t grs_plan_run_product(grs_plan_t *plan)
{
	if (plan->config.pattern != GRS_BULK_SYNCHRONOUS)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"this pattern does not compute without sending; use bulk-synchronous");
	return tsr_launch(plan->streams.main, plan->kernels[0], plan->config.blocks, &plan->args);
}

tsr_status_t grs_plan_run(grs_plan_t *plan)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < 2 && plan->kernels[i]; i++)
		status = tsr_launch(plan->streams.main, plan->kernels[i], plan->config.blocks,
				    &plan->args);
	return status;
}

tsr_status_t grs_plan_destroy(grs_plan_t *plan)
{
	if (!plan)
		return TSR_OK;
	tsr_status_t status = streams_destroy(&plan->streams);
	status = error_first(status, buffers_free(plan->world, plan->buffer, GRS_BUFFERS));
	free(plan);
	return status;
}

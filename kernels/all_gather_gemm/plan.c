/* A plan: the memory, streams and arguments of one pattern on one rank. */
#include "kernels/all_gather_gemm/plan.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/host/machine.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

/*
 * Rows of tiles that are walked together, so that neighbours share operands in
 * cache.
 */
enum { GROUP = 6 };

/* ------------------------------------------------------------ memory */

static int computing_blocks(const agg_config_t *c)
{
	return c->blocks - c->comm_blocks;
}

/** Describes the buffers, of which none is allocated. */
static void describe_buffers(const agg_config_t *c, int ranks, buffer_t buffers_out[AGG_BUFFERS])
{
	const int64_t cols = share_largest(c->n, ranks);
	const bool has_flags = c->pattern != AGG_BULK_SYNCHRONOUS && c->pattern != AGG_PULL,
		   has_sums = c->pattern != AGG_BULK_SYNCHRONOUS && c->along == AGG_BY_COLUMNS;
	const size_t flags = has_flags ? (size_t)(ranks * agg_most_chunks(c, ranks)) : 0,
		     tile = (size_t)c->tile.m * (size_t)c->tile.n * sizeof(float),
		     sums = has_sums ? (size_t)computing_blocks(c) : 0;
	const buffer_t buffers[AGG_BUFFERS] = {
		[AGG_BUFFER_A] = {.name = "A", .size_bytes = matrix_bytes(c->dtype, c->m, c->k)},
		[AGG_BUFFER_B] = {.name = "B", .size_bytes = matrix_bytes(c->dtype, c->k, cols)},
		[AGG_BUFFER_C] = {.name = "C", .size_bytes = matrix_bytes(c->dtype, c->m, cols)},
		[AGG_SYNC] = {.name = "all_gather_gemm.sync",
			      .size_bytes = sizeof(handshake_t),
			      .is_flags = true},
		[AGG_COME] = {.name = "all_gather_gemm.come",
			      .size_bytes = flags * sizeof(uint64_t),
			      .is_flags = true},
		[AGG_FIRST_SUMS] = {.name = "all_gather_gemm.first_sums",
				    .size_bytes = sums * tile},
	};
	memcpy(buffers_out, buffers, sizeof buffers);
}

static tsr_status_t check_heap(const agg_plan_t *plan)
{
	const product_t product = agg_product(&plan->config);
	char words[PRODUCT_WORDS];
	product_words(&product, words);
	return buffers_check(plan->world, plan->buffer, AGG_BUFFERS, words);
}

/** The view of this rank's part of a matrix that has a buffer of its own. */
static tsr_view_t dense_view(const agg_plan_t *plan, int matrix, int buffer)
{
	const workload_matrix_t part =
		agg_matrix(&plan->config, matrix, tsr_world_rank(plan->world),
			   tsr_world_size(plan->world));
	return matrix_view(plan->buffer[buffer].data, plan->config.dtype, part.part_rows,
			   part.part_cols);
}

/** Sets the arguments that depend on the product alone. */
static void set_product(agg_plan_t *plan)
{
	agg_args_t *args = &plan->args;
	args->whole = dense_view(plan, AGG_WHOLE, AGG_BUFFER_A);
	args->b = dense_view(plan, AGG_B, AGG_BUFFER_B);
	args->c = dense_view(plan, AGG_C, AGG_BUFFER_C);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[AGG_SYNC].data;
	args->along = plan->config.along;
	const int ranks = tsr_world_size(plan->world);
	const int64_t extent = args->along == AGG_BY_ROWS ? plan->config.m : plan->config.k;
	for (int rank = 0; rank < ranks; rank++)
		args->begin[rank] = (int32_t)share_of(extent, rank, ranks).first;
	args->begin[ranks] = (int32_t)extent;
}

/** Where this rank's tasks begin; 0 if no unit begins in its shard. */
static void set_turn(agg_plan_t *plan)
{
	agg_args_t *args = &plan->args;
	const int ranks = tsr_world_size(plan->world);
	const bool by_rows = args->along == AGG_BY_ROWS;
	const int unit = by_rows ? plan->config.tile.m : plan->config.tile.k;
	const int64_t turn = tiles_of(args->begin[tsr_world_rank(plan->world)], unit) * unit;
	args->turn = turn < args->begin[ranks] ? (int32_t)turn : 0;
	args->tasks_of_tile = !by_rows && args->turn > 0 ? 2 : 1;
}

/** Sets the others: tiles, chunks, and what ranks and blocks exchange. */
static void set_exchange(agg_plan_t *plan)
{
	const agg_config_t *c = &plan->config;
	agg_args_t *args = &plan->args;
	args->tiling = (tiling_t){.tiles_m = (uint32_t)tiles_of(c->m, c->tile.m),
				  .tiles_n = (uint32_t)tiles_of(args->c.cols, c->tile.n),
				  .group = GROUP,
				  .blocks = computing_blocks(c),
				  .parts = 1};
	set_turn(plan);
	args->chunk_rows = (int32_t)c->chunk_rows;
	args->chunks = (int32_t)agg_most_chunks(c, tsr_world_size(plan->world));
	args->come = (TSR_HEAP uint64_t *)plan->buffer[AGG_COME].data;
	args->first_sums = (TSR_HEAP unsigned char *)plan->buffer[AGG_FIRST_SUMS].data;
}

tsr_view_t agg_plan_view(const agg_plan_t *plan, int matrix)
{
	if (matrix != AGG_A)
		return matrix == AGG_B ? plan->args.b : plan->args.c;
	const workload_matrix_t part = agg_matrix(&plan->config, AGG_A, tsr_world_rank(plan->world),
						  tsr_world_size(plan->world));
	tsr_view_t view = plan->args.whole;
	view.data = (TSR_HEAP char *)view.data + (part.first_row * view.ld + part.first_col) *
							 (int64_t)tsr_dtype_bytes(part.dtype);
	view.rows = part.part_rows;
	view.cols = part.part_cols;
	return view;
}

/* ----------------------------------------------------- creation and release */

int agg_copiers(const agg_config_t *config, int ranks)
{
	if (config->pattern != AGG_COPY_ENGINES)
		return 0;
	return ranks - 1 < STREAMS_SIDES ? ranks - 1 : STREAMS_SIDES;
}

static tsr_status_t create_streams(agg_plan_t *plan)
{
	const int copiers = agg_copiers(&plan->config, tsr_world_size(plan->world));
	return streams_create(plan->world, copiers, copiers > 0 ? 1 : 0, &plan->streams);
}

static tsr_status_t decide(agg_plan_t *plan)
{
	agg_config_t *c = &plan->config;
	tsr_device_props_t device;
	workload_place_t place;
	tsr_status_t status = machine_place(plan->world, &device, &place);
	if (status == TSR_OK)
		status = agg_choose(c, &place);
	if (status == TSR_OK)
		status = variants_find(agg_patterns[c->pattern].kernels, c->dtype, c->tile, &device,
				       plan->kernels);
	return status;
}

static tsr_status_t build(agg_plan_t *plan)
{
	tsr_status_t status = decide(plan);
	if (status != TSR_OK)
		return status;
	describe_buffers(&plan->config, tsr_world_size(plan->world), plan->buffer);
	status = check_heap(plan);
	if (status == TSR_OK)
		status = buffers_allocate(plan->world, plan->buffer, AGG_BUFFERS);
	if (status == TSR_OK)
		status = create_streams(plan);
	if (status != TSR_OK)
		return status;
	set_product(plan);
	set_exchange(plan);
	return tsr_barrier(plan->world);
}

tsr_status_t agg_plan_create(tsr_world_t *world, const agg_config_t *config, agg_plan_t **plan_out)
{
	tsr_status_t status = agg_config_check(config, tsr_world_size(world));
	if (status != TSR_OK)
		return status;
	agg_plan_t *plan = calloc(1, sizeof *plan);
	if (!plan)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a plan; free some");
	plan->world = world;
	plan->config = *config;
	/* even after an error: the caller destroys the plan and keeps the sentence */
	*plan_out = plan;
	return build(plan);
}

static bool same_product(const agg_config_t *a, const agg_config_t *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && a->dtype == b->dtype &&
	       a->along == b->along;
}

tsr_status_t agg_plan_adapt(agg_plan_t *plan, const agg_config_t *config)
{
	agg_plan_t next = *plan;
	next.config = *config;
	tsr_status_t status = agg_config_check(config, tsr_world_size(plan->world));
	if (status == TSR_OK && !same_product(config, &plan->config))
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "a plan's shape, dtype and division of A are its own: make "
				   "another plan for another product");
	if (status == TSR_OK)
		status = decide(&next);
	if (status == TSR_OK)
		status = streams_sync(&plan->streams);
	if (status != TSR_OK)
		return status;
	buffer_t before[AGG_BUFFERS];
	const int exchange = AGG_BUFFERS - AGG_EXCHANGE;
	memcpy(before, plan->buffer, sizeof before);
	describe_buffers(&next.config, tsr_world_size(plan->world), next.buffer);
	memcpy(next.buffer, before, AGG_EXCHANGE * sizeof *before);
	status = buffers_allocate(plan->world, next.buffer + AGG_EXCHANGE, exchange);
	if (status != TSR_OK)
		return status;
	set_exchange(&next);
	*plan = next;
	status = create_streams(plan);
	/* buffers_free waits for every rank, so the new flags are zero on all ranks. */
	const tsr_status_t freed = buffers_free(plan->world, before + AGG_EXCHANGE, exchange);
	return status == TSR_OK ? freed : status;
}

tsr_status_t agg_plan_destroy(agg_plan_t *plan)
{
	if (!plan)
		return TSR_OK;
	const tsr_status_t status = streams_destroy(&plan->streams),
			   freed = buffers_free(plan->world, plan->buffer, AGG_BUFFERS);
	free(plan);
	return status == TSR_OK ? freed : status;
}

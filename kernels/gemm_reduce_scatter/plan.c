/* The memory and arguments of a plan, and its launches. */
#include "kernels/gemm_reduce_scatter/plan.h"

#include <string.h>

#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

/* Additional bytes of a sent tile: a header, and rounding up. */
enum { SLOT_MORE_BYTES = 128 };

static grs_plan_t *plan_of(const plan_t *plan)
{
	return (grs_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const grs_config_t *c = &plan_of(plan)->config;
	const product_t product = {.m = c->m, .n = c->n, .k = c->k, .dtype = c->dtype};
	product_words(&product, words_out);
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

/** Takes the configuration, and describes the buffers. */
static void prepare(plan_t *plan)
{
	const grs_config_t config = grs_config_of(&plan->config), *c = &config;
	const int ranks = plan->ranks;
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
	memcpy(plan->buffer, buffers, sizeof buffers);
	plan->dtype = c->dtype;
	plan->tile = c->tile;
	plan_of(plan)->config = config;
}

/** The view of this rank's part of a matrix. */
static tsr_view_t view_of(const grs_plan_t *self, int matrix, int buffer, tsr_dtype_t dtype)
{
	const plan_t *plan = &self->plan;
	const workload_matrix_t part = grs_matrix(&self->config, matrix, plan->rank, plan->ranks);
	return matrix_view(plan->buffer[buffer].data, dtype, part.part_rows, part.part_cols);
}

/** Sets the arguments that depend on the product alone. */
static void set_product(plan_t *plan)
{
	grs_plan_t *self = plan_of(plan);
	grs_args_t *args = &self->args;
	args->a = view_of(self, GRS_A, GRS_BUFFER_A, plan->dtype);
	args->b = view_of(self, GRS_B, GRS_BUFFER_B, plan->dtype);
	args->c = view_of(self, GRS_C, GRS_BUFFER_C, plan->dtype);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[GRS_SYNC].data;
	args->chunk_rows = self->config.m / plan->ranks;
	args->rest = (int32_t)(self->config.m % plan->ranks);
	args->group = TILING_GROUP;
}

/** Sets the others: tiles, and what ranks exchange. */
static void set_exchange(plan_t *plan)
{
	grs_plan_t *self = plan_of(plan);
	const grs_config_t *c = &self->config;
	grs_args_t *args = &self->args;
	args->tiles_m = chunk_tiles_m(c, plan->ranks);
	args->tiles_n = tiles_of(c->n, c->tile.n);
	args->bands = c->bands;
	args->sums = (int32_t)c->sums;
	args->slot_bytes = slot_bytes(c);
	args->inbox = plan->buffer[GRS_INBOX].data;
	args->come = (TSR_HEAP uint64_t *)plan->buffer[GRS_COME].data;
	args->partial = plan->buffer[GRS_SUMS].data ? view_of(self, GRS_PARTIAL, GRS_SUMS, c->sums)
						    : (tsr_view_t){.data = NULL};
}

static tsr_view_t view(const plan_t *plan, int matrix)
{
	const grs_args_t *args = &plan_of(plan)->args;
	return matrix == GRS_A ? args->a : matrix == GRS_B ? args->b : args->c;
}

/* ------------------------------------------------------------ runs */

static tsr_status_t compute(plan_t *plan)
{
	const grs_plan_t *self = plan_of(plan);
	return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks, &self->args);
}

static tsr_status_t run(plan_t *plan)
{
	const grs_plan_t *self = plan_of(plan);
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < PLAN_KERNELS && plan->kernels[i]; i++)
		status = tsr_launch(plan->streams.main, plan->kernels[i], self->config.blocks,
				    &self->args);
	return status;
}

const plan_kind_t grs_plan_kind = {
	.workload = &gemm_reduce_scatter,
	.size_bytes = sizeof(grs_plan_t),
	.buffers = GRS_BUFFERS,
	.kept = GRS_EXCHANGE,
	.words = words,
	.prepare = prepare,
	.set_problem = set_product,
	.set_exchange = set_exchange,
	.run = run,
	.compute = compute,
	.view = view,
};

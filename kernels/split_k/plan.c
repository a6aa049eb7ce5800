/* The memory and arguments of a plan, and its launches. */
#include <string.h>

#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "kernels/split_k/split_k.h"

/* Additional bytes of a sent tile: a header, and rounding up. */
enum { SLOT_MORE_BYTES = 128 };

static splitk_plan_t *plan_of(const plan_t *plan)
{
	return (splitk_plan_t *)plan;
}

const splitk_kind_t *splitk_kind_of(const plan_t *plan)
{
	return (const splitk_kind_t *)plan->kind;
}

const splitk_pattern_t *splitk_pattern_of(const plan_t *plan)
{
	return &splitk_kind_of(plan)->patterns[plan->config.pattern];
}

void splitk_words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const splitk_config_t *c = &plan_of(plan)->config;
	const product_t product = {.m = c->m, .n = c->n, .k = c->k, .dtype = c->dtype};
	product_words(&product, words_out);
}

/* ------------------------------------------------------------ memory */

/** Rows of tiles of a chunk, the largest on any rank. */
static int64_t chunk_tiles_m(const splitk_config_t *c, int ranks)
{
	return tiles_of(share_largest(c->m, ranks), c->tile.m);
}

/** Bytes of a slot, which holds a sent tile. */
static int64_t slot_bytes(const splitk_config_t *c)
{
	const size_t tile = (size_t)c->tile.m * (size_t)c->tile.n * tsr_dtype_bytes(c->sums);
	return (int64_t)(tile + SLOT_MORE_BYTES) / 64 * 64;
}

/** Takes the configuration, and describes the buffers. */
void splitk_prepare(plan_t *plan)
{
	const splitk_config_t config = splitk_config_of(&plan->config), *c = &config;
	const splitk_pattern_t *pattern = splitk_pattern_of(plan);
	const bool by_nodes = splitk_adds_by_nodes(plan);
	const int64_t depth = share_largest(c->k, plan->ranks),
		      rows = splitk_kind_of(plan)->to_all ? c->m : share_largest(c->m, plan->ranks),
		      tiles = plan->ranks * chunk_tiles_m(c, plan->ranks) *
			      tiles_of(c->n, c->tile.n);
	const size_t kept = pattern->keeps ? matrix_bytes(c->sums, c->m, c->n) : 0,
		     total = pattern->adds ? matrix_bytes(c->sums, rows, c->n)
			     : by_nodes    ? splitk_total_by_nodes(plan, c)
					   : 0,
		     slots = pattern->sends ? (size_t)tiles * (size_t)slot_bytes(c) : 0,
		     flags = pattern->tells_tiles ? (size_t)tiles * sizeof(uint64_t) : 0;
	const buffer_t buffers[SPLITK_BUFFERS] = {
		[SPLITK_BUFFER_A] = {.name = "A",
				     .size_bytes = matrix_bytes(c->dtype, c->m, depth)},
		[SPLITK_BUFFER_B] = {.name = "B",
				     .size_bytes = matrix_bytes(c->dtype, depth, c->n)},
		[SPLITK_BUFFER_C] = {.name = "C", .size_bytes = matrix_bytes(c->dtype, rows, c->n)},
		[SPLITK_SYNC] = {.name = "split_k.sync",
				 .size_bytes = sizeof(handshake_t),
				 .is_cleared = true},
		[SPLITK_KEPT] = {.name = "split_k.kept", .size_bytes = kept},
		[SPLITK_TOTAL] = {.name = "split_k.total", .size_bytes = total, .is_cleared = true},
		[SPLITK_INBOX] = {.name = "split_k.inbox", .size_bytes = slots},
		[SPLITK_COME] = {.name = "split_k.come", .size_bytes = flags, .is_cleared = true},
		[SPLITK_STATE] = {.name = "split_k.state",
				  .size_bytes =
					  by_nodes ? tsr_collective_state_bytes(plan->ranks) : 0,
				  .is_cleared = true},
	};
	memcpy(plan->buffer, buffers, sizeof buffers);
	plan->dtype = c->dtype;
	plan->tile = c->tile;
	plan_of(plan)->config = config;
}

/**
 * The view of this rank's part of a matrix in a buffer. No buffer: an empty view.
 */
static tsr_view_t view_of(const plan_t *plan, int matrix, int buffer, tsr_dtype_t dtype)
{
	workload_matrix_t part;
	(void)splitk_matrix(splitk_kind_of(plan), &plan->config, matrix, plan->rank, plan->ranks,
			    &part);
	if (!plan->buffer[buffer].data)
		return (tsr_view_t){.data = NULL};
	return matrix_view(plan->buffer[buffer].data, dtype, part.part_rows, part.part_cols);
}

/** Sets the arguments that depend on the product alone. */
void splitk_set_product(plan_t *plan)
{
	const int64_t rows = plan_of(plan)->config.m;
	splitk_args_t *args = &plan_of(plan)->args;
	args->a = view_of(plan, SPLITK_A, SPLITK_BUFFER_A, plan->dtype);
	args->b = view_of(plan, SPLITK_B, SPLITK_BUFFER_B, plan->dtype);
	args->c = view_of(plan, SPLITK_C, SPLITK_BUFFER_C, plan->dtype);
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[SPLITK_SYNC].data;
	args->chunk_rows = rows / plan->ranks;
	args->rest = (int32_t)(rows % plan->ranks);
	args->group = TILING_GROUP;
}

/** Sets the others: tiles, and what ranks exchange. */
void splitk_set_exchange(plan_t *plan)
{
	const splitk_config_t *c = &plan_of(plan)->config;
	splitk_args_t *args = &plan_of(plan)->args;
	args->tiles_m = chunk_tiles_m(c, plan->ranks);
	args->tiles_n = tiles_of(c->n, c->tile.n);
	args->bands = c->bands;
	args->sums = (int32_t)c->sums;
	args->computing = c->blocks - c->comm_blocks;
	args->slot_bytes = slot_bytes(c);
	args->inbox = plan->buffer[SPLITK_INBOX].data;
	args->come = (TSR_HEAP uint64_t *)plan->buffer[SPLITK_COME].data;
	args->partial = view_of(plan, SPLITK_PARTIAL, SPLITK_KEPT, c->sums);
	args->total = view_of(plan, SPLITK_C, SPLITK_TOTAL, c->sums);
}

tsr_view_t splitk_view(const plan_t *plan, int matrix)
{
	const splitk_args_t *args = &plan_of(plan)->args;
	return matrix == SPLITK_A ? args->a : matrix == SPLITK_B ? args->b : args->c;
}

void splitk_place(plan_t *plan, int matrix, tsr_view_t view)
{
	splitk_args_t *args = &plan_of(plan)->args;
	*(matrix == SPLITK_A ? &args->a : matrix == SPLITK_B ? &args->b : &args->c) = view;
}

/* ------------------------------------------------------------ runs */

/** The first kernel of the bulk-synchronous pattern, which writes a product of the dtype of C. */
tsr_status_t splitk_compute(plan_t *plan)
{
	const splitk_plan_t *self = plan_of(plan);
	splitk_args_t args = self->args;
	args.partial = view_of(plan, SPLITK_PARTIAL, SPLITK_KEPT, plan->dtype);
	return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks, &args);
}

tsr_status_t splitk_run(plan_t *plan)
{
	const splitk_plan_t *self = plan_of(plan);
	const bool by_nodes = splitk_adds_by_nodes(plan);
	const int own = by_nodes ? 1 : PLAN_KERNELS; /* the rest is the library's */
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < own && plan->kernels[i]; i++)
		status = tsr_launch(plan->streams.main, plan->kernels[i], self->config.blocks,
				    &self->args);
	return status == TSR_OK && by_nodes ? splitk_add_by_nodes(plan) : status;
}

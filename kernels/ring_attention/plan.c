/* The memory and arguments of a plan, and its launches. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/attend/state.h"
#include "kernels/host/matrices.h"
#include "kernels/ring_attention/ring.h"

/*
 * The buffers of a plan. Those from BUFFER_K on depend on more than the problem:
 * where shards are gathered, K and V have room for all of them, and in rotate for
 * two beside this rank's.
 */
enum {
	BUFFER_Q,
	BUFFER_O,
	BUFFER_LSE,
	BUFFER_SYNC, /* the handshake */
	BUFFER_K,
	BUFFER_V,
	BUFFER_COME,   /* flags of chunks */
	BUFFER_STATES, /* rotate: the states of tiles, */
	BUFFER_PASSED, /* and which places are free */
	BUFFERS
};

typedef struct ring_plan {
	plan_t plan;
	ring_config_t config;
	ring_args_t args;
} ring_plan_t;

static ring_plan_t *plan_of(const plan_t *plan)
{
	return (ring_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const ring_config_t *c = &plan_of(plan)->config;
	(void)snprintf(words_out, PLAN_WORDS,
		       "attention of %" PRId64 " x %" PRId64 " heads over %" PRId64
		       " positions in %s",
		       c->batch, c->heads, c->sequence, tsr_dtype_name(c->dtype));
}

/* ------------------------------------------------------------ memory */

static int computing_blocks(const ring_config_t *c)
{
	return c->blocks - c->comm_blocks;
}

/** Bytes of the states of all tiles of a rank: as many on every rank. */
static size_t state_bytes(const ring_config_t *c, int ranks)
{
	int64_t most = 0;
	for (int rank = 0; rank < ranks; rank++) {
		const attend_deal_t deal =
			attend_deal(ring_tiles(c, rank, ranks), ring_all_heads(c), c->causal,
				    computing_blocks(c));
		const int64_t in_turn = c->causal ? 2 : 1, /* a state for each that a block takes */
			tiles = in_turn * tiles_of(deal.all, (int)deal.step) * deal.step;
		most = tiles > most ? tiles : most;
	}
	return (size_t)most * (size_t)ATTEND_STATE_BYTES(c->tile.m, c->tile.k);
}

/** Rows of keys in memory, and of values: as many on every rank. */
static int64_t key_rows(const ring_config_t *c, int ranks)
{
	const int64_t shards = c->pattern == RING_ROTATE && ranks > 1 ? 3 : 1;
	return shards * ring_all_key_heads(c) * ring_head_rows(c, ranks);
}

/** Takes the configuration, and describes the buffers. */
static void prepare(plan_t *plan)
{
	const ring_config_t config = ring_config_of(&plan->config), *c = &config;
	const int ranks = plan->ranks;
	const bool rotates = c->pattern == RING_ROTATE && ranks > 1;
	const int64_t queries = ring_all_heads(c) * ring_most_positions(c, ranks),
		      keys = key_rows(c, ranks);
	const size_t flags = (size_t)(ranks * ring_all_key_heads(c) * ring_head_chunks(c, ranks));
	const buffer_t buffers[BUFFERS] = {
		[BUFFER_Q] = {.name = "Q", .size_bytes = matrix_bytes(c->dtype, queries, c->dim)},
		[BUFFER_O] = {.name = "O", .size_bytes = matrix_bytes(c->dtype, queries, c->dim)},
		[BUFFER_LSE] = {.name = "L", .size_bytes = matrix_bytes(TSR_F32, queries, 1)},
		[BUFFER_SYNC] = {.name = "ring_attention.sync",
				 .size_bytes = sizeof(handshake_t),
				 .is_cleared = true},
		[BUFFER_K] = {.name = "K", .size_bytes = matrix_bytes(c->dtype, keys, c->dim)},
		[BUFFER_V] = {.name = "V", .size_bytes = matrix_bytes(c->dtype, keys, c->dim)},
		[BUFFER_COME] = {.name = "ring_attention.come",
				 .size_bytes = flags * sizeof(uint64_t),
				 .is_cleared = true},
		[BUFFER_STATES] = {.name = "ring_attention.states",
				   .size_bytes = rotates ? state_bytes(c, ranks) : 0},
		[BUFFER_PASSED] = {.name = "ring_attention.passed",
				   .size_bytes = 2 * (size_t)ranks * sizeof(uint64_t),
				   .is_cleared = true},
	};
	memcpy(plan->buffer, buffers, sizeof buffers);
	plan->dtype = c->dtype;
	plan->tile = c->tile;
	plan_of(plan)->config = config;
}

/** Rows of heads, in the buffers of keys and of values. */
static tsr_view_t keys_view(const plan_t *plan, const workload_matrix_t *part, int buffer)
{
	const ring_config_t *c = &plan_of(plan)->config;
	tsr_view_t view = matrix_view(plan->buffer[buffer].data, part->dtype, part->part_rows,
				      part->part_cols);
	view.ld = ring_head_rows(c, plan->ranks) * c->dim;
	view.data = (TSR_HEAP char *)view.data + ring_own_row(c, plan->rank, plan->ranks) * c->dim *
							 (int64_t)tsr_dtype_bytes(part->dtype);
	return view;
}

static tsr_view_t view(const plan_t *plan, int matrix)
{
	workload_matrix_t part;
	(void)ring_matrix(&plan->config, matrix, plan->rank, plan->ranks, &part);
	if (matrix == RING_K || matrix == RING_V)
		return keys_view(plan, &part, matrix == RING_K ? BUFFER_K : BUFFER_V);
	return matrix_view(plan->buffer[matrix == RING_Q   ? BUFFER_Q
					: matrix == RING_O ? BUFFER_O
							   : BUFFER_LSE]
				   .data,
			   part.dtype, part.part_rows, part.part_cols);
}

/** Sets the arguments that depend on the problem alone. */
static void set_problem(plan_t *plan)
{
	ring_plan_t *self = plan_of(plan);
	const ring_config_t *c = &self->config;
	ring_args_t *args = &self->args;
	args->q = view(plan, RING_Q);
	args->o = view(plan, RING_O);
	args->lse = view(plan, RING_LSE);
	args->scale = (float)ring_scale(c);
	args->causal = c->causal;
	args->key_heads = (int32_t)ring_all_key_heads(c);
	args->share = (int32_t)(c->heads / c->key_heads);
	for (int rank = 0; rank < plan->ranks; rank++) {
		const ring_share_t share = ring_share(c, rank, plan->ranks);
		args->first[rank + 1] = (int32_t)(share.first + share.count);
		args->early[rank + 1] = (int32_t)(args->early[rank] + share.early);
	}
	args->me = plan->rank;
	args->ranks = plan->ranks;
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[BUFFER_SYNC].data;
}

/** Sets the others: where keys are, chunks, and what ranks and blocks exchange. */
static void set_exchange(plan_t *plan)
{
	ring_plan_t *self = plan_of(plan);
	const ring_config_t *c = &self->config;
	ring_args_t *args = &self->args;
	const buffer_t *buffer = plan->buffer;
	const int64_t rows = key_rows(c, plan->ranks);
	args->k = matrix_view(buffer[BUFFER_K].data, c->dtype, rows, c->dim);
	args->v = matrix_view(buffer[BUFFER_V].data, c->dtype, rows, c->dim);
	args->deal = attend_deal(ring_tiles(c, plan->rank, plan->ranks), ring_all_heads(c),
				 c->causal, computing_blocks(c));
	args->early_tiles =
		(uint32_t)tiles_of(ring_share(c, plan->rank, plan->ranks).early, c->tile.m);
	args->chunk_rows = (int32_t)c->chunk_rows;
	args->head_chunks = (int32_t)ring_head_chunks(c, plan->ranks);
	args->head_rows = (int32_t)ring_head_rows(c, plan->ranks);
	args->row_bytes = (int32_t)(args->k.ld * (int64_t)tsr_dtype_bytes(c->dtype));
	args->come = (TSR_HEAP uint64_t *)buffer[BUFFER_COME].data;
	args->states = (TSR_HEAP unsigned char *)buffer[BUFFER_STATES].data;
	args->passed = (TSR_HEAP uint64_t *)buffer[BUFFER_PASSED].data;
	args->left = args->passed + plan->ranks;
}

/** Keys and values have other memory in another pattern. */
static tsr_status_t carry(const plan_t *before, plan_t *next)
{
	tsr_stream_t *stream = before->streams.main;
	tsr_status_t status = TSR_OK;
	for (int matrix = RING_K; status == TSR_OK && matrix <= RING_V; matrix++)
		status = tsr_stream_put_2d(stream, view(next, matrix), view(before, matrix),
					   next->rank);
	return status == TSR_OK ? tsr_stream_sync(stream) : status;
}

/* ------------------------------------------------------------ runs */

/** The second kernel of the bulk-synchronous pattern. */
static tsr_status_t compute(plan_t *plan)
{
	const ring_plan_t *self = plan_of(plan);
	return tsr_launch(plan->streams.main, plan->kernels[1], self->config.blocks, &self->args);
}

/** In a world of one rank nothing is gathered. */
static tsr_status_t run(plan_t *plan)
{
	const ring_plan_t *self = plan_of(plan);
	const bool is_bulk = self->config.pattern == RING_BULK_SYNCHRONOUS;
	tsr_status_t status = TSR_OK;
	if (!is_bulk || plan->ranks > 1)
		status = tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks,
				    &self->args);
	return status == TSR_OK && is_bulk ? compute(plan) : status;
}

const plan_kind_t ring_plan_kind = {
	.workload = &ring_attention,
	.size_bytes = sizeof(ring_plan_t),
	.buffers = BUFFERS,
	.kept = BUFFER_K,
	.words = words,
	.prepare = prepare,
	.set_problem = set_problem,
	.set_exchange = set_exchange,
	.carry = carry,
	.run = run,
	.compute = compute,
	.view = view,
};

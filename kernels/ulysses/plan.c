/* The memory and arguments of a plan, and its launches. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/host/matrices.h"
#include "kernels/ulysses/ulysses.h"

/* The buffers of a plan. Those from BUFFER_HEADS on depend on more than the problem. */
enum {
	BUFFER_GIVEN,                              /* Q, K and V, */
	BUFFER_O = BUFFER_GIVEN + ULY_INPUTS,      /* and O, of this rank's positions */
	BUFFER_SYNC,                               /* the handshake */
	BUFFER_HEADS,                              /* Q, K and V of this rank's heads, */
	BUFFER_RESULT = BUFFER_HEADS + ULY_INPUTS, /* and in bulk-synchronous O */
	BUFFER_COME,                               /* flags of chunks */
	BUFFERS
};

typedef struct uly_plan {
	plan_t plan;
	uly_config_t config;
	uly_args_t args;
} uly_plan_t;

static uly_plan_t *plan_of(const plan_t *plan)
{
	return (uly_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const uly_config_t *c = &plan_of(plan)->config;
	(void)snprintf(words_out, PLAN_WORDS,
		       "attention of %" PRId64 " x %" PRId64 " heads over %" PRId64
		       " positions in %s",
		       c->batch, c->heads, c->sequence, tsr_dtype_name(c->dtype));
}

/* ------------------------------------------------------------ memory */

/** On one rank bulk-synchronous attends what is given, and exchanges nothing. */
static bool exchanges(const uly_config_t *c, int ranks)
{
	return ranks > 1 || c->pattern != ULY_BULK_SYNCHRONOUS;
}

/** Columns of an input or of O: of all heads, or of the most heads of any rank. */
static int64_t all_columns(const uly_config_t *c, int matrix)
{
	return (matrix == ULY_K || matrix == ULY_V ? c->key_heads : c->heads) * c->dim;
}

static int64_t most_columns(const uly_config_t *c, int matrix, int ranks)
{
	return all_columns(c, matrix) / c->key_heads * share_largest(c->key_heads, ranks);
}

/** Takes the configuration, and describes the buffers. */
static void prepare(plan_t *plan)
{
	static const char *const given[] = {"Q", "K", "V", "O"}, *const heads[] = {
									 "ulysses.q", "ulysses.k",
									 "ulysses.v",
									 "ulysses.result"};
	const uly_config_t config = uly_config_of(&plan->config), *c = &config;
	const int ranks = plan->ranks;
	const int64_t rows = c->batch * share_largest(c->sequence, ranks),
		      all_rows = exchanges(c, ranks) ? c->batch * c->sequence : 0;
	const size_t flags =
		(size_t)(ranks * c->batch * uly_groups(c, ranks) * uly_row_chunks(c, ranks));
	memset(plan->buffer, 0, sizeof plan->buffer);
	for (int i = 0; i < ULY_MATRICES; i++) {
		const bool is_kept = i == ULY_O && c->pattern != ULY_BULK_SYNCHRONOUS;
		plan->buffer[BUFFER_GIVEN + i] =
			(buffer_t){.name = given[i],
				   .size_bytes = matrix_bytes(c->dtype, rows, all_columns(c, i))};
		plan->buffer[BUFFER_HEADS + i] =
			(buffer_t){.name = heads[i],
				   .size_bytes = matrix_bytes(c->dtype, is_kept ? 0 : all_rows,
							      most_columns(c, i, ranks))};
	}
	plan->buffer[BUFFER_SYNC] = (buffer_t){
		.name = "ulysses.sync", .size_bytes = sizeof(handshake_t), .is_cleared = true};
	plan->buffer[BUFFER_COME] = (buffer_t){
		.name = "ulysses.come", .size_bytes = flags * sizeof(uint64_t), .is_cleared = true};
	plan->dtype = c->dtype;
	plan->tile = c->tile;
	plan_of(plan)->config = config;
}

static tsr_view_t view(const plan_t *plan, int matrix)
{
	workload_matrix_t part;
	(void)uly_matrix(&plan->config, matrix, plan->rank, plan->ranks, &part);
	return matrix_view(plan->buffer[BUFFER_GIVEN + matrix].data, part.dtype, part.part_rows,
			   part.part_cols);
}

/** Sets the arguments that depend on the problem alone. */
static void set_problem(plan_t *plan)
{
	uly_plan_t *self = plan_of(plan);
	const uly_config_t *c = &self->config;
	uly_args_t *args = &self->args;
	for (int i = 0; i < ULY_INPUTS; i++)
		args->given[i] = view(plan, i);
	args->o = matrix_view(plan->buffer[BUFFER_O].data, c->dtype,
			      c->batch * share_largest(c->sequence, plan->ranks),
			      all_columns(c, ULY_O));
	args->scale = (float)uly_scale(c);
	args->causal = c->causal;
	args->batch = (int32_t)c->batch;
	args->share = (int32_t)uly_share(c);
	args->dim = (int32_t)c->dim;
	for (int rank = 0; rank < plan->ranks; rank++) {
		args->position[rank] = (int32_t)uly_positions_of(c, rank, plan->ranks).first;
		args->key_head[rank] = (int32_t)uly_key_heads_of(c, rank, plan->ranks).first;
	}
	args->me = plan->rank;
	args->ranks = plan->ranks;
	args->heads_here =
		(int32_t)(uly_key_heads_of(c, plan->rank, plan->ranks).count * uly_share(c));
	args->position[plan->ranks] = (int32_t)c->sequence;
	args->key_head[plan->ranks] = (int32_t)c->key_heads;
	args->sync = (TSR_HEAP handshake_t *)plan->buffer[BUFFER_SYNC].data;
}

/** The view of what this rank's heads have; with columns for the most heads of any rank. */
static tsr_view_t heads_view(const plan_t *plan, int matrix)
{
	const uly_config_t *c = &plan_of(plan)->config;
	if (!exchanges(c, plan->ranks))
		return view(plan, matrix);
	return matrix_view(plan->buffer[BUFFER_HEADS + matrix].data, c->dtype,
			   c->batch * c->sequence, most_columns(c, matrix, plan->ranks));
}

/** Sets the others: chunks, and what ranks exchange. */
static void set_exchange(plan_t *plan)
{
	uly_plan_t *self = plan_of(plan);
	const uly_config_t *c = &self->config;
	uly_args_t *args = &self->args;
	for (int i = 0; i < ULY_INPUTS; i++)
		args->heads[i] = heads_view(plan, i);
	args->result = heads_view(plan, ULY_O);
	args->chunk_rows = (int32_t)c->chunk_rows;
	args->group = (int32_t)c->group;
	args->row_chunks = (int32_t)uly_row_chunks(c, plan->ranks);
	args->groups = (int32_t)uly_groups(c, plan->ranks);
	args->tiles = (int32_t)uly_tiles(c, plan->ranks);
	args->deal =
		attend_deal(plan->ranks * uly_tiles(c, plan->ranks), c->batch * args->heads_here,
			    c->causal, c->blocks - c->comm_blocks);
	args->come = (TSR_HEAP uint64_t *)plan->buffer[BUFFER_COME].data;
}

/* ------------------------------------------------------------ runs */

/** Launches the exchange of inputs, or that of results. */
static tsr_status_t exchange(const plan_t *plan, int step)
{
	const uly_plan_t *self = plan_of(plan);
	uly_args_t args = self->args;
	args.step = step;
	return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks, &args);
}

/** The second kernel of the bulk-synchronous pattern. */
static tsr_status_t compute(plan_t *plan)
{
	const uly_plan_t *self = plan_of(plan);
	return tsr_launch(plan->streams.main, plan->kernels[1], self->config.blocks, &self->args);
}

static tsr_status_t run_bulk(plan_t *plan)
{
	const bool has_peers = plan->ranks > 1;
	tsr_status_t status = has_peers ? exchange(plan, ULY_IN) : TSR_OK;
	if (status == TSR_OK)
		status = compute(plan);
	return status == TSR_OK && has_peers ? exchange(plan, ULY_OUT) : status;
}

static tsr_status_t run(plan_t *plan)
{
	const uly_plan_t *self = plan_of(plan);
	if (self->config.pattern == ULY_BULK_SYNCHRONOUS)
		return run_bulk(plan);
	return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks, &self->args);
}

const plan_kind_t uly_plan_kind = {
	.workload = &ulysses,
	.size_bytes = sizeof(uly_plan_t),
	.buffers = BUFFERS,
	.kept = BUFFER_HEADS,
	.words = words,
	.prepare = prepare,
	.set_problem = set_problem,
	.set_exchange = set_exchange,
	.run = run,
	.compute = compute,
	.view = view,
};

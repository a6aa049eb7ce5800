/* The memory and arguments of a plan, and its launch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/attention/args.h"
#include "kernels/attention/attention.h"
#include "kernels/host/matrices.h"
#include "kernels/host/plan.h"

extern const workload_t attention;

typedef struct att_plan {
	plan_t plan;
	att_config_t config;
	attention_args_t args;
} att_plan_t;

static att_plan_t *plan_of(const plan_t *plan)
{
	return (att_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const att_config_t *c = &plan_of(plan)->config;
	(void)snprintf(words_out, PLAN_WORDS,
		       "attention of %" PRId64 " x %" PRId64 " heads, %" PRId64 " queries, %" PRId64
		       " keys in %s",
		       c->batch, c->heads, c->queries, c->keys, tsr_dtype_name(c->dtype));
}

/** Each rank allocates as much as the one with the most heads. */
static size_t most_bytes(const plan_t *plan, int matrix)
{
	const att_config_t c = att_config_of(&plan->config);
	const int64_t most = share_largest(c.batch * c.key_heads, plan->ranks);
	workload_matrix_t whole;
	(void)att_matrix(&plan->config, matrix, 0, 1, &whole);
	return matrix_bytes(whole.dtype, whole.rows / (c.batch * c.key_heads) * most, whole.cols);
}

static void prepare(plan_t *plan)
{
	static const char *const names[ATT_MATRICES] = {"Q", "K", "V", "O", "L"};
	memset(plan->buffer, 0, sizeof plan->buffer);
	for (int i = 0; i < ATT_MATRICES; i++)
		plan->buffer[i] = (buffer_t){.name = names[i], .size_bytes = most_bytes(plan, i)};
	plan_of(plan)->config = att_config_of(&plan->config);
	plan->dtype = plan_of(plan)->config.dtype;
	plan->tile = plan_of(plan)->config.tile;
}

static tsr_view_t view(const plan_t *plan, int matrix)
{
	workload_matrix_t part;
	(void)att_matrix(&plan->config, matrix, plan->rank, plan->ranks, &part);
	return matrix_view(plan->buffer[matrix].data, part.dtype, part.part_rows, part.part_cols);
}

static void set_problem(plan_t *plan)
{
	att_plan_t *self = plan_of(plan);
	const att_config_t *c = &self->config;
	self->args = (attention_args_t){.q = view(plan, ATT_Q),
					.k = view(plan, ATT_K),
					.v = view(plan, ATT_V),
					.o = view(plan, ATT_O),
					.lse = view(plan, ATT_LSE),
					.share = att_group(c),
					.queries = c->queries,
					.keys = c->keys,
					.diagonal = att_diagonal(c),
					.causal = c->causal,
					.scale = (float)att_scale(c)};
}

static void set_exchange(plan_t *plan)
{
	att_plan_t *self = plan_of(plan);
	const att_config_t *c = &self->config;
	const int64_t heads = att_share(c, plan->rank, plan->ranks).count * att_group(c);
	self->args.deal = attend_deal(tiles_of(c->queries, c->tile.m), heads, true, c->blocks);
}

static tsr_status_t run(plan_t *plan)
{
	const att_plan_t *self = plan_of(plan);
	if (self->args.deal.all == 0)
		return TSR_OK; /* a rank more than there are heads */
	return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks, &self->args);
}

static const plan_kind_t kind = {
	.workload = &attention,
	.size_bytes = sizeof(att_plan_t),
	.buffers = ATT_MATRICES,
	.kept = ATT_MATRICES,
	.words = words,
	.prepare = prepare,
	.set_problem = set_problem,
	.set_exchange = set_exchange,
	.run = run,
	.view = view,
};

tsr_status_t att_open(tsr_world_t *world, const workload_config_t *config, workload_run_t **run_out)
{
	return plan_open(&kind, world, config, run_out);
}

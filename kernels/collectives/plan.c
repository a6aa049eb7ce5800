/* The memory of a plan, and its call. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/collectives/collectives.h"
#include "kernels/host/matrices.h"
#include "kernels/host/plan.h"

extern const workload_t collectives;

enum { BUFFER_SRC, BUFFER_DST, BUFFER_STATE, BUFFERS };

typedef struct coll_plan {
	plan_t plan;
	coll_config_t config;
	tsr_tensor_t src, dst; /* the same addresses on all ranks */
} coll_plan_t;

static coll_plan_t *plan_of(const plan_t *plan)
{
	return (coll_plan_t *)plan;
}

static void words(const plan_t *plan, char words_out[PLAN_WORDS])
{
	const coll_config_t *c = &plan_of(plan)->config;
	(void)snprintf(words_out, PLAN_WORDS, "%s of %" PRId64 " bytes in %s",
		       coll_names[c->what - 1], c->bytes, tsr_dtype_name(c->dtype));
}

/** Also ranks that have nothing there have memory: addresses are the same on all. */
static void prepare(plan_t *plan)
{
	const coll_config_t c = coll_config_of(&plan->config);
	const buffer_t buffers[BUFFERS] = {
		[BUFFER_SRC] = {.name = "src",
				.size_bytes =
					matrix_bytes(c.dtype,
						     c.rows * coll_src_shards(c.what, plan->ranks),
						     c.pitch)},
		[BUFFER_DST] = {.name = "dst",
				.size_bytes =
					matrix_bytes(c.dtype,
						     c.rows * coll_dst_shards(c.what, plan->ranks),
						     c.pitch)},
		[BUFFER_STATE] = {.name = "collectives.state",
				  .size_bytes = tsr_collective_state_bytes(plan->ranks),
				  .is_cleared = true},
	};
	memcpy(plan->buffer, buffers, sizeof buffers);
	plan->dtype = c.dtype;
	plan_of(plan)->config = c;
}

static tsr_tensor_t tensor(const coll_config_t *c, TSR_HEAP void *data, int64_t shards)
{
	return (tsr_tensor_t){.data = data,
			      .dtype = c->dtype,
			      .dims = 2,
			      .shape = {shards * c->rows, c->cols},
			      .stride = {c->pitch, 1}};
}

static void set_problem(plan_t *plan)
{
	coll_plan_t *self = plan_of(plan);
	const coll_config_t *c = &self->config;
	self->src = tensor(c, plan->buffer[BUFFER_SRC].data, coll_src_shards(c->what, plan->ranks));
	self->dst = tensor(c, plan->buffer[BUFFER_DST].data, coll_dst_shards(c->what, plan->ranks));
}

static void set_exchange(plan_t *plan)
{
	(void)plan; /* nothing but the problem decides */
}

static tsr_view_t view(const plan_t *plan, int matrix)
{
	workload_matrix_t part;
	(void)coll_matrix(&plan->config, matrix, plan->rank, plan->ranks, &part);
	tsr_view_t all =
		matrix_view(plan->buffer[matrix == COLL_SRC ? BUFFER_SRC : BUFFER_DST].data,
			    part.dtype, part.part_rows, part.part_cols);
	all.ld = plan_of(plan)->config.pitch;
	return all;
}

static tsr_status_t run(plan_t *plan)
{
	const coll_plan_t *self = plan_of(plan);
	const tsr_tensor_t *dst = &self->dst, *src = &self->src;
	tsr_stream_t *stream = plan->streams.main;
	TSR_HEAP tsr_collective_state_t *state =
		(TSR_HEAP tsr_collective_state_t *)plan->buffer[BUFFER_STATE].data;
	switch (self->config.what) {
	case COLL_ALL_REDUCE:
		return tsr_stream_all_reduce(stream, dst, src, TSR_REDUCE_SUM, state);
	case COLL_ALL_GATHER:
		return tsr_stream_all_gather(stream, dst, src, 0, state);
	case COLL_REDUCE_SCATTER:
		return tsr_stream_reduce_scatter(stream, dst, src, 0, TSR_REDUCE_SUM, state);
	case COLL_ALL_TO_ALL:
		return tsr_stream_all_to_all(stream, dst, src, 0, 0, state);
	case COLL_BROADCAST:
		return tsr_stream_broadcast(stream, dst, src, COLL_ROOT, state);
	case COLL_GATHER:
		return tsr_stream_gather(stream, dst, src, 0, COLL_ROOT, state);
	case COLL_SCATTER:
		return tsr_stream_scatter(stream, dst, src, 0, COLL_ROOT, state);
	default:
		return tsr_stream_reduce(stream, dst, src, TSR_REDUCE_SUM, COLL_ROOT, state);
	}
}

static const plan_kind_t kind = {
	.workload = &collectives,
	.size_bytes = sizeof(coll_plan_t),
	.buffers = BUFFERS,
	.kept = BUFFERS,
	.words = words,
	.prepare = prepare,
	.set_problem = set_problem,
	.set_exchange = set_exchange,
	.run = run,
	.view = view,
};

tsr_status_t coll_open(tsr_world_t *world, const workload_config_t *config,
		       workload_run_t **run_out)
{
	return plan_open(&kind, world, config, run_out);
}

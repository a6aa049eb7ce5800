/* Runs of a plan: its launches and copies. */
#include "kernels/moe/moe.h"

static moe_plan_t *plan_of(const plan_t *plan)
{
	return (moe_plan_t *)plan;
}

/** Launches kernel `number` of the pattern with a step, in `blocks` blocks. */
static tsr_status_t launch(const plan_t *plan, int number, int step, int blocks)
{
	moe_args_t args = plan_of(plan)->args;
	args.step = step;
	return tsr_launch(plan->streams.main, plan->kernels[number], blocks, &args);
}

static tsr_status_t launch_plan(const plan_t *plan)
{
	return launch(plan, MOE_KERNEL_PLAN, 0, plan_of(plan)->args.plan_blocks);
}

/* ------------------------------------------------------------ bulk-synchronous */

static tsr_status_t launch_move(const plan_t *plan, int step)
{
	return launch(plan, MOE_KERNEL_MOVE, step, plan_of(plan)->config.blocks);
}

static tsr_status_t launch_product(const plan_t *plan, int kernel)
{
	return launch(plan, kernel, 0, plan_of(plan)->config.blocks);
}

/** The second half of a layer. On one rank nothing is left to finish. */
static tsr_status_t run_second(const plan_t *plan)
{
	tsr_status_t status = launch_product(plan, MOE_KERNEL_SECOND);
	if (status == TSR_OK)
		status = launch_move(plan, MOE_RETURN);
	return status == TSR_OK && plan->ranks > 1 ? launch_move(plan, MOE_FINISH) : status;
}

/** On one rank nothing is sent. */
static tsr_status_t run_bulk(const plan_t *plan)
{
	tsr_status_t status = launch_plan(plan);
	if (status == TSR_OK && plan->ranks > 1)
		status = launch_move(plan, MOE_SEND);
	if (status == TSR_OK)
		status = launch_move(plan, MOE_EXPAND);
	if (status == TSR_OK)
		status = launch_product(plan, MOE_KERNEL_FIRST);
	return status == TSR_OK && plan_of(plan)->config.is_layer ? run_second(plan) : status;
}

/** The places of the last run serve. */
tsr_status_t moe_compute(plan_t *plan)
{
	const tsr_status_t status = launch_product(plan, MOE_KERNEL_FIRST);
	return status == TSR_OK && plan_of(plan)->config.is_layer
		       ? launch_product(plan, MOE_KERNEL_SECOND)
		       : status;
}

/* ------------------------------------------------------------ copy engines */

int moe_copiers(const moe_config_t *c, int ranks)
{
	if (c->pattern != MOE_COPY_ENGINES)
		return 0;
	return ranks - 1 < STREAMS_SIDES ? ranks - 1 : STREAMS_SIDES;
}

/** Rows of a view. */
static tsr_view_t rows_of(tsr_view_t view, int64_t first, int64_t rows)
{
	view.data = (TSR_HEAP char *)view.data +
		    first * view.ld * (int64_t)tsr_dtype_bytes((tsr_dtype_t)view.dtype);
	view.rows = rows;
	return view;
}

/** Copies a chunk of tokens to the rank that is `distance` ranks after this one, and says so. */
static tsr_status_t put_chunk(const plan_t *plan, int distance, int64_t chunk)
{
	const moe_plan_t *self = plan_of(plan);
	const int64_t first = chunk * self->config.chunk_rows, left = self->args.tokens - first,
		      rows = left < self->config.chunk_rows ? left : self->config.chunk_rows;
	const int copiers = moe_copiers(&self->config, plan->ranks);
	tsr_stream_t *stream = plan->streams.side[(distance - 1) % copiers];
	moe_args_t args = self->args;
	tsr_status_t status = TSR_OK;
	args.peer = (plan->rank + distance) % plan->ranks;
	args.index = (int32_t)chunk;
	if (rows > 0)
		status = tsr_stream_put_2d(stream,
					   rows_of(args.staged,
						   args.me * (int64_t)args.tokens_most + first,
						   rows),
					   rows_of(args.x, first, rows), args.peer);
	return status == TSR_OK ? tsr_launch(stream, plan->kernels[MOE_KERNEL_SAY], 1, &args)
				: status;
}

/** Copies this rank's tokens to all others, behind the plan and beside what follows. */
static tsr_status_t put_chunks(const plan_t *plan)
{
	const moe_plan_t *self = plan_of(plan);
	const int copiers = moe_copiers(&self->config, plan->ranks);
	tsr_status_t status = copiers > 0 ? streams_fork(&plan->streams, copiers) : TSR_OK;
	for (int64_t chunk = 0; chunk < self->args.chunks; chunk++)
		for (int distance = 1; status == TSR_OK && distance < plan->ranks; distance++)
			status = put_chunk(plan, distance, chunk);
	return status;
}

/* ------------------------------------------------------------ all patterns */

static tsr_status_t run_fused(const plan_t *plan)
{
	const moe_config_t *c = &plan_of(plan)->config;
	const int copiers = moe_copiers(c, plan->ranks);
	tsr_status_t status = launch_plan(plan);
	if (status == TSR_OK && copiers > 0)
		status = put_chunks(plan);
	if (status == TSR_OK)
		status = launch(plan, MOE_KERNEL_DISPATCH, 0, c->blocks);
	if (status == TSR_OK && copiers > 0)
		status = streams_join(&plan->streams, copiers);
	return status == TSR_OK && c->is_layer ? launch(plan, MOE_KERNEL_COMBINE, 0, c->blocks)
					       : status;
}

tsr_status_t moe_run(plan_t *plan)
{
	return plan_of(plan)->config.pattern == MOE_BULK_SYNCHRONOUS ? run_bulk(plan)
								     : run_fused(plan);
}

tsr_status_t moe_ended(const plan_t *plan)
{
	const moe_args_t *args = &plan_of(plan)->args;
	int32_t overflow[2] = {0, 0};
	const tsr_status_t status =
		tsr_memcpy_from_heap(plan->world, overflow, args->overflow, sizeof overflow);
	if (status != TSR_OK || overflow[0] == 0)
		return status;
	return tsr_error(
		TSR_ERR_NO_MEMORY,
		"rank %d has no room for all tokens of expert %d: its experts' rows are %d "
		"with padding; set --capacity higher, or leave it out",
		overflow[0] - 1, overflow[1], args->capacity);
}

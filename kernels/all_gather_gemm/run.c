/* Runs of a plan: its launches and copies, and the events that order them. */
#include "kernels/all_gather_gemm/plan.h"
#include "kernels/host/matrices.h"
#include "tessera/collective.h"

/** Gathers node by node: no rank's shard crosses to a node twice. */
static tsr_status_t gather_by_nodes(const agg_plan_t *self)
{
	const plan_t *plan = &self->plan;
	const tsr_tensor_t whole = matrix_tensor(self->args.whole),
			   mine = matrix_tensor(agg_view(plan, agg_gathered(&self->config)));
	return tsr_stream_all_gather(plan->streams.main, &whole, &mine,
				     self->config.along == AGG_BY_COLUMNS ? 1 : 0,
				     (TSR_HEAP tsr_collective_state_t *)plan->buffer[AGG_STATE]
					     .data);
}

/** Launches one kernel after the other. In a world of one rank nothing is gathered. */
static tsr_status_t run_bulk(agg_plan_t *self)
{
	const plan_t *plan = &self->plan;
	tsr_status_t status = TSR_OK;
	if (agg_gathers_by_nodes(self, &self->config))
		status = gather_by_nodes(self);
	else if (plan->ranks > 1)
		status = tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks,
				    &self->args);
	return status == TSR_OK ? agg_compute(&self->plan) : status;
}

/* ------------------------------------------------------------ copy engines */

/** Launches the one block of agg_copies that does `step`. */
static tsr_status_t launch_step(agg_plan_t *self, tsr_stream_t *stream, int step)
{
	agg_args_t args = self->args;
	args.step = step;
	return tsr_launch(stream, self->plan.kernels[1], 1, &args);
}

/** The part of the operand that is chunk `chunk` of this rank's shard. */
static tsr_view_t chunk_view(const agg_plan_t *self, int64_t chunk)
{
	const int64_t rows = self->config.chunk_rows;
	tsr_view_t view = agg_view(&self->plan, agg_gathered(&self->config));
	const int64_t skip = chunk * rows, left = view.rows - skip;
	view.data = (TSR_HEAP char *)view.data +
		    skip * view.ld * (int64_t)tsr_dtype_bytes(self->config.dtype);
	view.rows = left < rows ? left : rows;
	return view;
}

/** Copies a chunk to the rank that is `distance` ranks before this one, and signals. */
static tsr_status_t put_chunk(agg_plan_t *self, int distance, int64_t chunk)
{
	const plan_t *plan = &self->plan;
	const int peer = (plan->rank + plan->ranks - distance) % plan->ranks,
		  copiers = agg_copiers(&self->config, plan->ranks);
	tsr_stream_t *stream = plan->streams.side[(distance - 1) % copiers];
	const tsr_view_t view = chunk_view(self, chunk);
	agg_args_t args = self->args;
	args.step = AGG_SAY_ARRIVED;
	args.peer = peer;
	args.chunk = (int32_t)chunk;
	tsr_status_t status = tsr_stream_put_2d(stream, view, view, peer);
	return status == TSR_OK ? tsr_launch(stream, plan->kernels[1], 1, &args) : status;
}

/**
 * Copies this rank's chunks to all others. Each stream waits until the peers'
 * memory may be overwritten. Chunk after chunk, each rank begins with the rank
 * before it, which needs it first.
 */
static tsr_status_t put_chunks(agg_plan_t *self)
{
	const streams_t *streams = &self->plan.streams;
	const int ranks = self->plan.ranks, copiers = agg_copiers(&self->config, ranks);
	tsr_status_t status = launch_step(self, streams->side[0], AGG_OPEN);
	if (status == TSR_OK)
		status = tsr_event_record(streams->mark[0], streams->side[0]);
	for (int i = 1; status == TSR_OK && i < copiers; i++)
		status = tsr_stream_wait_event(streams->side[i], streams->mark[0]);
	for (int64_t chunk = 0; chunk < self->args.chunks; chunk++)
		for (int distance = 1; status == TSR_OK && distance < ranks; distance++)
			status = put_chunk(self, distance, chunk);
	return status;
}

/** The main stream continues when the product and all copies have ended. */
static tsr_status_t run_beside_copies(agg_plan_t *self)
{
	const int copiers = agg_copiers(&self->config, self->plan.ranks);
	const streams_t *streams = &self->plan.streams;
	tsr_status_t status = copiers > 0 ? streams_fork(streams, copiers) : TSR_OK;
	if (status == TSR_OK && copiers > 0)
		status = put_chunks(self);
	if (status == TSR_OK)
		status = tsr_launch(streams->main, self->plan.kernels[0], self->config.blocks,
				    &self->args);
	if (status == TSR_OK && copiers > 0)
		status = streams_join(streams, copiers);
	return status == TSR_OK ? launch_step(self, streams->main, AGG_FINISH) : status;
}

/* ------------------------------------------------------------ all patterns */

tsr_status_t agg_run(plan_t *plan)
{
	agg_plan_t *self = (agg_plan_t *)plan;
	switch (self->config.pattern) {
	case AGG_BULK_SYNCHRONOUS:
		return run_bulk(self);
	case AGG_COPY_ENGINES:
		return run_beside_copies(self);
	default:
		return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks,
				  &self->args);
	}
}

tsr_status_t agg_compute(plan_t *plan)
{
	const agg_plan_t *self = (const agg_plan_t *)plan;
	return tsr_launch(plan->streams.main, plan->kernels[1], self->config.blocks, &self->args);
}

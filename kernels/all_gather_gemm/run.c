/* Runs of a plan: its launches and copies, and the events that order them. */
#include "kernels/all_gather_gemm/plan.h"

/** Launches one kernel after the other. In a world of one rank nothing is gathered. */
static tsr_status_t run_bulk(agg_plan_t *plan)
{
	tsr_status_t status = TSR_OK;
	if (tsr_world_size(plan->world) > 1)
		status = tsr_launch(plan->streams.main, plan->kernels[0], plan->config.blocks,
				    &plan->args);
	return status == TSR_OK ? agg_plan_run_product(plan) : status;
}

/* ------------------------------------------------------------ copy engines */

/** Launches the one block of agg_copies that does `step`. */
static tsr_status_t launch_step(agg_plan_t *plan, tsr_stream_t *stream, int step)
{
	agg_args_t args = plan->args;
	args.step = step;
	return tsr_launch(stream, plan->kernels[1], 1, &args);
}

/** The part of A that is chunk `chunk` of this rank's shard. */
static tsr_view_t chunk_view(const agg_plan_t *plan, int64_t chunk)
{
	tsr_view_t view = agg_plan_view(plan, AGG_A);
	const int64_t skip = chunk * plan->config.chunk_rows, left = view.rows - skip;
	view.data = (TSR_HEAP char *)view.data +
		    skip * view.ld * (int64_t)tsr_dtype_bytes(plan->config.dtype);
	view.rows = left < plan->config.chunk_rows ? left : plan->config.chunk_rows;
	return view;
}

/** Copies a chunk to the rank that is `distance` ranks before this one, and signals. */
static tsr_status_t put_chunk(agg_plan_t *plan, int distance, int64_t chunk)
{
	const int ranks = tsr_world_size(plan->world),
		  peer = (tsr_world_rank(plan->world) + ranks - distance) % ranks,
		  copiers = agg_copiers(&plan->config, ranks);
	tsr_stream_t *stream = plan->streams.side[(distance - 1) % copiers];
	const tsr_view_t view = chunk_view(plan, chunk);
	agg_args_t args = plan->args;
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
static tsr_status_t put_chunks(agg_plan_t *plan)
{
	const streams_t *streams = &plan->streams;
	const int ranks = tsr_world_size(plan->world), copiers = agg_copiers(&plan->config, ranks);
	tsr_status_t status = launch_step(plan, streams->side[0], AGG_OPEN);
	if (status == TSR_OK)
		status = tsr_event_record(streams->mark[0], streams->side[0]);
	for (int i = 1; status == TSR_OK && i < copiers; i++)
		status = tsr_stream_wait_event(streams->side[i], streams->mark[0]);
	for (int64_t chunk = 0; chunk < plan->args.chunks; chunk++)
		for (int distance = 1; status == TSR_OK && distance < ranks; distance++)
			status = put_chunk(plan, distance, chunk);
	return status;
}

/** The main stream continues when the product and all copies have ended. */
static tsr_status_t run_beside_copies(agg_plan_t *plan)
{
	const int copiers = agg_copiers(&plan->config, tsr_world_size(plan->world));
	const streams_t *streams = &plan->streams;
	tsr_status_t status = copiers > 0 ? streams_fork(streams, copiers) : TSR_OK;
	if (status == TSR_OK && copiers > 0)
		status = put_chunks(plan);
	if (status == TSR_OK)
		status = tsr_launch(streams->main, plan->kernels[0], plan->config.blocks,
				    &plan->args);
	if (status == TSR_OK && copiers > 0)
		status = streams_join(streams, copiers);
	return status == TSR_OK ? launch_step(plan, streams->main, AGG_FINISH) : status;
}

/* ------------------------------------------------------------ all patterns */

tsr_status_t agg_plan_run(agg_plan_t *plan)
{
	switch (plan->config.pattern) {
	case AGG_BULK_SYNCHRONOUS:
		return run_bulk(plan);
	case AGG_COPY_ENGINES:
		return run_beside_copies(plan);
	default:
		return tsr_launch(plan->streams.main, plan->kernels[0], plan->config.blocks,
				  &plan->args);
	}
}

tsr_status_t agg_plan_run_product(agg_plan_t *plan)
{
	if (plan->config.pattern != AGG_BULK_SYNCHRONOUS)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "pattern %s does not compute without gathering; use %s",
				 agg_patterns[plan->config.pattern].name,
				 agg_patterns[AGG_BULK_SYNCHRONOUS].name);
	return tsr_launch(plan->streams.main, plan->kernels[1], plan->config.blocks, &plan->args);
}

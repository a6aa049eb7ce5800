/* Runs of a plan: its launches, and the events that order them. */
#include <inttypes.h>

#include "kernels/gemm_all_scatter/plan.h"

/**
 * Launches one kernel after the other on one stream. In a world of one rank the
 * second kernel has nothing to send and is left out.
 */
static tsr_status_t run_in_turn(gas_plan_t *self)
{
	const int kernels = self->plan.ranks > 1 ? 2 : 1;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < kernels && self->plan.kernels[i]; i++)
		status = tsr_launch(self->plan.streams.main, self->plan.kernels[i],
				    self->config.blocks, &self->args);
	return status;
}

/**
 * Launches both kernels together, on two streams that share the device's
 * blocks. The main stream continues when both have ended.
 */
static tsr_status_t run_side_by_side(gas_plan_t *self)
{
	const gas_config_t *c = &self->config;
	const streams_t *streams = &self->plan.streams;
	const tsr_launch_desc_t launches[] = {
		TSR_LAUNCH_DESC(streams->main, self->plan.kernels[0], c->blocks - c->comm_blocks,
				&self->args),
		TSR_LAUNCH_DESC(streams->side[0], self->plan.kernels[1], c->comm_blocks,
				&self->args),
	};
	tsr_status_t status = streams_fork(streams, 1);
	if (status == TSR_OK)
		status = tsr_launch_group(launches, 2);
	return status == TSR_OK ? streams_join(streams, 1) : status;
}

/* ------------------------------------------------------------ banded */

/** Records why there are so many bands. */
static void explain_bands(const gas_plan_t *self, int64_t wanted, int count)
{
	explain_t *explain = self->plan.explain;
	if (self->config.bands > 0)
		explain_rule(explain, "bands", explain_number(count),
			     "about as many as were given, in whole groups of rows of tiles");
	else
		explain_rule(explain, "bands", explain_number(count),
			     "%" PRId64 " would balance the launches (launch_gap) and the last "
			     "band's copies; a band has whole rounds of tiles, and there are at "
			     "most %d",
			     wanted, GAS_BANDS);
}

gas_bands_t gas_plan_bands(const gas_plan_t *self)
{
	const gas_config_t *c = &self->config;
	if (c->pattern != GAS_BANDED) {
		explain_rule(self->plan.explain, "bands", explain_number(0),
			     "this pattern has no bands");
		return (gas_bands_t){.count = 0};
	}
	const int64_t wanted =
		gas_bands_wanted(c, self->args.b.cols, self->plan.ranks, self->plan.machine);
	const gas_bands_t bands =
		gas_bands(self->args.tiling.tiles_m, self->args.tiling.tiles_n,
			  self->args.tiling.group, c->blocks, wanted, c->bands > 0);
	explain_bands(self, wanted, bands.count);
	return bands;
}

/**
 * Computes every other band on a stream of its own, so that the blocks of one
 * band can start while the last blocks of the band before it are still running.
 */
static tsr_status_t compute_bands(gas_plan_t *self, const gas_bands_t *bands)
{
	const streams_t *streams = &self->plan.streams;
	tsr_status_t status = streams_fork(streams, 1);
	for (int band = 0; status == TSR_OK && band < bands->count; band++) {
		tsr_stream_t *stream = band % 2 ? streams->side[0] : streams->main;
		gas_args_t args = self->args;
		args.first_task = gas_band_begin(bands, band);
		args.end_task = gas_band_begin(bands, band + 1);
		args.tiling.group = (uint32_t)bands->group;
		status = tsr_launch(stream, self->plan.kernels[0], self->config.blocks, &args);
		if (status == TSR_OK)
			status = tsr_event_record(streams->mark[band], stream);
	}
	return status;
}

/** A band's rows of this rank's columns of C. */
static tsr_view_t band_view(const gas_plan_t *self, const gas_bands_t *bands, int band)
{
	const int64_t height = bands->rows * self->config.tile.m, first_row = band * height;
	tsr_view_t view = self->args.c;
	view.data =
		(TSR_HEAP char *)view.data + (first_row * view.ld + self->args.first_col) *
						     (int64_t)tsr_dtype_bytes(self->config.dtype);
	view.rows = height < view.rows - first_row ? height : view.rows - first_row;
	view.cols = self->args.b.cols;
	return view;
}

/**
 * Puts bands to the peers as they are ready. Each rank begins with the next
 * rank, so that no two ranks put to the same peer at the same time.
 */
static tsr_status_t put_bands(gas_plan_t *self, const gas_bands_t *bands)
{
	const int rank = self->plan.rank, ranks = self->plan.ranks;
	const int copiers = gas_pattern_sides(GAS_BANDED, ranks) - 1;
	const streams_t *streams = &self->plan.streams;
	tsr_status_t status = TSR_OK;
	for (int band = 0; status == TSR_OK && band < bands->count; band++) {
		const tsr_view_t view = band_view(self, bands, band);
		for (int i = 0; status == TSR_OK && i < copiers; i++)
			status = tsr_stream_wait_event(streams->side[1 + i], streams->mark[band]);
		for (int i = 0; status == TSR_OK && i < ranks - 1; i++)
			status = tsr_stream_put_2d(streams->side[1 + i % copiers], view, view,
						   (rank + 1 + i) % ranks);
	}
	return status;
}

/**
 * Runs a banded plan. The main stream continues when all bands are computed and
 * all copies have ended.
 */
static tsr_status_t run_banded(gas_plan_t *self)
{
	const gas_bands_t bands = self->bands;
	const int sides = gas_pattern_sides(GAS_BANDED, self->plan.ranks);
	tsr_status_t status = compute_bands(self, &bands);
	if (status == TSR_OK)
		status = put_bands(self, &bands);
	if (status == TSR_OK)
		status = streams_join(&self->plan.streams, sides);
	if (status == TSR_OK)
		status = tsr_launch(self->plan.streams.main, self->plan.kernels[1], 1, &self->args);
	return status;
}

/* ------------------------------------------------------------ all patterns */

tsr_status_t gas_run(plan_t *plan)
{
	gas_plan_t *self = (gas_plan_t *)plan;
	switch (self->config.pattern) {
	case GAS_PRODUCER_CONSUMER:
		return run_side_by_side(self);
	case GAS_BANDED:
		return run_banded(self);
	default:
		return run_in_turn(self);
	}
}

tsr_status_t gas_compute(plan_t *plan)
{
	const gas_plan_t *self = (const gas_plan_t *)plan;
	return tsr_launch(plan->streams.main, plan->kernels[0], self->config.blocks, &self->args);
}

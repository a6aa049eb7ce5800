/* Runs of a plan: launches, and what orders them on the host. */
#include "kernels/gemm_all_scatter/plan.h"

/** One kernel after the other on one stream. */
static tsr_status_t run_in_turn(gas_plan_t *plan)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < 2 && plan->kernels[i]; i++)
		status = tsr_launch(plan->main, plan->kernels[i], plan->config.blocks, &plan->args);
	return status;
}

/** Both kernels together, on two streams that share the device's blocks; the main stream goes on when both have ended. */
static tsr_status_t run_side_by_side(gas_plan_t *plan)
{
	const gas_config_t *c = &plan->config;
	const tsr_launch_desc_t launches[] = {
		{plan->main, plan->kernels[0], c->blocks - c->comm_blocks, &plan->args},
		{plan->side[0], plan->kernels[1], c->comm_blocks, &plan->args},
	};
	tsr_status_t status = tsr_event_record(plan->forked, plan->main);
	if (status == TSR_OK)
		status = tsr_stream_wait_event(plan->side[0], plan->forked);
	if (status == TSR_OK)
		status = tsr_launch_group(launches, 2);
	if (status == TSR_OK)
		status = tsr_event_record(plan->joined[0], plan->side[0]);
	if (status == TSR_OK)
		status = tsr_stream_wait_event(plan->main, plan->joined[0]);
	return status;
}

/* ---------------------------------------------------------------- banded */

/** How the tasks are divided: the first band is one round of all blocks, the others `rounds` each, the last what is left. */
typedef struct gas_bands {
	int64_t tiles_m, tiles_n, tasks, blocks, rounds;
	int count;
} gas_bands_t;

/* What a link moves while one launch gives way to the next, some six microseconds. */
static const double GIVING_WAY_BYTES = 2 << 20;

/**
 * What is computed last is sent last, and each band is one launch more: both cost least together where bands are as many as the
 * root of what is sent in units of GIVING_WAY_BYTES.
 */
static int64_t bands_wanted(const gas_plan_t *plan)
{
	const double bytes = (double)plan->args.c.rows * (double)plan->args.b.cols * (double)tsr_dtype_bytes(plan->config.dtype) *
			     (tsr_world_size(plan->world) - 1);
	int64_t count = 1;
	while (count < GAS_BANDS && (double)(count * count) * GIVING_WAY_BYTES < bytes)
		count++;
	return count;
}

/** Where a band begins: all tasks come before what would be the one behind the last. */
static int64_t band_begin(const gas_bands_t *bands, int band)
{
	const int64_t begin = band == 0 ? 0 : (1 + (band - 1) * bands->rounds) * bands->blocks;
	return begin < bands->tasks ? begin : bands->tasks;
}

/** A rank without columns has one band, in which it says that its C may be written. */
static gas_bands_t divide(const gas_plan_t *plan)
{
	const gas_config_t *c = &plan->config;
	gas_bands_t bands = {.tiles_m = (c->m - 1) / c->tile.m + 1,
			     .tiles_n = (plan->args.b.cols + c->tile.n - 1) / c->tile.n,
			     .blocks = c->blocks,
			     .count = 1};
	bands.tasks = bands.tiles_m * bands.tiles_n;
	const int64_t rounds = (bands.tasks + c->blocks - 1) / c->blocks, wanted = bands_wanted(plan);
	bands.rounds = wanted > 1 ? (rounds - 1 + wanted - 2) / (wanted - 1) : rounds;
	if (bands.rounds < 1)
		bands.rounds = 1;
	while (band_begin(&bands, bands.count) < bands.tasks && wanted > 1)
		bands.count++;
	return bands;
}

static int64_t band_end(const gas_bands_t *bands, int band)
{
	return band == bands->count - 1 ? bands->tasks : band_begin(bands, band + 1);
}

/** Every other band on a stream of its own, so that one begins on blocks' places while the last blocks of the other end. */
static tsr_status_t compute_bands(gas_plan_t *plan, const gas_bands_t *bands)
{
	tsr_status_t status = tsr_event_record(plan->forked, plan->main);
	if (status == TSR_OK)
		status = tsr_stream_wait_event(plan->side[0], plan->forked);
	for (int band = 0; status == TSR_OK && band < bands->count; band++) {
		tsr_stream_t *stream = band % 2 ? plan->side[0] : plan->main;
		gas_args_t args = plan->args;
		args.first_task = band_begin(bands, band);
		args.end_task = band_end(bands, band);
		status = tsr_launch(stream, plan->kernels[0], plan->config.blocks, &args);
		if (status == TSR_OK)
			status = tsr_event_record(plan->computed[band], stream);
	}
	return status;
}

/** One part of my columns to one peer. */
static tsr_status_t put_part(const gas_plan_t *plan, tsr_stream_t *stream, const gas_part_t *part, int peer)
{
	const gas_tile_size_t tile = plan->config.tile;
	const tsr_view_t c = plan->args.c;
	const int64_t first_row = part->at.row * tile.m, first_col = part->at.col * tile.n;
	const int64_t rows = c.rows - first_row, cols = plan->args.b.cols - first_col;
	tsr_view_t view = c;
	view.data = (TSR_HEAP char *)c.data +
		    (first_row * c.ld + plan->args.first_col + first_col) * (int64_t)tsr_dtype_bytes(plan->config.dtype);
	view.rows = part->rows * tile.m < rows ? part->rows * tile.m : rows;
	view.cols = part->cols * tile.n < cols ? part->cols * tile.n : cols;
	return tsr_stream_put_2d(stream, view, view, peer);
}

static tsr_status_t put_band(const gas_plan_t *plan, const gas_bands_t *bands, int band, tsr_stream_t *stream, int peer)
{
	gas_part_t parts[GAS_BAND_PARTS];
	const int count = gas_band_parts(bands->tiles_m, bands->tiles_n, plan->args.group, band_begin(bands, band),
					 band_end(bands, band), parts);
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = put_part(plan, stream, &parts[i], peer);
	return status;
}

/** Bands to peers as they are ready, the next rank first, so that no two ranks put to one peer at a time. */
static tsr_status_t put_bands(gas_plan_t *plan, const gas_bands_t *bands)
{
	const int rank = tsr_world_rank(plan->world), ranks = tsr_world_size(plan->world);
	const int copiers = gas_pattern_sides(GAS_BANDED, ranks) - 1;
	tsr_status_t status = TSR_OK;
	for (int band = 0; status == TSR_OK && band < bands->count; band++) {
		for (int i = 0; status == TSR_OK && i < copiers; i++)
			status = tsr_stream_wait_event(plan->side[1 + i], plan->computed[band]);
		for (int i = 0; status == TSR_OK && i < ranks - 1; i++)
			status = put_band(plan, bands, band, plan->side[1 + i % copiers], (rank + 1 + i) % ranks);
	}
	return status;
}

/** The main stream goes on when all bands are computed and all copies have ended. */
static tsr_status_t run_banded(gas_plan_t *plan)
{
	const gas_bands_t bands = divide(plan);
	const int sides = gas_pattern_sides(GAS_BANDED, tsr_world_size(plan->world));
	tsr_status_t status = compute_bands(plan, &bands);
	if (status == TSR_OK)
		status = put_bands(plan, &bands);
	for (int i = 0; status == TSR_OK && i < sides; i++) {
		status = tsr_event_record(plan->joined[i], plan->side[i]);
		if (status == TSR_OK)
			status = tsr_stream_wait_event(plan->main, plan->joined[i]);
	}
	return status == TSR_OK ? tsr_launch(plan->main, plan->kernels[1], 1, &plan->args) : status;
}

/* ---------------------------------------------------------------- all of them */

tsr_status_t gas_plan_run(gas_plan_t *plan)
{
	switch (plan->config.pattern) {
	case GAS_PRODUCER_CONSUMER:
		return run_side_by_side(plan);
	case GAS_BANDED:
		return run_banded(plan);
	default:
		return run_in_turn(plan);
	}
}

tsr_status_t gas_plan_run_product(gas_plan_t *plan)
{
	if (plan->config.pattern != GAS_BULK_SYNCHRONOUS)
		return tsr_error(TSR_ERR_UNSUPPORTED, "pattern %s does not compute without sending; use %s",
				 gas_pattern_name(plan->config.pattern), gas_pattern_name(GAS_BULK_SYNCHRONOUS));
	return tsr_launch(plan->main, plan->kernels[0], plan->config.blocks, &plan->args);
}

tsr_status_t gas_plan_sync(gas_plan_t *plan)
{
	tsr_status_t status = tsr_stream_sync(plan->main);
	for (int i = 0; i < GAS_SIDES && plan->side[i]; i++) {
		const tsr_status_t other = tsr_stream_sync(plan->side[i]);
		status = status != TSR_OK ? status : other;
	}
	return status;
}

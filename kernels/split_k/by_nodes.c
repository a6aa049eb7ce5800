/*
 * Sums in worlds of several nodes: behind the product, the library's collectives
 * add up what the ranks keep. The sums of a node's ranks are added there, so that
 * one partial sum of each node crosses to the owner of an element. The order is
 * that of nodes, and of ranks within a node (dev/reduction.h).
 */
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "kernels/split_k/split_k.h"
#include "tessera/collective.h"

bool splitk_adds_by_nodes(const plan_t *plan)
{
	return splitk_pattern_of(plan)->rounds && tsr_world_nodes(plan->world) > 1;
}

size_t splitk_total_by_nodes(const plan_t *plan, const splitk_config_t *c)
{
	return c->sums == c->dtype ? 0
				   : matrix_bytes(c->sums, share_largest(c->m, plan->ranks), c->n);
}

static TSR_HEAP tsr_collective_state_t *state_of(const plan_t *plan)
{
	return (TSR_HEAP tsr_collective_state_t *)plan->buffer[SPLITK_STATE].data;
}

/** This rank's rows of C, which may be whole. */
static tsr_view_t own_rows(const splitk_plan_t *self)
{
	const plan_t *plan = &self->plan;
	const share_t rows = share_of(self->config.m, plan->rank, plan->ranks);
	tsr_view_t view = self->args.c;
	if (splitk_kind_of(plan)->to_all)
		view.data = (TSR_HEAP char *)view.data +
			    rows.first * view.ld * (int64_t)tsr_dtype_bytes(plan->dtype);
	view.rows = rows.count;
	return view;
}

/** Rounds totals to this rank's rows of C. */
static tsr_status_t round_totals(const splitk_plan_t *self, tsr_view_t totals, tsr_view_t rows)
{
	const plan_t *plan = &self->plan;
	tsr_device_props_t device;
	workload_place_t place;
	const tsr_kernel_t *kernel;
	splitk_args_t args = self->args;
	args.total = totals;
	args.c = rows;
	tsr_status_t status = machine_place(plan->world, &device, &place);
	if (status == TSR_OK)
		status = variant_find(splitk_pattern_of(plan)->rounds, plan->dtype, plan->tile,
				      &device, &kernel);
	return status == TSR_OK ? tsr_launch(plan->streams.main, kernel, self->config.blocks, &args)
				: status;
}

/** Sums of another dtype than that of C: each rank rounds its rows, which then go to all. */
static tsr_status_t add_and_round(const splitk_plan_t *self)
{
	const plan_t *plan = &self->plan;
	const tsr_view_t rows = own_rows(self),
			 totals = matrix_view(plan->buffer[SPLITK_TOTAL].data, self->config.sums,
					      rows.rows, rows.cols);
	const tsr_tensor_t kept = matrix_tensor(self->args.partial), sums = matrix_tensor(totals),
			   mine = matrix_tensor(rows), whole = matrix_tensor(self->args.c);
	tsr_status_t status = tsr_stream_reduce_scatter(plan->streams.main, &sums, &kept, 0,
							TSR_REDUCE_SUM, state_of(plan));
	if (status == TSR_OK)
		status = round_totals(self, totals, rows);
	return status == TSR_OK && splitk_kind_of(plan)->to_all
		       ? tsr_stream_all_gather(plan->streams.main, &whole, &mine, 0, state_of(plan))
		       : status;
}

tsr_status_t splitk_add_by_nodes(plan_t *plan)
{
	const splitk_plan_t *self = (const splitk_plan_t *)plan;
	const tsr_tensor_t kept = matrix_tensor(self->args.partial),
			   c = matrix_tensor(self->args.c);
	tsr_stream_t *stream = plan->streams.main;
	if (self->config.sums != self->config.dtype)
		return add_and_round(self);
	return splitk_kind_of(plan)->to_all
		       ? tsr_stream_all_reduce(stream, &c, &kept, TSR_REDUCE_SUM, state_of(plan))
		       : tsr_stream_reduce_scatter(stream, &c, &kept, 0, TSR_REDUCE_SUM,
						   state_of(plan));
}

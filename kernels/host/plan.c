#include "kernels/host/plan.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/host/errors.h"

static plan_t *plan_of(const workload_run_t *run)
{
	return (plan_t *)run;
}

/* ------------------------------------------------------------ creation */

/** A matrix that the caller brings has no buffer. Buffers of matrices have their names. */
static void leave_out_given(plan_t *plan)
{
	workload_matrix_t matrix;
	for (int m = 0; plan->given >> m != 0; m++) {
		if ((plan->given >> m & 1) == 0 ||
		    !plan->kind->workload->matrix(&plan->config, m, plan->rank, plan->ranks,
						  &matrix))
			continue;
		for (int i = 0; i < plan->kind->kept; i++)
			if (strcmp(plan->buffer[i].name, matrix.name) == 0)
				plan->buffer[i].size_bytes = 0;
	}
}

/** The variants of the pattern's kernels, in the order of their launch. */
static tsr_status_t find_kernels(plan_t *plan, const tsr_device_props_t *device)
{
	const workload_t *workload = plan->kind->workload;
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < PLAN_KERNELS; i++) {
		const char *name = workload->kernel(plan->config.pattern, i);
		plan->kernels[i] = NULL;
		if (name && status == TSR_OK)
			status = variant_find(name, plan->dtype, plan->tile, device,
					      &plan->kernels[i]);
	}
	return status;
}

/** Checks the configuration, makes the automatic choices and finds the kernels. */
static tsr_status_t decide(plan_t *plan)
{
	const workload_t *workload = plan->kind->workload;
	workload_config_t asked = plan->config;
	tsr_device_props_t device;
	workload_place_t place;
	tsr_status_t status = machine_place(plan->world, &device, &place);
	place.explain = plan->explain;
	if (status == TSR_OK && asked.pattern == WORKLOAD_FASTEST && workload->fastest)
		asked.pattern = workload->fastest(&asked, &place);
	if (status == TSR_OK)
		status = workload->check(&asked, plan->ranks);
	if (status == TSR_OK)
		status = workload->choose(&asked, &place, &plan->config);
	if (status != TSR_OK)
		return status;
	plan->machine = place.machine;
	plan->kind->prepare(plan);
	leave_out_given(plan);
	return find_kernels(plan, &device);
}

static tsr_status_t check_heap(const plan_t *plan)
{
	char words[PLAN_WORDS];
	plan->kind->words(plan, words);
	return buffers_check(plan->world, plan->buffer, plan->kind->buffers, words);
}

/** Creates the streams that the configuration needs and the plan does not have yet. */
static tsr_status_t create_streams(plan_t *plan)
{
	int sides = 0, marks = 0;
	if (plan->kind->count_streams)
		plan->kind->count_streams(plan, &sides, &marks);
	return streams_create(plan->world, sides, marks, &plan->streams);
}

/** Fills in a plan that has its configuration. After an error it can be closed. */
static tsr_status_t build(plan_t *plan)
{
	tsr_status_t status = decide(plan);
	if (status == TSR_OK)
		status = check_heap(plan);
	if (status == TSR_OK)
		status = buffers_allocate(plan->world, plan->buffer, plan->kind->buffers);
	if (status == TSR_OK)
		status = create_streams(plan);
	if (status != TSR_OK)
		return status;
	plan->kind->set_problem(plan);
	plan->kind->set_exchange(plan);
	return tsr_barrier(plan->world);
}

tsr_status_t plan_open(const plan_kind_t *kind, tsr_world_t *world, const workload_config_t *config,
		       workload_run_t **run_out)
{
	return plan_open_with(kind, world, config, 0, run_out);
}

tsr_status_t plan_open_with(const plan_kind_t *kind, tsr_world_t *world,
			    const workload_config_t *config, unsigned given,
			    workload_run_t **run_out)
{
	plan_t *plan = calloc(1, kind->size_bytes);
	if (!plan)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a plan; free some");
	plan->kind = kind;
	plan->world = world;
	plan->given = given;
	plan->rank = tsr_world_rank(world);
	plan->ranks = tsr_world_size(world);
	plan->config = *config;
	tsr_span_begin("open", kind->workload->name);
	const tsr_status_t status = build(plan);
	tsr_span_end();
	if (status != TSR_OK)
		return plan_close((workload_run_t *)plan, status);
	*run_out = (workload_run_t *)plan;
	return TSR_OK;
}

tsr_status_t plan_close(workload_run_t *run, tsr_status_t status)
{
	plan_t *plan = plan_of(run);
	if (!plan)
		return status;
	const kept_error_t error = error_keep(status);
	tsr_status_t closed = streams_destroy(&plan->streams);
	closed = error_first(closed, buffers_free(plan->world, plan->buffer, plan->kind->buffers));
	free(plan);
	return status == TSR_OK ? closed : error_again(&error);
}

/* ------------------------------------------------------------ reconfiguration */

/** Checks that two configurations have the same problem. */
static tsr_status_t check_problem(const plan_kind_t *kind, const workload_config_t *a,
				  const workload_config_t *b)
{
	const workload_param_t *params = kind->workload->params;
	for (int i = 0; params[i].name; i++)
		if (params[i].problem && memcmp(&a->value[i], &b->value[i], sizeof a->value[i]))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "a plan keeps its %s: make another plan for another one",
					 params[i].name);
	return TSR_OK;
}

/**
 * Gives `plan` the configuration of `next`, which is its copy in all else. The
 * new buffers are allocated before the old ones are freed.
 */
static tsr_status_t adapt(plan_t *plan, plan_t *next)
{
	const plan_kind_t *kind = plan->kind;
	const int changed = kind->buffers - kind->kept;
	tsr_status_t status = check_problem(kind, &plan->config, &next->config);
	if (status == TSR_OK)
		status = decide(next);
	if (status == TSR_OK)
		status = streams_sync(&plan->streams);
	/* A peer's run may still read what this rank's next run writes, and where no buffer
	 * changes nothing below waits for it. */
	if (status == TSR_OK)
		status = tsr_barrier(plan->world);
	if (status != TSR_OK)
		return status;
	buffer_t before[PLAN_BUFFERS];
	memcpy(before, plan->buffer, sizeof before);
	memcpy(next->buffer, before, (size_t)kind->kept * sizeof *before);
	status = buffers_allocate(plan->world, next->buffer + kind->kept, changed);
	if (status != TSR_OK)
		return status;
	kind->set_exchange(next);
	if (kind->carry)
		status = kind->carry(plan, next);
	memcpy(plan, next, kind->size_bytes);
	status = error_first(status, create_streams(plan));
	/* buffers_free waits for every rank, so the new flags are zero on all ranks. */
	return error_first(status, buffers_free(plan->world, before + kind->kept, changed));
}

tsr_status_t plan_reconfigure(workload_run_t *run, const workload_config_t *config)
{
	plan_t *plan = plan_of(run), *next = malloc(plan->kind->size_bytes);
	if (!next)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a plan; free some");
	memcpy(next, plan, plan->kind->size_bytes);
	next->config = *config;
	const tsr_status_t status = adapt(plan, next);
	free(next);
	return status;
}

void plan_explain(workload_run_t *run, explain_t *explain)
{
	plan_of(run)->explain = explain;
}

/* ------------------------------------------------------------ runs */

tsr_status_t plan_start(workload_run_t *run)
{
	plan_t *plan = plan_of(run);
	return plan->kind->run(plan);
}

void plan_place(workload_run_t *run, int matrix, tsr_view_t view)
{
	plan_t *plan = plan_of(run);
	plan->kind->place(plan, matrix, view);
}

tsr_status_t plan_start_on(workload_run_t *run, tsr_stream_t *stream)
{
	plan_t *plan = plan_of(run);
	tsr_stream_t *own = plan->streams.main;
	plan->streams.main = stream;
	const tsr_status_t status = plan->kind->run(plan);
	plan->streams.main = own;
	return status;
}

tsr_status_t plan_compute(workload_run_t *run)
{
	plan_t *plan = plan_of(run);
	const workload_t *workload = plan->kind->workload;
	if (plan->config.pattern != workload->compute_pattern)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "pattern %s computes and communicates in one kernel; use %s to "
				 "compute alone",
				 workload->pattern(plan->config.pattern),
				 workload->pattern(workload->compute_pattern));
	return plan->kind->compute(plan);
}

tsr_status_t plan_sync(workload_run_t *run)
{
	const plan_t *plan = plan_of(run);
	const tsr_status_t status = streams_sync(&plan->streams);
	return status == TSR_OK && plan->kind->ended ? plan->kind->ended(plan) : status;
}

tsr_stream_t *plan_stream(workload_run_t *run)
{
	return plan_of(run)->streams.main;
}

void plan_chosen(const workload_run_t *run, workload_config_t *config_out)
{
	*config_out = plan_of(run)->config;
}

tsr_view_t plan_view(const workload_run_t *run, int matrix)
{
	const plan_t *plan = plan_of(run);
	return plan->kind->view(plan, matrix);
}

/* Worlds that run litmus tests, and the witnesses that start them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/litmus/run/rank.h"
#include "tools/litmus/run/run.h"

/** What the ranks of a world read: set before they start. */
static const litmus_job_t *litmus_job;

static int rank_main(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return litmus_rank_run(world, litmus_job) == TSR_OK ? 0 : tsr_fail(world);
}

static tsr_status_t make_board(litmus_board_t *board, int tests)
{
	const size_t columns = (size_t)LITMUS_MAX_OBSERVED * INSTANCES_GPU * sizeof(int64_t);

	board->bytes = columns + (size_t)tests * sizeof(litmus_board_test_t);
	void *memory = mmap(NULL, board->bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for what the ranks find; free some");
	board->columns = memory;
	board->tests = (litmus_board_test_t *)((char *)memory + columns);
	return TSR_OK;
}

static tsr_status_t has_device(const char *backend)
{
	tsr_backend_info_t info = {.size = sizeof info};

	for (int i = 0; tsr_backend_at(i, &info) == TSR_OK; i++) {
		if (strcmp(info.name, backend) != 0)
			continue;
		return info.devices > 0
			       ? TSR_OK
			       : tsr_error(TSR_ERR_NO_DEVICE, "%s: %s", backend, info.reason);
	}
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "this build has no backend '%s': 'tessera info' lists those that it has",
			 backend);
}

static tsr_status_t run_world(const char *backend, litmus_job_t *job, int ranks)
{
	const int nodes = job->nodes < ranks ? job->nodes : ranks;
	const bool threads = strcmp(backend, "cpuemu") == 0 && nodes < 2;
	tsr_launcher_t launcher = {
		.size = sizeof launcher,
		.ranks = ranks,
		.backend = backend,
		.placement = threads ? TSR_PLACE_THREAD : TSR_PLACE_PROCESS,
		.nodes = nodes,
	};
	char name[] = "litmus";
	char *argv[] = {name, NULL};

	litmus_job = job;
	if (tsr_launch_world(&launcher, 1, argv, rank_main) != 0)
		return tsr_error(TSR_ERR_KERNEL, "the ranks of %s failed, and have said why above",
				 backend);
	return TSR_OK;
}

static bool plans_for(const litmus_job_t *job, int devices)
{
	for (int i = 0; i < job->count; i++)
		if (job->plans[i].devices == devices)
			return true;
	return false;
}

static tsr_status_t collect(const litmus_job_t *job, litmus_result_t *results)
{
	for (int i = 0; i < job->count; i++)
		for (int s = 0; s < job->board.tests[i].count; s++) {
			const litmus_state_t *state = &job->board.tests[i].states[s];
			LITMUS_TRY(litmus_result_add(job->plans[i].test, &results[i], state->values,
						     state->count));
		}
	for (int i = 0; i < job->count; i++) {
		const litmus_board_test_t *board = &job->board.tests[i];
		if (job->plans[i].devices < 2)
			continue;
		results[i].shared = board->shared;
		memcpy(results[i].positive, board->positive, sizeof board->positive);
		memcpy(results[i].sightings, board->sightings, sizeof board->sightings);
	}
	return TSR_OK;
}

/**
 * Runs tests one after another in worlds of `backend`, one for all that need as
 * many devices. results[i] is added to; statuses[i] says whether test i could
 * be run. Errors: TSR_ERR_NO_DEVICE, TSR_ERR_NOT_FOUND, TSR_ERR_NO_MEMORY,
 * TSR_ERR_KERNEL (the world failed, and has said why).
 */
static tsr_status_t run_on(const char *backend, const litmus_test_t *const *tests, int count,
			   const litmus_options_t *options, litmus_result_t *results,
			   tsr_status_t *statuses)
{
	litmus_plan_t *plans = calloc((size_t)count, sizeof *plans);
	litmus_job_t job = {
		.plans = plans,
		.count = count,
		.runs = options->runs,
		.seed = options->seed,
		.nodes = options->nodes,
		.by_lanes = strcmp(backend, "cuda") == 0 && !options->through_api,
	};

	if (!plans)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for %d litmus tests; free some",
				 count);
	tsr_status_t status = has_device(backend);
	for (int i = 0; i < count && status == TSR_OK; i++) {
		statuses[i] = litmus_plan(tests[i], &plans[i]);
		if (statuses[i] != TSR_OK)
			plans[i].devices = 0;
	}
	if (status == TSR_OK)
		status = make_board(&job.board, count);
	/* A world for each number of devices: in a larger one than needed, ranks would share a GPU
	 * for nothing. */
	for (int ranks = 1; ranks <= LITMUS_RUN_THREADS && status == TSR_OK; ranks++)
		if (plans_for(&job, ranks))
			status = run_world(backend, &job, ranks);
	if (status == TSR_OK)
		status = collect(&job, results);
	if (job.board.columns)
		munmap(job.board.columns, job.board.bytes);
	free(plans);
	return status;
}

/* ------------------------------------------------------------------ the witnesses */

static tsr_status_t run_one(const char *backend, const litmus_test_t *test,
			    const litmus_options_t *options, litmus_result_t *result)
{
	tsr_status_t own = TSR_OK, status = run_on(backend, &test, 1, options, result, &own);
	return status == TSR_OK ? own : status;
}

static tsr_status_t run_cpuemu(const litmus_test_t *test, const litmus_options_t *options,
			       litmus_result_t *result)
{
	return run_one("cpuemu", test, options, result);
}

static tsr_status_t run_cuda(const litmus_test_t *test, const litmus_options_t *options,
			     litmus_result_t *result)
{
	return run_one("cuda", test, options, result);
}

static tsr_status_t run_hip(const litmus_test_t *test, const litmus_options_t *options,
			    litmus_result_t *result)
{
	return run_one("hip", test, options, result);
}

static tsr_status_t run_all_cpuemu(const litmus_test_t *const *tests, int count,
				   const litmus_options_t *options, litmus_result_t *results,
				   tsr_status_t *statuses)
{
	return run_on("cpuemu", tests, count, options, results, statuses);
}

static tsr_status_t run_all_cuda(const litmus_test_t *const *tests, int count,
				 const litmus_options_t *options, litmus_result_t *results,
				 tsr_status_t *statuses)
{
	return run_on("cuda", tests, count, options, results, statuses);
}

static tsr_status_t run_all_hip(const litmus_test_t *const *tests, int count,
				const litmus_options_t *options, litmus_result_t *results,
				tsr_status_t *statuses)
{
	return run_on("hip", tests, count, options, results, statuses);
}

const litmus_witness_t litmus_cpuemu = {
	.name = "cpuemu",
	.summary = "the emulator's parallel executor: threads on the host's cores",
	.runs = true,
	.run = run_cpuemu,
	.run_all = run_all_cpuemu,
};
const litmus_witness_t litmus_cuda = {
	.name = "cuda",
	.summary = "NVIDIA GPUs, each device of the test a GPU of its own if there are enough",
	.runs = true,
	.run = run_cuda,
	.run_all = run_all_cuda,
};
const litmus_witness_t litmus_hip = {
	.name = "hip",
	.summary = "AMD GPUs, through the device API",
	.runs = true,
	.run = run_hip,
	.run_all = run_all_hip,
};

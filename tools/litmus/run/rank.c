/*
 * What one rank does: the launches of all tests that are for its world, and
 * what they have shown.
 */
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/litmus/run/rank.h"

enum { MOST_TEAMS = 64, TEAMS_FAR = 16, INSTANCES_CPU = 1 << 12 /* of one launch, at most */ };

/* ------------------------------------------------------------------ what a launch has shown */

/** Puts what this rank knows on the board: registers of its threads, locations that it holds. */
static tsr_status_t tell(litmus_rank_t *r, const litmus_plan_t *plan, const litmus_variation_t *v,
			 const uint32_t *multipliers)
{
	const litmus_test_t *test = plan->test;

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		int64_t *column = r->board->columns + (size_t)i * INSTANCES_GPU;
		if (what->thread >= 0) {
			if (litmus_launch_rank(r, v, plan->device[what->thread]) != r->me)
				continue;
			const size_t row =
				(size_t)(what->thread * LITMUS_RUN_REGISTERS + what->index);
			LITMUS_TRY(tsr_memcpy_from_heap(r->world, column,
							r->results + row * r->instances,
							(size_t)r->instances * sizeof *column));
		} else if (v->home[what->index] == r->me) {
			const size_t words = (size_t)r->instances * STRIDE;
			LITMUS_TRY(tsr_memcpy_from_heap(r->world, r->host,
							r->memory + (size_t)what->index * words,
							words * sizeof *r->host));
			for (uint64_t n = 0; n < r->instances; n++)
				column[n] = (int64_t)r->host[(n * multipliers[what->index] &
							      (r->instances - 1)) *
							     STRIDE];
		}
	}
	return TSR_OK;
}

/** Where the threads' first accesses go. */
static litmus_first_t find_first(const litmus_rank_t *r, const litmus_plan_t *plan,
				 const litmus_variation_t *v)
{
	int near = 0, far = 0;

	for (int t = 0; t < plan->test->threads; t++) {
		const litmus_run_args_t *part = &plan->args[plan->device[t]];
		int at = 0;
		while (at < part->steps[t] && part->step[t][at].op > LITMUS_RUN_CAS)
			at++;
		if (at == part->steps[t])
			continue;
		const bool here = v->home[part->step[t][at].location] ==
				  litmus_launch_rank(r, v, plan->device[t]);
		near += here;
		far += !here;
	}
	return !far ? LITMUS_FIRST_LOCAL : near ? LITMUS_FIRST_MIXED : LITMUS_FIRST_REMOTE;
}

static tsr_status_t count_states(const litmus_rank_t *r, const litmus_plan_t *plan,
				 const litmus_variation_t *v, uint64_t runs,
				 litmus_result_t *result)
{
	const litmus_test_t *test = plan->test;
	const litmus_first_t first = find_first(r, plan, v);
	int64_t values[LITMUS_MAX_OBSERVED];

	for (uint64_t n = 0; n < runs; n++) {
		for (int i = 0; i < test->observed_count; i++)
			values[i] = r->board->columns[(size_t)i * INSTANCES_GPU + n];
		if (test->filter >= 0 && !litmus_holds(test, test->filter, values))
			continue;
		LITMUS_TRY(litmus_result_add(test, result, values, 1));
		result->sightings[first]++;
		result->positive[first] += litmus_holds(test, test->question, values);
	}
	return TSR_OK;
}

/* ------------------------------------------------------------------ one rank */

static uint64_t next_random(litmus_rank_t *r)
{
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return r->random >> 33;
}

static tsr_status_t launch(litmus_rank_t *r, const litmus_plan_t *plan, const litmus_variation_t *v,
			   uint64_t runs, litmus_result_t *result)
{
	litmus_style_t style;

	/* the same on every rank: all began with one seed */
	for (int x = 0; x < LITMUS_RUN_LOCATIONS; x++)
		style.multipliers[x] = (uint32_t)next_random(r) | 1;
	style.chance = next_random(r);
	LITMUS_TRY(litmus_launch_clear(r, plan->test));
	LITMUS_TRY(tsr_barrier(r->world));
	LITMUS_TRY(litmus_launch_play(r, plan, v, &style));
	LITMUS_TRY(tsr_barrier(r->world));
	LITMUS_TRY(tell(r, plan, v, style.multipliers));
	LITMUS_TRY(tsr_barrier(r->world));
	if (r->me == 0)
		LITMUS_TRY(count_states(r, plan, v, runs, result));
	return tsr_barrier(r->world);
}

static tsr_status_t run_test(litmus_rank_t *r, const litmus_plan_t *plan, int64_t runs,
			     litmus_board_test_t *board)
{
	const uint64_t most = r->emulated ? INSTANCES_CPU : INSTANCES_GPU;
	const int variations = litmus_launch_variations(r, plan);
	litmus_result_t result = {.count = 0};
	tsr_status_t status = TSR_OK;

	if (r->lanes)
		LITMUS_TRY(litmus_lanes_load(r->lanes, plan, (uint64_t)(uintptr_t)r->meetings));
	for (r->instances = 64; r->instances < most && (int64_t)r->instances * variations < runs;)
		r->instances *= 2;
	for (int n = 0; status == TSR_OK && runs > 0; n++) {
		const litmus_variation_t v =
			litmus_launch_vary(r, plan, n % variations, variations);
		const uint64_t counted =
			runs < (int64_t)r->instances ? (uint64_t)runs : r->instances;
		status = launch(r, plan, &v, counted, &result);
		runs -= (int64_t)counted;
	}
	if (status == TSR_OK && r->me == 0 && result.count > MOST_STATES)
		status = tsr_error(TSR_ERR_UNSUPPORTED,
				   "%s: %d states, and %d are kept: observe less", plan->test->name,
				   result.count, MOST_STATES);
	for (int i = 0; status == TSR_OK && r->me == 0 && i < result.count; i++)
		board->states[board->count++] = result.states[i];
	if (r->me == 0) {
		board->shared = r->shared;
		memcpy(board->positive, result.positive, sizeof board->positive);
		memcpy(board->sightings, result.sightings, sizeof board->sightings);
	}
	litmus_result_free(&result);
	return status;
}

static tsr_status_t allocate(litmus_rank_t *r)
{
	const size_t word = sizeof(uint64_t);
	tsr_device_props_t props = {.size = sizeof props};
	TSR_HEAP void *memory, *results, *scratch, *meetings;

	LITMUS_TRY(tsr_world_device(r->world, &props));
	const uint64_t instances = r->emulated ? INSTANCES_CPU : INSTANCES_GPU;
	const int blocks = props.resident_blocks < MOST_TEAMS ? props.resident_blocks : MOST_TEAMS;
	/* more teams would take the emulator's cores from each other, but for those that wait */
	r->teams = r->far ? TEAMS_FAR : r->emulated ? 1 : blocks;
	LITMUS_TRY(tsr_heap_alloc(r->world, LITMUS_RUN_LOCATIONS * instances * STRIDE * word, 0,
				  "locations", &memory));
	LITMUS_TRY(tsr_heap_alloc(r->world,
				  LITMUS_RUN_THREADS * LITMUS_RUN_REGISTERS * instances * word, 0,
				  "registers", &results));
	LITMUS_TRY(tsr_heap_alloc(r->world,
				  (size_t)MOST_TEAMS * LITMUS_RUN_THREADS * LITMUS_RUN_WORKERS * 2 *
					  word,
				  0, "scratch", &scratch));
	LITMUS_TRY(tsr_heap_alloc(r->world, instances * word, 0, "meetings", &meetings));
	r->memory = memory;
	r->results = results;
	r->scratch = scratch;
	r->meetings = meetings;
	r->host = malloc(INSTANCES_GPU * STRIDE * word);
	if (!r->host)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no memory for the final values of the locations; free some");
	return tsr_stream_create(tsr_world_team(r->world), &r->stream);
}

/** Ranks that have one GPU take turns on it. */
static tsr_status_t find_shared(litmus_rank_t *r)
{
	tsr_device_props_t props = {.size = sizeof props};
	int ordinals[LITMUS_RUN_THREADS];

	LITMUS_TRY(tsr_world_device(r->world, &props));
	LITMUS_TRY(tsr_team_gather_all(tsr_world_team(r->world), &props.ordinal, ordinals,
				       sizeof *ordinals));
	for (int rank = 0; rank < r->size; rank++)
		for (int other = 0; other < rank; other++)
			r->shared |= !r->emulated && ordinals[rank] == ordinals[other];
	return TSR_OK;
}

static tsr_status_t run_all(litmus_rank_t *r, const litmus_job_t *job)
{
	LITMUS_TRY(allocate(r));
	LITMUS_TRY(find_shared(r));
	if (job->by_lanes)
		LITMUS_TRY(litmus_lanes_open(r->world, &r->lanes));
	for (int i = 0; i < job->count; i++)
		if (job->plans[i].devices == r->size)
			LITMUS_TRY(run_test(r, &job->plans[i], job->runs, &job->board.tests[i]));
	return TSR_OK;
}

tsr_status_t litmus_rank_run(tsr_world_t *world, const litmus_job_t *job)
{
	litmus_rank_t r = {
		.world = world,
		.board = &job->board,
		.emulated = strcmp(tsr_world_backend(world), "cpuemu") == 0,
		.far = tsr_world_nodes(world) > 1,
		.me = tsr_world_rank(world),
		.size = tsr_world_size(world),
		.random = job->seed,
	};

	const tsr_status_t status = run_all(&r, job);
	litmus_lanes_close(r.lanes);
	(void)tsr_stream_destroy(r.stream);
	free(r.host);
	return status;
}

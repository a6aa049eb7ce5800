#include "tools/litmus/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tessera/tessera.h"
#include "tools/litmus/ptx/lanes.h"

enum {
	STRIDE = 4,          /* words from one instance's location to the next one's: 32 bytes */
	MOST_STATES = 512,   /* of one test */
	MOST_VARIATIONS = 8, /* of homes, and of who plays on which rank */
	MOST_TEAMS = 64,
	STRESS_BLOCKS = 64,
	INSTANCES_CPU = 1 << 12, /* of one launch */
	INSTANCES_GPU = 1 << 16
};

/**
 * Where the ranks leave what they found: memory that all of them and the
 * process that started them share.
 */
typedef struct board_test {
	int count;
	bool shared; /* as in litmus_result_t, and so are these */
	uint64_t positive[LITMUS_FIRSTS], sightings[LITMUS_FIRSTS];
	litmus_state_t states[MOST_STATES];
} board_test_t;

typedef struct board {
	size_t bytes;
	/* of the current launch: observed i of instance n: [i * INSTANCES_GPU + n] */
	int64_t *columns;
	board_test_t *tests;
} board_t;

/**
 * What the ranks are to do. Written before they start and only read afterwards,
 * as an entry gets no pointer of its own.
 */
typedef struct job {
	const litmus_plan_t *plans;
	int count;
	int64_t runs;
	uint64_t seed;
	bool by_lanes;
	board_t board;
} job_t;

static const job_t *litmus_job;

/** One rank, and the memory that all its launches use. */
typedef struct rank {
	tsr_world_t *world;
	tsr_stream_t *stream;
	const board_t *board;
	bool emulated;         /* blocks are threads on the host's few cores */
	bool shared;           /* some rank has the GPU of another */
	litmus_lanes_t *lanes; /* null: by the device API */
	int me, size, teams;
	uint64_t instances, random;
	TSR_HEAP uint64_t *memory, *results, *scratch, *meetings;
	uint64_t *host; /* INSTANCES_GPU * STRIDE words */
} rank_t;

/* ------------------------------------------------------------------ one launch */

/** One way to run a test: on which ranks, and which of them holds each location. */
typedef struct variation {
	int rotation;                   /* device d of the test is rank (d + rotation) % size */
	int home[LITMUS_RUN_LOCATIONS]; /* ranks */
} variation_t;

/** What chance decides of a launch, the same on every rank. */
typedef struct style {
	uint64_t chance;
	uint32_t multipliers[LITMUS_RUN_LOCATIONS];
} style_t;

static int rank_of(const rank_t *r, const variation_t *v, int device)
{
	return (device + v->rotation) % r->size;
}

/** The n-th of `count` ways, spread over all ways to give locations to the devices. */
static variation_t vary(const rank_t *r, const litmus_plan_t *plan, int n, int count)
{
	variation_t v = {.rotation = n % r->size};
	int ways = 1;

	for (int x = 0; x < plan->test->locations; x++)
		ways *= plan->devices;
	int way = (int)((int64_t)n * ways / count);
	for (int x = 0; x < plan->test->locations; x++, way /= plan->devices)
		v.home[x] = rank_of(r, &v, way % plan->devices);
	return v;
}

/** By lanes a launch has more ways to go than homes. */
static int count_variations(const rank_t *r, const litmus_plan_t *plan)
{
	int ways = r->lanes ? MOST_VARIATIONS : 1;

	for (int x = 0; x < plan->test->locations && ways < MOST_VARIATIONS; x++)
		ways *= plan->devices;
	if (ways < r->size)
		ways = r->size;
	return ways < MOST_VARIATIONS ? ways : MOST_VARIATIONS;
}

/** Which device of the test this rank plays, or -1. */
static int my_device(const rank_t *r, const litmus_plan_t *plan, const variation_t *v)
{
	for (int d = 0; d < plan->devices; d++)
		if (rank_of(r, v, d) == r->me)
			return d;
	return -1;
}

/** Every location holds its first value on every rank, and nobody has met. */
static tsr_status_t clear(rank_t *r, const litmus_test_t *test)
{
	for (int x = 0; x < test->locations; x++) {
		TSR_HEAP uint64_t *part = r->memory + (size_t)x * r->instances * STRIDE;
		const size_t words = (size_t)r->instances * STRIDE;
		for (size_t i = 0; i < words && test->initial[x] != 0; i++)
			r->host[i] = (uint64_t)test->initial[x];
		LITMUS_TRY(test->initial[x] != 0
				   ? tsr_memcpy_to_heap(r->world, part, r->host,
							words * sizeof *r->host)
				   : tsr_memset_heap(r->world, part, 0, words * sizeof *r->host));
	}
	return tsr_memset_heap(r->world, r->meetings, 0,
			       (r->lanes ? (size_t)INSTANCES_GPU : (size_t)r->instances) *
				       sizeof *r->host);
}

static tsr_status_t play_by_api(rank_t *r, const litmus_plan_t *plan, const variation_t *v,
				const uint32_t *multipliers)
{
	const int device = my_device(r, plan, v);
	int most = 1;

	for (int d = 0; d < plan->devices; d++)
		most = plan->classes[d] > most ? plan->classes[d] : most;
	if (device < 0)
		return TSR_OK;
	litmus_run_args_t args = plan->args[device];
	args.memory = r->memory;
	args.results = r->results;
	args.scratch = r->scratch;
	args.meetings = r->meetings;
	args.instances = r->instances;
	args.stride = STRIDE;
	args.teams = r->teams > most ? r->teams / most : 1;
	args.patience =
		r->emulated && plan->test->threads > sysconf(_SC_NPROCESSORS_ONLN) ? 200 : 1000;
	for (int x = 0; x < plan->test->locations; x++) {
		args.home[x] = v->home[x];
		args.multiplier[x] = multipliers[x];
	}
	LITMUS_TRY(tsr_launch(r->stream, plan->split ? &litmus_run_workers : &litmus_run_blocks,
			      args.classes * args.teams, &args));
	return tsr_stream_sync(r->stream);
}

/* --------------------------------------------------------- one launch, an instance a GPU thread */

_Static_assert(STRIDE * sizeof(uint64_t) == LITMUS_PTX_STRIDE, "one memory for both ways");
_Static_assert(LITMUS_PTX_PACE_OFFSET + LITMUS_LANES_TEAMS * (LITMUS_PTX_THREADS / 32) *
						LITMUS_PTX_PACE_STRIDE <=
		       INSTANCES_GPU * sizeof(uint64_t),
	       "each warp's meeting has its word");

/** Where a rank's copy of my memory is, as the GPU sees it. */
static tsr_status_t address_at(const rank_t *r, const TSR_HEAP void *mine, int rank,
			       uint64_t *address_out)
{
	TSR_HEAP void *there;

	LITMUS_TRY(tsr_heap_translate(r->world, mine, rank, &there));
	*address_out = (uint64_t)(uintptr_t)there;
	return TSR_OK;
}

/**
 * How a launch goes, by chance, and alike on every rank: whether warps meet
 * before an instance, who starts how much later, which blocks come first, and
 * whether others work on the same lines meanwhile. Each brings out outcomes
 * that another hides.
 */
static void vary_launch(const rank_t *r, const style_t *style, litmus_ptx_args_t *args)
{
	static const uint32_t jitter[] = {0, 255, 1023, 4095}, skew[] = {0, 0, 500, 3000};
	const uint64_t chance = style->chance;

	args->apart = chance & 1;
	args->patience = chance >> 1 & 1 && !r->shared ? 400 : 0;
	args->jitter = jitter[chance >> 2 & 3];
	args->turn = (uint32_t)(chance >> 4 & 0xff);
	args->seed = (uint32_t)(chance >> 4);
	for (int t = 0; t < LITMUS_RUN_THREADS; t++)
		args->skew[t] = skew[chance >> (12 + 2 * t) & 3];
	args->rounds = (chance >> 20 & 3) == 0 ? 64 : 0;
	args->start_ns = r->shared ? 100000 : 20000000;
}

static tsr_status_t play_by_lanes(rank_t *r, const litmus_plan_t *plan, const variation_t *v,
				  const style_t *style)
{
	const int device = my_device(r, plan, v), lanes = litmus_ptx_shape(plan).lanes;
	const int wanted = (int)(r->instances / (uint64_t)lanes),
		  most = LITMUS_LANES_TEAMS >> (style->chance >> 23 & 1);
	litmus_ptx_args_t args = {
		.results = (uint64_t)(uintptr_t)r->results,
		.arrivals = (uint32_t)plan->devices,
		.instances = (uint32_t)r->instances,
		.teams = (uint32_t)(wanted < 1      ? 1
				    : wanted < most ? wanted
						    : most),
	};

	if (device < 0)
		return TSR_OK;
	vary_launch(r, style, &args);
	LITMUS_TRY(address_at(r, r->meetings, (int)(style->chance >> 22 & 1) % r->size,
			      &args.meetings));
	for (int x = 0; x < plan->test->locations; x++) {
		const TSR_HEAP uint64_t *mine = r->memory + (size_t)x * r->instances * STRIDE;
		LITMUS_TRY(address_at(r, mine, v->home[x], &args.location[x]));
		args.multiplier[x] = style->multipliers[x];
	}
	const int playing = plan->classes[device] * (int)args.teams;
	return litmus_lanes_play(r->lanes, device, &args,
				 playing + (args.rounds ? STRESS_BLOCKS : 0));
}

/* ------------------------------------------------------------------ what a launch has shown */

/** Puts what this rank knows on the board: registers of its threads, locations that it holds. */
static tsr_status_t tell(rank_t *r, const litmus_plan_t *plan, const variation_t *v,
			 const uint32_t *multipliers)
{
	const litmus_test_t *test = plan->test;

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		int64_t *column = r->board->columns + (size_t)i * INSTANCES_GPU;
		if (what->thread >= 0) {
			if (rank_of(r, v, plan->device[what->thread]) != r->me)
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
static litmus_first_t find_first(const rank_t *r, const litmus_plan_t *plan, const variation_t *v)
{
	int near = 0, far = 0;

	for (int t = 0; t < plan->test->threads; t++) {
		const litmus_run_args_t *part = &plan->args[plan->device[t]];
		int at = 0;
		while (at < part->steps[t] && part->step[t][at].op > LITMUS_RUN_CAS)
			at++;
		if (at == part->steps[t])
			continue;
		const bool here =
			v->home[part->step[t][at].location] == rank_of(r, v, plan->device[t]);
		near += here;
		far += !here;
	}
	return !far ? LITMUS_FIRST_LOCAL : near ? LITMUS_FIRST_MIXED : LITMUS_FIRST_REMOTE;
}

static tsr_status_t count_states(const rank_t *r, const litmus_plan_t *plan, const variation_t *v,
				 uint64_t runs, litmus_result_t *result)
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

static uint64_t next_random(rank_t *r)
{
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return r->random >> 33;
}

static tsr_status_t launch(rank_t *r, const litmus_plan_t *plan, const variation_t *v,
			   uint64_t runs, litmus_result_t *result)
{
	style_t style;

	/* the same on every rank: all began with one seed */
	for (int x = 0; x < LITMUS_RUN_LOCATIONS; x++)
		style.multipliers[x] = (uint32_t)next_random(r) | 1;
	style.chance = next_random(r);
	LITMUS_TRY(clear(r, plan->test));
	LITMUS_TRY(tsr_barrier(r->world));
	LITMUS_TRY(r->lanes ? play_by_lanes(r, plan, v, &style)
			    : play_by_api(r, plan, v, style.multipliers));
	LITMUS_TRY(tsr_barrier(r->world));
	LITMUS_TRY(tell(r, plan, v, style.multipliers));
	LITMUS_TRY(tsr_barrier(r->world));
	if (r->me == 0)
		LITMUS_TRY(count_states(r, plan, v, runs, result));
	return tsr_barrier(r->world);
}

static tsr_status_t run_test(rank_t *r, const litmus_plan_t *plan, int64_t runs,
			     board_test_t *board)
{
	const uint64_t most = r->emulated ? INSTANCES_CPU : INSTANCES_GPU;
	const int variations = count_variations(r, plan);
	litmus_result_t result = {.count = 0};
	tsr_status_t status = TSR_OK;

	if (r->lanes)
		LITMUS_TRY(litmus_lanes_load(r->lanes, plan, (uint64_t)(uintptr_t)r->meetings));
	for (r->instances = 64; r->instances < most && (int64_t)r->instances * variations < runs;)
		r->instances *= 2;
	for (int n = 0; status == TSR_OK && runs > 0; n++) {
		const variation_t v = vary(r, plan, n % variations, variations);
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

static tsr_status_t allocate(rank_t *r)
{
	const size_t word = sizeof(uint64_t);
	tsr_device_props_t props = {.size = sizeof props};
	TSR_HEAP void *memory, *results, *scratch, *meetings;

	LITMUS_TRY(tsr_world_device(r->world, &props));
	const uint64_t instances = r->emulated ? INSTANCES_CPU : INSTANCES_GPU;
	const int blocks = props.resident_blocks < MOST_TEAMS ? props.resident_blocks : MOST_TEAMS;
	r->teams = r->emulated ? 1 : blocks; /* more of them would take the cores from each other */
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
static tsr_status_t find_shared(rank_t *r)
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

static tsr_status_t run_all(rank_t *r, const job_t *job)
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

static int rank_main(tsr_world_t *world, int argc, char **argv)
{
	const job_t *job = litmus_job;
	rank_t r = {
		.world = world,
		.board = &job->board,
		.emulated = strcmp(tsr_world_backend(world), "cpuemu") == 0,
		.me = tsr_world_rank(world),
		.size = tsr_world_size(world),
		.random = job->seed,
	};

	(void)argc, (void)argv;
	tsr_status_t status = run_all(&r, job);
	litmus_lanes_close(r.lanes);
	(void)tsr_stream_destroy(r.stream);
	free(r.host);
	return status == TSR_OK ? 0 : tsr_fail(world);
}

/* ------------------------------------------------------------------ the world */

static tsr_status_t make_board(board_t *board, int tests)
{
	const size_t columns = (size_t)LITMUS_MAX_OBSERVED * INSTANCES_GPU * sizeof(int64_t);

	board->bytes = columns + (size_t)tests * sizeof(board_test_t);
	void *memory = mmap(NULL, board->bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for what the ranks find; free some");
	board->columns = memory;
	board->tests = (board_test_t *)((char *)memory + columns);
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

static tsr_status_t run_world(const char *backend, job_t *job, int ranks)
{
	tsr_launcher_t launcher = {
		.size = sizeof launcher,
		.ranks = ranks,
		.backend = backend,
		.placement = strcmp(backend, "cpuemu") == 0 ? TSR_PLACE_THREAD : TSR_PLACE_PROCESS,
	};
	char name[] = "litmus";
	char *argv[] = {name, NULL};

	litmus_job = job;
	if (tsr_launch_world(&launcher, 1, argv, rank_main) != 0)
		return tsr_error(TSR_ERR_KERNEL, "the ranks of %s failed, and have said why above",
				 backend);
	return TSR_OK;
}

static bool plans_for(const job_t *job, int devices)
{
	for (int i = 0; i < job->count; i++)
		if (job->plans[i].devices == devices)
			return true;
	return false;
}

static tsr_status_t collect(const job_t *job, litmus_result_t *results)
{
	for (int i = 0; i < job->count; i++)
		for (int s = 0; s < job->board.tests[i].count; s++) {
			const litmus_state_t *state = &job->board.tests[i].states[s];
			LITMUS_TRY(litmus_result_add(job->plans[i].test, &results[i], state->values,
						     state->count));
		}
	for (int i = 0; i < job->count; i++) {
		const board_test_t *board = &job->board.tests[i];
		if (job->plans[i].devices < 2)
			continue;
		results[i].shared = board->shared;
		memcpy(results[i].positive, board->positive, sizeof board->positive);
		memcpy(results[i].sightings, board->sightings, sizeof board->sightings);
	}
	return TSR_OK;
}

tsr_status_t litmus_run_on(const char *backend, const litmus_test_t *const *tests, int count,
			   const litmus_options_t *options, litmus_result_t *results,
			   tsr_status_t *statuses)
{
	litmus_plan_t *plans = calloc((size_t)count, sizeof *plans);
	job_t job = {
		.plans = plans,
		.count = count,
		.runs = options->runs,
		.seed = options->seed,
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
	tsr_status_t own = TSR_OK, status = litmus_run_on(backend, &test, 1, options, result, &own);
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
	return litmus_run_on("cpuemu", tests, count, options, results, statuses);
}

static tsr_status_t run_all_cuda(const litmus_test_t *const *tests, int count,
				 const litmus_options_t *options, litmus_result_t *results,
				 tsr_status_t *statuses)
{
	return litmus_run_on("cuda", tests, count, options, results, statuses);
}

static tsr_status_t run_all_hip(const litmus_test_t *const *tests, int count,
				const litmus_options_t *options, litmus_result_t *results,
				tsr_status_t *statuses)
{
	return litmus_run_on("hip", tests, count, options, results, statuses);
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

/*
 * A litmus test as a program that is explored. Nothing is added to what its
 * threads do: they neither meet before nor store their registers in the heap
 * after, and the hosts look at the locations when all kernels have ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/tessera.h"
#include "tools/litmus/explore.h"

enum { STRIDE = 8 }; /* words from one location to the next: a cache line */

/** What the ranks share, as they are fibres of one process. Each schedule has a copy of its own. */
typedef struct play {
	const litmus_plan_t *plan;
	int report_fd;
	int64_t registers[LITMUS_RUN_THREADS * LITMUS_RUN_REGISTERS];
	int64_t finals[LITMUS_RUN_LOCATIONS];
} play_t;

/* An entry gets no pointer of its own. */
static play_t *litmus_play;

static int home_of(const litmus_plan_t *plan, int location)
{
	return location % plan->devices;
}

static tsr_status_t allocate(tsr_world_t *world, const litmus_plan_t *plan, litmus_run_args_t *args)
{
	const litmus_test_t *test = plan->test;
	const size_t word = sizeof(uint64_t);
	TSR_HEAP void *memory, *scratch;

	LITMUS_TRY(tsr_heap_alloc(world, LITMUS_RUN_LOCATIONS * STRIDE * word, 0, "locations",
				  &memory));
	LITMUS_TRY(tsr_heap_alloc(world, LITMUS_RUN_THREADS * LITMUS_RUN_WORKERS * 2 * word, 0,
				  "scratch", &scratch));
	args->memory = memory;
	args->scratch = scratch;
	for (int x = 0; x < test->locations; x++) {
		const uint64_t initial = (uint64_t)test->initial[x];
		LITMUS_TRY(tsr_memcpy_to_heap(world, args->memory + (size_t)x * STRIDE, &initial,
					      sizeof initial));
	}
	return TSR_OK;
}

static tsr_status_t launch(tsr_world_t *world, const play_t *play, litmus_run_args_t *args)
{
	const litmus_plan_t *plan = play->plan;
	tsr_stream_t *stream;

	args->instances = 1;
	args->stride = STRIDE;
	args->teams = 1;
	args->patience = 0;
	args->aside = (int64_t *)play->registers;
	for (int x = 0; x < plan->test->locations; x++) {
		args->home[x] = home_of(plan, x);
		args->multiplier[x] = 1;
	}
	LITMUS_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	LITMUS_TRY(tsr_barrier(world)); /* before it all locations have their first values */
	LITMUS_TRY(tsr_launch(stream, plan->split ? &litmus_run_workers : &litmus_run_blocks,
			      args->classes, args));
	tsr_status_t status = tsr_stream_sync(stream);
	(void)tsr_stream_destroy(stream);
	return status;
}

static tsr_status_t say_state(const play_t *play)
{
	const litmus_test_t *test = play->plan->test;
	char line[LITMUS_MAX_OBSERVED * 24 + 64];
	int used = snprintf(line, sizeof line, "{\"type\":\"state\",\"values\":[");

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		const int64_t value =
			what->thread >= 0
				? play->registers[what->thread * LITMUS_RUN_REGISTERS + what->index]
				: play->finals[what->index];
		used += snprintf(line + used, sizeof line - (size_t)used, "%s%lld", i ? "," : "",
				 (long long)value);
	}
	used += snprintf(line + used, sizeof line - (size_t)used, "]}\n");
	if (write(play->report_fd, line, (size_t)used) != used)
		return tsr_error(TSR_ERR_SYSTEM, "cannot say what %s has shown", test->name);
	return TSR_OK;
}

static tsr_status_t run_rank(tsr_world_t *world, play_t *play)
{
	const litmus_plan_t *plan = play->plan;
	const int me = tsr_world_rank(world);
	litmus_run_args_t args = plan->args[me];

	LITMUS_TRY(allocate(world, plan, &args));
	LITMUS_TRY(launch(world, play, &args));
	LITMUS_TRY(tsr_barrier(world));
	for (int x = 0; x < plan->test->locations; x++)
		if (home_of(plan, x) == me)
			LITMUS_TRY(tsr_memcpy_from_heap(world, &play->finals[x],
							args.memory + (size_t)x * STRIDE,
							sizeof play->finals[x]));
	LITMUS_TRY(tsr_barrier(world));
	return me == 0 ? say_state(play) : TSR_OK;
}

static int rank_main(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return run_rank(world, litmus_play) == TSR_OK ? 0 : tsr_fail(world);
}

int litmus_explore_play(const litmus_plan_t *plan, const tsr_check_options_t *options)
{
	const tsr_launcher_t launcher = {.size = sizeof launcher,
					 .ranks = plan->devices,
					 .backend = "cpuemu",
					 .placement = TSR_PLACE_THREAD};
	char name[] = "litmus", text[512];
	char *argv[] = {name, NULL};
	play_t play = {.plan = plan, .report_fd = options->report_fd};

	litmus_play = &play;
	tsr_check_options_write(options, text, sizeof text);
	setenv(TSR_CHECK_VARIABLE, text, 1);
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "4", 1); /* the blocks of all threads of a test */
	setenv("TESSERA_HEAP_SIZE", "64K", 1);
	return tsr_launch_world(&launcher, 1, argv, rank_main);
}

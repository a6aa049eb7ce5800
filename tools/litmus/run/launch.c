/*
 * One launch of a litmus test: many instances of it at a time, by the device
 * API or, on NVIDIA's GPUs, in PTX.
 */
#include <unistd.h>

#include "tools/litmus/run/rank.h"

enum {
	MOST_VARIATIONS = 8, /* of homes, and of who plays on which rank */
	STRESS_BLOCKS = 64
};

int litmus_launch_rank(const litmus_rank_t *r, const litmus_variation_t *v, int device)
{
	return (device + v->rotation) % r->size;
}

litmus_variation_t litmus_launch_vary(const litmus_rank_t *r, const litmus_plan_t *plan, int n,
				      int count)
{
	litmus_variation_t v = {.rotation = n % r->size};
	int ways = 1;

	for (int x = 0; x < plan->test->locations; x++)
		ways *= plan->devices;
	int way = (int)((int64_t)n * ways / count);
	for (int x = 0; x < plan->test->locations; x++, way /= plan->devices)
		v.home[x] = litmus_launch_rank(r, &v, way % plan->devices);
	return v;
}

int litmus_launch_variations(const litmus_rank_t *r, const litmus_plan_t *plan)
{
	int ways = r->lanes ? MOST_VARIATIONS : 1;

	for (int x = 0; x < plan->test->locations && ways < MOST_VARIATIONS; x++)
		ways *= plan->devices;
	if (ways < r->size)
		ways = r->size;
	return ways < MOST_VARIATIONS ? ways : MOST_VARIATIONS;
}

/** Which device of the test this rank plays, or -1. */
static int my_device(const litmus_rank_t *r, const litmus_plan_t *plan, const litmus_variation_t *v)
{
	for (int d = 0; d < plan->devices; d++)
		if (litmus_launch_rank(r, v, d) == r->me)
			return d;
	return -1;
}

tsr_status_t litmus_launch_clear(litmus_rank_t *r, const litmus_test_t *test)
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

/* ------------------------------------------------------------------ by the device API */

static tsr_status_t play_by_api(litmus_rank_t *r, const litmus_plan_t *plan,
				const litmus_variation_t *v, const uint32_t *multipliers)
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
	/* Between nodes players meet as a launch begins, and not again: to look at the word is a
	 * message there, and what is weak shows more often without (SB.rlx.diffGPU-ss: in 12 % of
	 * runs, not in 0.2 %). */
	args.once = r->far;
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

/* ------------------------------------------------------------------ an instance a GPU thread */

_Static_assert(STRIDE * sizeof(uint64_t) == LITMUS_PTX_STRIDE, "one memory for both ways");
_Static_assert(LITMUS_PTX_PACE_OFFSET + LITMUS_LANES_TEAMS * (LITMUS_PTX_THREADS / 32) *
						LITMUS_PTX_PACE_STRIDE <=
		       INSTANCES_GPU * sizeof(uint64_t),
	       "each warp's meeting has its word");

/** Where a rank's copy of my memory is, as the GPU sees it. */
static tsr_status_t address_at(const litmus_rank_t *r, const TSR_HEAP void *mine, int rank,
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
static void vary_launch(const litmus_rank_t *r, const litmus_style_t *style,
			litmus_ptx_args_t *args)
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

static tsr_status_t play_by_lanes(litmus_rank_t *r, const litmus_plan_t *plan,
				  const litmus_variation_t *v, const litmus_style_t *style)
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

tsr_status_t litmus_launch_play(litmus_rank_t *r, const litmus_plan_t *plan,
				const litmus_variation_t *v, const litmus_style_t *style)
{
	return r->lanes ? play_by_lanes(r, plan, v, style)
			: play_by_api(r, plan, v, style->multipliers);
}

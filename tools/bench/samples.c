/* Samples: taken on all ranks together, each as long as its slowest rank's. */
#include <stdlib.h>
#include <time.h>

#include "tools/bench/bench.h"

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

tsr_status_t bench_slowest(tsr_world_t *world, uint64_t *ns)
{
	uint64_t all[TSR_MAX_RANKS];
	tsr_status_t status = tsr_team_gather_all(tsr_world_team(world), ns, all, sizeof *ns);
	for (int r = 0; status == TSR_OK && r < tsr_world_size(world); r++)
		if (all[r] > *ns)
			*ns = all[r];
	return status;
}

/**
 * Between samples, so that no row of a table finds devices hotter than another:
 * a GPU at its power limit slows down within some ten milliseconds, by a tenth
 * and more.
 */
static void rest(uint64_t worked_ns)
{
	enum { TIMES = 8 };
	const uint64_t most_ns = 100000000;
	const uint64_t ns = worked_ns < most_ns / TIMES ? worked_ns * TIMES : most_ns;
	const struct timespec time = {.tv_nsec = (long)ns};
	(void)nanosleep(&time, NULL);
}

/**
 * Twice as slow as what would do: a candidate of which one run is enough.
 * `fastest`: UINT64_MAX where none was made.
 */
static bool is_hopeless(const bench_sampling_t *sampling, uint64_t fastest)
{
	return sampling->limit_ns && fastest != UINT64_MAX && fastest / 2 > sampling->limit_ns;
}

/**
 * Runs that are not counted, unless the first shows that there is no hope: then
 * it is all there is.
 */
static tsr_status_t warm_up(tsr_world_t *world, const bench_sampling_t *sampling,
			    bench_sample_fn sample, void *ctx, bench_times_t *times)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < sampling->warmup; i++) {
		uint64_t ns = 0;
		status = sample(ctx, &ns);
		if (status == TSR_OK && i == 0 && sampling->limit_ns)
			status = bench_slowest(world, &ns);
		if (status == TSR_OK && i == 0 && is_hopeless(sampling, ns)) {
			times->ns[times->count++] = ns;
			return TSR_OK;
		}
	}
	return status;
}

tsr_status_t bench_sample(tsr_world_t *world, const bench_sampling_t *sampling,
			  bench_sample_fn sample, void *ctx, bench_times_t *times_out)
{
	enum { FAIR_CHANCE = 3 };
	uint64_t ns = 0, fastest = UINT64_MAX;
	bench_times_t times = {.ns = calloc((size_t)sampling->iterations, sizeof *times.ns)};
	if (!times.ns)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for %d times; free some",
				 sampling->iterations);
	tsr_status_t status = warm_up(world, sampling, sample, ctx, &times);
	if (times.count > 0)
		fastest = times.ns[0];
	while (status == TSR_OK && times.count < sampling->iterations &&
	       !is_hopeless(sampling, fastest)) {
		status = sample(ctx, &ns);
		if (status == TSR_OK)
			status = bench_slowest(world, &ns);
		if (status != TSR_OK)
			break;
		times.ns[times.count++] = ns;
		fastest = ns < fastest ? ns : fastest;
		/* The times are the same on every rank, and so is what is decided by them. */
		if (sampling->limit_ns && times.count >= FAIR_CHANCE &&
		    fastest > sampling->limit_ns)
			break;
		if (times.count < sampling->iterations)
			rest(ns);
	}
	if (status != TSR_OK) {
		free(times.ns);
		return status;
	}
	qsort(times.ns, (size_t)times.count, sizeof *times.ns, compare_ns);
	*times_out = times;
	return TSR_OK;
}

uint64_t bench_median_ns(const bench_times_t *times)
{
	int middle = times->count / 2;
	if (times->count == 0)
		return 0;
	return times->count % 2 ? times->ns[middle]
				: (times->ns[middle - 1] + times->ns[middle]) / 2;
}

void bench_times_free(bench_times_t *times)
{
	free(times->ns);
	*times = (bench_times_t){.count = 0};
}

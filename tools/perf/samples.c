/* Samples: how they are taken, and what they come to. */
#include <stdlib.h>
#include <time.h>

#include "tools/perf/perf.h"

uint64_t perf_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void perf_samples_add(perf_samples_t *samples, double ns)
{
	if (samples->count < PERF_MAX_SAMPLES)
		samples->ns[samples->count++] = ns;
}

double perf_samples_median(perf_samples_t *samples)
{
	int middle = samples->count / 2;

	if (samples->count == 0)
		return 0;
	qsort(samples->ns, (size_t)samples->count, sizeof(double), compare);
	return samples->count % 2 ? samples->ns[middle]
				  : (samples->ns[middle - 1] + samples->ns[middle]) / 2;
}

double perf_samples_spread(perf_samples_t *samples)
{
	double median = perf_samples_median(samples);

	if (median <= 0)
		return 0;
	return (samples->ns[samples->count - 1 - samples->count / 4] -
		samples->ns[samples->count / 4]) /
	       median;
}

bool perf_samples_disturbed(perf_samples_t *samples)
{
	return perf_samples_spread(samples) > 0.1;
}

double perf_pair_spread(perf_pair_t *pair)
{
	double kernel = perf_samples_spread(&pair->kernel), host = perf_samples_spread(&pair->host);

	return kernel > host ? kernel : host;
}

bool perf_pair_disturbed(perf_pair_t *pair)
{
	return perf_samples_disturbed(&pair->kernel) || perf_samples_disturbed(&pair->host);
}

tsr_status_t perf_sample(perf_run_t *run, bool collective, perf_sample_fn sample, void *ctx,
			 perf_pair_t *pair_out)
{
	enum { ROUNDS = 5 };
	/* The ranks that take no part wait meanwhile, and not for ever. */
	uint64_t stop_ns = perf_now_ns() + tsr_world_deadline_ns(run->world) / 4;
	double least = -1;

	for (int round = 0, again = 1; round < ROUNDS && again; round++) {
		perf_pair_t pair = {.kernel = {.count = 0}, .host = {.count = 0}};
		for (long i = 0;
		     i < run->options->samples && (collective || i < 3 || perf_now_ns() < stop_ns);
		     i++)
			PERF_TRY(sample(ctx, &pair));
		double spread = perf_pair_spread(&pair);
		if (least < 0 || spread < least) {
			least = spread;
			*pair_out = pair;
		}
		again = perf_pair_disturbed(pair_out) && perf_now_ns() < stop_ns;
		if (collective)
			PERF_TRY(tsr_team_broadcast(tsr_world_team(run->world), &again,
						    sizeof again, 0));
	}
	return TSR_OK;
}

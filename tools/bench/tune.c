/*
 * --tune: which parameters are fastest. First all candidates of the parameters
 * that are searched first, the others as the workload chooses them; then, for
 * the two best, those of the parameters that are searched next. What is slower
 * than the best is given up after three samples, what is twice as slow after
 * one.
 */
#include <string.h>

#include "kernels/choices/machine.h"
#include "tools/bench/bench.h"

/** A candidate stays while its fastest sample is within this of the best median. */
#define STILL_IN_RANGE 1.02

/** A search: `given` is what the user has fixed. */
typedef struct search {
	bench_session_t *session;
	const workload_config_t *given;
	bench_trials_t *trials;
	workload_place_t place;
	int stage;
} search_t;

static bool tried(const bench_trials_t *trials, const workload_config_t *config)
{
	for (int i = 0; i < trials->count; i++)
		if (memcmp(&trials->trial[i].config, config, sizeof *config) == 0)
			return true;
	return false;
}

/** The best of all; null where none was tried to its end. */
static bench_trial_t *best_of(bench_trials_t *trials)
{
	bench_trial_t *best = NULL;
	for (int i = 0; i < trials->count; i++) {
		bench_trial_t *t = &trials->trial[i];
		if (!t->abandoned && (!best || t->median_ns < best->median_ns))
			best = t;
	}
	return best;
}

/** Whether the device or the heap cannot hold a candidate. */
static bool does_not_fit(tsr_status_t status)
{
	return status == TSR_ERR_UNSUPPORTED || status == TSR_ERR_RESIDENCY ||
	       status == TSR_ERR_NO_MEMORY;
}

/**
 * Times one candidate. One that does not fit is none, and one that was tried
 * before is not tried again.
 */
static tsr_status_t try_config(search_t *search, const workload_config_t *config)
{
	bench_session_t *session = search->session;
	const bench_options_t *options = session->options;
	bench_trials_t *trials = search->trials;
	if (trials->count == BENCH_MOST_TRIALS)
		return TSR_OK;
	tsr_status_t status = session->workload->reconfigure(session->run, config);
	if (does_not_fit(status))
		return TSR_OK;
	const workload_config_t chosen = bench_chosen(session);
	if (status != TSR_OK || tried(trials, &chosen))
		return status;
	const bench_trial_t *best = best_of(trials);
	bench_sampling_t sampling = {options->iterations, options->warmup, 0};
	bench_times_t times;
	if (best)
		sampling.limit_ns = (uint64_t)((double)best->median_ns * STILL_IN_RANGE);
	status = bench_time(session, session->workload->start, &sampling, &times);
	if (status != TSR_OK)
		return status;
	trials->trial[trials->count++] =
		(bench_trial_t){.config = chosen,
				.median_ns = bench_median_ns(&times),
				.samples = times.count,
				.abandoned = times.count < options->iterations};
	bench_times_free(&times);
	return TSR_OK;
}

/**
 * Candidates of the stage's parameters from the `index`-th on, each with all of
 * the next; what the user has fixed stays.
 */
static tsr_status_t try_from(search_t *search, int index, workload_config_t candidate)
{
	const workload_t *workload = search->session->workload;
	const workload_param_t *param = &workload->params[index];
	tsr_status_t status = TSR_OK;
	if (!param->name) {
		if (search->stage > 1 && workload->is_idle &&
		    workload->is_idle(&candidate, search->place.ranks))
			return TSR_OK;
		return try_config(search, &candidate);
	}
	if (param->stage != search->stage ||
	    !bench_value_is_automatic(&search->given->value[index]))
		return try_from(search, index + 1, candidate);
	/* Candidates are given what stands there now. */
	const workload_config_t before = candidate;
	for (int i = 0; status == TSR_OK; i++) {
		workload_value_t value;
		if (!param->candidate(&before, &search->place, i, &value))
			break;
		candidate.value[index] = value;
		status = try_from(search, index + 1, candidate);
	}
	return status;
}

/** The two that were fastest in the first stage. An abandoned one counts by its median too. */
static int best_two(const bench_trials_t *trials, workload_config_t best_out[2])
{
	uint64_t median[2] = {UINT64_MAX, UINT64_MAX};
	for (int i = 0; i < trials->count; i++) {
		const bench_trial_t *t = &trials->trial[i];
		int place = t->median_ns < median[0] ? 0 : t->median_ns < median[1] ? 1 : 2;
		if (place == 0) {
			median[1] = median[0];
			best_out[1] = best_out[0];
		}
		if (place < 2) {
			median[place] = t->median_ns;
			best_out[place] = t->config;
		}
	}
	return trials->count < 2 ? trials->count : 2;
}

tsr_status_t bench_tune(bench_session_t *session, workload_config_t *config, bench_trials_t *trials)
{
	tsr_device_props_t device;
	workload_config_t first[2];
	search_t search = {.session = session, .given = config, .trials = trials, .stage = 1};
	tsr_status_t status = machine_place(session->world, &device, &search.place);
	if (status == TSR_OK)
		status = try_from(&search, 0, *config);
	const int count = status == TSR_OK ? best_two(trials, first) : 0;
	search.stage = 2;
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = try_from(&search, 0, first[i]);
	if (status != TSR_OK)
		return status;
	bench_trial_t *best = best_of(trials);
	if (!best)
		/* nothing fits: that says why */
		return session->workload->reconfigure(session->run, config);
	best->best = true;
	*config = best->config;
	return TSR_OK;
}

/*
 * --tune: which tile and split are fastest. First every tile that is built, the last ones whole and in halves, with the split that
 * the plan chooses; then, for the two best, other numbers of blocks, and of blocks that send. What is slower than the best is given
 * up after three samples, what is twice as slow after one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/gemm_all_scatter/config.h"
#include "tools/bench.h"

/** A candidate stays while its fastest sample is within this of the best median. */
#define STILL_IN_RANGE 1.02

static bool same_choice(const gas_config_t *a, const gas_config_t *b)
{
	return a->tile.m == b->tile.m && a->tile.n == b->tile.n && a->tile.k == b->tile.k && a->blocks == b->blocks &&
	       a->comm_blocks == b->comm_blocks && a->parts == b->parts;
}

static bool tried(const bench_trials_t *trials, const gas_config_t *config)
{
	for (int i = 0; i < trials->count; i++)
		if (same_choice(&trials->trial[i].config, config))
			return true;
	return false;
}

/** The best with a tile, or of all where `tile` is null; null where none was tried to its end. */
static bench_trial_t *best_of(bench_trials_t *trials, const gas_tile_size_t *tile)
{
	bench_trial_t *best = NULL;
	for (int i = 0; i < trials->count; i++) {
		bench_trial_t *t = &trials->trial[i];
		bool is_one = !tile || (t->config.tile.m == tile->m && t->config.tile.n == tile->n && t->config.tile.k == tile->k);
		if (is_one && !t->abandoned && (!best || t->median_ns < best->median_ns))
			best = t;
	}
	return best;
}

/** Whether the device or the heap cannot hold a candidate. */
static bool does_not_fit(tsr_status_t status)
{
	return status == TSR_ERR_UNSUPPORTED || status == TSR_ERR_RESIDENCY || status == TSR_ERR_NO_MEMORY;
}

/** Times one candidate. One that does not fit is none, and one that was tried before is not tried again. */
static tsr_status_t try_config(bench_gas_session_t *session, const gas_config_t *config, bench_trials_t *trials)
{
	const bench_gas_options_t *options = session->options;
	if (trials->count == BENCH_MOST_TRIALS)
		return TSR_OK;
	tsr_status_t status = gas_plan_adapt(session->plan, config);
	if (does_not_fit(status))
		return TSR_OK;
	if (status != TSR_OK || tried(trials, gas_plan_config(session->plan)))
		return status;
	const bench_trial_t *best = best_of(trials, NULL);
	bench_sampling_t sampling = {options->iterations, options->warmup, 0};
	bench_times_t times;
	if (best)
		sampling.limit_ns = (uint64_t)((double)best->median_ns * STILL_IN_RANGE);
	status = bench_gas_time(session, gas_plan_run, &sampling, &times);
	if (status != TSR_OK)
		return status;
	trials->trial[trials->count++] = (bench_trial_t){.config = *gas_plan_config(session->plan),
							 .median_ns = bench_median_ns(&times),
							 .samples = times.count,
							 .abandoned = times.count < options->iterations};
	bench_times_free(&times);
	return TSR_OK;
}

/** Its tile whole and in halves, and in more parts where the plan chooses so, unless the user has fixed that; where it cannot be
 * divided all are the same. */
static tsr_status_t try_parts(bench_gas_session_t *session, gas_config_t candidate, bench_trials_t *trials)
{
	if (candidate.parts)
		return try_config(session, &candidate, trials);
	tsr_status_t status = gas_plan_adapt(session->plan, &candidate);
	if (does_not_fit(status))
		return TSR_OK;
	const int chosen = status == TSR_OK ? gas_plan_config(session->plan)->parts : 1;
	for (candidate.parts = 1; status == TSR_OK && candidate.parts <= 2; candidate.parts++)
		status = try_config(session, &candidate, trials);
	candidate.parts = chosen;
	return status == TSR_OK && chosen > 2 ? try_config(session, &candidate, trials) : status;
}

static tsr_status_t try_tiles(bench_gas_session_t *session, const gas_config_t *config, bench_trials_t *trials)
{
	gas_config_t candidate = *config;
	tsr_status_t status = TSR_OK;
	if (!gas_tile_is_automatic(config->tile))
		return try_parts(session, candidate, trials);
	for (int index = 0; status == TSR_OK && gas_tile_at(&index, config->dtype, config->pattern, &candidate.tile);)
		status = try_parts(session, candidate, trials);
	return status;
}

/** More blocks that compute than there are tasks are no candidate: some would do nothing. */
static bool has_work(const bench_gas_session_t *session, const gas_config_t *c)
{
	const int64_t tiles = gas_most_tiles(c, c->tile, tsr_world_size(session->world));
	return c->blocks - c->comm_blocks <= tiles * (c->parts > 1 ? c->parts : 1);
}

/** Parts of `blocks` that send; what the user has fixed stays. */
static tsr_status_t try_senders(bench_gas_session_t *session, const gas_config_t *config, gas_config_t candidate,
				bench_trials_t *trials)
{
	static const int divisors[] = {32, 24, 16, 12, 8, 6, 5, 4, 3, 2};
	tsr_status_t status = TSR_OK;
	if (config->comm_blocks || !gas_pattern_kernels(config->pattern)->sends_apart)
		return has_work(session, &candidate) ? try_config(session, &candidate, trials) : TSR_OK;
	for (size_t i = 0; status == TSR_OK && i < sizeof divisors / sizeof *divisors; i++) {
		candidate.comm_blocks = candidate.blocks / divisors[i];
		if (candidate.comm_blocks > 0 && has_work(session, &candidate))
			status = try_config(session, &candidate, trials);
	}
	return status;
}

/** Other splits with a tile: all blocks that the device holds, three quarters and half of them, and what the plan had chosen. */
static tsr_status_t try_splits(bench_gas_session_t *session, const gas_config_t *config, const gas_config_t *chosen,
			       bench_trials_t *trials)
{
	tsr_device_props_t device = {.size = sizeof device};
	gas_config_t candidate = *chosen;
	tsr_status_t status = tsr_world_device(session->world, &device);
	if (status != TSR_OK)
		return status;
	const int blocks[] = {device.resident_blocks, device.resident_blocks * 3 / 4, device.resident_blocks / 2, chosen->blocks};
	int least = gas_pattern_kernels(config->pattern)->sends_apart ? 2 : 1;
	for (size_t i = 0; status == TSR_OK && i < sizeof blocks / sizeof *blocks; i++) {
		candidate.blocks = config->blocks ? config->blocks : blocks[i];
		candidate.comm_blocks = config->comm_blocks;
		if (candidate.blocks >= least && candidate.blocks > candidate.comm_blocks)
			status = try_senders(session, config, candidate, trials);
	}
	return status;
}

/** The two that were fastest with the plan's own split: two tiles, or one, whole and in halves. An abandoned one counts by its
 * median too. */
static int best_tiles(const bench_trials_t *trials, gas_config_t best_out[2])
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

tsr_status_t bench_gas_tune(bench_gas_session_t *session, gas_config_t *config, bench_trials_t *trials)
{
	gas_config_t tiles[2];
	tsr_status_t status = try_tiles(session, config, trials);
	int count = status == TSR_OK ? best_tiles(trials, tiles) : 0;
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = try_splits(session, config, &tiles[i], trials);
	if (status != TSR_OK)
		return status;
	bench_trial_t *best = best_of(trials, NULL);
	if (!best)
		return gas_plan_adapt(session->plan, config); /* nothing fits: that says why */
	best->best = true;
	*config = best->config;
	return TSR_OK;
}

/* ---------------------------------------------------------------- the file */

/** `device` must live as long as the key. */
static tune_key_t key_of(const bench_gas_session_t *session, const gas_config_t *config, const tsr_device_props_t *device)
{
	return (tune_key_t){.backend = tsr_world_backend(session->world),
			    .device = device->name,
			    .workload = "gemm-all-scatter",
			    .pattern = gas_pattern_name(config->pattern),
			    .dtype = tsr_dtype_name(config->dtype),
			    .ranks = tsr_world_size(session->world),
			    .m = config->m,
			    .n = config->n,
			    .k = config->k};
}

/** What rank 0 has found in the file. A file that cannot be read is told once, where the session begins to look. */
static bool look_up(const bench_gas_session_t *session, const gas_config_t *config, tune_choice_t *choice_out)
{
	char path[PATH_MAX];
	tsr_device_props_t device = {.size = sizeof device};
	bool found = false;
	if (tune_file_path(path) != TSR_OK || tsr_world_device(session->world, &device) != TSR_OK)
		return false;
	tune_key_t key = key_of(session, config, &device);
	return tune_file_find(path, &key, choice_out, &found) == TSR_OK && found;
}

/** Whether this build and device can run it: the file may be of another build. */
static bool is_possible(const bench_gas_session_t *session, const gas_config_t *config)
{
	tsr_device_props_t device = {.size = sizeof device};
	return gas_config_check(config, tsr_world_size(session->world)) == TSR_OK && config->blocks > 0 &&
	       tsr_world_device(session->world, &device) == TSR_OK && config->blocks <= device.resident_blocks;
}

tsr_status_t bench_gas_recall(bench_gas_session_t *session, gas_config_t *config, bench_gas_result_t *result)
{
	struct {
		bool found;
		tune_choice_t choice;
	} told;
	memset(&told, 0, sizeof told); /* padding travels too */
	if (!bench_gas_is_automatic(session->options))
		return TSR_OK;
	if (tsr_world_rank(session->world) == 0)
		told.found = look_up(session, config, &told.choice);
	tsr_status_t status = tsr_team_broadcast(tsr_world_team(session->world), &told, sizeof told, 0);
	if (status != TSR_OK || !told.found)
		return status;
	gas_config_t tuned = *config;
	tuned.tile = (gas_tile_size_t){told.choice.tile[0], told.choice.tile[1], told.choice.tile[2]};
	tuned.blocks = told.choice.blocks;
	tuned.comm_blocks = told.choice.comm_blocks;
	tuned.parts = told.choice.parts;
	if (!is_possible(session, &tuned))
		return TSR_OK;
	*config = tuned;
	result->remembered = true;
	memcpy(result->tuned_on, told.choice.date, sizeof result->tuned_on);
	return TSR_OK;
}

static tsr_status_t write_choice(const bench_gas_session_t *session, const bench_gas_result_t *result)
{
	const gas_config_t *c = &result->config;
	tune_choice_t choice = {.tile = {c->tile.m, c->tile.n, c->tile.k},
				.blocks = c->blocks,
				.comm_blocks = c->comm_blocks,
				.parts = c->parts,
				.median_ns = (int64_t)bench_median_ns(&result->times)};
	char path[PATH_MAX];
	tsr_device_props_t device = {.size = sizeof device};
	time_t now = time(NULL);
	struct tm utc;
	(void)gmtime_r(&now, &utc);
	(void)strftime(choice.date, sizeof choice.date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	tsr_status_t status = tune_file_path(path);
	if (status == TSR_OK)
		status = tsr_world_device(session->world, &device);
	if (status != TSR_OK)
		return status;
	tune_key_t key = key_of(session, c, &device);
	return tune_file_remember(path, &key, &choice);
}

tsr_status_t bench_gas_remember(bench_gas_session_t *session, const bench_gas_result_t *result)
{
	if (tsr_world_rank(session->world) != 0)
		return TSR_OK;
	return bench_rank_0_only(session->world, write_choice(session, result));
}

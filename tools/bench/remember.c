/* What a search has found, kept in a file and recalled from it. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/bench/bench.h"
#include "tools/bench/tune_file.h"

/**
 * What an entry is for: machine, workload, pattern, world, and what is
 * computed. Null where there is no memory.
 */
static json_t *key_of(const bench_session_t *session, const workload_config_t *config)
{
	const workload_t *workload = session->workload;
	tsr_device_props_t device = {.size = sizeof device, .name = "?"};
	(void)tsr_world_device(session->world, &device);
	json_t *key = json_pack("{s:s, s:s, s:i, s:s, s:s}", "backend",
				tsr_world_backend(session->world), "device", device.name, "ranks",
				tsr_world_size(session->world), "workload", workload->name,
				"pattern", workload->pattern(config->pattern));
	for (int i = 0; workload->params[i].name; i++) {
		char name[BENCH_KEY_TEXT];
		if (workload->params[i].problem)
			(void)json_object_set_new(key, bench_key(workload->params[i].name, name),
						  bench_value_json(&workload->params[i],
								   &config->value[i], false));
	}
	return key;
}

/**
 * What is searched, from an entry: a parameter that it does not know is for the
 * workload to choose. False: it is no such entry.
 */
static bool read_choice(const workload_t *workload, const json_t *entry, workload_config_t *config)
{
	bool any = false;
	for (int i = 0; workload->params[i].name; i++) {
		const workload_param_t *param = &workload->params[i];
		char name[BENCH_KEY_TEXT];
		const json_t *value = json_object_get(entry, bench_key(param->name, name));
		workload_value_t found;
		if (param->stage == 0 || !value)
			continue;
		if (!bench_value_from_json(param, value, &found))
			return false;
		config->value[i] = found;
		any = true;
	}
	return any;
}

/** What rank 0 has found in the file. One that cannot be read was told before the ranks started. */
static bool look_up(const bench_session_t *session, workload_config_t *config, char date_out[24])
{
	char path[PATH_MAX];
	json_t *entry = NULL, *key = key_of(session, config);
	bool found = tune_file_path(path) == TSR_OK &&
		     tune_file_find(path, key, &entry) == TSR_OK && entry;
	const char *date = json_string_value(json_object_get(entry, "date"));
	found = found && date && read_choice(session->workload, entry, config);
	(void)snprintf(date_out, 24, "%s", date ? date : "");
	json_decref(entry);
	json_decref(key);
	return found;
}

/** Whether this build and device can run it: the file may be of another build. */
static bool is_possible(const bench_session_t *session, const workload_config_t *config)
{
	const int ranks = tsr_world_size(session->world);
	return session->workload->check(config, ranks) == TSR_OK &&
	       !(session->workload->is_idle && session->workload->is_idle(config, ranks));
}

tsr_status_t bench_recall(bench_session_t *session, workload_config_t *config,
			  bench_result_t *result)
{
	struct {
		bool found;
		char date[24];
		workload_config_t config;
	} told;
	memset(&told, 0, sizeof told); /* padding travels too */
	if (!bench_is_automatic(session->workload, &session->options->config))
		return TSR_OK;
	told.config = *config;
	if (tsr_world_rank(session->world) == 0)
		told.found = look_up(session, &told.config, told.date);
	tsr_status_t status =
		tsr_team_broadcast(tsr_world_team(session->world), &told, sizeof told, 0);
	if (status != TSR_OK || !told.found || !is_possible(session, &told.config))
		return status;
	*config = told.config;
	result->remembered = true;
	memcpy(result->tuned_on, told.date, sizeof result->tuned_on);
	return TSR_OK;
}

static tsr_status_t write_choice(const bench_session_t *session, const bench_result_t *result)
{
	const workload_t *workload = session->workload;
	char path[PATH_MAX], date[32];
	const time_t now = time(NULL);
	struct tm utc;
	(void)gmtime_r(&now, &utc);
	(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	tsr_status_t status = tune_file_path(path);
	if (status != TSR_OK)
		return status;
	json_t *key = key_of(session, &result->config);
	json_t *choice = json_pack("{s:I, s:s}", "median_ns",
				   (json_int_t)bench_median_ns(&result->times), "date", date);
	for (int i = 0; workload->params[i].name; i++) {
		char name[BENCH_KEY_TEXT];
		if (workload->params[i].stage > 0)
			(void)json_object_set_new(choice, bench_key(workload->params[i].name, name),
						  bench_value_json(&workload->params[i],
								   &result->config.value[i],
								   false));
	}
	status = tune_file_remember(path, key, choice);
	json_decref(key);
	json_decref(choice);
	return status;
}

tsr_status_t bench_remember(bench_session_t *session, const bench_result_t *result)
{
	if (tsr_world_rank(session->world) != 0)
		return TSR_OK;
	return bench_rank_0_only(session->world, write_choice(session, result));
}

/* --json: everything that was measured. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/bench/bench.h"
#include "tools/document.h"
#include "tools/json_rows.h"

static json_t *times_json(const bench_times_t *times)
{
	json_t *array = json_array();
	for (int i = 0; i < times->count; i++)
		(void)json_array_append_new(array, json_integer((json_int_t)times->ns[i]));
	return array;
}

/** Null where `value` is 0: not measured. */
static json_t *measured_json(double value)
{
	return value > 0.0 ? json_real(value) : json_null();
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0.0;
}

/** Sets the parameters that say what is computed, or those that say how. */
static void set_params(json_t *object, const workload_t *workload, const workload_config_t *config,
		       bool problem)
{
	for (int i = 0; workload->params[i].name; i++) {
		const workload_param_t *param = &workload->params[i];
		char key[BENCH_KEY_TEXT];
		if (param->problem == problem)
			(void)json_object_set_new(object, bench_key(param->name, key),
						  bench_value_json(param, &config->value[i], true));
	}
}

static json_t *traffic_json(const bench_traffic_t *t)
{
	if (!t->recorded)
		return json_null();
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:f, s:f, s:f, s:f}",
			 "launches", t->launches, "products", (json_int_t)t->products,
			 "operand_bytes", (json_int_t)t->operand_bytes, "local_written_bytes",
			 (json_int_t)t->local_written_bytes, "local_read_bytes",
			 (json_int_t)t->local_read_bytes, "remote_written_bytes",
			 (json_int_t)t->remote_written_bytes, "remote_read_bytes",
			 (json_int_t)t->remote_read_bytes, "senders", t->senders,
			 "senders_before_last_product", t->early_senders, "first_product_ns",
			 t->moment_ns[BENCH_FIRST_PRODUCT], "last_product_ns",
			 t->moment_ns[BENCH_LAST_PRODUCT], "last_send_ns",
			 t->moment_ns[BENCH_LAST_SEND], "last_worker_ns",
			 t->moment_ns[BENCH_LAST_WORKER]);
}

static json_t *verdict_json(const bench_judgement_t *judgement)
{
	const verdict_t *v = &judgement->verdict;
	if (!judgement->verified)
		return json_null();
	if (judgement->wrong_rank < 0)
		return json_pack("{s:b}", "ok", 1);
	/* JSON has no NaN: what was got goes as text. */
	char got[32];
	(void)snprintf(got, sizeof got, "%.17g", v->got);
	return json_pack("{s:b, s:i, s:s, s:s, s:I, s:I, s:s, s:f, s:f, s:I}", "ok", 0, "rank",
			 judgement->wrong_rank, "run", judgement->wrong_run, "output",
			 judgement->wrong.name, "row", (json_int_t)v->row, "col",
			 (json_int_t)v->col, "got", got, "expected", v->expected, "bound", v->bound,
			 "wrong_elements", (json_int_t)v->wrong);
}

static json_t *trials_json(const workload_t *workload, const bench_trials_t *trials)
{
	json_t *array = json_array();
	for (int i = 0; trials && i < trials->count; i++) {
		const bench_trial_t *t = &trials->trial[i];
		json_t *object = json_pack("{s:I, s:i, s:b, s:b}", "median_ns",
					   (json_int_t)t->median_ns, "samples", t->samples,
					   "abandoned", t->abandoned, "best", t->best);
		set_params(object, workload, &t->config, false);
		(void)json_array_append_new(array, object);
	}
	return array;
}

static json_t *result_json(const tsr_world_t *world, const bench_options_t *options,
			   const bench_result_t *result, const bench_theirs_t *theirs)
{
	const workload_t *workload = options->workload;
	const uint64_t ns = bench_median_ns(&result->times);
	const double operations = bench_all_operations(workload, &result->config, options->ranks);
	json_t *object =
		json_pack("{s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:s?, s:o}", "pattern",
			  workload->pattern(result->config.pattern), "median_ns", (json_int_t)ns,
			  "gflops", ns ? operations / (double)ns : 0.0, "times_ns",
			  times_json(&result->times), "traffic", traffic_json(&result->traffic),
			  "verdict", verdict_json(&result->judgement), "faster_than_baseline",
			  measured_json(ratio(bench_theirs_ns(theirs), ns)), "over_floor",
			  measured_json(ratio(theirs->floor_ns ? ns : 0, theirs->floor_ns)),
			  "tuned_on", result->remembered ? result->tuned_on : NULL, "trials",
			  trials_json(workload, result->trials));
	set_params(object, workload, &result->config, false);
	(void)json_object_set_new(object, "taxes", bench_taxes_json(world, &result->taxes));
	if (options->explain)
		(void)json_object_set_new(object, "explain", bench_explain_json(options, result));
	return object;
}

static json_t *line_json(const char *missing, const bench_times_t *times)
{
	if (missing[0])
		return json_pack("{s:s}", "missing", missing);
	return json_pack("{s:I, s:o}", "median_ns", (json_int_t)bench_median_ns(times), "times_ns",
			 times_json(times));
}

static json_t *own_json(const workload_t *workload, const bench_theirs_t *theirs)
{
	if (theirs->own.count == 0)
		return json_null();
	json_t *own = line_json("", &theirs->own);
	set_params(own, workload, &theirs->own_config, false);
	(void)json_object_set_new(
		own, "of_library",
		measured_json(ratio(bench_median_ns(&theirs->line[theirs->product].times),
				    bench_median_ns(&theirs->own))));
	return own;
}

static json_t *theirs_json(const workload_t *workload, const bench_theirs_t *theirs)
{
	if (!theirs->measured)
		return json_null();
	json_t *steps = json_object();
	for (int i = 0; i < theirs->count; i++)
		(void)json_object_set_new(steps, theirs->line[i].key,
					  line_json(theirs->line[i].missing,
						    &theirs->line[i].times));
	return json_pack("{s:s, s:s?, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o}", "name",
			 theirs->name, "whole",
			 theirs->whole >= 0 ? theirs->line[theirs->whole].key : NULL, "steps",
			 steps, "own_product", own_json(workload, theirs), "store_bytes",
			 (json_int_t)theirs->push_bytes, "store_one_pair_gbps",
			 measured_json(theirs->pair_gbps), "store_each_to_each_gbps",
			 measured_json(theirs->all_gbps), "exchange_ns",
			 (json_int_t)theirs->exchange_ns, "floor_ns",
			 theirs->floor_ns ? json_integer((json_int_t)theirs->floor_ns)
					  : json_null(),
			 "verdict", verdict_json(&theirs->judgement));
}

/** The machine and the day. */
static json_t *place_json(const tsr_world_t *world)
{
	tsr_device_props_t device = {.size = sizeof device, .name = "?"};
	char date[32];
	time_t now = time(NULL);
	struct tm utc;
	(void)tsr_world_device(world, &device);
	(void)gmtime_r(&now, &utc);
	(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	return json_pack("{s:s, s:s, s:i}", "date", date, "device", device.name, "resident_blocks",
			 device.resident_blocks);
}

tsr_status_t bench_write_json(const tsr_world_t *world, const bench_options_t *options,
			      const bench_theirs_t *theirs, const bench_result_t *results,
			      int count)
{
	json_t *patterns = json_array();
	for (int i = 0; i < count; i++)
		(void)json_array_append_new(patterns,
					    result_json(world, options, &results[i], theirs));
	json_t *root =
		json_pack("{s:s, s:s, s:s, s:i, s:I, s:b, s:i, s:o, s:o}", "workload",
			  options->workload->name, "backend", tsr_world_backend(world), "placement",
			  tsr_world_in_threads(world) ? "thread" : "process", "ranks",
			  tsr_world_size(world), "seed", (json_int_t)options->inputs.seed,
			  "integers", options->inputs.integers, "warmup", options->warmup,
			  "baseline", theirs_json(options->workload, theirs), "patterns", patterns);
	if (!root || json_object_update_new(root, place_json(world)) != 0) {
		json_decref(root);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the results as JSON; free some");
	}
	set_params(root, options->workload, &options->config, true);
	json_t *document = json_document("tessera-bench/1", root);
	errno = 0;
	const char *bad = NULL, *file = NULL;
	if (options->json && json_rows_dump_file(document, file = options->json, 0) != 0)
		bad = "--json";
	else if (options->csv && csv_rows_dump_file(root, "patterns", file = options->csv) != 0)
		bad = "--csv";
	json_decref(document);
	json_decref(root);
	if (bad)
		return tsr_error(TSR_ERR_SYSTEM, "%s: '%s' cannot be written: %s", bad, file,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}

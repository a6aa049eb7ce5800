/* --json: everything that was measured. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/bench.h"

static json_t *times_json(const bench_times_t *times)
{
	json_t *array = json_array();
	for (int i = 0; i < times->count; i++)
		(void)json_array_append_new(array, json_integer((json_int_t)times->ns[i]));
	return array;
}

static json_t *tile_json(gas_tile_size_t tile)
{
	return json_pack("[i,i,i]", tile.m, tile.n, tile.k);
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

static json_t *traffic_json(const bench_traffic_t *t)
{
	if (!t->recorded)
		return json_null();
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i}", "launches", t->launches, "products",
			 (json_int_t)t->products, "operand_bytes", (json_int_t)t->operand_bytes, "local_written_bytes",
			 (json_int_t)t->local_written_bytes, "local_read_bytes", (json_int_t)t->local_read_bytes,
			 "remote_written_bytes", (json_int_t)t->remote_written_bytes, "remote_read_bytes",
			 (json_int_t)t->remote_read_bytes, "senders", t->senders, "senders_before_last_product", t->early_senders);
}

static json_t *verdict_json(const bench_judgement_t *judgement)
{
	const gas_verdict_t *v = &judgement->verdict;
	if (!judgement->verified)
		return json_null();
	if (judgement->wrong_rank < 0)
		return json_pack("{s:b}", "ok", 1);
	/* JSON has no NaN: what was got goes as text. */
	char got[32];
	(void)snprintf(got, sizeof got, "%.17g", v->got);
	return json_pack("{s:b, s:i, s:s, s:I, s:I, s:s, s:f, s:f, s:I}", "ok", 0, "rank", judgement->wrong_rank, "run",
			 judgement->wrong_run, "row", (json_int_t)v->row, "col", (json_int_t)v->col, "got", got, "expected",
			 v->expected, "bound", v->bound, "wrong_elements", (json_int_t)v->wrong);
}

static json_t *trials_json(const bench_trials_t *trials)
{
	json_t *array = json_array();
	if (!trials)
		return array;
	for (int i = 0; i < trials->count; i++) {
		const bench_trial_t *t = &trials->trial[i];
		(void)json_array_append_new(array,
					    json_pack("{s:o, s:i, s:i, s:i, s:I, s:i, s:b, s:b}", "tile", tile_json(t->config.tile),
						      "blocks", t->config.blocks, "comm_blocks", t->config.comm_blocks, "parts",
						      t->config.parts, "median_ns", (json_int_t)t->median_ns, "samples", t->samples,
						      "abandoned", t->abandoned, "best", t->best));
	}
	return array;
}

static json_t *result_json(const bench_gas_result_t *result, const bench_gas_baseline_t *baseline)
{
	const gas_config_t *c = &result->config;
	uint64_t ns = bench_median_ns(&result->times), both = bench_median_ns(&baseline->times[BENCH_BOTH]);
	double operations = 2.0 * (double)c->m * (double)c->n * (double)c->k;
	return json_pack(
		"{s:s, s:o, s:i, s:i, s:i, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:s?, s:o}", "pattern", gas_pattern_name(c->pattern),
		"tile", tile_json(c->tile), "blocks", c->blocks, "comm_blocks", c->comm_blocks, "parts", c->parts, "median_ns",
		(json_int_t)ns, "gflops", ns ? operations / (double)ns : 0.0, "times_ns", times_json(&result->times), "traffic",
		traffic_json(&result->traffic), "verdict", verdict_json(&result->judgement), "faster_than_baseline",
		measured_json(ratio(both, ns)), "over_floor", measured_json(ratio(baseline->floor_ns ? ns : 0, baseline->floor_ns)),
		"tuned_on", result->remembered ? result->tuned_on : NULL, "trials", trials_json(result->trials));
}

static json_t *step_json(const char *missing, const bench_times_t *times)
{
	if (missing[0])
		return json_pack("{s:s}", "missing", missing);
	return json_pack("{s:I, s:o}", "median_ns", (json_int_t)bench_median_ns(times), "times_ns", times_json(times));
}

static json_t *baseline_json(const bench_gas_baseline_t *b)
{
	static const char *const names[BENCH_STEPS] = {
		[BENCH_PRODUCT] = "product",          [BENCH_GATHER] = "all_gather",
		[BENCH_BOTH] = "product_all_gather",  [BENCH_LAYOUT] = "product_all_gather_layout",
		[BENCH_PUSH_PAIR] = "store_one_pair", [BENCH_PUSH_ALL] = "store_each_to_each"};
	if (!b->measured)
		return json_null();
	json_t *steps = json_object();
	for (int step = 0; step < BENCH_STEPS; step++)
		(void)json_object_set_new(steps, names[step], step_json(b->missing[step], &b->times[step]));
	json_t *own = step_json("", &b->product);
	(void)json_object_set_new(own, "tile", tile_json(b->product_config.tile));
	(void)json_object_set_new(own, "blocks", json_integer(b->product_config.blocks));
	(void)json_object_set_new(own, "of_library",
				  measured_json(ratio(bench_median_ns(&b->times[BENCH_PRODUCT]), bench_median_ns(&b->product))));
	return json_pack("{s:s, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o}", "name", b->name, "steps", steps, "own_product", own,
			 "store_bytes", (json_int_t)b->push_bytes, "store_one_pair_gbps", measured_json(b->pair_gbps),
			 "store_each_to_each_gbps", measured_json(b->all_gbps), "exchange_ns", (json_int_t)b->exchange_ns,
			 "floor_ns", b->floor_ns ? json_integer((json_int_t)b->floor_ns) : json_null(), "verdict",
			 verdict_json(&b->judgement));
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
	return json_pack("{s:s, s:s, s:i}", "date", date, "device", device.name, "resident_blocks", device.resident_blocks);
}

tsr_status_t bench_gas_write_json(const tsr_world_t *world, const bench_gas_options_t *options,
				  const bench_gas_baseline_t *baseline, const bench_gas_result_t *results, int count)
{
	const gas_config_t *c = &options->config;
	json_t *patterns = json_array();
	for (int i = 0; i < count; i++)
		(void)json_array_append_new(patterns, result_json(&results[i], baseline));
	json_t *root = json_pack("{s:s, s:s, s:s, s:i, s:{s:I, s:I, s:I}, s:s, s:I, s:b, s:i, s:o, s:o}", "workload",
				 "gemm-all-scatter", "backend", tsr_world_backend(world), "placement",
				 tsr_world_in_threads(world) ? "thread" : "process", "ranks", tsr_world_size(world), "shape", "m",
				 (json_int_t)c->m, "n", (json_int_t)c->n, "k", (json_int_t)c->k, "dtype", tsr_dtype_name(c->dtype),
				 "seed", (json_int_t)options->inputs.seed, "integers", options->inputs.integers, "warmup",
				 options->warmup, "baseline", baseline_json(baseline), "patterns", patterns);
	if (!root || json_object_update_new(root, place_json(world)) != 0) {
		json_decref(root);
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for the results as JSON; free some");
	}
	errno = 0;
	int failed = json_dump_file(root, options->json, JSON_INDENT(2));
	json_decref(root);
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "--json: '%s' cannot be written: %s", options->json,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}

/* What `tessera bench gemm-all-scatter` says: a line a pattern, rows a worker, JSON. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench.h"

/* ---------------------------------------------------------------- pieces */

enum { SHORT_TEXT = 24 };

/** "640", "1.5K", "33.0M". */
static const char *bytes_text(uint64_t bytes, char text_out[SHORT_TEXT])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;
	for (; value >= 1024.0; unit++)
		value /= 1024.0;
	if (unit < 0)
		(void)snprintf(text_out, SHORT_TEXT, "%" PRIu64, bytes);
	else
		(void)snprintf(text_out, SHORT_TEXT, "%.1f%c", value, units[unit]);
	return text_out;
}

static const char *tile_text(gas_tile_size_t tile, char text_out[SHORT_TEXT])
{
	(void)snprintf(text_out, SHORT_TEXT, "%dx%dx%d", tile.m, tile.n, tile.k);
	return text_out;
}

static const char *placement_name(const tsr_world_t *world)
{
	return tsr_world_in_threads(world) ? "thread" : "process";
}

static uint64_t median_ns(const bench_gas_result_t *result)
{
	int middle = result->iterations / 2;
	if (result->iterations % 2)
		return result->times_ns[middle];
	return (result->times_ns[middle - 1] + result->times_ns[middle]) / 2;
}

/** Of the whole product, by the median. */
static double gflops(const bench_gas_result_t *result)
{
	double operations = 2.0 * (double)result->config.m * (double)result->config.n * (double)result->config.k;
	uint64_t ns = median_ns(result);
	return ns ? operations / (double)ns : 0.0;
}

/** yes, no, how many of the ranks that send, or - where none does. */
static const char *early_text(const bench_traffic_t *traffic, char text_out[SHORT_TEXT])
{
	if (traffic->senders == 0)
		return "-";
	if (traffic->early_senders == 0)
		return "no";
	if (traffic->early_senders == traffic->senders)
		return "yes";
	(void)snprintf(text_out, SHORT_TEXT, "%d of %d", traffic->early_senders, traffic->senders);
	return text_out;
}

/* ---------------------------------------------------------------- the table */

void bench_gas_print_header(const tsr_world_t *world, const bench_gas_options_t *options)
{
	const gas_config_t *c = &options->config;
	tsr_device_props_t device = {.name = "?"};
	(void)tsr_world_device(world, &device);
	(void)printf("GEMM + all-scatter, %" PRId64 "x%" PRId64 "x%" PRId64
		     " %s, %d ranks (one %s each) on %s (%s), %s inputs, seed %" PRIu64 "; %s\n",
		     c->m, c->n, c->k, tsr_dtype_name(c->dtype), tsr_world_size(world), placement_name(world),
		     tsr_world_backend(world), device.name, options->inputs.integers ? "integer" : "random", options->inputs.seed,
		     options->verify ? "every element on every rank is verified" : "not verified");
	(void)printf("%-27s %10s %9s %15s %8s %8s %8s %8s %8s %6s  %s\n", "pattern", "tile", "median ms", "spread ms", "GFLOP/s",
		     "launches", "written", "read", "to peers", "early", "verdict");
	(void)fflush(stdout);
}

/** A NaN is what C was poisoned with: no product of the inputs is one. */
static const char *got_text(double got, char text_out[SHORT_TEXT])
{
	if (isnan(got))
		return "NaN (never stored)";
	(void)snprintf(text_out, SHORT_TEXT, "%.9g", got);
	return text_out;
}

static void print_verdict(const bench_gas_result_t *result)
{
	const gas_verdict_t *v = &result->verdict;
	char got[SHORT_TEXT];
	if (!result->verified)
		(void)printf("not verified\n");
	else if (result->wrong_rank < 0)
		(void)printf("ok\n");
	else
		(void)printf("WRONG on rank %d after the %s: C(%" PRId64 ", %" PRId64 ") is %s, expected %.9g within %.3g; %" PRId64
			     " of %" PRId64 " elements are wrong\n",
			     result->wrong_rank, result->wrong_run, v->row, v->col, got_text(v->got, got), v->expected, v->bound,
			     v->wrong, result->config.m * result->config.n);
}

void bench_gas_print_result(const bench_gas_result_t *result)
{
	const bench_traffic_t *t = &result->traffic;
	char tile[SHORT_TEXT], spread[2 * SHORT_TEXT], launches[SHORT_TEXT] = "?";
	char written[SHORT_TEXT] = "?", read[SHORT_TEXT] = "?", sent[SHORT_TEXT] = "?", early[SHORT_TEXT] = "?";
	(void)snprintf(spread, sizeof spread, "%.2f .. %.2f", (double)result->times_ns[0] * 1e-6,
		       (double)result->times_ns[result->iterations - 1] * 1e-6);
	if (t->recorded) {
		(void)snprintf(launches, sizeof launches, "%d", t->launches);
		(void)bytes_text(t->local_written_bytes, written);
		(void)bytes_text(t->local_read_bytes, read);
		(void)bytes_text(t->remote_written_bytes, sent);
	}
	(void)printf("%-27s %10s %9.2f %15s %8.2f %8s %8s %8s %8s %6s  ", gas_pattern_name(result->config.pattern),
		     tile_text(result->config.tile, tile), (double)median_ns(result) * 1e-6, spread, gflops(result), launches,
		     written, read, sent, t->recorded ? early_text(t, early) : early);
	print_verdict(result);
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- rows a worker */

/** Microseconds since `origin`, or "-" for a stamp that is none. */
static const char *since_text(uint64_t stamp_ns, uint64_t origin_ns, char text_out[SHORT_TEXT])
{
	if (stamp_ns == 0)
		return "-";
	(void)snprintf(text_out, SHORT_TEXT, "%.1f", (double)(stamp_ns - origin_ns) * 1e-3);
	return text_out;
}

static void print_row(int rank, const tsr_record_entry_t *e, uint64_t origin_ns)
{
	char operands[SHORT_TEXT], written[SHORT_TEXT], read[SHORT_TEXT], sent[SHORT_TEXT];
	char remote[SHORT_TEXT], product[SHORT_TEXT];
	(void)printf("  %4d %6d %6d %5d %6d  %-21s %-16s %8" PRIu64 " %8s %8s %8s %8s %10.1f %10.1f %10s %10s\n", rank, e->launch,
		     e->stream, e->block, e->worker, e->kernel, e->role[0] ? e->role : "-", e->products,
		     bytes_text(e->operand_bytes, operands), bytes_text(e->local_written_bytes, written),
		     bytes_text(e->local_read_bytes, read), bytes_text(e->remote_written_bytes, sent),
		     (double)(e->begin_ns - origin_ns) * 1e-3, (double)(e->end_ns - origin_ns) * 1e-3,
		     since_text(e->first_remote_ns, origin_ns, remote), since_text(e->last_product_ns, origin_ns, product));
}

void bench_print_record(int ranks, const tsr_record_entry_t *entries, const int *counts)
{
	(void)printf("  %4s %6s %6s %5s %6s  %-21s %-16s %8s %8s %8s %8s %8s %10s %10s %10s %10s\n", "rank", "launch", "stream",
		     "block", "worker", "kernel", "role", "products", "operands", "written", "read", "to peers", "begin us",
		     "end us", "1st remote", "last prod.");
	for (int r = 0; r < ranks; entries += counts[r++]) {
		uint64_t origin = UINT64_MAX;
		for (int i = 0; i < counts[r]; i++)
			origin = entries[i].begin_ns < origin ? entries[i].begin_ns : origin;
		for (int i = 0; i < counts[r]; i++)
			print_row(r, &entries[i], origin);
	}
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- JSON */

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

static json_t *verdict_json(const bench_gas_result_t *result)
{
	const gas_verdict_t *v = &result->verdict;
	if (!result->verified)
		return json_null();
	if (result->wrong_rank < 0)
		return json_pack("{s:b}", "ok", 1);
	/* JSON has no NaN: what was got goes as text. */
	char got[SHORT_TEXT + 8];
	(void)snprintf(got, sizeof got, "%.17g", v->got);
	return json_pack("{s:b, s:i, s:s, s:I, s:I, s:s, s:f, s:f, s:I}", "ok", 0, "rank", result->wrong_rank, "run",
			 result->wrong_run, "row", (json_int_t)v->row, "col", (json_int_t)v->col, "got", got, "expected",
			 v->expected, "bound", v->bound, "wrong_elements", (json_int_t)v->wrong);
}

static json_t *result_json(const bench_gas_result_t *result)
{
	const gas_config_t *c = &result->config;
	json_t *times = json_array();
	for (int i = 0; i < result->iterations; i++)
		(void)json_array_append_new(times, json_integer((json_int_t)result->times_ns[i]));
	return json_pack("{s:s, s:[i,i,i], s:i, s:i, s:I, s:f, s:o, s:o, s:o}", "pattern", gas_pattern_name(c->pattern), "tile",
			 c->tile.m, c->tile.n, c->tile.k, "blocks", c->blocks, "comm_blocks", c->comm_blocks, "median_ns",
			 (json_int_t)median_ns(result), "gflops", gflops(result), "times_ns", times, "traffic",
			 traffic_json(&result->traffic), "verdict", verdict_json(result));
}

tsr_status_t bench_gas_write_json(const tsr_world_t *world, const bench_gas_options_t *options, const bench_gas_result_t *results,
				  int count)
{
	const gas_config_t *c = &options->config;
	json_t *patterns = json_array();
	for (int i = 0; i < count; i++)
		(void)json_array_append_new(patterns, result_json(&results[i]));
	json_t *root = json_pack("{s:s, s:s, s:s, s:i, s:{s:I, s:I, s:I}, s:s, s:I, s:b, s:i, s:o}", "workload", "gemm-all-scatter",
				 "backend", tsr_world_backend(world), "placement", placement_name(world), "ranks",
				 tsr_world_size(world), "shape", "m", (json_int_t)c->m, "n", (json_int_t)c->n, "k",
				 (json_int_t)c->k, "dtype", tsr_dtype_name(c->dtype), "seed", (json_int_t)options->inputs.seed,
				 "integers", options->inputs.integers, "warmup", options->warmup, "patterns", patterns);
	if (!root)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for the results as JSON");
	errno = 0;
	int failed = json_dump_file(root, options->json, JSON_INDENT(2));
	json_decref(root);
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "--json: '%s' cannot be written: %s", options->json,
				 errno ? strerror(errno) : "unknown error");
	return TSR_OK;
}

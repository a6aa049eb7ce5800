/*
 * The measurements: links, signals, copies and launches by micro-benchmarks. Then
 * rates of computing so that the simulation of one product, of one that sends
 * beside itself, and of one attention takes as long as the device.
 */
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/calibrate/calibrate.h"
#include "tools/child.h"

enum { MOST_SECONDS = 120, ROUNDS = 4 };

/*
 * A relaxed store is seen by a poll after half a load of a peer's memory and half
 * a load of one's own. One of the two cannot be measured from outside; this is its
 * part.
 */
#define OWN_PART 0.35

/** What is measured, by backend: processors take as long for less. */
typedef struct sizes {
	const char *large, *piece; /* a put of all, and one that a block makes */
	const char *shape, *tile, *worker_tile, *attention; /* of what computes */
	calibrate_figure_t rate; /* the figure by which products go as fast */
} sizes_t;

static const sizes_t of_gpus = {
	.large = "256M",
	.piece = "16M",
	.shape = "8192x8192x8192",
	.tile = "128x256x64",
	.worker_tile = "128x128x64",
	.attention = "--batch 4 --queries 4096 --dtype bf16",
	.rate = CALIBRATE_clock,
};
static const sizes_t of_processors = {
	.large = "4M",
	.piece = "1M",
	.shape = "1024x1024x1024",
	.tile = "64x128x64",
	.worker_tile = "64x64x32",
	.attention = "--batch 1 --queries 512 --dtype bf16",
	.rate = CALIBRATE_tensor_width,
};

static bool on_processors(const calibration_t *c)
{
	return strcmp(c->kind->backend, "cpuemu") == 0;
}

static const sizes_t *sizes_of(const calibration_t *c)
{
	return on_processors(c) ? &of_processors : &of_gpus;
}

/* ------------------------------------------------------------------ runs */

/** Adds the words of a line. */
static void add_words(tool_child_t *child, const char *line)
{
	while (*line) {
		const int length = (int)strcspn(line, " ");
		if (length > 0)
			tool_child_add(child, "%.*s", length, line);
		line += length + (line[length] == ' ');
	}
}

static void print_words(const tool_child_t *child)
{
	(void)fprintf(stderr, " ");
	for (int i = 0; i < child->argc; i++)
		(void)fprintf(stderr, " %s", child->argv[i]);
	(void)fprintf(stderr, "\n");
}

/** The JSON of "tessera LINE", for `ranks` ranks where that is not 0. Null: it says why. */
static json_t *run(const calibration_t *c, const tool_child_t *line, int ranks)
{
	tool_child_t child = {.argc = 0};
	char why[CALIBRATE_TEXT];
	tool_child_add(&child, "tessera");
	for (int i = 0; i < line->argc; i++)
		tool_child_add(&child, "%s", line->argv[i]);
	if (ranks > 0)
		tool_child_add(&child, "--ranks=%d", ranks);
	if (ranks > 0 && c->backend)
		tool_child_add(&child, "--backend=%s", c->backend);
	if (c->verbose)
		print_words(&child);
	json_t *told = tool_child_json(&child, c->command, MOST_SECONDS, why, sizeof why);
	if (!told)
		(void)fprintf(stderr, "not measured: %s %s: %s\n", line->argv[0], line->argv[1],
			      why);
	return told;
}

/** A row of "tessera perf LINE" between two ranks, or of one; the last one if `row` is -1. */
static json_t *perf(calibration_t *c, const char *line, int ranks, int row, json_t **told_out)
{
	tool_child_t words = {.argc = 0};
	tool_child_add(&words, "perf");
	add_words(&words, line);
	json_t *told = *told_out = run(c, &words, ranks), *rows = json_object_get(told, "rows");
	const char *device = json_string_value(json_object_get(told, "device"));
	if (device)
		(void)snprintf(c->device, sizeof c->device, "%s", device);
	return json_array_get(rows, row < 0 ? json_array_size(rows) - 1 : (size_t)row);
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/** Keeps a number of the first row of "tessera perf LINE". */
static void keep_perf(calibration_t *c, calibrate_figure_t figure, const char *key, int ranks,
		      const char *line)
{
	json_t *told;
	const double value = number(perf(c, line, ranks, 0, &told), key);
	if (value > 0)
		calibrate_keep(c, figure, value, "tessera perf %s", line);
	json_decref(told);
}

/* ------------------------------------------------------------------ links, signals, copies */

static void measure_links(calibration_t *c)
{
	const sizes_t *sizes = sizes_of(c);
	char line[CALIBRATE_TEXT];
	(void)snprintf(line, sizeof line, "put -b %s -e %s", sizes->large, sizes->large);
	keep_perf(c, CALIBRATE_link_pair, "busbw_gbps", 2, line);
	(void)snprintf(line, sizeof line, "put -V 1 -b %s -e %s", sizes->piece, sizes->piece);
	keep_perf(c, CALIBRATE_block_rate, "busbw_gbps", 2, line);
}

static void measure_signals(calibration_t *c)
{
	json_t *told, *row = perf(c, "signal", 2, 0, &told);
	const double relaxed_ns = number(row, "reference_us") * 1e3,
		     ns = number(row, "time_us") * 1e3;
	if (ns > relaxed_ns && relaxed_ns > 0) {
		calibrate_keep(c, CALIBRATE_signal, ns, "tessera perf signal");
		calibrate_keep(c, CALIBRATE_fence, ns - relaxed_ns,
			       "tessera perf signal, less its reference");
		calibrate_keep(c, CALIBRATE_memory_latency, 2 * OWN_PART * relaxed_ns,
			       "a part of the reference of perf signal");
		calibrate_keep(c, CALIBRATE_link_latency, 2 * (1 - OWN_PART) * relaxed_ns,
			       "the rest of that reference");
	}
	json_decref(told);
}

static void measure_copies(calibration_t *c)
{
	char line[CALIBRATE_TEXT];
	json_t *told;
	(void)snprintf(line, sizeof line, "put --via copy-engine -b 128 -e %s -f 1048576",
		       sizes_of(c)->large);
	const double start_us = number(perf(c, line, 2, 0, &told), "time_us");
	if (start_us > 0)
		calibrate_keep(c, CALIBRATE_copy_start, start_us, "tessera perf %s", line);
	json_decref(told);
	(void)snprintf(line, sizeof line, "put --via copy-engine -b %s -e %s", sizes_of(c)->large,
		       sizes_of(c)->large);
	keep_perf(c, CALIBRATE_copy_rate, "busbw_gbps", 2, line);
}

/** The emulator: its memory is its links. */
static void measure_processors(calibration_t *c)
{
	const sizes_t *sizes = &of_processors;
	cpu_set_t set;
	char line[CALIBRATE_TEXT];
	const double rate = calibrate_value(c, CALIBRATE_link_pair);
	const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	calibrate_keep(c, CALIBRATE_cores, cores, "processors that this process may use");
	(void)snprintf(line, sizeof line, "put -V 1 -b %s -e %s", sizes->piece, sizes->piece);
	keep_perf(c, CALIBRATE_block_memory_rate, "algbw_gbps", 1, line);
	calibrate_keep(c, CALIBRATE_memory_rate,
		       cores * calibrate_value(c, CALIBRATE_block_memory_rate),
		       "block_memory_rate of each processor");
	keep_perf(c, CALIBRATE_launch, "time_us", 1, "put -l 1 -b 8 -e 8");
	if (!c->found[CALIBRATE_link_pair].is_found)
		return;
	calibrate_keep(c, CALIBRATE_link_all, rate, "link_pair: the same memory");
	calibrate_keep(c, CALIBRATE_load_rate, rate, "link_pair: the same memory");
	calibrate_keep(c, CALIBRATE_block_copy, calibrate_value(c, CALIBRATE_block_rate),
		       "block_rate: the same memory");
}

/* ------------------------------------------------------------------ computing */

/** The first pattern of "tessera bench LINE" or "tessera sim LINE". */
static json_t *pattern(const calibration_t *c, const tool_child_t *line, int ranks, json_t **told)
{
	*told = run(c, line, ranks);
	return json_array_get(json_object_get(*told, "patterns"), 0);
}

/** The median of a pattern; of processors, which do other work too, the fastest run. */
static double ns_of(const calibration_t *c, const json_t *row)
{
	double ns = number(row, "median_ns");
	const json_t *times = on_processors(c) ? json_object_get(row, "times_ns") : NULL;
	for (size_t i = 0; i < json_array_size(times); i++)
		ns = fmin(ns, json_number_value(json_array_get(times, i)));
	return ns;
}

/** What a workload takes here; 0: it was not measured. */
static double bench_ns(const calibration_t *c, const char *line, int ranks)
{
	tool_child_t words = {.argc = 0};
	json_t *told;
	tool_child_add(&words, "bench");
	add_words(&words, line);
	tool_child_add(&words, "--no-tuned");
	const double ns = ns_of(c, pattern(c, &words, ranks, &told));
	json_decref(told);
	return ns;
}

/** What it takes in the simulation, with all that was found, and with this value. */
static double sim_ns(const calibration_t *c, const char *line, int ranks, calibrate_figure_t figure,
		     double value)
{
	const char *name = c->kind->name;
	tool_child_t words = {.argc = 0};
	json_t *told;
	tool_child_add(&words, "sim");
	add_words(&words, line);
	tool_child_add(&words, "--machine=%s%s%d", name, name[strlen(name) - 1] == 'x' ? "" : "x",
		       ranks);
	for (int i = 0; i < CALIBRATE_FIGURES; i++)
		if (c->found[i].is_found)
			tool_child_add(&words, "--set=%s=%.6g", calibrate_name(i),
				       c->found[i].value);
	tool_child_add(&words, "--set=%s=%.6g", calibrate_name(figure), value);
	const double ns = number(pattern(c, &words, 0, &told), "median_ns");
	json_decref(told);
	return ns;
}

/** Changes a figure until the simulation takes as long as the device. */
static void as_simulated(calibration_t *c, calibrate_figure_t figure, const char *line, int ranks)
{
	const double measured_ns = bench_ns(c, line, ranks);
	double value = calibrate_value(c, figure);
	value = value > 0 ? value : 1;
	for (int i = 0; i < ROUNDS && measured_ns > 0; i++) {
		const double ns = sim_ns(c, line, ranks, figure, value);
		if (!(ns > 0))
			return;
		value *= ns / measured_ns;
	}
	if (measured_ns > 0 && isfinite(value) && value > 0)
		calibrate_keep(c, figure, value, "%s, %d ranks, as simulated", line, ranks);
}

/** One tile: the launch is in it, and what comes before the first product. */
static void measure_launch(calibration_t *c)
{
	tool_child_t words = {.argc = 0};
	json_t *told;
	add_words(&words, "bench gemm-all-scatter --pattern bulk-synchronous --no-tuned --taxes "
			  "--shape 128x128x64 --dtype bf16");
	if (!on_processors(c))
		add_words(&words, "--tile 128x128x64");
	const json_t *row = pattern(c, &words, 1, &told), *taxes = json_object_get(row, "taxes");
	const double launches = number(taxes, "launches"), one_ns = number(row, "median_ns");
	if (launches > 0 && number(taxes, "launch_ns") > 0)
		calibrate_keep(c, CALIBRATE_launch, number(taxes, "launch_ns") / launches * 1e-3,
			       "tessera bench --taxes: a launch that does nothing");
	const double rest_us = one_ns * 1e-3 - calibrate_value(c, CALIBRATE_launch) -
			       calibrate_value(c, CALIBRATE_epilogue) / 2 /
				       calibrate_value(c, CALIBRATE_clock) * 1e-3;
	if (one_ns > 0 && rest_us > 0 && !on_processors(c))
		calibrate_keep(
			c, CALIBRATE_first_operand, rest_us,
			"tessera bench gemm-all-scatter, 1 rank, 128x128x64, less launch and "
			"epilogue");
	json_decref(told);
}

static void measure_products(calibration_t *c)
{
	const sizes_t *sizes = sizes_of(c);
	char line[CALIBRATE_TEXT];
	(void)snprintf(line, sizeof line,
		       "gemm-all-scatter --pattern bulk-synchronous --shape %s --dtype bf16 --tile "
		       "%s",
		       sizes->shape, sizes->tile);
	as_simulated(c, sizes->rate, line, 1);
	measure_launch(c);
	if (c->ranks > 1) {
		(void)snprintf(line, sizeof line,
			       "gemm-all-scatter --pattern fused-wave-specialized --shape %s "
			       "--dtype bf16 --tile %s",
			       sizes->shape, sizes->worker_tile);
		as_simulated(c, CALIBRATE_worker_part, line, 2);
	}
	(void)snprintf(line, sizeof line, "attention --pattern local %s", sizes->attention);
	as_simulated(c, CALIBRATE_attend_part, line, 1);
}

int calibrate_measure(calibration_t *c)
{
	int found = 0;
	if (c->ranks > 1) {
		measure_links(c);
		measure_signals(c);
		measure_copies(c);
	}
	if (on_processors(c))
		measure_processors(c);
	measure_products(c);
	for (int i = 0; i < CALIBRATE_FIGURES; i++)
		found += c->found[i].is_found;
	return found;
}

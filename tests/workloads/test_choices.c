/*
 * What workloads choose where parameters are left to them: tile, blocks and the
 * like, for some 200 shapes in three dtypes, on one, two, four and eight devices
 * of three kinds. Where a workload has a sequence in place of a shape, that is
 * the shape's first extent, and the others give the numbers of heads and of
 * sequences; a layer of experts has as many tokens, and the others give its
 * widths. kernels/NAME/golden/choices.txt holds it: of some shapes every choice,
 * of all of them a digest for each pattern and kind of device.
 *
 * With TSR_CHOICES=FOLDER the test writes FOLDER/NAME.txt, the golden file, and
 * FOLDER/NAME-all.txt, every choice, and compares nothing. So a change that is
 * meant is seen by diff between two builds.
 *
 * Each choice is also made with a record (kernels/choices/explain.h): it is the same,
 * and the record gives the reason. The first that does not ends the test.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/choices/explain.h"
#include "kernels/choices/machine.h"
#include "tools/bench/bench.h"

enum { RANDOM_SHAPES = 180, MOST_BITS = 16, MOST_LINES = 4096 };

/** The kinds of devices, as their backends describe them. */
static const tsr_device_props_t devices[] = {
	{.size = sizeof(tsr_device_props_t),
	 .name = "NVIDIA H200",
	 .resident_blocks = 132,
	 .workers_per_block = 4,
	 .shared_bytes = (227 << 10) - 34816,
	 .tile_depth = 64},
	{.size = sizeof(tsr_device_props_t),
	 .name = "AMD Instinct MI300X (gfx942)",
	 .resident_blocks = 304,
	 .workers_per_block = 4,
	 .shared_bytes = (64 << 10) - 34816},
	{.size = sizeof(tsr_device_props_t),
	 .name = "CPU emulator",
	 .resident_blocks = 64,
	 .workers_per_block = 8,
	 .shared_bytes = 228 << 10},
};

static const char *const backends[] = {"cuda", "hip", "cpuemu"};
static const int worlds[] = {1, 2, 4, 8};
static const tsr_dtype_t dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};

enum {
	DEVICES = sizeof devices / sizeof *devices,
	WORLDS = sizeof worlds / sizeof *worlds,
	DTYPES = sizeof dtypes / sizeof *dtypes
};

/** Those that are written out: large ones, odd ones, few rows, few columns, small ones. */
static const workload_value_t shapes[] = {
	{{8192, 4608, 36864}}, {{8192, 3584, 14336}},  {{8192, 8192, 8192}}, {{8192, 28672, 8192}},
	{{8192, 36864, 4608}}, {{8192, 14336, 4096}},  {{8191, 8191, 8191}}, {{5000, 3000, 7000}},
	{{1, 28672, 8192}},    {{64, 8192, 8192}},     {{77, 100000, 600}},  {{8192, 1, 8192}},
	{{128, 128, 128}},     {{1024, 1024, 1024}},   {{4096, 4096, 4096}}, {{33, 100, 19}},
	{{5, 3, 2}},           {{16384, 16384, 1024}}, {{2048, 65536, 256}}, {{65536, 512, 8192}},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/** The `index`-th of all shapes: behind those above, extents of 1 to 16 bits, each as likely. */
static workload_value_t shape_at(int index)
{
	workload_value_t shape;
	if (index < SHAPES)
		return shapes[index];
	for (int axis = 0; axis < 3; axis++) {
		const uint64_t place = (uint64_t)(3 * index + axis);
		const int64_t low = INT64_C(1) << tsr_random_int(1, place, 0, MOST_BITS);
		shape.x[axis] = tsr_random_int(2, place, low, 2 * low);
	}
	return shape;
}

/** A parameter's number by its name; -1 where the workload has none. */
static int param_of(const workload_t *w, const char *name)
{
	for (int i = 0; w->params[i].name; i++)
		if (strcmp(w->params[i].name, name) == 0)
			return i;
	return -1;
}

enum { MOST_HEADS = 61, MOST_BATCH = 13, MOST_EXPERTS = 127 }; /* prime: extents above are not */

/** Whether the workload has one of the problems that are tried. */
static bool has_problem(const workload_t *w)
{
	return param_of(w, "shape") >= 0 || param_of(w, "sequence") >= 0 ||
	       param_of(w, "layer") >= 0;
}

static void set_problem(const workload_t *w, workload_value_t shape, workload_config_t *config)
{
	const int place = param_of(w, "shape"), layer = param_of(w, "layer");
	if (place >= 0) {
		config->value[place] = shape;
		return;
	}
	if (layer >= 0) {
		const int64_t experts = 2 + shape.x[0] % MOST_EXPERTS; /* 2 are chosen */
		config->value[layer] = (workload_value_t){{experts, shape.x[1], shape.x[2]}};
		config->value[param_of(w, "tokens")].x[0] = shape.x[0];
		return;
	}
	config->value[param_of(w, "sequence")].x[0] = shape.x[0];
	config->value[param_of(w, "heads")].x[0] = 1 + shape.x[1] % MOST_HEADS;
	config->value[param_of(w, "batch")].x[0] = 1 + shape.x[2] % MOST_BATCH;
}

static workload_config_t config_for(const workload_t *w, int64_t pattern, workload_value_t shape,
				    tsr_dtype_t dtype)
{
	workload_config_t config;
	memset(&config, 0, sizeof config);
	for (int i = 0; w->params[i].name; i++)
		if (w->params[i].preset)
			cr_assert_eq(bench_value_parse(&w->params[i], w->params[i].preset,
						       &config.value[i]),
				     TSR_OK);
	config.pattern = pattern;
	set_problem(w, shape, &config);
	config.value[param_of(w, "dtype")] = (workload_value_t){{dtype}};
	return config;
}

/** The chosen candidate costs least of those compared, but for the margin. */
static void check_costs(const workload_t *w, const explain_choice_t *choice)
{
	const explain_candidate_t *least = explain_least(choice), *chosen = explain_chosen(choice);
	if (!least)
		return;
	cr_assert(chosen && !chosen->left_out && chosen->cost >= 0, "%s %s: not a candidate",
		  w->name, choice->param);
	cr_assert(chosen && chosen->cost <= least->cost * (1 + choice->margin),
		  "%s %s: %g, and the least cost is %g", w->name, choice->param, chosen->cost,
		  least->cost);
}

/** Chooses again, with a record. */
static void check_record(const workload_t *w, const workload_config_t *config,
			 workload_place_t place, const workload_config_t *chosen)
{
	workload_config_t again;
	place.explain = explain_new();
	cr_assert(place.explain);
	cr_assert_eq(w->choose(config, &place, &again), TSR_OK);
	cr_assert(memcmp(&again, chosen, sizeof again) == 0, "%s: a record changes the choice",
		  w->name);
	for (int i = 0; w->params[i].name; i++) {
		const workload_param_t *param = &w->params[i];
		const explain_choice_t *choice = explain_find(place.explain, param->name);
		if (param->problem || (!choice && bench_value_is_automatic(&again.value[i])))
			continue; /* the plan decides */
		cr_assert(choice && choice->rule[0], "%s: no reason for %s", w->name, param->name);
		cr_assert(choice && memcmp(&choice->chosen, &again.value[i],
					   sizeof choice->chosen) == 0,
			  "%s: another %s was recorded", w->name, param->name);
		if (choice)
			check_costs(w, choice);
	}
	explain_free(place.explain);
}

/** The fastest pattern is among those that were compared, on one node and on two. */
static void check_fastest(const workload_t *w, const workload_config_t *config,
			  workload_place_t place)
{
	for (place.nodes = 1; place.nodes <= 2; place.nodes++) {
		const workload_place_t unheard = place;
		explain_t *explain = place.explain = explain_new();
		cr_assert(explain);
		const int64_t pattern = w->fastest(config, &place);
		const explain_choice_t *choice = explain_find(explain, EXPLAIN_PATTERN);
		cr_assert_eq(w->fastest(config, &unheard), pattern);
		cr_assert(choice && choice->rule[0] && choice->chosen.x[0] == pattern &&
				  explain_chosen(choice),
			  "%s: no reason for %s", w->name, w->pattern(pattern));
		place.explain = NULL;
		explain_free(explain);
	}
}

/** Appends what is chosen for each number of ranks: values in the order of the parameters. */
static void append_choices(char *line, size_t size, const workload_t *w,
			   const workload_config_t *config, int device)
{
	for (int n = 0; n < WORLDS; n++) {
		const workload_place_t place = {
			.ranks = worlds[n],
			.device = &devices[device],
			.machine = machine_find(backends[device], devices[device].name)};
		workload_config_t chosen;
		size_t used = strlen(line);
		char separator = ' ';
		(void)snprintf(line + used, size - used, " ");
		if (config->pattern == WORKLOAD_FASTEST) {
			(void)snprintf(line + used, size - used, " %s",
				       w->pattern(w->fastest(config, &place)));
			if (!getenv("TSR_CHOICES"))
				check_fastest(w, config, place);
			continue;
		}
		if (w->check(config, worlds[n]) != TSR_OK ||
		    w->choose(config, &place, &chosen) != TSR_OK) {
			(void)snprintf(line + used, size - used, "  refused");
			continue;
		}
		if (!getenv("TSR_CHOICES"))
			check_record(w, config, place, &chosen);
		for (int i = 0; w->params[i].name; i++) {
			if (w->params[i].problem)
				continue;
			const int64_t *x = chosen.value[i].x;
			used = strlen(line);
			if (w->params[i].kind == WORKLOAD_SHAPE)
				(void)snprintf(line + used, size - used,
					       "%c%" PRId64 "x%" PRId64 "x%" PRId64, separator,
					       x[0], x[1], x[2]);
			else
				(void)snprintf(line + used, size - used, "%c%" PRId64, separator,
					       x[0]);
			separator = ',';
		}
	}
}

typedef struct line {
	char text[256];
} line_t;

/** What a golden file holds, and where every choice is written as well; null: nowhere. */
typedef struct choices {
	line_t *line;
	int count;
	FILE *all;
} choices_t;

static char *next_line(choices_t *choices)
{
	cr_assert(choices->count < MOST_LINES);
	return choices->line[choices->count++].text;
}

/** FNV-1a. */
static uint64_t digest(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/** All shapes and dtypes, of one pattern on one kind of device. */
static void collect(choices_t *choices, const workload_t *w, int64_t pattern, int device)
{
	const char *name = pattern == WORKLOAD_FASTEST ? "fastest" : w->pattern(pattern);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (int s = 0; s < SHAPES + RANDOM_SHAPES; s++)
		for (int d = 0; d < DTYPES; d++) {
			const workload_value_t shape = shape_at(s);
			const workload_config_t config = config_for(w, pattern, shape, dtypes[d]);
			line_t line;
			(void)snprintf(line.text, sizeof line.text,
				       "%s %s %" PRId64 "x%" PRId64 "x%" PRId64 " %s:",
				       backends[device], name, shape.x[0], shape.x[1], shape.x[2],
				       tsr_dtype_name(dtypes[d]));
			append_choices(line.text, sizeof line.text, w, &config, device);
			hash = digest(hash, line.text);
			if (s < SHAPES && dtypes[d] == TSR_BF16)
				memcpy(next_line(choices), line.text, sizeof line.text);
			if (choices->all)
				fprintf(choices->all, "%s\n", line.text);
		}
	(void)snprintf(next_line(choices), sizeof(line_t),
		       "%s %s, all %d shapes in all dtypes: %016" PRIx64, backends[device], name,
		       SHAPES + RANDOM_SHAPES, hash);
}

/** Opens `FOLDER/NAMEending` for writing. */
static FILE *create(const char *folder, const workload_t *w, const char *ending)
{
	char path[512];
	(void)snprintf(path, sizeof path, "%s/%s%s", folder, w->name, ending);
	FILE *file = fopen(path, "w");
	cr_assert(file, "cannot write %s", path);
	return file;
}

static void write_golden(FILE *file, const workload_t *w, const choices_t *choices)
{
	fprintf(file,
		"# What is chosen on 1, 2, 4 and 8 ranks, by backend, pattern, shape and dtype:");
	for (int i = 0; w->params[i].name; i++)
		if (!w->params[i].problem)
			fprintf(file, " %s", w->params[i].name);
	fprintf(file, ".\n# TSR_CHOICES=FOLDER tests/workloads/test_choices writes it anew.\n");
	for (int i = 0; i < choices->count; i++)
		fprintf(file, "%s\n", choices->line[i].text);
	fclose(file);
}

/** The next line that is no comment; false at the end. */
static bool read_line(FILE *file, char *line, size_t size)
{
	do
		if (!fgets(line, (int)size, file))
			return false;
	while (line[0] == '#');
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static void compare(const workload_t *w, const choices_t *choices)
{
	char path[512], line[256];
	int differ = 0, count = 0;
	(void)snprintf(path, sizeof path, "kernels/%s/golden/choices.txt", w->name);
	for (char *c = path; *c; c++)
		if (*c == '-')
			*c = '_';
	FILE *file = fopen(path, "r");
	cr_assert(file, "%s is missing: TSR_CHOICES=FOLDER writes it", path);
	for (; read_line(file, line, sizeof line); count++) {
		const char *now = count < choices->count ? choices->line[count].text : "nothing";
		if (strcmp(line, now) != 0 && differ++ < 10)
			cr_expect(false, "%s: not as before:\n  %s\n  %s", path, line, now);
	}
	cr_expect_eq(count, choices->count, "%s has %d lines, and there are %d", path, count,
		     choices->count);
	fclose(file);
}

static void try_workload(const workload_t *w)
{
	const char *folder = getenv("TSR_CHOICES");
	choices_t choices = {.line = calloc(MOST_LINES, sizeof(line_t))};
	cr_assert(choices.line);
	if (folder)
		choices.all = create(folder, w, "-all.txt");
	for (int64_t pattern = 0; w->pattern(pattern); pattern++)
		for (int device = 0; device < DEVICES; device++)
			collect(&choices, w, pattern, device);
	for (int device = 0; w->fastest && device < DEVICES; device++)
		collect(&choices, w, WORKLOAD_FASTEST, device);
	if (folder)
		write_golden(create(folder, w, ".txt"), w, &choices);
	else
		compare(w, &choices);
	if (choices.all)
		fclose(choices.all);
	free(choices.line);
}

Test(choices, are_what_they_were)
{
	const workload_t *w;
	int tried = 0;
	for (int i = 0; (w = workload_at(i)) != NULL; i++)
		if (w->choose && has_problem(w) && param_of(w, "dtype") >= 0) {
			try_workload(w);
			tried++;
		}
	cr_expect(tried > 0);
}

/*
 * Attention over ranks where the result is known exactly: without scores each
 * query gets the mean of all values, and beside a key whose score is far above
 * the others it gets that key's value. With no, one, 63, 64 and 65 positions a
 * rank, and after a second run, and in every pattern of one plan.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/host/matrices.h"
#include "kernels/workload.h"
#include "tools/bench/bench.h"
#include "world_test.h"

enum { HEADS = 3, DIM = 16, SEVEN = 7, MOST_MATRICES = 5 };

/** Positions of a rank; 0: one position in all, so that most ranks have none. */
static const int64_t lengths[] = {0, 1, 63, 64, 65};

enum { LENGTHS = sizeof lengths / sizeof *lengths };

static int set_value(tsr_world_t *world, const workload_t *w, workload_config_t *config,
		     const char *name, const char *text)
{
	int place = 0;
	while (w->params[place].name && strcmp(w->params[place].name, name) != 0)
		place++;
	CHECK(w->params[place].name, "%s has no --%s", w->name, name);
	CHECK(bench_value_parse(&w->params[place], text, &config->value[place]) == TSR_OK, "%s",
	      tsr_last_error());
	return 0;
}

/** A problem of f32, of three heads of 16 columns. */
static int make_config(tsr_world_t *world, const workload_t *w, int64_t sequence, const char *mask,
		       workload_config_t *config)
{
	char text[32];
	memset(config, 0, sizeof *config);
	for (int i = 0; w->params[i].name; i++)
		if (w->params[i].preset)
			CHECK(bench_value_parse(&w->params[i], w->params[i].preset,
						&config->value[i]) == TSR_OK);
	(void)snprintf(text, sizeof text, "%lld", (long long)sequence);
	return set_value(world, w, config, "sequence", text) ||
	       set_value(world, w, config, "heads", "3") ||
	       set_value(world, w, config, "dim", "16") ||
	       set_value(world, w, config, "dtype", "f32") ||
	       set_value(world, w, config, "mask", mask);
}

/** What stands in Q, K and V, all elements of a rank alike; `first`: K of position 0. */
typedef struct contents {
	float q, k, first, v;
} contents_t;

/** The parts of this rank, with their names and places. */
typedef struct parts {
	workload_matrix_t matrix[MOST_MATRICES];
	tsr_view_t view[MOST_MATRICES];
	int count;
} parts_t;

static void find_parts(tsr_world_t *world, const workload_t *w, const workload_config_t *config,
		       const workload_run_t *run, parts_t *parts)
{
	for (parts->count = 0; parts->count < MOST_MATRICES &&
			       w->matrix(config, parts->count, tsr_world_rank(world),
					 tsr_world_size(world), &parts->matrix[parts->count]);
	     parts->count++)
		parts->view[parts->count] = w->view(run, parts->count);
}

static int fill(tsr_world_t *world, const parts_t *parts, contents_t contents)
{
	for (int m = 0; m < parts->count; m++) {
		const workload_matrix_t *part = &parts->matrix[m];
		const int64_t elements = part->part_rows * part->part_cols;
		const float value = *part->name == 'Q'   ? contents.q
				    : *part->name == 'K' ? contents.k
							 : contents.v;
		float *dense = malloc((size_t)(elements + 1) * sizeof *dense);
		CHECK(dense);
		for (int64_t i = 0; i < elements; i++)
			dense[i] = value;
		/* position 0 is rank 0's first one: in the first row, or row by row in the first
		 * columns */
		if (*part->name == 'K' && tsr_world_rank(world) == 0)
			for (int64_t i = 0; i < elements; i++)
				if (part->rows == HEADS ? i % part->part_cols < DIM
							: i < part->part_cols)
					dense[i] = contents.first;
		if (elements > 0 && part->use == WORKLOAD_INPUT)
			CHECK(matrix_write_part(world, parts->view[m], dense) == TSR_OK);
		if (elements > 0 && part->use == WORKLOAD_OUTPUT)
			CHECK(matrix_poison(world, parts->view[m]) == TSR_OK);
		free(dense);
	}
	return 0;
}

/** All elements of an output are `wanted`, or at most one step of an f32 beside it. */
static int expect_all(tsr_world_t *world, const parts_t *parts, char name, double wanted)
{
	for (int m = 0; m < parts->count; m++) {
		const workload_matrix_t *part = &parts->matrix[m];
		const int64_t elements = part->part_rows * part->part_cols;
		if (*part->name != name || elements == 0)
			continue;
		float *dense = malloc((size_t)elements * sizeof *dense);
		CHECK(dense && matrix_read(world, parts->view[m], dense) == TSR_OK);
		for (int64_t i = 0; i < elements; i++)
			CHECK(fabs((double)dense[i] - wanted) <= 0x1p-22 * fabs(wanted),
			      "%c, element %lld: %.9g and not %.9g", name, (long long)i,
			      (double)dense[i], wanted);
		free(dense);
	}
	return 0;
}

static int run_with(tsr_world_t *world, const workload_t *w, const workload_config_t *config,
		    workload_run_t *run, contents_t contents, double output, double logarithm)
{
	parts_t parts;
	find_parts(world, w, config, run, &parts);
	for (int times = 0; times < 2; times++) {
		if (fill(world, &parts, contents))
			return 1;
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(w->start(run) == TSR_OK && w->sync(run) == TSR_OK, "%s", tsr_last_error());
		CHECK(tsr_barrier(world) == TSR_OK);
		if (expect_all(world, &parts, 'O', output) ||
		    expect_all(world, &parts, 'L', logarithm))
			return 1;
	}
	return 0;
}

/** The mean of each rank's number, over all positions. */
static double mean_rank(const workload_t *w, const workload_config_t *config, int ranks)
{
	double sum = 0, all = 0;
	workload_matrix_t part;
	for (int r = 0; r < ranks; r++) {
		(void)w->matrix(config, 0, r, ranks, &part);
		sum += (double)r * (double)part.part_rows;
		all += (double)part.part_rows;
	}
	return sum / all;
}

/** Both problems in every pattern of one plan. */
static int try_patterns(tsr_world_t *world, const workload_t *w, workload_config_t *config,
			int64_t sequence, bool causal)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	/* scores of 4 * 1000 are beyond what a factor of f32 can hold beside them */
	const contents_t level = {0, 1, 1, (float)rank},
			 steep = {1, 0, 1000, (float)(rank == 0 ? SEVEN : rank)};
	workload_run_t *run = NULL;
	int failed = 0;
	for (config->pattern = 0; !failed && w->pattern(config->pattern); config->pattern++) {
		CHECK((run ? w->reconfigure(run, config) : w->open(world, config, &run)) == TSR_OK,
		      "%s", tsr_last_error());
		if (!causal)
			failed = run_with(world, w, config, run, level, mean_rank(w, config, ranks),
					  log((double)sequence));
	}
	/* with fewer positions rank 0 need not have the first one */
	for (config->pattern = 0; !failed && sequence >= 2 * ranks && w->pattern(config->pattern);
	     config->pattern++) {
		CHECK(w->reconfigure(run, config) == TSR_OK, "%s", tsr_last_error());
		failed = run_with(world, w, config, run, steep, SEVEN, 4000);
	}
	CHECK(w->close(run, TSR_OK) == TSR_OK);
	return failed;
}

static int exact(tsr_world_t *world, int argc, char **argv)
{
	const workload_t *w;
	workload_config_t config;
	(void)argc;
	CHECK(workload_find(argv[1], &w) == TSR_OK);
	for (int l = 0; l < LENGTHS; l++)
		for (int causal = 0; causal < 2; causal++) {
			const int64_t sequence =
				lengths[l] > 0 ? lengths[l] * tsr_world_size(world) : 1;
			if (make_config(world, w, sequence, causal ? "causal" : "full", &config) ||
			    try_patterns(world, w, &config, sequence, causal))
				return 1;
		}
	return 0;
}

Test(exact, ring_attention)
{
	world_each(exact, "ring-attention");
}

Test(exact, ulysses)
{
	world_each(exact, "ulysses");
}

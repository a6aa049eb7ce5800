/*
 * Steps whose matrices do not fit, or that read what nobody has made: every
 * engine refuses the baseline, and says which step needs what.
 */
#include "tests/baseline/engines.h"

/** The same on every rank. */
enum { BAD_A, BAD_B, BAD_I, BAD_F, BAD_H, BAD_Y, BAD_Z, BAD_MATRICES };

static bool bad_matrix(const workload_config_t *config, int index, int rank, int ranks,
		       workload_matrix_t *matrix_out)
{
	static const workload_matrix_t matrices[BAD_MATRICES] = {
		[BAD_A] = {.name = "A", .rows = 4, .cols = 6},
		[BAD_B] = {.name = "B", .rows = 6, .cols = 5},
		[BAD_I] = {.name = "I", .rows = 3, .cols = 1},
		[BAD_F] = {.name = "F", .rows = 4, .cols = 1},
		[BAD_H] = {.name = "H", .rows = 4, .cols = 6},
		[BAD_Y] = {.name = "Y", .rows = 4, .cols = 5},
		[BAD_Z] = {.name = "Z", .rows = 4, .cols = 6}};
	(void)config;
	(void)rank;
	(void)ranks;
	if (index >= BAD_MATRICES)
		return false;
	*matrix_out = matrices[index];
	matrix_out->use = index < BAD_Y ? WORKLOAD_INPUT : WORKLOAD_OUTPUT;
	matrix_out->dtype = index == BAD_I ? TSR_I32 : index == BAD_H ? TSR_F16 : TSR_F32;
	matrix_out->part_rows = matrix_out->rows;
	matrix_out->part_cols = matrix_out->cols;
	return true;
}

static int64_t fewer_than_none(const workload_config_t *config, int source, int target, int ranks)
{
	(void)config;
	(void)ranks;
	return source == target ? 5 : -1; /* 4 in all */
}

static int64_t too_many(const workload_config_t *config, int source, int target, int ranks)
{
	(void)config;
	(void)target;
	(void)ranks;
	return source == 1 ? 3 : 1; /* 2 of rank 0, and 4 for it */
}

static int64_t too_few(const workload_config_t *config, int source, int target, int ranks)
{
	(void)config;
	(void)source;
	(void)ranks;
	return target == 1 ? 3 : 1; /* 4 of rank 0, and 2 for it */
}

static const struct {
	workload_step_t step;
	const char *words;
} bad_steps[] = {
	{{.op = WORKLOAD_PRODUCT, .from = BAD_A, .with = BAD_B, .to = BAD_Z}, "M x K times K x N"},
	{{.op = WORKLOAD_PRODUCT, .from = BAD_A, .with = BAD_H, .to = BAD_Y}, "of one dtype"},
	{{.op = WORKLOAD_ALL_GATHER, .from = BAD_A, .to = BAD_Z}, "room for the parts of all"},
	{{.op = WORKLOAD_REDUCE_SCATTER, .from = BAD_A, .to = BAD_Y}, "and whole rows of it"},
	{{.op = WORKLOAD_PLACE, .from = BAD_A, .with = BAD_A, .to = BAD_Z}, "the whole matrix"},
	{{.op = WORKLOAD_ALL_REDUCE, .from = BAD_A, .to = BAD_Y}, "one shape on every rank"},
	{{.op = WORKLOAD_ALL_REDUCE, .from = BAD_A, .to = BAD_B}, "neither an input"},
	{{.op = WORKLOAD_ALL_REDUCE, .from = BAD_Y, .to = BAD_Z}, "what earlier steps have made"},
	{{.op = WORKLOAD_PRODUCT, .from = BAD_Y, .with = BAD_B, .to = BAD_Z}, "have made"},
	{{.op = WORKLOAD_PRODUCT, .from = BAD_A, .with = BAD_Y, .to = BAD_Z}, "have made"},
	{{.op = WORKLOAD_ALL_REDUCE, .from = BAD_A, .to = BAD_MATRICES}, "that there are"},
	{{.op = WORKLOAD_ALL_REDUCE, .from = -1, .to = BAD_Z}, "that there are"},
	{{.op = WORKLOAD_ALL_REDUCE, .from = BAD_H, .to = BAD_Z}, "of one dtype"},
	{{.op = WORKLOAD_ALL_TO_ALL, .from = BAD_A, .to = BAD_Y}, "that fill the parts on rank 0"},
	{{.op = WORKLOAD_ALL_TO_ALL, .from = BAD_A, .to = BAD_Z, .rows = fewer_than_none},
	 "that fill the parts on rank 0"},
	{{.op = WORKLOAD_ALL_TO_ALL, .from = BAD_A, .to = BAD_Z, .rows = too_many},
	 "that fill the parts on rank 0"},
	{{.op = WORKLOAD_ALL_TO_ALL, .from = BAD_A, .to = BAD_Z, .rows = too_few},
	 "that fill the parts on rank 0"},
	{{.op = WORKLOAD_BROADCAST, .from = BAD_A, .to = BAD_Y}, "room for rank 0's part"},
	{{.op = WORKLOAD_COPY_ROWS, .from = BAD_A, .with = BAD_A, .to = BAD_Z}, "one i32 index"},
	{{.op = WORKLOAD_COPY_ROWS, .from = BAD_A, .with = BAD_F, .to = BAD_Z}, "one i32 index"},
	{{.op = WORKLOAD_COPY_ROWS, .from = BAD_A, .with = BAD_I, .to = BAD_Z}, "one i32 index"},
	{{.op = WORKLOAD_COPY_ROWS, .from = BAD_B, .with = BAD_I, .to = BAD_Y}, "one i32 index"},
	{{.op = (workload_op_t)77, .from = BAD_A, .to = BAD_Z}, "a step that baselines know"},
};
enum { BAD_STEPS = sizeof bad_steps / sizeof *bad_steps };

static int bad_baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	steps_out[0] = bad_steps[config->value[0].x[0]].step;
	steps_out[0].name = "bad-step";
	return 1;
}

static int refused(tsr_world_t *world, int argc, char **argv)
{
	static const workload_t bad = {
		.size = sizeof bad, .name = "bad", .matrix = bad_matrix, .baseline = bad_baseline};
	(void)argc;
	for (int i = 0; i < BAD_STEPS; i++) {
		workload_config_t config = {.value = {{{i}}}};
		const bench_task_t task = {&bad, &config, NULL};
		bench_baseline_t *b = NULL;
		CHECK(bench_baseline_open_by(engine_of(argv[1])->runs, world, &task, &b) ==
			      TSR_ERR_ARGUMENT,
		      "step %d", i);
		CHECK(!b && strstr(tsr_last_error(), bad_steps[i].words), "step %d: %s", i,
		      tsr_last_error());
		CHECK(strstr(tsr_last_error(), "step 1 of the baseline of bad, bad-step, needs ") &&
			      !strchr(tsr_last_error(), '\n'),
		      "step %d: %s", i, tsr_last_error());
	}
	return 0;
}

Test(steps, what_does_not_fit_is_refused)
{
	for (int i = 0; i < ENGINES; i++) {
		use_fakes(engines[i].vendor, "whole");
		cr_expect(world_run(2, TSR_PLACE_THREAD, refused, engines[i].word) == 0, "%s",
			  engines[i].word);
	}
}

/*
 * The baselines of GPUs, of both vendors, against libraries that compute on the
 * host (tests/fakes), in worlds of the emulator: the calls, the order of their
 * arguments, and what is said where something is missing. Whether the real
 * libraries do the same shows on a GPU only.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "bench/gpu/amd/libraries.h"
#include "bench/gpu/gpu.h"
#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"
#include "tests/baseline/engines.h"

/* ------------------------------------------------------------ a workload on the emulator */

typedef struct shape {
	int64_t m, n, k;
} shape_t;

/**
 * A workload that is open, and its baseline. Inputs are small whole numbers:
 * sums are exact.
 */
typedef struct fixture {
	const workload_t *workload;
	workload_config_t config;
	workload_run_t *run;
	workload_expected_t *expected;
	bench_baseline_t *baseline;
} fixture_t;

static const workload_inputs_t inputs = {.seed = 7, .integers = true};

/** A parameter by its name; false where the workload has none of this name. */
static bool set(fixture_t *f, const char *name, workload_value_t value)
{
	for (int i = 0; f->workload->params[i].name; i++)
		if (strcmp(f->workload->params[i].name, name) == 0) {
			f->config.value[i] = value;
			return true;
		}
	return false;
}

enum { MOST_FORMS = 16, SOME_SIZE = 6 };

/**
 * `form`: which values the numbers and names get that say what is computed, of
 * all combinations. A number of a wide range is a size, and decides nothing.
 * False where there are not so many.
 */
static bool configure(fixture_t *f, const workload_t *workload, shape_t shape, tsr_dtype_t dtype,
		      int form)
{
	memset(f, 0, sizeof *f);
	f->workload = workload;
	for (int i = 0; workload->params[i].name; i++) {
		const workload_param_t *param = &workload->params[i];
		const int64_t count = param->most - param->least + 1;
		if (!param->problem ||
		    (param->kind != WORKLOAD_NUMBER && param->kind != WORKLOAD_NAME))
			continue;
		f->config.value[i].x[0] =
			param->least + (count > MOST_FORMS ? SOME_SIZE : form % count);
		form /= (int)(count > MOST_FORMS ? 1 : count);
	}
	(void)set(f, "shape", (workload_value_t){{shape.m, shape.n, shape.k}});
	(void)set(f, "dtype", (workload_value_t){{dtype}});
	(void)set(f, "sums", (workload_value_t){{TSR_F32}});
	return form == 0;
}

/** The number-th matrix, and this rank's part of it. */
static bool part_of(const fixture_t *f, tsr_world_t *world, int number, workload_matrix_t *part_out)
{
	return f->workload->matrix(&f->config, number, tsr_world_rank(world), tsr_world_size(world),
				   part_out);
}

static tsr_status_t open_fixture(tsr_world_t *world, const engine_t *engine, fixture_t *f)
{
	workload_matrix_t part;
	tsr_status_t status = f->workload->open(world, &f->config, &f->run);
	for (int i = 0; status == TSR_OK && part_of(f, world, i, &part); i++)
		if (part.use == WORKLOAD_INPUT)
			status = inputs_fill(world, &inputs, &part, f->workload->view(f->run, i));
	if (status == TSR_OK)
		status = f->workload->expect(world, &f->config, &inputs, &f->expected);
	if (status != TSR_OK)
		return status;
	const bench_task_t task = {f->workload, &f->config, f->run};
	return bench_baseline_open_by(engine->runs, world, &task, &f->baseline);
}

static tsr_status_t close_fixture(fixture_t *f)
{
	f->expected->close(f->expected);
	tsr_status_t status = bench_baseline_close(f->baseline, false);
	return f->workload->close(f->run, status);
}

/* ------------------------------------------------------------ what the steps make is right */

/**
 * Times one thing, which can be missing only because a world of one rank has no
 * link.
 */
static int time_one(tsr_world_t *world, const fixture_t *f, bench_timed_t timed)
{
	uint64_t ns = 0;
	const char *missing = bench_baseline_missing(f->baseline, &timed);
	bool alone = tsr_world_size(world) == 1 && timed.push != BENCH_NO_PUSH;
	CHECK(alone ? missing && strstr(missing, "no link") : !missing, "%s",
	      missing ? missing : "a link to oneself");
	if (missing)
		return 0;
	CHECK(bench_baseline_time(f->baseline, &timed, &ns) == TSR_OK, "%s", tsr_last_error());
	CHECK(ns > 0 || timed.push == BENCH_PUSH_PAIR, "steps from %d on took no time",
	      timed.first);
	return 0;
}

/**
 * An output: before all steps have run it is NaN, and after them what it must
 * be.
 */
static int check_output(tsr_world_t *world, const fixture_t *f, int number, bool ran)
{
	workload_matrix_t part;
	verdict_t verdict;
	judge_t *judge;
	(void)part_of(f, world, number, &part);
	const int64_t elements = part.part_rows * part.part_cols;
	void *host = malloc((size_t)elements * tsr_dtype_bytes(part.dtype) + 1);
	CHECK(host && bench_baseline_read(f->baseline, number, host) == TSR_OK);
	CHECK(judge_create(f->expected, number, &part, true, &judge) == TSR_OK);
	judge_array(judge, host, &verdict);
	judge_destroy(judge);
	free(host);
	CHECK(verdict.wrong == (ran ? 0 : elements),
	      "%s: %d elements of %s are wrong %s, the first at (%d, %d): %g instead of %g",
	      f->workload->name, (int)verdict.wrong, part.name, ran ? "after all steps" : "before",
	      (int)verdict.row, (int)verdict.col, verdict.got, verdict.expected);
	return 0;
}

static int check_outputs(tsr_world_t *world, const fixture_t *f, bool ran)
{
	workload_matrix_t part;
	for (int i = 0; part_of(f, world, i, &part); i++)
		if (part.use == WORKLOAD_OUTPUT && check_output(world, f, i, ran))
			return 1;
	return 0;
}

static int check_steps(tsr_world_t *world, const engine_t *engine, fixture_t *f)
{
	int count;
	CHECK(open_fixture(world, engine, f) == TSR_OK, "%s", tsr_last_error());
	CHECK(strcmp(bench_baseline_name(f->baseline), engine->title) == 0, "%s",
	      bench_baseline_name(f->baseline));
	(void)bench_baseline_steps(f->baseline, &count);
	if (check_outputs(world, f, false))
		return 1;
	for (int i = 0; i < count; i++)
		if (time_one(world, f, (bench_timed_t){i, 1, BENCH_NO_PUSH}))
			return 1;
	if (time_one(world, f, (bench_timed_t){0, count, BENCH_NO_PUSH}) ||
	    time_one(world, f, (bench_timed_t){0, 0, BENCH_PUSH_PAIR}) ||
	    time_one(world, f, (bench_timed_t){0, 0, BENCH_PUSH_ALL}) ||
	    check_outputs(world, f, count > 0))
		return 1;
	CHECK(close_fixture(f) == TSR_OK, "%s", tsr_last_error());
	return 0;
}

static bool has_shape(const workload_t *workload)
{
	int i = 0;
	while (workload->params[i].name && strcmp(workload->params[i].name, "shape") != 0)
		i++;
	return workload->params[i].name != NULL;
}

/** Shares of one size, of two sizes, and empty ones, of columns, rows and K. */
static int steps_of_all_workloads(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{31, 60, 17}, {30, 73, 60}, {2, 2, 2}};
	static const tsr_dtype_t dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};
	const engine_t *engine = engine_of(argv[1]);
	const workload_t *workload;
	fixture_t f;
	(void)argc;
	for (int w = 0; (workload = workload_at(w)) != NULL; w++)
		for (int i = 0; workload->baseline && i < (has_shape(workload) ? 9 : 3); i++)
			for (int form = 0;
			     configure(&f, workload, shapes[i / 3], dtypes[i % 3], form); form++)
				if (workload->check(&f.config, tsr_world_size(world)) == TSR_OK &&
				    check_steps(world, engine, &f))
					return 1;
	return 0;
}

Test(gpu, cublas_and_nccl_run_the_steps_of_all_workloads)
{
	use_fakes("nvidia", "whole");
	world_each(steps_of_all_workloads, "nvidia");
}

Test(gpu, hipblaslt_and_rccl_run_the_steps_of_all_workloads)
{
	use_fakes("amd", "whole");
	world_each(steps_of_all_workloads, "amd");
}

/**
 * GEMM + all-scatter, small: its steps are a product, an all-gather and the
 * places of columns.
 */
static tsr_status_t open_small(tsr_world_t *world, const engine_t *engine, fixture_t *f)
{
	const workload_t *workload;
	tsr_status_t status = workload_find("gemm-all-scatter", &workload);
	if (status != TSR_OK)
		return status;
	(void)configure(f, workload, (shape_t){16, 16, 16}, TSR_BF16, 0);
	return open_fixture(world, engine, f);
}

/** The heap of an AMD GPU is of a kind of memory that a user's matrices are not in. */
static int expect_copies(tsr_world_t *world, int argc, char **argv)
{
	const engine_t *engine = engine_of(argv[1]);
	workload_matrix_t part;
	fixture_t f;
	(void)argc;
	CHECK(open_small(world, engine, &f) == TSR_OK);
	const bench_gpu_t *gpu = f.baseline->state;
	for (int i = 0; part_of(&f, world, i, &part); i++) {
		const bool is_input = part.use == WORKLOAD_INPUT;
		const bool is_copied = gpu->memory[i] && gpu->matrix[i] == gpu->memory[i];
		CHECK(!is_input || is_copied == (engine->runs == &bench_hipblaslt_rccl), "%s",
		      part.name);
	}
	return close_fixture(&f) == TSR_OK ? 0 : 1;
}

Test(gpu, inputs_are_in_memory_as_a_users_are)
{
	for (int i = 0; i < GPU_ENGINES; i++) {
		use_fakes(engines[i].vendor, "whole");
		cr_expect(world_run(2, TSR_PLACE_THREAD, expect_copies, engines[i].word) == 0);
	}
}

/* ------------------------------------------------------------ what the pushes write */

static int pushes(tsr_world_t *world, int argc, char **argv)
{
	fixture_t f;
	uint64_t ns;
	int size = tsr_world_size(world), rank = tsr_world_rank(world);
	(void)argc;
	CHECK(open_small(world, engine_of(argv[1]), &f) == TSR_OK);
	size_t bytes = bench_baseline_push_bytes(f.baseline);
	CHECK(bytes > 0 && bytes * (size_t)size <= ENGINES_HEAP_BYTES, "%zu bytes", bytes);
	CHECK(tsr_memset_heap(world, f.baseline->pushed, 0, bytes * (size_t)size) == TSR_OK);
	for (int all = 0; all < 2; all++) {
		const bench_timed_t timed = {0, 0, all ? BENCH_PUSH_ALL : BENCH_PUSH_PAIR};
		unsigned char ends[2];
		CHECK(bench_baseline_time(f.baseline, &timed, &ns) == TSR_OK);
		CHECK(all || (ns > 0) == (rank == 0));
		CHECK(tsr_barrier(world) == TSR_OK);
		for (int from = 0; from < size; from++) {
			char *piece = (char *)(uintptr_t)f.baseline->pushed + (size_t)from * bytes;
			bool wanted = from != rank && (all || (from == 0 && rank == 1));
			ends[0] = (unsigned char)piece[0];
			ends[1] = (unsigned char)piece[bytes - 1];
			CHECK(ends[0] == (wanted ? 0x5a : 0) && ends[1] == ends[0],
			      "from %d: %d, %d", from, ends[0], ends[1]);
		}
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return close_fixture(&f) == TSR_OK ? 0 : 1;
}

Test(gpu, stores_reach_the_right_ranks)
{
	for (int i = 0; i < GPU_ENGINES; i++) {
		use_fakes(engines[i].vendor, "whole");
#ifndef WORLD_THREADS_ONLY
		cr_expect(world_run(3, TSR_PLACE_PROCESS, pushes, engines[i].word) == 0);
#endif
		cr_expect(world_run(3, TSR_PLACE_THREAD, pushes, engines[i].word) == 0);
	}
}

/* ------------------------------------------------------------ what is missing */

/*
 * What is timed: product, all-gather, both, these and the places of columns,
 * and stores.
 */
enum { TIMED = 6, FIRST_PUSH = 4 };
static const bench_timed_t timed[TIMED] = {
	{0, 1, BENCH_NO_PUSH}, {1, 1, BENCH_NO_PUSH},   {0, 2, BENCH_NO_PUSH},
	{0, 3, BENCH_NO_PUSH}, {0, 0, BENCH_PUSH_PAIR}, {0, 0, BENCH_PUSH_ALL},
};

/**
 * argv[1]: the vendor, a blank, which steps are missing, one character each
 * (x missing, - there), a blank, and words of the sentence.
 */
static int lacks(tsr_world_t *world, int argc, char **argv)
{
	const char *steps = strchr(argv[1], ' ') + 1;
	fixture_t f;
	(void)argc;
	CHECK(open_small(world, engine_of(argv[1]), &f) == TSR_OK);
	for (int step = 0; step < TIMED; step++) {
		uint64_t ns;
		const char *missing = bench_baseline_missing(f.baseline, &timed[step]);
		CHECK((missing != NULL) == (steps[step] == 'x'), "step %d: %s", step,
		      missing ? missing : "there");
		tsr_status_t status = bench_baseline_time(f.baseline, &timed[step], &ns);
		CHECK(status == (missing ? TSR_ERR_UNSUPPORTED : TSR_OK), "step %d: %s", step,
		      tsr_status_name(status));
		CHECK(!missing || strstr(missing, steps + TIMED + 1), "%s", missing);
		CHECK(!missing || !strchr(missing, '\n'), "%s", missing);
	}
	return close_fixture(&f) == TSR_OK ? 0 : 1;
}

static void expect_lack(const char *set, const char *variable, const char *what)
{
	use_fakes(engine_of(what)->vendor, set);
	if (variable)
		(void)setenv(variable, "1", 1);
#ifndef WORLD_THREADS_ONLY
	cr_expect(world_run(2, TSR_PLACE_PROCESS, lacks, what) == 0, "%s", what);
#endif
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks, what) == 0, "%s, as threads", what);
	if (variable)
		(void)unsetenv(variable);
}

Test(gpu, what_is_missing_is_said_and_the_rest_goes_on)
{
	expect_lack("no_collectives", NULL, "nvidia -xxx-- the NCCL here has no nccl");
	expect_lack("no_products", NULL, "nvidia x-xx-- the cuBLAS here has no cublas");
	expect_lack("whole", "FAKE_ONE_GPU", "nvidia -xxxxx and NCCL takes one rank a GPU");
	expect_lack("whole", "FAKE_NO_MEMORY", "nvidia xxxxxx out of memory); see nvidia-smi");
}

Test(gpu, what_is_missing_of_amd_is_said_and_the_rest_goes_on)
{
	expect_lack("no_runtime", NULL, "amd xxxxxx the HIP runtime here has no hip");
	expect_lack("no_collectives", NULL, "amd -xxx-- the RCCL here has no nccl");
	expect_lack("no_products", NULL, "amd x-xx-- the hipBLASLt here has no hipblasLt");
	expect_lack("whole", "FAKE_OLD_BLAS", "amd x-xx-- is version 0.3.0, which names types");
	expect_lack("whole", "FAKE_NO_ALGORITHM", "amd x-xx-- no algorithm for 16 x 8 x 16 here");
	expect_lack("whole", "FAKE_NO_COMPILER", "amd ----xx hiprtcCompileProgram failed on the");
	expect_lack("whole", "FAKE_ONE_GPU", "amd -xxxxx and RCCL takes one rank a GPU");
	expect_lack("whole", "FAKE_NO_MEMORY", "amd xxxxxx out of memory); see rocm-smi");
}

static tsr_view_t no_view(const workload_run_t *run, int matrix)
{
	(void)run;
	(void)matrix;
	return (tsr_view_t){.dtype = TSR_F64};
}

/** A dtype that no library takes: the stores are measured all the same. */
static int other_dtype(tsr_world_t *world, int argc, char **argv)
{
	const workload_t *workload;
	fixture_t f;
	bench_baseline_t *baseline;
	(void)argc;
	CHECK(workload_find("gemm-all-scatter", &workload) == TSR_OK);
	(void)configure(&f, workload, (shape_t){16, 16, 16}, TSR_F64, 0);
	workload_t blind = *workload;
	blind.view = no_view;
	const bench_task_t task = {&blind, &f.config, NULL};
	CHECK(bench_baseline_open_by(engine_of(argv[1])->runs, world, &task, &baseline) == TSR_OK);
	for (int step = 0; step < TIMED; step++) {
		uint64_t ns;
		const char *missing = bench_baseline_missing(baseline, &timed[step]);
		CHECK((missing != NULL) == (step < FIRST_PUSH), "step %d: %s", step,
		      missing ? missing : "there");
		CHECK(!missing || strstr(missing, "bf16, f16 and f32, and not for f64"), "%s",
		      missing);
		tsr_status_t status = bench_baseline_time(baseline, &timed[step], &ns);
		CHECK(status == (missing ? TSR_ERR_UNSUPPORTED : TSR_OK), "step %d: %s", step,
		      tsr_status_name(status));
	}
	return bench_baseline_close(baseline, false) == TSR_OK ? 0 : 1;
}

Test(gpu, a_dtype_that_the_libraries_do_not_take)
{
	for (int i = 0; i < GPU_ENGINES; i++) {
		use_fakes(engines[i].vendor, "whole");
		cr_expect(world_run(2, TSR_PLACE_THREAD, other_dtype, engines[i].word) == 0);
	}
}

/* ------------------------------------------------------------ finding what a backend has */

Test(gpu, each_backend_has_its_vendors_libraries)
{
	cr_expect(bench_engine_of("cuda") == &bench_cublas_nccl);
	cr_expect(bench_engine_of("cpuemu") == &bench_openblas);
	cr_expect(bench_engine_of("abacus") == NULL);
	/* HIP's NVIDIA platform, if the build is for that, has NVIDIA's. */
	cr_expect(bench_engine_of("hip") == &bench_hipblaslt_rccl ||
		  bench_engine_of("hip") == &bench_cublas_nccl);
}

/**
 * In a process with a HIP runtime, of the backend or of a framework, another
 * copy is not loaded.
 */
Test(gpu, the_runtime_that_is_loaded_is_taken)
{
	char path[PATH_MAX], sentence[BENCH_SENTENCE] = "";
	bench_hip_t hip;
	use_fakes("amd", "no_runtime");
	cr_assert(!bench_library_find(&bench_hip_library, &hip, sentence));
	(void)snprintf(path, sizeof path, "%s/tests/fakes/amd/loaded/libamdhip64.so",
		       getenv("BUILD"));
	cr_assert(dlopen(path, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
	cr_assert(bench_library_find(&bench_hip_library, &hip, sentence), "%s", sentence);
}

Test(gpu, a_library_that_is_nowhere_is_one_sentence)
{
	static const bench_entry_t entries[] = {{"nothing", 0}, BENCH_LAST_ENTRY};
	const bench_library_t library = {.what = "such library",
					 .cure = "install it",
					 .names = {"libtessera-has-no-such.so.7", "libnor-this.so"},
					 .places = bench_hip_library.places,
					 .entries = entries};
	void *table[1] = {NULL};
	char sentence[BENCH_SENTENCE] = "";
	cr_assert(!bench_library_find(&library, table, sentence));
	cr_assert(strstr(sentence, "there is no such library here: libtessera-has-no-such.so.7"),
		  "%s", sentence);
	cr_assert(strstr(sentence, "install it") && !strchr(sentence, '\n'), "%s", sentence);
	cr_assert(!table[0]);

	/* One that is there, and is none. */
	char folder[] = "/tmp/tessera-test-XXXXXX", path[PATH_MAX];
	cr_assert(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/%s", folder, library.names[0]);
	FILE *file = fopen(path, "w");
	cr_assert(file && fclose(file) == 0);
	(void)setenv("LD_LIBRARY_PATH", folder, 1);
	cr_assert(!bench_library_find(&library, table, sentence));
	cr_assert(strstr(sentence, "cannot be loaded (") && strstr(sentence, path), "%s", sentence);
	cr_assert(unlink(path) == 0 && rmdir(folder) == 0);
}

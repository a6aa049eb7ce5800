/*
 * The baseline of GPUs against libraries that compute on the host
 * (tests/fakes), in worlds of the emulator: the calls, the order of their
 * arguments, and what is said where something is missing. Whether the real
 * libraries do the same shows on a GPU only.
 */
#include <limits.h>
#include <unistd.h>

#include "bench/internal.h"
#include "bench/library.h"
#include "kernels/gemm_all_scatter/config.h"
#include "kernels/gemm_all_scatter/verify.h"
#include "world_test.h"

/** The fakes stand first in the folders that are searched; `set` names one of their folders. */
static void use_fakes(const char *set)
{
	char path[PATH_MAX];
	const char *build = getenv("BUILD");
	cr_assert(build,
		  "BUILD must name the folder of the build: scons test, and ci/run-tests, set it");
	(void)snprintf(path, sizeof path, "%s/tests/fakes/%s", build, set);
	(void)setenv("LD_LIBRARY_PATH", path, 1);
	(void)setenv("TESSERA_BACKEND", "cpuemu", 1);
	/* less than the stores want: they take what there is */
	(void)setenv("TESSERA_HEAP_SIZE", "4M", 1);
}

/** A rank's baseline over a plan's A and B. */
typedef struct fixture {
	gas_plan_t *plan;
	workload_config_t config;
	bench_baseline_t *baseline;
} fixture_t;

static const workload_inputs_t inputs = {.seed = 7};

/** What is timed: product, all-gather, both, these and the places of columns, and stores. */
enum { TIMED = 6, FIRST_PUSH = 4 };
static const bench_timed_t timed[TIMED] = {
	{0, 1, BENCH_NO_PUSH}, {1, 1, BENCH_NO_PUSH},   {0, 2, BENCH_NO_PUSH},
	{0, 3, BENCH_NO_PUSH}, {0, 0, BENCH_PUSH_PAIR}, {0, 0, BENCH_PUSH_ALL},
};

static tsr_status_t fixture_open(tsr_world_t *world, const gas_config_t *config, fixture_t *f)
{
	*f = (fixture_t){.config = gas_workload_config(config)};
	tsr_status_t status = gas_plan_create(world, config, &f->plan);
	if (status == TSR_OK)
		status = gas_plan_fill(f->plan, world, &inputs);
	if (status != TSR_OK)
		return status;
	const bench_task_t task = {&gemm_all_scatter, &f->config, (workload_run_t *)f->plan};
	return bench_baseline_open_by(&bench_cublas_nccl, world, &task, &f->baseline);
}

static tsr_status_t fixture_close(fixture_t *f)
{
	tsr_status_t status = bench_baseline_close(f->baseline, false);
	return status == TSR_OK ? gas_plan_destroy(f->plan) : status;
}

/* ---------------------------------------------------------------- the product is right */

static int32_t count_nans(const gas_config_t *config, const void *c)
{
	int32_t nans = 0;
	for (int64_t i = 0; i < config->m * config->n; i++)
		nans += tsr_dtype_get(config->dtype, c, (size_t)i) !=
			tsr_dtype_get(config->dtype, c, (size_t)i);
	return nans;
}

static int check_product(tsr_world_t *world, const gas_config_t *config)
{
	fixture_t f;
	gas_reference_t *reference;
	verdict_t verdict;
	void *c = malloc((size_t)(config->m * config->n) * tsr_dtype_bytes(config->dtype));
	CHECK(c && gas_reference_create(world, config, &inputs, &reference) == TSR_OK);
	CHECK(fixture_open(world, config, &f) == TSR_OK);
	CHECK(strcmp(bench_baseline_name(f.baseline), "cuBLAS 13.1.2 + NCCL 2.28.9") == 0, "%s",
	      bench_baseline_name(f.baseline));
	CHECK(bench_baseline_read(f.baseline, GAS_C, c) == TSR_OK);
	CHECK(count_nans(config, c) == config->m * config->n, "C was not poisoned");
	for (int step = 0; step < TIMED; step++) {
		uint64_t ns = 0;
		const char *missing = bench_baseline_missing(f.baseline, &timed[step]);
		bool alone = tsr_world_size(world) == 1 && step >= FIRST_PUSH;
		CHECK(alone ? missing && strstr(missing, "no link") : !missing, "%s",
		      missing ? missing : "a link to oneself");
		if (!missing)
			CHECK(bench_baseline_time(f.baseline, &timed[step], &ns) == TSR_OK,
			      "step %d", step);
		if (step < FIRST_PUSH)
			CHECK(ns > 0, "step %d took no time", step);
	}
	CHECK(bench_baseline_read(f.baseline, GAS_C, c) == TSR_OK);
	gas_reference_judge(reference, c, &verdict);
	CHECK(verdict.wrong == 0, "%d elements are wrong, the first at (%d, %d): %g instead of %g",
	      (int)verdict.wrong, (int)verdict.row, (int)verdict.col, verdict.got,
	      verdict.expected);
	CHECK(fixture_close(&f) == TSR_OK);
	gas_reference_destroy(reference);
	free(c);
	return 0;
}

/** Shares of one size, of two, and empty ones. */
static int products(tsr_world_t *world, int argc, char **argv)
{
	static const int64_t columns[] = {60, 73, 2};
	static const tsr_dtype_t dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++) {
			const gas_config_t config = {
				.m = 31, .n = columns[i], .k = 17, .dtype = dtypes[j]};
			if (check_product(world, &config))
				return 1;
		}
	return 0;
}

Test(cublas_nccl, products_are_right_in_every_world)
{
	use_fakes("whole");
	world_each(products, NULL);
}

/* ---------------------------------------------------------------- what the pushes write */

static int pushes(tsr_world_t *world, int argc, char **argv)
{
	const gas_config_t config = {.m = 16, .n = 16, .k = 16, .dtype = TSR_F32};
	fixture_t f;
	uint64_t ns;
	int size = tsr_world_size(world), rank = tsr_world_rank(world);
	(void)argc;
	(void)argv;
	CHECK(fixture_open(world, &config, &f) == TSR_OK);
	size_t bytes = bench_baseline_push_bytes(f.baseline);
	CHECK(bytes > 0 && bytes * (size_t)size <= 4u << 20, "%zu bytes", bytes);
	CHECK(tsr_memset_heap(world, f.baseline->pushed, 0, bytes * (size_t)size) == TSR_OK);
	for (int all = 0; all < 2; all++) {
		unsigned char ends[2];
		CHECK(bench_baseline_time(f.baseline, &timed[FIRST_PUSH + all], &ns) == TSR_OK);
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
	return fixture_close(&f) == TSR_OK ? 0 : 1;
}

Test(cublas_nccl, stores_reach_the_right_ranks)
{
	use_fakes("whole");
#ifndef WORLD_THREADS_ONLY
	cr_expect(world_run(3, TSR_PLACE_PROCESS, pushes, NULL) == 0);
#endif
	cr_expect(world_run(3, TSR_PLACE_THREAD, pushes, NULL) == 0);
}

/* ---------------------------------------------------------------- what is missing */

/**
 * argv[1]: which steps are missing, one character each (x missing, - there), a
 * blank, and words of the sentence.
 */
static int lacks(tsr_world_t *world, int argc, char **argv)
{
	const gas_config_t config = {.m = 16, .n = 16, .k = 16, .dtype = TSR_BF16};
	fixture_t f;
	(void)argc;
	CHECK(fixture_open(world, &config, &f) == TSR_OK);
	for (int step = 0; step < TIMED; step++) {
		uint64_t ns;
		const char *missing = bench_baseline_missing(f.baseline, &timed[step]);
		CHECK((missing != NULL) == (argv[1][step] == 'x'), "step %d: %s", step,
		      missing ? missing : "there");
		tsr_status_t status = bench_baseline_time(f.baseline, &timed[step], &ns);
		CHECK(status == (missing ? TSR_ERR_UNSUPPORTED : TSR_OK), "step %d: %s", step,
		      tsr_status_name(status));
		CHECK(!missing || strstr(missing, argv[1] + TIMED + 1), "%s", missing);
	}
	return fixture_close(&f) == TSR_OK ? 0 : 1;
}

static void expect_lack(const char *fakes, const char *variable, const char *what)
{
	use_fakes(fakes);
	if (variable)
		(void)setenv(variable, "1", 1);
#ifndef WORLD_THREADS_ONLY
	cr_expect(world_run(2, TSR_PLACE_PROCESS, lacks, what) == 0, "%s", what);
#endif
	cr_expect(world_run(2, TSR_PLACE_THREAD, lacks, what) == 0, "%s, as threads", what);
	if (variable)
		(void)unsetenv(variable);
}

Test(cublas_nccl, what_is_missing_is_said_and_the_rest_goes_on)
{
	expect_lack("no_nccl", NULL, "-xxx-- the NCCL here has no nccl");
	expect_lack("no_cublas", NULL, "x-xx-- the cuBLAS here has no cublas");
	expect_lack("whole", "FAKE_ONE_GPU", "-xxxxx ranks 0 and 1 share the GPU");
	expect_lack("whole", "FAKE_NO_MEMORY", "xxxxxx out of memory");
}

static tsr_view_t no_view(const workload_run_t *run, int matrix)
{
	(void)run;
	(void)matrix;
	return (tsr_view_t){.dtype = TSR_F64};
}

/** A dtype that neither library takes: the stores are measured all the same. */
static int other_dtype(tsr_world_t *world, int argc, char **argv)
{
	const workload_config_t config =
		gas_workload_config(&(gas_config_t){.m = 16, .n = 16, .k = 16, .dtype = TSR_F64});
	workload_t workload = gemm_all_scatter;
	workload.view = no_view;
	const bench_task_t task = {&workload, &config, NULL};
	bench_baseline_t *baseline;
	(void)argc;
	(void)argv;
	CHECK(bench_baseline_open_by(&bench_cublas_nccl, world, &task, &baseline) == TSR_OK);
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

Test(cublas_nccl, a_dtype_that_the_libraries_do_not_take)
{
	use_fakes("whole");
	cr_expect(world_run(2, TSR_PLACE_THREAD, other_dtype, NULL) == 0);
}

Test(cublas_nccl, a_library_that_is_nowhere_is_one_sentence)
{
	static const char *const names[] = {"libtessera-has-no-such.so.7", "libnor-this.so", NULL};
	static const bench_entry_t entry = {"nothing", 0};
	const bench_library_t library = {"such library", "install it", names, &entry, 1};
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
	(void)snprintf(path, sizeof path, "%s/%s", folder, names[0]);
	FILE *file = fopen(path, "w");
	cr_assert(file && fclose(file) == 0);
	(void)setenv("LD_LIBRARY_PATH", folder, 1);
	cr_assert(!bench_library_find(&library, table, sentence));
	cr_assert(strstr(sentence, "cannot be loaded (") && strstr(sentence, path), "%s", sentence);
	cr_assert(unlink(path) == 0 && rmdir(folder) == 0);
}

/*
 * Litmus tests as PTX: each access by its instructions, in the test's order,
 * with nothing that touches memory between; a text that the compiler of the
 * toolkit takes, where there is one; and the driver's part, against a driver
 * that is none (tests/fakes).
 */
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <unistd.h>

#include "tools/litmus/ptx/lanes.h"
#include "world_test.h"

enum { TEXT_BYTES = 1 << 17, EVERY = 10 /* of the oracle's tests */, MOST_SKIPPED = 20 };

/* ---------------------------------------------------------------- tests to look at */

typedef void (*visit_fn)(const litmus_plan_t *plan, const char *text, int device, void *context);

/** Called for each device of a test; returns whether it is one that is run. */
static bool visit_test(const char *source, const char *text, visit_fn visit, void *context)
{
	litmus_test_t *test = calloc(1, sizeof *test);
	litmus_plan_t *plan = calloc(1, sizeof *plan);
	char *ptx;

	cr_assert(test && plan);
	cr_assert_eq(litmus_parse(source, text, test), TSR_OK, "%s", tsr_last_error());
	bool planned = litmus_plan(test, plan) == TSR_OK;
	for (int d = 0; planned && d < plan->devices; d++) {
		cr_assert_eq(litmus_ptx(plan, d, &ptx), TSR_OK, "%s", tsr_last_error());
		visit(plan, ptx, d, context);
		free(ptx);
	}
	free(plan);
	free(test);
	return planned;
}

static void read_file(const char *path, char *text)
{
	FILE *file = fopen(path, "r");

	cr_assert(file != NULL, "cannot read %s", path);
	text[fread(text, 1, TEXT_BYTES - 1, file)] = '\0';
	(void)fclose(file);
}

static int visit_suite(visit_fn visit, void *context)
{
	static char text[TEXT_BYTES];
	char path[512];
	int count = 0;
	DIR *dir = opendir("tests/litmus");

	cr_assert(dir != NULL, "tests run where the sources are");
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (!strstr(entry->d_name, ".litmus"))
			continue;
		(void)snprintf(path, sizeof path, "tests/litmus/%.200s", entry->d_name);
		read_file(path, text);
		cr_assert(visit_test(path, text, visit, context), "%s", tsr_last_error());
		count++;
	}
	(void)closedir(dir);
	return count;
}

static int visit_oracle(visit_fn visit, void *context)
{
	FILE *file = fopen("model/memory/oracle/litmus.jsonl", "r");
	char *line = NULL;
	size_t room = 0;
	int count = 0;

	cr_assert(file != NULL);
	for (int n = 0; getline(&line, &room, file) > 0; n++) {
		if (n % EVERY)
			continue;
		json_t *one = json_loads(line, 0, NULL);
		count += visit_test("oracle", json_string_value(json_object_get(one, "litmus")),
				    visit, context);
		json_decref(one);
	}
	free(line);
	(void)fclose(file);
	return count;
}

/* ---------------------------------------------------------------- structure */

static bool touches_memory(const char *line)
{
	static const char *const words[] = {"ld.", "st.", "atom.", "red.", "fence.", "bar."};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(line, words[i], strlen(words[i])) == 0 &&
		    strncmp(line, "ld.param", 8) != 0)
			return true;
	return false;
}

/**
 * The next line's instruction that touches memory, without operands; "" where
 * the code of the thread ends.
 */
static const char *next_access(const char **at, char *word, size_t size)
{
	while (**at && strncmp(*at, "\tst.weak.b64 [%word]", 20) != 0 &&
	       strncmp(*at, "\tadd.u32 %i,", 12) != 0) {
		const char *line = *at + strspn(*at, "\t");
		*at = strchr(*at, '\n') + 1;
		if (touches_memory(line)) {
			(void)snprintf(word, size, "%.*s", (int)strcspn(line, " ;"), line);
			return word;
		}
	}
	return "";
}

static void check_thread(const litmus_plan_t *plan, const litmus_run_args_t *part, const char *text,
			 int thread)
{
	char name[32], expected[96], word[64];

	(void)snprintf(name, sizeof name, "thread_%d:", thread);
	const char *at = strstr(text, name);
	cr_assert(at != NULL);
	at = strstr(at, "step_0:");
	for (int i = 0; i < part->steps[thread]; i++) {
		const litmus_run_step_t *step = &part->step[thread][i];
		if (step->op == LITMUS_RUN_MOVE || step->op == LITMUS_RUN_JUMP)
			continue;
		cr_assert(litmus_ptx_access(step, expected, sizeof expected) != NULL, "%s",
			  plan->test->name);
		char *rest = NULL;
		for (const char *one = strtok_r(expected, "; ", &rest); one;
		     one = strtok_r(NULL, "; ", &rest))
			cr_assert_str_eq(next_access(&at, word, sizeof word), one,
					 "%s, thread %d, step %d", plan->test->name, thread, i);
	}
	cr_assert_str_eq(next_access(&at, word, sizeof word), "", "%s, thread %d", plan->test->name,
			 thread);
}

static void check_structure(const litmus_plan_t *plan, const char *text, int device, void *context)
{
	const litmus_ptx_shape_t shape = litmus_ptx_shape(plan);

	(void)context;
	cr_assert(shape.lanes >= 32 && (shape.lanes & (shape.lanes - 1)) == 0 &&
		  shape.threads % shape.lanes == 0 && shape.threads <= LITMUS_PTX_THREADS);
	for (int t = 0; t < plan->test->threads; t++)
		if (plan->device[t] == device)
			check_thread(plan, &plan->args[device], text, t);
}

Test(litmus_ptx, accesses_follow_each_other_as_the_test_has_them)
{
	cr_assert(visit_suite(check_structure, NULL) > 100);
	cr_assert(visit_oracle(check_structure, NULL) > 200 - MOST_SKIPPED);
}

Test(litmus_ptx, an_access_is_its_instructions)
{
	static const struct {
		litmus_run_step_t step;
		const char *text;
	} cases[] = {
		{{.op = LITMUS_RUN_LOAD, .order = LITMUS_RUN_SEQ_CST, .scope = LITMUS_RUN_SYSTEM},
		 "fence.sc.sys; ld.acquire.sys.b64"},
		{{.op = LITMUS_RUN_STORE, .order = LITMUS_RUN_RELEASE, .scope = LITMUS_RUN_DEVICE},
		 "st.release.gpu.b64"},
		{{.op = LITMUS_RUN_STORE, .order = LITMUS_RUN_PLAIN}, "st.weak.b64"},
		{{.op = LITMUS_RUN_XCHG, .order = LITMUS_RUN_RELAXED, .scope = LITMUS_RUN_BLOCK},
		 "atom.exch.relaxed.cta.b64"},
		{{.op = LITMUS_RUN_CAS,
		  .order = LITMUS_RUN_RELEASE,
		  .failure = LITMUS_RUN_ACQUIRE,
		  .scope = LITMUS_RUN_SYSTEM},
		 "atom.cas.acq_rel.sys.b64"},
		{{.op = LITMUS_RUN_LOAD, .order = LITMUS_RUN_RELEASE, .scope = LITMUS_RUN_SYSTEM},
		 NULL},
	};
	char text[96];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *found = litmus_ptx_access(&cases[i].step, text, sizeof text);
		cr_assert((found == NULL) == (cases[i].text == NULL), "case %zu", i);
		if (found)
			cr_assert_str_eq(found, cases[i].text);
	}
	cr_expect(litmus_ptx_access(&cases[0].step, text, 16) == NULL);
}

/* ------------------------------------------------------------ what a compiler would see through */

static void check_dependency(const litmus_plan_t *plan, const char *text, int device, void *context)
{
	(void)plan, (void)device;
	*(int *)context += strstr(text, "add.s64 %u, %u, %zero;\n\txor.b64 %v, %v, %u;") != NULL;
	*(int *)context += strstr(text, "add.s64 %v, %v, %zero;\n\tand.b64 %v, %v, %u;") != NULL;
}

Test(litmus_ptx, what_is_zero_whatever_was_read_still_depends_on_it)
{
	static const char text[] = "LISA t\n{ }\n P0;\n r[rlx,system] r0 x ;\n mov r1 (xor r0 r0) "
				   ";\n mov r2 (and 0 r1) ;\n"
				   " w[rlx,system] y r2 ;\nscopes: (system (agent (wg (wave (wi "
				   "0)))))\nexists (x=1)\n";
	int kept = 0;

	cr_assert(visit_test("t", text, check_dependency, &kept));
	cr_expect_eq(kept, 2);
}

/* ---------------------------------------------------------------- the toolkit's compiler */

/**
 * All kernels in one file under names of their own, as starting the compiler
 * takes longer than the work.
 */
static void add_kernel(const litmus_plan_t *plan, const char *text, int device, void *context)
{
	static const char entry[] = ".visible .entry " LITMUS_PTX_KERNEL;
	const char *at = strstr(text, entry);
	FILE *file = context;

	(void)plan, (void)device;
	cr_assert(at != NULL);
	if (ftell(file) == 0)
		(void)fprintf(file, "%.*s", (int)(at - text), text);
	(void)fprintf(file, "%s_%ld%s", entry, ftell(file), at + strlen(entry));
}

Test(litmus_ptx, the_compiler_takes_it, .timeout = 120)
{
	static const char *const compilers[] = {"/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas"};
	char path[] = "/tmp/tessera-test-XXXXXX", command[256];
	size_t found = 0;

	while (found < 2 && access(compilers[found], X_OK) != 0)
		found++;
	if (found == 2)
		cr_skip_test("no ptxas here");
	const int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	cr_assert(file != NULL);
	(void)visit_suite(add_kernel, file);
	(void)visit_oracle(add_kernel, file);
	cr_assert(fclose(file) == 0);
	(void)snprintf(command, sizeof command, "%s -arch=sm_90a -o /dev/null %s", compilers[found],
		       path);
	const int code = system(command);
	cr_expect(unlink(path) == 0);
	cr_expect_eq(code, 0);
}

/* ---------------------------------------------------------------- the driver */

static void use_fake(const char *kernel)
{
	char path[PATH_MAX];
	const char *build = getenv("BUILD");

	cr_assert(build,
		  "BUILD must name the folder of the build: scons test, and ci/run-tests, set it");
	(void)snprintf(path, sizeof path, "%s/tests/fakes/nvidia/whole", build);
	(void)setenv("LD_LIBRARY_PATH", path, 1);
	(void)setenv("TESSERA_BACKEND", "cpuemu", 1);
	(void)setenv("FAKE_KERNEL", kernel, 1);
}

static const char pair[] =
	"LISA t\n{ }\n P0                | P1                 ;\n w[rlx,system] x 1 | "
	"r[rlx,system] r0 x ;\n"
	"scopes: (system (agent (wg (wave (wi 0)))) (agent (wg (wave (wi 1)))))\nexists (1:r0=1)\n";

/** argv[1]: what becomes of it: "" goes well, else what the sentence says. */
static int drive(tsr_world_t *world, int argc, char **argv)
{
	static litmus_test_t test;
	static litmus_plan_t plan;
	uint64_t meetings = 0, results[2 + sizeof(litmus_ptx_args_t) / sizeof(uint64_t)] = {0};
	const litmus_ptx_args_t args = {.results = (uint64_t)(uintptr_t)results,
					.instances = 64,
					.teams = 3,
					.multiplier = {7, 5}};
	litmus_lanes_t *lanes = NULL;
	const char *wanted = argv[1];

	(void)argc;
	CHECK(litmus_parse("t", pair, &test) == TSR_OK && litmus_plan(&test, &plan) == TSR_OK);
	CHECK(litmus_lanes_open(world, &lanes) == TSR_OK);
	for (int again = 0; again < 2; again++) { /* one plan after the other */
		tsr_status_t status =
			litmus_lanes_load(lanes, &plan, (uint64_t)(uintptr_t)&meetings);
		if (status == TSR_OK)
			status = litmus_lanes_play(lanes, 1, &args, 5);
		CHECK((status == TSR_OK) == (wanted[0] == '\0'), "%s", tsr_status_name(status));
		CHECK(status == TSR_OK || strstr(tsr_last_error(), wanted));
		CHECK(status == TSR_OK || !strchr(tsr_last_error(), '\n'));
		CHECK(status != TSR_OK || (results[0] == 5 && results[1] == LITMUS_PTX_THREADS));
		CHECK(status != TSR_OK || memcmp(results + 2, &args, sizeof args) == 0);
	}
	litmus_lanes_close(lanes);
	return 0;
}

Test(litmus_ptx, a_launch_reaches_the_driver_as_it_was_asked_for)
{
	use_fake("");
	cr_expect(world_run(1, TSR_PLACE_THREAD, drive, "") == 0);
}

Test(litmus_ptx, a_driver_that_refuses_the_code_is_quoted)
{
	use_fake("none");
	cr_expect(
		world_run(1, TSR_PLACE_THREAD, drive,
			  "t: the driver's compiler says 'fake.ptx, line 1; error: no compiler'") ==
		0);
}

Test(litmus_ptx, a_kernel_that_does_not_end_is_given_up, .timeout = 60)
{
	use_fake("stuck");
	(void)setenv("TESSERA_DEADLINE", "200ms", 1);
	cr_expect(world_run(1, TSR_PLACE_THREAD, drive, "did not end on rank 0 within 0.2 s") == 0);
}

/*
 * Failures of a world, as its programs see them: one sentence that names cause
 * and cure, on every rank, before the deadline.
 */
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "clean_environment.h"
#include "patience.h"
#include "world_test.h"

/** Longer than anything takes on any machine; what ends before half of it has not waited for it. */
enum { DEADLINE_S = 200 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void begin(const char *environment)
{
	clean_environment();
	set_environment("TESSERA_HEAP_SIZE=1M TESSERA_DEADLINE=200s");
	set_environment(environment);
}

/**
 * Runs a world whose ranks end it; returns the exit code and how often
 * `sentence` was printed. `late_out`: a rank other than the sentence's was
 * late.
 */
static int run_once(int ranks, tsr_placement_t placement, tsr_main_fn entry, const char *sentence,
		    int *count_out, bool *late_out)
{
	char path[] = "/tmp/tessera-test-XXXXXX", text[16384];
	const int file = mkstemp(path), before = dup(STDERR_FILENO);
	unlink(path);
	dup2(file, STDERR_FILENO);
	const int code = world_run(ranks, placement, entry, NULL);
	dup2(before, STDERR_FILENO);
	close(before);
	const ssize_t length = pread(file, text, sizeof text - 1, 0);
	close(file);
	text[length > 0 ? length : 0] = '\0';
	*count_out = 0;
	for (const char *at = text; (at = strstr(at, sentence)) != NULL; at++)
		++*count_out;
	if (*count_out != 1)
		fprintf(stderr, "expected once: %s\nprinted: %s\n", sentence, text);
	*late_out = tells_of_lateness(text, sentence);
	return code;
}

static int run_and_count(int ranks, tsr_placement_t placement, tsr_main_fn entry,
			 const char *sentence, int *count_out)
{
	bool late;
	return run_once(ranks, placement, entry, sentence, count_out, &late);
}

/** Both placements: an exit code that is not 0, `sentence` once, and soon. */
static void ends_with(int ranks, tsr_main_fn entry, const char *sentence)
{
	for (tsr_placement_t placement = TSR_PLACE_PROCESS; placement <= TSR_PLACE_THREAD;
	     placement++) {
		int count;
		const double begin_s = now();
		const int code = run_and_count(ranks, placement, entry, sentence, &count);
		cr_expect(code != 0);
		cr_expect_eq(count, 1, "%d times: %s", count, sentence);
		cr_expect(now() - begin_s < DEADLINE_S / 2, "%s: %f seconds", sentence,
			  now() - begin_s);
	}
}

static int another_call(tsr_world_t *world, int argc, char **argv)
{
	int x = 0;
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 2)
		TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_team_broadcast(tsr_world_team(world), &x, sizeof x, 1));
	return 0;
}

Test(world_end, another_collective_call)
{
	begin("");
	ends_with(3, another_call,
		  "tessera: rank 2 called tsr_barrier where rank 0 called tsr_team_broadcast(root "
		  "1)");
}

static int another_root(tsr_world_t *world, int argc, char **argv)
{
	int x = 0;
	(void)argc, (void)argv;
	TSR_TRY(tsr_team_broadcast(tsr_world_team(world), &x, sizeof x,
				   tsr_world_rank(world) == 1));
	return 0;
}

Test(world_end, another_root)
{
	begin("");
	ends_with(5, another_root,
		  "tessera: rank 1 called tsr_team_broadcast(root 1) where rank 0 called "
		  "tsr_team_broadcast(root 0)");
}

static int finish_early(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (tsr_world_rank(world) != 1)
		TSR_TRY(tsr_barrier(world));
	return 0;
}

Test(world_end, one_rank_ends_early)
{
	begin("");
	ends_with(3, finish_early,
		  "tessera: rank 1 called tsr_finalize where rank 0 called tsr_barrier");
}

/* TSR_TRY finds the world, whatever the program calls it. */
static int fail_alike(tsr_world_t *ranks, int argc, char **argv)
{
	(void)argc, (void)argv;
	TSR_TRY(tsr_team_broadcast(tsr_world_team(ranks), &argc, sizeof argc, 99));
	return 0;
}

Test(world_end, ranks_that_fail_alike_say_it_once)
{
	begin("");
	ends_with(5, fail_alike,
		  "tessera: tsr_team_broadcast from rank 99: the world has ranks 0 to 4");
}

static int give_up(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 1) {
		usleep(30000);
		tsr_abort(world, "the input has no rows: give it some");
	}
	CHECK(tsr_barrier(world) == TSR_ERR_ABORTED);
	CHECK(strcmp(tsr_last_error(), "the input has no rows: give it some") == 0);
	CHECK(tsr_barrier(world) == TSR_ERR_ABORTED); /* and ever after */
	return tsr_fail(world);
}

Test(world_end, a_program_that_gives_up)
{
	begin("");
	ends_with(3, give_up, "tessera: the input has no rows: give it some");
}

static int come_late(tsr_world_t *world, int argc, char **argv)
{
	tsr_wait_record_t record = {.size = sizeof record};
	char site[96];
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 1) {
		for (int i = 0; i < 20000 && tsr_wait_record(world, 0, &record) != TSR_OK; i++)
			usleep(5000);
		/* the others have given up long ago, and still must not leak what it may use */
		usleep(500000);
	}
	snprintf(site, sizeof site, "%s:%d", __FILE__, __LINE__ + 1);
	CHECK(tsr_barrier(world) == TSR_ERR_TIMEOUT);
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(record.block == -1 && record.from == 1 && strcmp(record.kernel, "tsr_barrier") == 0);
	CHECK(strcmp(record.site, site) == 0);
	return tsr_fail(world);
}

Test(world_end, a_rank_that_comes_too_late)
{
	static const char sentence[] = "tessera: rank 1 of 3 did not come to tsr_barrier within ";
	uint64_t deadline_ns = 500000000u;
	for (tsr_placement_t placement = TSR_PLACE_PROCESS; placement <= TSR_PLACE_THREAD;
	     placement++) {
		int count, code;
		bool late;
		do {
			char environment[64];
			snprintf(environment, sizeof environment, "TESSERA_DEADLINE=%llums",
				 (unsigned long long)(deadline_ns / 1000000u));
			begin(environment);
			code = run_once(3, placement, come_late, sentence, &count, &late);
		} while (late && be_more_patient(&deadline_ns));
		cr_expect(code != 0);
		cr_expect_eq(count, 1, "%d times: %s", count, sentence);
	}
}

static int die(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 3)
		kill(getpid(), SIGKILL);
	TSR_TRY(tsr_barrier(world));
	return 0;
}

Test(world_end, a_rank_that_dies)
{
	int count;
	begin("");
	cr_expect_eq(run_and_count(5, TSR_PLACE_PROCESS, die, "tessera: rank 3 of 5 is lost",
				   &count),
		     128 + SIGKILL);
	cr_expect_eq(count, 1);
	cr_expect_eq(run_and_count(5, TSR_PLACE_PROCESS, die,
				   "tessera: rank 3 was killed by signal 9 (Killed)", &count),
		     128 + SIGKILL);
	cr_expect_eq(count, 1);
}

static int never(tsr_world_t *world, int argc, char **argv)
{
	(void)world, (void)argc, (void)argv;
	return 0;
}

Test(world_end, a_backend_that_is_not_there)
{
	begin("TESSERA_BACKEND=cudda");
	ends_with(5, never, "tessera: there is no backend 'cudda' (did you mean cuda?)");
	begin("TESSERA_SIZE=many");
	ends_with(5, never, "tessera: TESSERA_SIZE is 'many'");
}

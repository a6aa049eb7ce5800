/*
 * Who catches faults: an exploration does while its fibres run, and whoever did
 * before does again when they do not, however that ended.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/explore/exploration.h"
#include "src/explore/process/fibre_watch.h"
#include "under_valgrind.h"

enum { STACK_BYTES = 64 << 10, RANKS = 2 };

/** What the ranks of a run do, and have seen: they are fibres of this process. */
typedef struct seen {
	tsr_exploration_t *exploration;
	bool launches;
	int code, ran, caught;
} seen_t;

static void on_fault(int number)
{
	(void)number;
	_exit(EXIT_FAILURE);
}

static bool is_ours(void)
{
	struct sigaction action;
	stack_t stack;
	return sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == on_fault &&
	       sigaltstack(NULL, &stack) == 0 && stack.ss_size == STACK_BYTES;
}

/** Makes what catches faults ours, on a stack of its own. */
static void catch_faults(void)
{
	static unsigned char bytes[STACK_BYTES]; /* the program's to its end */
	const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes};
	const struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	cr_assert(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0 &&
		  is_ours());
}

static void nothing(void *context)
{
	(void)context;
}

static int run_rank(void *context, int rank)
{
	seen_t *seen = context;
	const tsr_worker_who_t who = {
		.rank = rank, .launch = 0, .kernel = "nothing", .block = 0, .worker = 0};
	seen->ran++;
	seen->caught += !is_ours();
	if (seen->launches &&
	    tsr_exploration_begin(seen->exploration, &who, nothing, NULL, NULL) != TSR_OK)
		return EXIT_FAILURE;
	return seen->code;
}

static int run(seen_t *seen)
{
	char text[128];
	const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	snprintf(text, sizeof text, "version=1,ranks=%d,seeds=2,report_fd=%d", RANKS, fd);
	cr_assert(fd >= 0 && tsr_exploration_create(text, RANKS, &seen->exploration) == TSR_OK,
		  "%s", tsr_last_error());
	const int code = tsr_exploration_run(seen->exploration, run_rank, seen);
	close(fd);
	return code;
}

Test(guard, ends_with_a_run_in_which_nothing_is_launched)
{
	seen_t first = {.code = 0}, second = {.code = 5};
	catch_faults();
	cr_expect_eq(run(&first), 0);
	cr_expect(is_ours());
	cr_expect_eq(run(&second), 5); /* beside the first, which is not destroyed */
	cr_expect(is_ours());
	tsr_exploration_destroy(first.exploration);
	cr_expect(is_ours());
	tsr_exploration_destroy(second.exploration);
	cr_expect(is_ours());
	cr_expect(first.ran == RANKS && first.caught == RANKS && second.ran == RANKS &&
		  second.caught == RANKS);
}

Test(guard, ends_in_the_process_that_serves_schedules)
{
	seen_t seen = {.launches = true};
	if (TSR_WATCH_THREADS)
		cr_skip_test("after a fork, ThreadSanitizer takes all other fibres for threads "
			     "that have ended");
	catch_faults();
	cr_expect_eq(run(&seen), 0);
	cr_expect(is_ours());
	tsr_exploration_destroy(seen.exploration);
	cr_expect(seen.ran > 0 && seen.caught == seen.ran);
}

/** What this process has of addresses; 0: not known. */
static rlim_t address_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file && fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

Test(guard, ends_where_a_rank_finds_no_memory)
{
	seen_t seen = {.code = 0};
	struct rlimit before;
	if (TSR_WATCH_THREADS || TSR_WATCH_ADDRESSES || under_valgrind())
		cr_skip_test("what watches memory needs addresses of its own");
	catch_faults();
	cr_assert(getrlimit(RLIMIT_AS, &before) == 0 && address_bytes() > 0);
	/* less than a rank's stack */
	const struct rlimit little = {address_bytes() + (4 << 20), before.rlim_max};
	cr_assert(setrlimit(RLIMIT_AS, &little) == 0);
	const int code = run(&seen);
	cr_assert(setrlimit(RLIMIT_AS, &before) == 0);
	cr_expect_eq(code, EXIT_FAILURE);
	cr_expect_eq(seen.ran, 0);
	cr_expect(is_ours());
	tsr_exploration_destroy(seen.exploration);
}

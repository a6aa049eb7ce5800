/* Starting worlds: exit codes, signals, and that nothing is left whatever happens. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean_environment.h"
#include "src/base/os/clock.h"
#include "tessera/tessera.h"

#define SECOND 1000000000u
#define DEADLINE_S 200             /* longer than anything takes on any machine */
#define SOON_S (DEADLINE_S / 2ull) /* what takes no longer has not waited for the deadline */

/*
 * A pipe that everybody inherits: who lives holds it open. What ranks write to
 * it can be counted, and it ends when all have ended.
 */
static int life[2] = {-1, -1};

static void begin(const char *environment)
{
	clean_environment();
	set_environment("TESSERA_HEAP_SIZE=1M TESSERA_DEADLINE=200s");
	set_environment(environment);
	cr_assert_eq(pipe(life), 0);
}

/**
 * Closes this process's end, and counts what was written until all others have
 * ended; -1: they did not soon.
 */
static int count_until_all_have_ended(void)
{
	close(life[1]);
	const uint64_t end_ns = tsr_now_ns() + SOON_S * SECOND;
	int count = 0;
	char byte;
	while (tsr_now_ns() < end_ns) {
		struct pollfd entry = {.fd = life[0], .events = POLLIN};
		if (poll(&entry, 1, 50) <= 0)
			continue;
		if (read(life[0], &byte, 1) != 1) {
			close(life[0]);
			return count;
		}
		count++;
	}
	close(life[0]);
	return -1;
}

static void say(void)
{
	(void)!write(life[1], "x", 1);
}

static int launch(int ranks, tsr_placement_t placement, tsr_main_fn entry)
{
	const tsr_launcher_t launcher = {
		.size = sizeof launcher, .ranks = ranks, .placement = placement};
	char name[] = "test";
	char *argv[] = {name, NULL};
	return tsr_launch_world(&launcher, 1, argv, entry);
}

static int exit_code_is_7_on_rank_1(tsr_world_t *world, int argc, char **argv)
{
	say();
	if (argc != 1 || strcmp(argv[0], "test") != 0 || argv[1] != NULL)
		return 99;
	return tsr_world_rank(world) == 1 ? 7 : 0;
}

Test(launcher, exit_code_of_the_rank_that_failed)
{
	for (tsr_placement_t placement = TSR_PLACE_PROCESS; placement <= TSR_PLACE_THREAD;
	     placement++) {
		begin("");
		cr_expect_eq(launch(3, placement, exit_code_is_7_on_rank_1), 7);
		cr_expect_eq(launch(1, placement, exit_code_is_7_on_rank_1), 0);
		cr_expect_eq(count_until_all_have_ended(), 4);
	}
}

static _Noreturn void hang(void)
{
	for (;;)
		pause();
}

static int code_of_256(tsr_world_t *world, int argc, char **argv)
{
	(void)world, (void)argc, (void)argv;
	return 256;
}

Test(launcher, a_failure_never_becomes_success)
{
	begin("");
	cr_expect(launch(1, TSR_PLACE_PROCESS, code_of_256) != 0);
	cr_expect(launch(1, TSR_PLACE_THREAD, code_of_256) != 0);
}

static int die_on_rank_2(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 2)
		kill(getpid(), SIGKILL);
	return tsr_barrier(world) == TSR_ERR_PEER_LOST &&
			       strstr(tsr_last_error(), "rank 2 of 5 is lost")
		       ? tsr_fail(world)
		       : 99;
}

Test(launcher, a_rank_that_is_killed_ends_the_world_at_once)
{
	begin("");
	const uint64_t begin_ns = tsr_now_ns();
	cr_expect_eq(launch(5, TSR_PLACE_PROCESS, die_on_rank_2), 128 + SIGKILL);
	cr_expect(tsr_now_ns() - begin_ns < SOON_S * SECOND);
	cr_expect_eq(count_until_all_have_ended(), 0);
}

static int exit_on_rank_0(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 0)
		exit(5);
	return tsr_barrier(world) == TSR_ERR_PEER_LOST ? tsr_fail(world) : 99;
}

Test(launcher, a_rank_that_exits_behind_our_back_ends_the_world)
{
	begin("");
	cr_expect_eq(launch(3, TSR_PLACE_PROCESS, exit_on_rank_0), 5);
	cr_expect_eq(count_until_all_have_ended(), 0);
}

static int stop_on_rank_1(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (tsr_world_rank(world) == 1)
		raise(SIGSTOP);
	return tsr_barrier(world) == TSR_ERR_TIMEOUT &&
			       strstr(tsr_last_error(), "rank 1 of 3 did not come")
		       ? tsr_fail(world)
		       : 99;
}

Test(launcher, a_stopped_rank_costs_one_deadline)
{
	begin("TESSERA_DEADLINE=6s");
	const uint64_t begin_ns = tsr_now_ns();
	cr_expect_eq(launch(3, TSR_PLACE_PROCESS, stop_on_rank_1), 1);
	const uint64_t took_ns = tsr_now_ns() - begin_ns;
	cr_expect(took_ns >= 6ull * SECOND && took_ns < 11ull * SECOND, "%llu ns",
		  (unsigned long long)took_ns);
	cr_expect_eq(count_until_all_have_ended(), 0);
}

static int forks;

static void count_fork(void)
{
	forks++;
}

static void stop_in_third_fork(void)
{
	if (forks == 3)
		raise(SIGSTOP);
}

/*
 * The guardian is forked first, rank 0 second, and rank 1 is stopped before it
 * has done anything of its own.
 */
Test(launcher, a_rank_that_is_stopped_as_it_begins_is_killed_too)
{
	begin("TESSERA_DEADLINE=2s");
	cr_assert_eq(pthread_atfork(count_fork, NULL, stop_in_third_fork), 0);
	const uint64_t begin_ns = tsr_now_ns();
	cr_expect_eq(launch(3, TSR_PLACE_PROCESS, exit_code_is_7_on_rank_1), 1);
	cr_expect(tsr_now_ns() - begin_ns < SOON_S * SECOND);
	cr_expect_eq(count_until_all_have_ended(), 0);
}

/* ------------------------------------------------------------------ interruption */

static int hang_with_a_child(tsr_world_t *world, int argc, char **argv)
{
	(void)world, (void)argc, (void)argv;
	if (fork() == 0) /* a rank's own child goes too */
		hang();
	say();
	hang();
}

/**
 * Starts a launcher of 3 ranks that hang, each with a child that hangs, and
 * returns when they do.
 */
static pid_t launch_hanging(void)
{
	const pid_t pid = fork();
	if (pid == 0)
		_exit(launch(3, TSR_PLACE_PROCESS, hang_with_a_child));
	char byte;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(read(life[0], &byte, 1), 1);
	return pid;
}

static int code_of(pid_t pid)
{
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Test(launcher, an_interrupt_ends_all_ranks_and_their_children)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		begin("");
		const pid_t pid = launch_hanging();
		kill(pid, signals[i]);
		cr_expect_eq(code_of(pid), 128 + signals[i]);
		cr_expect_eq(count_until_all_have_ended(), 0);
	}
}

Test(launcher, nothing_is_left_when_the_launcher_is_killed)
{
	begin("");
	const pid_t pid = launch_hanging();
	kill(pid, SIGKILL);
	cr_expect_eq(code_of(pid), 128 + SIGKILL);
	cr_expect_eq(count_until_all_have_ended(), 0);
}

static int leave_a_child(tsr_world_t *world, int argc, char **argv)
{
	(void)world, (void)argc, (void)argv;
	if (fork() == 0)
		hang();
	return 0;
}

Test(launcher, nothing_is_left_of_a_world_that_ended_well)
{
	begin("");
	cr_expect_eq(launch(2, TSR_PLACE_PROCESS, leave_a_child), 0);
	cr_expect_eq(count_until_all_have_ended(), 0);
}

Test(launcher, the_signals_of_the_caller_are_as_before)
{
	sigset_t before, after;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
	begin("");
	sigaction(SIGCHLD, &ignore, NULL); /* would reap the ranks behind the launcher's back */
	sigprocmask(SIG_BLOCK, NULL, &before);
	cr_expect_eq(launch(3, TSR_PLACE_PROCESS, exit_code_is_7_on_rank_1), 7);
	sigprocmask(SIG_BLOCK, NULL, &after);
	sigaction(SIGCHLD, NULL, &now);
	cr_expect(now.sa_handler == SIG_IGN);
	cr_expect(sigismember(&after, SIGINT) == sigismember(&before, SIGINT) &&
		  sigismember(&after, SIGCHLD) == sigismember(&before, SIGCHLD));
}

static void *reap_everything(void *ended)
{
	while (!atomic_load_explicit((_Atomic int *)ended, memory_order_relaxed))
		if (waitpid(-1, NULL, WNOHANG) <= 0)
			usleep(10);
	return NULL;
}

/* What the launching program must not do, and does: a thread of it waits for any child. */
Test(launcher, exit_codes_are_right_where_another_thread_reaps)
{
	_Atomic int ended = 0;
	pthread_t reaper;
	begin("");
	cr_assert_eq(pthread_create(&reaper, NULL, reap_everything, &ended), 0);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(launch(3, TSR_PLACE_PROCESS, exit_code_is_7_on_rank_1), 7);
	atomic_store_explicit(&ended, 1, memory_order_relaxed);
	pthread_join(reaper, NULL);
	cr_expect_eq(count_until_all_have_ended(), 30);
}

/* --------------------------------------------------------------- what is started, and with what */

static int check_environment(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const char *rank = getenv("TESSERA_RANK"), *size = getenv("TESSERA_SIZE");
	const bool same = rank && size && atoi(rank) == tsr_world_rank(world) &&
			  atoi(size) == tsr_world_size(world);
	return same && getenv("TESSERA_JOB") && tsr_world_deadline_ns(world) == 170ull * SECOND ? 0
												: 1;
}

Test(launcher, settings_pass_through)
{
	begin("TESSERA_DEADLINE=170s");
	cr_expect_eq(launch(3, TSR_PLACE_PROCESS, check_environment), 0);
}

static int expect_3_ranks(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	say();
	return tsr_world_size(world) == 3 ? 0 : 1;
}

Test(launcher, what_is_not_said_comes_from_the_environment)
{
	begin("TESSERA_SIZE=3 TESSERA_PLACEMENT=thread");
	cr_expect_eq(launch(0, TSR_PLACE_PROCESS, expect_3_ranks), 0);
	cr_expect_eq(count_until_all_have_ended(), 3);
}

Test(launcher, bad_requests_are_refused)
{
	begin("");
	cr_expect(launch(TSR_MAX_RANKS + 1, TSR_PLACE_PROCESS, expect_3_ranks) != 0);
	cr_expect(launch(-1, TSR_PLACE_THREAD, expect_3_ranks) != 0);
	setenv("TESSERA_DEADLINE", "soon", 1);
	cr_expect(launch(3, TSR_PLACE_PROCESS, expect_3_ranks) != 0);
	clean_environment();
	set_environment("TESSERA_BACKEND=cpuemo TESSERA_DEADLINE=200s");
	const uint64_t begin_ns = tsr_now_ns();
	cr_expect(launch(3, TSR_PLACE_PROCESS, expect_3_ranks) != 0);
	cr_expect(launch(3, TSR_PLACE_THREAD, expect_3_ranks) != 0);
	cr_expect(tsr_now_ns() - begin_ns < SOON_S * SECOND,
		  "ranks waited for one that had failed");
	cr_expect_eq(count_until_all_have_ended(), 0);
}

static int launch_shell(int ranks, const char *script)
{
	char shell[] = "/bin/sh", flag[] = "-c", text[256];
	char *argv[] = {shell, flag, text, NULL};
	const tsr_launcher_t launcher = {.size = sizeof launcher, .ranks = ranks};
	snprintf(text, sizeof text, script, life[1]);
	return tsr_launch_program(&launcher, argv);
}

Test(launcher, a_program_that_joins_no_world_runs_n_times)
{
	begin("");
	cr_expect_eq(launch_shell(4, "printf $TESSERA_SIZE >/proc/self/fd/%d"), 0);
	cr_expect_eq(count_until_all_have_ended(), 4);
	begin("");
	cr_expect_eq(
		launch_shell(3, "printf x >/proc/self/fd/%d; exit $((TESSERA_RANK == 1 ? 4 : 0))"),
		4);
	cr_expect_eq(count_until_all_have_ended(), 3);
}

/* They join no world, so that none of them has to come before the deadline. */
Test(launcher, ranks_that_do_not_notice_the_end_are_killed_at_the_deadline)
{
	begin("TESSERA_DEADLINE=300ms");
	const uint64_t begin_ns = tsr_now_ns();
	cr_expect_eq(launch_shell(3, "printf x >/proc/self/fd/%d; [ $TESSERA_RANK = 1 ] && exit 3; "
				     "exec sleep 1000"),
		     3);
	cr_expect(tsr_now_ns() - begin_ns >= 3 * SECOND / 10);
	const int count = count_until_all_have_ended();
	cr_expect(count >= 1 && count <= 3, "%d", count);
}

Test(launcher, one_rank_reads_the_input)
{
	int input[2];
	begin("");
	cr_assert_eq(pipe(input), 0);
	cr_assert_eq(write(input[1], "abc", 3), 3);
	close(input[1]);
	const int before = dup(STDIN_FILENO);
	dup2(input[0], STDIN_FILENO);
	close(input[0]);
	cr_expect_eq(launch_shell(3, "cat >/proc/self/fd/%d"), 0);
	dup2(before, STDIN_FILENO);
	cr_expect_eq(count_until_all_have_ended(), 3);
}

Test(launcher, a_program_that_cannot_be_executed)
{
	char missing[] = "/no/such/program", folder[] = "/";
	char *argv[] = {missing, NULL};
	const tsr_launcher_t launcher = {.size = sizeof launcher, .ranks = 2};
	begin("");
	cr_expect_eq(tsr_launch_program(&launcher, argv), 127);
	argv[0] = folder;
	cr_expect_eq(tsr_launch_program(&launcher, argv), 126);
	argv[0] = NULL;
	cr_expect(tsr_launch_program(&launcher, argv) != 0);
}

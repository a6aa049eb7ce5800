/*
 * Signals while ranks join and meet: a handler of the program, which asks for
 * no restart, changes nothing.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "boot_test.h"
#include "src/bootstrap/control.h"

static void do_nothing(int number)
{
	(void)number;
}

static void handle_alarms(void)
{
	const struct sigaction action = {.sa_handler = do_nothing};
	sigaction(SIGALRM, &action, NULL);
}

static int expect_all_fds(tsr_boot_t *boot, seen_t *seen)
{
	int pipes[2], fds[TSR_MAX_RANKS];
	NEED(pipe(pipes) == 0);
	NEED(note(seen, tsr_boot_exchange_fds(boot, pipes[0], fds)) == TSR_OK);
	for (int r = 0; r < tsr_boot_size(boot); r++)
		NEED(fds[r] >= 0 && close(fds[r]) == 0);
	NEED(close(pipes[0]) == 0 && close(pipes[1]) == 0);
	return 0;
}

static int meet(tsr_boot_t *boot, seen_t *seen)
{
	const int line = expect_all_fds(boot, seen);
	return line != 0 ? line
			 : note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0)) !=
				   TSR_OK;
}

/* ------------------------------------------------------------------ signals all the time */

static char again_job[80];

static int join_again_and_again(tsr_boot_t *boot, seen_t *seen)
{
	tsr_job_t job = {.rank = tsr_boot_rank(boot), .size = tsr_boot_size(boot)};
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	snprintf(job.name, sizeof job.name, "%s", again_job);
	handle_alarms();
	setitimer(ITIMER_REAL, &often, NULL);
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	for (int i = 0; i < 100; i++) {
		tsr_boot_t *next;
		NEED(note(seen, tsr_boot_join(&job, 200000000000u, &next)) == TSR_OK);
		if (job.rank == 0)
			/* the others wait for its answer, and are interrupted meanwhile */
			usleep(2000);
		const int line = meet(next, seen);
		tsr_boot_leave(next);
		NEED(line == 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	return 0;
}

Test(interrupted, a_hundred_worlds_with_a_signal_every_millisecond)
{
	boot_test_t test = {.size = 3};
	boot_test_begin(&test);
	snprintf(again_job, sizeof again_job, "%s.again", test.job);
	cr_expect_eq(boot_run(&test, join_again_and_again), 0, "%s; %s; %s", test.seen[0].sentence,
		     test.seen[1].sentence, test.seen[2].sentence);
	boot_test_end(&test);
}

/* ---------------------------------------------------------- signals at the place where it hurts */

/** Sends `pid` many signals, one after the other, while it waits. */
static void interrupt(pid_t pid)
{
	for (int i = 0; i < 100; i++) {
		kill(pid, SIGALRM);
		usleep(1000);
	}
}

/** Goes on when the others have been interrupted: its parent says so by a signal. */
static int hold_the_door(tsr_boot_t *boot, seen_t *seen)
{
	/* acquire: partner is the release in the test */
	while (!atomic_load_explicit(&seen[1].joined, memory_order_acquire))
		usleep(1000);
	return meet(boot, seen);
}

Test(interrupted, a_rank_that_waits_for_its_answer_at_the_door)
{
	boot_test_t test = {.size = 2};
	boot_test_begin(&test);
	handle_alarms();
	const pid_t host = boot_fork(&test, 0, 2, 0, hold_the_door);
	boot_await(&test, 0); /* the door is open, and nobody is let in yet */
	const pid_t guest = boot_fork(&test, 1, 2, 2, meet);
	usleep(20000);
	interrupt(guest);
	/* release: partner is the acquire in hold_the_door */
	atomic_store_explicit(&test.seen[1].joined, true, memory_order_release);
	cr_expect_eq(boot_wait(host), 0, "%s", test.seen[0].sentence);
	cr_expect_eq(boot_wait(guest), 0, "%s", test.seen[2].sentence);
	boot_test_end(&test);
}

/** Rank 1 comes to the exchange, and then keeps the others waiting in the middle of it. */
static int hold_the_descriptors(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) != 1)
		return meet(boot, seen);
	NEED(tsr_boot_exchange(boot, "tsr_boot_exchange_fds", "", NULL, NULL, 0) == TSR_OK);
	/* partner is boot_await in the test */
	atomic_store_explicit(&seen[10].joined, true, memory_order_release);
	/* partner is the release in the test */
	while (!atomic_load_explicit(&seen[11].joined, memory_order_acquire))
		usleep(1000);
	_exit(0); /* the others are told that it is lost, and not that they were interrupted */
}

Test(interrupted, ranks_that_wait_for_descriptors)
{
	boot_test_t test = {.size = 3};
	pid_t pids[3];
	boot_test_begin(&test);
	handle_alarms();
	for (int r = 0; r < 3; r++)
		pids[r] = boot_fork(&test, r, 3, r, hold_the_descriptors);
	boot_await(&test, 11);
	interrupt(pids[0]);
	interrupt(pids[2]);
	atomic_store_explicit(&test.seen[12].joined, true, memory_order_release);
	for (int r = 0; r < 3; r++) {
		boot_wait(pids[r]);
		cr_expect(r == 1 || strstr(test.seen[r].sentence, "rank 1 of 3 is lost") ==
					    test.seen[r].sentence,
			  "rank %d: %s", r, test.seen[r].sentence);
	}
	boot_test_end(&test);
}

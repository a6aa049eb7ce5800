/*
 * Ranks that are stopped or end in the middle of joining: the others end in
 * time, and blame those alone who did not come.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <unistd.h>

#include "boot_test.h"
#include "patience.h"
#include "src/bootstrap/control.h"

#define SECOND 1000000000u

enum { SIZE = 5 };

static int meet(tsr_boot_t *boot, seen_t *seen)
{
	int fds[TSR_MAX_RANKS];
	tsr_status_t status = note(seen, tsr_boot_exchange(boot, "tsr_init", "", NULL, NULL, 0));
	if (status == TSR_OK)
		status = note(seen, tsr_boot_exchange_fds(boot, STDERR_FILENO, fds));
	for (int r = 0; status == TSR_OK && r < tsr_boot_size(boot); r++)
		close(fds[r]);
	if (status == TSR_OK)
		status = note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0));
	return 0;
}

/** Ends ranks that a test has stopped, or that wait for it. */
static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	boot_wait(pid);
}

static bool blames(const seen_t *seen, const char *ranks)
{
	char one[64], many[64];
	snprintf(one, sizeof one, "rank %s of %d ", ranks, SIZE);
	snprintf(many, sizeof many, "ranks %s of %d ", ranks, SIZE);
	return strstr(seen->sentence, one) == seen->sentence ||
	       strstr(seen->sentence, many) == seen->sentence;
}

/* ------------------------------------------------------------------ at the door */

Test(stopped, rank_0_that_keeps_others_out_is_blamed_and_not_they)
{
	boot_test_t test = {.size = SIZE, .deadline_ns = SECOND};
	pid_t pids[SIZE];
	boot_test_begin(&test);
	pids[0] = boot_fork(&test, 0, SIZE, 0, meet);
	boot_await(&test, 0);
	pids[2] = boot_fork(&test, 2, SIZE, 2, meet);
	boot_await(&test, 2); /* it is in, and waits for the others */
	kill(pids[0], SIGSTOP);
	const uint64_t begin_ns = tsr_now_ns();
	for (int r = 1; r < SIZE; r++)
		if (r != 2)
			pids[r] = boot_fork(&test, r, SIZE, r, meet);
	for (int r = 1; r < SIZE; r++) {
		boot_wait(pids[r]);
		cr_expect(blames(&test.seen[r], "0"), "rank %d: %s", r, test.seen[r].sentence);
	}
	cr_expect(tsr_now_ns() - begin_ns < 60ull * SECOND);
	end(pids[0]);
	boot_test_end(&test);
}

/* -------------------------------------------------------------- while descriptors are exchanged */

static int unwilling; /* the rank that this test is about */

/** Comes to the exchange as all do, and does no more. */
static int come_and_stay(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) != unwilling)
		return meet(boot, seen);
	NEED(tsr_boot_exchange(boot, "tsr_init", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_boot_exchange(boot, "tsr_boot_exchange_fds", "", NULL, NULL, 0) == TSR_OK);
	for (;;)
		pause();
}

static int come_and_end(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) != unwilling)
		return meet(boot, seen);
	NEED(tsr_boot_exchange(boot, "tsr_init", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_boot_exchange(boot, "tsr_boot_exchange_fds", "", NULL, NULL, 0) == TSR_OK);
	kill(getpid(), SIGKILL);
	return 0;
}

/** Runs all; returns how many of the others blame the unwilling one, and it alone. */
static int count_blames(boot_test_t *test, boot_body_t body)
{
	char rank[8];
	pid_t pids[SIZE];
	int count = 0;
	snprintf(rank, sizeof rank, "%d", unwilling);
	memset(test->seen, 0, SIZE * sizeof *test->seen);
	for (int r = 0; r < SIZE; r++)
		pids[r] = boot_fork(test, r, SIZE, r, body);
	for (int r = 0; r < SIZE; r++) {
		if (r == unwilling)
			continue;
		boot_wait(pids[r]);
		count += blames(&test->seen[r], rank);
		if (!blames(&test->seen[r], rank))
			fprintf(stderr, "rank %d does not blame rank %d: %s\n", r, unwilling,
				test->seen[r].sentence);
	}
	end(pids[unwilling]);
	return count;
}

Test(stopped, who_stays_in_the_exchange_of_descriptors_is_blamed)
{
	for (unwilling = 0; unwilling < SIZE; unwilling += 2) {
		boot_test_t test = {.size = SIZE, .deadline_ns = SECOND};
		int count;
		boot_test_begin(&test);
		const uint64_t begin_ns = tsr_now_ns();
		do
			count = count_blames(&test, come_and_stay);
		while (count < SIZE - 1 && be_more_patient(&test.deadline_ns));
		cr_expect_eq(count, SIZE - 1, "%d of the others blame rank %d", count, unwilling);
		cr_expect(tsr_now_ns() - begin_ns >= SECOND);
		boot_test_end(&test);
	}
}

Test(stopped, who_ends_in_the_exchange_of_descriptors_is_named_at_once)
{
	for (unwilling = 0; unwilling < SIZE; unwilling++) {
		boot_test_t test = {.size = SIZE};
		boot_test_begin(&test);
		const uint64_t begin_ns = tsr_now_ns();
		cr_expect_eq(count_blames(&test, come_and_end), SIZE - 1);
		cr_expect(tsr_now_ns() - begin_ns < 60ull * SECOND);
		for (int r = 0; r < SIZE; r++)
			cr_expect(r == unwilling || strstr(test.seen[r].sentence,
							   "is lost: its process ended") != NULL,
				  "%s", test.seen[r].sentence);
		boot_test_end(&test);
	}
}

/**
 * Rank 1 has all descriptors, and its deadline passes first. The others wait in
 * the exchange for rank 0, which has stopped giving.
 */
static int go_ahead(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) != 1)
		return come_and_stay(boot, seen);
	NEED(tsr_boot_exchange(boot, "tsr_init", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_boot_exchange(boot, "tsr_boot_exchange_fds", "", NULL, NULL, 0) == TSR_OK);
	tsr_control_member_t *self = &boot->control->member[1];
	boot->fds_exchanges++;
	/* relaxed: counts that stand for what this rank does not do */
	atomic_store_explicit(&self->fds_sent, 1, memory_order_relaxed);
	atomic_store_explicit(&self->fds_taken, 1, memory_order_relaxed);
	boot->deadline_ns /= 4;
	(void)note(seen,
		   tsr_boot_exchange(boot, "tsr_boot_exchange_fds", "received", NULL, NULL, 0));
	return 0;
}

Test(stopped, who_waits_in_the_exchange_of_descriptors_is_not_blamed_by_who_left_it)
{
	boot_test_t test = {.size = SIZE, .deadline_ns = 4ull * SECOND};
	int count;
	boot_test_begin(&test);
	unwilling = 0;
	do
		count = count_blames(&test, go_ahead);
	while (count < SIZE - 1 && be_more_patient(&test.deadline_ns));
	cr_expect_eq(count, SIZE - 1, "%d of the others blame rank 0", count);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ at any time */

/*
 * Worlds that run side by side, so that all can have a deadline that no live
 * rank misses on any machine.
 */
enum { WORLDS = 15 };

typedef struct stop {
	boot_test_t test;
	char job[80];
	int victim;
	unsigned delay_us;
	pid_t pids[SIZE];
} stop_t;

static void begin_stop(stop_t *stop, int number)
{
	*stop = (stop_t){.test = {.size = SIZE, .deadline_ns = 6ull * SECOND},
			 .victim = number % SIZE};
	stop->delay_us = (unsigned)number / SIZE * 700 + (unsigned)tsr_now_ns() % 1000;
	boot_test_begin(&stop->test);
	snprintf(stop->job, sizeof stop->job, "%s.%d", stop->test.job, number);
	stop->test.job = stop->job;
	for (int r = 0; r < SIZE; r++)
		stop->pids[r] = boot_fork(&stop->test, r, SIZE, r, meet);
	usleep(stop->delay_us);
	kill(stop->pids[stop->victim], SIGSTOP);
}

/** All others blame the rank that was stopped, unless the world had met by then. */
static void end_stop(stop_t *stop)
{
	char rank[8];
	snprintf(rank, sizeof rank, "%d", stop->victim);
	for (int r = 0; r < SIZE; r++) {
		const seen_t *seen = &stop->test.seen[r];
		if (r == stop->victim)
			continue;
		boot_wait(stop->pids[r]);
		cr_expect(seen->status == TSR_OK || blames(seen, rank),
			  "rank %d, where rank %d was stopped after %u us: %s", r, stop->victim,
			  stop->delay_us, seen->sentence);
	}
	end(stop->pids[stop->victim]);
	boot_test_end(&stop->test);
}

Test(stopped, at_any_time_no_live_neighbour_is_blamed)
{
	stop_t stops[WORLDS];
	const uint64_t begin_ns = tsr_now_ns();
	for (int i = 0; i < WORLDS; i++)
		begin_stop(&stops[i], i);
	for (int i = 0; i < WORLDS; i++)
		end_stop(&stops[i]);
	cr_expect(tsr_now_ns() - begin_ns < 60ull * SECOND);
}

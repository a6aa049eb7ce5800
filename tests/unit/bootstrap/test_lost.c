/*
 * Ranks that die, never arrive, come late or should not be there: the others
 * end in time, and name them.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>

#include <signal.h>
#include <string.h>

#include "boot_test.h"
#include "patience.h"
#include "src/bootstrap/control.h"

#define SECOND 1000000000u
#define SOON_NS (100ull * SECOND) /* long before the deadline of boot_test_begin, on any machine */

static int barrier(tsr_boot_t *boot, seen_t *seen)
{
	const uint64_t begin_ns = tsr_now_ns();
	(void)note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0));
	seen->took_ns = tsr_now_ns() - begin_ns;
	return 0;
}

static int die_in_the_middle(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == 2) {
		usleep(30000);
		kill(getpid(), SIGKILL);
	}
	barrier(boot, seen);
	seen->value = tsr_boot_lost_rank(boot);
	return 0;
}

Test(lost, a_rank_that_is_killed_is_named_long_before_the_deadline)
{
	boot_test_t test = {.size = 5};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, die_in_the_middle), 1);
	for (int r = 0; r < test.size; r++) {
		if (r == 2)
			continue;
		cr_expect_eq(test.seen[r].status, TSR_ERR_PEER_LOST, "rank %d: %s", r,
			     tsr_status_name(test.seen[r].status));
		cr_expect(strstr(test.seen[r].sentence, "rank 2 of 5 is lost") != NULL, "%s",
			  test.seen[r].sentence);
		cr_expect(strcmp(test.seen[r].sentence, test.seen[0].sentence) == 0, "%s",
			  test.seen[r].sentence);
		cr_expect(test.seen[r].took_ns < SOON_NS, "rank %d: %llu ns", r,
			  (unsigned long long)test.seen[r].took_ns);
		cr_expect_eq(test.seen[r].value, 2);
	}
	boot_test_end(&test);
}

static int exit_in_the_middle(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == 0)
		_exit(0);
	return barrier(boot, seen);
}

Test(lost, an_orderly_exit_without_leaving_is_a_loss_too_also_of_rank_0)
{
	boot_test_t test = {.size = 3};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, exit_in_the_middle), 0);
	for (int r = 1; r < test.size; r++) {
		cr_expect_eq(test.seen[r].status, TSR_ERR_PEER_LOST);
		cr_expect(strstr(test.seen[r].sentence, "rank 0 of 3 is lost") != NULL, "%s",
			  test.seen[r].sentence);
	}
	boot_test_end(&test);
}

static int leave_early(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == 1)
		return 0;
	barrier(boot, seen);
	NEED(tsr_boot_lost_rank(boot) == -1); /* it has left, it is not lost */
	return 0;
}

Test(lost, who_leaves_is_named_by_who_waits)
{
	for (int threads = 0; threads < 2; threads++) {
		boot_test_t test = {.size = 3, .threads = threads == 1};
		boot_test_begin(&test);
		cr_expect_eq(boot_run(&test, leave_early), 0);
		for (int r = 0; r < test.size; r += 2) {
			cr_expect_eq(test.seen[r].status, TSR_ERR_PEER_LOST);
			cr_expect(strstr(test.seen[r].sentence, "rank 1 of 3 has left the world") !=
					  NULL,
				  "%s", test.seen[r].sentence);
		}
		boot_test_end(&test);
	}
}

/** Whether a rank tells of another's lateness than the test is about. */
static bool somebody_was_late(const boot_test_t *test, const char *wanted)
{
	bool late = false;
	for (int r = 0; r < test->size; r++)
		late = late || tells_of_lateness(test->seen[r].sentence, wanted);
	return late;
}

Test(lost, ranks_that_never_arrive_are_named_at_the_deadline)
{
	static const char wanted[] = "ranks 1, 2 and 4 of 5 never arrived within ";
	boot_test_t test = {.size = 5, .deadline_ns = SECOND / 2};
	int codes[2];
	boot_test_begin(&test);
	do {
		memset(test.seen, 0, 5 * sizeof *test.seen);
		pid_t pids[2] = {boot_fork(&test, 0, 5, 0, barrier),
				 boot_fork(&test, 3, 5, 3, barrier)};
		for (int i = 0; i < 2; i++)
			codes[i] = boot_wait(pids[i]);
	} while (somebody_was_late(&test, wanted) && be_more_patient(&test.deadline_ns));
	cr_expect(codes[0] == 0 && codes[1] == 0, "%d, %d", codes[0], codes[1]);
	for (int r = 0; r < 5; r += 3) {
		cr_expect_eq(test.seen[r].status, TSR_ERR_PEER_LOST, "rank %d: %s", r,
			     tsr_status_name(test.seen[r].status));
		cr_expect(strstr(test.seen[r].sentence, wanted) != NULL, "%s",
			  test.seen[r].sentence);
	}
	boot_test_end(&test);
}

Test(lost, rank_0_that_never_arrives_is_named_too)
{
	boot_test_t test = {.size = 2, .deadline_ns = SECOND / 2};
	boot_test_begin(&test);
	cr_expect_eq(boot_wait(boot_fork(&test, 1, 2, 1, barrier)), 1);
	cr_expect_eq(test.seen[1].status, TSR_ERR_PEER_LOST);
	cr_expect(strstr(test.seen[1].sentence, "rank 0 of 2 never arrived within 500 ms") != NULL,
		  "%s", test.seen[1].sentence);
	boot_test_end(&test);
}

/** Waits until the others have given up. */
static void await_the_end(const tsr_boot_t *boot)
{
	const char *sentence;
	while (tsr_boot_abort_status(boot, &sentence) == TSR_OK)
		usleep(1000);
}

static int come_late(tsr_boot_t *boot, seen_t *seen)
{
	tsr_wait_record_t record = {.size = sizeof record};
	NEED(note(seen, tsr_boot_exchange(boot, "first", "", NULL, NULL, 0)) == TSR_OK);
	if (tsr_boot_rank(boot) == 1)
		await_the_end(boot);
	barrier(boot, seen);
	NEED(tsr_boot_wait_record(boot, 0, &record) == TSR_OK);
	NEED(record.block == -1 && record.from == 1 && record.rank != 1 &&
	     strcmp(record.kernel, "tsr_barrier") == 0);
	NEED(record.waited_ns >= SECOND / 2 && record.expected == record.seen + 1);
	return 0;
}

Test(lost, a_rank_that_comes_too_late_is_named_and_leaves_a_wait_record)
{
	for (int threads = 0; threads < 2; threads++) {
		static const char wanted[] = "rank 1 of 3 did not come to tsr_barrier within ";
		boot_test_t test = {.size = 3, .threads = threads == 1, .deadline_ns = SECOND / 2};
		int failed;
		boot_test_begin(&test);
		do {
			memset(test.seen, 0, 3 * sizeof *test.seen);
			failed = boot_run(&test, come_late);
		} while (somebody_was_late(&test, wanted) && be_more_patient(&test.deadline_ns));
		cr_expect_eq(failed, 0);
		for (int r = 0; r < test.size; r++) { /* the late one learns the same */
			cr_expect_eq(test.seen[r].status, TSR_ERR_TIMEOUT, "rank %d: %s", r,
				     tsr_status_name(test.seen[r].status));
			cr_expect(strstr(test.seen[r].sentence, wanted) != NULL, "%s",
				  test.seen[r].sentence);
			cr_expect(strcmp(test.seen[r].sentence, test.seen[0].sentence) == 0, "%s",
				  test.seen[r].sentence);
		}
		boot_test_end(&test);
	}
}

/* --------------------------------------------------------------- ranks that should not be there */

/**
 * Rank 0 of `size`, and two more processes, one after the other; expects that
 * all are told `says`.
 */
static void strangers(int size, const int *ranks, const int *sizes, const char *says)
{
	boot_test_t test = {.size = size};
	pid_t pids[3];
	int told = 0;
	boot_test_begin(&test);
	const uint64_t begin_ns = tsr_now_ns();
	for (int i = 0; i < 3; i++) {
		pids[i] = boot_fork(&test, ranks[i], sizes[i], i, barrier);
		if (i < 2)
			/* the last is the stranger: the door is shut behind it */
			boot_await(&test, i);
	}
	for (int i = 0; i < 3; i++)
		boot_wait(pids[i]);
	cr_expect(tsr_now_ns() - begin_ns < SOON_NS, "%s: not before the deadline", says);
	for (int i = 0; i < 3; i++)
		told += test.seen[i].status == TSR_ERR_CONFIG &&
			strstr(test.seen[i].sentence, says) != NULL;
	cr_expect(told == 3, "%s: %d were told; %s; %s; %s", says, told, test.seen[0].sentence,
		  test.seen[1].sentence, test.seen[2].sentence);
	boot_test_end(&test);
}

Test(lost, strangers_at_the_door_are_named)
{
	strangers(4, (int[]){0, 1, 1}, (int[]){4, 4, 4}, "two processes say that they are rank 1");
	strangers(4, (int[]){0, 1, 2}, (int[]){4, 4, 5},
		  "rank 2 says that the job has 5 ranks, rank 0 says 4");
}

static int stay(tsr_boot_t *boot, seen_t *seen)
{
	(void)boot, (void)seen;
	pause();
	return 0;
}

Test(lost, a_second_rank_0_is_refused)
{
	boot_test_t test = {.size = 2};
	boot_test_begin(&test);
	const pid_t first = boot_fork(&test, 0, 2, 0, stay);
	boot_await(&test, 0);
	const pid_t second = boot_fork(&test, 0, 2, 1, barrier);
	cr_expect_eq(boot_wait(second), 1);
	kill(first, SIGKILL);
	cr_expect_eq(boot_wait(first), 128 + SIGKILL);
	cr_expect_eq(test.seen[1].status, TSR_ERR_CONFIG);
	cr_expect(strstr(test.seen[1].sentence, "another process is rank 0") != NULL, "%s",
		  test.seen[1].sentence);
	boot_test_end(&test);
}

Test(lost, ranks_outside_the_job_are_refused)
{
	tsr_boot_t *boot = NULL;
	const tsr_job_t jobs[] = {{.rank = 2, .size = 2, .name = "x"},
				  {.rank = -1, .size = 2, .name = "x"},
				  {.size = 0, .name = "x"},
				  {.size = TSR_MAX_RANKS + 1, .name = "x"}};
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
		cr_expect_eq(tsr_boot_join(&jobs[i], SECOND, &boot), TSR_ERR_CONFIG);
	cr_expect(boot == NULL);
	cr_expect_eq(tsr_boot_threads(TSR_MAX_RANKS + 1, SECOND, &boot), TSR_ERR_ARGUMENT);
}

/*
 * Two worlds in a row in the same processes: who is quick may knock at the door
 * of the world that ends.
 */
static char again_job[80];

static int barrier_and_again(tsr_boot_t *boot, seen_t *seen)
{
	tsr_job_t job = {.rank = tsr_boot_rank(boot), .size = tsr_boot_size(boot)};
	snprintf(job.name, sizeof job.name, "%s", again_job);
	/* rank 0 lets the others in */
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	for (int i = 0; i < 20; i++) {
		tsr_boot_t *next;
		NEED(tsr_boot_join(&job, 200ull * SECOND, &next) == TSR_OK);
		NEED(tsr_boot_exchange(next, "tsr_barrier", "", NULL, NULL, 0) == TSR_OK);
		tsr_boot_leave(next);
	}
	return barrier(boot, seen);
}

Test(lost, worlds_may_follow_each_other)
{
	boot_test_t test = {.size = 3};
	boot_test_begin(&test);
	snprintf(again_job, sizeof again_job, "%s.again", test.job);
	cr_expect_eq(boot_run(&test, barrier_and_again), 0);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ the end */

static int abort_and_report(tsr_boot_t *boot, seen_t *seen)
{
	const char *sentence = "";
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_boot_abort_status(boot, &sentence) == TSR_OK);
	if (tsr_boot_rank(boot) == 1) {
		usleep(50000);
		tsr_boot_abort(boot, TSR_ERR_KERNEL, "the reason");
		tsr_boot_abort(boot, TSR_ERR_TIMEOUT, "another reason");
	}
	barrier(boot, seen);
	NEED(strcmp(seen->sentence, "the reason") == 0);
	NEED(seen->status == (tsr_boot_rank(boot) == 1 ? TSR_ERR_KERNEL : TSR_ERR_ABORTED));
	NEED(tsr_boot_abort_status(boot, &sentence) == TSR_ERR_KERNEL &&
	     strcmp(sentence, "the reason") == 0);
	NEED(atomic_load(&tsr_boot_words(boot)->aborted) != 0);
	char placed[64];
	snprintf(placed, sizeof placed, "given 0x%xa0, which is not %d",
		 (unsigned)tsr_boot_rank(boot) + 7, tsr_boot_rank(boot) == 2);
	seen->value = tsr_boot_claim_report(boot, "the reason") +
		      10 * tsr_boot_claim_report(boot, tsr_boot_rank(boot) ? "b" : "a") +
		      100 * tsr_boot_claim_report(boot, placed);
	return 0;
}

Test(lost, the_first_reason_wins_and_is_reported_once)
{
	for (int threads = 0; threads < 2; threads++) {
		boot_test_t test = {.size = 3, .threads = threads == 1};
		int claims = 0;
		boot_test_begin(&test);
		cr_expect_eq(boot_run(&test, abort_and_report), 0);
		for (int r = 0; r < test.size; r++) {
			claims += test.seen[r].value;
			cr_expect(test.seen[r].took_ns < SOON_NS, "rank %d slept through the end",
				  r);
		}
		/* addresses make no difference, and other numbers do */
		cr_expect_eq(claims, 1 + 10 * 2 + 100 * 2);
		boot_test_end(&test);
	}
}

static int keep_records(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	for (int i = 0; i < 40; i++) {
		const tsr_wait_record_t record = {.rank = tsr_boot_rank(boot), .block = i};
		tsr_boot_keep_wait_record(boot, &record);
	}
	NEED(tsr_boot_exchange(boot, "kept", "", NULL, NULL, 0) == TSR_OK);
	int next[TSR_MAX_RANKS] = {0}, count = 0;
	tsr_wait_record_t record = {.size = sizeof record};
	for (; tsr_boot_wait_record(boot, count, &record) == TSR_OK; count++)
		NEED(record.block == next[record.rank]++); /* oldest first */
	NEED(count == (tsr_boot_size(boot) == 1 ? 40 : 64));
	NEED(tsr_boot_wait_record(boot, count, &record) == TSR_ERR_NOT_FOUND &&
	     tsr_boot_wait_record(boot, -1, &record) != TSR_OK);
	return 0;
}

Test(lost, wait_records_of_all_ranks_oldest_first)
{
	boot_each(keep_records);
}

/** Rank 0 claims a record, and writes it only after a while; rank 1 knows of it by then. */
static int keep_slowly(tsr_boot_t *boot, seen_t *seen)
{
	tsr_wait_record_t record = {.block = 7};
	(void)seen;
	if (tsr_boot_rank(boot) == 0)
		atomic_fetch_add(&boot->control->wait_records_taken, 1);
	NEED(tsr_boot_exchange(boot, "claimed", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == 0) {
		usleep(50000);
		boot->control->wait_records[0].record = record;
		/* partner: the acquire in tsr_boot_wait_record */
		atomic_store(&boot->control->wait_records[0].ready, 1);
	} else {
		record.block = 0;
		NEED(tsr_boot_wait_record(boot, 0, &record) == TSR_OK && record.block == 7);
	}
	NEED(tsr_boot_exchange(boot, "kept", "", NULL, NULL, 0) == TSR_OK);
	return 0;
}

Test(lost, a_wait_record_that_is_being_written_is_waited_for)
{
	boot_test_t test = {.size = 2};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, keep_slowly), 0);
	boot_test_end(&test);
}

static atomic_bool rank_1_is_done;

/** Rank 1 comes long after the deadline. */
static void be_late(const tsr_boot_t *boot)
{
	if (tsr_boot_rank(boot) != 1)
		return;
	usleep(600000);
	rank_1_is_done = true;
}

static int quiesce(tsr_boot_t *boot, seen_t *seen)
{
	be_late(boot);
	tsr_boot_quiesce(boot);
	seen->value = rank_1_is_done;
	return 0;
}

/** Rank 1 leaves instead, as one does whose world was never made. */
static int quiesce_or_leave(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) != 1)
		return quiesce(boot, seen);
	be_late(boot);
	return 0;
}

Test(lost, memory_is_not_pulled_away_from_threads_that_are_not_done)
{
	boot_test_t test = {.size = 3, .threads = true, .deadline_ns = SECOND / 5};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, quiesce), 0);
	cr_expect(test.seen[0].value && test.seen[1].value && test.seen[2].value);
	rank_1_is_done = false;
	memset(test.seen, 0, 3 * sizeof *test.seen);
	cr_expect_eq(boot_run(&test, quiesce_or_leave), 0);
	cr_expect(test.seen[0].value && test.seen[2].value);
	boot_test_end(&test);
}

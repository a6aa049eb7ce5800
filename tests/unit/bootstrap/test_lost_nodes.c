/*
 * Worlds on several nodes in which something fails: a rank, a keeper, a node, a
 * connection, or somebody comes who should not. All ranks end in time, and say
 * who, or where, it was.
 */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "boot_test.h"
#include "patience.h"
#include "src/bootstrap/wire/wire.h"

#define SECOND 1000000000u
#define SOON_NS (100ull * SECOND) /* long before the deadline of boot_test_begin, on any machine */

/* ranks 0, 1 and 4 are on node 0, the keeper of node 1 is 2, that of node 2 is 5 */
static const int node_of[] = {0, 0, 1, 1, 0, 2};
enum { RANKS = 6, NODES = 3 };

static int barrier(tsr_boot_t *boot, seen_t *seen)
{
	const uint64_t begin_ns = tsr_now_ns();
	(void)note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0));
	seen->took_ns = tsr_now_ns() - begin_ns;
	return 0;
}

/** Expects of all ranks but `but` that they ended with `status`, soon, and said `says`. */
static void all_say(const boot_test_t *test, int but, tsr_status_t status, const char *says)
{
	for (int r = 0; r < test->size; r++) {
		if (r == but)
			continue;
		cr_expect_eq(test->seen[r].status, status, "rank %d: %s", r,
			     tsr_status_name(test->seen[r].status));
		cr_expect(strstr(test->seen[r].sentence, says) != NULL, "rank %d: %s", r,
			  test->seen[r].sentence);
		cr_expect(test->seen[r].took_ns < SOON_NS, "rank %d: %llu ns", r,
			  (unsigned long long)test->seen[r].took_ns);
	}
}

static void all_say_the_same(const boot_test_t *test, int but)
{
	const int first = but == 0 ? 1 : 0;
	for (int r = 0; r < test->size; r++)
		cr_expect(r == but ||
				  strcmp(test->seen[r].sentence, test->seen[first].sentence) == 0,
			  "rank %d: %s; rank %d: %s", r, test->seen[r].sentence, first,
			  test->seen[first].sentence);
}

/* ------------------------------------------------------------------ mismatches */

static int call_differs(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) == 3)
		(void)note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0));
	else
		(void)note(seen,
			   tsr_boot_exchange(boot, "tsr_heap_alloc", "4096 bytes", NULL, NULL, 0));
	/* the world is over, for the same reason */
	NEED(tsr_boot_exchange(boot, "later", "", NULL, NULL, 0) == seen->status);
	NEED(strcmp(tsr_last_error(), seen->sentence) == 0);
	return 0;
}

Test(lost_nodes, another_call_ends_the_world_on_all_nodes)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, call_differs), 0);
	all_say(&test, -1, TSR_ERR_MISMATCH,
		"rank 3 called tsr_barrier where rank 0 called tsr_heap_alloc(4096 bytes): every "
		"rank must make the same collective calls in the same order, with the same "
		"arguments");
	boot_test_end(&test);
}

static int sizes_differ(tsr_boot_t *boot, seen_t *seen)
{
	static const unsigned char mine[50000];
	static unsigned char all[RANKS * 50000];
	const size_t size = tsr_boot_rank(boot) == 5 ? 16 : 50000;
	memset(all, 0xee, sizeof all);
	(void)note(seen, tsr_boot_exchange(boot, "tsr_team_gather_all", "", mine, all, size));
	for (size_t i = 0; i < sizeof all; i++)
		NEED(all[i] == 0xee); /* written only on success */
	NEED(tsr_boot_exchange(boot, "later", "", NULL, NULL, 0) == TSR_OK);
	return 0;
}

Test(lost_nodes, other_sizes_are_an_error_of_the_call_on_all_nodes)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, sizes_differ), 0);
	all_say(&test, -1, TSR_ERR_MISMATCH,
		"rank 5 called tsr_team_gather_all(16 bytes) where rank 0 called "
		"tsr_team_gather_all(50000 bytes)");
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ the end of the world */

/** Every rank ends the world at the same time, for its own reason. One wins on all nodes. */
static int end_all(tsr_boot_t *boot, seen_t *seen)
{
	char mine[64];
	const char *sentence = "";
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	snprintf(mine, sizeof mine, "rank %d says so", tsr_boot_rank(boot));
	tsr_boot_abort(boot, TSR_ERR_TIMEOUT, mine);
	seen->status = tsr_boot_abort_status(boot, &sentence); /* it has ended when that returns */
	snprintf(seen->sentence, sizeof seen->sentence, "%s", sentence);
	return 0;
}

Test(lost_nodes, the_first_who_ends_the_world_wins_on_all_nodes)
{
	for (int i = 0; i < 10; i++) {
		boot_test_t test = {.size = RANKS, .node_of = node_of};
		boot_test_begin(&test);
		cr_expect_eq(boot_run(&test, end_all), 0);
		all_say(&test, -1, TSR_ERR_TIMEOUT, "says so");
		all_say_the_same(&test, -1);
		boot_test_end(&test);
	}
}

/** A rank fails, and is gone at once. */
static int fail(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == seen->value) {
		tsr_boot_fail(boot, 7);
		return 0;
	}
	barrier(boot, seen);
	NEED(tsr_boot_exit_code(boot) == 7);
	return 0;
}

Test(lost_nodes, a_rank_that_fails_ends_all_with_its_exit_code)
{
	static const int failing[] = {0, 1, 2, 3, 5};
	for (int i = 0; i < 5; i++) {
		boot_test_t test = {.size = RANKS, .node_of = node_of};
		char says[80];
		boot_test_begin(&test);
		for (int r = 0; r < RANKS; r++)
			test.seen[r].value = failing[i];
		cr_expect_eq(boot_run(&test, fail), 0, "rank %d fails", failing[i]);
		snprintf(says, sizeof says, "rank %d of 6 ended with exit code 7", failing[i]);
		all_say(&test, failing[i], TSR_ERR_PEER_LOST, says);
		boot_test_end(&test);
	}
}

/**
 * A keeper fails before its node has met the others. It is alone there: ranks of
 * its node would wait at its door, and their launcher would tell them.
 */
static int fail_early(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) == seen->value) {
		tsr_boot_fail(boot, 7);
		return 0;
	}
	return barrier(boot, seen);
}

Test(lost_nodes, a_keeper_that_fails_before_all_have_met_ends_all)
{
	static const int alone[] = {0, 1, 1, 2}, failing[] = {0, 3};
	for (int i = 0; i < 2; i++) {
		boot_test_t test = {.size = 4, .node_of = alone};
		boot_test_begin(&test);
		for (int r = 0; r < test.size; r++)
			test.seen[r].value = failing[i];
		const uint64_t begin_ns = tsr_now_ns();
		cr_expect_eq(boot_run(&test, fail_early), 0, "rank %d fails", failing[i]);
		cr_expect(tsr_now_ns() - begin_ns < SOON_NS);
		all_say(&test, failing[i], TSR_ERR_PEER_LOST, "ended with exit code 7");
		boot_test_end(&test);
	}
}

static int leave_early(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == seen->value)
		return 0;
	barrier(boot, seen);
	NEED(tsr_boot_lost_rank(boot) == -1); /* it has left, it is not lost */
	return 0;
}

Test(lost_nodes, who_leaves_is_named_by_who_waits_on_any_node)
{
	static const int leaving[] = {0, 1, 2, 3, 5};
	for (int i = 0; i < 5; i++) {
		boot_test_t test = {.size = RANKS, .node_of = node_of};
		char says[80];
		boot_test_begin(&test);
		for (int r = 0; r < RANKS; r++)
			test.seen[r].value = leaving[i];
		cr_expect_eq(boot_run(&test, leave_early), 0, "rank %d leaves", leaving[i]);
		snprintf(says, sizeof says, "rank %d of 6 has left the world", leaving[i]);
		all_say(&test, leaving[i], TSR_ERR_PEER_LOST, says);
		all_say_the_same(&test, leaving[i]);
		boot_test_end(&test);
	}
}

static int come_late(tsr_boot_t *boot, seen_t *seen)
{
	tsr_wait_record_t record = {.size = sizeof record};
	const char *sentence;
	NEED(note(seen, tsr_boot_exchange(boot, "first", "", NULL, NULL, 0)) == TSR_OK);
	while (tsr_boot_rank(boot) == 3 && tsr_boot_abort_status(boot, &sentence) == TSR_OK)
		usleep(1000);
	barrier(boot, seen);
	NEED(tsr_boot_wait_record(boot, 0, &record) == TSR_OK);
	NEED(record.block == -1 && record.from == 3 && record.rank != 3 &&
	     strcmp(record.kernel, "tsr_barrier") == 0);
	return 0;
}

static bool somebody_was_late(const boot_test_t *test, const char *wanted)
{
	bool late = false;
	for (int r = 0; r < test->size; r++)
		late = late || tells_of_lateness(test->seen[r].sentence, wanted);
	return late;
}

Test(lost_nodes, a_rank_that_comes_too_late_is_named_and_leaves_wait_records_on_all_nodes)
{
	static const char wanted[] = "rank 3 of 6 on node 1 did not come to tsr_barrier within ";
	boot_test_t test = {.size = RANKS, .node_of = node_of, .deadline_ns = SECOND};
	int failed;
	do {
		boot_test_begin(&test);
		failed = boot_run(&test, come_late);
	} while (somebody_was_late(&test, wanted) && be_more_patient(&test.deadline_ns));
	cr_expect_eq(failed, 0);
	all_say(&test, -1, TSR_ERR_TIMEOUT, wanted);
	all_say_the_same(&test, -1);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ processes that end */

static int die_in_the_middle(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == seen->value) {
		usleep(30000);
		kill(getpid(), SIGKILL);
	}
	return barrier(boot, seen);
}

static void kill_one(boot_test_t *test, int rank)
{
	boot_test_begin(test);
	for (int r = 0; r < test->size; r++)
		test->seen[r].value = rank;
	cr_expect_eq(boot_run(test, die_in_the_middle), 1);
}

Test(lost_nodes, a_rank_that_is_killed_is_named_on_all_nodes)
{
	static const int killed[] = {1, 3, 4};
	for (int i = 0; i < 3; i++) {
		boot_test_t test = {.size = RANKS, .node_of = node_of};
		char says[80];
		kill_one(&test, killed[i]);
		snprintf(says, sizeof says, "rank %d of 6 on node %d is lost", killed[i],
			 node_of[killed[i]]);
		all_say(&test, killed[i], TSR_ERR_PEER_LOST, says);
		all_say_the_same(&test, killed[i]);
		boot_test_end(&test);
	}
}

/** The ranks of its node miss it; the others its node. */
static void kill_keeper(int keeper, const char *node)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of};
	char says[80];
	kill_one(&test, keeper);
	snprintf(says, sizeof says, "rank %d of 6 on node %d is lost", keeper, node_of[keeper]);
	for (int r = 0; r < RANKS; r++) {
		const bool near = node_of[r] == node_of[keeper];
		const seen_t *seen = &test.seen[r];
		if (r == keeper)
			continue;
		cr_expect_eq(seen->status, TSR_ERR_PEER_LOST, "rank %d: %s", r,
			     tsr_status_name(seen->status));
		cr_expect(strstr(seen->sentence, near ? says : node) != NULL, "rank %d: %s", r,
			  seen->sentence);
		cr_expect(seen->took_ns < SOON_NS);
	}
	boot_test_end(&test);
}

Test(lost_nodes, a_keeper_that_is_killed_costs_its_node)
{
	kill_keeper(2, "node 1 (ranks 2 and 3) of the world of 6 ranks is lost: its connection");
	kill_keeper(5, "node 2 (rank 5) of the world of 6 ranks is lost: its connection");
	kill_keeper(0, "node 0 (ranks 0, 1 and 4) of the world of 6 ranks is lost: its connection");
}

/* ------------------------------------------------------------------ a keeper that is stopped */

static int stop_keeper(tsr_boot_t *boot, seen_t *seen)
{
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	if (tsr_boot_rank(boot) == seen->value) {
		usleep(100000); /* what it has said so far is passed on */
		kill(getpid(), SIGSTOP);
		return 0;
	}
	return barrier(boot, seen);
}

/** Runs it; continues the stopped keeper when all others have ended. Returns how many failed. */
static int run_stopped(boot_test_t *test, int keeper)
{
	pid_t pids[RANKS];
	int failed = 0;
	boot_test_begin(test);
	for (int r = 0; r < RANKS; r++) {
		test->seen[r].value = keeper;
		pids[r] = boot_fork(test, r, RANKS, r, stop_keeper);
	}
	for (int r = 0; r < RANKS; r++)
		if (r != keeper)
			failed += boot_wait(pids[r]) != 0;
	kill(pids[keeper], SIGCONT);
	return failed + (boot_wait(pids[keeper]) != 0);
}

/** Whether a rank tells of nothing but the stopped keeper, its node, or ranks behind it. */
static void expect_stopped(const boot_test_t *test, int keeper)
{
	char node[16];
	snprintf(node, sizeof node, "node %d", node_of[keeper]);
	for (int r = 0; r < RANKS; r++) {
		if (r == keeper)
			continue;
		const char *sentence = test->seen[r].sentence;
		cr_expect(test->seen[r].status == TSR_ERR_PEER_LOST ||
				  test->seen[r].status == TSR_ERR_TIMEOUT,
			  "rank %d: %s", r, tsr_status_name(test->seen[r].status));
		/* a rank of its node waits for all that it hides */
		cr_expect(strstr(sentence, node) != NULL || node_of[r] == node_of[keeper],
			  "rank %d: %s", r, sentence);
		cr_expect(test->seen[r].took_ns < 20 * test->deadline_ns, "rank %d: %llu ns", r,
			  (unsigned long long)test->seen[r].took_ns);
	}
}

Test(lost_nodes, a_keeper_that_is_stopped_holds_up_nobody_past_the_deadline)
{
	static const int stopped[] = {2, 0};
	for (int i = 0; i < 2; i++) {
		boot_test_t test = {.size = RANKS, .node_of = node_of, .deadline_ns = 2 * SECOND};
		cr_expect_eq(run_stopped(&test, stopped[i]), 0);
		expect_stopped(&test, stopped[i]);
		boot_test_end(&test);
	}
}

/* ------------------------------------------------------------------ who does not come */

Test(lost_nodes, a_node_that_never_comes_is_named_at_the_deadline)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of, .deadline_ns = SECOND};
	pid_t pids[RANKS];
	boot_test_begin(&test);
	for (int r = 0; r < RANKS; r++)
		pids[r] = r == 5 ? 0 : boot_fork(&test, r, RANKS, r, barrier);
	for (int r = 0; r < RANKS; r++)
		cr_expect(r == 5 || boot_wait(pids[r]) == 0, "rank %d", r);
	all_say(&test, 5, TSR_ERR_PEER_LOST, "rank 5 of 6 never arrived within ");
	all_say_the_same(&test, 5);
	boot_test_end(&test);
}

Test(lost_nodes, node_0_that_never_comes_is_named_with_its_address)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of, .deadline_ns = SECOND};
	boot_test_begin(&test);
	close(test.root_fd);
	test.root_fd = -1;
	const pid_t pid = boot_fork(&test, 5, RANKS, 5, barrier);
	cr_expect_eq(boot_wait(pid), 0);
	cr_expect_eq(test.seen[5].status, TSR_ERR_PEER_LOST);
	cr_expect(strstr(test.seen[5].sentence, "rank 5 of 6 cannot reach rank 0's node at "
						"127.0.0.1:") != NULL,
		  "%s", test.seen[5].sentence);
	cr_expect(strstr(test.seen[5].sentence, "Connection refused") != NULL, "%s",
		  test.seen[5].sentence);
	boot_test_end(&test);
}

Test(lost_nodes, a_keeper_that_never_comes_is_named_by_the_ranks_of_its_node)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of, .deadline_ns = SECOND / 2};
	boot_test_begin(&test);
	cr_expect_eq(boot_wait(boot_fork(&test, 3, RANKS, 3, barrier)), 1);
	cr_expect_eq(test.seen[3].status, TSR_ERR_PEER_LOST);
	cr_expect(strstr(test.seen[3].sentence,
			 "the first rank of this rank's node of 6 never arrived within 500 ms") !=
			  NULL,
		  "%s", test.seen[3].sentence);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ who should not be there */

static int connect_to(const boot_test_t *test)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)test->port),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
	return fd;
}

/** Says a knock and a hello with a proof of another key. */
static void lie(int fd)
{
	const tsr_key_t other = {{1, 2}};
	tsr_wire_knock_t knock = {.magic = TSR_WIRE_MAGIC, .nonce = 5};
	tsr_wire_challenge_t challenge;
	tsr_wire_hello_t hello = {
		.magic = TSR_WIRE_MAGIC, .kind = TSR_HELLO_NODE, .rank = 2, .size = RANKS};
	cr_expect(send(fd, &knock, sizeof knock, MSG_NOSIGNAL) == sizeof knock);
	cr_expect(recv(fd, &challenge, sizeof challenge, MSG_WAITALL) == sizeof challenge);
	hello.proof = tsr_wire_hello_proof(&other, knock.nonce, challenge.nonce, &hello);
	cr_expect(send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
	cr_expect(recv(fd, &challenge, 1, 0) <= 0); /* it is sent away */
}

Test(lost_nodes, strangers_at_the_port_disturb_nobody)
{
	enum { SILENT = 100 };
	boot_test_t test = {.size = RANKS, .node_of = node_of};
	char garbage[500];
	int silent[SILENT];
	pid_t pids[RANKS];
	boot_test_begin(&test);
	memset(garbage, 0x5a, sizeof garbage);
	pids[0] = boot_fork(&test, 0, RANKS, 0, barrier);
	boot_await(&test, 0);
	for (int i = 0; i < SILENT; i++) /* more than the hub listens to at one time */
		silent[i] = connect_to(&test);
	const int rude = connect_to(&test);
	cr_expect(send(rude, garbage, sizeof garbage, MSG_NOSIGNAL) == sizeof garbage);
	const int liar = connect_to(&test);
	lie(liar);
	for (int r = 1; r < RANKS; r++)
		pids[r] = boot_fork(&test, r, RANKS, r, barrier);
	for (int r = 0; r < RANKS; r++) {
		cr_expect_eq(boot_wait(pids[r]), 0, "rank %d", r);
		cr_expect_eq(test.seen[r].status, TSR_OK, "rank %d: %s", r, test.seen[r].sentence);
		cr_expect(test.seen[r].took_ns < SOON_NS);
	}
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	close(rude);
	close(liar);
	boot_test_end(&test);
}

Test(lost_nodes, a_listener_of_another_job_is_named)
{
	boot_test_t test = {.size = RANKS, .node_of = node_of, .deadline_ns = 3 * SECOND};
	boot_test_begin(&test);
	const char *ours = test.job;
	test.job = "another.job";
	const pid_t other = boot_fork(&test, 0, RANKS, 0, barrier);
	boot_await(&test, 0);
	test.job = ours;
	test.deadline_ns = SECOND;
	const pid_t pid = boot_fork(&test, 5, RANKS, 5, barrier);
	cr_expect_eq(boot_wait(pid), 0);
	cr_expect_eq(test.seen[5].status, TSR_ERR_CONFIG);
	cr_expect(strstr(test.seen[5].sentence, "does not know the secret of the job") != NULL,
		  "%s", test.seen[5].sentence);
	kill(other, SIGKILL);
	(void)boot_wait(other);
	boot_test_end(&test);
}

Test(lost_nodes, a_rank_that_is_on_two_nodes_is_named)
{
	static const int twice[] = {0, 1, 1};
	boot_test_t test = {.size = 3, .node_of = twice};
	pid_t pids[3];
	boot_test_begin(&test);
	pids[0] = boot_fork(&test, 0, 3, 0, barrier);
	pids[1] = boot_fork(&test, 1, 3, 1, barrier);
	test.node_of = (const int[]){0, 2, 2}; /* a second rank 1, on a third node */
	boot_await(&test, 1);
	pids[2] = boot_fork(&test, 1, 3, 2, barrier);
	for (int i = 0; i < 3; i++)
		(void)boot_wait(pids[i]);
	all_say(&test, -1, TSR_ERR_CONFIG, "two processes say that they are rank 1");
	boot_test_end(&test);
}

Test(lost_nodes, a_node_of_a_job_of_another_size_is_named)
{
	static const int two[] = {0, 1, 1};
	boot_test_t test = {.size = 2, .node_of = two};
	pid_t pids[2];
	boot_test_begin(&test);
	pids[0] = boot_fork(&test, 0, 2, 0, barrier);
	pids[1] = boot_fork(&test, 1, 3, 1, barrier);
	for (int i = 0; i < 2; i++)
		(void)boot_wait(pids[i]);
	all_say(&test, -1, TSR_ERR_CONFIG,
		"rank 1 says that the job has 3 ranks, rank 0 says 2: start all ranks alike");
	boot_test_end(&test);
}

Test(lost_nodes, a_port_that_is_taken_is_named)
{
	boot_test_t test = {.size = 2, .node_of = node_of};
	boot_test_begin(&test);
	const int fd = test.root_fd;
	test.root_fd = 0; /* the socket is there, and rank 0 does not know of it */
	const pid_t pid = fork();
	if (pid == 0) {
		tsr_job_t job = {.rank = 0, .size = 2};
		tsr_boot_t *boot;
		boot_place(&test, &job);
		(void)note(&test.seen[0], tsr_boot_join(&job, SECOND, &boot));
		_exit(0);
	}
	cr_expect_eq(boot_wait(pid), 0);
	cr_expect_eq(test.seen[0].status, TSR_ERR_CONFIG);
	cr_expect(strstr(test.seen[0].sentence, "another process has this port") != NULL, "%s",
		  test.seen[0].sentence);
	test.root_fd = fd;
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ several jobs */

static int meet_often(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	for (int round = 0; round < 50; round++) {
		int all[TSR_MAX_RANKS];
		const int mine = round * 100 + tsr_boot_rank(boot);
		NEED(tsr_boot_exchange(boot, "meet", "", &mine, all, sizeof mine) == TSR_OK);
		for (int r = 0; r < tsr_boot_size(boot); r++)
			NEED(all[r] == round * 100 + r);
	}
	return 0;
}

Test(lost_nodes, two_jobs_at_once_do_not_meet)
{
	boot_test_t test[2] = {{.size = RANKS, .node_of = node_of},
			       {.size = RANKS, .node_of = node_of}};
	pid_t pids[2][RANKS];
	char jobs[2][64];
	for (int j = 0; j < 2; j++) {
		boot_test_begin(&test[j]);
		snprintf(jobs[j], sizeof jobs[j], "%.50s.%d", test[j].job, j);
		test[j].job = jobs[j];
	}
	for (int r = 0; r < RANKS; r++)
		for (int j = 0; j < 2; j++)
			pids[j][r] = boot_fork(&test[j], r, RANKS, r, meet_often);
	for (int r = 0; r < RANKS; r++)
		for (int j = 0; j < 2; j++)
			cr_expect_eq(boot_wait(pids[j][r]), 0, "job %d, rank %d", j, r);
	for (int j = 0; j < 2; j++)
		boot_test_end(&test[j]);
}

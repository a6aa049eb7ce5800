/*
 * Ranks that die, stop or never come: the others end within the deadline, and
 * name rank and node. Nothing is left behind.
 */
#include <criterion/criterion.h>
#include <dirent.h>

#include "net_test.h"

static const char *const carriers[] = {NULL, "seed 1 delay 0"};
enum { CARRIERS = 2 };
#define DEADLINE_NS (2 * NET_SECOND)

/** What a rank does that must end. */
enum { FETCH, FLUSH, GET, PUT, PASS_ON, CALLS };
static const char *const call_names[] = {"in an atomic access", "in a flush", "in a get",
					 "in a put", "in an atomic access"};

static int the_call; /* of all ranks: set before they are forked */
static bool the_peer_dies;

static void call(net_rank_t *me, int which)
{
	static unsigned char row[1 << 20];
	switch (which) {
	case FETCH:
		(void)tsr_net_fetch(me->net, 1, net_word(0, NET_ADD, 1), false);
		break;
	case FLUSH:
		tsr_net_fill(me->net, 1, net_bytes(0, 8), 1);
		tsr_net_flush(me->net);
		break;
	case GET:
		tsr_net_get(me->net, 1, net_bytes(0, sizeof row), row, sizeof row);
		break;
	case PUT: /* until nobody takes them any more */
		for (int i = 0; i < 200 && !tsr_net_is_over(me->net); i++)
			tsr_net_put(me->net, 1, net_bytes(0, sizeof row), row, sizeof row);
		break;
	default: /* waits for rank 1, though it asks another */
		tsr_net_fill(me->net, 1, net_bytes(0, 8), 1);
		(void)tsr_net_fetch(me->net, 2, net_word(64, NET_ADD, 1), true);
	}
}

/** Rank 1 dies or stops; the others call. */
static int meet_and_call(net_rank_t *me)
{
	net_meet(me);
	if (me->rank == 1) {
		raise(the_peer_dies ? SIGKILL : SIGSTOP);
		return 0;
	}
	if (me->rank == 2 && the_call == PASS_ON) { /* this one serves rank 0, and calls nobody */
		while (me->test->shared->seen[0].took_ns == 0)
			usleep(1000);
		return 0;
	}
	usleep(20000);
	const uint64_t begin_ns = tsr_now_ns();
	call(me, the_call);
	me->seen->took_ns = tsr_now_ns() - begin_ns;
	return 0;
}

/** Ranks of a world of which rank 1 is killed when the others have ended. */
static void run_with_one_less(net_test_t *test)
{
	pid_t pids[NET_TEST_RANKS];
	for (int r = 0; r < test->size; r++)
		pids[r] = net_fork(test, r, meet_and_call);
	for (int r = 0; r < test->size; r++)
		if (r != 1)
			cr_expect_eq(net_wait(pids[r]), 0, "rank %d", r);
	kill(pids[1], SIGKILL);
	(void)net_wait(pids[1]);
}

/** Expects that all ended in time, because of rank 1. */
static void expect_named(const net_test_t *test, bool dead)
{
	const net_seen_t *end = &test->shared->end;
	const bool lost = dead && end->status == TSR_ERR_PEER_LOST;
	cr_expect(end->status == TSR_ERR_TIMEOUT || lost, "call %d: %s", the_call,
		  tsr_status_name(end->status));
	cr_expect(strstr(end->sentence, "rank 1 on node 1") != NULL, "call %d: %s", the_call,
		  end->sentence);
	cr_expect(lost || strstr(end->sentence, call_names[the_call]) != NULL, "%s", end->sentence);
	for (int r = 0; r < test->size; r++)
		cr_expect(test->shared->seen[r].took_ns < 20 * test->deadline_ns,
			  "rank %d, call %d: %llu ns", r, the_call,
			  (unsigned long long)test->shared->seen[r].took_ns);
	cr_expect(dead || test->shared->seen[0].took_ns >= test->deadline_ns / 2,
		  "call %d: %llu ns", the_call, (unsigned long long)test->shared->seen[0].took_ns);
}

static void lose_one(bool dies)
{
	the_peer_dies = dies;
	for (int c = 0; c < CARRIERS; c++) {
		for (int i = 0; i < CALLS && net_has_carrier(carriers[c]); i++) {
			net_test_t test = {
				.size = 3, .deadline_ns = DEADLINE_NS, .carrier = carriers[c]};
			the_call = i;
			net_test_begin(&test);
			run_with_one_less(&test);
			expect_named(&test, dies);
			net_test_end(&test);
		}
	}
}

Test(net_ends, a_rank_that_is_killed_is_named, .timeout = 300)
{
	lose_one(true);
}

Test(net_ends, a_rank_that_is_stopped_is_named_at_the_deadline, .timeout = 300)
{
	lose_one(false);
}

/* ------------------------------------------------------------------ the world ends */

static int wait_for_the_end(net_rank_t *me)
{
	net_meet(me);
	if (me->rank == 1)
		raise(SIGSTOP);
	const uint64_t begin_ns = tsr_now_ns();
	if (me->rank == 0) {
		(void)tsr_net_fetch(me->net, 1, net_word(0, NET_ADD, 1), true);
		me->seen->took_ns = tsr_now_ns() - begin_ns;
		/* from then on calls return at once */
		for (int i = 0; i < 3000; i++)
			tsr_net_update(me->net, 1, net_word(0, NET_ADD, 1), true);
		NEED(tsr_net_fetch(me->net, 1, net_word(0, NET_ADD, 1), true) == 0);
		tsr_net_flush(me->net);
		NEED(tsr_now_ns() - begin_ns < 60 * NET_SECOND);
		return 0;
	}
	usleep(300000);
	atomic_store(&me->test->shared->aborted[0], 1); /* as the control plane would */
	return 0;
}

Test(net_ends, waits_return_when_the_world_ends, .timeout = 300)
{
	for (int c = 0; c < CARRIERS; c++) {
		net_test_t test = {
			.size = 3, .deadline_ns = 100 * NET_SECOND, .carrier = carriers[c]};
		pid_t pids[3];
		if (!net_has_carrier(carriers[c]))
			continue;
		net_test_begin(&test);
		for (int r = 0; r < 3; r++)
			pids[r] = net_fork(&test, r, wait_for_the_end);
		cr_expect_eq(net_wait(pids[0]), 0);
		kill(pids[1], SIGKILL);
		(void)net_wait(pids[1]);
		kill(pids[2], SIGKILL);
		(void)net_wait(pids[2]);
		cr_expect(test.shared->seen[0].took_ns < 60 * NET_SECOND);
		cr_expect_eq(test.shared->seen[0].status, TSR_OK); /* it did not end it */
		net_test_end(&test);
	}
}

/* ------------------------------------------------------------------ who never comes */

static int nothing(net_rank_t *me)
{
	(void)me;
	return 0;
}

/** Opens, so that there is an address, and never serves. */
static int only_open(net_test_t *test, int rank)
{
	static net_rank_t me;
	me = (net_rank_t){.test = test, .rank = rank, .size = test->size};
	me.seen = &test->shared->seen[rank];
	if (net_rank_open(&me) != 0)
		return 2;
	net_meet(&me);
	pause();
	return 0;
}

Test(net_ends, who_never_connects_is_named, .timeout = 120)
{
	for (int c = 0; c < CARRIERS; c++) {
		net_test_t test = {.size = 3, .deadline_ns = NET_SECOND, .carrier = carriers[c]};
		pid_t pids[3];
		if (!net_has_carrier(carriers[c]))
			continue;
		net_test_begin(&test);
		for (int r = 0; r < 3; r++) {
			fflush(NULL);
			pids[r] = r == 1 ? fork() : net_fork(&test, r, nothing);
			if (r == 1 && pids[r] == 0)
				exit(only_open(&test, 1));
		}
		int named = 0;
		for (int r = 0; r < 3; r += 2) { /* the later of both may miss the other, too */
			cr_expect_eq(net_wait(pids[r]), 2);
			const net_seen_t *seen = &test.shared->seen[r];
			cr_expect(seen->status == TSR_ERR_PEER_LOST ||
					  seen->status == TSR_ERR_ABORTED,
				  "%s", seen->sentence);
			named += seen->status == TSR_ERR_PEER_LOST &&
				 strstr(seen->sentence, "from rank 1 on node 1: look") != NULL;
		}
		cr_expect(named > 0, "%s; %s", test.shared->seen[0].sentence,
			  test.shared->seen[2].sentence);
		kill(pids[1], SIGKILL);
		(void)net_wait(pids[1]);
		net_test_end(&test);
	}
}

/* ------------------------------------------------------------------ what is left */

/** How many entries a folder of /proc/self has. */
static int entries(const char *path)
{
	int count = 0;
	DIR *folder = opendir(path);
	while (folder != NULL && readdir(folder) != NULL)
		count++;
	if (folder != NULL)
		closedir(folder);
	return count;
}

/** Worlds one after the other in the same processes. */
static int open_and_close(net_rank_t *me)
{
	int threads = 0, descriptors = 0;
	for (int i = 0; i < 12; i++) {
		if (i == 4) { /* what a library leaves once, such as UCX's thread, is there now */
			threads = entries("/proc/self/task");
			descriptors = entries("/proc/self/fd");
		}
		for (int r = 0; r < me->size; r++)
			if (r != me->rank)
				tsr_net_update(me->net, r, net_word(8 * (uint64_t)i, NET_ADD, 1),
					       false); /* and nobody flushes: closing does */
		net_meet(me);
		tsr_net_close(me->net);
		net_meet(me);
		NEED(net_read(me, 8 * (uint64_t)i) == (uint64_t)me->size - 1);
		NEED(net_rank_open(me) == 0);
		net_meet(me);
		NEED(net_rank_connect(me) == 0);
	}
	NEED(entries("/proc/self/task") <= threads);
	NEED(entries("/proc/self/fd") <= descriptors);
	return 0;
}

Test(net_ends, nothing_is_left, .timeout = 120)
{
	for (int c = 0; c < CARRIERS; c++) {
		net_test_t test = {.size = 3, .carrier = carriers[c]};
		if (!net_has_carrier(carriers[c]))
			continue;
		const int descriptors = entries("/proc/self/fd");
		net_test_begin(&test);
		cr_expect_eq(net_run(&test, open_and_close), 0);
		net_test_end(&test);
		cr_expect_eq(entries("/proc/self/fd"), descriptors);
	}
}

/* ------------------------------------------------------------------ no carrier */

static void expect_refused(const char *plugin, const char *says)
{
	char text[TSR_NET_DESCRIPTION_BYTES];
	cr_expect_eq(tsr_net_about(plugin, text), TSR_ERR_UNSUPPORTED);
	cr_expect(strstr(tsr_last_error(), says) != NULL, "%s", tsr_last_error());
}

Test(net_ends, without_a_carrier_it_says_what_to_install, .timeout = 60)
{
	char path[4096], text[TSR_NET_DESCRIPTION_BYTES] = "";
	expect_refused("/nowhere/libtessera-net-ucx.so", "a world over several nodes needs UCX");
	expect_refused("/nowhere/libtessera-net-ucx.so", "install libucx0 (Debian)");
	expect_refused("libm.so.6", "no tsr_carrier_plugin");
	cr_expect_eq(tsr_net_about(net_build_file("tests/fakes/libcarrier.so", path), text),
		     TSR_OK);
	cr_expect_str_eq(text, "datagrams of a test");
	if (net_has_carrier(NULL)) {
		cr_expect_eq(tsr_net_about(net_build_file("plugins/libtessera-net-ucx.so", path),
					   text),
			     TSR_OK);
		cr_expect(strncmp(text, "UCX ", 4) == 0 && strstr(text, "tcp over ") != NULL &&
				  strstr(text, "memory: host") != NULL,
			  "%s", text);
	}
}

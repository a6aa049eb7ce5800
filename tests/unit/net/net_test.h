/*
 * Worlds for tests of the data plane: ranks are processes, each on a node of
 * its own unless the test says otherwise. They meet in memory that they share.
 */
#ifndef TESSERA_NET_TEST_H
#define TESSERA_NET_TEST_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "late_memory.h"
#include "src/base/os/clock.h"
#include "src/net/state.h"
#include "tessera/program.h"

enum { NET_TEST_RANKS = 8, NET_HEAP_BYTES = 4 << 20, NET_SENTENCE_BYTES = 1024 };
#define NET_SECOND 1000000000ull

/** What a rank leaves behind. */
typedef struct net_seen {
	tsr_status_t status; /* of the world's end, or of opening */
	char sentence[NET_SENTENCE_BYTES];
	uint64_t took_ns, value;
} net_seen_t;

/** What ranks share beside the data plane. */
typedef struct net_shared {
	_Atomic uint32_t arrived[256], aborted[NET_TEST_RANKS];
	unsigned char addresses[NET_TEST_RANKS][TSR_NET_ADDRESS_BYTES];
	net_seen_t seen[NET_TEST_RANKS];
	_Atomic uint32_t ends; /* calls of `fail` */
	net_seen_t end;        /* the first of them */
} net_shared_t;

typedef struct net_test {
	int size;
	int node_of[NET_TEST_RANKS]; /* all 0: each rank has a node of its own */
	uint64_t deadline_ns;        /* 0: for any machine, however busy */
	const char *carrier;         /* of tests/fakes: its settings; null: UCX */
	tsr_slow_t slow;             /* 0: the network as it is */
	bool late;                   /* heaps are reached by calls alone: late_memory.h */
	net_shared_t *shared;
} net_test_t;

/** A rank in a test's body. */
typedef struct net_rank {
	net_test_t *test;
	int rank, size;
	tsr_net_t *net;
	unsigned char *heap;
	late_memory_t late;
	net_seen_t *seen;
	int meetings;
	_Atomic uint32_t arrivals; /* atomic accesses of others to my words */
} net_rank_t;

/** Returns 0, or the line that failed. */
typedef int (*net_body_t)(net_rank_t *me);

/** In a body: ends it with the line where `cond_` is not so. */
#define NEED(cond_)                                                                                \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			fprintf(stderr, "%s:%d: rank %d: %s (%s)\n", __FILE__, __LINE__, me->rank, \
				#cond_, me->seen->sentence);                                       \
			return __LINE__;                                                           \
		}                                                                                  \
	} while (0)

/* ------------------------------------------------------------------ words */

enum { NET_ADD, NET_SET, NET_CAS, NET_LOAD };

/** The back end's part: atomic accesses of a test. */
static bool net_apply(void *ctx, const tsr_net_atomic_t *access, uint64_t *old_out)
{
	net_rank_t *me = ctx;
	void *word = me->heap + access->offset;
	const uint64_t mask = access->bytes == 8 ? ~0ull : (1ull << 8 * access->bytes) - 1;
	uint64_t old = 0, next = 0;
	switch (access->bytes) {
	case 2:
		old = __atomic_load_n((uint16_t *)word, __ATOMIC_ACQUIRE);
		break;
	case 4:
		old = __atomic_load_n((uint32_t *)word, __ATOMIC_ACQUIRE);
		break;
	default:
		old = __atomic_load_n((uint64_t *)word, __ATOMIC_ACQUIRE);
	}
	switch (access->op) {
	case NET_ADD:
		next = (old + access->bits) & mask;
		break;
	case NET_SET:
		next = access->bits & mask;
		break;
	case NET_CAS:
		next = old == access->expected ? access->bits & mask : old;
		break;
	case NET_LOAD:
		if (old_out != NULL)
			*old_out = old;
		return true;
	default:
		return false;
	}
	/* one call at a time, and the rank itself only reads: no update is lost */
	switch (access->bytes) {
	case 2:
		__atomic_store_n((uint16_t *)word, (uint16_t)next, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)word, (uint32_t)next, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)word, next, __ATOMIC_RELEASE);
	}
	if (old_out != NULL)
		*old_out = old;
	atomic_fetch_add(&me->arrivals, 1);
	return true;
}

static bool net_apply_each(void *ctx, const tsr_net_atomic_t *first, const void *values,
			   size_t count)
{
	tsr_net_atomic_t access = *first;
	bool good = true;
	uint64_t old;
	for (size_t i = 0; good && i < count; i++) {
		access.bits = 0;
		memcpy(&access.bits, (const char *)values + i * access.bytes, access.bytes);
		good = net_apply(ctx, &access, &old);
		access.offset += access.bytes;
	}
	return good;
}

static inline tsr_net_atomic_t net_word(uint64_t offset, int op, uint64_t bits)
{
	return (tsr_net_atomic_t){.offset = offset, .op = (uint8_t)op, .bytes = 8, .bits = bits};
}

static inline uint64_t net_read(const net_rank_t *me, uint64_t offset)
{
	return __atomic_load_n((uint64_t *)(void *)(me->heap + offset), __ATOMIC_ACQUIRE);
}

/** Waits until a word of this rank's heap is at least `value`. */
static inline int net_await(net_rank_t *me, uint64_t offset, uint64_t value)
{
	const uint64_t end_ns = tsr_now_ns() + 100 * NET_SECOND;
	for (unsigned i = 0; net_read(me, offset) < value; i++) {
		NEED(tsr_now_ns() < end_ns && !tsr_net_is_over(me->net));
		if (i > 100)
			sched_yield();
	}
	return 0;
}

static inline tsr_net_rows_t net_bytes(uint64_t offset, size_t bytes)
{
	return (tsr_net_rows_t){offset, bytes, bytes, 1};
}

/* ------------------------------------------------------------------ ranks */

/** All ranks come here, and go on together. */
static inline void net_meet(net_rank_t *me)
{
	_Atomic uint32_t *word = &me->test->shared->arrived[me->meetings++];
	atomic_fetch_add(word, 1);
	while (atomic_load(word) < (uint32_t)me->size &&
	       atomic_load(&me->test->shared->aborted[me->rank]) == 0)
		usleep(100);
}

static void net_fail(void *ctx, tsr_status_t status, const char *sentence)
{
	net_rank_t *me = ctx;
	net_shared_t *shared = me->test->shared;
	me->seen->status = status;
	snprintf(me->seen->sentence, sizeof me->seen->sentence, "%s", sentence);
	if (atomic_fetch_add(&shared->ends, 1) == 0)
		shared->end = *me->seen;
	for (int r = 0; r < me->size; r++) /* as the control plane does */
		atomic_store(&shared->aborted[r], 1);
}

/** The path of a file of the build, or of a file beside the tests. */
static inline const char *net_build_file(const char *name, char path[4096])
{
	const ssize_t length = readlink("/proc/self/exe", path, 4095);
	path[length > 0 ? length : 0] = '\0';
	char *tests = strstr(path, "/tests/unit/");
	tests = tests != NULL ? tests : strstr(path, "/tests/speed/");
	if (tests != NULL)
		snprintf(tests, 4096 - (size_t)(tests - path), "/%s", name);
	return path;
}

static inline const char *net_plugin(const net_test_t *test, char path[4096])
{
	return net_build_file(test->carrier ? "tests/fakes/libcarrier.so"
					    : "plugins/libtessera-net-ucx.so",
			      path);
}

/** Whether the carrier of the test was built. */
static inline bool net_has_carrier(const char *carrier)
{
	char path[4096];
	const net_test_t test = {.carrier = carrier};
	return access(net_plugin(&test, path), R_OK) == 0;
}

static inline int net_rank_open(net_rank_t *me)
{
	char path[4096];
	net_test_t *test = me->test;
	const tsr_net_settings_t settings = {.rank = me->rank,
					     .size = me->size,
					     .node_of = test->node_of,
					     .key = tsr_key_of("a test"),
					     .deadline_ns = test->deadline_ns,
					     .interface = test->carrier ? test->carrier : "lo",
					     .aborted = &test->shared->aborted[me->rank],
					     .ctx = me,
					     .fail = net_fail,
					     .plugin = net_plugin(test, path),
					     .slow = test->slow};
	me->seen->status = tsr_net_open(&settings, &me->net);
	if (me->seen->status == TSR_OK)
		me->seen->status = tsr_net_address(me->net, test->shared->addresses[me->rank]);
	if (me->seen->status != TSR_OK)
		snprintf(me->seen->sentence, NET_SENTENCE_BYTES, "%s", tsr_last_error());
	NEED(me->seen->status == TSR_OK);
	return 0;
}

static inline int net_rank_connect(net_rank_t *me)
{
	const tsr_net_memory_t host = {.ctx = me,
				       .heap = me->heap,
				       .bytes = NET_HEAP_BYTES,
				       .atomic = net_apply,
				       .each = net_apply_each},
			       memory = me->test->late ? late_memory(&me->late, &host) : host;
	me->seen->status = tsr_net_connect(me->net,
					   (const unsigned char(*)[TSR_NET_ADDRESS_BYTES])
						   me->test->shared->addresses,
					   &memory);
	if (me->seen->status != TSR_OK)
		snprintf(me->seen->sentence, NET_SENTENCE_BYTES, "%s", tsr_last_error());
	return me->seen->status == TSR_OK ? 0 : __LINE__;
}

static inline int net_rank_main(net_test_t *test, int rank, net_body_t body)
{
	static net_rank_t self;
	net_rank_t *me = &self;
	self = (net_rank_t){.test = test, .rank = rank, .size = test->size};
	me->seen = &test->shared->seen[rank];
	me->heap = mmap(NULL, NET_HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	NEED(me->heap != MAP_FAILED);
	int line = net_rank_open(me);
	if (line != 0)
		return line;
	net_meet(me);
	line = net_rank_connect(me);
	if (line != 0) {
		atomic_store(&test->shared->aborted[rank], 1);
	} else {
		line = body(me);
		for (int r = 0; line != 0 && r < me->size; r++) /* nobody waits for this one */
			atomic_store(&test->shared->aborted[r], 1);
	}
	/* by chance work may come just then; a waker that is forgotten is missed again and again */
	if (line == 0 && me->net->overslept > 2) {
		fprintf(stderr, "rank %d: nobody woke the proxy thread %d times\n", rank,
			(int)me->net->overslept);
		line = __LINE__;
	}
	net_meet(me);
	tsr_net_close(me->net);
	munmap(me->heap, NET_HEAP_BYTES);
	return line;
}

static inline void net_test_begin(net_test_t *test)
{
	bool same = true;
	for (int r = 0; r < test->size; r++)
		same &= test->node_of[r] == 0;
	for (int r = 0; same && r < test->size; r++)
		test->node_of[r] = r;
	if (test->deadline_ns == 0)
		test->deadline_ns = 200 * NET_SECOND;
	test->shared = mmap(NULL, sizeof *test->shared, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setenv("UCX_TLS", "tcp,self", 0);
}

static inline void net_test_end(net_test_t *test)
{
	munmap(test->shared, sizeof *test->shared);
}

static inline pid_t net_fork(net_test_t *test, int rank, net_body_t body)
{
	fflush(NULL);
	const pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no rank outlives a test that is ended */
	exit(net_rank_main(test, rank, body) == 0 ? 0 : 2);
}

/** Exit code of a process, 128 + signal where one killed it. */
static inline int net_wait(pid_t pid)
{
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/** Runs `body` on all ranks; returns how many failed. */
static inline int net_run(net_test_t *test, net_body_t body)
{
	pid_t pids[NET_TEST_RANKS];
	int failed = 0;
	for (int r = 0; r < test->size; r++)
		pids[r] = net_fork(test, r, body);
	for (int r = 0; r < test->size; r++)
		failed += net_wait(pids[r]) != 0;
	return failed;
}

#endif

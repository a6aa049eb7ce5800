/* The collective under all others: what arrives, and what a mismatch says. */
#include <criterion/criterion.h>

#include <fcntl.h>

#include "boot_test.h"

static unsigned char byte_of(int rank, size_t i, size_t size)
{
	return (unsigned char)((size_t)rank * 131 + i * 7 + size);
}

static int exchange_sizes(tsr_boot_t *boot, seen_t *seen)
{
	static const size_t sizes[] = {0, 1, 7, 16383, 16384, 16385, 100003};
	const int me = tsr_boot_rank(boot), count = tsr_boot_size(boot);
	(void)seen;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const size_t size = sizes[s];
		unsigned char *mine = malloc(size + 1), *all = malloc((size_t)count * size + 1);
		NEED(mine && all);
		memset(all, 0xee, (size_t)count * size + 1);
		for (size_t i = 0; i < size; i++)
			mine[i] = byte_of(me, i, size);
		NEED(tsr_boot_exchange(boot, "exchange", "", mine, all, size) == TSR_OK);
		for (int r = 0; r < count; r++)
			for (size_t i = 0; i < size; i++)
				NEED(all[(size_t)r * size + i] == byte_of(r, i, size));
		NEED(all[(size_t)count * size] == 0xee);

		const int root = (int)s % count;
		memset(all, 0xee, size + 1);
		if (me == root)
			memcpy(all, mine, size);
		NEED(tsr_boot_broadcast(boot, "broadcast", "", all, size, root) == TSR_OK);
		for (size_t i = 0; i < size; i++)
			NEED(all[i] == byte_of(root, i, size));
		NEED(all[size] == 0xee);
		free(mine);
		free(all);
	}
	return 0;
}

Test(exchange, every_rank_gets_every_byte)
{
	boot_each(exchange_sizes);
}

/*
 * A rank may be a round ahead of the slowest, so slots are used again while
 * others read: many rounds, no rest.
 */
static int exchange_many(tsr_boot_t *boot, seen_t *seen)
{
	int all[TSR_MAX_RANKS];
	(void)seen;
	for (int round = 0; round < 3000; round++) {
		const int mine = round * 100 + tsr_boot_rank(boot);
		NEED(tsr_boot_exchange(boot, round % 2 ? "odd" : "even", "", &mine, all,
				       sizeof mine) == TSR_OK);
		for (int r = 0; r < tsr_boot_size(boot); r++)
			NEED(all[r] == round * 100 + r);
	}
	return 0;
}

Test(exchange, many_rounds)
{
	boot_each(exchange_many);
}

/* ------------------------------------------------------------------ mismatches */

/** Runs `body` in a world of 3 and expects the same status and sentence of all ranks. */
static void all_say(bool threads, boot_body_t body, tsr_status_t status, const char *sentence)
{
	boot_test_t test = {.size = 3, .threads = threads};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, body), 0);
	for (int r = 0; r < test.size; r++) {
		cr_expect_eq(test.seen[r].status, status, "rank %d: %s", r,
			     tsr_status_name(test.seen[r].status));
		cr_expect(strcmp(test.seen[r].sentence, sentence) == 0, "rank %d: %s", r,
			  test.seen[r].sentence);
	}
	boot_test_end(&test);
}

static int call_differs(tsr_boot_t *boot, seen_t *seen)
{
	if (tsr_boot_rank(boot) == 1)
		(void)note(seen, tsr_boot_exchange(boot, "tsr_barrier", "", NULL, NULL, 0));
	else
		(void)note(seen,
			   tsr_boot_exchange(boot, "tsr_heap_alloc", "4096 bytes", NULL, NULL, 0));
	const tsr_status_t first = seen->status;
	/* the world is over, for the same reason */
	NEED(tsr_boot_exchange(boot, "later", "", NULL, NULL, 0) == first);
	NEED(strcmp(tsr_last_error(), seen->sentence) == 0);
	return 0;
}

Test(exchange, another_call_ends_the_world)
{
	const char *sentence = "rank 1 called tsr_barrier where rank 0 called tsr_heap_alloc(4096 "
			       "bytes): every rank must make the same "
			       "collective calls in the same order, with the same arguments";
	all_say(false, call_differs, TSR_ERR_MISMATCH, sentence);
	all_say(true, call_differs, TSR_ERR_MISMATCH, sentence);
}

static int arguments_differ(tsr_boot_t *boot, seen_t *seen)
{
	const bool last = tsr_boot_rank(boot) == 2;
	(void)note(seen, tsr_boot_exchange(boot, "tsr_heap_alloc",
					   last ? "8192 bytes" : "4096 bytes", NULL, NULL, 0));
	NEED(tsr_boot_exchange(boot, "later", "", NULL, NULL, 0) == TSR_OK); /* the world goes on */
	return 0;
}

Test(exchange, other_arguments_are_an_error_of_the_call)
{
	const char *sentence =
		"rank 2 called tsr_heap_alloc(8192 bytes) where rank 0 called tsr_heap_alloc(4096 "
		"bytes): every rank must "
		"make the same collective calls in the same order, with the same arguments";
	all_say(false, arguments_differ, TSR_ERR_MISMATCH, sentence);
	all_say(true, arguments_differ, TSR_ERR_MISMATCH, sentence);
}

static int sizes_differ(tsr_boot_t *boot, seen_t *seen)
{
	static const unsigned char mine[50000];
	unsigned char all[3 * 50000];
	const size_t size = tsr_boot_rank(boot) == 0 ? 16 : 50000;
	memset(all, 0xee, sizeof all);
	(void)note(seen, tsr_boot_exchange(boot, "tsr_team_gather_all", "", mine, all, size));
	for (size_t i = 0; i < sizeof all; i++)
		NEED(all[i] == 0xee); /* written only on success */
	NEED(tsr_boot_exchange(boot, "later", "", NULL, NULL, 0) == TSR_OK);
	return 0;
}

Test(exchange, other_sizes_are_an_error_of_the_call)
{
	const char *sentence =
		"rank 1 called tsr_team_gather_all(50000 bytes) where rank 0 called "
		"tsr_team_gather_all(16 bytes): "
		"every rank must make "
		"the same collective calls in the same order, with the same arguments";
	all_say(false, sizes_differ, TSR_ERR_MISMATCH, sentence);
	all_say(true, sizes_differ, TSR_ERR_MISMATCH, sentence);
}

/* Arguments longer than what a slot keeps differ all the same. */
static int long_arguments_differ(tsr_boot_t *boot, seen_t *seen)
{
	char text[1000];
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	NEED(tsr_boot_exchange(boot, "call", text, NULL, NULL, 0) == TSR_OK);
	text[sizeof text - 2] = tsr_boot_rank(boot) == 1 ? 'y' : 'x';
	NEED(note(seen, tsr_boot_exchange(boot, "call", text, NULL, NULL, 0)) == TSR_ERR_MISMATCH);
	return 0;
}

Test(exchange, long_arguments_are_compared_whole)
{
	boot_test_t test = {.size = 2};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, long_arguments_differ), 0);
	boot_test_end(&test);
}

/* ------------------------------------------------------------------ descriptors, latency */

/* Every rank but 1 gives a file with its number in it. */
static int exchange_fds(tsr_boot_t *boot, seen_t *seen)
{
	const int me = tsr_boot_rank(boot), count = tsr_boot_size(boot);
	int fds[TSR_MAX_RANKS], mine = -1;
	(void)seen;
	if (me != 1) {
		mine = memfd_create("test", MFD_CLOEXEC);
		NEED(mine >= 0 && write(mine, &me, sizeof me) == (ssize_t)sizeof me);
	}
	NEED(tsr_boot_exchange_fds(boot, mine, fds) == TSR_OK);
	if (mine >= 0)
		close(mine);
	for (int r = 0; r < count; r++) {
		int value = -1;
		NEED((fds[r] >= 0) == (r != 1));
		if (r == 1)
			continue;
		NEED(pread(fds[r], &value, sizeof value, 0) == (ssize_t)sizeof value && value == r);
		NEED((fcntl(fds[r], F_GETFD) & FD_CLOEXEC) != 0);
		close(fds[r]);
	}
	return 0;
}

Test(exchange, descriptors)
{
	boot_each(exchange_fds);
}

enum { BARRIER_RANKS = 8, BARRIER_PARTS = 20, BARRIER_ROUNDS = 50 };

/** The system's own barrier, in memory that the ranks share. */
static pthread_barrier_t *reference;

/** Both barriers by turns, so that whatever else runs on the machine slows down both. */
static int measure(tsr_boot_t *boot, seen_t *seen)
{
	uint64_t took_ns = 0, reference_ns = 0;
	/* rank 0 lets the others in */
	NEED(tsr_boot_exchange(boot, "begin", "", NULL, NULL, 0) == TSR_OK);
	for (int part = 0; part < BARRIER_PARTS; part++) {
		(void)pthread_barrier_wait(reference);
		const uint64_t begin_ns = tsr_now_ns();
		for (int i = 0; i < BARRIER_ROUNDS; i++)
			NEED(tsr_boot_exchange(boot, "barrier", "", NULL, NULL, 0) == TSR_OK);
		const uint64_t half_ns = tsr_now_ns();
		for (int i = 0; i < BARRIER_ROUNDS; i++)
			(void)pthread_barrier_wait(reference);
		took_ns += half_ns - begin_ns;
		reference_ns += tsr_now_ns() - half_ns;
	}
	seen->took_ns = took_ns / (BARRIER_PARTS * BARRIER_ROUNDS);
	seen->value = (int)(reference_ns / (BARRIER_PARTS * BARRIER_ROUNDS));
	return 0;
}

/*
 * More ranks than processors: nobody may sleep out a time slice. How long that
 * is hangs on the machine and on what else it does.
 */
Test(exchange, a_barrier_of_eight_processes_is_quick)
{
	boot_test_t test = {.size = BARRIER_RANKS};
	pthread_barrierattr_t shared;
	reference = mmap(NULL, sizeof *reference, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(reference != MAP_FAILED);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(reference, &shared, BARRIER_RANKS);
	boot_test_begin(&test);
	cr_assert_eq(boot_run(&test, measure), 0);
	const uint64_t most_ns = 2000000 + 20 * (uint64_t)test.seen[0].value;
	fprintf(stderr, "a barrier takes %llu ns, the system's %d ns\n",
		(unsigned long long)test.seen[0].took_ns, test.seen[0].value);
	cr_expect(test.seen[0].took_ns < most_ns, "%llu ns, and %llu would do",
		  (unsigned long long)test.seen[0].took_ns, (unsigned long long)most_ns);
	boot_test_end(&test);
	munmap(reference, sizeof *reference);
}

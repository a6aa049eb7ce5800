/*
 * Memberships for tests: a body runs once a rank, as processes or threads, and
 * leaves what it saw where the test can read it.
 */
#ifndef TESSERA_BOOT_TEST_H
#define TESSERA_BOOT_TEST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/nodes/root.h"
#include "under_valgrind.h"

/** What a rank leaves behind. */
typedef struct seen {
	tsr_status_t status;
	char sentence[1024];
	uint64_t took_ns;
	int value;
	atomic_bool joined; /* a process: it is a member */
} seen_t;

typedef struct boot_test {
	int size;
	bool threads;
	uint64_t deadline_ns;
	const char *job;
	seen_t *seen; /* one a rank, in memory that processes share */
	/* null: one node; else the node of each rank, emulated on this machine */
	const int *node_of;
	int root_fd, port; /* several nodes: where rank 0 listens */
} boot_test_t;

/** Returns 0, or the line that failed. `boot` is left by the caller. */
typedef int (*boot_body_t)(tsr_boot_t *boot, seen_t *seen);

/** In a body: ends it with the line where `cond_` is not so. */
#define NEED(cond_)                                                                     \
	do {                                                                            \
		if (!(cond_)) {                                                         \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #cond_, \
				tsr_last_error());                                      \
			return __LINE__;                                                \
		}                                                                       \
	} while (0)

/** Keeps status and sentence of a call. */
static inline tsr_status_t note(seen_t *seen, tsr_status_t status)
{
	seen->status = status;
	snprintf(seen->sentence, sizeof seen->sentence, "%s",
		 status == TSR_OK ? "" : tsr_last_error());
	return status;
}

static inline void boot_test_begin(boot_test_t *test)
{
	static char job[64];
	snprintf(job, sizeof job, "test.%ld.%llu", (long)getpid(),
		 (unsigned long long)tsr_now_ns());
	test->job = job;
	test->seen = mmap(NULL, TSR_MAX_RANKS * sizeof *test->seen, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (test->deadline_ns == 0)
		test->deadline_ns = 200000000000u; /* for any machine, however busy */
	if (test->node_of != NULL)
		test->root_fd = tsr_root_reserve(&test->port);
}

static inline void boot_test_end(boot_test_t *test)
{
	munmap(test->seen, TSR_MAX_RANKS * sizeof *test->seen);
	if (test->node_of != NULL && test->root_fd >= 0)
		close(test->root_fd);
}

/** Where a rank of a test on several nodes is. */
static inline void boot_place(const boot_test_t *test, tsr_job_t *job)
{
	if (test->node_of == NULL)
		return;
	job->several = true;
	job->node = test->node_of[job->rank];
	for (int r = 0; r < job->rank; r++)
		job->local_rank += test->node_of[r] == job->node;
	job->root_fd = test->root_fd;
	job->key = tsr_key_of(test->job);
	snprintf(job->root, sizeof job->root, "127.0.0.1:%d", test->port);
}

/** Starts a process that joins as `rank` of `size`; what it saw goes to seen[place]. */
static inline pid_t boot_fork(const boot_test_t *test, int rank, int size, int place,
			      boot_body_t body)
{
	const pid_t pid = fork();
	if (pid != 0)
		return pid;
	tsr_job_t job = {.rank = rank, .size = size};
	tsr_boot_t *boot;
	snprintf(job.name, sizeof job.name, "%s", test->job);
	boot_place(test, &job);
	if (test->node_of != NULL && rank != 0)
		close(test->root_fd);
	if (note(&test->seen[place], tsr_boot_join(&job, test->deadline_ns, &boot)) != TSR_OK)
		_exit(1);
	/* release: partner is the acquire in boot_await */
	atomic_store_explicit(&test->seen[place].joined, true, memory_order_release);
	const int line = body(boot, &test->seen[place]);
	tsr_boot_leave(boot);
	_exit(line == 0 ? 0 : 2);
}

/** Waits until the process that was forked for `place` is a member. It must become one. */
static inline void boot_await(const boot_test_t *test, int place)
{
	/* acquire: partner is the release in boot_fork */
	while (!atomic_load_explicit(&test->seen[place].joined, memory_order_acquire))
		usleep(1000);
}

/** Exit code of a process, 128 + signal where one killed it. */
static inline int boot_wait(pid_t pid)
{
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

typedef struct boot_thread {
	tsr_boot_t *boot;
	seen_t *seen;
	boot_body_t body;
	int line;
	pthread_t thread;
} boot_thread_t;

static inline void *boot_thread_main(void *data)
{
	boot_thread_t *rank = data;
	rank->line = rank->body(rank->boot, rank->seen);
	tsr_boot_leave(rank->boot);
	return NULL;
}

static inline int boot_run_threads(const boot_test_t *test, boot_body_t body)
{
	tsr_boot_t *boots[TSR_MAX_RANKS];
	boot_thread_t ranks[TSR_MAX_RANKS];
	int failed = 0;
	if (tsr_boot_threads(test->size, test->deadline_ns, boots) != TSR_OK)
		return -1;
	for (int r = 0; r < test->size; r++) {
		ranks[r] = (boot_thread_t){.boot = boots[r], .seen = &test->seen[r], .body = body};
		pthread_create(&ranks[r].thread, NULL, boot_thread_main, &ranks[r]);
	}
	for (int r = 0; r < test->size; r++) {
		pthread_join(ranks[r].thread, NULL);
		failed += ranks[r].line != 0;
	}
	return failed;
}

/** Runs `body` on all ranks; returns how many failed. */
static inline int boot_run(const boot_test_t *test, boot_body_t body)
{
	if (test->threads)
		return boot_run_threads(test, body);
	pid_t pids[TSR_MAX_RANKS];
	int failed = 0;
	/* rank 0 last: the others must look for it more than once */
	for (int r = test->size - 1; r >= 0; r--)
		pids[r] = boot_fork(test, r, test->size, r, body);
	/* the sockets of rank 0 alone keep its port now: nobody waits where it has ended */
	if (test->node_of != NULL)
		close(test->root_fd), ((boot_test_t *)(uintptr_t)test)->root_fd = -1;
	for (int r = 0; r < test->size; r++)
		failed += boot_wait(pids[r]) != 0;
	return failed;
}

/**
 * Runs `body` in worlds of 1, 2, 3, 5 and 8, under valgrind of 1 and 3, as
 * processes and as threads; expects that no rank fails.
 */
static inline void boot_each(boot_body_t body)
{
	static const int every[] = {1, 2, 3, 5, 8}, few[] = {1, 3};
	const int *sizes = under_valgrind() ? few : every;
	for (int i = 0; i < (under_valgrind() ? 4 : 10); i++) {
		boot_test_t test = {.size = sizes[i / 2], .threads = i % 2 == 1};
		boot_test_begin(&test);
		cr_expect_eq(boot_run(&test, body), 0, "%d ranks as %s", test.size,
			     test.threads ? "threads" : "processes");
		boot_test_end(&test);
	}
}

#endif

/*
 * Processes that a test starts itself, without a launcher: each is a rank, and
 * leaves its status and sentence where the test can read them.
 */
#ifndef TESSERA_WORLDS_RANKS_H
#define TESSERA_WORLDS_RANKS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean_environment.h"
#include "tessera/tessera.h"
#include "under_valgrind.h"

/** What a rank leaves behind. */
typedef struct seen {
	tsr_status_t status;
	char sentence[512];
} seen_t;

/** Returns 0, or the line that failed. */
typedef int (*ranks_body_t)(int rank, int size, void *ctx, seen_t *seen);

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

/** Memory that the processes of a test share. */
static inline void *ranks_share(size_t size_bytes)
{
	return mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/**
 * Runs `body` in processes for the ranks from `first` to `size` - 1, the last
 * one first, so that the others look for rank 0 more than once. Returns how many
 * failed.
 */
static inline int ranks_run(int first, int size, ranks_body_t body, void *ctx, seen_t *seen)
{
	pid_t pids[TSR_MAX_RANKS];
	int failed = 0;
	fflush(stderr);
	for (int r = size - 1; r >= first; r--) {
		pids[r] = fork();
		if (pids[r] == 0)
			_exit(body(r, size, ctx, &seen[r]) != 0);
	}
	for (int r = first; r < size; r++) {
		int status = 0;
		waitpid(pids[r], &status, 0);
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	return failed;
}

/** The same in worlds of 1, 2, 3, 5 and 8 ranks (valgrind: 1 and 3); expects no failure. */
static inline void ranks_each(ranks_body_t body, void (*begin)(int size, void *ctx), void *ctx)
{
	static const int every[] = {1, 2, 3, 5, 8}, few[] = {1, 3};
	const int count = under_valgrind() ? 2 : 5;
	seen_t *seen = ranks_share(TSR_MAX_RANKS * sizeof *seen);
	for (int i = 0; i < count; i++) {
		const int size = under_valgrind() ? few[i] : every[i];
		begin(size, ctx);
		cr_expect_eq(ranks_run(0, size, body, ctx, seen), 0, "%d ranks", size);
	}
	munmap(seen, TSR_MAX_RANKS * sizeof *seen);
}

/** The settings of these tests: nothing of a launcher, a small heap, a patient deadline. */
static inline void ranks_settings(void)
{
	clean_environment();
	set_environment("TESSERA_HEAP_SIZE=1M TESSERA_DEADLINE=200s TESSERA_BACKEND=cpuemu");
}

/** Uses a world: the ranks see each other's numbers, by host calls and in the heap. */
static inline int ranks_use(tsr_world_t *world, int rank, int size)
{
	TSR_HEAP void *data;
	int all[TSR_MAX_RANKS], words[TSR_MAX_RANKS];
	NEED(tsr_world_rank(world) == rank && tsr_world_size(world) == size);
	NEED(tsr_team_gather_all(tsr_world_team(world), &rank, all, sizeof rank) == TSR_OK);
	NEED(tsr_heap_alloc(world, sizeof words, 0, "words", &data) == TSR_OK);
	for (int r = 0; r < size; r++) {
		NEED(all[r] == r);
		int *theirs = tsr_native_pointer(world, data, r);
		NEED(theirs != NULL);
		theirs[rank] = 100 + rank;
	}
	NEED(tsr_barrier(world) == TSR_OK);
	NEED(tsr_memcpy_from_heap(world, words, data, sizeof words) == TSR_OK);
	for (int r = 0; r < size; r++)
		NEED(words[r] == 100 + r);
	NEED(tsr_heap_free(world, data) == TSR_OK);
	return 0;
}

#endif

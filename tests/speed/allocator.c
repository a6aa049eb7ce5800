/*
 * What a call of the allocator costs where LIVE blocks are live. Usage:
 * allocator LIVE
 *
 * Blocks at random places are given back and taken again, of other lengths and
 * alignments, so that free pieces lie everywhere.
 * tests/unit/heap/allocator_speed.sh counts the instructions of `change`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/heap/allocator.h"
#include "tessera/status.h"

enum { MOST = 1000000, CHANGES = 20000, MOST_BYTES = 16 << 10 };

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static size_t take(tsr_allocator_t *allocator, unsigned *random)
{
	const size_t bytes = 1 + next_random(random) % MOST_BYTES,
		     align = (size_t)1 << next_random(random) % 13;
	size_t offset = 0;
	if (tsr_allocator_take(allocator, bytes, align, "block", &offset) != TSR_OK) {
		fprintf(stderr, "%s\n", tsr_last_error());
		exit(1);
	}
	return offset;
}

/** Two calls a change. */
__attribute__((noinline)) void change(tsr_allocator_t *allocator, size_t *offsets, int live,
				      int changes, unsigned *random)
{
	for (int i = 0; i < changes; i++) {
		const int at = (int)(next_random(random) % (unsigned)live);
		if (tsr_allocator_release(allocator, offsets[at]) != TSR_OK)
			exit(1);
		offsets[at] = take(allocator, random);
	}
}

static double cpu_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
	const int live = argc > 1 ? atoi(argv[1]) : 0;
	static size_t offsets[MOST];
	unsigned random = 1;

	if (live < 1 || live > MOST)
		return 2;
	tsr_allocator_t *allocator = tsr_allocator_create((size_t)live * 2 * MOST_BYTES);
	for (int i = 0; i < live; i++)
		offsets[i] = take(allocator, &random);
	const double begin = cpu_ns();
	change(allocator, offsets, live, CHANGES, &random);
	printf("%d live blocks: %.0f ns a call\n", live, (cpu_ns() - begin) / (2 * CHANGES));
	tsr_allocator_destroy(allocator);
	return 0;
}

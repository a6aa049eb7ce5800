/*
 * What messages between two processes take by OpenSHMEM, without Tessera: for
 * bench/between-nodes, which compiles and starts it. Prints a line for each
 * operation: its name, and the time of one in nanoseconds; at last what was
 * wrong.
 */
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 20, WORDS = BYTES / 4, PUTS = 200, ROUNDS = 2000, SUMS = 20 };

static char from[BYTES], to[BYTES];
static long flag, count;
static float values[WORDS], sums[WORDS];
static float work[WORDS / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/** One way of a ping-pong of a word that is set and one that is waited for. */
static void signal_rounds(int me, long first, long end)
{
	for (long i = first; i < end; i++) {
		if (me == 0)
			shmem_long_atomic_set(&flag, i, 1);
		shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
		if (me == 1)
			shmem_long_atomic_set(&flag, i, 0);
	}
}

static double time_puts(int me)
{
	const double begin = now_ns();
	for (int i = 0; i < PUTS && me == 0; i++)
		shmem_putmem_nbi(to, from, BYTES, 1);
	shmem_quiet();
	return (now_ns() - begin) / PUTS;
}

static double time_signals(int me)
{
	static long next = 1;
	signal_rounds(me, next, next + ROUNDS / 10);
	const double begin = now_ns();
	signal_rounds(me, next + ROUNDS / 10, next + ROUNDS);
	next += ROUNDS;
	return (now_ns() - begin) / (2.0 * (ROUNDS - ROUNDS / 10));
}

static double time_atomics(int me)
{
	const double begin = now_ns();
	for (int i = 0; i < ROUNDS && me == 0; i++)
		(void)shmem_long_atomic_fetch_add(&count, 1, 1);
	return (now_ns() - begin) / ROUNDS;
}

static double time_sums(int me)
{
	const double begin = now_ns();
	(void)me;
	for (int i = 0; i < SUMS; i++) {
		shmem_float_sum_to_all(sums, values, WORDS, 0, 0, 2, work, sync_words);
		shmem_barrier_all(); /* the words are used again */
	}
	return (now_ns() - begin) / SUMS;
}

int main(void)
{
	static const struct {
		const char *name;
		double (*time)(int me);
	} operations[] = {{"put", time_puts},
			  {"signal", time_signals},
			  {"atomic", time_atomics},
			  {"all-reduce", time_sums}};
	for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
		sync_words[i] = SHMEM_SYNC_VALUE;
	for (int i = 0; i < WORDS; i++)
		values[i] = 1;
	shmem_init();
	const int me = shmem_my_pe();
	for (int k = 0; k < 4; k++) {
		shmem_barrier_all();
		(void)operations[k].time(me); /* connections are made, memory is touched */
		shmem_barrier_all();
		const double ns = operations[k].time(me);
		shmem_barrier_all();
		if (me == 0)
			printf("%s %.1f\n", operations[k].name, ns);
	}
	if (me == 0)
		printf("wrong %d\n", (shmem_long_atomic_fetch(&count, 1) != 2 * ROUNDS) +
					     (sums[0] != 2) + (sums[WORDS - 1] != 2));
	(void)fflush(stdout);
	shmem_barrier_all();
	_exit(0); /* shmem_finalize of Open MPI 4.1.4 over TCP crashes; oshrun complains instead */
}

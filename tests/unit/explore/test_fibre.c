/* Fibres: what each keeps for itself, stacks that are used again, and many of them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/error.h"
#include "src/explore/process/fibre.h"
#include "src/explore/process/fibre_watch.h"
#include "tessera/tessera.h"

typedef struct relay {
	tsr_fibres_t *fibres;
	tsr_fibre_t *next; /* null: outside */
	int rounds, ran;
	const char *mine;
	uintptr_t stack;
} relay_t;

static tsr_fibres_t *pool(void)
{
	tsr_fibres_t *fibres = NULL;
	cr_assert(tsr_fibres_create(&fibres) == TSR_OK);
	return fibres;
}

static tsr_fibre_t *fibre(relay_t *relay, tsr_fibre_fn body, size_t stack_bytes)
{
	tsr_fibre_t *made = NULL;
	cr_assert(tsr_fibre_create(relay->fibres, body, relay, stack_bytes, &made) == TSR_OK);
	return made;
}

static void run_in_turns(void *context)
{
	relay_t *relay = context;
	for (int i = 0; i < relay->rounds; i++) {
		relay->ran++;
		tsr_fibre_switch(relay->fibres, relay->next);
	}
	tsr_fibre_leave(relay->fibres, relay->next);
}

Test(fibre, two_take_turns)
{
	tsr_fibres_t *fibres = pool();
	relay_t a = {.fibres = fibres, .rounds = 1000}, b = {.fibres = fibres, .rounds = 1000};

	tsr_fibre_t *const first = fibre(&a, run_in_turns, 64 << 10);
	a.next = fibre(&b, run_in_turns, 64 << 10);
	tsr_fibre_switch(fibres, NULL); /* from outside to outside: nothing */
	for (int i = 0; i < 1000; i++) {
		tsr_fibre_switch(fibres, first); /* to a, on to b, back to here */
		cr_assert_eq(a.ran, i + 1);
		cr_assert_eq(b.ran, i + 1);
	}
	tsr_fibre_switch(fibres, first); /* a leaves to b, and b to here */
	tsr_fibres_destroy(fibres);
}

/* Fibres that have forked: each counts in locals that are at the same address. */
typedef struct fork_of {
	tsr_fibres_t *fibres;
	tsr_fibre_t *other[2]; /* the forks */
	int *at[3];            /* where each has its number */
	int sum[3], ended;
} fork_of_t;

__attribute__((noinline)) static void count_down(fork_of_t *f, int number, int depth)
{
	volatile int mine[8];
	for (int i = 0; i < 8; i++)
		mine[i] = number * depth + i;
	tsr_fibre_switch(f->fibres, NULL);
	if (depth > 0)
		count_down(f, number, depth - 1);
	for (int i = 0; i < 8; i++)
		f->sum[number] += mine[i];
}

static void fork_twice(void *context)
{
	fork_of_t *f = context;
	int number = 0;
	bool forked;
	f->at[0] = &number;
	for (int i = 0; i < 2 && number == 0; i++) {
		cr_assert(tsr_fibre_fork(f->fibres, &f->other[i], &forked) == TSR_OK);
		if (forked)
			number = i + 1;
	}
	f->at[number] = &number;
	count_down(f, number, number + 2);
	f->ended |= 1 << number;
	tsr_fibre_leave(f->fibres, NULL);
}

Test(fibre, forks_have_frames_of_their_own)
{
	tsr_fibres_t *fibres = pool();
	fork_of_t f = {.fibres = fibres};
	tsr_fibre_t *next[3];
	if (!tsr_fibres_fork()) {
		tsr_fibres_destroy(fibres);
		cr_skip_test("fibres do not fork in this build");
	}
	cr_assert(tsr_fibre_create(fibres, fork_twice, &f, 64 << 10, &next[0]) == TSR_OK);
	tsr_fibre_switch(fibres, next[0]);
	next[1] = f.other[0];
	next[2] = f.other[1];
	for (int turn = 0; turn < 6; turn++) /* the first ends first */
		for (int number = 0; number < 3; number++)
			if (!(f.ended & 1 << number))
				tsr_fibre_switch(fibres, next[number]);
	cr_expect_eq(f.ended, 7);
	for (int number = 0; number < 3; number++) {
		const int depths = (number + 2) * (number + 3) / 2;
		cr_expect_eq(f.sum[number], 8 * number * depths + 28 * (number + 3));
		cr_expect_eq(f.at[number], f.at[0]);
	}
	/* the stack is free for another */
	const size_t bytes = tsr_fibres_bytes(fibres);
	relay_t after = {.fibres = fibres, .rounds = 0};
	tsr_fibre_switch(fibres, fibre(&after, run_in_turns, 64 << 10));
	cr_expect_eq(tsr_fibres_bytes(fibres), bytes);
	tsr_fibres_destroy(fibres);
}

Test(fibre, forks_are_abandoned_with_their_pool)
{
	tsr_fibres_t *fibres = pool();
	fork_of_t f = {.fibres = fibres};
	tsr_fibre_t *first;
	cr_assert(tsr_fibre_create(fibres, fork_twice, &f, 64 << 10, &first) == TSR_OK);
	if (tsr_fibres_fork())
		tsr_fibre_switch(fibres, first);
	if (tsr_fibres_fork())
		tsr_fibre_switch(fibres, f.other[1]);
	tsr_fibres_destroy(fibres);
}

static void err_and_wait(void *context)
{
	relay_t *relay = context;
	(void)tsr_error(TSR_ERR_CONFIG, "the error of %s", relay->mine);
	errno = relay->rounds;
	tsr_fibre_switch(relay->fibres, NULL);
	relay->ran = strstr(tsr_last_error(), relay->mine) && errno == relay->rounds;
	tsr_fibre_leave(relay->fibres, NULL);
}

Test(fibre, each_has_its_last_error_and_errno)
{
	tsr_fibres_t *fibres = pool();
	relay_t relays[2] = {{.fibres = fibres, .mine = "the first", .rounds = 5},
			     {.fibres = fibres, .mine = "the second", .rounds = 6}};
	tsr_fibre_t *both[2];

	(void)tsr_error(TSR_ERR_CONFIG, "the error of outside");
	for (int i = 0; i < 2; i++)
		tsr_fibre_switch(fibres, both[i] = fibre(&relays[i], err_and_wait, 64 << 10));
	cr_assert_str_eq(tsr_last_error(), "the error of outside");
	for (int i = 0; i < 2; i++) {
		errno = 77;
		tsr_fibre_switch(fibres, both[i]);
		cr_expect(relays[i].ran, "%s lost its error", relays[i].mine);
		cr_expect_eq(errno, 77);
	}
	tsr_fibres_destroy(fibres);
}

static void note_stack(void *context)
{
	relay_t *relay = context;
	char here;
	relay->stack = (uintptr_t)&here >> 16;
	relay->ran++;
} /* returns: leaves to outside */

Test(fibre, stacks_are_used_again)
{
	tsr_fibres_t *fibres = pool();
	relay_t relay = {.fibres = fibres};

	tsr_fibre_switch(fibres, fibre(&relay, note_stack, 100000));
	const size_t bytes = tsr_fibres_bytes(fibres);
	cr_expect(bytes >= 100000 && bytes < 120000, "%zu", bytes);
	for (int i = 0; i < 1000; i++) {
		tsr_fibre_t *one = fibre(&relay, note_stack, 100000);
		if (i % 2)
			tsr_fibre_abandon(fibres, one); /* has not begun */
		else
			tsr_fibre_switch(fibres, one);
	}
	cr_expect_eq(relay.ran, 501);
	cr_expect_eq(tsr_fibres_bytes(fibres), bytes);
	fibre(&relay, note_stack, 200000);
	cr_expect(tsr_fibres_bytes(fibres) > 2 * bytes, "another size has stacks of its own");
	tsr_fibres_destroy(fibres);
}

static void fill_and_wait(void *context)
{
	relay_t *relay = context;
	volatile unsigned char frame[3000];
	for (size_t i = 0; i < sizeof frame; i++)
		frame[i] = (unsigned char)(i + (size_t)relay->rounds);
	tsr_fibre_switch(relay->fibres, NULL);
	relay->ran = 1;
	for (size_t i = 0; i < sizeof frame; i++)
		relay->ran &= frame[i] == (unsigned char)(i + (size_t)relay->rounds);
	if (relay->rounds % 3)
		tsr_fibre_switch(relay->fibres, NULL); /* abandoned in its frame */
}

/* ThreadSanitizer of gcc 12 allows some 8000 fibres at most, and each costs it much memory. */
#if TSR_WATCH_THREADS && !defined(__clang__)
enum { MANY = 200 };
#else
enum { MANY = 10000 };
#endif

Test(fibre, ten_thousand_keep_their_frames, .timeout = 300)
{
	tsr_fibres_t *fibres = pool();
	relay_t *relays = calloc(MANY, sizeof *relays);
	tsr_fibre_t **all = calloc(MANY, sizeof(tsr_fibre_t *));

	for (int round = 0; round < 2; round++) { /* the second on stacks of the first */
		for (int i = 0; i < MANY; i++) {
			relays[i] = (relay_t){.fibres = fibres, .rounds = i};
			tsr_fibre_switch(fibres,
					 all[i] = fibre(&relays[i], fill_and_wait, 256 << 10));
		}
		for (int i = MANY - 1; i >= 0; i--) {
			tsr_fibre_switch(fibres, all[i]);
			cr_assert_eq(relays[i].ran, 1, "fibre %d of round %d", i, round);
			if (i % 3)
				tsr_fibre_abandon(fibres, all[i]);
		}
	}
	cr_expect(tsr_fibres_bytes(fibres) <= (size_t)MANY * (264 << 10));
	free(all);
	free(relays);
	tsr_fibres_destroy(fibres);
}

static int fall(int depth)
{
	volatile char frame[1000];
	frame[depth % 1000] = 1;
	return depth > 1000000 ? 0 : fall(depth + 1) + frame[depth % 1000];
}

static void overflow(void *context)
{
	relay_t *relay = context;
	relay->ran = fall(0);
}

/* AddressSanitizer ends the program itself, with a report of its own. */
#if !TSR_WATCH_ADDRESSES && !TSR_WATCH_THREADS
Test(fibre, a_stack_that_overflows_faults, .signal = 11)
{
	const struct rlimit no_core = {0, 0};
	relay_t relay = {.fibres = pool()};

	setrlimit(RLIMIT_CORE, &no_core);
	tsr_fibre_switch(relay.fibres, fibre(&relay, overflow, 64 << 10));
	tsr_fibres_destroy(relay.fibres);
}
#else
Test(fibre, a_stack_that_overflows_faults)
{
	(void)overflow;
	cr_skip_test("the sanitizer ends the program");
}
#endif

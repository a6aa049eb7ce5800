/*
 * Rewinding a process: its memory is what it was, as often as it goes back; and
 * pages that one schedule has needed, and those after it do not, are given up.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/explore/process/rewind.h"

enum { PAGE = 4096, PAGES = 2048, TURNS = 50, USED = 3, NOTED = 7, SKIPPED = 77 };

/** What stays from turn to turn. */
typedef struct told {
	int turns, wrong; /* bytes that are not what they were */
	int there;        /* pages, in the last turn */
} told_t;

typedef struct memory {
	unsigned char *noted, *fresh; /* written before the process is noted, and not */
} memory_t;

static void *map(size_t bytes, int kind)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
	return mapped == MAP_FAILED ? NULL : mapped;
}

static int pages_there(const memory_t *memory)
{
	static unsigned char there[PAGES];
	int count = 0;
	if (mincore(memory->fresh, (size_t)PAGES * PAGE, there) != 0)
		return -1;
	for (int i = 0; i < PAGES; i++)
		count += there[i] & 1;
	return count;
}

static int wrong_bytes(const memory_t *memory, int pages)
{
	int wrong = 0;
	for (int i = 0; i < pages * PAGE; i++)
		wrong += memory->fresh[i] != 0;
	for (int i = 0; i < USED * PAGE; i++)
		wrong += memory->noted[i] != NOTED;
	return wrong;
}

/** A schedule: the first one needs all pages, the others a few. */
static void act(told_t *told, const memory_t *memory)
{
	const int pages = told->turns == 0 ? PAGES : USED;
	told->there = pages_there(memory);
	told->wrong += wrong_bytes(memory, told->turns == TURNS ? PAGES : USED);
	told->turns++;
	for (int i = 0; i < pages; i++)
		memory->fresh[i * PAGE + PAGE - 1] = 1; /* its last byte alone */
	memset(memory->noted, told->turns, (size_t)USED * PAGE);
}

/** In a process of its own, of one thread: what cannot be rewound there is skipped. */
static void turns(told_t *told)
{
	const memory_t memory = {map((size_t)USED * PAGE, MAP_PRIVATE),
				 map((size_t)PAGES * PAGE, MAP_PRIVATE)};
	tsr_rewind_t *rewind = tsr_rewind_create();
	if (!rewind || !memory.noted || !memory.fresh)
		_exit(SKIPPED);
	memset(memory.noted, NOTED, (size_t)USED * PAGE);
	if (sigsetjmp(*tsr_rewind_place(rewind), 0) == 0 && !tsr_rewind_note(rewind))
		_exit(SKIPPED);
	act(told, &memory);
	if (told->turns <= TURNS)
		tsr_rewind_back(rewind);
	_exit(told->turns > TURNS ? EXIT_SUCCESS : EXIT_FAILURE);
}

Test(rewind, memory_is_what_it_was_and_pages_out_of_use_are_given_up)
{
	told_t *told = map(sizeof *told, MAP_SHARED);
	cr_assert(told != NULL);
	const pid_t child = fork();
	if (child == 0)
		turns(told);
	int status = 0;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status), "the process ended with signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == SKIPPED)
		cr_skip_test("this process cannot be rewound here");
	cr_expect_eq(WEXITSTATUS(status), EXIT_SUCCESS);
	cr_expect_eq(told->turns, TURNS + 1);
	cr_expect_eq(told->wrong, 0);
	cr_expect(told->there <= 2 * USED, "%d pages are still there", told->there);
}

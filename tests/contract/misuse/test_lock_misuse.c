/*
 * A lock that a coop releases and does not hold: the launch fails, the lock
 * keeps its word, and one sentence says who holds it.
 */
#include "tests/contract/ended_world.h"

typedef enum misuse { NEVER_TAKEN, RELEASED_TWICE, OF_ANOTHER_RANK, EXPIRED, NO_LOCK } misuse_t;

/* In the order of misuse_t. */
static const char *const said[] = {
	"tsr_unlock of a lock that is free at",
	"tsr_unlock of a lock that is free at",
	"tsr_unlock of a lock that rank 1 holds at",
	"tsr_unlock of a lock that rank 1 holds at",
	"tsr_unlock of a word that is no lock: it is 3 at",
};

enum { MISUSES = sizeof said / sizeof *said };

/* the word before the launch, and so after it */
static const uint64_t word_of[MISUSES] = {0, 0, 2, 2, 3};

typedef struct release_args {
	TSR_HEAP uint64_t *lock;
	int32_t misuse, reserved;
} release_args_t;

TSR_KERNEL(release_wrongly, release_args_t, a)
{
	if (a->misuse == RELEASED_TWICE && tsr_lock(block, a->lock, 1) == TSR_WAIT_OK)
		tsr_unlock(block, a->lock, 1);
	if (a->misuse == EXPIRED &&
	    tsr_lock_until(block, a->lock, 1, (uint64_t)1000000) != TSR_WAIT_EXPIRED)
		return;
	tsr_unlock(block, a->lock, 1);
}

static int release_body(tsr_world_t *world, int argc, char **argv)
{
	release_args_t a = {.misuse = argc > 1 ? atoi(argv[1]) : 0};
	uint64_t word = word_of[a.misuse];
	a.lock = (TSR_HEAP uint64_t *)poisoned(world, sizeof word, "lock");
	CHECK(a.lock);
	CHECK(tsr_memcpy_to_heap(world, a.lock, &word, sizeof word) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0) {
		CHECK(run_kernel(world, &release_wrongly, 1, &a) == TSR_ERR_KERNEL);
		CHECK(strstr(tsr_last_error(),
			     "kernel release_wrongly, block 0, worker 0 of rank 0: "));
		CHECK(strstr(tsr_last_error(), "test_lock_misuse.c:"));
		CHECK(strstr(tsr_last_error(), said[a.misuse]));
	} else {
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	word = 99;
	CHECK(tsr_memcpy_from_heap(world, &word, a.lock, sizeof word) == TSR_OK);
	CHECK(word == word_of[a.misuse], "the lock keeps its word, and is %llu",
	      (unsigned long long)word);
	return witness();
}

Test(lock_misuse, who_holds_it_is_named)
{
	char number[16];
	for (int i = 0; i < MISUSES; i++) {
		snprintf(number, sizeof number, "%d", i);
		ended_both(2, release_body, number, said[i]);
	}
}

/*
 * What goes wrong with the heap: one sentence each, the same code on every
 * rank, and a world that goes on where it can.
 */
#include "world_test.h"

/** The last error's sentence contains every one of the texts, which are separated by '|'. */
static bool says(const char *texts)
{
	char copy[256], *rest = copy;
	snprintf(copy, sizeof copy, "%s", texts);
	for (char *text; (text = strsep(&rest, "|")) != NULL;)
		if (strstr(tsr_last_error(), text) == NULL)
			return false;
	return true;
}

/*
 * After an error that leaves the world intact, the heap is as it was and the
 * next allocation succeeds on all ranks.
 */
static int goes_on(tsr_world_t *world, const tsr_heap_usage_t *before)
{
	tsr_heap_usage_t after = {.size = sizeof after};
	TSR_HEAP void *pointer;
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(after.free_bytes == before->free_bytes &&
		      after.largest_bytes == before->largest_bytes &&
		      after.allocations == before->allocations,
	      "%zu free of %zu, %d allocations", after.free_bytes, after.heap_bytes,
	      after.allocations);
	CHECK(tsr_heap_alloc(world, 1000, 0, "next", &pointer) == TSR_OK);
	CHECK(tsr_heap_free(world, pointer) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

/* ------------------------------------------------------------------ allocation */

static int no_room_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	TSR_HEAP void *kept, *pointer = NULL;
	CHECK(tsr_heap_alloc(world, 600000, 0, "kept", &kept) == TSR_OK);
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 500000, 0, "activations", &pointer) == TSR_ERR_NO_MEMORY);
	CHECK(says("488.3 KiB (500000 bytes)|activations|of its 1 MiB 438 KiB are "
		   "free|TESSERA_HEAP_SIZE"));
	CHECK(tsr_heap_alloc(world, SIZE_MAX, 0, "huge", &pointer) == TSR_ERR_NO_MEMORY);
	CHECK(pointer == NULL, "written on failure");
	return goes_on(world, &usage);
}

Test(heap_errors, a_heap_too_small)
{
	setenv("TESSERA_HEAP_SIZE", "1M", 1);
	world_each(no_room_body, NULL);
	unsetenv("TESSERA_HEAP_SIZE");
}

static int bad_request_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	TSR_HEAP void *pointer = NULL;
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 0, 0, "nothing", &pointer) == TSR_ERR_ARGUMENT);
	CHECK(says("0 bytes|nothing"));
	CHECK(tsr_heap_alloc(world, 100, 3, "crooked", &pointer) == TSR_ERR_ARGUMENT);
	CHECK(says("alignment 3|crooked|power of two"));
	CHECK(tsr_heap_alloc(world, 100, (size_t)4 << 20, "wide", &pointer) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_alloc(world, 100, 0, "lost", NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_alloc(NULL, 100, 0, "nowhere", &pointer) == TSR_ERR_ARGUMENT);
	CHECK(pointer == NULL, "written on failure");
	return goes_on(world, &usage);
}

Test(heap_errors, bad_requests)
{
	world_each(bad_request_body, NULL);
}

/* The last rank asks for something else. Every rank is told, with the same sentence. */
static int mismatch_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int last = tsr_world_size(world) - 1;
	const bool odd = tsr_world_rank(world) == last;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	TSR_HEAP void *pointer = NULL;
	if (last == 0)
		return 0; /* nobody to disagree with */
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(tsr_heap_alloc(world, odd ? 2000 : 1000, 0, "sizes", &pointer) == TSR_ERR_MISMATCH);
	CHECK(says("tsr_heap_alloc|1000|2000|rank 0"));
	CHECK(tsr_heap_alloc(world, 1000, odd ? 512 : 256, "alignments", &pointer) ==
	      TSR_ERR_MISMATCH);
	CHECK(tsr_heap_alloc(world, 1000, 0, odd ? "odd" : "even", &pointer) == TSR_ERR_MISMATCH);
	CHECK(says("\"odd\"|\"even\""));
	CHECK(tsr_heap_alloc(world, odd ? 0 : 1000, 0, "one is wrong", &pointer) ==
	      TSR_ERR_MISMATCH);
	CHECK(tsr_heap_alloc(world, odd ? (size_t)1 << 60 : 1000, 0, "one has no room", &pointer) ==
	      TSR_ERR_MISMATCH);
	CHECK(pointer == NULL, "written on failure");
	return goes_on(world, &usage);
}

Test(heap_errors, ranks_that_ask_for_different_things)
{
	world_each(mismatch_body, NULL);
}

/* A failure that the arguments do not show fails the call everywhere, and names the rank. */
static int one_fails_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int last = tsr_world_size(world) - 1;
	const bool failing = tsr_world_rank(world) == last;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	TSR_HEAP void *pointer = NULL;
	char name[40];
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 1000, 0, "x", failing ? NULL : &pointer) == TSR_ERR_ARGUMENT);
	snprintf(name, sizeof name, "rank %d", last);
	CHECK(says(failing ? "no place for the pointer" : name));
	CHECK(pointer == NULL, "written on failure");
	return goes_on(world, &usage);
}

Test(heap_errors, one_rank_fails_and_all_are_told)
{
	world_each(one_fails_body, NULL);
}

/*
 * Rank 0 allocates, the others do not. Nobody waits for long, and every rank
 * hears who called what.
 */
static int some_only_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	TSR_HEAP void *pointer;
	tsr_status_t status = tsr_world_rank(world) == 0
				      ? tsr_heap_alloc(world, 1000, 0, "mine alone", &pointer)
				      : tsr_barrier(world);
	CHECK(status == TSR_ERR_MISMATCH, "%s", tsr_status_name(status));
	CHECK(says("tsr_heap_alloc|tsr_barrier|mine alone"));
	return 7; /* the world is over: what its end returns must not be 0 */
}

static void some_only(int ranks, tsr_placement_t placement)
{
	cr_expect_eq(world_run(ranks, placement, some_only_body, NULL), 7, "%d ranks", ranks);
}

Test(heap_errors, an_allocation_on_some_ranks_only)
{
	static const int sizes[] = {2, 3, 5, 8};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
#ifndef WORLD_THREADS_ONLY
		some_only(sizes[i], TSR_PLACE_PROCESS);
#endif
		some_only(sizes[i], TSR_PLACE_THREAD);
	}
}

/* ------------------------------------------------------------------ release */

static int release_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	TSR_HEAP char *kept, *gone;
	int on_the_host = 0;
	CHECK(tsr_heap_alloc(world, 1000, 0, "kept", (TSR_HEAP void **)&kept) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 1000, 0, "gone", (TSR_HEAP void **)&gone) == TSR_OK);
	CHECK(tsr_heap_free(world, gone) == TSR_OK);
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(tsr_heap_free(world, gone) == TSR_ERR_NOT_FOUND);
	CHECK(says("released already"));
	CHECK(tsr_heap_free(world, kept + 8) == TSR_ERR_NOT_FOUND);
	CHECK(says("byte 8 inside \"kept\""));
	CHECK(tsr_heap_free(world, (TSR_HEAP void *)(uintptr_t)&on_the_host) == TSR_ERR_NOT_FOUND);
	CHECK(says("outside this rank's heap"));
	CHECK(tsr_heap_free(NULL, kept) == TSR_ERR_ARGUMENT);
	return goes_on(world, &usage);
}

Test(heap_errors, release_of_what_is_not_allocated)
{
	world_each(release_body, NULL);
}

static int release_mismatch_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int last = tsr_world_size(world) - 1;
	const bool odd = tsr_world_rank(world) == last;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	TSR_HEAP void *a, *b;
	if (last == 0)
		return 0;
	CHECK(tsr_heap_alloc(world, 1000, 0, "a", &a) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 1000, 0, "b", &b) == TSR_OK);
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(tsr_heap_free(world, odd ? a : b) == TSR_ERR_MISMATCH);
	CHECK(says("tsr_heap_free|\"a\"|\"b\""));
	CHECK(tsr_heap_free(world, odd ? NULL : a) == TSR_ERR_MISMATCH);
	CHECK(tsr_heap_free(world, odd ? (TSR_HEAP char *)a + 1 : (TSR_HEAP char *)a) ==
	      TSR_ERR_MISMATCH);
	if (goes_on(world, &usage) != 0)
		return 1;
	CHECK(tsr_heap_free(world, a) == TSR_OK && tsr_heap_free(world, b) == TSR_OK,
	      "both are there still");
	return 0;
}

Test(heap_errors, ranks_that_release_different_things)
{
	world_each(release_mismatch_body, NULL);
}

/* ------------------------------------------------------------------ addresses */

static int addresses_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int size = tsr_world_size(world);
	TSR_HEAP char *pointer;
	TSR_HEAP void *peer = NULL;
	char host[200] = {0}, outside[8];
	CHECK(tsr_heap_alloc(world, 100, 0, "short", (TSR_HEAP void **)&pointer) == TSR_OK);
	CHECK(tsr_heap_translate(world, pointer, size, &peer) == TSR_ERR_ARGUMENT);
	CHECK(says("0 to"));
	CHECK(tsr_heap_translate(world, pointer, -1, &peer) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_translate(world, (TSR_HEAP void *)(uintptr_t)outside, 0, &peer) ==
	      TSR_ERR_ARGUMENT);
	CHECK(says("outside the heap"));
	CHECK(peer == NULL, "written on failure");
	CHECK(tsr_native_pointer(world, pointer, size) == NULL);
	CHECK(says("tsr_native_pointer|0 to"));
	CHECK(tsr_native_pointer(world, (TSR_HEAP void *)(uintptr_t)outside, 0) == NULL);
	CHECK(says("outside the heap"));
	CHECK(tsr_memcpy_to_heap(world, pointer, host, 101) == TSR_ERR_ARGUMENT);
	CHECK(says("\"short\"|100|101"));
	CHECK(tsr_memcpy_to_heap(world, pointer + 50, host, 51) == TSR_ERR_ARGUMENT);
	CHECK(tsr_memcpy_to_heap(world, pointer + 100, host, 1) == TSR_ERR_ARGUMENT);
	CHECK(tsr_memcpy_to_heap(world, pointer, host, SIZE_MAX) == TSR_ERR_ARGUMENT);
	CHECK(tsr_memcpy_from_heap(world, host, pointer - 1, 1) == TSR_ERR_ARGUMENT);
	CHECK(tsr_memcpy_from_heap(world, NULL, pointer, 1) == TSR_ERR_ARGUMENT);
	CHECK(tsr_memset_heap(world, (TSR_HEAP void *)(uintptr_t)outside, 0, 1) ==
	      TSR_ERR_ARGUMENT);
	CHECK(tsr_memset_heap(world, pointer, 0, 100) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, pointer + 50, host, 50) == TSR_OK);
	return 0;
}

Test(heap_errors, addresses_outside)
{
	world_each(addresses_body, NULL);
}

/*
 * What goes wrong with windows: one sentence each, the same code on every rank,
 * and the program's memory as it was.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "moving_pages.h"
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

/** Whole private pages, which may be read and written. */
static unsigned char *pages_of(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/** `memory` and its size are refused on every rank, with this sentence on each. */
static int refuses(tsr_world_t *world, void *memory, size_t bytes, const char *texts)
{
	TSR_HEAP void *heap = NULL;
	CHECK(tsr_window_register(world, memory, bytes, "data", &heap) == TSR_ERR_ARGUMENT,
	      "wanted: %s", texts);
	CHECK(says("tsr_window_register") && says(texts), "wanted: %s", texts);
	CHECK(heap == NULL, "written on failure");
	return 0;
}

/**
 * After an error the world is intact: nothing of the heap is taken, and good
 * memory becomes a window and is the program's again.
 */
static int goes_on(tsr_world_t *world, const tsr_heap_usage_t *before)
{
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t after = {.size = sizeof after};
	TSR_HEAP void *heap;
	unsigned char *memory = pages_of(unit);
	CHECK(memory != NULL);
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(after.free_bytes == before->free_bytes && after.allocations == before->allocations);
	memory[5] = 7;
	CHECK(tsr_window_register(world, memory, unit, "good", &heap) == TSR_OK);
	CHECK(tsr_memset_heap(world, heap, 9, 2) == TSR_OK);
	CHECK(tsr_window_release(world, heap) == TSR_OK);
	CHECK(memory[1] == 9 && memory[2] == 0 && memory[5] == 7);
	munmap(memory, unit);
	return 0;
}

static bool skipped(void)
{
	if (!pages_move())
		cr_skip_test("pages cannot be mapped a second time here");
	return false;
}

/* ------------------------------------------------------------------ memory that is none */

static int shapes_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *heap = NULL;
	unsigned char *memory = pages_of(3 * unit);
	(void)argc, (void)argv;
	CHECK(memory != NULL && tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(refuses(world, NULL, unit, "null for the memory") == 0);
	CHECK(refuses(world, memory, 0, "0 bytes|whole pages") == 0);
	CHECK(refuses(world, memory, unit + 1, "multiple of|whole pages") == 0);
	CHECK(refuses(world, memory + 8, unit, "begins at a multiple of|aligned_alloc") == 0);
	CHECK(refuses(world, memory, SIZE_MAX / unit * unit, "whole pages") == 0);
	CHECK(tsr_window_register(world, memory, unit, "data", NULL) == TSR_ERR_ARGUMENT);
	CHECK(says("the place of the pointer"));
	CHECK(tsr_window_register(NULL, memory, unit, "data", &heap) == TSR_ERR_ARGUMENT);
	CHECK(says("without a world"));
	CHECK(tsr_window_unit_bytes(NULL) == 0);
	munmap(memory, 3 * unit);
	return goes_on(world, &before);
}

Test(window_errors, memory_that_is_no_whole_pages)
{
	if (!skipped())
		world_each(shapes_body, NULL);
}

static int mappings_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *inside;
	unsigned char *memory = pages_of(4 * unit);
	(void)argc, (void)argv;
	CHECK(memory != NULL && tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(munmap(memory + unit, unit) == 0);
	CHECK(refuses(world, memory, 4 * unit, "is not all there") == 0);
	CHECK(refuses(world, memory + unit, unit, "is not all there") == 0);
	CHECK(mprotect(memory + 3 * unit, unit, PROT_READ) == 0);
	CHECK(refuses(world, memory + 2 * unit, 2 * unit, "may not be read and written") == 0);
	void *shared = mmap(NULL, unit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(refuses(world, shared, unit, "is shared already|private memory") == 0);
	munmap(shared, unit);
	CHECK(tsr_heap_alloc(world, unit, unit, "inside", &inside) == TSR_OK);
	CHECK(refuses(world, (void *)(uintptr_t)inside, unit,
		      "is in the heap of rank|without a window") == 0);
	CHECK(tsr_heap_free(world, inside) == TSR_OK);
	munmap(memory, unit);
	munmap(memory + 2 * unit, 2 * unit);
	return goes_on(world, &before);
}

Test(window_errors, memory_that_is_not_the_programs_own)
{
	if (!skipped())
		world_each(mappings_body, NULL);
}

/* ------------------------------------------------------------------ memory of the library's */

static int alloc_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *window;
	void *memory = NULL;
	(void)argc, (void)argv;
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(tsr_window_alloc(NULL, unit, &memory) == TSR_ERR_ARGUMENT && says("without a world"));
	CHECK(tsr_window_alloc(world, unit, NULL) == TSR_ERR_ARGUMENT && says("no place"));
	CHECK(tsr_window_alloc(world, 0, &memory) == TSR_ERR_ARGUMENT && says("0 bytes"));
	CHECK(tsr_window_alloc(world, SIZE_MAX, &memory) == TSR_ERR_ARGUMENT);
	CHECK(tsr_window_alloc(world, (size_t)1 << 60, &memory) == TSR_ERR_NO_MEMORY);
	CHECK(says("for a window|free some") && memory == NULL);
	CHECK(tsr_window_alloc(world, 2 * unit - 1, &memory) == TSR_OK && memory != NULL);
	unsigned char *bytes = memory;
	for (size_t i = 0; i < 2 * unit; i++)
		CHECK(bytes[i] == 0, "byte %zu is %d", i, bytes[i]);
	CHECK(tsr_window_register(world, bytes + unit, unit, "second", &window) == TSR_OK);
	CHECK(tsr_window_free(world, memory) == TSR_ERR_ARGUMENT);
	CHECK(says("memory of a window|tsr_window_release first"));
	CHECK(tsr_window_free(world, bytes + unit) == TSR_ERR_NOT_FOUND);
	CHECK(says("did not give to this rank"));
	CHECK(tsr_window_release(world, window) == TSR_OK);
	CHECK(tsr_window_free(world, memory) == TSR_OK);
	CHECK(tsr_window_free(world, memory) == TSR_ERR_NOT_FOUND && says("freed already"));
	CHECK(tsr_window_free(world, NULL) == TSR_OK);
	CHECK(tsr_window_free(NULL, memory) == TSR_ERR_ARGUMENT && says("without a world"));
	return goes_on(world, &before);
}

Test(window_errors, memory_that_is_asked_for_or_freed_in_a_wrong_way)
{
	if (!skipped())
		world_each(alloc_body, NULL);
}

/* ------------------------------------------------------------------ windows that meet */

static int overlap_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *first;
	unsigned char *memory = pages_of(4 * unit);
	(void)argc, (void)argv;
	CHECK(memory != NULL && tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(tsr_window_register(world, memory + unit, 2 * unit, "first", &first) == TSR_OK);
	for (size_t begin = 0; begin < 3; begin++)
		CHECK(refuses(world, memory + begin * unit, 2 * unit,
			      "overlaps that of a window|release that one first") == 0);
	/* beside it there is room */
	TSR_HEAP void *beside[2];
	CHECK(tsr_window_register(world, memory, unit, "low", &beside[0]) == TSR_OK);
	CHECK(tsr_window_register(world, memory + 3 * unit, unit, "high", &beside[1]) == TSR_OK);
	CHECK(tsr_window_release(world, first) == TSR_OK);
	CHECK(tsr_window_release(world, beside[1]) == TSR_OK);
	CHECK(tsr_window_release(world, beside[0]) == TSR_OK);
	munmap(memory, 4 * unit);
	return goes_on(world, &before);
}

Test(window_errors, windows_of_a_rank_do_not_overlap)
{
	if (!skipped())
		world_each(overlap_body, NULL);
}

/* Ranks as threads: one array of the whole process, which each rank takes for its own. */
static unsigned char everybodys[1 << 18];

static int same_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t unit = tsr_window_unit_bytes(world);
	const uintptr_t first = ((uintptr_t)everybodys + unit - 1) / unit * unit;
	tsr_heap_usage_t before = {.size = sizeof before};
	(void)argc, (void)argv;
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(refuses(world, (unsigned char *)first, unit,
		      "ranks 0 and 1|threads of one process|each rank gives its own") == 0);
	return goes_on(world, &before);
}

Test(window_errors, ranks_that_are_threads_give_memory_of_their_own)
{
	if (!skipped())
		cr_expect(world_run(3, TSR_PLACE_THREAD, same_body, NULL) == 0);
}

static int differ_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *heap = NULL;
	unsigned char *memory = pages_of(2 * unit);
	(void)argc, (void)argv;
	CHECK(memory != NULL && tsr_heap_usage(world, &before) == TSR_OK);
	memory[1] = 3;
	if (size > 1) {
		CHECK(tsr_window_register(world, memory, me == size - 1 ? unit : 2 * unit, "size",
					  &heap) == TSR_ERR_MISMATCH);
		CHECK(says("tsr_window_register|4 KiB|8 KiB|rank 0"));
		CHECK(tsr_window_register(world, memory, unit, me ? "others" : "mine", &heap) ==
		      TSR_ERR_MISMATCH);
		CHECK(says("mine|others"));
		/* one rank's memory is wrong: no rank has a window */
		CHECK(tsr_window_register(world, memory + (me == 1 ? 8 : 0), unit, "one", &heap) ==
		      TSR_ERR_ARGUMENT);
		CHECK(says(me == 1 ? "begins at a multiple" : "undone on every rank|rank 1"));
	}
	CHECK(heap == NULL && memory[1] == 3);
	munmap(memory, 2 * unit);
	return goes_on(world, &before);
}

Test(window_errors, ranks_that_ask_for_different_things)
{
	if (!skipped())
		world_each(differ_body, NULL);
}

static int room_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t bytes = (size_t)2 << 20;
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *heap = NULL;
	unsigned char *memory = pages_of(bytes);
	(void)argc, (void)argv;
	CHECK(memory != NULL && tsr_heap_usage(world, &before) == TSR_OK);
	memory[bytes - 1] = 5;
	CHECK(tsr_window_register(world, memory, bytes, "large", &heap) == TSR_ERR_NO_MEMORY);
	CHECK(says("2 MiB|large|TESSERA_HEAP_SIZE") && heap == NULL && memory[bytes - 1] == 5);
	munmap(memory, bytes);
	return goes_on(world, &before);
}

Test(window_errors, a_heap_without_room)
{
	if (skipped())
		return;
	setenv("TESSERA_HEAP_SIZE", "1M", 1);
	world_each(room_body, NULL);
	unsetenv("TESSERA_HEAP_SIZE");
}

/* ------------------------------------------------------------------ release */

static int release_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const size_t unit = tsr_window_unit_bytes(world);
	tsr_heap_usage_t before = {.size = sizeof before};
	TSR_HEAP void *window, *other;
	unsigned char *memory = pages_of(2 * unit);
	(void)argc, (void)argv;
	CHECK(memory != NULL && tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(tsr_window_register(world, memory, unit, "window", &window) == TSR_OK);
	CHECK(tsr_heap_alloc(world, unit, 0, "memory", &other) == TSR_OK);
	CHECK(tsr_heap_free(world, window) == TSR_ERR_ARGUMENT);
	CHECK(says("tsr_heap_free|\"window\"|tsr_window_release"));
	CHECK(tsr_window_release(world, other) == TSR_ERR_NOT_FOUND);
	CHECK(says("no window of this rank|tsr_window_register"));
	CHECK(tsr_window_release(world, (TSR_HEAP char *)window + 8) == TSR_ERR_NOT_FOUND);
	if (size > 1) {
		CHECK(tsr_window_release(world, me == 0 ? window : NULL) == TSR_ERR_MISMATCH);
		CHECK(says("null|\"window\" at offset"));
	}
	CHECK(tsr_window_release(world, NULL) == TSR_OK);
	CHECK(tsr_window_release(NULL, window) == TSR_ERR_ARGUMENT);
	CHECK(tsr_window_release(world, window) == TSR_OK);
	CHECK(tsr_window_release(world, window) == TSR_ERR_NOT_FOUND);
	CHECK(says("it was released"));
	CHECK(tsr_heap_free(world, other) == TSR_OK);
	munmap(memory, 2 * unit);
	return goes_on(world, &before);
}

Test(window_errors, releases_of_what_is_no_window)
{
	if (!skipped())
		world_each(release_body, NULL);
}

/** The last rank's program has put another mapping there: it is left alone. */
static int unmapped_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const size_t unit = tsr_window_unit_bytes(world);
	TSR_HEAP void *window;
	unsigned char *memory = pages_of(2 * unit);
	(void)argc, (void)argv;
	CHECK(memory != NULL);
	memory[unit] = 11;
	CHECK(tsr_window_register(world, memory, 2 * unit, "window", &window) == TSR_OK);
	if (me == size - 1) {
		CHECK(mmap(memory + unit, unit, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory + unit);
		memory[unit] = 12;
	}
	CHECK(tsr_window_release(world, window) == TSR_ERR_ARGUMENT);
	CHECK(says(me == size - 1 ? "was unmapped, freed or replaced" : "undone on every rank"));
	CHECK(memory[unit] == (me == size - 1 ? 12 : 11));
	CHECK(tsr_window_release(world, window) == TSR_ERR_NOT_FOUND);
	munmap(memory, 2 * unit);
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}

Test(window_errors, memory_that_was_unmapped_before_its_release)
{
	if (!skipped())
		world_each(unmapped_body, NULL);
}

/* ------------------------------------------------------------------ the end of the world */

/* What each rank, a thread of this process, leaves registered. */
static unsigned char *left[8];
static unsigned char *given[8]; /* and what it has of tsr_window_alloc, with GIVEN in it */
enum { GIVEN = 77 };

static int leave_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	const size_t unit = tsr_window_unit_bytes(world);
	TSR_HEAP void *window;
	(void)argc, (void)argv;
	left[me] = pages_of(unit);
	CHECK(left[me] != NULL);
	left[me][0] = (unsigned char)(20 + me);
	CHECK(tsr_window_register(world, left[me], unit, "left", &window) == TSR_OK);
	CHECK(tsr_memset_heap(world, (TSR_HEAP char *)window + 1, 30 + me, 1) == TSR_OK);
	CHECK(tsr_window_alloc(world, unit, (void **)&given[me]) == TSR_OK);
	given[me][0] = GIVEN;
	CHECK(tsr_window_register(world, given[me], unit, "given", &window) == TSR_OK);
	return argc > 1 ? 3 : 0; /* a rank that fails ends the world for all */
}

/** How the mapping that holds an address may be used, such as "rw-p"; "": there is none. */
static const char *access_of(const void *memory, char access[5])
{
	char line[512];
	unsigned long begin, end;
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && !found && fgets(line, sizeof line, maps))
		found = sscanf(line, "%lx-%lx %4s", &begin, &end, access) == 3 &&
			begin <= (uintptr_t)memory && (uintptr_t)memory < end;
	if (maps)
		(void)fclose(maps);
	return found ? access : "";
}

static void end_with_windows(int code, const char *argument)
{
	char access[5];
	cr_expect(world_start(3, TSR_PLACE_THREAD, leave_body, argument) == code);
	for (int r = 0; r < 3; r++) {
		cr_expect(left[r][0] == 20 + r && left[r][1] == 30 + r, "rank %d", r);
		cr_expect(strcmp(access_of(left[r], access), "rw-p") == 0,
			  "rank %d's memory is still shared", r);
		cr_expect(strcmp(access_of(given[r], access), "rw-p") != 0 || given[r][0] != GIVEN,
			  "rank %d has left memory of the library's", r);
		munmap(left[r], 1);
	}
}

Test(window_errors, the_end_of_the_world_releases_windows)
{
	if (!skipped())
		end_with_windows(0, NULL);
}

Test(window_errors, the_end_of_a_world_that_fails_does_so_too)
{
	if (!skipped())
		end_with_windows(3, "fail");
}

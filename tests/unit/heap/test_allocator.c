/*
 * The allocator against a naive model: what is free, who owns which byte, and
 * that the same calls give the same offsets.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/heap/allocator.h"
#include "tessera/status.h"

enum {
	GRANULE = TSR_ALLOCATOR_GRANULE,
	GRANULES = 16384,
	HEAP_BYTES = GRANULES * GRANULE,
	LIVE = 400,
	STEPS = 4000
};

/*
 * The model: each granule of the heap and who owns it, 0 for nobody. Everything
 * is asked by walking over all of it.
 */
typedef struct model {
	int owner[GRANULES];
} model_t;

static size_t granules_of(size_t bytes)
{
	return (bytes + GRANULE - 1) / GRANULE;
}

/*
 * Best fit by the book: of all free stretches with room, the shortest, and of
 * those the first. -1: none.
 */
static long model_place(const model_t *model, size_t bytes, size_t align)
{
	const size_t wanted = granules_of(bytes), step = align > GRANULE ? align / GRANULE : 1;
	size_t best_length = GRANULES + 1;
	long best = -1;
	for (size_t begin = 0, end; begin < GRANULES; begin = end) {
		for (end = begin; end < GRANULES && model->owner[end] == model->owner[begin]; end++)
			if (model->owner[begin] != 0 && end > begin)
				break;
		if (model->owner[begin] != 0) {
			end = begin + 1;
			continue;
		}
		const size_t at = (begin + step - 1) / step * step;
		if (at + wanted <= end && end - begin < best_length) {
			best_length = end - begin;
			best = (long)at;
		}
	}
	return best;
}

static void model_mark(model_t *model, size_t offset, size_t bytes, int owner)
{
	for (size_t i = 0; i < granules_of(bytes); i++)
		model->owner[offset / GRANULE + i] = owner;
}

static void model_usage(const model_t *model, size_t *free_out, size_t *largest_out)
{
	size_t run = 0;
	*free_out = *largest_out = 0;
	for (size_t i = 0; i < GRANULES; i++) {
		run = model->owner[i] ? 0 : run + GRANULE;
		*free_out += model->owner[i] ? 0 : GRANULE;
		*largest_out = run > *largest_out ? run : *largest_out;
	}
}

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

typedef struct live {
	size_t offset, bytes;
	char name[16];
} live_t;

/* One take, compared with the model. */
static void take_one(tsr_allocator_t *allocator, model_t *model, live_t *live, unsigned *random,
		     int owner)
{
	static const size_t most[] = {300, 2000, 20000, 400000};
	const size_t align = (size_t)1 << next_random(random) % 22;
	live->bytes = 1 + next_random(random) % most[next_random(random) % 4];
	snprintf(live->name, sizeof live->name, "a%d", owner);
	const long expected = model_place(model, live->bytes, align);
	size_t offset = 12345;
	tsr_status_t status =
		tsr_allocator_take(allocator, live->bytes, align, live->name, &offset);
	if (expected < 0) {
		cr_assert_eq(status, TSR_ERR_NO_MEMORY);
		cr_assert_eq(offset, 12345, "written on failure");
		live->bytes = 0;
		return;
	}
	cr_assert_eq(status, TSR_OK, "%s", tsr_last_error());
	cr_assert_eq(offset, (size_t)expected * GRANULE, "offset %zu, the model says %ld", offset,
		     expected * GRANULE);
	cr_assert_eq(offset % align, 0);
	live->offset = offset;
	model_mark(model, offset, live->bytes, owner);
}

static void compare_usage(const tsr_allocator_t *allocator, const model_t *model, int allocations)
{
	size_t free_bytes, largest;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	model_usage(model, &free_bytes, &largest);
	tsr_allocator_usage(allocator, &usage);
	cr_assert_eq(usage.heap_bytes, HEAP_BYTES);
	cr_assert_eq(usage.free_bytes, free_bytes, "free %zu, the model says %zu", usage.free_bytes,
		     free_bytes);
	cr_assert_eq(usage.largest_bytes, largest, "largest %zu, the model says %zu",
		     usage.largest_bytes, largest);
	cr_assert_eq(usage.allocations, allocations);
}

/* The last byte is found under its name, the byte behind it is not. */
static void compare_find(const tsr_allocator_t *allocator, const live_t *live)
{
	const char *name = NULL;
	size_t begin = 0, bytes = 0;
	cr_assert(tsr_allocator_find(allocator, live->offset + live->bytes - 1, &name, &begin,
				     &bytes));
	cr_assert_str_eq(name, live->name);
	cr_assert_eq(begin, live->offset);
	cr_assert_eq(bytes, live->bytes);
	if (live->bytes % GRANULE != 0)
		cr_assert(!tsr_allocator_find(allocator, live->offset + live->bytes, &name, &begin,
					      &bytes),
			  "the padding is nobody's");
}

static void run_against_model(unsigned seed)
{
	tsr_allocator_t *allocator = tsr_allocator_create(HEAP_BYTES);
	model_t model = {0};
	live_t live[LIVE] = {{0}};
	int allocations = 0, refused = 0;
	for (int step = 1; step <= STEPS; step++) {
		live_t *slot = &live[next_random(&seed) % LIVE];
		if (slot->bytes == 0) {
			take_one(allocator, &model, slot, &seed, step);
			allocations += slot->bytes != 0;
			refused += slot->bytes == 0;
		} else {
			compare_find(allocator, slot);
			cr_assert_eq(tsr_allocator_release(allocator, slot->offset), TSR_OK);
			model_mark(&model, slot->offset, slot->bytes, 0);
			slot->bytes = 0;
			allocations--;
		}
		compare_usage(allocator, &model, allocations);
	}
	cr_expect(refused > 10, "the heap was hardly ever full: %d refusals", refused);
	for (int i = 0; i < LIVE; i++)
		if (live[i].bytes != 0)
			cr_assert_eq(tsr_allocator_release(allocator, live[i].offset), TSR_OK);
	tsr_heap_usage_t usage = {.size = sizeof usage};
	tsr_allocator_usage(allocator, &usage);
	cr_expect_eq(usage.largest_bytes, HEAP_BYTES, "all pieces have grown together again");
	cr_expect_eq(usage.allocations, 0);
	tsr_allocator_destroy(allocator);
}

Test(allocator, agrees_with_a_naive_model)
{
	for (unsigned seed = 1; seed <= 3; seed++)
		run_against_model(seed);
}

/* A rank whose peers disagree takes and gives back. It must not drift away from them. */
Test(allocator, take_and_undo_leave_no_trace)
{
	tsr_allocator_t *a = tsr_allocator_create(HEAP_BYTES),
			*b = tsr_allocator_create(HEAP_BYTES);
	size_t offsets[64], offset_a, offset_b;
	unsigned random = 99;
	for (int i = 0; i < 64; i++) {
		const size_t bytes = 1 + next_random(&random) % 9000,
			     align = (size_t)1 << next_random(&random) % 14;
		size_t extra;
		if (tsr_allocator_take(b, 1 + next_random(&random) % 50000, align, "extra",
				       &extra) == TSR_OK)
			tsr_allocator_undo(b, &extra);
		cr_assert_eq(tsr_allocator_take(a, bytes, align, "x", &offset_a), TSR_OK);
		cr_assert_eq(tsr_allocator_take(b, bytes, align, "x", &offset_b), TSR_OK);
		cr_assert_eq(offset_a, offset_b);
		offsets[i] = offset_a;
		if (i % 3 == 2) {
			cr_assert_eq(tsr_allocator_release(a, offsets[i - 1]), TSR_OK);
			cr_assert_eq(tsr_allocator_release(b, offsets[i - 1]), TSR_OK);
		}
	}
	tsr_allocator_destroy(a);
	tsr_allocator_destroy(b);
}

/*
 * Neighbours show who runs over the end, and who uses what was released, as
 * long as there is room.
 */
Test(allocator, keeps_apart_what_is_allocated_and_what_was)
{
	tsr_allocator_t *allocator = tsr_allocator_create(16 * GRANULE);
	size_t first, second, third, offset;
	tsr_heap_usage_t usage = {.size = sizeof usage};
	tsr_allocator_keep_apart(allocator, 10 * GRANULE);
	cr_assert_eq(tsr_allocator_take(allocator, GRANULE, 0, "first", &first), TSR_OK);
	cr_assert_eq(tsr_allocator_take(allocator, 2 * GRANULE, 0, "second", &second), TSR_OK);
	cr_expect_eq(second, 2 * GRANULE, "as much as the first has lies between");
	cr_assert_eq(tsr_allocator_take(allocator, GRANULE, 0, "third", &third), TSR_OK);
	cr_expect_eq(third, 6 * GRANULE);
	cr_assert_eq(tsr_allocator_release(allocator, second), TSR_OK);
	cr_expect_eq(tsr_allocator_release(allocator, second), TSR_ERR_NOT_FOUND,
		     "kept back, it is no allocation");
	cr_assert_eq(tsr_allocator_release(allocator, first), TSR_OK);
	cr_assert_eq(tsr_allocator_take(allocator, 2 * GRANULE, 0, "fourth", &offset), TSR_OK);
	cr_expect_eq(offset, 8 * GRANULE, "what was released is not given out");
	cr_assert_eq(tsr_allocator_take(allocator, 2 * GRANULE, 0, "fifth", &offset), TSR_OK);
	cr_expect_eq(offset, 12 * GRANULE);
	tsr_allocator_usage(allocator, &usage);
	cr_expect_eq(usage.allocations, 3);
	cr_expect_eq(usage.heap_bytes, 10 * GRANULE);
	cr_expect_eq(usage.free_bytes, 5 * GRANULE, "neither gaps nor what is kept back are used");
	cr_assert_eq(tsr_allocator_take(allocator, GRANULE, 0, "sixth", &offset), TSR_OK);
	cr_expect_eq(offset, 2 * GRANULE, "without room, what was released first");
	cr_assert_eq(tsr_allocator_take(allocator, 2 * GRANULE, 0, "seventh", &offset), TSR_OK);
	cr_expect_eq(offset, 0, "without room for a gap, none");
	cr_expect_eq(tsr_allocator_take(allocator, 3 * GRANULE, 0, "eighth", &offset),
		     TSR_ERR_NO_MEMORY, "that is more than the most");
	cr_expect(strstr(tsr_last_error(), "of its 2.5 KiB 512 bytes are free") != NULL, "%s",
		  tsr_last_error());
	tsr_allocator_destroy(allocator);
}

/* Two ranks, one of which takes what the other refuses: they stay alike, whatever was kept back. */
Test(allocator, undone_ranks_are_alike)
{
	tsr_allocator_t *a = tsr_allocator_create(HEAP_BYTES),
			*b = tsr_allocator_create(HEAP_BYTES);
	unsigned random = 7;
	size_t of_a, of_b, taken, held[8] = {0};
	tsr_allocator_keep_apart(a, HEAP_BYTES / 2);
	tsr_allocator_keep_apart(b, HEAP_BYTES / 2);
	for (int i = 0; i < 2000; i++) {
		const size_t bytes = 1 + next_random(&random) % (HEAP_BYTES / 8);
		if (next_random(&random) % 8 == 0) {
			tsr_allocator_undo(a, tsr_allocator_take(a, bytes, 0, "undone", &taken) ==
							      TSR_OK
						      ? &taken
						      : NULL);
			tsr_allocator_undo(b, NULL);
		}
		if (i >= 8 && held[i % 8] != SIZE_MAX) {
			cr_assert_eq(tsr_allocator_release(a, held[i % 8]), TSR_OK);
			cr_assert_eq(tsr_allocator_release(b, held[i % 8]), TSR_OK);
		}
		const tsr_status_t status = tsr_allocator_take(a, bytes, 0, "x", &of_a);
		cr_assert_eq(tsr_allocator_take(b, bytes, 0, "x", &of_b), status);
		cr_assert(status != TSR_OK || of_a == of_b);
		held[i % 8] = status == TSR_OK ? of_a : SIZE_MAX;
	}
	tsr_allocator_destroy(a);
	tsr_allocator_destroy(b);
}

Test(allocator, keeps_room_behind_an_allocation)
{
	tsr_allocator_t *allocator = tsr_allocator_create(HEAP_BYTES);
	const size_t all = HEAP_BYTES, asked = 3 * GRANULE - 7, room = 9 * GRANULE;
	size_t first, next, begin = 1, size = 1;
	const char *name;
	tsr_heap_usage_t usage;
	cr_assert_eq(tsr_allocator_take_room(allocator, asked, room, 0, "first", &first), TSR_OK);
	cr_assert_eq(tsr_allocator_take(allocator, GRANULE, 0, "next", &next), TSR_OK);
	cr_expect_eq(next, first + room);
	cr_expect(tsr_allocator_find(allocator, first + asked - 1, &name, &begin, &size));
	cr_expect(begin == first && size == asked && strcmp(name, "first") == 0);
	cr_expect(!tsr_allocator_find(allocator, first + asked, &name, &begin, &size));
	cr_expect(!tsr_allocator_find(allocator, first + room - 1, &name, &begin, &size));
	cr_expect_eq(tsr_allocator_release(allocator, first + asked), TSR_ERR_NOT_FOUND);
	tsr_allocator_usage(allocator, &usage);
	cr_expect_eq(usage.free_bytes, all - room - GRANULE);
	cr_expect_eq(tsr_allocator_take_room(allocator, 1, all, 0, "large", &begin),
		     TSR_ERR_NO_MEMORY);
	cr_assert_eq(tsr_allocator_release(allocator, first), TSR_OK);
	cr_assert_eq(tsr_allocator_release(allocator, next), TSR_OK);
	tsr_allocator_usage(allocator, &usage);
	cr_expect(usage.free_bytes == all && usage.largest_bytes == all && usage.allocations == 0);
	tsr_allocator_destroy(allocator);
}

Test(allocator, aligns_up_to_two_mebibytes_and_no_further)
{
	const size_t mib = (size_t)1 << 20;
	tsr_allocator_t *allocator = tsr_allocator_create(16 * mib);
	size_t offset;
	cr_assert_eq(tsr_allocator_take(allocator, 1, 0, "first", &offset), TSR_OK);
	cr_expect_eq(offset, 0);
	for (size_t align = 1; align <= 2 * mib; align *= 2) {
		cr_assert_eq(tsr_allocator_take(allocator, 1, align, "x", &offset), TSR_OK);
		cr_expect_eq(offset % align, 0);
	}
	cr_expect_eq(tsr_allocator_take(allocator, 1, 4 * mib, "x", &offset), TSR_ERR_ARGUMENT);
	cr_expect(strstr(tsr_last_error(), "4194304") != NULL, "%s", tsr_last_error());
	cr_expect_eq(tsr_allocator_take(allocator, 1, 48, "x", &offset), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_allocator_take(allocator, 0, 0, "x", &offset), TSR_ERR_ARGUMENT);
	tsr_allocator_destroy(allocator);
}

Test(allocator, says_what_would_help_when_there_is_no_room)
{
	tsr_allocator_t *allocator = tsr_allocator_create(1 << 20);
	size_t first, second, offset;
	cr_assert_eq(tsr_allocator_take(allocator, 300000, 0, "first", &first), TSR_OK);
	cr_assert_eq(tsr_allocator_take(allocator, 300000, 0, "second", &second), TSR_OK);
	cr_assert_eq(tsr_allocator_release(allocator, first), TSR_OK);
	cr_assert_eq(tsr_allocator_take(allocator, 700000, 0, "third", &offset), TSR_ERR_NO_MEMORY);
	/* 1 MiB less one piece of 300032; the larger of the two free stretches is behind it. */
	static const char *const parts[] = {"683.6 KiB (700000 bytes)", "\"third\"",
					    "of its 1 MiB 731 KiB are free", "piece is 438 KiB",
					    "TESSERA_HEAP_SIZE"};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		cr_expect(strstr(tsr_last_error(), parts[i]) != NULL, "no %s in: %s", parts[i],
			  tsr_last_error());
	cr_expect_eq(tsr_allocator_take(allocator, SIZE_MAX, 0, "huge", &offset),
		     TSR_ERR_NO_MEMORY);
	cr_expect_eq(tsr_allocator_take(allocator, 448512, 0, "exactly the largest", &offset),
		     TSR_OK);
	tsr_allocator_destroy(allocator);
}

Test(allocator, says_what_is_there_instead_when_nothing_can_be_released)
{
	tsr_allocator_t *allocator = tsr_allocator_create(1 << 20);
	char name[] = "weights";
	size_t offset;
	cr_assert_eq(tsr_allocator_take(allocator, 1000, 0, name, &offset), TSR_OK);
	memset(name, 'x', sizeof name - 1); /* the name was copied */
	cr_expect_eq(tsr_allocator_release(allocator, offset + 4), TSR_ERR_NOT_FOUND);
	cr_expect(strstr(tsr_last_error(), "byte 4 inside \"weights\"") != NULL, "%s",
		  tsr_last_error());
	cr_expect_eq(tsr_allocator_release(allocator, 4096), TSR_ERR_NOT_FOUND);
	cr_expect_eq(tsr_allocator_release(allocator, 1 << 20), TSR_ERR_NOT_FOUND);
	cr_expect_eq(tsr_allocator_release(allocator, offset), TSR_OK);
	cr_expect_eq(tsr_allocator_release(allocator, offset), TSR_ERR_NOT_FOUND);
	cr_expect(strstr(tsr_last_error(), "released already") != NULL, "%s", tsr_last_error());
	tsr_allocator_destroy(allocator);
}

Test(allocator, a_heap_too_small_for_anything_says_so)
{
	tsr_allocator_t *allocator = tsr_allocator_create(100);
	size_t offset;
	cr_expect_eq(tsr_allocator_take(allocator, 1, 0, "x", &offset), TSR_ERR_NO_MEMORY);
	tsr_allocator_destroy(allocator);
}

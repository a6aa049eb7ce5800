/*
 * The shadow of plain memory, case by case: who races with whom and where, what
 * nobody has written, and what is forgotten when.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shadow_world.h"

/* ------------------------------------------------------------------ plain memory */

Test(shadow, an_ordered_read_finds_nothing)
{
	world_t w;

	begin(&w);
	write_by(&w, operation(&w, 0), 3, 300);
	hand_over(&w, 0, 1);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 1), 3, 300);
	cr_expect(!found.races && !found.unwritten);
	finish(&w);
}

Test(shadow, a_race_names_the_other_operation_and_the_bytes_that_both_touch)
{
	world_t w;

	begin(&w);
	const uint32_t first = operation(&w, 0);
	write_by(&w, first, 100, 300);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 2), 50, 200);
	cr_expect_eq(found.races, (unsigned)TSR_VIEWS_DATA_RACE);
	cr_expect(found.other == first && found.other_thread == 0 && found.other_wrote);
	cr_expect(found.offset == 100 && found.bytes == 150, "%zu bytes at %zu", found.bytes,
		  found.offset);
	cr_expect(found.unwritten && found.unwritten_offset == 50 && found.unwritten_bytes == 50);
	finish(&w);
}

Test(shadow, a_write_that_does_not_wait_for_a_reader_is_found)
{
	world_t w;

	begin(&w);
	write_by(&w, operation(&w, 0), 0, 256);
	hand_over(&w, 0, 1);
	hand_over(&w, 0, 2);
	read_by(&w, operation(&w, 1), 0, 128);
	const uint32_t late = operation(&w, 2);
	read_by(&w, late, 64, 192);
	hand_over(&w, 1, 0); /* one of the two has retired */
	tsr_shadow_found_t found = write_by(&w, operation(&w, 0), 0, 256);
	cr_expect(found.races && found.other == late && !found.other_wrote);
	cr_expect(found.offset == 64 && found.bytes == 192, "%zu bytes at %zu", found.bytes,
		  found.offset);
	finish(&w);
}

Test(shadow, an_operation_that_goes_on_after_a_release_is_not_covered_by_it)
{
	world_t w;

	begin(&w);
	const uint32_t put = operation(&w, 0);
	write_by(&w, put, 128, 8);
	act(&w, put, TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, 0, 8, 1);
	write_by(&w, put, 256, 8);
	await(&w, 1, 0);
	cr_expect_eq(read_by(&w, operation(&w, 1), 128, 8).races, 0u);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 1), 256, 8);
	cr_expect(found.races && found.other == put);
	finish(&w);
}

Test(shadow, fresh_memory_was_written_by_nobody_and_given_memory_by_somebody)
{
	world_t w;

	begin(&w);
	write_by(&w, operation(&w, 0), 0, BYTES);
	cr_assert(tsr_shadow_fresh(w.shadow, w.region, 100, 100) == TSR_OK);
	cr_assert(tsr_shadow_given(w.shadow, w.region, 150, 500) == TSR_OK);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 1), 100, 550);
	cr_expect(!found.races);
	cr_expect(found.unwritten && found.unwritten_offset == 100 && found.unwritten_bytes == 50);
	finish(&w);
}

Test(shadow, rows_leave_what_is_between_them_alone)
{
	unsigned char tile[4][16];
	world_t w;
	tsr_shadow_found_t found;

	begin(&w);
	const tsr_shadow_range_t rows = {
		.region = w.region, .offset = 32, .bytes = 12, .rows = 4, .pitch = 100};
	memset(tile, 7, sizeof tile);
	cr_assert(tsr_shadow_write(w.shadow, operation(&w, 0), &rows, tile, 16, &found) == TSR_OK);
	for (size_t i = 0; i < BYTES; i++) {
		const bool inside = i >= 32 && (i - 32) / 100 < 4 && (i - 32) % 100 < 12;
		cr_assert_eq(w.memory[i] == 7, inside);
		cr_assert_eq(read_by(&w, operation(&w, 1), i, 1).races != 0, inside);
	}
	finish(&w);
}

Test(shadow, what_is_not_in_a_region_is_refused)
{
	world_t w;
	tsr_shadow_found_t found;
	tsr_views_event_t event;
	const tsr_views_access_t load = {
		.kind = TSR_VIEWS_LOAD, .order = TSR_VIEWS_RELAXED, .scope = TSR_VIEWS_SYSTEM};
	const tsr_shadow_word_t crooked = {0, 4, 8}, beyond = {0, BYTES, 4}, odd = {0, 0, 3};

	begin(&w);
	const tsr_shadow_range_t tail = {.region = w.region, .offset = BYTES - 4, .bytes = 5};
	const tsr_shadow_range_t far = {
		.region = w.region, .bytes = 4, .rows = 2, .pitch = SIZE_MAX};
	const tsr_shadow_range_t nowhere = {.region = 5, .bytes = 4};
	const uint32_t number = operation(&w, 0);
	cr_expect(tsr_shadow_read(w.shadow, number, &tail, NULL, 0, &found) == TSR_ERR_ARGUMENT);
	cr_expect(tsr_shadow_read(w.shadow, number, &far, NULL, 0, &found) == TSR_ERR_ARGUMENT);
	cr_expect(tsr_shadow_write(w.shadow, number, &nowhere, NULL, 0, &found) ==
		  TSR_ERR_ARGUMENT);
	cr_expect(tsr_shadow_act(w.shadow, number, &load, &crooked, 0, &event) == TSR_ERR_ARGUMENT);
	cr_expect(tsr_shadow_act(w.shadow, number, &load, &beyond, 0, &event) == TSR_ERR_ARGUMENT);
	cr_expect(tsr_shadow_act(w.shadow, number, &load, &odd, 0, &event) == TSR_ERR_ARGUMENT);
	cr_expect(tsr_shadow_fresh(w.shadow, w.region, 1, BYTES) == TSR_ERR_ARGUMENT);
	finish(&w);
}

/* ------------------------------------------------------------------ forgetting */

Test(shadow, what_is_settled_races_with_nothing_and_keeps_its_values)
{
	world_t w;

	begin(&w);
	write_by(&w, operation(&w, 0), 10, 100);
	read_by(&w, operation(&w, 1), 600, 50);
	signal_to(&w, 2, 256, 3);
	const uint32_t first = tsr_shadow_first_operation(w.shadow);
	cr_assert(tsr_shadow_settle(w.shadow) == TSR_OK);
	cr_expect(tsr_shadow_first_operation(w.shadow) > first);
	tsr_views_event_t event = await(&w, 3, 256);
	cr_expect(event.value == 3 && event.races == 0 && !event.initial);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 3), 10, 101);
	cr_expect(!found.races && found.unwritten && found.unwritten_offset == 110 &&
		  found.unwritten_bytes == 1);
	cr_expect_eq(write_by(&w, operation(&w, 3), 600, 50).races, 0u);
	const tsr_shadow_range_t range = {.region = w.region, .bytes = 1};
	cr_expect(tsr_shadow_read(w.shadow, first, &range, NULL, 0, &found) == TSR_ERR_ARGUMENT);
	finish(&w);
}

Test(shadow, memory_grows_with_what_is_touched_and_shrinks_when_it_settles)
{
	static unsigned char heap[1 << 22];
	world_t w;
	int region;

	begin(&w);
	const size_t empty = tsr_shadow_size_bytes(w.shadow);
	cr_assert(tsr_shadow_add_region(w.shadow, heap, sizeof heap, &region) == TSR_OK);
	cr_expect(tsr_shadow_size_bytes(w.shadow) < empty + (1 << 12));
	const tsr_shadow_range_t range = {.region = region, .offset = 1 << 20, .bytes = 1 << 20};
	tsr_shadow_found_t found;
	cr_assert(tsr_shadow_write(w.shadow, operation(&w, 0), &range, NULL, 0, &found) == TSR_OK);
	const size_t touched = tsr_shadow_size_bytes(w.shadow) - empty;
	cr_expect(touched > (1 << 18) && touched < (1 << 18) + (1 << 13), "%zu bytes", touched);
	for (size_t at = 0; at < 1 << 16; at += 4) {
		const tsr_shadow_range_t element = {.region = region, .offset = at, .bytes = 4};
		cr_assert(tsr_shadow_write(w.shadow, operation(&w, (int)(at / 4 % 3)), &element,
					   NULL, 0, &found) == TSR_OK);
	}
	const size_t ragged = tsr_shadow_size_bytes(w.shadow);
	cr_assert(tsr_shadow_settle(w.shadow) == TSR_OK);
	cr_expect(tsr_shadow_size_bytes(w.shadow) < ragged / 2, "%zu, then %zu", ragged,
		  tsr_shadow_size_bytes(w.shadow));
	cr_assert(tsr_shadow_fresh(w.shadow, region, 0, sizeof heap) == TSR_OK);
	cr_expect(tsr_shadow_size_bytes(w.shadow) < ragged / 8);
	finish(&w);
}

Test(shadow, a_forked_child_goes_its_own_way)
{
	world_t w;
	int status = 1;

	begin(&w);
	write_by(&w, operation(&w, 0), 0, 256);
	const pid_t child = fork();
	cr_assert(child >= 0);
	if (child == 0) {
		(void)tsr_views_hand_over(w.views, 0, 1);
		_exit(read_by(&w, operation(&w, 1), 0, 256).races ? 1 : 0);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	cr_expect_eq(status, 0);
	cr_expect(read_by(&w, operation(&w, 1), 0, 256).races != 0);
	finish(&w);
}

Test(shadow, who_moves_the_values_himself_has_the_races_told)
{
	static unsigned char memory[64];
	const tsr_views_place_t places[2] = {{{0}}, {{0}}};
	const tsr_shadow_range_t range = {.bytes = 64};
	tsr_views_t *views = NULL;
	tsr_shadow_t *shadow = NULL;
	tsr_shadow_found_t found;
	uint32_t number[2];
	int region;

	cr_assert(tsr_views_create(places, 2, 0, 0, &views) == TSR_OK);
	cr_assert(tsr_shadow_create(views, false, &shadow) == TSR_OK);
	cr_assert(tsr_shadow_add_region(shadow, memory, sizeof memory, &region) == TSR_OK);
	for (int t = 0; t < 2; t++)
		cr_assert(tsr_shadow_operation(shadow, t, &number[t]) == TSR_OK);
	unsigned char ones[64];
	memset(ones, 1, sizeof ones);
	cr_assert(tsr_shadow_write(shadow, number[0], &range, ones, 0, &found) == TSR_OK);
	cr_expect_eq(memory[0], 0);
	cr_assert(tsr_shadow_read(shadow, number[1], &range, NULL, 0, &found) == TSR_OK);
	cr_expect_eq(found.races, (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_shadow_destroy(shadow);
	tsr_views_destroy(views);
}

/*
 * The shadow, case by case: who races with whom and where, what nobody has
 * written, words, and what is forgotten when.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shadow_world.h"

static void hand_over(world_t *w, int from, int to)
{
	cr_assert(tsr_views_hand_over(w->views, from, to) == TSR_OK);
}

static void meet(world_t *w)
{
	for (int t = 1; t < THREADS; t++)
		hand_over(w, t, 0);
	for (int t = 1; t < THREADS; t++)
		hand_over(w, 0, t);
}

static tsr_views_event_t act(world_t *w, uint32_t number, tsr_views_kind_t kind,
			     tsr_views_order_t order, size_t offset, size_t bytes, uint64_t value)
{
	const tsr_views_access_t access = {
		.kind = kind, .order = order, .scope = TSR_VIEWS_SYSTEM, .value = value};
	const tsr_shadow_word_t word = {w->region, offset, bytes};
	tsr_views_event_t event;

	cr_assert(tsr_shadow_act(w->shadow, number, &access, &word, 0, &event) == TSR_OK);
	return event;
}

static uint64_t signal_to(world_t *w, int thread, size_t offset, uint64_t value)
{
	return act(w, operation(w, thread), TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, offset, 8, value)
		.races;
}

static tsr_views_event_t await(world_t *w, int thread, size_t offset)
{
	return act(w, operation(w, thread), TSR_VIEWS_LOAD, TSR_VIEWS_ACQUIRE, offset, 8, 0);
}

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

Test(shadow, a_copy_reads_and_writes_as_memmove_does)
{
	world_t w;
	tsr_shadow_found_t found[2];

	begin(&w);
	const tsr_shadow_range_t from = {
		.region = w.region, .offset = 0, .bytes = 64, .rows = 3, .pitch = 64};
	const tsr_shadow_range_t to = {
		.region = w.region, .offset = 40, .bytes = 64, .rows = 3, .pitch = 64};
	unsigned char expected[BYTES];
	write_by(&w, operation(&w, 0), 0, 100);
	for (size_t i = 0; i < BYTES; i++)
		expected[i] = w.memory[i] = (unsigned char)i;
	memmove(expected + 40, expected, 192);
	cr_assert(tsr_shadow_copy(w.shadow, operation(&w, 1), &from, &to, NULL, 0, found) ==
		  TSR_OK);
	cr_expect(memcmp(w.memory, expected, BYTES) == 0);
	cr_expect(found[0].races && found[0].offset == 0 && found[0].bytes == 100);
	cr_expect(found[0].unwritten && found[0].unwritten_offset == 100);
	cr_expect(found[1].races && found[1].other_wrote && found[1].offset == 40 &&
		  found[1].bytes == 60);
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

/* ------------------------------------------------------------------ words */

Test(shadow, a_signal_orders_what_it_follows)
{
	world_t w;

	begin(&w);
	write_by(&w, operation(&w, 0), 64, 500);
	cr_expect_eq(signal_to(&w, 0, 0, 1), 0u);
	cr_expect_eq(await(&w, 3, 0).value, 1u);
	cr_expect_eq(read_by(&w, operation(&w, 3), 64, 500).races, 0u);
	cr_expect_eq(w.memory[0], 1);
	finish(&w);
}

Test(shadow, a_word_has_older_values_and_memory_the_newest)
{
	world_t w;
	const tsr_views_access_t load = {
		.kind = TSR_VIEWS_LOAD, .order = TSR_VIEWS_RELAXED, .scope = TSR_VIEWS_SYSTEM};
	const tsr_shadow_word_t word = {0, 8, 4};
	uint64_t value;
	bool initial;
	int choices;

	begin(&w);
	w.memory[8] = 5;
	cr_assert(tsr_shadow_given(w.shadow, w.region, 0, 64) == TSR_OK);
	act(&w, operation(&w, 0), TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 8, 4, UINT64_C(0x1ffffffff));
	const uint32_t number = operation(&w, 1);
	cr_assert(tsr_shadow_choices(w.shadow, number, &load, &word, &choices) == TSR_OK);
	cr_assert_eq(choices, 2);
	cr_assert(tsr_shadow_peek(w.shadow, number, &load, &word, 1, &value, &initial) == TSR_OK);
	cr_expect(value == 5 && !initial);
	cr_assert(tsr_shadow_peek(w.shadow, number, &load, &word, 0, &value, &initial) == TSR_OK);
	cr_expect(value == 0xffffffff);
	cr_expect(w.memory[11] == 0xff && w.memory[12] == 0);
	finish(&w);
}

Test(shadow, plain_accesses_race_with_ordered_ones_whichever_comes_first)
{
	world_t w;
	tsr_views_event_t event;

	begin(&w);
	const uint32_t plain = operation(&w, 0);
	write_by(&w, plain, 0, 64);
	event = act(&w, operation(&w, 1), TSR_VIEWS_LOAD, TSR_VIEWS_ACQUIRE, 8, 8, 0);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == plain &&
		  event.other_wrote);
	const uint32_t ordered = operation(&w, 2);
	act(&w, ordered, TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, 128, 4, 1);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 1), 120, 30);
	cr_expect(found.races && found.other == ordered && found.offset == 128 && found.bytes == 4);
	const uint32_t reader = operation(&w, 3);
	read_by(&w, reader, 256, 8);
	event = act(&w, operation(&w, 1), TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, 256, 8, 1);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == reader &&
		  !event.other_wrote);
	finish(&w);
}

Test(shadow, flags_that_are_cleared_are_plain_memory_again)
{
	world_t w;

	begin(&w);
	signal_to(&w, 1, 0, 7);
	signal_to(&w, 2, 8, 8);
	meet(&w);
	const size_t with_words = tsr_shadow_size_bytes(w.shadow);
	const uint32_t clear = operation(&w, 0);
	tsr_shadow_found_t found = write_by(&w, clear, 0, 64);
	cr_expect(!found.races);
	cr_expect(tsr_shadow_size_bytes(w.shadow) < with_words);
	tsr_views_event_t event = await(&w, 3, 0); /* too early */
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == clear);
	finish(&w);
}

Test(shadow, half_a_word_that_is_written_plainly_changes_that_half)
{
	world_t w;

	begin(&w);
	signal_to(&w, 0, 8, UINT64_C(0x1111111122222222));
	meet(&w);
	const uint32_t half = operation(&w, 1);
	write_by(&w, half, 12, 4);
	meet(&w);
	uint64_t expected;
	memcpy(&expected, w.memory + 8, 8);
	cr_expect_eq(await(&w, 2, 8).value, expected);
	cr_expect_eq(w.memory[12], (unsigned char)half);
	finish(&w);
}

Test(shadow, words_of_two_sizes_are_two_accesses_to_one_memory)
{
	world_t w;
	tsr_views_event_t event;

	begin(&w);
	const uint32_t narrow = operation(&w, 0);
	act(&w, narrow, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 4, 4, 9);
	event = act(&w, operation(&w, 1), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 0, 8, 0);
	uint64_t whole;
	memcpy(&whole, w.memory, 8);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == narrow &&
		  event.value == whole);
	meet(&w);
	event = act(&w, operation(&w, 2), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 4, 4, 0);
	cr_expect(event.races == 0 && event.value == 9);
	event = act(&w, operation(&w, 3), TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 0, 4, 1);
	cr_expect_eq(event.races, 0u);
	finish(&w);
}

Test(shadow, a_word_is_cut_down_to_two_bytes)
{
	world_t w;

	begin(&w);
	signal_to(&w, 0, 8, UINT64_C(0x1111222233334444));
	meet(&w);
	tsr_views_event_t event =
		act(&w, operation(&w, 1), TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 12, 2, 0x77777);
	cr_expect_eq(event.races, 0u);
	event = act(&w, operation(&w, 2), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 14, 2, 0);
	cr_expect(event.races == 0 && event.value == 0x1111);
	meet(&w);
	cr_expect_eq(act(&w, operation(&w, 3), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 12, 2, 0).value,
		     0x7777u);
	cr_expect_eq(act(&w, operation(&w, 3), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 8, 2, 0).value,
		     0x4444u);
	uint64_t whole;
	memcpy(&whole, w.memory + 8, 8);
	cr_expect_eq(whole, UINT64_C(0x1111777733334444));
	finish(&w);
}

Test(shadow, neighbours_of_two_bytes_do_not_race)
{
	world_t w;

	begin(&w);
	const uint32_t mine = operation(&w, 0);
	act(&w, mine, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 4, 2, 9);
	cr_expect_eq(write_by(&w, operation(&w, 1), 6, 2).races, 0u);
	cr_expect_eq(write_by(&w, operation(&w, 1), 2, 2).races, 0u);
	const tsr_shadow_found_t found = write_by(&w, operation(&w, 2), 4, 1);
	cr_expect(found.races == TSR_VIEWS_DATA_RACE && found.other == mine && found.offset == 4 &&
		  found.bytes == 1);
	finish(&w);
}

Test(shadow, an_unwritten_flag_is_told)
{
	world_t w;

	begin(&w);
	cr_expect(await(&w, 0, 0).initial);
	cr_expect(read_by(&w, operation(&w, 1), 0, 64).unwritten);
	signal_to(&w, 2, 0, 1);
	cr_expect(!await(&w, 0, 0).initial);
	finish(&w);
}

Test(shadow, the_lower_half_of_a_word_is_written_and_no_more)
{
	world_t w;

	begin(&w);
	signal_to(&w, 0, 8, UINT64_MAX);
	const uint32_t half = operation(&w, 1);
	tsr_shadow_found_t found = write_by(&w, half, 4, 8); /* races, so that the word stays one */
	cr_expect(found.races && found.unwritten == false && found.offset == 8 && found.bytes == 4);
	cr_expect_eq(act(&w, operation(&w, 1), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 8, 8, 0).value >>
			     32,
		     0xffffffffu);
	uint64_t whole;
	memcpy(&whole, w.memory + 8, 8);
	cr_expect_eq(whole & 0xffffffff, half * UINT64_C(0x01010101));
	finish(&w);
}

Test(shadow, what_was_a_word_is_told_apart_by_bytes_again)
{
	world_t w;

	begin(&w);
	signal_to(&w, 0, 8, 1);
	meet(&w);
	write_by(&w, operation(&w, 1), 8, 4);
	cr_expect_eq(write_by(&w, operation(&w, 2), 12, 4).races, 0u);
	cr_expect(write_by(&w, operation(&w, 2), 8, 4).races != 0);
	finish(&w);
}

Test(shadow, half_of_a_word_that_was_given_is_written_and_so_is_the_other)
{
	world_t w;

	begin(&w);
	cr_assert(tsr_shadow_given(w.shadow, w.region, 0, 64) == TSR_OK);
	await(&w, 0, 8);
	meet(&w);
	write_by(&w, operation(&w, 1), 8, 4);
	cr_expect(!read_by(&w, operation(&w, 2), 12, 4).unwritten);
	finish(&w);
}

Test(shadow, a_word_that_is_plain_again_still_races_with_who_was_not_there)
{
	world_t w;

	begin(&w);
	const tsr_views_access_t load = {
		.kind = TSR_VIEWS_LOAD, .order = TSR_VIEWS_RELAXED, .scope = TSR_VIEWS_SYSTEM};
	const tsr_shadow_word_t word = {w.region, 8, 8};
	tsr_views_event_t event;
	const uint32_t reader = operation(&w, 0), signaller = operation(&w, 3);
	cr_assert(tsr_shadow_act(w.shadow, reader, &load, &word, 0, &event) == TSR_OK);
	act(&w, signaller, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 8, 8, 1);
	hand_over(&w, 0, 1);
	hand_over(&w, 3, 1);
	cr_expect_eq(write_by(&w, operation(&w, 1), 8, 4).races, 0u);
	tsr_shadow_found_t found = write_by(&w, operation(&w, 2), 12, 4);
	cr_expect(found.races && found.other == signaller && found.other_wrote);
	hand_over(&w, 3, 2);
	finish(&w);
	begin(&w);
	const uint32_t again = operation(&w, 0);
	cr_assert(tsr_shadow_act(w.shadow, again, &load, &word, 0, &event) == TSR_OK);
	hand_over(&w, 0, 1);
	write_by(&w, operation(&w, 1), 8, 4);
	found = write_by(&w, operation(&w, 2), 12, 4);
	cr_expect(found.races && found.other == again && !found.other_wrote);
	finish(&w);
}

Test(shadow, a_write_that_races_with_a_signal_does_not_hide_it_from_others)
{
	world_t w;

	begin(&w);
	signal_to(&w, 1, 0, 1);
	cr_expect(write_by(&w, operation(&w, 2), 0, 8).races != 0);
	hand_over(&w, 2, 3);
	cr_expect(read_by(&w, operation(&w, 3), 0, 8).races != 0);
	finish(&w);
}

static bool add_one(const void *context, uint64_t old, uint64_t *value_out)
{
	(void)context;
	*value_out = old + 1;
	return true;
}

Test(shadow, a_word_of_four_bytes_wraps)
{
	world_t w;
	const tsr_views_access_t add = {.kind = TSR_VIEWS_UPDATE,
					.order = TSR_VIEWS_RELAXED,
					.scope = TSR_VIEWS_SYSTEM,
					.update = add_one};
	const tsr_shadow_word_t word = {0, 12, 4};
	tsr_views_event_t event;

	begin(&w);
	act(&w, operation(&w, 0), TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 12, 4, UINT32_MAX);
	cr_assert(tsr_shadow_act(w.shadow, operation(&w, 0), &add, &word, 0, &event) == TSR_OK);
	cr_expect_eq(event.value, (uint64_t)UINT32_MAX);
	cr_expect_eq(act(&w, operation(&w, 0), TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, 12, 4, 0).value,
		     0u);
	finish(&w);
}

Test(shadow, an_operation_has_one_name_whatever_it_releases)
{
	world_t w;

	begin(&w);
	const uint32_t both = operation(&w, 0);
	act(&w, both, TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, 0, 8, 1);
	act(&w, both, TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, 8, 8, 1);
	tsr_shadow_found_t found = read_by(&w, operation(&w, 2), 12, 2);
	cr_expect(found.races && found.other == both);
	const tsr_views_event_t event =
		act(&w, operation(&w, 1), TSR_VIEWS_LOAD, TSR_VIEWS_PLAIN, 8, 8, 0);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == both);
	finish(&w);
}

Test(shadow, memory_has_the_last_store_in_modification_order)
{
	world_t w;
	const tsr_views_access_t late = {.kind = TSR_VIEWS_STORE,
					 .order = TSR_VIEWS_RELAXED,
					 .scope = TSR_VIEWS_SYSTEM,
					 .value = 2};
	const tsr_shadow_word_t word = {0, 0, 8};
	tsr_views_event_t event;

	begin(&w);
	act(&w, operation(&w, 0), TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, 0, 8, 1);
	cr_assert(tsr_shadow_act(w.shadow, operation(&w, 1), &late, &word, 1, &event) == TSR_OK);
	cr_expect_eq(w.memory[0], 1);
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

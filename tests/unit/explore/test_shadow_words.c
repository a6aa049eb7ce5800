/*
 * The shadow's words, which threads read and write with an order: what they
 * hold, with what they race, and when they are plain memory again.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "shadow_world.h"

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

/*
 * The shadow's copies: where both ends overlap, and where the source is
 * unwritten in part.
 */
#include "shadow_world.h"

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

/*
 * A slot that is filled in part is copied whole, twice: what nobody has written
 * is unwritten wherever it comes, and races as ever.
 */
Test(shadow, a_copy_of_what_is_unwritten_is_unwritten)
{
	world_t w;
	tsr_shadow_found_t found[2], seen;

	begin(&w);
	const tsr_shadow_range_t slot = {.region = w.region, .offset = 0, .bytes = 200};
	const tsr_shadow_range_t there = {.region = w.region, .offset = 300, .bytes = 200};
	const tsr_shadow_range_t further = {.region = w.region, .offset = 600, .bytes = 200};
	write_by(&w, operation(&w, 0), 40, 100);
	const uint32_t first = operation(&w, 0), second = operation(&w, 0);
	cr_assert(tsr_shadow_copy(w.shadow, first, &slot, &there, NULL, 0, found) == TSR_OK);
	cr_assert(tsr_shadow_copy(w.shadow, second, &there, &further, NULL, 0, found) == TSR_OK);
	seen = read_by(&w, operation(&w, 0), 640, 100);
	cr_expect(!seen.unwritten && !seen.races);
	seen = read_by(&w, operation(&w, 0), 600, 200);
	cr_expect(seen.unwritten && seen.unwritten_offset == 600 && seen.unwritten_bytes == 40 &&
		  seen.unwritten_by == second);
	seen = read_by(&w, operation(&w, 1), 600, 10);
	cr_expect(seen.unwritten && seen.races && seen.other == second && seen.other_wrote);
	write_by(&w, operation(&w, 0), 600, 40);
	write_by(&w, operation(&w, 0), 740, 60);
	seen = read_by(&w, operation(&w, 0), 600, 200);
	cr_expect(!seen.unwritten);
	cr_assert(tsr_shadow_settle(w.shadow) == TSR_OK);
	seen = read_by(&w, operation(&w, 0), 300, 41);
	cr_expect(seen.unwritten && seen.unwritten_bytes == 40 && seen.unwritten_by == 0);
	finish(&w);
}

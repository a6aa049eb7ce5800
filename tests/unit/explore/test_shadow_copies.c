/* The shadow's copies of what is unwritten in part. */
#include "shadow_world.h"

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

/*
 * What the threads of one coop do beside each other, told by the shadow: case
 * by case, and by chance beside a list of all that the coop has done since it
 * met.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "src/explore/shadow/shadow.h"

enum { BYTES = 256 };

typedef struct world {
	tsr_views_t *views;
	tsr_shadow_t *shadow;
	int region;
	_Alignas(8) unsigned char memory[BYTES];
} world_t;

static void begin(world_t *w)
{
	static const tsr_views_place_t places[2] = {{{0, 0, 0, 0, 0}}, {{0, 1, 1, 0, 0}}};
	memset(w, 0, sizeof *w);
	cr_assert(tsr_views_create(places, 2, 0, 0, &w->views) == TSR_OK);
	cr_assert(tsr_shadow_create(w->views, true, &w->shadow) == TSR_OK);
	cr_assert(tsr_shadow_add_region(w->shadow, w->memory, BYTES, &w->region) == TSR_OK);
	cr_assert(tsr_shadow_given(w->shadow, w->region, 0, BYTES) == TSR_OK);
}

static void finish(world_t *w)
{
	tsr_shadow_destroy(w->shadow);
	tsr_views_destroy(w->views);
}

/** The operation of a new call by thread 0. */
static uint32_t call_as(world_t *w, tsr_shadow_call_t call)
{
	uint32_t number = 0;
	cr_assert(tsr_shadow_call(w->shadow, 0, &call) == TSR_OK &&
		  tsr_shadow_operation(w->shadow, 0, &number) == TSR_OK);
	return number;
}

static uint32_t call(world_t *w)
{
	return call_as(w, (tsr_shadow_call_t){.apart = false});
}

static tsr_shadow_unmet_t touch(world_t *w, uint32_t number, bool write, size_t offset,
				size_t bytes)
{
	unsigned char what[BYTES] = {0};
	tsr_shadow_found_t found;
	const tsr_shadow_range_t range = {.region = w->region, .offset = offset, .bytes = bytes};
	if (write)
		cr_assert(tsr_shadow_write(w->shadow, number, &range, what, 0, &found) == TSR_OK);
	else
		cr_assert(tsr_shadow_read(w->shadow, number, &range, what, 0, &found) == TSR_OK);
	cr_expect(found.races == 0);
	return found.unmet;
}

static tsr_shadow_unmet_t atomic_by(world_t *w, uint32_t number, tsr_views_kind_t kind,
				    size_t offset)
{
	const tsr_views_access_t access = {
		.kind = kind, .order = TSR_VIEWS_RELAXED, .scope = TSR_VIEWS_SYSTEM, .value = 1};
	const tsr_shadow_word_t word = {w->region, offset, 8};
	tsr_views_event_t event;
	cr_assert(tsr_shadow_act(w->shadow, number, &access, &word, 0, &event) == TSR_OK);
	return *tsr_shadow_unmet(w->shadow);
}

static void meet(world_t *w)
{
	cr_assert(tsr_shadow_meet(w->shadow, 0) == TSR_OK);
}

Test(shadow_coops, a_call_that_follows_another_without_a_meeting_is_told)
{
	world_t w;
	begin(&w);
	const uint32_t get = call(&w);
	cr_expect(touch(&w, get, true, 0, 128).other == 0);
	cr_expect(touch(&w, get, false, 0, 128).other == 0, "within one call nothing races");
	const tsr_shadow_unmet_t unmet = touch(&w, call(&w), false, 8, 128);
	cr_expect(unmet.other == get && unmet.other_wrote && unmet.offset == 8 &&
		  unmet.bytes == 120);
	meet(&w);
	cr_expect(touch(&w, call(&w), false, 0, 128).other == 0);
	const uint32_t read = call(&w);
	cr_expect(touch(&w, read, false, 16, 16).other == 0, "two reads are none");
	const tsr_shadow_unmet_t reused = touch(&w, call(&w), true, 24, 64);
	cr_expect(reused.other != 0 && !reused.other_wrote && reused.offset == 24);
	finish(&w);
}

Test(shadow_coops, one_call_of_a_place_in_the_source_is_not_the_next)
{
	world_t w;
	const tsr_shadow_call_t plain = {.apart = false};
	begin(&w);
	const uint32_t number = call(&w);
	cr_expect(touch(&w, number, true, 0, 8).other == 0);
	/* a loop: the same operation goes on */
	cr_assert(tsr_shadow_call(w.shadow, 0, &plain) == TSR_OK);
	cr_expect_eq(touch(&w, number, true, 0, 8).other, number);
	finish(&w);
}

Test(shadow_coops, atomics_are_one_threads_and_plain_accesses_all_threads)
{
	world_t w;
	begin(&w);
	const uint32_t store = call(&w);
	cr_expect(atomic_by(&w, store, TSR_VIEWS_STORE, 8).other == 0);
	cr_expect(atomic_by(&w, call(&w), TSR_VIEWS_LOAD, 8).other == 0);
	const tsr_shadow_unmet_t put = touch(&w, call(&w), false, 0, 32);
	cr_expect(put.other == store && put.other_wrote && put.offset == 8 && put.bytes == 8);
	meet(&w);
	const uint32_t get = call(&w);
	cr_expect(touch(&w, get, true, 0, 64).other == 0);
	const tsr_shadow_unmet_t load = atomic_by(&w, call(&w), TSR_VIEWS_LOAD, 40);
	cr_expect(load.other == get && load.other_wrote && load.offset == 40);
	finish(&w);
}

Test(shadow_coops, a_fragment_may_go_back_to_where_it_came_from)
{
	world_t w;
	begin(&w);
	touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), false, 0, 64);
	cr_expect(touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), true, 0, 64).other == 0);
	cr_expect(touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), false, 0, 64).other != 0,
		  "but not be loaded again");
	meet(&w);
	touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), false, 0, 64);
	cr_expect(touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 7}), true, 0, 64).other != 0,
		  "another place");
	finish(&w);
}

Test(shadow_coops, a_tile_that_others_have_added_to_may_be_stored_where_it_was_loaded)
{
	world_t w;
	begin(&w);
	/* the atomic makes a word of these bytes */
	cr_expect(atomic_by(&w, call(&w), TSR_VIEWS_STORE, 8).other == 0);
	meet(&w);
	touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), false, 0, 64);
	cr_expect(touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), true, 0, 64).other == 0);
	meet(&w);
	atomic_by(&w, call(&w), TSR_VIEWS_STORE, 8);
	meet(&w);
	touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 5}), false, 8, 8);
	touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 7}), false, 8, 8);
	cr_expect(touch(&w, call_as(&w, (tsr_shadow_call_t){.tile = 7}), true, 8, 8).other != 0,
		  "another place");
	finish(&w);
}

/** A state that is saved at a place, or loaded. */
static const tsr_shadow_call_t state_at_5 = {.saved = true, .tile = 5},
			       state_at_7 = {.saved = true, .tile = 7};

Test(shadow_coops, a_state_is_saved_and_loaded_in_any_order)
{
	static const bool writes[] = {true, false, true, true, false, false, true};
	world_t w;
	begin(&w);
	for (size_t i = 0; i < sizeof writes; i++)
		cr_expect(touch(&w, call_as(&w, state_at_5), writes[i], 0, 64).other == 0,
			  "call %zu", i);
	cr_expect(touch(&w, call_as(&w, state_at_7), false, 0, 64).other != 0, "another place");
	finish(&w);
}

Test(shadow_coops, another_call_meets_a_saved_state)
{
	static const tsr_shadow_call_t others[] = {{.tile = 0}, {.tile = 7}};
	world_t w;
	begin(&w);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		touch(&w, call_as(&w, state_at_5), true, 0, 64);
		cr_expect(touch(&w, call_as(&w, others[i]), false, 0, 64).other != 0, "read");
		meet(&w);
		touch(&w, call_as(&w, state_at_5), true, 0, 64);
		cr_expect(touch(&w, call_as(&w, others[i]), true, 0, 64).other != 0, "written");
		meet(&w);
		touch(&w, call_as(&w, others[i]), true, 0, 64);
		cr_expect(touch(&w, call_as(&w, state_at_5), false, 0, 64).other != 0, "loaded");
		meet(&w);
		touch(&w, call_as(&w, others[i]), false, 0, 64);
		cr_expect(touch(&w, call_as(&w, state_at_5), true, 0, 64).other != 0, "saved");
		meet(&w);
	}
	finish(&w);
}

Test(shadow_coops, a_state_where_a_word_is_may_be_saved_and_loaded)
{
	world_t w;
	begin(&w);
	atomic_by(&w, call(&w), TSR_VIEWS_STORE, 8);
	meet(&w);
	/* a part of the word, so that it stays one */
	touch(&w, call_as(&w, state_at_5), true, 8, 4);
	cr_expect(touch(&w, call_as(&w, state_at_5), false, 8, 4).other == 0);
	cr_expect(touch(&w, call_as(&w, state_at_5), true, 8, 4).other == 0);
	cr_expect(touch(&w, call_as(&w, state_at_7), false, 8, 4).other != 0, "another place");
	finish(&w);
}

Test(shadow_coops, operands_have_been_read_when_the_coop_goes_on)
{
	world_t w;
	begin(&w);
	touch(&w, call_as(&w, (tsr_shadow_call_t){.apart = true}), false, 0, 64);
	const uint32_t stored = call(&w);
	cr_expect(touch(&w, stored, true, 0, 64).other == 0);
	cr_expect_eq(touch(&w, call_as(&w, (tsr_shadow_call_t){.apart = true}), false, 0, 64).other,
		     stored);
	finish(&w);
}

/* ------------------------------------------------------------------ by chance */

typedef struct done {
	size_t offset, bytes;
	bool wrote, atomic;
} done_t;

static bool conflicts(const done_t *all, int count, const done_t *now)
{
	for (int i = 0; i < count; i++)
		if ((all[i].wrote || now->wrote) && !(all[i].atomic && now->atomic) &&
		    all[i].offset < now->offset + now->bytes &&
		    now->offset < all[i].offset + all[i].bytes)
			return true;
	return false;
}

static done_t draw(unsigned *seed)
{
	done_t now = {.wrote = rand_r(seed) % 2 == 0, .atomic = rand_r(seed) % 3 == 0};
	now.offset = now.atomic ? (size_t)(rand_r(seed) % 16) * 8 : (size_t)(rand_r(seed) % 128);
	now.bytes = now.atomic ? 8 : 1 + (size_t)(rand_r(seed) % (rand_r(seed) % 4 ? 12 : 100));
	return now;
}

Test(shadow_coops, by_chance_it_says_what_a_list_of_all_calls_says)
{
	enum { STEPS = 400, RUNS = 300 };
	for (unsigned run = 0; run < RUNS; run++) {
		unsigned seed = run + 1;
		done_t all[STEPS];
		int count = 0;
		bool told = false;
		world_t w;
		begin(&w);
		for (int step = 0; step < STEPS; step++) {
			/* what comes behind a race may name another one */
			if (rand_r(&seed) % 12 == 0 || told) {
				meet(&w);
				count = 0;
			}
			const done_t now = draw(&seed);
			const uint32_t number = call(&w);
			told = (now.atomic ? atomic_by(&w, number,
						       now.wrote ? TSR_VIEWS_STORE : TSR_VIEWS_LOAD,
						       now.offset)
					   : touch(&w, number, now.wrote, now.offset, now.bytes))
				       .other != 0;
			cr_assert_eq(told, conflicts(all, count, &now),
				     "run %u, step %d: bytes %zu from %zu on, %s%s", run, step,
				     now.bytes, now.offset, now.atomic ? "atomic " : "",
				     now.wrote ? "write" : "read");
			all[count++] = now;
		}
		finish(&w);
	}
}

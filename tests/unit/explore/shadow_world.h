/*
 * A shadow of one region, and threads that read and write it: what the tests of
 * the shadow share.
 */
#ifndef TESTS_UNIT_SHADOW_WORLD_H
#define TESTS_UNIT_SHADOW_WORLD_H

#include <criterion/criterion.h>
#include <string.h>

#include "src/explore/shadow/shadow.h"

enum { THREADS = 4, BYTES = 1024 };

typedef struct world {
	tsr_views_t *views;
	tsr_shadow_t *shadow;
	int region;
	_Alignas(8) unsigned char memory[BYTES];
} world_t;

static inline void begin(world_t *w)
{
	static const tsr_views_place_t places[THREADS] = {
		{{0, 0, 0, 0, 0}}, {{0, 1, 0, 0, 0}}, {{0, 2, 1, 0, 0}}, {{0, 3, 2, 1, 0}}};

	memset(w, 0, sizeof *w);
	cr_assert(tsr_views_create(places, THREADS, 0, 0, &w->views) == TSR_OK);
	cr_assert(tsr_shadow_create(w->views, true, &w->shadow) == TSR_OK);
	cr_assert(tsr_shadow_add_region(w->shadow, w->memory, BYTES, &w->region) == TSR_OK);
}

static inline void finish(world_t *w)
{
	tsr_shadow_destroy(w->shadow);
	tsr_views_destroy(w->views);
}

static inline uint32_t operation(world_t *w, int thread)
{
	uint32_t number = 0;

	cr_assert(tsr_shadow_operation(w->shadow, thread, &number) == TSR_OK);
	return number;
}

static inline tsr_shadow_found_t write_by(world_t *w, uint32_t operation_number, size_t offset,
					  size_t bytes)
{
	unsigned char what[BYTES];
	tsr_shadow_found_t found;
	const tsr_shadow_range_t range = {.region = w->region, .offset = offset, .bytes = bytes};

	memset(what, (int)operation_number, sizeof what);
	cr_assert(tsr_shadow_write(w->shadow, operation_number, &range, what, 0, &found) == TSR_OK);
	return found;
}

static inline tsr_shadow_found_t read_by(world_t *w, uint32_t operation_number, size_t offset,
					 size_t bytes)
{
	unsigned char what[BYTES];
	tsr_shadow_found_t found;
	const tsr_shadow_range_t range = {.region = w->region, .offset = offset, .bytes = bytes};

	cr_assert(tsr_shadow_read(w->shadow, operation_number, &range, what, 0, &found) == TSR_OK);
	cr_expect(memcmp(what, w->memory + offset, bytes) == 0);
	return found;
}

static inline void hand_over(world_t *w, int from, int to)
{
	cr_assert(tsr_views_hand_over(w->views, from, to) == TSR_OK);
}

static inline void meet(world_t *w)
{
	for (int t = 1; t < THREADS; t++)
		hand_over(w, t, 0);
	for (int t = 1; t < THREADS; t++)
		hand_over(w, 0, t);
}

static inline tsr_views_event_t act(world_t *w, uint32_t number, tsr_views_kind_t kind,
				    tsr_views_order_t order, size_t offset, size_t bytes,
				    uint64_t value)
{
	const tsr_views_access_t access = {
		.kind = kind, .order = order, .scope = TSR_VIEWS_SYSTEM, .value = value};
	const tsr_shadow_word_t word = {w->region, offset, bytes};
	tsr_views_event_t event;

	cr_assert(tsr_shadow_act(w->shadow, number, &access, &word, 0, &event) == TSR_OK);
	return event;
}

static inline uint64_t signal_to(world_t *w, int thread, size_t offset, uint64_t value)
{
	return act(w, operation(w, thread), TSR_VIEWS_STORE, TSR_VIEWS_RELEASE, offset, 8, value)
		.races;
}

static inline tsr_views_event_t await(world_t *w, int thread, size_t offset)
{
	return act(w, operation(w, thread), TSR_VIEWS_LOAD, TSR_VIEWS_ACQUIRE, offset, 8, 0);
}

#endif

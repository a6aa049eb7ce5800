/*
 * The cache machine, step by step: what is late, what is stale, and what each
 * edge does about it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cache_test.h"
#include "src/caches/caches.h"

static uint64_t ordered(machine_t *m, int thread, tsr_views_kind_t kind, tsr_views_order_t order,
			tsr_views_scope_t scope, size_t offset, uint64_t value)
{
	const tsr_views_access_t access = {
		.kind = kind, .order = order, .scope = scope, .value = value};
	const tsr_cache_place_t place = at(m, offset, 8);
	tsr_cache_event_t event;

	cr_assert(tsr_cache_act(m->cache, thread, &access, &place, &event) == TSR_OK, "%s",
		  tsr_last_error());
	return event.value;
}

static void release(machine_t *m, int thread, tsr_views_scope_t scope)
{
	ordered(m, thread, TSR_VIEWS_FENCE, TSR_VIEWS_RELEASE, scope, 0, 0);
}

static void acquire(machine_t *m, int thread, tsr_views_scope_t scope)
{
	ordered(m, thread, TSR_VIEWS_FENCE, TSR_VIEWS_ACQUIRE, scope, 0, 0);
}

static bool add_one(const void *context, uint64_t old, uint64_t *value_out)
{
	(void)context;
	*value_out = old + 1;
	return true;
}

static bool decline(const void *context, uint64_t old, uint64_t *value_out)
{
	(void)context;
	(void)old;
	(void)value_out;
	return false;
}

static tsr_cache_event_t update(machine_t *m, int thread, tsr_views_update_fn fn,
				tsr_views_order_t order, tsr_views_scope_t scope, size_t offset,
				size_t bytes)
{
	const tsr_views_access_t access = {.kind = TSR_VIEWS_UPDATE,
					   .order = order,
					   .failure = TSR_VIEWS_RELAXED,
					   .scope = scope,
					   .update = fn};
	const tsr_cache_place_t place = at(m, offset, bytes);
	tsr_cache_event_t event;

	cr_assert(tsr_cache_act(m->cache, thread, &access, &place, &event) == TSR_OK, "%s",
		  tsr_last_error());
	return event;
}

/* ------------------------------------------------------------------ late */

Test(cache, a_store_is_at_home_at_once_or_in_its_cache_or_kept_back)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	fill(&m, 0, 100, 300, 1);
	cr_expect(m.home[100] == 1 && m.home[399] == 1 && m.home[99] == 0 && m.home[400] == 0);
	cr_expect_eq(tsr_cache_late(m.cache), 0u);
	m.chooser.store = 1;
	fill(&m, 0, 100, 300, 2);
	/* lines: of 64 bytes, 28 to 36 of them in the first and the last */
	cr_expect_eq(tsr_cache_late(m.cache), 6u);
	cr_expect_eq(m.home[200], 1);
	cr_expect_eq(see(&m, 1, 100, 300), 2); /* same block */
	cr_expect_eq(see(&m, 2, 100, 300), 1);
	m.chooser.store = 2;
	fill(&m, 0, 200, 8, 3);
	cr_expect_eq(see(&m, 0, 200, 8), 3);
	cr_expect_eq(see(&m, 1, 200, 8), 2);
	cr_expect_eq(tsr_cache_late(m.cache), 7u);
	end(&m);
}

Test(cache, a_release_reaches_as_far_as_its_scope)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser.store = -1;
	fill(&m, 0, 0, 200, 1);
	release(&m, 0, TSR_VIEWS_BLOCK);
	cr_expect_eq(see(&m, 1, 0, 200), 1);
	cr_expect_eq(see(&m, 2, 0, 200), 0);
	release(&m, 1, TSR_VIEWS_DEVICE); /* also for what the other thread of the block has done */
	acquire(&m, 2, TSR_VIEWS_DEVICE);
	cr_expect_eq(see(&m, 2, 0, 200), 1);
	cr_expect_eq(see(&m, 3, 0, 200), 0);
	release(&m, 2, TSR_VIEWS_SYSTEM);
	acquire(&m, 3, TSR_VIEWS_SYSTEM);
	cr_expect_eq(see(&m, 3, 0, 200), 1);
	end(&m);
}

Test(cache, the_parts_of_a_tile_arrive_one_by_one)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser = (chooser_t){.store = -1, .arrival = 1, .which = 2};
	fill(&m, 0, 0, 256, 1);
	cr_expect_eq(tsr_cache_late(m.cache), 4u);
	cr_expect(tsr_cache_arrivals(m.cache) == TSR_OK); /* out of the thread's hands */
	cr_expect_eq(see(&m, 1, 128, 64), 1);
	cr_expect_eq(see(&m, 1, 0, 128), 0);
	m.chooser.which = -1;
	(void)tsr_cache_arrivals(m.cache); /* out of the L1 */
	(void)tsr_cache_arrivals(m.cache); /* out of the L2 */
	cr_expect(m.home[128] == 1 && m.home[191] == 1 && m.home[127] == 0 && m.home[192] == 0);
	cr_expect_eq(tsr_cache_late(m.cache), 3u);
	m.chooser.arrival = 0;
	(void)tsr_cache_arrivals(m.cache);
	cr_expect_eq(tsr_cache_late(m.cache), 3u);
	end(&m);
}

Test(cache, stores_to_the_same_bytes_stay_in_order)
{
	machine_t m;

	begin(&m, HERE);
	m.chooser = (chooser_t){.store = -1, .arrival = 1, .which = -1};
	fill(&m, 0, 0, 8, 1);
	fill(&m, 0, 4, 8, 2);
	fill(&m, 0, 8, 8, 3);
	fill(&m, 0, 32, 8, 4);
	cr_expect_eq(tsr_cache_late(m.cache), 4u);
	m.chooser.which = 2;
	/* the third overlaps the second, which overlaps the first */
	(void)tsr_cache_arrivals(m.cache);
	cr_expect(see(&m, 1, 0, 4) == 1 && see(&m, 1, 4, 4) == 2 && see(&m, 1, 8, 8) == 3 &&
		  see(&m, 1, 32, 8) == 0);
	m.chooser.store = 0; /* one that does not wait takes along what it may not overtake */
	fill(&m, 0, 36, 8, 5);
	cr_expect(see(&m, 1, 32, 4) == 4 && see(&m, 1, 36, 8) == 5);
	end(&m);
}

Test(cache, a_thread_keeps_back_no_more_than_it_may)
{
	machine_t m = {.chooser = {.store = -1}};

	begin_with(&m, HERE, (tsr_cache_config_t){.buffered_stores = 3});
	fill(&m, 0, 0, 64 * 8, 1);
	cr_expect_eq(see(&m, 1, 0, 64 * 5), 1);
	cr_expect_eq(see(&m, 1, 64 * 5, 64 * 3), 0);
	end(&m);
	m = (machine_t){.chooser = {.store = -1}};
	begin_with(&m, HERE, (tsr_cache_config_t){.buffered_stores = 0});
	fill(&m, 0, 0, 64, 1);
	cr_expect_eq(see(&m, 1, 0, 64), 1);
	end(&m);
}

/* ------------------------------------------------------------------ stale */

Test(cache, an_old_copy_is_read_until_it_is_dropped)
{
	static const tsr_views_scope_t scopes[] = {TSR_VIEWS_BLOCK, TSR_VIEWS_DEVICE,
						   TSR_VIEWS_SYSTEM};
	machine_t m;

	for (int i = 0; i < 3; i++) {
		begin(&m, TSR_CACHE_NOWHERE);
		m.chooser.load = -1;
		cr_expect_eq(see(&m, 3, 0, 256), 0);
		fill(&m, 0, 64, 128, 1);
		cr_expect_eq(see(&m, 3, 64, 128), 0);
		acquire(&m, 3, scopes[i]);
		/* after one at device scope it still is in the L2 */
		cr_expect_eq(see(&m, 3, 64, 128), i == 2);
		end(&m);
	}
}

Test(cache, each_line_is_old_or_new_by_itself)
{
	machine_t m;

	begin(&m, HERE);
	cr_expect_eq(see(&m, 2, 0, 64), 0);
	fill(&m, 0, 0, 192, 1);
	m.chooser.load = -1;
	cr_expect_eq(see(&m, 2, 0, 64), 0);
	cr_expect_eq(see(&m, 2, 64, 128), 1);
	cr_expect_eq(m.chooser.asked[TSR_CACHE_LOAD], 1);
	m.chooser.load = 0;
	cr_expect_eq(see(&m, 2, 0, 192), 1);
	end(&m);
}

Test(cache, what_was_seen_as_new_is_not_seen_as_old_again)
{
	machine_t m;

	for (int system = 0; system < 2; system++) {
		begin(&m, TSR_CACHE_NOWHERE);
		cr_expect_eq(see(&m, 3, 0, 8), 0);
		fill(&m, 0, 0, 8, 1);
		cr_expect_eq(system ? (int)(ordered(&m, 3, TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED,
						    TSR_VIEWS_SYSTEM, 0, 0) &
					    255)
				    : see(&m, 3, 0, 8),
			     1);
		m.chooser.load = -1;
		cr_expect_eq(see(&m, 3, 0, 8), 1);
		end(&m);
	}
}

Test(cache, a_region_ends_within_a_line)
{
	machine_t m;
	/* of its own: what is read beyond it is found by the checkers of memory */
	uint8_t *memory = malloc(70), bytes[70];
	int region;

	begin(&m, HERE);
	cr_assert(memory != NULL);
	memset(memory, 4, 70);
	cr_assert(tsr_cache_add_region(m.cache, TSR_CACHE_NOWHERE, memory, 70, &region) == TSR_OK);
	m.chooser.store = 1;
	const tsr_cache_place_t tail = {region, 66, 4}, all = {region, 0, 70};
	cr_assert(tsr_cache_write(m.cache, 0, &tail, "abcd") == TSR_OK);
	cr_assert(tsr_cache_read(m.cache, 0, &all, bytes) == TSR_OK);
	cr_expect(bytes[0] == 4 && bytes[65] == 4 && memcmp(bytes + 66, "abcd", 4) == 0);
	cr_assert(tsr_cache_settle(m.cache) == TSR_OK);
	cr_expect(memory[65] == 4 && memory[69] == 'd');
	end(&m);
	free(memory);
}

Test(cache, who_reads_a_neighbour_has_cached_the_whole_line)
{
	machine_t m;

	begin(&m, HERE);
	m.chooser.load = -1;
	cr_expect_eq(see(&m, 2, 0, 8), 0);
	fill(&m, 0, 0, 64, 1);
	cr_expect_eq(see(&m, 2, 40, 8), 0);
	end(&m);
}

Test(cache, what_is_written_nearby_does_not_go_with_an_acquire)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser = (chooser_t){.store = 1, .load = -1};
	cr_expect_eq(see(&m, 3, 0, 64), 0);
	fill(&m, 3, 0, 8, 2);
	m.chooser.store = 0;
	fill(&m, 0, 8, 8, 1);
	acquire(&m, 3, TSR_VIEWS_SYSTEM);
	cr_expect_eq(see(&m, 3, 0, 8), 2);
	cr_expect_eq(see(&m, 3, 8, 8), 1);
	release(&m, 3, TSR_VIEWS_SYSTEM);
	/* and no old neighbour is written over new ones */
	cr_expect(m.home[0] == 2 && m.home[8] == 1);
	end(&m);
}

Test(cache, a_device_is_coherent_with_its_own_memory)
{
	machine_t m;

	begin(&m, HERE);
	m.chooser = (chooser_t){.store = -1, .load = -1};
	ordered(&m, 0, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE, 0, 7);
	release(&m, 0, TSR_VIEWS_DEVICE);
	cr_expect_eq(m.home[0], 7);
	cr_expect_eq(ordered(&m, 3, TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE, 0, 0), 7u);
	ordered(&m, 0, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE, 0, 8);
	release(&m, 0, TSR_VIEWS_DEVICE);
	/* a copy of another's */
	cr_expect_eq(ordered(&m, 3, TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE, 0, 0), 7u);
	cr_expect_eq(ordered(&m, 3, TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 0, 0), 8u);
	end(&m);
}

/* ------------------------------------------------------------------ ordered accesses */

Test(cache, an_access_acts_as_far_out_as_its_scope)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser.store = 1; /* in the cache of its level */
	ordered(&m, 0, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK, 0, 1);
	ordered(&m, 0, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE, 64, 1);
	m.chooser.store = 0;
	ordered(&m, 0, TSR_VIEWS_STORE, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 128, 1);
	for (int t = 3; t > 0; t--) /* to see it is to bring it home */
		for (int x = 0; x < 3; x++)
			cr_expect_eq(ordered(&m, t, TSR_VIEWS_LOAD, TSR_VIEWS_RELAXED,
					     TSR_VIEWS_SYSTEM, (size_t)x * 64, 0),
				     (uint64_t)(x >= t - 1), "thread %d, %d", t, x);
	end(&m);
}

Test(cache, an_update_sees_and_changes_the_newest_of_its_level)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser = (chooser_t){.store = -1, .load = -1};
	for (int i = 0; i < 40; i++)
		cr_expect_eq(update(&m, i % 4, add_one, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 8, 8)
				     .value,
			     (uint64_t)i);
	for (int i = 0; i < 30; i++)
		cr_expect_eq(update(&m, i % 3, add_one, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE, 128, 4)
				     .value,
			     (uint64_t)i);
	cr_expect_eq(m.home[128], 0);
	fill(&m, 0, 256, 8, 1); /* one's own is seen even if it is late */
	cr_expect_eq(update(&m, 0, add_one, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 256, 8).value,
		     UINT64_C(0x0101010101010101));
	end(&m);
}

Test(cache, an_update_that_writes_nothing_releases_nothing)
{
	machine_t m;

	begin(&m, HERE);
	m.chooser.store = -1;
	fill(&m, 0, 0, 8, 1);
	cr_expect(!update(&m, 0, decline, TSR_VIEWS_ACQ_REL, TSR_VIEWS_SYSTEM, 64, 8).wrote);
	cr_expect_eq(m.home[0], 0);
	cr_expect(update(&m, 0, add_one, TSR_VIEWS_ACQ_REL, TSR_VIEWS_SYSTEM, 64, 8).wrote);
	cr_expect_eq(m.home[0], 1);
	end(&m);
}

Test(cache, only_a_seq_cst_load_waits_for_earlier_stores)
{
	machine_t m;

	begin(&m, HERE);
	m.chooser.store = -1;
	ordered(&m, 0, TSR_VIEWS_STORE, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM, 0, 1);
	ordered(&m, 0, TSR_VIEWS_LOAD, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM, 64, 0);
	cr_expect_eq(m.home[0], 0);
	ordered(&m, 0, TSR_VIEWS_LOAD, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM, 64, 0);
	cr_expect_eq(m.home[0], 1);
	end(&m);
}

/* ------------------------------------------------------------------ edges that no access makes */

Test(cache, a_meeting_shows_the_block_what_its_workers_did)
{
	machine_t m;

	begin(&m, HERE);
	m.chooser.store = -1;
	fill(&m, 0, 0, 100, 1);
	cr_expect_eq(see(&m, 1, 0, 100), 0);
	cr_expect(tsr_cache_meet(m.cache, 0) == TSR_OK);
	cr_expect_eq(see(&m, 1, 0, 100), 1);
	cr_expect_eq(see(&m, 2, 0, 100), 0);
	end(&m);
}

Test(cache, the_memory_of_a_block_is_in_no_cache)
{
	machine_t m;
	uint8_t memory[100] = {0};
	int shared;

	begin(&m, HERE);
	cr_assert(tsr_cache_add_region(m.cache, TSR_CACHE_SHARED, memory, sizeof memory, &shared) ==
		  TSR_OK);
	const tsr_cache_place_t place = {shared, 1, 98};
	uint8_t bytes[98], seen[98];
	memset(bytes, 5, sizeof bytes);
	m.chooser = (chooser_t){.store = -1, .load = -1};
	(void)tsr_cache_read(m.cache, 1, &place, seen);
	(void)tsr_cache_write(m.cache, 0, &place, bytes);
	(void)tsr_cache_read(m.cache, 1, &place, seen);
	cr_expect_eq(seen[97], 0);
	(void)tsr_cache_meet(m.cache, 0);
	(void)tsr_cache_read(m.cache, 1, &place, seen);
	cr_expect(memcmp(seen, bytes, sizeof bytes) == 0);
	cr_expect(memory[0] == 0 && memory[1] == 5 && memory[98] == 5 && memory[99] == 0);
	cr_expect_eq(m.chooser.asked[TSR_CACHE_LOAD], 0);
	end(&m);
}

Test(cache, threads_that_met_have_stored_in_the_memory_of_their_block)
{
	machine_t m;
	uint8_t memory[200] = {0}, bytes[200];
	int shared;

	begin(&m, HERE);
	cr_assert(tsr_cache_add_region(m.cache, TSR_CACHE_SHARED, memory, sizeof memory, &shared) ==
		  TSR_OK);
	const tsr_cache_place_t all = {shared, 0, 200}, part = {shared, 50, 100};
	m.chooser.store = -1;
	memset(bytes, 5, sizeof bytes);
	(void)tsr_cache_write(m.cache, 0, &all, bytes);
	fill(&m, 0, 0, 100, 6);
	memset(bytes, 7, sizeof bytes);
	(void)tsr_cache_write(m.cache, 0, &part, bytes);
	cr_expect(memory[0] == 0 && memory[50] == 0);
	cr_expect(tsr_cache_met(m.cache, 0) == TSR_OK);
	cr_expect(memory[0] == 5 && memory[49] == 5 && memory[50] == 7 && memory[149] == 7 &&
		  memory[150] == 5 && memory[199] == 5);
	cr_expect_eq(m.home[0], 0);
	cr_expect_eq(see(&m, 0, 0, 100), 6);
	cr_expect(tsr_cache_met(m.cache, 99) != TSR_OK);
	end(&m);
}

Test(cache, a_host_writes_through_all_and_an_engine_does_not)
{
	machine_t m;
	int host, engine;

	begin(&m, TSR_CACHE_NOWHERE);
	cr_assert(tsr_cache_add_thread(m.cache, TSR_CACHE_HOST, &host) == TSR_OK);
	cr_assert(tsr_cache_add_thread(m.cache, TSR_CACHE_ENGINE, &engine) == TSR_OK);
	m.chooser = (chooser_t){.store = -1, .load = -1};
	cr_expect_eq(see(&m, 3, 0, 64), 0);
	fill(&m, engine, 0, 64, 1);
	cr_expect_eq(see(&m, 3, 0, 64), 0);
	fill(&m, host, 0, 32, 2);
	cr_expect_eq(see(&m, 3, 0, 32), 2);
	cr_expect_eq(see(&m, host, 32, 32), 1);
	cr_expect(tsr_cache_hand_over(m.cache, engine, 3) == TSR_OK);
	cr_expect_eq(see(&m, 3, 32, 32), 1);
	cr_expect_eq(m.chooser.asked[TSR_CACHE_STORE], 0);
	end(&m);
}

Test(cache, an_edge_of_the_hosts_hands_over_everything)
{
	machine_t m;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser = (chooser_t){.store = -1, .load = -1};
	cr_expect_eq(see(&m, 3, 0, 64), 0);
	fill(&m, 0, 0, 64, 1);
	cr_expect(tsr_cache_hand_over(m.cache, 0, 3) == TSR_OK);
	cr_expect_eq(see(&m, 3, 0, 64), 1);
	end(&m);
}

Test(cache, the_end_of_a_launch_writes_back_and_the_next_one_reads_anew)
{
	machine_t m;
	int block, thread;

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser = (chooser_t){.store = -1, .load = -1};
	cr_expect_eq(see(&m, 3, 0, 256), 0);
	fill(&m, 0, 0, 256, 1);
	cr_expect(tsr_cache_end_thread(m.cache, 0) == TSR_OK);
	/* it has another thread */
	cr_expect_eq(tsr_cache_end_block(m.cache, m.block[0]), TSR_ERR_ARGUMENT);
	cr_expect(tsr_cache_end_thread(m.cache, 1) == TSR_OK);
	cr_expect(tsr_cache_end_block(m.cache, m.block[0]) == TSR_OK);
	cr_expect_eq(m.home[0], 0);
	cr_expect(tsr_cache_end_launch(m.cache, HERE) == TSR_OK);
	cr_expect(m.home[0] == 1 && m.home[255] == 1);
	cr_assert(tsr_cache_add_block(m.cache, THERE, &block) == TSR_OK && block == m.block[0]);
	cr_assert(tsr_cache_add_thread(m.cache, block, &thread) == TSR_OK && thread == m.thread[0]);
	cr_expect_eq(see(&m, thread, 0, 256), 0); /* of the L2 */
	cr_expect(tsr_cache_begin_launch(m.cache, THERE) == TSR_OK);
	cr_expect_eq(see(&m, m.thread[3], 0, 256), 0); /* blocks that run go on */
	cr_expect(tsr_cache_end_thread(m.cache, thread) == TSR_OK &&
		  tsr_cache_end_block(m.cache, block) == TSR_OK);
	cr_assert(tsr_cache_add_block(m.cache, THERE, &block) == TSR_OK);
	cr_assert(tsr_cache_add_thread(m.cache, block, &thread) == TSR_OK);
	cr_expect_eq(see(&m, thread, 0, 256), 1);
	end(&m);
}

/* ------------------------------------------------------------------ questions */

Test(cache, one_can_ask_without_being_seen)
{
	machine_t m;
	uint64_t value = 0, digest[2][2] = {{0}};

	begin(&m, TSR_CACHE_NOWHERE);
	const tsr_cache_place_t place = at(&m, 60, 8); /* of two lines */
	m.chooser.store = -1;
	fill(&m, 0, 56, 16, 3);
	cr_expect_eq(see(&m, 1, 56, 16), 0);
	tsr_cache_digest(m.cache, digest[0]);
	cr_expect(tsr_cache_peek(m.cache, 0, &place, &value) == TSR_OK &&
		  value == UINT64_C(0x0303030303030303));
	cr_expect(tsr_cache_peek(m.cache, 1, &place, &value) == TSR_OK && value == 0);
	cr_expect(tsr_cache_newest(m.cache, &place, &value) == TSR_OK &&
		  value == UINT64_C(0x0303030303030303));
	tsr_cache_digest(m.cache, digest[1]);
	cr_expect(memcmp(digest[0], digest[1], sizeof digest[0]) == 0);
	cr_expect(tsr_cache_settle(m.cache) == TSR_OK);
	cr_expect_eq(tsr_cache_late(m.cache), 0u);
	cr_expect_eq(see(&m, 3, 56, 16), 3);
	m.chooser.store = 0;
	fill(&m, 0, 56, 16, 4); /* what the other has cached is old, and a load need not take it */
	cr_expect(tsr_cache_peek(m.cache, 3, &place, &value) == TSR_OK &&
		  value == UINT64_C(0x0404040404040404));
	m.chooser.store = 1;
	fill(&m, 3, 56, 16, 3);
	cr_expect(tsr_cache_peek(m.cache, 3, &place, &value) == TSR_OK &&
		  value == UINT64_C(0x0303030303030303));
	end(&m);
}

Test(cache, what_is_wrong_is_said_and_not_done)
{
	machine_t m;
	uint8_t bytes[8] = {1};
	tsr_cache_event_t event;
	const tsr_views_access_t store = {.kind = TSR_VIEWS_STORE,
					  .order = TSR_VIEWS_RELAXED,
					  .scope = TSR_VIEWS_SYSTEM,
					  .value = 1};
	int number = -1;

	begin(&m, HERE);
	const tsr_cache_place_t over = at(&m, BYTES - 4, 8), odd = at(&m, 4, 8),
				huge = at(&m, 8, SIZE_MAX), few = at(&m, 0, 3);
	cr_expect_eq(tsr_cache_write(m.cache, 0, &over, bytes), TSR_ERR_ARGUMENT);
	cr_assert_str_eq(tsr_last_error(), "8 bytes at offset 996 of region 0, which has 1000");
	cr_expect_eq(tsr_cache_read(m.cache, 0, &huge, bytes), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_act(m.cache, 0, &store, &odd, &event), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_act(m.cache, 0, &store, &few, &event), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_write(m.cache, 4, &few, bytes), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_copy_bytes(m.cache, 0, &few, &odd), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_add_block(m.cache, DEVICES, &number), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_add_thread(m.cache, 9, &number), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_cache_add_region(m.cache, DEVICES, bytes, 8, &number), TSR_ERR_ARGUMENT);
	cr_expect_eq(number, -1);
	cr_expect(tsr_cache_end_region(m.cache, m.region) == TSR_OK);
	cr_expect_eq(tsr_cache_write(m.cache, 0, &few, bytes), TSR_ERR_ARGUMENT);
	cr_expect_eq(m.home[0], 0);
	end(&m);
}

Test(cache, what_ends_leaves_nothing_behind)
{
	machine_t m;
	uint8_t other[640];
	int region;

	begin(&m, TSR_CACHE_NOWHERE);
	memset(other, 9, sizeof other);
	m.chooser = (chooser_t){.store = 1, .load = -1};
	fill(&m, 0, 0, BYTES, 1);
	m.chooser.store = -1;
	fill(&m, 0, 0, 128, 2);
	release(&m, 2, TSR_VIEWS_DEVICE);
	cr_expect(tsr_cache_end_region(m.cache, m.region) == TSR_OK);
	cr_expect_eq(tsr_cache_late(m.cache), 0u);
	cr_assert(tsr_cache_add_region(m.cache, HERE, other, sizeof other, &region) == TSR_OK &&
		  region == m.region);
	cr_expect_eq(see(&m, 0, 0, sizeof other), 9);
	end(&m);
}

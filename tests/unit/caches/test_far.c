/*
 * The cache machine on two nodes: what a device sends to memory of the other
 * lands there later, in order, and what waits for it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cache_test.h"
#include "src/caches/caches.h"

static const int each_its_own[DEVICES] = {0, 1};

/* Threads 0 to 2 are far from the memory, which is THERE; thread 3 is near. */
enum { FAR_THREAD = 0, ITS_NEIGHBOUR = 2, NEAR_THREAD = 3 };

/** What can be late is late, unless a test says otherwise. */
static void begin_far(machine_t *m, tsr_cache_config_t config)
{
	*m = (machine_t){.chooser = {.store = -1}};
	config.node = each_its_own;
	begin_with(m, THERE, config);
}

static tsr_cache_event_t act_on(machine_t *m, int thread, const tsr_views_access_t *access,
				size_t offset)
{
	const tsr_cache_place_t place = at(m, offset, 8);
	tsr_cache_event_t event;

	cr_assert(tsr_cache_act(m->cache, thread, access, &place, &event) == TSR_OK, "%s",
		  tsr_last_error());
	return event;
}

static void store_at(machine_t *m, int thread, tsr_views_order_t order, tsr_views_scope_t scope,
		     size_t offset, uint64_t value)
{
	act_on(m, thread,
	       &(tsr_views_access_t){
		       .kind = TSR_VIEWS_STORE, .order = order, .scope = scope, .value = value},
	       offset);
}

static bool add_one(const void *context, uint64_t old, uint64_t *value_out)
{
	(void)context;
	*value_out = old + 1;
	return true;
}

static uint64_t raise_at(machine_t *m, int thread, tsr_views_order_t order, bool unread,
			 size_t offset)
{
	return act_on(m, thread,
		      &(tsr_views_access_t){.kind = TSR_VIEWS_UPDATE,
					    .order = order,
					    .failure = TSR_VIEWS_RELAXED,
					    .scope = TSR_VIEWS_SYSTEM,
					    .value = 1,
					    .update = add_one,
					    .adds = unread},
		      offset)
		.value;
}

static void fence(machine_t *m, int thread, tsr_views_order_t order, tsr_views_scope_t scope)
{
	act_on(m, thread,
	       &(tsr_views_access_t){.kind = TSR_VIEWS_FENCE, .order = order, .scope = scope}, 0);
}

/** The word at home, where all have it once it has landed. */
static uint64_t landed(const machine_t *m, size_t offset)
{
	uint64_t value;

	memcpy(&value, m->home + offset, sizeof value);
	return value;
}

static uint64_t newest(const machine_t *m, size_t offset)
{
	const tsr_cache_place_t place = at(m, offset, 8);
	uint64_t value = 0;

	cr_assert(tsr_cache_newest(m->cache, &place, &value) == TSR_OK);
	return value;
}

static uint64_t peek(const machine_t *m, int thread, size_t offset)
{
	const tsr_cache_place_t place = at(m, offset, 8);
	uint64_t value = 0;

	cr_assert(tsr_cache_peek(m->cache, thread, &place, &value) == TSR_OK);
	return value;
}

static void store_relaxed(machine_t *m, int thread, size_t offset, uint64_t value)
{
	store_at(m, thread, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, offset, value);
}

/* ------------------------------------------------------------------ landing */

Test(far, what_is_sent_lands_in_order_one_by_one)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	m.chooser.arrival = 1;
	for (uint64_t i = 1; i <= 5; i++)
		store_relaxed(&m, i % 2 ? FAR_THREAD : ITS_NEIGHBOUR, i % 2 ? 0 : 512, i);
	for (uint64_t i = 0; i <= 5; i++) {
		cr_expect_eq(landed(&m, 0), i == 0 ? 0 : i - 1 + i % 2, "%d", (int)i);
		cr_expect_eq(landed(&m, 512), i - i % 2, "%d", (int)i);
		cr_expect_eq(tsr_cache_late(m.cache), i < 5);
		cr_assert(tsr_cache_arrivals(m.cache) == TSR_OK);
	}
	cr_expect_eq(m.chooser.asked[TSR_CACHE_WHICH], 0, "one queue has one thing that is next");
	end(&m);
}

Test(far, by_default_it_is_there_at_once_behind_what_is_under_way)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	store_relaxed(&m, FAR_THREAD, 0, 1);
	m.chooser.store = 0;
	store_relaxed(&m, ITS_NEIGHBOUR, 64, 2);
	cr_expect_eq(landed(&m, 0), 1);
	cr_expect_eq(landed(&m, 64), 2);
	cr_expect_eq(tsr_cache_late(m.cache), 0);
	end(&m);
}

Test(far, nobody_but_the_rank_knows_of_what_is_under_way)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	fill(&m, FAR_THREAD, 10, 200, 7);
	cr_expect_eq(see(&m, NEAR_THREAD, 10, 200), 0);
	cr_expect_eq(peek(&m, NEAR_THREAD, 16), 0);
	cr_expect_eq(peek(&m, ITS_NEIGHBOUR, 16), UINT64_C(0x0707070707070707));
	cr_expect_eq(newest(&m, 206), UINT64_C(0x07070707));
	cr_expect_eq(newest(&m, 60), UINT64_C(0x0707070707070707), "in two lines");
	cr_expect_eq(m.home[10], 0, "looking lands nothing");
	cr_expect_eq(see(&m, ITS_NEIGHBOUR, 10, 200), 7);
	cr_expect_eq(m.home[209], 7, "an answer comes behind it");
	cr_expect_eq(tsr_cache_late(m.cache), 0);
	end(&m);
}

Test(far, the_near_side_has_copies_until_it_acquires)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	cr_expect_eq(see(&m, NEAR_THREAD, 0, 8), 0);
	m.chooser = (chooser_t){.store = 0, .load = -1};
	fill(&m, FAR_THREAD, 0, 8, 1);
	cr_expect_eq(see(&m, NEAR_THREAD, 0, 8), 0, "its cache has not noticed");
	fence(&m, NEAR_THREAD, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
	cr_expect_eq(see(&m, NEAR_THREAD, 0, 8), 1);
	/* and what it writes back is seen from afar, with no copy kept there */
	m.chooser.store = -1;
	fill(&m, NEAR_THREAD, 0, 8, 2);
	cr_expect_eq(see(&m, FAR_THREAD, 0, 8), 1);
	fence(&m, NEAR_THREAD, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	cr_expect_eq(see(&m, FAR_THREAD, 0, 8), 2);
	end(&m);
}

/* ------------------------------------------------------------------ who waits */

Test(far, releases_at_system_scope_wait_and_narrower_ones_do_not)
{
	static const struct {
		tsr_views_order_t order;
		tsr_views_scope_t scope;
		bool waits;
	} fences[] = {
		{TSR_VIEWS_RELEASE, TSR_VIEWS_BLOCK, false},
		{TSR_VIEWS_RELEASE, TSR_VIEWS_DEVICE, false},
		{TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE, false},
		{TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM, false},
		{TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM, true},
		{TSR_VIEWS_ACQ_REL, TSR_VIEWS_SYSTEM, true},
		{TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM, true},
	};

	for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
		machine_t m;
		begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
		store_relaxed(&m, ITS_NEIGHBOUR, 0, 1);
		fence(&m, FAR_THREAD, fences[i].order, fences[i].scope);
		cr_expect_eq(landed(&m, 0), fences[i].waits, "fence %d", (int)i);
		end(&m);
	}
}

/** A region of the far device's own memory beside that of the machine. */
static tsr_cache_place_t add_near(machine_t *m, uint64_t *memory)
{
	int region = -1;

	cr_assert(tsr_cache_add_region(m->cache, HERE, memory, sizeof *memory, &region) == TSR_OK);
	return (tsr_cache_place_t){region, 0, sizeof *memory};
}

Test(far, a_signal_travels_behind_its_own_queue_and_waits_for_the_others)
{
	machine_t m;
	uint64_t near = 0;
	tsr_cache_event_t event;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	const tsr_cache_place_t here = add_near(&m, &near);
	const tsr_views_access_t signal = {.kind = TSR_VIEWS_STORE,
					   .order = TSR_VIEWS_RELEASE,
					   .scope = TSR_VIEWS_SYSTEM,
					   .value = 1};
	store_relaxed(&m, FAR_THREAD, 0, 5);
	act_on(&m, FAR_THREAD, &signal, 64);
	cr_expect_eq(landed(&m, 0), 0);
	cr_expect_eq(landed(&m, 64), 0);
	m.chooser.arrival = 1;
	cr_assert(tsr_cache_arrivals(m.cache) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 5);
	cr_expect_eq(landed(&m, 64), 0, "it is the next");
	/* whoever signals its own rank waits for it too */
	cr_assert(tsr_cache_act(m.cache, ITS_NEIGHBOUR, &signal, &here, &event) == TSR_OK);
	cr_expect_eq(landed(&m, 64), 1);
	end(&m);
}

Test(far, a_seq_cst_load_waits_for_all_and_others_for_nothing)
{
	for (int sc = 0; sc < 2; sc++) {
		machine_t m;
		uint64_t near = 0;
		tsr_cache_event_t event;
		begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
		const tsr_cache_place_t here = add_near(&m, &near);
		const tsr_views_access_t load = {.kind = TSR_VIEWS_LOAD,
						 .order =
							 sc ? TSR_VIEWS_SEQ_CST : TSR_VIEWS_ACQUIRE,
						 .scope = TSR_VIEWS_SYSTEM};
		store_relaxed(&m, FAR_THREAD, 0, 1);
		cr_assert(tsr_cache_act(m.cache, FAR_THREAD, &load, &here, &event) == TSR_OK);
		cr_expect_eq(landed(&m, 0), (uint64_t)sc);
		end(&m);
	}
}

Test(far, launches_and_hosts_wait)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	store_relaxed(&m, FAR_THREAD, 0, 1);
	cr_assert(tsr_cache_end_launch(m.cache, THERE) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 0, "the other device's launch");
	cr_assert(tsr_cache_end_launch(m.cache, HERE) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 1);
	store_relaxed(&m, FAR_THREAD, 0, 2);
	cr_assert(tsr_cache_hand_over(m.cache, FAR_THREAD, NEAR_THREAD) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 2);
	store_relaxed(&m, FAR_THREAD, 0, 3);
	cr_assert(tsr_cache_settle(m.cache) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 3);
	end(&m);
}

/* ------------------------------------------------------------------ additions */

Test(far, an_addition_that_nobody_reads_is_late_and_adds_where_it_lands)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	cr_expect_eq(raise_at(&m, FAR_THREAD, TSR_VIEWS_RELAXED, true, 0), 0);
	cr_expect_eq(raise_at(&m, ITS_NEIGHBOUR, TSR_VIEWS_RELEASE, true, 0), 1,
		     "behind the first");
	cr_expect_eq(landed(&m, 0), 0);
	cr_expect_eq(newest(&m, 0), 2);
	m.chooser.store = 0;
	store_relaxed(&m, NEAR_THREAD, 0, 10);
	cr_assert(tsr_cache_settle(m.cache) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 12);
	end(&m);
}

Test(far, an_update_that_is_read_and_one_that_acquires_wait_for_the_answer)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	store_relaxed(&m, ITS_NEIGHBOUR, 0, 5);
	cr_expect_eq(raise_at(&m, FAR_THREAD, TSR_VIEWS_RELAXED, false, 0), 5);
	cr_expect_eq(landed(&m, 0), 6);
	cr_expect_eq(raise_at(&m, FAR_THREAD, TSR_VIEWS_ACQ_REL, true, 0), 6);
	cr_expect_eq(landed(&m, 0), 7);
	end(&m);
}

/* Carries go no further than the number. */
Test(far, additions_wrap)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	memset(m.home + 8, 0xff, 8);
	(void)raise_at(&m, FAR_THREAD, TSR_VIEWS_RELAXED, true, 8);
	cr_expect_eq(newest(&m, 8), 0);
	cr_assert(tsr_cache_settle(m.cache) == TSR_OK);
	cr_expect_eq(landed(&m, 8), 0);
	cr_expect_eq(landed(&m, 16), 0);
	end(&m);
}

/* ------------------------------------------------------------------ queues */

Test(far, a_full_queue_lands_its_oldest)
{
	machine_t m;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 1, .queued_commands = 3});
	for (uint64_t i = 1; i <= 40; i++) {
		store_relaxed(&m, FAR_THREAD, 0, i);
		cr_expect_eq(landed(&m, 0), i > 3 ? i - 3 : 0);
	}
	cr_expect_eq(newest(&m, 0), 40);
	end(&m);
}

Test(far, a_region_that_ends_takes_along_what_is_under_way_to_it)
{
	machine_t m;
	uint64_t other = 0;
	int region = -1;
	tsr_cache_event_t event;

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	cr_assert(tsr_cache_add_region(m.cache, THERE, &other, sizeof other, &region) == TSR_OK);
	const tsr_cache_place_t word = {region, 0, sizeof other};
	const tsr_views_access_t store = {.kind = TSR_VIEWS_STORE,
					  .order = TSR_VIEWS_RELAXED,
					  .scope = TSR_VIEWS_SYSTEM,
					  .value = 9};
	store_relaxed(&m, FAR_THREAD, 0, 1);
	cr_assert(tsr_cache_act(m.cache, FAR_THREAD, &store, &word, &event) == TSR_OK);
	cr_assert(tsr_cache_end_region(m.cache, m.region) == TSR_OK);
	cr_assert(tsr_cache_settle(m.cache) == TSR_OK);
	cr_expect_eq(landed(&m, 0), 0);
	cr_expect_eq(other, 9);
	end(&m);
}

Test(far, a_copy_has_its_own_queues)
{
	machine_t m;
	uint8_t home[BYTES];
	void *memory[] = {home};
	tsr_cache_t *copy = NULL;
	uint64_t of_one[2] = {0}, of_other[2] = {0};

	begin_far(&m, (tsr_cache_config_t){.buffered_stores = 8});
	store_relaxed(&m, FAR_THREAD, 0, 1);
	store_relaxed(&m, FAR_THREAD, 64, 2);
	memcpy(home, m.home, sizeof home);
	cr_assert(tsr_cache_copy(m.cache, memory, &copy) == TSR_OK);
	tsr_cache_digest(m.cache, of_one);
	tsr_cache_digest(copy, of_other);
	cr_expect(memcmp(of_one, of_other, sizeof of_one) == 0);
	m.chooser.arrival = 1;
	cr_assert(tsr_cache_arrivals(copy) == TSR_OK);
	memset(of_one, 0, sizeof of_one);
	memset(of_other, 0, sizeof of_other);
	tsr_cache_digest(m.cache, of_one);
	tsr_cache_digest(copy, of_other);
	cr_expect(memcmp(of_one, of_other, sizeof of_one) != 0);
	cr_expect_eq(home[0], 1);
	cr_expect_eq(home[64], 0);
	cr_expect_eq(landed(&m, 0), 0);
	end(&m);
	cr_expect(tsr_cache_settle(copy) == TSR_OK);
	cr_expect_eq(home[64], 2);
	tsr_cache_destroy(copy);
}

Test(far, devices_of_one_node_have_no_queues)
{
	static const int together[DEVICES] = {4, 4};
	machine_t m = {.chooser = {.store = -1}};

	begin_with(&m, THERE, (tsr_cache_config_t){.node = together});
	store_relaxed(&m, FAR_THREAD, 0, 1);
	cr_expect_eq(landed(&m, 0), 1, "at system scope, with no store buffer");
	cr_expect_eq(tsr_cache_late(m.cache), 0);
	end(&m);
}

/*
 * The view machine, step by step: what each access may see, what synchronises,
 * what races, and what a copy and a digest are.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "src/views/views.h"

enum { X, Y, LOCATIONS };

/* Threads 0 and 1 in one block, 2 in another of the device, 3 on another device. */
static tsr_views_t *machine(int history)
{
	static const tsr_views_place_t places[] = {
		{{0, 0, 0, 0, 0}}, {{0, 1, 0, 0, 0}}, {{0, 2, 1, 0, 0}}, {{0, 3, 2, 1, 0}}};
	tsr_views_t *v = NULL;

	cr_assert(tsr_views_create(places, 4, LOCATIONS, history, &v) == TSR_OK);
	return v;
}

static tsr_views_event_t act(tsr_views_t *v, int thread, const tsr_views_access_t *access,
			     int choice)
{
	tsr_views_event_t event = {0};

	cr_assert(choice < tsr_views_choices(v, thread, access));
	cr_assert(tsr_views_act(v, thread, access, choice, &event) == TSR_OK);
	return event;
}

static tsr_views_access_t load_of(int location, tsr_views_order_t order, tsr_views_scope_t scope)
{
	return (tsr_views_access_t){.kind = TSR_VIEWS_LOAD,
				    .order = order,
				    .scope = scope,
				    .location = location,
				    .site = 7};
}

static tsr_views_event_t load(tsr_views_t *v, int thread, int location, tsr_views_order_t order,
			      tsr_views_scope_t scope, int choice)
{
	tsr_views_access_t access = load_of(location, order, scope);
	return act(v, thread, &access, choice);
}

/** In how many ways a relaxed load can act: how many messages the thread may see. */
static int sees(tsr_views_t *v, int thread, int location)
{
	tsr_views_access_t access = load_of(location, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	return tsr_views_choices(v, thread, &access);
}

static tsr_views_event_t store(tsr_views_t *v, int thread, int location, uint64_t value,
			       tsr_views_order_t order, tsr_views_scope_t scope)
{
	tsr_views_access_t access = {.kind = TSR_VIEWS_STORE,
				     .order = order,
				     .scope = scope,
				     .location = location,
				     .value = value,
				     .site = 9};
	return act(v, thread, &access, 0);
}

static void fence(tsr_views_t *v, int thread, tsr_views_order_t order, tsr_views_scope_t scope)
{
	tsr_views_access_t access = {.kind = TSR_VIEWS_FENCE, .order = order, .scope = scope};
	act(v, thread, &access, 0);
}

/** A plain store of 1. */
static tsr_views_event_t write_plain(tsr_views_t *v, int thread, int location)
{
	return store(v, thread, location, 1, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD);
}

/** What a plain load of the newest value races with. */
static unsigned races_of_read(tsr_views_t *v, int thread, int location)
{
	return load(v, thread, location, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD, 0).races;
}

/** Stores 1, and hands on what the thread has seen. */
static void release(tsr_views_t *v, int thread, int location)
{
	store(v, thread, location, 1, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
}

/** Loads the newest value, and takes over what came with it. */
static tsr_views_event_t acquire(tsr_views_t *v, int thread, int location)
{
	return load(v, thread, location, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM, 0);
}

static bool add_ten(const void *context, uint64_t old, uint64_t *value_out)
{
	(void)context;
	*value_out = old + 10;
	return true;
}

static bool one_to_two(const void *context, uint64_t old, uint64_t *value_out)
{
	(void)context;
	*value_out = 2;
	return old == 1;
}

static tsr_views_access_t update_of(int location, tsr_views_update_fn fn, tsr_views_order_t order,
				    tsr_views_order_t failure)
{
	return (tsr_views_access_t){.kind = TSR_VIEWS_UPDATE,
				    .order = order,
				    .failure = failure,
				    .scope = TSR_VIEWS_SYSTEM,
				    .location = location,
				    .update = fn};
}

static tsr_views_event_t update(tsr_views_t *v, int thread, int location, tsr_views_update_fn fn,
				tsr_views_order_t order, int choice)
{
	tsr_views_access_t access = update_of(location, fn, order, TSR_VIEWS_RELAXED);
	return act(v, thread, &access, choice);
}

/* ------------------------------------------------------------------ coherence */

Test(views, a_load_sees_no_older_message_than_the_one_before)
{
	tsr_views_t *v = machine(0);

	cr_expect(load(v, 1, X, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK, 0).initial);
	store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK);
	store(v, 0, X, 2, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK);
	cr_expect_eq(sees(v, 0, X), 1); /* the writer sees its own */
	cr_expect_eq(sees(v, 1, X), 3);
	cr_expect_eq(load(v, 1, X, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK, 1).value, 1u);
	cr_expect_eq(sees(v, 1, X), 2);
	cr_expect_eq(load(v, 1, X, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK, 0).value, 2u);
	cr_expect_eq(sees(v, 1, X), 1);
	cr_expect_eq(tsr_views_newest(v, X), 2u);
	tsr_views_destroy(v);
}

Test(views, a_store_may_come_before_one_it_has_not_seen)
{
	tsr_views_t *v = machine(0);
	tsr_views_access_t late = {.kind = TSR_VIEWS_STORE,
				   .order = TSR_VIEWS_RELAXED,
				   .scope = TSR_VIEWS_BLOCK,
				   .location = X,
				   .value = 2};

	store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_BLOCK);
	cr_expect_eq(tsr_views_choices(v, 1, &late), 2);
	act(v, 1, &late, 1);
	cr_expect_eq(tsr_views_newest(v, X), 1u);
	/* what thread 0 has seen is still its own store, now third */
	cr_expect_eq(sees(v, 0, X), 1);
	cr_expect_eq(sees(v, 1, X), 2);
	tsr_views_destroy(v);
}

Test(views, nothing_comes_between_an_update_and_what_it_read)
{
	tsr_views_t *v = machine(0);
	tsr_views_access_t late = {.kind = TSR_VIEWS_STORE,
				   .order = TSR_VIEWS_RELAXED,
				   .scope = TSR_VIEWS_BLOCK,
				   .location = X,
				   .value = 2};
	tsr_views_access_t add = update_of(X, add_ten, TSR_VIEWS_RELAXED, TSR_VIEWS_RELAXED);
	tsr_views_access_t compare = update_of(X, one_to_two, TSR_VIEWS_RELAXED, TSR_VIEWS_RELAXED);

	cr_expect_eq(update(v, 0, X, add_ten, TSR_VIEWS_RELAXED, 0).value, 0u);
	cr_expect_eq(tsr_views_choices(v, 1, &late), 1);
	cr_expect_eq(tsr_views_choices(v, 1, &add), 1);
	/* it fails on either, so it may read either */
	cr_expect_eq(tsr_views_choices(v, 1, &compare), 2);
	tsr_views_destroy(v);
}

/* ------------------------------------------------------------------ synchronisation */

Test(views, an_acquire_takes_over_what_was_released)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	release(v, 0, Y);
	cr_expect_eq(acquire(v, 3, Y).value, 1u);
	cr_expect_eq(sees(v, 3, X), 1);
	cr_expect_eq(races_of_read(v, 3, X), 0u);
	tsr_views_destroy(v);
}

Test(views, an_acquire_takes_over_nothing_later)
{
	tsr_views_t *v = machine(0);

	release(v, 0, Y);
	write_plain(v, 0, X);
	acquire(v, 3, Y);
	cr_expect_eq(sees(v, 0, X), 1);
	cr_expect_eq(sees(v, 3, X), 2);
	cr_expect_eq(races_of_read(v, 3, X), (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

Test(views, a_later_and_narrower_release_does_not_replace_a_wider_one)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	fence(v, 0, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	fence(v, 0, TSR_VIEWS_RELEASE, TSR_VIEWS_BLOCK);
	store(v, 0, Y, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	acquire(v, 3, Y);
	cr_expect_eq(sees(v, 3, X), 1);
	tsr_views_destroy(v);
}

Test(views, a_scope_that_is_too_narrow_gives_nothing_and_races)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	store(v, 0, Y, 1, TSR_VIEWS_RELEASE, TSR_VIEWS_DEVICE);
	cr_expect_eq(load(v, 2, Y, TSR_VIEWS_ACQUIRE, TSR_VIEWS_DEVICE, 0).races, 0u);
	cr_expect_eq(sees(v, 2, X), 1);
	tsr_views_event_t flag = acquire(v, 3, Y);
	cr_expect_eq(flag.races, (unsigned)TSR_VIEWS_SCOPE_RACE);
	cr_expect(flag.other_thread == 0 && flag.other_site == 9 && flag.other_wrote);
	cr_expect_eq(load(v, 3, X, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD, 1).races,
		     (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

Test(views, happens_before_goes_on_across_scopes)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	store(v, 0, Y, 1, TSR_VIEWS_RELEASE, TSR_VIEWS_BLOCK);
	load(v, 1, Y, TSR_VIEWS_ACQUIRE, TSR_VIEWS_BLOCK, 0);
	update(v, 1, Y, add_ten, TSR_VIEWS_RELEASE, 0);
	acquire(v, 3, Y);
	cr_expect_eq(sees(v, 3, X), 1);
	cr_expect_eq(races_of_read(v, 3, X), 0u);
	tsr_views_destroy(v);
}

Test(views, fences_stand_in_for_ordered_accesses)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	fence(v, 0, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	store(v, 0, Y, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	load(v, 3, Y, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 0);
	cr_expect_eq(sees(v, 3, X), 2);
	fence(v, 3, TSR_VIEWS_ACQUIRE, TSR_VIEWS_DEVICE);
	cr_expect_eq(sees(v, 3, X), 2);
	fence(v, 3, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
	cr_expect_eq(sees(v, 3, X), 1);
	tsr_views_destroy(v);
}

Test(views, an_update_carries_a_release_on_and_a_store_does_not)
{
	for (int cut = 0; cut < 2; cut++) {
		tsr_views_t *v = machine(0);
		store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
		release(v, 0, Y);
		if (cut)
			store(v, 0, Y, 11, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
		else
			update(v, 2, Y, add_ten, TSR_VIEWS_RELAXED, 0);
		cr_expect_eq(acquire(v, 3, Y).value, 11u);
		cr_expect_eq(sees(v, 3, X), cut ? 2 : 1);
		tsr_views_destroy(v);
	}
}

Test(views, a_failed_compare_and_swap_is_a_load)
{
	tsr_views_t *v = machine(0);

	store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	tsr_views_event_t event = update(v, 0, Y, one_to_two, TSR_VIEWS_ACQ_REL, 0);
	cr_expect(!event.wrote && event.value == 0);
	cr_expect_eq(acquire(v, 3, Y).value, 0u);
	cr_expect_eq(sees(v, 3, X), 2); /* it released nothing */
	tsr_views_destroy(v);
}

Test(views, a_failed_compare_and_swap_has_its_own_order)
{
	tsr_views_t *v = machine(0);
	tsr_views_access_t swap = update_of(Y, one_to_two, TSR_VIEWS_RELEASE, TSR_VIEWS_ACQUIRE);

	store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	store(v, 0, Y, 3, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	cr_expect_eq(act(v, 3, &swap, 0).value, 3u);
	cr_expect_eq(sees(v, 3, X), 1);
	store(v, 0, Y, 1, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM);
	swap = update_of(Y, one_to_two, TSR_VIEWS_SEQ_CST, TSR_VIEWS_RELAXED);
	/* only where it succeeds it has to come after the store */
	cr_expect_eq(tsr_views_choices(v, 1, &swap), 3);
	tsr_views_destroy(v);
}

/* ------------------------------------------------------------------ seq_cst */

Test(views, seq_cst_orders_what_acquire_and_release_do_not)
{
	static const tsr_views_order_t orders[] = {TSR_VIEWS_ACQ_REL, TSR_VIEWS_SEQ_CST};

	for (int i = 0; i < 2; i++) {
		tsr_views_t *v = machine(0);
		tsr_views_access_t other =
			load_of(X, i ? TSR_VIEWS_SEQ_CST : TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM);
		store(v, 0, X, 1, orders[i], TSR_VIEWS_SYSTEM);
		load(v, 0, Y, orders[i], TSR_VIEWS_SYSTEM, 0);
		store(v, 3, Y, 1, orders[i], TSR_VIEWS_SYSTEM);
		cr_expect_eq(tsr_views_choices(v, 3, &other), i ? 1 : 2);
		tsr_views_destroy(v);
	}
}

Test(views, seq_cst_of_different_scopes_is_no_order)
{
	tsr_views_t *v = machine(0);
	tsr_views_access_t narrow = load_of(X, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE);

	store(v, 0, X, 1, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM);
	cr_expect_eq(tsr_views_choices(v, 2, &narrow), 2);
	narrow.scope = TSR_VIEWS_SYSTEM;
	cr_expect_eq(tsr_views_choices(v, 2, &narrow), 1);
	tsr_views_destroy(v);
}

Test(views, seq_cst_fences_hand_on_views_and_no_clocks)
{
	tsr_views_t *v = machine(0);

	store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_DEVICE);
	write_plain(v, 0, Y);
	fence(v, 0, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE);
	fence(v, 2, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE);
	cr_expect_eq(sees(v, 2, X), 1);
	cr_expect_eq(races_of_read(v, 2, Y), (unsigned)TSR_VIEWS_DATA_RACE);
	fence(v, 3, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE); /* another device: another order */
	cr_expect_eq(sees(v, 3, X), 2);
	tsr_views_destroy(v);
}

Test(views, what_is_in_view_already_is_still_to_be_acquired)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	release(v, 0, Y);
	fence(v, 0, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM);
	fence(v, 3, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM);
	cr_expect_eq(sees(v, 3, X), 1);
	acquire(v, 3, Y);
	cr_expect_eq(races_of_read(v, 3, X), 0u);
	tsr_views_destroy(v);
}

Test(views, a_seq_cst_fence_shows_earlier_seq_cst_stores_and_no_later_one)
{
	tsr_views_t *v = machine(0);

	store(v, 0, X, 1, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE);
	cr_expect_eq(sees(v, 2, X), 2);
	fence(v, 2, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE);
	cr_expect_eq(sees(v, 2, X), 1);
	store(v, 0, X, 2, TSR_VIEWS_SEQ_CST, TSR_VIEWS_DEVICE);
	cr_expect_eq(sees(v, 2, X), 2);
	tsr_views_destroy(v);
}

Test(views, a_seq_cst_load_sees_what_an_earlier_fence_had_in_view)
{
	tsr_views_t *v = machine(0);
	tsr_views_access_t later = load_of(X, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM);

	store(v, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	cr_expect_eq(tsr_views_choices(v, 3, &later), 2);
	fence(v, 0, TSR_VIEWS_SEQ_CST, TSR_VIEWS_SYSTEM);
	cr_expect_eq(tsr_views_choices(v, 3, &later), 1);
	tsr_views_destroy(v);
}

/* ------------------------------------------------------------------ what an executor needs */

Test(views, the_last_of_many_looks_is_what_races)
{
	tsr_views_t *v = machine(0);

	load(v, 0, X, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 0);
	release(v, 0, Y);
	acquire(v, 3, Y);
	load(v, 0, X, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 0);
	cr_expect_eq(store(v, 3, X, 1, TSR_VIEWS_PLAIN, TSR_VIEWS_THREAD).races,
		     (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

Test(views, a_meeting_hands_over)
{
	tsr_views_t *v = machine(0);

	write_plain(v, 0, X);
	(void)tsr_views_hand_over(v, 0, 3);
	write_plain(v, 0, Y);
	cr_expect_eq(races_of_read(v, 3, X), 0u);
	cr_expect_eq(races_of_read(v, 3, Y), (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

static bool same(const tsr_views_t *a, const tsr_views_t *b)
{
	uint64_t of_a[2] = {0, 0}, of_b[2] = {0, 0};

	tsr_views_digest(a, of_a);
	tsr_views_digest(b, of_b);
	return of_a[0] == of_b[0] && of_a[1] == of_b[1];
}

Test(views, a_copy_goes_its_own_way)
{
	tsr_views_t *v = machine(0), *copy = NULL;

	release(v, 0, X);
	cr_assert(tsr_views_copy(v, &copy) == TSR_OK);
	cr_expect(same(v, copy));
	store(copy, 0, X, 2, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	cr_expect(!same(v, copy));
	cr_expect_eq(tsr_views_newest(v, X), 1u);
	tsr_views_destroy(v);
	cr_expect_eq(load(copy, 3, X, TSR_VIEWS_ACQUIRE, TSR_VIEWS_SYSTEM, 1).value, 1u);
	tsr_views_destroy(copy);
}

Test(views, steps_that_do_not_meet_commute)
{
	tsr_views_t *a = machine(0), *b = machine(0);

	release(a, 0, X);
	release(a, 3, Y);
	fence(a, 3, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	release(b, 3, Y);
	cr_expect(!same(a, b));
	fence(b, 3, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	release(b, 0, X);
	cr_expect(same(a, b));
	tsr_views_destroy(a);
	tsr_views_destroy(b);
}

Test(views, a_bounded_history_forgets_behaviours_and_no_race)
{
	tsr_views_t *v = machine(2);

	for (uint64_t i = 1; i <= 1000; i++)
		store(v, 0, X, i, i == 1 ? TSR_VIEWS_PLAIN : TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	cr_expect_eq(sees(v, 3, X), 2);
	tsr_views_event_t event = load(v, 3, X, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM, 1);
	cr_expect_eq(event.value, 999u);
	/* with the first store, whose message is long gone */
	cr_expect_eq(event.races, (unsigned)TSR_VIEWS_DATA_RACE);
	cr_expect_eq(acquire(v, 3, X).races, 0u);
	tsr_views_destroy(v);
}

/* ---------------------------------------------------------------- what of a state still matters */

static bool same_ahead(const tsr_views_t *a, const tsr_views_t *b, uint64_t locations,
		       bool releases)
{
	const tsr_views_future_t idle = {0},
				 reader = {.locations = locations, .releases = releases};
	const tsr_views_future_t futures[] = {idle, idle, idle, reader};
	uint64_t of_a[2] = {0, 0}, of_b[2] = {0, 0};

	tsr_views_digest_ahead(a, futures, of_a);
	tsr_views_digest_ahead(b, futures, of_b);
	return of_a[0] == of_b[0] && of_a[1] == of_b[1];
}

Test(views, what_nobody_accesses_again_is_its_newest_value)
{
	tsr_views_t *a = machine(0), *b = machine(0);

	store(a, 0, X, 1, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	store(a, 1, X, 2, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	store(b, 1, X, 2, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	cr_expect(!same(a, b));
	cr_expect(same_ahead(a, b, UINT64_C(1) << Y, true), "the older message is read by nobody");
	cr_expect(!same_ahead(a, b, UINT64_C(1) << X, false), "it may be read");
	store(b, 1, X, 3, TSR_VIEWS_RELAXED, TSR_VIEWS_SYSTEM);
	cr_expect(!same_ahead(a, b, UINT64_C(1) << Y, true), "the newest value is the final one");
	tsr_views_destroy(a);
	tsr_views_destroy(b);
}

Test(views, how_far_a_thread_has_seen_matters_only_for_what_it_may_access_or_hand_on)
{
	tsr_views_t *knows = machine(0), *later = machine(0), *lacks = machine(0);
	tsr_views_t *const all[] = {knows, later, lacks};
	const uint64_t x = UINT64_C(1) << X, y = UINT64_C(1) << Y;

	/* an epoch more, which nobody can tell */
	fence(later, 0, TSR_VIEWS_RELEASE, TSR_VIEWS_SYSTEM);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		write_plain(all[i], 0, X);
		release(all[i], 0, Y);
		load(all[i], 3, Y, all[i] == lacks ? TSR_VIEWS_RELAXED : TSR_VIEWS_ACQUIRE,
		     TSR_VIEWS_SYSTEM, 0);
	}
	cr_expect(!same(knows, later));
	cr_expect(same_ahead(knows, later, x | y, false), "epochs are numbers without meaning");
	cr_expect(!same_ahead(knows, lacks, x | y, false), "a load of X would race");
	cr_expect(same_ahead(knows, lacks, 0, false), "it accesses neither again");
	cr_expect(!same_ahead(knows, lacks, x, true), "it may hand on what it knows of X");
	tsr_views_destroy(knows);
	tsr_views_destroy(later);
	tsr_views_destroy(lacks);
}

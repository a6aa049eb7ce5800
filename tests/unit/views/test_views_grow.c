/*
 * The view machine while threads, tokens and locations come and go: step by
 * step, and random runs compared with a machine that keeps everything: who
 * knows of which access, one bit each.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "src/views/views.h"

static const tsr_views_place_t somewhere = {{0, 0, 0, 0, 0}};

static tsr_views_t *machine(int threads, int locations, int history)
{
	tsr_views_place_t places[8] = {{{0}}};
	tsr_views_t *v = NULL;

	cr_assert(tsr_views_create(places, threads, locations, history, &v) == TSR_OK);
	return v;
}

static tsr_views_token_t *token_of(tsr_views_t *v)
{
	tsr_views_token_t *token = NULL;

	cr_assert(tsr_views_token_create(v, &token) == TSR_OK);
	return token;
}

static int spawn(tsr_views_t *v, const tsr_views_token_t *token)
{
	int thread = -1;

	cr_assert(tsr_views_add_thread(v, &somewhere, token, &thread) == TSR_OK);
	return thread;
}

static void give(tsr_views_t *v, int thread, tsr_views_token_t *token)
{
	cr_assert(tsr_views_give(v, thread, token) == TSR_OK);
}

static void take(tsr_views_t *v, int thread, const tsr_views_token_t *token)
{
	cr_assert(tsr_views_take(v, thread, token) == TSR_OK);
}

static void end(tsr_views_t *v, int thread, tsr_views_token_t *token)
{
	cr_assert(tsr_views_end_thread(v, thread, token) == TSR_OK);
}

static tsr_views_event_t act(tsr_views_t *v, int thread, tsr_views_kind_t kind, int location,
			     tsr_views_order_t order, uint32_t site)
{
	tsr_views_access_t access = {.kind = kind,
				     .order = order,
				     .scope = TSR_VIEWS_SYSTEM,
				     .location = location,
				     .value = site,
				     .site = site};
	tsr_views_event_t event = {0};

	cr_assert(tsr_views_act(v, thread, &access, 0, &event) == TSR_OK);
	return event;
}

static unsigned writes(tsr_views_t *v, int thread, int location)
{
	return act(v, thread, TSR_VIEWS_STORE, location, TSR_VIEWS_PLAIN, 1).races;
}

/* ------------------------------------------------------------------ threads */

Test(views_grow, a_thread_begins_after_what_its_token_stands_for)
{
	tsr_views_t *v = machine(1, 1, 0);
	tsr_views_token_t *launch = token_of(v);

	writes(v, 0, 0);
	give(v, 0, launch);
	int block = spawn(v, launch);
	cr_expect_eq(writes(v, block, 0), 0u);
	cr_expect_eq(writes(v, 0, 0), (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

Test(views_grow, blocks_of_one_launch_race_though_one_ended_before_the_other_began)
{
	tsr_views_t *v = machine(1, 1, 0);
	tsr_views_token_t *launch = token_of(v), *ended = token_of(v);

	give(v, 0, launch);
	int first = spawn(v, launch);
	writes(v, first, 0);
	end(v, first, ended);
	int second = spawn(v, launch);
	cr_expect_eq(writes(v, second, 0), (unsigned)TSR_VIEWS_DATA_RACE);
	end(v, second, ended);
	take(v, 0, ended);
	cr_expect_eq(writes(v, 0, 0), 0u);
	tsr_views_destroy(v);
}

Test(views_grow, what_a_thread_did_last_and_handed_to_nobody_races_with_all)
{
	tsr_views_t *v = machine(1, 2, 0);
	tsr_views_token_t *launch = token_of(v), *ended = token_of(v);

	give(v, 0, launch);
	int block = spawn(v, launch);
	writes(v, block, 0);
	give(v, block, ended);
	writes(v, block, 1);
	end(v, block, NULL);
	take(v, 0, ended);
	cr_expect_eq(writes(v, 0, 0), 0u);
	cr_expect_eq(writes(v, 0, 1), (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

Test(views_grow, launch_after_launch_needs_no_more_memory)
{
	tsr_views_t *v = machine(1, 1, 8);
	tsr_views_token_t *stream = token_of(v);
	size_t bytes = 0;

	for (int launch = 0; launch < 200; launch++) {
		int block[8];
		give(v, 0, stream);
		for (int b = 0; b < 8; b++)
			block[b] = spawn(v, stream);
		for (int b = 0; b < 8; b++) {
			cr_assert_eq(act(v, block[b], TSR_VIEWS_LOAD, 0, TSR_VIEWS_RELAXED, 7)
					     .races,
				     0u);
			end(v, block[b], stream);
		}
		take(v, 0, stream);
		cr_assert_eq(writes(v, 0, 0), 0u);
		if (launch == 100)
			bytes = tsr_views_size_bytes(v);
	}
	/* Of a thread that has ended its place stays. */
	cr_expect(tsr_views_size_bytes(v) < bytes + 100 * 8 * 256, "%zu, then %zu", bytes,
		  tsr_views_size_bytes(v));
	cr_expect(tsr_views_component(v, spawn(v, stream)) < 32);
	tsr_views_destroy(v);
}

Test(views_grow, the_scope_of_an_ended_thread_is_not_that_of_who_goes_on_with_its_component)
{
	tsr_views_t *v = machine(1, 1, 0);
	tsr_views_token_t *stream = token_of(v);
	const tsr_views_place_t here = {{0, 1, 1, 1, 0}}, there = {{0, 2, 2, 2, 0}};
	tsr_views_access_t narrow = {
		.kind = TSR_VIEWS_STORE, .order = TSR_VIEWS_RELAXED, .scope = TSR_VIEWS_DEVICE};
	tsr_views_event_t event;
	int first, second, apart;

	give(v, 0, stream);
	cr_assert(tsr_views_add_thread(v, &there, stream, &apart) == TSR_OK);
	cr_assert(tsr_views_add_thread(v, &here, stream, &first) == TSR_OK);
	cr_assert(tsr_views_act(v, first, &narrow, 0, &event) == TSR_OK);
	end(v, first, stream);
	cr_assert(tsr_views_add_thread(v, &there, stream, &second) == TSR_OK);
	cr_expect_eq(tsr_views_component(v, first), tsr_views_component(v, second));
	cr_assert(tsr_views_act(v, apart, &narrow, 0, &event) == TSR_OK);
	cr_expect(event.races == TSR_VIEWS_SCOPE_RACE && event.other_thread == first);
	tsr_views_destroy(v);
}

Test(views_grow, a_thread_knows_epochs_that_were_handed_on)
{
	tsr_views_t *v = machine(2, 0, 0);
	const tsr_epoch_t before = tsr_views_epoch(v, 0);

	cr_expect(tsr_views_knows(v, 0, 0, before) && !tsr_views_knows(v, 1, 0, before));
	cr_assert(tsr_views_hand_over(v, 0, 1) == TSR_OK);
	const tsr_epoch_t after = tsr_views_epoch(v, 0);
	cr_expect(after > before);
	cr_expect(tsr_views_knows(v, 1, 0, before) && !tsr_views_knows(v, 1, 0, after));
	tsr_views_destroy(v);
}

/* ------------------------------------------------------------------ meetings, locations, looks */

Test(views_grow, a_meeting_hands_everything_to_everybody)
{
	tsr_views_t *v = machine(3, 3, 0);
	tsr_views_token_t *meeting = token_of(v);

	for (int round = 0; round < 3; round++) {
		tsr_views_token_clear(meeting);
		for (int t = 0; t < 3; t++)
			cr_expect_eq(writes(v, t, (t + round) % 3), 0u);
		for (int t = 0; t < 3; t++)
			give(v, t, meeting);
		for (int t = 0; t < 3; t++)
			take(v, t, meeting);
	}
	writes(v, 0, 0);
	cr_expect_eq(writes(v, 1, 0), (unsigned)TSR_VIEWS_DATA_RACE);
	tsr_views_destroy(v);
}

Test(views_grow, a_location_made_late_knows_who_was_there)
{
	tsr_views_t *v = machine(3, 0, 0);
	const tsr_views_past_t pasts[] = {{0, tsr_views_epoch(v, 0), 70, true},
					  {1, tsr_views_epoch(v, 1), 71, false}};
	int x = -1, fresh = -1;

	cr_assert(tsr_views_add_location(v, 5, true, pasts, 2, &x) == TSR_OK);
	cr_assert(tsr_views_add_location(v, 0, false, NULL, 0, &fresh) == TSR_OK);
	cr_assert(tsr_views_hand_over(v, 0, 2) == TSR_OK);
	tsr_views_event_t event = act(v, 2, TSR_VIEWS_LOAD, x, TSR_VIEWS_ACQUIRE, 1);
	cr_expect(event.value == 5 && !event.initial && event.races == 0);
	event = act(v, 2, TSR_VIEWS_STORE, x, TSR_VIEWS_RELEASE, 1);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_thread == 1 &&
		  event.other_site == 71 && !event.other_wrote);
	event = act(v, 1, TSR_VIEWS_LOAD, x, TSR_VIEWS_RELAXED, 1);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == 70 &&
		  event.other_wrote);
	cr_expect(act(v, 1, TSR_VIEWS_LOAD, fresh, TSR_VIEWS_RELAXED, 1).initial);
	cr_assert(tsr_views_end_location(v, x) == TSR_OK);
	cr_assert(tsr_views_add_location(v, 0, true, NULL, 0, &fresh) == TSR_OK);
	cr_expect_eq(fresh, x);
	cr_expect_eq(act(v, 1, TSR_VIEWS_STORE, fresh, TSR_VIEWS_RELAXED, 1).races, 0u);
	tsr_views_destroy(v);
}

Test(views_grow, a_look_tells_what_an_access_would_read_and_changes_nothing)
{
	tsr_views_t *v = machine(2, 1, 0);
	tsr_views_access_t load = {
		.kind = TSR_VIEWS_LOAD, .order = TSR_VIEWS_ACQUIRE, .scope = TSR_VIEWS_SYSTEM};
	uint64_t before[2] = {0, 0}, after[2] = {0, 0}, value = 9;
	bool initial = false;

	act(v, 0, TSR_VIEWS_STORE, 0, TSR_VIEWS_RELEASE, 3);
	tsr_views_digest(v, before);
	cr_assert(tsr_views_peek(v, 1, &load, 0, &value, &initial) == TSR_OK);
	cr_expect(value == 3 && !initial);
	cr_assert(tsr_views_peek(v, 1, &load, 1, &value, &initial) == TSR_OK);
	cr_expect(value == 0 && initial);
	cr_expect(tsr_views_peek(v, 1, &load, 2, &value, &initial) == TSR_ERR_ARGUMENT);
	tsr_views_digest(v, after);
	cr_expect(before[0] == after[0] && before[1] == after[1]);
	tsr_views_destroy(v);
}

/* ------------------------------------------------------------------ marks stay few */

Test(views_grow, a_flag_that_many_blocks_look_at_stays_small)
{
	tsr_views_t *v = machine(2, 1, 4);
	tsr_views_token_t *stream = token_of(v);
	size_t most = 0;

	for (int launch = 0; launch < 100; launch++) {
		give(v, 0, stream);
		for (int b = 0; b < 4; b++) {
			int block = spawn(v, stream);
			for (int i = 0; i < 3; i++) {
				act(v, block, TSR_VIEWS_LOAD, 0, TSR_VIEWS_ACQUIRE, 1);
				act(v, block, TSR_VIEWS_STORE, 0, TSR_VIEWS_RELEASE, 1);
			}
			end(v, block, stream);
		}
		take(v, 0, stream);
		cr_assert(tsr_views_hand_over(v, 0, 1) == TSR_OK);
		int marks = tsr_views_pasts(v, 0, NULL, 0);
		most = (size_t)marks > most ? (size_t)marks : most;
	}
	cr_expect(most < 100, "%zu marks", most);
	tsr_views_destroy(v);
}

Test(views_grow, an_old_token_keeps_what_it_does_not_know)
{
	tsr_views_t *v = machine(1, 1, 0);
	tsr_views_token_t *old = token_of(v), *stream = token_of(v);

	give(v, 0, old);
	act(v, 0, TSR_VIEWS_STORE, 0, TSR_VIEWS_PLAIN, 77);
	/* all that live know of the store, and its mark is one of many */
	for (int i = 0; i < 200; i++) {
		give(v, 0, stream);
		int block = spawn(v, stream);
		act(v, block, TSR_VIEWS_LOAD, 0, TSR_VIEWS_RELAXED, 1);
		end(v, block, stream);
		take(v, 0, stream);
	}
	tsr_views_event_t event = act(v, spawn(v, old), TSR_VIEWS_LOAD, 0, TSR_VIEWS_RELAXED, 1);
	cr_expect(event.races == TSR_VIEWS_DATA_RACE && event.other_site == 77);
	tsr_views_destroy(v);
}

/* ------------------------------------------------------------------ random runs */

enum {
	MAX_ACCESSES = 400,
	WORDS = (MAX_ACCESSES + 63) / 64,
	MAX_THREADS = 60,
	TOKENS = 3,
	LOCATIONS = 2,
	STEPS = 700
};

/** What is known, one bit an access. */
typedef struct known {
	uint64_t bit[WORDS];
} known_t;

/** The machine that keeps everything. */
typedef struct reference {
	int accesses, threads;
	struct {
		int thread, location, message;
		bool write, plain;
	} access[MAX_ACCESSES];
	known_t thread[MAX_THREADS], token[TOKENS];
	known_t message[MAX_ACCESSES]; /* what is released with the message that an access wrote */
	bool live[MAX_THREADS];
	int messages[LOCATIONS], last[LOCATIONS];
} reference_t;

static void join(known_t *into, const known_t *from)
{
	for (int i = 0; i < WORDS; i++)
		into->bit[i] |= from->bit[i];
}

static bool has(const known_t *known, int access)
{
	return known->bit[access / 64] >> access % 64 & 1;
}

static unsigned draw(uint64_t *state, unsigned below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*state >> 33) % below;
}

static int some_thread(const reference_t *r, uint64_t *random)
{
	int t;

	do
		t = (int)draw(random, (unsigned)r->threads);
	while (!r->live[t]);
	return t;
}

/** An access to the newest message, in both; and how far back a load could have looked. */
static void access_both(reference_t *r, tsr_views_t *v, uint64_t *random)
{
	const int t = some_thread(r, random), x = (int)draw(random, LOCATIONS), me = r->accesses;
	const bool write = draw(random, 3) == 0;
	static const tsr_views_order_t orders[2][4] = {
		{TSR_VIEWS_PLAIN, TSR_VIEWS_RELAXED, TSR_VIEWS_ACQUIRE, TSR_VIEWS_ACQUIRE},
		{TSR_VIEWS_PLAIN, TSR_VIEWS_RELAXED, TSR_VIEWS_RELEASE, TSR_VIEWS_RELEASE},
	};
	const tsr_views_order_t order = orders[write][draw(random, 4)];
	const bool plain = order == TSR_VIEWS_PLAIN, releases = write && order >= TSR_VIEWS_RELEASE;
	const bool acquires = !write && order == TSR_VIEWS_ACQUIRE;
	int floor = 0;
	bool races = false;

	for (int a = 0; a < me; a++)
		if (r->access[a].location == x && has(&r->thread[t], a) &&
		    floor < r->access[a].message)
			floor = r->access[a].message;
	tsr_views_access_t load = {.kind = TSR_VIEWS_LOAD,
				   .order = TSR_VIEWS_RELAXED,
				   .scope = TSR_VIEWS_SYSTEM,
				   .location = x};
	cr_assert_eq(tsr_views_choices(v, t, &load), r->messages[x] - floor + 1);
	if (acquires && r->last[x] >= 0)
		join(&r->thread[t], &r->message[r->last[x]]);
	for (int a = 0; a < me; a++)
		races |= r->access[a].location == x && !has(&r->thread[t], a) &&
			 (write || r->access[a].write) && (plain || r->access[a].plain);
	tsr_views_event_t event =
		act(v, t, write ? TSR_VIEWS_STORE : TSR_VIEWS_LOAD, x, order, (uint32_t)me);
	cr_assert_eq(event.races != 0, races, "access %d: %d by thread %d, other %u", me,
		     (int)event.races, t, event.other_site);
	if (races) {
		const int other = (int)event.other_site;
		cr_assert(r->access[other].location == x &&
			  r->access[other].write == event.other_wrote);
		cr_assert(!has(&r->thread[t], other) &&
			  r->access[other].thread == event.other_thread);
	}
	r->messages[x] += write;
	r->access[me].thread = t;
	r->access[me].location = x;
	r->access[me].write = write;
	r->access[me].plain = plain;
	r->access[me].message = r->messages[x];
	r->thread[t].bit[me / 64] |= UINT64_C(1) << me % 64;
	if (write)
		r->last[x] = me;
	if (releases)
		r->message[me] = r->thread[t];
	r->accesses++;
}

static void step(reference_t *r, tsr_views_t *v, tsr_views_token_t **tokens, uint64_t *random)
{
	const int t = some_thread(r, random), k = (int)draw(random, TOKENS);
	int u = some_thread(r, random), live = 0;

	for (int i = 0; i < r->threads; i++)
		live += r->live[i];
	switch (draw(random, 16)) {
	case 0:
		give(v, t, tokens[k]);
		join(&r->token[k], &r->thread[t]);
		break;
	case 1:
		take(v, t, tokens[k]);
		join(&r->thread[t], &r->token[k]);
		break;
	case 2:
		cr_assert(tsr_views_hand_over(v, t, u) == TSR_OK);
		join(&r->thread[u], &r->thread[t]);
		break;
	case 3:
		cr_assert(tsr_views_token_join(v, tokens[k], tokens[(k + 1) % TOKENS]) == TSR_OK);
		join(&r->token[k], &r->token[(k + 1) % TOKENS]);
		break;
	case 4:
		if (r->threads == MAX_THREADS)
			break;
		give(v, t, tokens[k]); /* who begins a thread knows something */
		join(&r->token[k], &r->thread[t]);
		u = spawn(v, tokens[k]);
		cr_assert_eq(u, r->threads);
		r->thread[u] = r->token[k];
		r->live[r->threads++] = true;
		break;
	case 5:
		if (live < 4)
			break;
		r->live[t] = false;
		if (draw(random, 4)) {
			end(v, t, tokens[k]);
			join(&r->token[k], &r->thread[t]);
		} else {
			end(v, t, NULL);
		}
		break;
	default:
		if (r->accesses < MAX_ACCESSES)
			access_both(r, v, random);
	}
}

Test(views_grow, random_runs_agree_with_a_machine_that_keeps_everything, .timeout = 120)
{
	reference_t *r = malloc(sizeof *r);

	for (uint64_t seed = 1; seed <= 150; seed++) {
		tsr_views_t *v = machine(2, LOCATIONS, 0);
		tsr_views_token_t *tokens[TOKENS];
		uint64_t random = seed;
		memset(r, 0, sizeof *r);
		memset(r->last, 0xff, sizeof r->last);
		r->threads = 2;
		r->live[0] = r->live[1] = true;
		for (int k = 0; k < TOKENS; k++)
			tokens[k] = token_of(v);
		for (int i = 0; i < STEPS; i++)
			step(r, v, tokens, &random);
		tsr_views_destroy(v);
	}
	free(r);
}

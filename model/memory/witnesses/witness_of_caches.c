/* The cache machine as a witness: every run that can be chosen is tried, each state once. */
#include "model/memory/witnesses/witness_of_caches.h"

#include <string.h>

#include "model/memory/budget.h"
#include "model/memory/witnesses/steps.h"
#include "model/memory/witnesses/visited.h"

enum {
	MOST_CHOICES = 16,
	LINE_BYTES = 64,
	WORD_BYTES = 8,
	MOST_BUFFERED = LITMUS_MAX_INSTRUCTIONS
};

/** A point in a run: the memory, and where each thread is. */
typedef struct point {
	tsr_cache_t *cache;
	steps_t steps;
	/* of packed locations the first bytes only, as one region */
	uint8_t home[LITMUS_MAX_LOCATIONS * LINE_BYTES];
} point_t;

/** The answers that one step of the machine gets, and how many there were to choose from. */
typedef struct answers {
	int answer[MOST_CHOICES], of[MOST_CHOICES];
	int count, at;
	bool no_fills;
} answers_t;

typedef struct exploration {
	const litmus_test_t *test;
	const litmus_options_t *options;
	const cache_variant_t *variant;
	litmus_result_t *result;
	answers_t *answers;
	visited_t visited;
	budget_t budget;
	ahead_t ahead;
	int devices;                      /* of the test */
	int node[LITMUS_MAX_THREADS + 1]; /* of each, and of the one that runs nothing */
	int home[LITMUS_MAX_LOCATIONS];   /* of each location, where there are several nodes */
	tsr_status_t status;              /* of what ended the exploration, if anything did */
} exploration_t;

/* ------------------------------------------------------------------ choices */

static int answer(void *context, tsr_cache_choice_t kind, int n)
{
	answers_t *answers = ((exploration_t *)context)->answers;

	if (kind == TSR_CACHE_ARRIVAL && n == 3 && answers->no_fills)
		n = 2;
	if (answers->at == answers->count) {
		if (answers->count == MOST_CHOICES)
			return 0;
		answers->answer[answers->count] = 0;
		answers->of[answers->count++] = n;
	}
	return answers->answer[answers->at++];
}

/**
 * The next answers after those that were given, in the order of numbers. False:
 * there are no others.
 */
static bool next_answers(answers_t *answers)
{
	while (answers->count > 0 &&
	       ++answers->answer[answers->count - 1] == answers->of[answers->count - 1])
		answers->count--;
	answers->at = 0;
	return answers->count > 0;
}

/* ------------------------------------------------------------------ places */

static bool spread(const exploration_t *e)
{
	return e->variant->nodes > 1;
}

static int regions(const exploration_t *e)
{
	return spread(e) || (e->variant->at_devices && !e->variant->packed) ? e->test->locations
									    : 1;
}

static int home_device(const exploration_t *e, int region)
{
	if (spread(e))
		return e->home[region];
	return e->variant->at_devices ? region % e->devices : TSR_CACHE_NOWHERE;
}

static tsr_cache_place_t place_of(const exploration_t *e, int location)
{
	const size_t first = (size_t)location * (e->variant->packed ? WORD_BYTES : LINE_BYTES);

	if (regions(e) > 1)
		return (tsr_cache_place_t){location, 0, WORD_BYTES};
	return (tsr_cache_place_t){0, first, WORD_BYTES};
}

static uint8_t *home_of(const exploration_t *e, point_t *point, int location)
{
	return point->home + (size_t)location * (e->variant->packed ? WORD_BYTES : LINE_BYTES);
}

static int64_t newest(const exploration_t *e, const point_t *point, int location)
{
	const tsr_cache_place_t place = place_of(e, location);
	uint64_t value = 0;

	(void)tsr_cache_newest(point->cache, &place, &value); /* a location's place is right */
	return (int64_t)value;
}

/* ------------------------------------------------------------------ the search */

static void explore(exploration_t *e, point_t *point);

/** Whether the state is seen for the first time. */
static bool enter(exploration_t *e, const point_t *point)
{
	uint64_t digest[2] = {1, 0};

	tsr_cache_digest(point->cache, digest);
	steps_digest(e->test, &e->ahead, &point->steps, digest);
	for (int x = 0; x < e->test->locations; x++) {
		uint64_t word;
		memcpy(&word, home_of(e, (point_t *)(uintptr_t)point, x), sizeof word);
		tsr_views_mix(digest, word);
	}
	bool fresh = false;
	if (e->status == TSR_OK && budget_spent(&e->budget))
		e->status = budget_give_up(&e->budget);
	if (e->status == TSR_OK)
		e->status = visited_add(&e->visited, digest, &fresh);
	return fresh;
}

static void copy_point(exploration_t *e, const point_t *from, point_t *to)
{
	void *memory[LITMUS_MAX_LOCATIONS];

	*to = *from;
	for (int r = 0; r < regions(e); r++)
		memory[r] = to->home + (size_t)r * LINE_BYTES;
	e->status = tsr_cache_copy(from->cache, memory, &to->cache);
}

/**
 * One step, with each of the ways that it can go: of a thread where `next` is
 * not null, else of the machine by itself.
 */
static void branch_out(exploration_t *e, const point_t *from, const steps_access_t *next,
		       bool no_fills)
{
	answers_t answers = {.no_fills = no_fills};
	bool more = true;

	for (point_t to; more && e->status == TSR_OK; more = next_answers(&answers)) {
		tsr_cache_event_t event = {0};
		copy_point(e, from, &to);
		if (e->status != TSR_OK)
			return;
		e->answers = &answers;
		if (next) {
			const tsr_cache_place_t place = place_of(e, next->access.location);
			e->status = tsr_cache_act(to.cache, next->thread, &next->access, &place,
						  &event);
			steps_take(next, &to.steps, event.value);
		} else {
			e->status = tsr_cache_arrivals(to.cache);
		}
		if (e->status == TSR_OK && (!next || steps_settle(e->test, e->options, &to.steps,
								  next->thread, e->result)))
			explore(e, &to);
		tsr_cache_destroy(to.cache);
	}
}

static void finish(exploration_t *e, const point_t *point)
{
	const litmus_test_t *test = e->test;
	int64_t values[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		values[i] = what->thread >= 0 ? point->steps.reg[what->thread][what->index]
					      : newest(e, point, what->index);
	}
	if ((test->filter < 0 || litmus_holds(test, test->filter, values)) && e->status == TSR_OK)
		e->status = litmus_result_add(test, e->result, values, 1);
}

static void explore(exploration_t *e, point_t *point)
{
	bool ended = true;

	if (!enter(e, point))
		return;
	for (int t = 0; t < e->test->threads && e->status == TSR_OK; t++) {
		steps_access_t next;
		if (steps_ended(e->test, &point->steps, t))
			continue;
		ended = false;
		e->status = steps_decode(e->test, &point->steps, t, &next);
		if (e->status == TSR_OK && spread(e))
			steps_mark_unread(&e->ahead, &next);
		if (e->status == TSR_OK)
			branch_out(e, point, &next, false);
	}
	if (ended && tsr_cache_late(point->cache) == 0)
		finish(e, point);
	else if (!e->variant->eager)
		branch_out(e, point, NULL, ended);
}

/* ------------------------------------------------------------------ the witness */

/** Who is in the same instance of a scope first; that many instances are before. */
static int number_of(const litmus_test_t *test, int thread, litmus_scope_t scope)
{
	int number = 0;

	for (int t = 0; test->thread[t].instance[scope] != test->thread[thread].instance[scope];
	     t++) {
		bool first = true;
		for (int u = 0; u < t; u++)
			first = first &&
				test->thread[u].instance[scope] != test->thread[t].instance[scope];
		number += first;
	}
	return number;
}

static int devices_of(const litmus_test_t *test)
{
	int devices = 0;

	for (int t = 0; t < test->threads; t++) {
		const int device = number_of(test, t, LITMUS_AGENT);
		devices = device >= devices ? device + 1 : devices;
	}
	return devices;
}

/** Blocks and threads of the machine have the test's numbers. */
static void place_threads(exploration_t *e, point_t *point)
{
	int number, blocks = 0;

	for (int t = 0; t < e->test->threads && e->status == TSR_OK; t++) {
		const int block = number_of(e->test, t, LITMUS_WG);
		if (block == blocks) {
			e->status =
				tsr_cache_add_block(point->cache,
						    number_of(e->test, t, LITMUS_AGENT), &number);
			blocks++;
		}
		if (e->status == TSR_OK)
			e->status = tsr_cache_add_thread(point->cache, block, &number);
	}
}

static void begin(exploration_t *e, point_t *point)
{
	const litmus_test_t *test = e->test;
	const int count = regions(e);
	const tsr_cache_config_t config = {
		.devices = e->devices + spread(e),
		.node = spread(e) ? e->node : NULL,
		.buffered_stores = e->variant->unbuffered ? 0 : MOST_BUFFERED,
		.fills = e->variant->fills,
		.choose = e->variant->eager ? NULL : answer,
		.context = e,
		.mistake = e->variant->mistake,
	};
	int number;

	memset(point, 0, sizeof *point);
	steps_begin(test, &point->steps);
	e->status = tsr_cache_create(&config, &point->cache);
	for (int r = 0; r < count && e->status == TSR_OK; r++) {
		const size_t lines = count > 1 ? 1 : (size_t)test->locations;
		e->status = tsr_cache_add_region(point->cache, home_device(e, r),
						 point->home + (size_t)r * LINE_BYTES,
						 e->variant->packed ? lines * WORD_BYTES
								    : lines * LINE_BYTES,
						 &number);
	}
	if (e->status == TSR_OK)
		place_threads(e, point);
	for (int x = 0; x < test->locations; x++) {
		const uint64_t value = (uint64_t)test->initial[x];
		memcpy(home_of(e, point, x), &value, sizeof value);
	}
}

static void explore_from_the_begin(exploration_t *e)
{
	const litmus_test_t *test = e->test;
	point_t point = {.cache = NULL};
	bool given_up = false;

	begin(e, &point);
	if (e->status == TSR_OK)
		e->status = visited_create(&e->visited);
	for (int t = 0; t < test->threads && e->status == TSR_OK; t++)
		given_up = !steps_settle(test, e->options, &point.steps, t, e->result) || given_up;
	if (e->status == TSR_OK && !given_up)
		explore(e, &point);
	visited_destroy(&e->visited);
	tsr_cache_destroy(point.cache);
}

/* ------------------------------------------------------------------ several nodes */

static void place_devices(exploration_t *e)
{
	const int nodes = e->variant->nodes < e->devices ? e->variant->nodes : e->devices;

	for (int d = 0; d < e->devices; d++)
		e->node[d] = d * nodes / e->devices;
	e->node[e->devices] = nodes;
}

/** The next placement of locations, in the order of numbers. False: there is none. */
static bool place_next(exploration_t *e)
{
	int x = 0;

	while (x < e->test->locations && ++e->home[x] > e->devices)
		e->home[x++] = 0;
	return x < e->test->locations;
}

tsr_status_t cache_explore(const litmus_test_t *test, const litmus_options_t *options,
			   const cache_variant_t *variant, litmus_result_t *result)
{
	exploration_t e = {.test = test,
			   .options = options,
			   .variant = variant,
			   .result = result,
			   .budget = budget_begin(test, options),
			   .devices = devices_of(test)};

	ahead_find(test, &e.ahead);
	place_devices(&e);
	do {
		explore_from_the_begin(&e);
	} while (e.status == TSR_OK && spread(&e) && place_next(&e));
	for (int i = 0; i < result->count; i++)
		result->states[i].count = 1; /* several ways to one state are no frequency */
	return e.status;
}

static tsr_status_t run(const litmus_test_t *test, const litmus_options_t *options,
			litmus_result_t *result)
{
	const cache_variant_t variant = {.nodes = options->nodes};

	return cache_explore(test, options, &variant, result);
}

const litmus_witness_t litmus_cache = {
	.name = "cache",
	.summary = "the cache machine, explored exhaustively; judges no races",
	.run = run,
};

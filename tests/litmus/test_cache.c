/*
 * The cache machine against the axioms, explored exhaustively: over the
 * race-free tests of the oracle it shows nothing that they forbid and
 * everything that sequential consistency has, and over racy ones it shows the
 * stale data that it is there for.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/witnesses/witness_of_caches.h"
#include "tessera/program.h"

static const litmus_options_t options = {.unroll = 2};

/* ------------------------------------------------------------------ the oracle's tests */

/** Told of each test; false ends the reading. */
typedef bool (*test_fn)(const litmus_test_t *test, void *context);

/** A file of the oracle, found beside this source from where the build runs its tests. */
static FILE *open_oracle(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%.*s/../../model/memory/oracle/%s",
		 (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__, name);
	FILE *file = fopen(path, "r");
	cr_assert(file != NULL, "cannot read %s", path);
	return file;
}

/** The generated tests. Returns how many were visited. */
static int visit_generated(test_fn visit, void *context)
{
	static char line[1 << 16];
	static litmus_test_t test;
	FILE *file = open_oracle("litmus.jsonl");
	bool more = true;
	int count = 0;

	while (more && fgets(line, sizeof line, file)) {
		json_t *one = json_loads(line, 0, NULL);
		const char *text = json_string_value(json_object_get(one, "litmus"));
		cr_assert(text && litmus_parse("oracle", text, &test) == TSR_OK, "%s",
			  tsr_last_error());
		more = visit(&test, context);
		count++;
		json_decref(one);
	}
	fclose(file);
	return count;
}

/* ------------------------------------------------------------------ comparing */

typedef struct comparison {
	cache_variant_t variant;
	int most_threads;   /* of the tests to look at */
	bool until_unsound; /* the first such ends the comparison */
	int tests;          /* race-free ones */
	/* tests with an outcome that the axioms forbid, and such that lack one of interleavings */
	int unsound, losing;
	char first[LITMUS_MAX_NAME];
} comparison_t;

static bool within(const litmus_test_t *test, const litmus_result_t *a, const litmus_result_t *b)
{
	for (int i = 0; i < a->count; i++)
		if (!litmus_result_has(test, b, a->states[i].values))
			return false;
	return true;
}

static void run_all(const litmus_test_t *test, const cache_variant_t *variant,
		    litmus_result_t *shown, litmus_result_t *in_turns)
{
	cr_assert(cache_explore(test, &options, variant, shown) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
	cr_assert(litmus_interleaving.run(test, &options, in_turns) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
}

static bool compare(const litmus_test_t *test, void *context)
{
	comparison_t *c = context;
	litmus_result_t allowed = {.count = 0}, in_turns = {.count = 0}, shown = {.count = 0};

	if (test->threads > c->most_threads)
		return true;
	cr_assert(litmus_axioms.run(test, &options, &allowed) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
	if (!allowed.races) {
		run_all(test, &c->variant, &shown, &in_turns);
		if (!within(test, &shown, &allowed) && c->unsound++ == 0)
			snprintf(c->first, sizeof c->first, "%s", test->name);
		c->losing += !within(test, &in_turns, &shown);
		c->tests++;
	}
	litmus_result_free(&allowed);
	litmus_result_free(&in_turns);
	litmus_result_free(&shown);
	return !(c->until_unsound && c->unsound);
}

static void expect_sound(const cache_variant_t *variant, int most_threads, int least)
{
	comparison_t c = {.variant = *variant, .most_threads = most_threads};

	cr_expect_eq(visit_generated(compare, &c), 2000);
	cr_expect(c.tests >= least, "%d race-free tests", c.tests);
	cr_expect_eq(c.unsound, 0, "%d tests show what the axioms forbid, such as %s", c.unsound,
		     c.first);
	cr_expect_eq(c.losing, 0, "%d tests lack an interleaving", c.losing);
}

/* ------------------------------------------------------------------ sound */

Test(cache_oracle, it_shows_nothing_forbidden_and_every_interleaving)
{
	expect_sound(&(cache_variant_t){.packed = false}, LITMUS_MAX_THREADS, 900);
}

Test(cache_oracle, nor_where_locations_share_lines)
{
	expect_sound(&(cache_variant_t){.packed = true}, LITMUS_MAX_THREADS, 900);
}

Test(cache_oracle, nor_where_devices_have_the_memory)
{
	expect_sound(&(cache_variant_t){.at_devices = true}, LITMUS_MAX_THREADS, 900);
}

Test(cache_oracle, nor_where_lines_are_cached_unasked)
{
	expect_sound(&(cache_variant_t){.packed = true, .fills = true}, 2, 500);
	expect_sound(&(cache_variant_t){.at_devices = true, .fills = true}, 2, 500);
}

static bool compare_eager(const litmus_test_t *test, void *context)
{
	static const cache_variant_t eager = {.eager = true};
	litmus_result_t in_turns = {.count = 0}, shown = {.count = 0};
	int *different = context;

	run_all(test, &eager, &shown, &in_turns);
	*different += !within(test, &shown, &in_turns) || !within(test, &in_turns, &shown);
	litmus_result_free(&in_turns);
	litmus_result_free(&shown);
	return true;
}

Test(cache_oracle, by_default_it_interleaves)
{
	int different = 0;

	visit_generated(compare_eager, &different);
	cr_expect_eq(different, 0, "%d tests, racy ones among them, show other than interleavings",
		     different);
}

/* ------------------------------------------------------------------ mistakes are seen */

static void expect_caught(tsr_cache_mistake_t mistake, bool fills)
{
	comparison_t c = {.variant = {.packed = fills, .fills = fills, .mistake = mistake},
			  .most_threads = fills ? 2 : LITMUS_MAX_THREADS,
			  .until_unsound = true};

	visit_generated(compare, &c);
	cr_expect_eq(c.unsound, 1, "mistake %d passes %d tests", (int)mistake, c.tests);
}

Test(cache_oracle, each_mistake_shows_something_forbidden)
{
	expect_caught(TSR_CACHE_RELEASE_WRITES_NOTHING_BACK, false);
	expect_caught(TSR_CACHE_RELEASE_OVERTAKES, false);
	/* what it keeps must have been cached before it */
	expect_caught(TSR_CACHE_ACQUIRE_DROPS_NOTHING, true);
	expect_caught(TSR_CACHE_UPDATE_STAYS_NEAR, false);
	expect_caught(TSR_CACHE_STORES_SWAP, false);
	expect_caught(TSR_CACHE_SEQ_CST_OVERTAKES, false);
	expect_caught(TSR_CACHE_DEVICE_LEVEL_IS_NEAR, false);
}

/* ------------------------------------------------------------------ stale data */

static bool shows(const char *name, const cache_variant_t *variant)
{
	static char text[1 << 14];
	static litmus_test_t test;
	litmus_result_t result = {.count = 0};
	char file_name[64];
	bool shown = false;

	snprintf(file_name, sizeof file_name, "core/%s.litmus", name);
	FILE *file = open_oracle(file_name);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	cr_assert(litmus_parse(name, text, &test) == TSR_OK, "%s", tsr_last_error());
	cr_assert(cache_explore(&test, &options, variant, &result) == TSR_OK, "%s",
		  tsr_last_error());
	for (int i = 0; i < result.count; i++)
		shown = shown || litmus_holds(&test, test.question, result.states[i].values);
	litmus_result_free(&result);
	return shown;
}

/*
 * The scopes of release and acquire (w: block, a: device, s: system), by where
 * the two threads are.
 */
Test(cache_oracle, message_passing_is_stale_where_a_scope_is_too_narrow)
{
	static const cache_variant_t apart = {.packed = false}, filled = {.fills = true};
	static const char *const stale[] = {"sameGPU-ww", "sameGPU-wa", "sameGPU-ws",
					    "diffGPU-ww", "diffGPU-wa", "diffGPU-ws",
					    "diffGPU-aw", "diffGPU-aa", "diffGPU-as"};
	static const char *const late[] = {"sameGPU-aw", "sameGPU-sw", "diffGPU-sw", "diffGPU-sa"};
	static const char *const never[] = {"sameWG-ww",  "sameWG-wa",  "sameWG-aa",
					    "sameWG-ss",  "sameGPU-aa", "sameGPU-as",
					    "sameGPU-sa", "sameGPU-ss", "diffGPU-ss"};
	char name[64];

	for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
		snprintf(name, sizeof name, "MP.rel.acq.%s", stale[i]);
		cr_expect(shows(name, &apart), "%s", name);
	}
	/* the reader must have had the line before */
	for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
		snprintf(name, sizeof name, "MP.rel.acq.%s", late[i]);
		cr_expect(!shows(name, &apart), "%s", name);
		cr_expect(shows(name, &filled), "%s, with lines cached unasked", name);
	}
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		snprintf(name, sizeof name, "MP.rel.acq.%s", never[i]);
		cr_expect(!shows(name, &apart) && !shows(name, &filled), "%s", name);
	}
}

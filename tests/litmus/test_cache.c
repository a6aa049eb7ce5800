/*
 * The cache machine against the axioms, explored exhaustively: over the
 * race-free tests of the oracle it shows nothing that they forbid and
 * everything that sequential consistency has, and over racy ones it shows the
 * stale data that it is there for.
 */
#include "tests/litmus/cache_oracle.h"

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
	char name[128];

	for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
		snprintf(name, sizeof name, "../../model/memory/oracle/core/MP.rel.acq.%s.litmus",
			 stale[i]);
		cr_expect(shows(name, &apart), "%s", name);
	}
	/* the reader must have had the line before */
	for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
		snprintf(name, sizeof name, "../../model/memory/oracle/core/MP.rel.acq.%s.litmus",
			 late[i]);
		cr_expect(!shows(name, &apart), "%s", name);
		cr_expect(shows(name, &filled), "%s, with lines cached unasked", name);
	}
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		snprintf(name, sizeof name, "../../model/memory/oracle/core/MP.rel.acq.%s.litmus",
			 never[i]);
		cr_expect(!shows(name, &apart) && !shows(name, &filled), "%s", name);
	}
}

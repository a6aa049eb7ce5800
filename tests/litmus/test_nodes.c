/*
 * The cache machine on several nodes against the axioms, explored exhaustively,
 * with each location at each device: it shows nothing that they forbid, and of
 * what is weak what queues between nodes allow. Each mistake that a port could
 * make between nodes shows something forbidden.
 */
#include "tests/litmus/cache_oracle.h"

enum { EACH_ITS_OWN = LITMUS_MAX_THREADS };

/* ------------------------------------------------------------------ sound */

Test(nodes, on_several_it_shows_nothing_forbidden_and_every_interleaving)
{
	expect_sound(&(cache_variant_t){.nodes = EACH_ITS_OWN}, LITMUS_MAX_THREADS, 900);
}

Test(nodes, nor_where_some_devices_share_one)
{
	expect_sound(&(cache_variant_t){.nodes = 2}, LITMUS_MAX_THREADS, 900);
}

Test(nodes, nor_where_lines_are_cached_unasked)
{
	expect_sound(&(cache_variant_t){.nodes = EACH_ITS_OWN, .fills = true}, 2, 500);
}

/* ------------------------------------------------------------------ what is weak */

static bool shown_on(const char *name, int nodes)
{
	char path[128];

	snprintf(path, sizeof path, "%s.litmus", name);
	return shows(path, &(cache_variant_t){.nodes = nodes, .unbuffered = true});
}

/* Threads have no store buffers here, so that only queues can have anything under way. */
Test(nodes, queues_alone_make_what_is_relaxed_late)
{
	static const char *const weak[] = {
		"MP.rlx.rlx.diffGPU-ss", "MP.add.rlx.diffGPU-ss", "SB.rlx.diffGPU-ss",
		"S.rlx.diffGPU-ss",      "2+2W.rlx.diffGPU-ss",   "R.ra.diffGPU-ss",
	};

	for (size_t i = 0; i < sizeof weak / sizeof *weak; i++) {
		cr_expect(shown_on(weak[i], EACH_ITS_OWN), "%s", weak[i]);
		cr_expect(!shown_on(weak[i], 1), "%s on one node", weak[i]);
	}
}

/* A location has one home, and reads wait for their answers one after the other. */
Test(nodes, they_do_not_show_what_needs_more_than_one_copy_or_reads_under_way)
{
	static const char *const unseen[] = {"IRIW.ra.diffGPU-ssss", "WRC.rlx.diffGPU-sss",
					     "LB.rlx.diffGPU-ss"};

	for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
		cr_expect(!shown_on(unseen[i], EACH_ITS_OWN), "%s", unseen[i]);
}

/* ------------------------------------------------------------------ mistakes are seen */

/** A test that forbids its outcome, and whether a machine with a mistake shows it. */
static void expect_told(const char *name, tsr_cache_mistake_t mistake)
{
	const cache_variant_t right = {.nodes = EACH_ITS_OWN},
			      wrong = {.nodes = EACH_ITS_OWN, .mistake = mistake},
			      near = {.mistake = mistake};
	char path[128];

	snprintf(path, sizeof path, "%s.litmus", name);
	cr_expect(!shows(path, &right), "%s", name);
	cr_expect(shows(path, &wrong), "%s passes mistake %d", name, (int)mistake);
	cr_expect(!shows(path, &near), "%s: mistake %d is seen on one node", name, (int)mistake);
}

Test(nodes, a_release_that_flushes_only_the_peer_that_it_signals_is_seen)
{
	expect_told("MP.rel.acq.diffGPU-ss", TSR_CACHE_FLUSHES_ONE_PEER);
	expect_told("MP.rmw.diffGPU-ss", TSR_CACHE_FLUSHES_ONE_PEER);
	expect_told("MP.add.ra.diffGPU-ss", TSR_CACHE_FLUSHES_ONE_PEER);
	/* A puts to C and signals B, which signals C */
	expect_told("ISA2.ra.diffGPU-ss", TSR_CACHE_FLUSHES_ONE_PEER);
	/* another block of the rank has put */
	expect_told("ISA2.ra.GPU+SYS-as", TSR_CACHE_FLUSHES_ONE_PEER);
}

Test(nodes, a_signal_that_goes_before_the_flush_is_seen)
{
	expect_told("MP.rel.acq.diffGPU-ss", TSR_CACHE_SIGNALS_BEFORE_FLUSH);
	expect_told("MP.rmw.diffGPU-ss", TSR_CACHE_SIGNALS_BEFORE_FLUSH);
	expect_told("ISA2.ra.diffGPU-ss", TSR_CACHE_SIGNALS_BEFORE_FLUSH);
}

Test(nodes, an_answer_that_comes_before_earlier_stores_have_landed_is_seen)
{
	expect_told("CoWINC.rlx.diffGPU-ss", TSR_CACHE_ANSWERS_EARLY);
}

Test(nodes, stores_of_one_rank_to_one_peer_that_swap_are_seen)
{
	expect_told("CoWW.rlx.diffGPU-ss", TSR_CACHE_COMMANDS_SWAP);
}

/*
 * A seq_cst store may travel as any release does, because seq_cst loads wait
 * for it. Threads have no store buffers here: it is the queues that are seen.
 */
Test(nodes, a_seq_cst_load_that_does_not_wait_for_its_rank_is_seen)
{
	cache_variant_t wrong = {
		.nodes = EACH_ITS_OWN, .unbuffered = true, .mistake = TSR_CACHE_SEQ_CST_OVERTAKES};

	cr_expect(shows("SB.sc.diffGPU-ss.litmus", &wrong));
	wrong.nodes = 1;
	cr_expect(!shows("SB.sc.diffGPU-ss.litmus", &wrong));
}

/** The first generated test that tells the machine with the mistake from the axioms. */
static void expect_caught_by_the_oracle(tsr_cache_mistake_t mistake)
{
	comparison_t c = {.variant = {.nodes = EACH_ITS_OWN, .mistake = mistake},
			  .most_threads = LITMUS_MAX_THREADS,
			  .until_unsound = true};

	visit_generated(compare, &c);
	cr_expect_eq(c.unsound, 1, "mistake %d passes %d tests", (int)mistake, c.tests);
}

Test(nodes, each_mistake_shows_something_forbidden_in_generated_tests_too)
{
	expect_caught_by_the_oracle(TSR_CACHE_FLUSHES_ONE_PEER);
	expect_caught_by_the_oracle(TSR_CACHE_SIGNALS_BEFORE_FLUSH);
	expect_caught_by_the_oracle(TSR_CACHE_ANSWERS_EARLY);
	expect_caught_by_the_oracle(TSR_CACHE_COMMANDS_SWAP);
}

/* A puts to C, signals B, B signals C: A and B may share a node, and B is not far. */
Test(nodes, the_transitive_put_needs_a_third_rank_and_no_third_node)
{
	const cache_variant_t wrong = {.nodes = 2, .mistake = TSR_CACHE_FLUSHES_ONE_PEER};

	cr_expect(shows("ISA2.ra.diffGPU-ss.litmus", &wrong));
}

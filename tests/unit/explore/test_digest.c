/* Digests of schedules: what leaves no trace on any object is told apart all the same. */
#include "explore_toy.h"

/**
 * What happened, as `result` tells, and the digest: in random runs the one must
 * tell what the other does.
 */
static void check_told_apart(const toy_fn *bodies, int count, int outcomes)
{
	enum { SEEDS = 400 };
	uint64_t digest[SEEDS][2];
	int result[SEEDS], distinct = 0, mistaken = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = NULL;
		cr_assert(tsr_strategy_random(seed, &strategy) == TSR_OK);
		cr_assert(toy_run(&toy, strategy, bodies, count) == TSR_EXPLORER_DONE);
		tsr_explorer_digest(toy.explorer, digest[seed]);
		result[seed] = toy.result[0];
		bool known = false;
		for (uint64_t i = 0; i < seed; i++) {
			known = known || result[i] == result[seed];
			mistaken += result[i] != result[seed] &&
				    memcmp(digest[i], digest[seed], sizeof digest[i]) == 0;
		}
		distinct += !known;
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
	cr_expect_eq(distinct, outcomes);
	cr_expect_eq(mistaken, 0);
}

/*
 * What the caches do at one point leaves no other trace in the digest: two such
 * choices in different places are different.
 */
static void ask_caches(toy_t *toy, int self)
{
	for (int i = 0; i < 3; i++) {
		toy_load(toy, self, 0, 1);
		toy->result[0] |= tsr_explorer_choose(toy->explorer, TSR_CHOICE_CACHE, 2) << i;
	}
}

Test(explorer, a_digest_tells_where_caches_chose)
{
	static const toy_fn bodies[] = {ask_caches};
	check_told_apart(bodies, 1, 8);
}

/* Nobody can go on, so that a deadline expires, of a task that does nothing afterwards. */
static void expire(toy_t *toy, int self)
{
	cr_assert(toy_await((toy_wait_t){.toy = toy, .cell = self, .value = 1},
			    TSR_DEADLINE_LAST) == TSR_AWAIT_EXPIRED);
	if (toy->result[0] == 0)
		toy->result[0] = self + 1;
}

Test(explorer, a_digest_tells_whose_deadline_expired)
{
	static const toy_fn bodies[] = {expire, expire, expire};
	check_told_apart(bodies, 3, 3);
}

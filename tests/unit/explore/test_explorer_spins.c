/* The explorer: tasks that spin, and deadlines that expire. */
#include "explore_toy.h"

/* ------------------------------------------------------------------ spinning */

static void spin_for_flag(toy_t *toy, int self)
{
	while (toy_load_weak(toy, self, 0, 60) == 0)
		;
	toy->result[self] = 1;
}

/** By every strategy, three tasks end within `steps` steps; the first `ends` have results. */
static void all_end(const toy_fn *bodies, int ends, uint64_t steps)
{
	for (int kind = -1; kind < 2; kind++)
		for (uint64_t seed = 0; seed < 200; seed++) {
			toy_t toy = {0};
			tsr_strategy_t *strategy = kind < 0 ? NULL : strategy_of(kind, seed);
			cr_assert(toy_run(&toy, strategy, bodies, 3) == TSR_EXPLORER_DONE,
				  "strategy %d, seed %d", kind, (int)seed);
			for (int task = 0; task < ends; task++)
				cr_assert(toy.result[task]);
			cr_assert(tsr_explorer_count(toy.explorer).steps < steps, "%d steps",
				  (int)tsr_explorer_count(toy.explorer).steps);
			tsr_strategy_destroy(strategy);
			toy_end(&toy);
		}
}

Test(explorer, a_spinner_starves_nobody_and_does_not_starve)
{
	static const toy_fn bodies[] = {spin_for_flag, spin_for_flag, raise_late};
	all_end(bodies, 2, 2000);
}

/*
 * A loop that changes something at each turn is no spinner to begin with, and
 * must let others go on all the same.
 */
static void count_while_waiting(toy_t *toy, int self)
{
	while (toy_load(toy, self, 0, 61) == 0) {
		toy_point(toy, TSR_PENDING_UPDATE, 2, 62);
		tsr_explorer_acted(toy->explorer,
				   &(tsr_acted_t){(uint64_t)toy->result[self]++, true, true});
	}
}

Test(explorer, a_loop_that_counts_its_turns_lets_others_go_on)
{
	static const toy_fn bodies[] = {count_while_waiting, raise_late};
	for (uint64_t seed = 0; seed < 50; seed++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = strategy_of(1, seed);
		cr_assert(toy_run(&toy, strategy, bodies, 2) == TSR_EXPLORER_DONE);
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
}

/* Reads the same 2000 times and does not wait for anything. */
static void read_often(toy_t *toy, int self)
{
	for (int i = 0; i < 2000; i++)
		toy_load(toy, self, 0, 63);
}

Test(explorer, who_reads_the_same_often_is_not_stuck)
{
	static const toy_fn bodies[] = {read_often, read_often};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 2) == TSR_EXPLORER_DONE);
	toy_end(&toy);
}

/* Long after its reads have made it a spinner it still changes something at each turn. */
static void count_alone(toy_t *toy, int self)
{
	for (uint64_t i = 0; i < 70000; i++) {
		toy_load(toy, self, 0, 64);
		toy_point(toy, TSR_PENDING_UPDATE, 2, 65);
		tsr_explorer_acted(toy->explorer, &(tsr_acted_t){i, true, true});
	}
}

Test(explorer, who_changes_something_is_not_stuck)
{
	static const toy_fn bodies[] = {count_alone};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 1) == TSR_EXPLORER_DONE);
	toy_end(&toy);
}

/* A strategy that would show the stale value for ever. */
Test(explorer, a_spinner_sees_the_newest_in_the_end)
{
	static const toy_fn bodies[] = {raise_late, spin_for_flag};
	enum { CHOICES = 1000 };
	tsr_deviation_t deviations[CHOICES];
	const tsr_script_t script = {deviations, CHOICES};
	tsr_strategy_t *strategy = NULL;
	toy_t toy = {0};

	for (uint32_t i = 0; i < CHOICES; i++)
		deviations[i] = (tsr_deviation_t){i, 1};
	cr_assert(tsr_strategy_scripted(&script, &strategy) == TSR_OK);
	cr_assert(toy_run(&toy, strategy, bodies, 2) == TSR_EXPLORER_DONE);
	cr_expect(tsr_strategy_choices(strategy) < CHOICES / 2 &&
		  tsr_strategy_script(strategy).count > 10);
	tsr_strategy_destroy(strategy);
	toy_end(&toy);
}

/* ------------------------------------------------------------------ what is put back */

/* Cells of these tests: their only value is the first of the history. */
enum { LOCK = 2, WORD = 3 };

/** An access that says which value it found and which it left. */
static uint64_t swap_value(toy_t *toy, tsr_pending_kind_t kind, int cell, uint64_t value, int line)
{
	toy_point(toy, kind, cell, line);
	const uint64_t before = toy->history[cell][0];
	if (kind != TSR_PENDING_READ)
		toy->history[cell][0] = value;
	const uint64_t after = toy->history[cell][0];
	tsr_explorer_value(toy->explorer, 100 + (uint64_t)cell, before, after);
	tsr_explorer_acted(toy->explorer,
			   &(tsr_acted_t){kind == TSR_PENDING_WRITE ? after : before,
					  kind != TSR_PENDING_READ, after != before});
	return before;
}

/** Takes the lock, looks at the word or writes it, and releases the lock. */
static uint64_t relock(toy_t *toy, tsr_pending_kind_t kind, uint64_t value)
{
	while (swap_value(toy, TSR_PENDING_UPDATE, LOCK, 1, 70) != 0)
		;
	const uint64_t seen = swap_value(toy, kind, WORD, value, 71);
	swap_value(toy, TSR_PENDING_WRITE, LOCK, 0, 72);
	return seen;
}

static void relock_until_set(toy_t *toy, int self)
{
	while (relock(toy, TSR_PENDING_READ, 0) == 0)
		;
	toy->result[self] = 1;
}

static void set_under_lock(toy_t *toy, int self)
{
	relock(toy, TSR_PENDING_WRITE, 1);
	toy->result[self] = 1;
}

Test(explorer, a_loop_that_puts_back_what_it_changes_gives_way)
{
	static const toy_fn bodies[] = {relock_until_set, relock_until_set, set_under_lock};
	all_end(bodies, 3, 5000);
}

Test(explorer, loops_that_put_back_what_they_change_are_stuck_together)
{
	static const toy_fn bodies[] = {relock_until_set, relock_until_set, relock_until_set};
	for (int kind = -1; kind < 2; kind++)
		for (uint64_t seed = 0; seed < 10; seed++) {
			toy_t toy = {0};
			tsr_stuck_t *stuck;
			tsr_strategy_t *strategy = kind < 0 ? NULL : strategy_of(kind, seed);
			cr_assert(toy_run(&toy, strategy, bodies, 3) == TSR_EXPLORER_STUCK,
				  "strategy %d, seed %d", kind, (int)seed);
			cr_assert(tsr_explorer_stuck(toy.explorer, &stuck) == TSR_OK);
			cr_expect_eq(stuck->class, TSR_STUCK_LIVELOCK);
			for (int i = 0; i < stuck->nodes; i++)
				cr_expect_eq(stuck->node[i].site.line, 71, "line %d",
					     stuck->node[i].site.line);
			tsr_stuck_destroy(stuck);
			tsr_strategy_destroy(strategy);
			toy_end(&toy);
		}
}

/* Plain memory that changes at each turn is progress that no object shows. */
static void relock_and_write(toy_t *toy, int self)
{
	for (int i = 0; i < 20000; i++) {
		relock(toy, TSR_PENDING_READ, 0);
		tsr_explorer_news(toy->explorer);
	}
	toy->result[self] = 1;
}

Test(explorer, a_loop_that_changes_plain_memory_is_not_stuck)
{
	static const toy_fn bodies[] = {relock_and_write, relock_and_write};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 2) == TSR_EXPLORER_DONE);
	toy_end(&toy);
}

/* ------------------------------------------------------------------ what is late */

/** Cell 1 is written where nobody sees it, and comes with what is late: at most once. */
static bool bring(void *context)
{
	toy_t *toy = context;
	const bool due = toy->bug == 1;
	if (due)
		toy->history[1][++toy->written[1]] = 1;
	toy->bug = 2;
	return due;
}

static void write_unseen(toy_t *toy, int self)
{
	toy_point(toy, TSR_PENDING_WRITE, 1, 65);
	tsr_explorer_acted(toy->explorer, &(tsr_acted_t){1, true, true});
	toy->bug = 1;
	toy->result[self] = 1;
}

static void await_unseen(toy_t *toy, int self)
{
	toy->result[self] = 1 + (int)toy_await((toy_wait_t){.toy = toy, .cell = 1, .value = 1},
					       TSR_DEADLINE_LAST);
}

static void spin_for_unseen(toy_t *toy, int self)
{
	while (toy_load(toy, self, 1, 66) == 0)
		;
	toy->result[self] = 1;
}

Test(explorer, what_is_late_comes_before_anybody_is_stuck_or_expires)
{
	static const toy_fn bodies[] = {await_unseen, spin_for_unseen, write_unseen};
	for (int kind = 0; kind < 2; kind++)
		for (uint64_t seed = 0; seed < 50; seed++) {
			toy_t toy = {0};
			tsr_strategy_t *strategy = strategy_of(kind, seed);
			const tsr_explorer_config_t config = {.strategy = strategy,
							      .step_bound = 1000000,
							      .late = bring,
							      .context = &toy};
			cr_assert(toy_begin(&toy, config, bodies, 3) == TSR_EXPLORER_DONE,
				  "strategy %d, seed %d", kind, (int)seed);
			cr_assert_eq(toy.result[0], 1 + TSR_AWAIT_OK);
			cr_assert(toy.result[1] && toy.result[2]);
			cr_assert(tsr_explorer_count(toy.explorer).steps < 2000, "%d steps",
				  (int)tsr_explorer_count(toy.explorer).steps);
			tsr_strategy_destroy(strategy);
			toy_end(&toy);
		}
}

/* ------------------------------------------------------------------ deadlines */

static void wait_briefly(toy_t *toy, int self)
{
	toy->result[self] =
		(int)toy_await((toy_wait_t){.toy = toy, .cell = 0, .value = 1}, TSR_DEADLINE_ANY);
}

static void wait_long(toy_t *toy, int self)
{
	toy->result[self] =
		(int)toy_await((toy_wait_t){.toy = toy, .cell = 0, .value = 1}, TSR_DEADLINE_LAST);
}

static void raise_0(toy_t *toy, int self)
{
	toy_store(toy, self, 0, 1);
}

Test(explorer, deadlines_expire_by_choice_or_when_nobody_goes_on)
{
	static const toy_fn raised[] = {wait_long, wait_briefly, raise_0},
			    lost[] = {wait_long, wait_long};
	int expired = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = strategy_of(0, seed);
		cr_assert(toy_run(&toy, strategy, raised, 3) == TSR_EXPLORER_DONE);
		cr_assert_eq(toy.result[0], TSR_AWAIT_OK);
		expired += toy.result[1] == TSR_AWAIT_EXPIRED;
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
	cr_expect(expired > 0 && expired < 200, "%d of 200 expired", expired);

	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, lost, 2) == TSR_EXPLORER_DONE);
	cr_expect(toy.result[0] == TSR_AWAIT_EXPIRED && toy.result[1] == TSR_AWAIT_EXPIRED);
	toy_end(&toy);
}

/* Where nobody can go on: the wait-for graph, what it is called, and who is on the cycle. */
#include <stdio.h>

#include "explore_toy.h"

static tsr_stuck_t *stuck_of(const toy_t *toy)
{
	tsr_stuck_t *stuck = NULL;
	cr_assert(tsr_explorer_stuck(toy->explorer, &stuck) == TSR_OK);
	return stuck;
}

static bool waits(const tsr_stuck_t *stuck, int from, int to)
{
	for (int i = 0; i < stuck->edges; i++)
		if (stuck->edge[i].from == from && stuck->edge[i].to == to)
			return true;
	return false;
}

/** Each on the cycle waits for the next, and the last for the first, or is the root. */
static void check_cycle(const tsr_stuck_t *stuck, int count)
{
	cr_assert_eq(stuck->cycle_count, count);
	for (int i = 0; i < count; i++)
		cr_expect(stuck->node[stuck->cycle[i]].root ||
				  waits(stuck, stuck->cycle[i], stuck->cycle[(i + 1) % count]),
			  "%d on the cycle", i);
}

static tsr_blocker_t task(int number)
{
	return (tsr_blocker_t){TSR_BLOCKER_TASK, number};
}

static tsr_blocker_t workers(int rank)
{
	return (tsr_blocker_t){TSR_BLOCKER_WORKERS, rank};
}

static void wait_for(toy_t *toy, int cell, tsr_blocker_t blocker)
{
	toy_await((toy_wait_t){.toy = toy,
			       .cell = cell,
			       .value = 1,
			       .blocker = &blocker,
			       .blockers = 1},
		  TSR_DEADLINE_NONE);
}

/* ------------------------------------------------------------------ deadlocks */

static void crossed(toy_t *toy, int self)
{
	wait_for(toy, self, workers(1 - self)); /* what the other raises after its own wait */
	toy_store(toy, self, 1 - self, 1);
}

Test(stuck, crossed_waits_are_a_deadlock)
{
	static const toy_fn bodies[] = {crossed, crossed};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 2) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_assert_str_eq(tsr_stuck_name(stuck->class), "deadlock");
	cr_assert_eq(stuck->nodes, 2);
	cr_expect_eq(stuck->edges, 2);
	check_cycle(stuck, 2);
	cr_assert_str_eq(stuck->node[1].sentence, "cell 1 >= 1, last seen 0");
	cr_expect(stuck->node[1].site.line == 8 && stuck->node[1].task == 1 &&
		  stuck->node[1].who.rank == 1);
	cr_expect_eq(stuck->node[0].kind, TSR_AWAIT_FLAG);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

static void in_a_ring(toy_t *toy, int self)
{
	if (self < 5)
		wait_for(toy, 0, task((self + 1) % 5));
	else
		/* for somebody on the ring, and nobody waits for it */
		wait_for(toy, 0, task(self - 5));
}

Test(stuck, a_ring_is_shown_without_those_who_hang_on_it)
{
	static const toy_fn bodies[] = {in_a_ring, in_a_ring, in_a_ring, in_a_ring,
					in_a_ring, in_a_ring, in_a_ring};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 7) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect_eq(stuck->class, TSR_STUCK_DEADLOCK);
	check_cycle(stuck, 5);
	cr_expect(waits(stuck, 5, 0) && waits(stuck, 6, 1));
	cr_expect_eq(stuck->edges, 7);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

static void wait_for_anybody(toy_t *toy, int self)
{
	(void)self;
	toy_wait(toy, 0, 1);
}

Test(stuck, of_many_edges_some_are_shown)
{
	static const toy_fn bodies[] = {wait_for_anybody, wait_for_anybody, wait_for_anybody,
					wait_for_anybody, wait_for_anybody, wait_for_anybody,
					wait_for_anybody, wait_for_anybody, wait_for_anybody,
					wait_for_anybody, wait_for_anybody, wait_for_anybody};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 12) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect_eq(stuck->class, TSR_STUCK_DEADLOCK);
	cr_expect_eq(stuck->edges, 12 * 8);
	check_cycle(stuck, 2);
	for (int i = 1; i < stuck->edges; i++)
		cr_expect(stuck->edge[i - 1].from < stuck->edge[i].from ||
			  stuck->edge[i - 1].to < stuck->edge[i].to);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

/* ------------------------------------------------------------------ lost signals */

static void forget_to_raise(toy_t *toy, int self)
{
	toy_store(toy, self, 3, 1);
}

static void wait_for_rank_0(toy_t *toy, int self)
{
	(void)self;
	wait_for(toy, 0, workers(0));
}

static void wait_for_task_1(toy_t *toy, int self)
{
	(void)self;
	wait_for(toy, 1, task(1));
}

Test(stuck, a_wait_for_those_who_have_ended_is_a_lost_signal)
{
	static const toy_fn bodies[] = {forget_to_raise, wait_for_rank_0, wait_for_task_1};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 3) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_assert_str_eq(tsr_stuck_name(stuck->class), "lost-signal");
	cr_assert_eq(stuck->nodes, 2);
	cr_expect(stuck->node[0].root && stuck->node[0].task == 1);
	cr_expect(!stuck->node[1].root && waits(stuck, 1, 0));
	cr_expect_eq(stuck->edges, 1);
	check_cycle(stuck, 1);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

/* A cycle of its own beside a lost signal: those on it could not go on though the signal came. */
static void lost_or_crossed(toy_t *toy, int self)
{
	wait_for(toy, 0, self == 0 ? task(9) : task(3 - self));
}

Test(stuck, a_cycle_is_told_before_a_lost_signal)
{
	static const toy_fn bodies[] = {lost_or_crossed, lost_or_crossed, lost_or_crossed};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 3) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect_eq(stuck->class, TSR_STUCK_DEADLOCK);
	cr_expect(stuck->node[0].root);
	check_cycle(stuck, 2);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

/*
 * 0 waits for 1 or 2; 2 waits for 0, but 1 for somebody who has ended: with
 * that signal, 1 may go on and help the others.
 */
static void either(toy_t *toy, int self)
{
	const tsr_blocker_t both[] = {{TSR_BLOCKER_TASK, 1}, {TSR_BLOCKER_TASK, 2}},
			    ended = task(3), first = task(0);
	if (self == 3)
		return;
	toy_await((toy_wait_t){.toy = toy,
			       .cell = 0,
			       .value = 1,
			       .blocker = self == 0   ? both
					  : self == 1 ? &ended
						      : &first,
			       .blockers = self == 0 ? 2 : 1},
		  TSR_DEADLINE_NONE);
}

Test(stuck, a_cycle_that_a_lost_signal_explains_is_not_blamed)
{
	static const toy_fn bodies[] = {either, either, either, either};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 4) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect_eq(stuck->class, TSR_STUCK_LOST_SIGNAL);
	check_cycle(stuck, 2); /* from 0 to the root */
	cr_expect(stuck->cycle[0] == 0 && stuck->cycle[1] == 1 && stuck->node[1].root);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

/* ------------------------------------------------------------------ residency */

static void tell_unbegun(void *context, tsr_unbegun_fn tell, void *argument)
{
	static const int resident[] = {0, 1};
	(void)context;
	for (int i = 2; i < 4; i++)
		tell(argument,
		     &(tsr_unbegun_t){.who = {.kind = TSR_TASK_WORKER, .kernel = "toy", .block = i},
				      .waits_for = resident,
				      .count = 2});
}

Test(stuck, a_block_without_room_is_a_matter_of_residency)
{
	static const toy_fn bodies[] = {wait_for_rank_0, wait_for_rank_0};
	toy_t toy = {0};
	cr_assert(toy_begin(&toy, (tsr_explorer_config_t){.unbegun = tell_unbegun}, bodies, 2) ==
		  TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_assert_str_eq(tsr_stuck_name(stuck->class), "residency");
	cr_assert_eq(stuck->nodes, 4);
	cr_expect(stuck->node[2].task == TSR_NO_TASK && stuck->node[2].who.block == 2 &&
		  stuck->node[3].who.block == 3);
	cr_expect(waits(stuck, 2, 0) && waits(stuck, 2, 1) && waits(stuck, 0, 2));
	check_cycle(stuck, 2);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

/* ------------------------------------------------------------------ livelocks */

static void poll_cell_0(toy_t *toy, int self)
{
	while (toy_load_weak(toy, self, 0, 33) == 0)
		;
}

static void poll_by_exchange(toy_t *toy, int self)
{
	while (toy_exchange(toy, self, 2, 1, 34))
		;
	toy_exchange(toy, self, 2, 1, 35); /* takes it, and never gives it back */
}

Test(stuck, a_loop_that_nobody_ends_is_a_livelock)
{
	static const toy_fn bodies[] = {poll_cell_0, poll_by_exchange, poll_by_exchange,
					poll_by_exchange, wait_for_anybody};
	for (uint64_t seed = 0; seed < 20; seed++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = NULL;
		cr_assert(tsr_strategy_pct(seed, 2, 100, &strategy) == TSR_OK);
		cr_assert(toy_run(&toy, strategy, bodies, 5) == TSR_EXPLORER_STUCK);
		tsr_stuck_t *stuck = stuck_of(&toy);
		cr_assert_str_eq(tsr_stuck_name(stuck->class), "livelock");
		cr_assert_eq(stuck->nodes, 4);
		cr_expect(stuck->node[0].kind == TSR_AWAIT_SPIN && stuck->node[0].site.line == 33);
		cr_expect(stuck->node[1].kind == TSR_AWAIT_SPIN && stuck->node[1].site.line == 34);
		cr_expect(stuck->node[2].kind == TSR_AWAIT_SPIN && stuck->node[2].site.line == 34);
		cr_expect_eq(stuck->node[3].kind, TSR_AWAIT_FLAG);
		tsr_stuck_destroy(stuck);
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
}

Test(stuck, one_alone_waits_for_nobody)
{
	static const toy_fn bodies[] = {wait_for_anybody}, spinner[] = {poll_cell_0};
	toy_t toy = {0}, other = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 1) == TSR_EXPLORER_STUCK);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect(stuck->class == TSR_STUCK_LOST_SIGNAL && stuck->node[0].root &&
		  stuck->edges == 0);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);

	cr_assert(toy_run(&other, NULL, spinner, 1) == TSR_EXPLORER_STUCK);
	stuck = stuck_of(&other);
	cr_expect(stuck->class == TSR_STUCK_LIVELOCK && stuck->cycle_count == 0);
	tsr_stuck_destroy(stuck);
	toy_end(&other);
}

/** A run that ends in a livelock, where the livelocks that are known are `known`. */
typedef struct livelock_run {
	uint64_t key, digest[2], steps, choices, switches;
} livelock_run_t;

static bool knows(void *context, uint64_t key)
{
	const uint64_t *known = context;
	return *known == key;
}

static livelock_run_t run_livelock(const toy_fn *bodies, int count, uint64_t known)
{
	toy_t toy = {0};
	tsr_strategy_t *strategy = NULL;
	livelock_run_t run;
	const tsr_explorer_config_t config = {
		.step_bound = 160000, .known = knows, .context = &known};
	cr_assert(tsr_strategy_random(3, &strategy) == TSR_OK);
	tsr_explorer_config_t with = config;
	with.strategy = strategy;
	const tsr_explorer_end_t end = toy_begin(&toy, with, bodies, count);
	cr_assert(end == TSR_EXPLORER_STUCK || end == TSR_EXPLORER_BOUND);
	cr_assert(tsr_explorer_livelock(toy.explorer, &run.key));
	tsr_explorer_digest(toy.explorer, run.digest);
	const tsr_explorer_counts_t counts = tsr_explorer_count(toy.explorer);
	run.steps = counts.steps;
	run.choices = counts.choices;
	run.switches = counts.switches;
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect_eq(stuck->class, TSR_STUCK_LIVELOCK);
	tsr_stuck_destroy(stuck);
	tsr_strategy_destroy(strategy);
	toy_end(&toy);
	return run;
}

/*
 * It ends early, and is told as one that goes on to the bound: what a schedule
 * was does not depend on those before it.
 */
static void check_known(const toy_fn *bodies, int count)
{
	const livelock_run_t whole = run_livelock(bodies, count, 0),
			     other = run_livelock(bodies, count, 1);
	const livelock_run_t early = run_livelock(bodies, count, whole.key);
	cr_expect(memcmp(whole.digest, early.digest, sizeof whole.digest) == 0);
	cr_expect(whole.key == early.key && whole.steps == early.steps &&
		  whole.choices == early.choices);
	cr_expect(early.switches < whole.switches / 8, "%d switches, and %d where it is known",
		  (int)whole.switches, (int)early.switches);
	cr_expect_eq(whole.switches, other.switches, "another livelock is known");
}

static void change_for_ever(toy_t *toy, int self)
{
	for (uint64_t i = 0;; i++) {
		toy_point(toy, TSR_PENDING_UPDATE, 4, 55);
		tsr_explorer_acted(toy->explorer, &(tsr_acted_t){i, true, true});
	}
	(void)self;
}

Test(stuck, a_run_without_end_is_a_livelock)
{
	static const toy_fn bodies[] = {change_for_ever, wait_for_anybody};
	toy_t toy = {0};
	cr_assert(toy_begin(&toy, (tsr_explorer_config_t){.step_bound = 1000}, bodies, 2) ==
		  TSR_EXPLORER_BOUND);
	tsr_stuck_t *stuck = stuck_of(&toy);
	cr_expect_eq(stuck->class, TSR_STUCK_LIVELOCK);
	cr_expect(stuck->node[0].kind == TSR_AWAIT_SPIN && stuck->node[0].site.line == 55);
	check_cycle(stuck, 2);
	tsr_stuck_destroy(stuck);
	toy_end(&toy);
}

static void pass_on_for_ever(toy_t *toy, int self)
{
	for (uint64_t i = 0;; i++) {
		toy_point(toy, TSR_PENDING_UPDATE, self, 56);
		tsr_explorer_acted(toy->explorer, &(tsr_acted_t){i, true, true});
	}
}

Test(stuck, a_livelock_that_is_known_ends_early)
{
	static const toy_fn polling[] = {poll_cell_0, poll_by_exchange, poll_by_exchange,
					 wait_for_anybody};
	static const toy_fn changing[] = {pass_on_for_ever, pass_on_for_ever, pass_on_for_ever};
	check_known(polling, 4);
	check_known(changing, 3);
}

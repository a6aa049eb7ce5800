/*
 * Strategies: scripts, chance, and exhaustive search, which is compared with
 * one that leaves nothing out.
 */
#include <stdio.h>

#include "explore_outcomes.h"

#include "src/tensor/random_core.h"

/* ------------------------------------------------------------------ sets of tasks */

Test(taskset, agrees_with_a_plain_array)
{
	enum { ROOM = 10000 };
	static bool plain[ROOM];
	tsr_taskset_t set = {0};
	int count = 0;

	cr_expect_eq(tsr_taskset_after(&set, -1), -1);
	cr_assert(tsr_taskset_reserve(&set, 100));
	for (uint64_t i = 0; i < 20000; i++) {
		const uint64_t bits = tsr_core_bits(7, i, 0);
		const int task = (int)(bits % (i < 10000 ? ROOM : 70));
		cr_assert(tsr_taskset_reserve(&set, task + 1));
		count += plain[task] ? -1 : 1;
		plain[task] = !plain[task];
		if (plain[task])
			tsr_taskset_add(&set, task);
		else
			tsr_taskset_remove(&set, task);
		cr_assert_eq(set.count, count);
	}
	int at = -1, nth = 0;
	for (int task = 0; task < ROOM; task++)
		if (plain[task]) {
			at = tsr_taskset_after(&set, at);
			cr_assert_eq(at, task);
			cr_assert_eq(tsr_taskset_nth(&set, nth++), task);
		}
	cr_expect_eq(tsr_taskset_after(&set, at), -1);
	cr_expect_eq(nth, count);
	tsr_taskset_free(&set);
}

static const tsr_pending_t *one_pending(const void *context, int task)
{
	(void)task;
	return context;
}

Test(strategy, alternatives_and_tasks_stand_for_each_other)
{
	tsr_taskset_t set = {0};
	static const int tasks[] = {3, 5, 64, 200, 4500};
	const tsr_pending_t pending = {0};

	cr_assert(tsr_taskset_reserve(&set, 5000));
	for (int i = 0; i < 5; i++)
		tsr_taskset_add(&set, tasks[i]);
	for (int current = -1; current < 5; current++) {
		const tsr_runnable_t runnable = {&set,  current < 0 ? -1 : tasks[current],
						 false, one_pending,
						 NULL,  &pending};
		int last = -1;
		for (int k = 0; k < 5; k++) {
			const int task = tsr_runnable_task(&runnable, k);
			cr_assert_eq(tsr_runnable_alternative(&runnable, task), k);
			cr_assert(k == 0 && current >= 0 ? task == tasks[current] : task > last);
			last = k == 0 && current >= 0 ? -1 : task;
		}
	}
	tsr_taskset_free(&set);
}

/* ------------------------------------------------------------------ independence */

Test(strategy, what_is_independent)
{
	static const uint64_t more[] = {8, 9};
	const tsr_pending_t read = {.kind = TSR_PENDING_READ, .object = 1},
			    write = {.kind = TSR_PENDING_WRITE, .object = 1},
			    elsewhere = {.kind = TSR_PENDING_UPDATE, .object = 2},
			    local = {.kind = TSR_PENDING_LOCAL},
			    fence = {.kind = TSR_PENDING_FENCE, .seq_cst = true},
			    comes = {.kind = TSR_PENDING_MEET, .object = 1},
			    first = {.kind = TSR_PENDING_READ, .seq_cst = true, .object = 3},
			    any = {.kind = TSR_PENDING_READ,
				   .object = 7,
				   .more = more,
				   .more_count = 2},
			    last = {.kind = TSR_PENDING_WRITE, .object = 9};

	cr_expect(tsr_pending_independent(&read, &read));
	cr_expect(!tsr_pending_independent(&read, &write) &&
		  !tsr_pending_independent(&write, &write));
	cr_expect(tsr_pending_independent(&write, &elsewhere));
	cr_expect(tsr_pending_independent(&local, &write) &&
		  tsr_pending_independent(&fence, &write));
	cr_expect(tsr_pending_independent(&comes, &comes) &&
		  tsr_pending_independent(&comes, &write));
	cr_expect(!tsr_pending_independent(&fence, &fence) &&
		  !tsr_pending_independent(&fence, &first));
	cr_expect(!tsr_pending_independent(&any, &last) && !tsr_pending_independent(&last, &any));
	cr_expect(tsr_pending_independent(&any, &any));
}

/* ------------------------------------------------------------------ scripts */

Test(strategy, a_script_says_what_deviates)
{
	tsr_deviation_t deviations[] = {{1, 2}, {3, 1}, {4, 9}};
	const tsr_script_t script = {deviations, 3};
	static const int expected[] = {0, 2, 0, 1, 0, 0}; /* 9 is out of range */
	tsr_strategy_t *strategy = NULL;

	cr_assert(tsr_strategy_scripted(&script, &strategy) == TSR_OK);
	for (int i = 0; i < 6; i++) {
		/* not a choice */
		cr_expect_eq(tsr_strategy_choose(strategy, TSR_CHOICE_OTHER, 1, NULL), 0);
		cr_expect_eq(tsr_strategy_choose(strategy, TSR_CHOICE_OTHER, 3, NULL), expected[i],
			     "choice %d", i);
	}
	cr_expect_eq(tsr_strategy_choices(strategy), 6u);
	const tsr_script_t said = tsr_strategy_script(strategy);
	cr_assert_eq(said.count, 2u);
	cr_expect(memcmp(said.deviation, deviations, 2 * sizeof deviations[0]) == 0);
	tsr_strategy_destroy(strategy);

	deviations[1].index = 1;
	cr_expect_eq(tsr_strategy_scripted(&script, &strategy), TSR_ERR_ARGUMENT);
	tsr_strategy_destroy(NULL);
}

/* ------------------------------------------------------------------ chance */

Test(strategy, seeds_differ_in_character)
{
	int always_newest = 0, mostly_stale = 0;
	for (uint64_t seed = 0; seed < 200; seed++) {
		tsr_strategy_t *strategy = NULL;
		int stale = 0;
		cr_assert(tsr_strategy_random(seed, &strategy) == TSR_OK);
		for (int i = 0; i < 100; i++) {
			const int chosen =
				tsr_strategy_choose(strategy, TSR_CHOICE_MESSAGE, 4, NULL);
			cr_assert(chosen >= 0 && chosen < 4);
			stale += chosen > 0;
		}
		always_newest += stale == 0;
		mostly_stale += stale > 35;
		cr_expect_eq(tsr_strategy_script(strategy).count, (size_t)stale);
		tsr_strategy_destroy(strategy);
	}
	cr_expect(always_newest > 5 && always_newest < 100, "%d of 200 seeds see the newest only",
		  always_newest);
	cr_expect(mostly_stale > 5 && mostly_stale < 100, "%d of 200 seeds see stale values often",
		  mostly_stale);
}

/** Choices of a kind that are asked about beside the rest. */
static void check_aside(tsr_choice_t kind, int ways)
{
	enum { CHOICES = 200, EVERY = 3 };
	int ever = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		tsr_strategy_t *with = NULL, *without = NULL, *again = NULL;
		int answers[CHOICES + CHOICES / EVERY + 1], count = 0, late = 0;
		cr_assert(tsr_strategy_random(seed, &with) == TSR_OK &&
			  tsr_strategy_random(seed, &without) == TSR_OK);
		for (int i = 0; i < CHOICES; i++) {
			if (i % EVERY == 0) {
				answers[count] = tsr_strategy_choose(with, kind, ways, NULL);
				late += answers[count++] > 0;
			}
			answers[count] = tsr_strategy_choose(with, TSR_CHOICE_MESSAGE, 5, NULL);
			cr_expect_eq(answers[count++],
				     tsr_strategy_choose(without, TSR_CHOICE_MESSAGE, 5, NULL));
		}
		const tsr_script_t script = tsr_strategy_script(with);
		cr_assert(tsr_strategy_scripted(&script, &again) == TSR_OK);
		for (int i = 0, at = 0; i < CHOICES; i++) {
			if (i % EVERY == 0)
				cr_expect_eq(tsr_strategy_choose(again, kind, ways, NULL),
					     answers[at++]);
			cr_expect_eq(tsr_strategy_choose(again, TSR_CHOICE_MESSAGE, 5, NULL),
				     answers[at++]);
		}
		/* a seed lets spinners go on, and splits blocks, always or never */
		cr_expect(kind != TSR_CHOICE_PIECE || late < CHOICES / EVERY);
		ever += late > 0;
		tsr_strategy_destroy(with);
		tsr_strategy_destroy(without);
		tsr_strategy_destroy(again);
	}
	cr_expect(ever > 0 && ever < 38, "%d of 40 seeds answer otherwise than by default", ever);
}

/**
 * Pieces of calls, spinners that go on alone, and blocks that split are asked
 * about beside the rest: a seed chooses the same where there are none, and a
 * script finds all.
 */
Test(strategy, pieces_spinners_and_splits_change_no_other_choice)
{
	check_aside(TSR_CHOICE_PIECE, 4);
	check_aside(TSR_CHOICE_INSIST, 2);
	check_aside(TSR_CHOICE_SPLIT, 2);
}

Test(strategy, pct_wants_a_depth_and_steps)
{
	tsr_strategy_t *strategy = NULL;
	cr_expect_eq(tsr_strategy_pct(1, 0, 100, &strategy), TSR_ERR_ARGUMENT);
	cr_expect_eq(tsr_strategy_pct(1, 3, 0, &strategy), TSR_ERR_ARGUMENT);
	cr_expect(strategy == NULL);
}

/** Task 0 .. 3 for `steps` choices, all of them runnable always: how often another goes on. */
static int changes_of(uint64_t seed, int depth, int steps, int *first_out)
{
	tsr_taskset_t set = {0};
	const tsr_pending_t pending = {0};
	tsr_strategy_t *strategy = NULL;
	int current = 0, changes = 0;

	cr_assert(tsr_taskset_reserve(&set, 4) &&
		  tsr_strategy_pct(seed, depth, (uint64_t)steps, &strategy) == TSR_OK);
	for (int task = 0; task < 4; task++)
		tsr_taskset_add(&set, task);
	for (int i = 0; i < steps; i++) {
		const tsr_runnable_t runnable = {&set,        current, i == 0,
						 one_pending, NULL,    &pending};
		const int next =
			tsr_runnable_task(&runnable, tsr_strategy_choose(strategy, TSR_CHOICE_TASK,
									 4, &runnable));
		changes += i > 0 && next != current;
		current = next;
		*first_out = i == 0 ? next : *first_out;
	}
	tsr_strategy_destroy(strategy);
	tsr_taskset_free(&set);
	return changes;
}

Test(strategy, pct_changes_its_mind_where_it_was_told_to)
{
	int first[4] = {0}, begins = 0;
	for (uint64_t seed = 0; seed < 400; seed++) {
		cr_expect_eq(changes_of(seed, 1, 100, &begins), 0);
		first[begins]++;
		const int changes = changes_of(seed, 4, 1000, &begins);
		cr_expect(changes <= 3 && changes >= 1, "%d", changes);
	}
	for (int task = 0; task < 4; task++)
		cr_expect(first[task] > 60 && first[task] < 140, "task %d begins %d times of 400",
			  task, first[task]);
}

/* ------------------------------------------------------------------ exhaustive search */

/* A random program: a few operations for each task. */
enum { OPERATIONS = 4 };

typedef struct program {
	int tasks, count[3], kind[3][OPERATIONS], cell[3][OPERATIONS];
	bool weak, seq_cst;
} program_t;

static program_t program; /* of the test that runs */

static void run_program(toy_t *toy, int self)
{
	for (int i = 0; i < program.count[self]; i++) {
		const int cell = program.cell[self][i];
		toy->seq_cst = program.seq_cst;
		switch (program.kind[self][i]) {
		case 0: /* what it reads goes into what it writes next */
			toy->result[self] = 10 * toy->result[self] + 1 +
					    (int)(program.weak ? toy_load_weak(toy, self, cell, i)
							       : toy_load(toy, self, cell, i));
			break;
		case 1:
			toy_store(toy, self, cell,
				  2 + (uint64_t)self + 3 * (uint64_t)toy->result[self]);
			break;
		case 2:
			toy_add(toy, self, cell, 1);
			break;
		default:
			toy_await((toy_wait_t){.toy = toy, .cell = cell, .value = 1},
				  TSR_DEADLINE_LAST);
			tsr_explorer_acted(toy->explorer,
					   &(tsr_acted_t){(uint64_t)toy->written[cell], false,
							  false});
		}
	}
}

static outcomes_t search(tsr_exhaustive_t bounds)
{
	static const toy_fn bodies[] = {run_program, run_program, run_program};
	outcomes_t all = {0};
	tsr_frontier_t frontier = {0};
	bool more = true;

	for (; more; all.runs++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = NULL;
		cr_assert(all.runs < 1000000);
		cr_assert(tsr_strategy_exhaustive(&bounds, &frontier, &strategy) == TSR_OK);
		if (toy_run(&toy, strategy, bodies, program.tasks) == TSR_EXPLORER_PRUNED)
			all.pruned++;
		else
			outcomes_note(&all, &toy);
		free(frontier.word);
		cr_assert(tsr_exhaustive_next(strategy, true, &frontier, &more) == TSR_OK);
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
	return all;
}

static program_t random_program(uint64_t seed)
{
	program_t p = {.tasks = 2 + (int)(tsr_core_bits(seed, 0, 0) % 2)};
	p.weak = tsr_core_bits(seed, 1, 0) % 3 == 0;
	p.seq_cst = tsr_core_bits(seed, 2, 0) % 4 == 0;
	for (int t = 0; t < p.tasks; t++) {
		p.count[t] = 1 + (int)(tsr_core_bits(seed, 3 + (uint64_t)t, 0) %
				       (p.tasks == 2 ? OPERATIONS : 2));
		for (int i = 0; i < p.count[t]; i++) {
			const uint64_t bits =
				tsr_core_bits(seed, 10 + 10 * (uint64_t)t + (uint64_t)i, 0);
			/* One task waits, so that no choice is made of whose deadline expires,
			 * which swaps with nothing. */
			p.kind[t][i] = (int)(t == 0 && bits % 8 == 7 ? 3 : bits % 3);
			p.cell[t][i] = (int)((bits >> 32) % 3);
		}
	}
	return p;
}

/*
 * Each trace once: as many runs to their ends as there are digests, and the
 * same digests and states as of every order.
 */
Test(strategy, a_search_leaves_out_what_is_the_same_and_nothing_else)
{
	enum { SEEDS = 100 }; /* 2000 were run once: 17,731 traces, of 565,490 runs, in 17,799 */
	int all_runs = 0, sleep_runs = 0, traces = 0, pruned = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const program_t p = random_program(seed);
		program = p;
		outcomes_t all = search((tsr_exhaustive_t){.preemptions = -1});
		outcomes_t slept = search((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS,
							     .preemptions = -1});

		cr_assert_eq(all.pruned, 0);
		all_runs += all.runs;
		sleep_runs += slept.runs;
		pruned += slept.pruned;
		cr_expect_eq(slept.count, slept.runs - slept.pruned);
		outcomes_sort(&all);
		const int to_their_ends = slept.count;
		outcomes_sort(&slept);
		cr_assert_eq(slept.count, to_their_ends, "seed %d: a trace was run twice",
			     (int)seed);
		cr_assert_eq(slept.count, all.count, "seed %d: %d traces of %d", (int)seed,
			     slept.count, all.count);
		cr_assert(memcmp(slept.outcome, all.outcome,
				 (size_t)all.count * sizeof *all.outcome) == 0,
			  "seed %d", (int)seed);
		traces += all.count;
		free(all.outcome);
		free(slept.outcome);
	}
	cr_expect(sleep_runs < all_runs / 3, "%d runs of %d", sleep_runs, all_runs);
	printf("# %d runs of every order, %d of those that can differ, %d of them pruned, %d "
	       "traces\n",
	       all_runs, sleep_runs, pruned, traces);
}

Test(strategy, interleavings_are_counted_right)
{
	static const program_t apart = {.tasks = 2,
					.count = {3, 3},
					.kind = {{2, 2, 2}, {2, 2, 2}},
					.cell = {{0, 0, 0}, {1, 1, 1}}};
	static const program_t together = {
		.tasks = 2, .count = {3, 3}, .kind = {{2, 2, 2}, {2, 2, 2}}};
	outcomes_t all;

	program = apart;
	all = search((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS, .preemptions = -1});
	cr_expect_eq(all.count, 1, "nothing in common: one trace, and %d runs", all.count);
	free(all.outcome);

	program = together;
	all = search((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS, .preemptions = -1});
	cr_expect_eq(all.runs, 20, "6 over 3 orders, and %d runs", all.runs);
	free(all.outcome);
	all = search((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS, .preemptions = 0});
	cr_expect_eq(all.runs, 2, "one after the other: %d runs", all.runs);
	free(all.outcome);
	all = search((tsr_exhaustive_t){.preemptions = 1});
	cr_expect_eq(all.runs, 8,
		     "who begins is left before one of its 3 operations or never: %d runs",
		     all.runs);
	free(all.outcome);
	all = search((tsr_exhaustive_t){.preemptions = -1, .depth = 1});
	cr_expect_eq(all.runs, 2, "who begins: %d runs", all.runs);
	free(all.outcome);
}

/* The scripts of a search are scripts: another strategy replays them. */
Test(strategy, a_run_of_a_search_replays_from_its_script)
{
	static const toy_fn bodies[] = {run_program, run_program, run_program};
	const tsr_exhaustive_t bounds = {.reduction = TSR_REDUCE_REVERSALS, .preemptions = -1};
	const program_t p = random_program(5);
	tsr_frontier_t frontier = {0};
	bool more = true;

	program = p;
	while (more) {
		toy_t toy = {0}, again = {0};
		tsr_strategy_t *strategy = NULL, *scripted = NULL;
		uint64_t digest[2][2];

		cr_assert(tsr_strategy_exhaustive(&bounds, &frontier, &strategy) == TSR_OK);
		const bool whole = toy_run(&toy, strategy, bodies, p.tasks) == TSR_EXPLORER_DONE;
		const tsr_script_t taken = tsr_strategy_script(strategy);
		cr_assert(tsr_strategy_scripted(&taken, &scripted) == TSR_OK);
		cr_assert(toy_run(&again, scripted, bodies, p.tasks) == TSR_EXPLORER_DONE);
		tsr_explorer_digest(toy.explorer, digest[0]);
		tsr_explorer_digest(again.explorer, digest[1]);
		cr_expect(!whole || memcmp(digest[0], digest[1], sizeof digest[0]) == 0);
		free(frontier.word);
		cr_assert(tsr_exhaustive_next(strategy, true, &frontier, &more) == TSR_OK);
		tsr_strategy_destroy(strategy);
		tsr_strategy_destroy(scripted);
		toy_end(&toy);
		toy_end(&again);
	}
}

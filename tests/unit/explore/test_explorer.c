/*
 * The explorer: tasks that lock, produce, consume, spin and wait, under each
 * strategy; what is the same, and what must be found.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explore_toy.h"

#include "src/explore/process/fibre_watch.h"

/* ------------------------------------------------------------------ programs */

/* Each adds 1 by a load and a store: an update is lost where another comes between. */
static void add_carelessly(toy_t *toy, int self)
{
	const uint64_t before = toy_load(toy, self, 0, 10);
	toy_store(toy, self, 0, before + 1);
	toy_add(toy, self, 1, 1);
	if (toy_now(toy, 1) == 2 && toy_now(toy, 0) != 2)
		toy->bug = 1;
}

static const toy_fn careless[] = {add_carelessly, add_carelessly};

/* The flag overtakes the data where a load may be stale. */
static void send(toy_t *toy, int self)
{
	toy_store(toy, self, 0, 5);
	toy_store(toy, self, 1, 1);
}

static void receive(toy_t *toy, int self)
{
	toy_wait(toy, 1, 1);
	toy->bug = toy_load_weak(toy, self, 0, 20) != 5;
}

static const toy_fn passing[] = {send, receive};

/* A lock that is taken by exchanges, and an update that it guards. */
static void lock_and_add(toy_t *toy, int self)
{
	for (int i = 0; i < 3; i++) {
		while (toy_exchange(toy, self, 0, 1, 30))
			;
		const uint64_t before = toy_load(toy, self, 1, 31);
		toy_store(toy, self, 1, before + 1);
		toy_store(toy, self, 0, 0);
	}
}

static const toy_fn locking[] = {lock_and_add, lock_and_add, lock_and_add, lock_and_add};

static void produce(toy_t *toy, int self)
{
	for (uint64_t i = 1; i <= 10; i++) {
		toy_wait(toy, 1, i - 1); /* RETIRED */
		toy_store(toy, self, 2, i * i);
		toy_store(toy, self, 0, i); /* READY */
	}
}

static void consume(toy_t *toy, int self)
{
	for (uint64_t i = 1; i <= 10; i++) {
		toy_wait(toy, 0, i);
		toy->bug |= toy_load(toy, self, 2, 40) != i * i;
		toy_store(toy, self, 1, i);
	}
}

static const toy_fn buffering[] = {produce, consume};

/* Three must go in the order 0, 2, 1 for the bug to show. */
static void step_a(toy_t *toy, int self)
{
	toy_load(toy, self, 3, 50);
	if (toy_load(toy, self, 0, 51) == 1)
		toy_store(toy, self, 1, 1);
}

static void step_b(toy_t *toy, int self)
{
	toy_store(toy, self, 0, 1);
	toy_load(toy, self, 3, 52);
	if (toy_load(toy, self, 1, 53) == 1)
		toy_store(toy, self, 2, 1);
}

static void step_c(toy_t *toy, int self)
{
	if (toy_load(toy, self, 2, 54) == 1)
		toy->bug = 1;
}

static const toy_fn ordering[] = {step_c, step_a, step_b};

/* ------------------------------------------------------------------ each strategy finds it */

/**
 * How many of the seeds show the bug; the script of one that does is run again,
 * and shows it too.
 */
static int found(int kind, const toy_fn *bodies, int count, int seeds)
{
	int times = 0;
	for (int seed = 0; seed < seeds; seed++) {
		toy_t toy = {0}, again = {0};
		uint64_t digest[2], digest_again[2];
		tsr_strategy_t *strategy = strategy_of(kind, (uint64_t)seed), *scripted = NULL;

		cr_assert(toy_run(&toy, strategy, bodies, count) == TSR_EXPLORER_DONE);
		times += toy.bug;
		const tsr_script_t script = tsr_strategy_script(strategy);
		cr_assert(tsr_strategy_scripted(&script, &scripted) == TSR_OK);
		cr_assert(toy_run(&again, scripted, bodies, count) == TSR_EXPLORER_DONE);
		tsr_explorer_digest(toy.explorer, digest);
		tsr_explorer_digest(again.explorer, digest_again);
		cr_assert(memcmp(digest, digest_again, sizeof digest) == 0 && toy.bug == again.bug,
			  "the script of seed %d", seed);
		cr_assert_eq(tsr_strategy_choices(strategy), tsr_strategy_choices(scripted));
		toy_end(&toy);
		toy_end(&again);
		tsr_strategy_destroy(strategy);
		tsr_strategy_destroy(scripted);
	}
	return times;
}

/** Whether a whole search shows the bug, and in how many runs. */
static int searched(tsr_exhaustive_t bounds, const toy_fn *bodies, int count, int *runs_out)
{
	tsr_frontier_t frontier = {0};
	bool more = true;
	int times = 0;

	for (*runs_out = 0; more; ++*runs_out) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = NULL;

		cr_assert(*runs_out < 100000);
		cr_assert(tsr_strategy_exhaustive(&bounds, &frontier, &strategy) == TSR_OK);
		const tsr_explorer_end_t end = toy_run(&toy, strategy, bodies, count);
		cr_assert(end == (tsr_exhaustive_pruned(strategy) ? TSR_EXPLORER_PRUNED
								  : TSR_EXPLORER_DONE));
		times += toy.bug;
		free(frontier.word);
		cr_assert(tsr_exhaustive_next(strategy, true, &frontier, &more) == TSR_OK);
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
	return times;
}

Test(explorer, the_default_goes_on_with_the_same_task)
{
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, careless, 2) == TSR_EXPLORER_DONE);
	cr_expect_eq(toy.bug, 0);
	cr_expect_eq(tsr_explorer_count(toy.explorer).switches, 3u, "outside, 0, 1, outside");
	cr_expect_eq(tsr_explorer_count(toy.explorer).tasks, 2);
	toy_end(&toy);
}

Test(explorer, each_strategy_finds_a_lost_update)
{
	int runs;
	for (int kind = 0; kind < 2; kind++) {
		const int times = found(kind, careless, 2, 200);
		cr_expect(times > 10 && times < 190, "strategy %d found it %d times of 200", kind,
			  times);
	}
	cr_expect(searched((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS, .preemptions = -1},
			   careless, 2, &runs) > 0);
	cr_expect_eq(searched((tsr_exhaustive_t){.preemptions = 0}, careless, 2, &runs), 0,
		     "it takes a preemption");
	cr_expect_eq(runs, 2, "who begins");
	cr_expect(searched((tsr_exhaustive_t){.preemptions = 1}, careless, 2, &runs) > 0);
}

Test(explorer, each_strategy_finds_a_stale_read)
{
	int runs;
	for (int kind = 0; kind < 2; kind++) {
		const int times = found(kind, passing, 2, 200);
		cr_expect(times > 10 && times < 190, "strategy %d found it %d times of 200", kind,
			  times);
	}
	cr_expect_eq(searched((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS,
						 .preemptions = -1},
			      passing, 2, &runs),
		     1);
	cr_expect_eq(runs, 2, "one order, and two messages");
}

Test(explorer, each_strategy_finds_an_order_of_three)
{
	int runs;
	cr_expect(found(0, ordering, 3, 1000) > 0, "random");
	cr_expect(found(1, ordering, 3, 1000) > 0, "by priorities");
	cr_expect(searched((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS, .preemptions = -1},
			   ordering, 3, &runs) > 0);
}

static void add_twice(toy_t *toy, int self)
{
	toy_add(toy, self, 0, 1);
	toy_add(toy, self, 0, 1);
}

static void wait_for_both(toy_t *toy, int self)
{
	(void)self;
	toy_wait(toy, 0, 2);
}

Test(explorer, who_is_woken_in_vain_is_no_alternative)
{
	static const toy_fn bodies[] = {wait_for_both, add_twice};
	int runs;
	searched((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS, .preemptions = -1}, bodies,
		 2, &runs);
	cr_expect_eq(runs, 1, "%d runs", runs);
}

Test(explorer, what_is_right_is_never_blamed)
{
	int runs;
	for (int kind = 0; kind < 2; kind++)
		cr_expect_eq(found(kind, buffering, 2, 200), 0, "strategy %d", kind);
	cr_expect_eq(searched((tsr_exhaustive_t){.reduction = TSR_REDUCE_REVERSALS,
						 .preemptions = -1},
			      buffering, 2, &runs),
		     0);
	cr_expect_eq(runs, 1, "READY and RETIRED leave one order");
}

static void wait_first(toy_t *toy, int self)
{
	toy_wait(toy, 0, 1);
	toy->result[self] = toy->result[1] == 0;
}

static void raise_and_go_on(toy_t *toy, int self)
{
	toy_store(toy, self, 0, 1);
	for (int i = 0; i < 10; i++)
		toy_load(toy, self, 1, 5);
	toy->result[self] = 1;
}

static void read_on(toy_t *toy, int self)
{
	for (int i = 0; i < 30; i++)
		toy_load(toy, self, 2, 6);
}

Test(explorer, a_priority_counts_from_the_moment_a_task_wakes)
{
	static const toy_fn bodies[] = {wait_first, raise_and_go_on, read_on};
	int first = 0;
	for (uint64_t seed = 0; seed < 200; seed++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = NULL;
		cr_assert(tsr_strategy_pct(seed, 1, 10, &strategy) == TSR_OK);
		cr_assert(toy_run(&toy, strategy, bodies, 3) == TSR_EXPLORER_DONE);
		first += toy.result[0];
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
	cr_expect(first > 85 && first < 115, "the waiting task went on at once in %d of 200",
		  first);
}

/* ------------------------------------------------------------------ the same everywhere */

static void digest_of(int kind, uint64_t seed, uint64_t digest[2])
{
	toy_t toy = {0};
	tsr_strategy_t *strategy = strategy_of(kind, seed);
	cr_assert(toy_run(&toy, strategy, locking, 4) == TSR_EXPLORER_DONE);
	cr_assert_eq(toy_now(&toy, 1), 12u, "the lock held");
	tsr_explorer_digest(toy.explorer, digest);
	tsr_strategy_destroy(strategy);
	toy_end(&toy);
}

Test(explorer, one_seed_is_one_run)
{
	for (int kind = 0; kind < 2; kind++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			uint64_t first[2], again[2];
			digest_of(kind, seed, first);
			for (int i = 0; i < 100; i++) {
				digest_of(kind, seed, again);
				cr_assert(memcmp(first, again, sizeof first) == 0,
					  "strategy %d, seed %d", kind, (int)seed);
			}
		}
}

/* Pinned: the same of every compiler and machine, and for as long as seeds are written down. */
Test(explorer, golden_digests)
{
	static const uint64_t golden[2][2] = {{0x28af538a41172601, 0x43c36106c90ba1f0},
					      {0xdd5ce0edc8a2193f, 0x2bf24124d5960741}};
	for (int kind = 0; kind < 2; kind++) {
		uint64_t digest[2];
		digest_of(kind, 42, digest);
		cr_expect(memcmp(digest, golden[kind], sizeof digest) == 0,
			  "strategy %d: 0x%016llx, 0x%016llx", kind, (unsigned long long)digest[0],
			  (unsigned long long)digest[1]);
	}
}

Test(explorer, seeds_differ)
{
	uint64_t digest[200][2];
	for (int kind = 0; kind < 2; kind++) {
		int distinct = 0;
		for (int seed = 0; seed < 200; seed++) {
			bool known = false;
			digest_of(kind, (uint64_t)seed, digest[seed]);
			for (int i = 0; i < seed; i++)
				known = known ||
					memcmp(digest[i], digest[seed], sizeof digest[i]) == 0;
			distinct += !known;
		}
		cr_expect(distinct > 100, "strategy %d: %d distinct of 200", kind, distinct);
	}
}

/* ------------------------------------------------------------ waits for any, and explicit wakes */

typedef struct any_of {
	toy_t *toy;
	bool open;
} any_of_t;

static bool any_ready(const void *context)
{
	const any_of_t *any = context;
	return toy_now(any->toy, 0) || toy_now(any->toy, 1) || toy_now(any->toy, 2);
}

static void wait_any(toy_t *toy, int self)
{
	const any_of_t any = {toy, false};
	const uint64_t more[] = {101, 102};
	const tsr_await_t await = {
		.pending = {.kind = TSR_PENDING_READ, .object = 100, .more = more, .more_count = 2},
		.ready = any_ready,
		.context = &any};
	cr_assert(tsr_explorer_await(toy->explorer, &await) == TSR_AWAIT_OK);
	int which[3], n = 0;
	for (int cell = 0; cell < 3; cell++)
		if (toy_now(toy, cell))
			which[n++] = cell;
	toy->result[self] = which[tsr_explorer_choose(toy->explorer, TSR_CHOICE_FLAG, n)];
}

static void raise_1(toy_t *toy, int self)
{
	toy_store(toy, self, 1, 1);
}

static void raise_2(toy_t *toy, int self)
{
	toy_store(toy, self, 2, 1);
}

Test(explorer, a_wait_for_any_sees_each)
{
	static const toy_fn bodies[] = {wait_any, raise_1, raise_2};
	int seen[3] = {0, 0, 0};
	for (uint64_t seed = 0; seed < 100; seed++) {
		toy_t toy = {0};
		tsr_strategy_t *strategy = strategy_of(0, seed);
		cr_assert(toy_run(&toy, strategy, bodies, 3) == TSR_EXPLORER_DONE);
		seen[toy.result[0]]++;
		tsr_strategy_destroy(strategy);
		toy_end(&toy);
	}
	cr_expect(seen[0] == 0 && seen[1] > 10 && seen[2] > 10, "%d %d %d", seen[0], seen[1],
		  seen[2]);
}

static bool is_open(const void *context)
{
	return ((const toy_t *)context)->result[1] != 0;
}

static void wait_at_gate(toy_t *toy, int self)
{
	const tsr_await_t await = {.kind = TSR_AWAIT_CUSTOM,
				   .pending = {.object = 7},
				   .ready = is_open,
				   .context = toy};
	cr_assert(tsr_explorer_await(toy->explorer, &await) == TSR_AWAIT_OK);
	toy->result[self] = 1;
}

static void open_gate(toy_t *toy, int self)
{
	toy->result[self] = 1;
	tsr_explorer_wake(toy->explorer, 7);
}

Test(explorer, a_wake_is_enough)
{
	static const toy_fn bodies[] = {wait_at_gate, open_gate};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 2) == TSR_EXPLORER_DONE);
	cr_expect_eq(toy.result[0], 1);
	toy_end(&toy);
}

/* --------------------------------------------------------------- runs that end early, and forks */

static void wait_in_vain(toy_t *toy, int self)
{
	void *held = malloc(100);
	while (toy_await((toy_wait_t){.toy = toy, .cell = 0, .value = 1}, TSR_DEADLINE_NONE) !=
	       TSR_AWAIT_ENDED)
		;
	free(held);
	toy->result[self] = 1;
}

static void spin_in_vain(toy_t *toy, int self)
{
	for (;;)
		toy_load(toy, self, 0, 70);
}

Test(explorer, tasks_that_are_stuck_can_unwind)
{
	static const toy_fn bodies[] = {wait_in_vain, wait_in_vain},
			    with_spinner[] = {wait_in_vain, spin_in_vain};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 2) == TSR_EXPLORER_STUCK);
	cr_expect(tsr_explorer_unwind(toy.explorer, 100));
	cr_expect(toy.result[0] && toy.result[1]);
	toy_end(&toy);

	toy_t other = {0};
	cr_assert(toy_run(&other, NULL, with_spinner, 2) == TSR_EXPLORER_STUCK);
	cr_expect(!tsr_explorer_unwind(other.explorer, 100), "the spinner knows no end");
	cr_expect(other.result[0]);
	cr_expect_eq(tsr_explorer_live(other.explorer), 1);
	toy_end(&other); /* abandons it */
}

static void stop(toy_t *toy, int self)
{
	toy_store(toy, self, 0, 1);
	tsr_explorer_stop(toy->explorer);
}

Test(explorer, a_task_can_end_the_run)
{
	static const toy_fn bodies[] = {stop, raise_late};
	toy_t toy = {0};
	cr_assert(toy_run(&toy, NULL, bodies, 2) == TSR_EXPLORER_STOPPED);
	cr_expect_eq(toy.written[1], 0);
	toy_end(&toy);
}

static void forever(toy_t *toy, int self)
{
	for (uint64_t i = 0;; i++) {
		toy_point(toy, TSR_PENDING_UPDATE, 0, 1);
		tsr_explorer_acted(toy->explorer, &(tsr_acted_t){i, true, true});
	}
	(void)self;
}

Test(explorer, a_run_is_bounded)
{
	static const toy_fn bodies[] = {forever};
	toy_t toy = {0};
	cr_assert(toy_begin(&toy, (tsr_explorer_config_t){.step_bound = 1000}, bodies, 1) ==
		  TSR_EXPLORER_BOUND);
	toy_end(&toy);
}

static void fork_seeds(toy_t *toy, int self)
{
	toy_store(toy, self, 5, 1);
	for (uint64_t seed = 0; seed < 20; seed++) {
		const pid_t child = fork();
		cr_assert(child >= 0);
		if (child == 0) { /* goes on from here, as the same task, with its seed */
			toy->result[3] = 1;
			tsr_explorer_begin(toy->explorer);
			tsr_explorer_use(toy->explorer, strategy_of(0, seed));
			add_carelessly(toy, self);
			return;
		}
		int status = 0;
		cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
				  WEXITSTATUS(status) < 2,
			  "status %x", status);
		toy->result[0] += WEXITSTATUS(status);
	}
	toy->result[4] = 1;
}

static void join_in(toy_t *toy, int self)
{
	toy_wait(toy, 5, 1);
	if (!toy->result[4])
		add_carelessly(toy, self);
}

Test(explorer, a_task_can_fork_a_process_for_each_seed)
{
	static const toy_fn bodies[] = {fork_seeds, join_in};
	toy_t toy = {0};

	if (TSR_WATCH_THREADS)
		cr_skip_test("after a fork, ThreadSanitizer takes all other fibres for threads "
			     "that have ended");
	const tsr_explorer_end_t end = toy_run(&toy, NULL, bodies, 2);
	if (toy.result[3])
		_exit(end == TSR_EXPLORER_DONE ? toy.bug : 9);
	cr_assert(end == TSR_EXPLORER_DONE);
	cr_expect(toy.result[0] > 0 && toy.result[0] < 20, "%d of 20 seeds lose an update",
		  toy.result[0]);
	toy_end(&toy);
}

/* ------------------------------------------------------------------ many tasks */

typedef struct grid {
	tsr_explorer_t *explorer;
	int left, most, total;
} grid_t;

static bool has_room(const void *context)
{
	return ((const grid_t *)context)->left < 100;
}

static void block(void *context)
{
	grid_t *grid = context;
	const tsr_pending_t pending = {.kind = TSR_PENDING_UPDATE, .object = 2};
	tsr_explorer_point(grid->explorer, &pending);
	grid->total++;
	grid->left--;
	tsr_explorer_wake(grid->explorer, 1);
}

static void launch(void *context)
{
	grid_t *grid = context;
	for (int i = 0; i < 20000; i++) {
		const tsr_task_who_t who = {.kind = TSR_TASK_WORKER, .kernel = "grid", .block = i};
		const tsr_await_t room = {.kind = TSR_AWAIT_RESIDENCY,
					  .pending = {.object = 1},
					  .ready = has_room,
					  .context = grid};
		int task;
		cr_assert(tsr_explorer_await(grid->explorer, &room) == TSR_AWAIT_OK);
		cr_assert(tsr_explorer_spawn(grid->explorer, &who, block, grid, 32 << 10, &task) ==
			  TSR_OK);
		cr_assert_eq(tsr_explorer_who(grid->explorer, task)->block, i);
		grid->left++;
		grid->most = grid->most > grid->left ? grid->most : grid->left;
	}
}

Test(explorer, blocks_come_and_go)
{
	for (int kind = 0; kind < 2; kind++) {
		grid_t grid = {0};
		tsr_strategy_t *strategy = strategy_of(kind, 1);
		int task;
		cr_assert(tsr_explorer_create(&(tsr_explorer_config_t){.strategy = strategy},
					      &grid.explorer) == TSR_OK);
		cr_assert(tsr_explorer_spawn(grid.explorer, &(tsr_task_who_t){.launch = -1}, launch,
					     &grid, 0, &task) == TSR_OK);
		cr_assert(tsr_explorer_run(grid.explorer) == TSR_EXPLORER_DONE);
		cr_expect_eq(grid.total, 20000);
		cr_expect((kind || grid.most > 1) && grid.most <= 100, "%d at once", grid.most);
		const tsr_explorer_counts_t counts = tsr_explorer_count(grid.explorer);
		cr_expect(counts.most_live <= 101 &&
				  counts.stack_bytes < ((size_t)2 << 20) + 101 * (44 << 10),
			  "stacks of %zu bytes", counts.stack_bytes);
		tsr_explorer_destroy(grid.explorer);
		tsr_strategy_destroy(strategy);
	}
}

/*
 * A toy world for tests of the explorer: cells that hold numbers, and tasks
 * that read, write and await them. Loads may be stale where a task asks for it:
 * it then sees any value that it has not yet seen overwritten.
 */
#ifndef EXPLORE_TOY_H
#define EXPLORE_TOY_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/explore/schedule/explorer.h"

enum { TOY_CELLS = 8, TOY_TASKS = 16, TOY_VALUES = 64 };

typedef struct toy {
	tsr_explorer_t *explorer;
	uint64_t history[TOY_CELLS][TOY_VALUES];
	/* how many values of the history there are, the first one excepted */
	int written[TOY_CELLS];
	int seen[TOY_TASKS][TOY_CELLS];
	bool seq_cst;
	int result[TOY_TASKS]; /* for the bodies' use */
	int bug;
} toy_t;

typedef void (*toy_fn)(toy_t *toy, int self);

typedef struct toy_task {
	toy_t *toy;
	toy_fn body;
	int self;
} toy_task_t;

static inline uint64_t toy_now(const toy_t *toy, int cell)
{
	return toy->history[cell][toy->written[cell]];
}

static inline void toy_point(toy_t *toy, tsr_pending_kind_t kind, int cell, int line)
{
	const tsr_pending_t pending = {
		.kind = kind,
		.seq_cst = toy->seq_cst,
		.object = 100 + (uint64_t)cell,
		.site = {kind == TSR_PENDING_READ ? "load" : "store", "toy.c", line}};
	tsr_explorer_point(toy->explorer, &pending);
}

static inline void toy_put(toy_t *toy, int self, int cell, uint64_t value)
{
	const bool changed = toy_now(toy, cell) != value;
	cr_assert(toy->written[cell] + 1 < TOY_VALUES);
	toy->history[cell][++toy->written[cell]] = value;
	toy->seen[self][cell] = toy->written[cell];
	tsr_explorer_acted(toy->explorer,
			   &(tsr_acted_t){(uint64_t)toy->written[cell], true, changed});
}

/** A load that sees one of the values that it may see. */
static inline uint64_t toy_load_weak(toy_t *toy, int self, int cell, int line)
{
	toy_point(toy, TSR_PENDING_READ, cell, line);
	const int n = toy->written[cell] - toy->seen[self][cell] + 1;
	toy->seen[self][cell] =
		toy->written[cell] - tsr_explorer_choose(toy->explorer, TSR_CHOICE_MESSAGE, n);
	tsr_explorer_acted(toy->explorer,
			   &(tsr_acted_t){(uint64_t)toy->seen[self][cell], false, false});
	return toy->history[cell][toy->seen[self][cell]];
}

static inline uint64_t toy_load(toy_t *toy, int self, int cell, int line)
{
	toy_point(toy, TSR_PENDING_READ, cell, line);
	toy->seen[self][cell] = toy->written[cell];
	tsr_explorer_acted(toy->explorer,
			   &(tsr_acted_t){(uint64_t)toy->written[cell], false, false});
	return toy_now(toy, cell);
}

static inline void toy_store(toy_t *toy, int self, int cell, uint64_t value)
{
	toy_point(toy, TSR_PENDING_WRITE, cell, 1);
	toy_put(toy, self, cell, value);
}

static inline uint64_t toy_exchange(toy_t *toy, int self, int cell, uint64_t value, int line)
{
	toy_point(toy, TSR_PENDING_UPDATE, cell, line);
	const uint64_t old = toy_now(toy, cell);
	if (old != value)
		toy_put(toy, self, cell, value);
	else /* the history is short: what is there again takes no room in it */
		tsr_explorer_acted(toy->explorer,
				   &(tsr_acted_t){(uint64_t)toy->written[cell], true, false});
	return old;
}

static inline void toy_add(toy_t *toy, int self, int cell, uint64_t value)
{
	toy_point(toy, TSR_PENDING_UPDATE, cell, 1);
	toy_put(toy, self, cell, toy_now(toy, cell) + value);
}

typedef struct toy_wait {
	toy_t *toy;
	int cell;
	uint64_t value;
	const tsr_blocker_t *blocker; /* null: nobody is known */
	int blockers;
} toy_wait_t;

static bool toy_ready(const void *context)
{
	const toy_wait_t *wait = context;
	return toy_now(wait->toy, wait->cell) >= wait->value;
}

static void toy_describe(const void *context, char *sentence, size_t bytes)
{
	const toy_wait_t *wait = context;
	snprintf(sentence, bytes, "cell %d >= %d, last seen %d", wait->cell, (int)wait->value,
		 (int)toy_now(wait->toy, wait->cell));
}

static void toy_blockers(const void *context, tsr_blocker_fn tell, void *argument)
{
	const toy_wait_t *wait = context;
	for (int i = 0; i < wait->blockers; i++)
		tell(argument, wait->blocker[i]);
}

static inline tsr_awaited_t toy_await(toy_wait_t wait, tsr_deadline_t deadline)
{
	const tsr_await_t await = {.kind = TSR_AWAIT_FLAG,
				   .pending = {.kind = TSR_PENDING_READ,
					       .object = 100 + (uint64_t)wait.cell,
					       .site = {"tsr_wait", "toy.c", 7 + wait.cell}},
				   .deadline = deadline,
				   .ready = toy_ready,
				   .describe = toy_describe,
				   .blockers = wait.blocker ? toy_blockers : NULL,
				   .context = &wait};
	return tsr_explorer_await(wait.toy->explorer, &await);
}

/** Waits for cell >= value: of whom it is, nobody is known. */
static inline void toy_wait(toy_t *toy, int cell, uint64_t value)
{
	toy_await((toy_wait_t){.toy = toy, .cell = cell, .value = value}, TSR_DEADLINE_NONE);
	tsr_explorer_acted(toy->explorer,
			   &(tsr_acted_t){(uint64_t)toy->written[cell], false, false});
}

static void toy_main(void *context)
{
	const toy_task_t *task = context;
	task->body(task->toy, task->self);
}

/**
 * Runs the bodies as tasks 0, 1, ... of ranks 0, 1, ... with a strategy, or
 * null. The explorer is left in toy->explorer.
 */
static inline tsr_explorer_end_t toy_begin(toy_t *toy, tsr_explorer_config_t config,
					   const toy_fn *bodies, int count)
{
	static toy_task_t tasks[TOY_TASKS]; /* one toy runs at a time */
	int task = -1;

	cr_assert(tsr_explorer_create(&config, &toy->explorer) == TSR_OK);
	for (int i = 0; i < count; i++) {
		const tsr_task_who_t who = {.rank = i, .kind = TSR_TASK_WORKER, .kernel = "toy"};
		tasks[i] = (toy_task_t){toy, bodies[i], i};
		cr_assert(tsr_explorer_spawn(toy->explorer, &who, toy_main, &tasks[i], 64 << 10,
					     &task) == TSR_OK);
		cr_assert_eq(task, i);
	}
	return tsr_explorer_run(toy->explorer);
}

static inline tsr_explorer_end_t toy_run(toy_t *toy, tsr_strategy_t *strategy, const toy_fn *bodies,
					 int count)
{
	return toy_begin(toy, (tsr_explorer_config_t){.strategy = strategy, .step_bound = 1000000},
			 bodies, count);
}

static inline void toy_end(toy_t *toy)
{
	tsr_explorer_destroy(toy->explorer);
	toy->explorer = NULL;
}

#define TOY_COUNT(array_) ((int)(sizeof(array_) / sizeof(array_)[0]))

static inline tsr_strategy_t *strategy_of(int kind, uint64_t seed)
{
	tsr_strategy_t *strategy = NULL;
	if (kind == 0)
		cr_assert(tsr_strategy_random(seed, &strategy) == TSR_OK);
	else
		cr_assert(tsr_strategy_pct(seed, 3, 12, &strategy) == TSR_OK);
	return strategy;
}

static inline void raise_late(toy_t *toy, int self)
{
	for (int i = 0; i < 5; i++)
		toy_add(toy, self, 1, 1);
	toy_store(toy, self, 0, 1);
}

#endif

/* Explorers and their tasks: how they begin, run and end. */
#include "src/explore/schedule/explorer.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/explore/schedule/explorer_state.h"

static const tsr_pending_t not_begun = {.kind = TSR_PENDING_LOCAL};

tsr_status_t tsr_explorer_create(const tsr_explorer_config_t *config, tsr_explorer_t **explorer_out)
{
	tsr_explorer_t *e = calloc(1, sizeof *e);
	if (!e)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for an explorer; free some");
	const tsr_status_t status = tsr_fibres_create(&e->fibres);
	if (status) {
		free(e);
		return status;
	}
	e->config = *config;
	if (e->config.spin_bound <= 0)
		e->config.spin_bound = TSR_SPIN_BOUND;
	e->back_at = e->insists = TSR_NO_TASK;
	*explorer_out = e;
	return TSR_OK;
}

void tsr_explorer_share(tsr_explorer_t *e, size_t stack_bytes, int count)
{
	tsr_fibres_share(e->fibres, stack_bytes, count);
}

bool tsr_explorer_overflows(const tsr_explorer_t *e, const void *stack_pointer, const void *touched)
{
	return tsr_fibre_overflows(e->fibres, stack_pointer, touched);
}

static void free_live(tsr_live_t *live)
{
	if (!live)
		return;
	free(live->waiter);
	free(live->more);
	free(live);
}

void tsr_explorer_destroy(tsr_explorer_t *e)
{
	if (!e)
		return;
	tsr_fibres_destroy(e->fibres);
	for (int task = 0; task < e->tasks; task++)
		free_live(tsr_task_of(e, task)->live);
	for (int i = 0; i < e->chunks; i++)
		free(e->chunk[i]);
	free(e->chunk);
	for (size_t i = 0; i < e->objects.slots; i++)
		free(e->objects.slot[i]);
	free(e->objects.slot);
	tsr_taskset_free(&e->alive);
	tsr_taskset_free(&e->ready);
	tsr_taskset_free(&e->back);
	tsr_taskset_free(&e->chosen);
	free(e->dirty);
	free(e);
}

void tsr_explorer_use(tsr_explorer_t *e, tsr_strategy_t *strategy)
{
	e->config.strategy = strategy;
	e->grown = true;
}

/* ------------------------------------------------------------------ tasks */

/** Room for one task more. */
static bool reserve(tsr_explorer_t *e)
{
	const int tasks = e->tasks + 1;
	if (tasks > e->chunks * TSR_TASKS_CHUNK) {
		tsr_task_t **chunk = realloc(e->chunk, ((size_t)e->chunks + 1) * sizeof *chunk);
		if (!chunk)
			return false;
		e->chunk = chunk;
		chunk[e->chunks] = calloc(TSR_TASKS_CHUNK, sizeof **chunk);
		if (!chunk[e->chunks])
			return false;
		e->chunks++;
	}
	return tsr_taskset_reserve(&e->alive, tasks) && tsr_taskset_reserve(&e->ready, tasks) &&
	       tsr_taskset_reserve(&e->back, tasks) && tsr_taskset_reserve(&e->chosen, tasks);
}

/** The running task is one no more. */
static void end_task(tsr_explorer_t *e)
{
	tsr_live_t *live = e->running;

	tsr_waiters_leave(live);
	tsr_task_put(e, live->number, TSR_TASK_ENDED);
	tsr_taskset_remove(&e->alive, live->number);
	tsr_task_of(e, live->number)->live = NULL;
	tsr_explorer_news(e);
}

static void task_main(void *argument)
{
	tsr_live_t *live = argument;
	tsr_explorer_t *e = live->explorer;

	live->pending = NULL;
	live->body(live->context);
	tsr_step_over(e, e->running); /* which a fork of this one may be */
	end_task(e);
	tsr_explorer_leave(e);
}

static tsr_status_t no_memory(const tsr_explorer_t *e)
{
	return tsr_error(TSR_ERR_NO_MEMORY, "no memory for task %d; free some", e->tasks);
}

/** A task that has a fibre is one of the explorer's from now on. */
static int add(tsr_explorer_t *e, tsr_live_t *live, const tsr_task_who_t *who)
{
	live->explorer = e;
	live->number = e->tasks++;
	live->pending = &not_begun;
	live->said = true;
	*tsr_task_of(e, live->number) =
		(tsr_task_t){.who = *who, .state = TSR_TASK_BLOCKED, .live = live};
	tsr_taskset_add(&e->alive, live->number);
	tsr_task_put(e, live->number, TSR_TASK_READY);
	if (e->alive.count > e->most_live)
		e->most_live = e->alive.count;
	tsr_explorer_news(e);
	return live->number;
}

tsr_status_t tsr_explorer_spawn(tsr_explorer_t *e, const tsr_task_who_t *who, tsr_task_fn body,
				void *context, size_t stack_bytes, int *task_out)
{
	tsr_live_t *live = reserve(e) ? calloc(1, sizeof *live) : NULL;
	if (!live)
		return no_memory(e);
	if (!stack_bytes)
		stack_bytes =
			who->kind == TSR_TASK_HOST ? TSR_STACK_HOST_BYTES : TSR_STACK_WORKER_BYTES;
	const tsr_status_t status =
		tsr_fibre_create(e->fibres, task_main, live, stack_bytes, &live->fibre);
	if (status) {
		free(live);
		return status;
	}
	live->body = body;
	live->context = context;
	*task_out = add(e, live, who);
	return TSR_OK;
}

bool tsr_explorer_forks(void)
{
	return tsr_fibres_fork();
}

tsr_status_t tsr_explorer_fork(tsr_explorer_t *e, const tsr_task_who_t *who, int *task_out,
			       bool *forked_out)
{
	tsr_live_t *live = reserve(e) ? calloc(1, sizeof *live) : NULL;
	if (!live)
		return no_memory(e);
	live->body = e->running->body;
	live->context = e->running->context;
	const tsr_status_t status = tsr_fibre_fork(e->fibres, &live->fibre, forked_out);
	if (status != TSR_OK) {
		free(live);
	} else if (*forked_out) {
		e->running->pending = NULL; /* it has begun; `live` was added before that */
	} else {
		e->running->has_forked = live->has_forked = true;
		*task_out = add(e, live, who);
	}
	return status;
}

int tsr_explorer_self(const tsr_explorer_t *e)
{
	return e->running ? e->running->number : TSR_NO_TASK;
}

void *tsr_explorer_context(const tsr_explorer_t *e)
{
	return e->running ? e->running->context : NULL;
}

tsr_source_t tsr_explorer_last(const tsr_explorer_t *e)
{
	return e->running ? e->running->last.site : (tsr_source_t){.call = NULL};
}

const tsr_task_who_t *tsr_explorer_who(const tsr_explorer_t *e, int task)
{
	return &tsr_task_of(e, task)->who;
}

bool tsr_explorer_ended(const tsr_explorer_t *e, int task)
{
	return tsr_task_of(e, task)->state == TSR_TASK_ENDED;
}

int tsr_explorer_tasks(const tsr_explorer_t *e)
{
	return e->tasks;
}

int tsr_explorer_live(const tsr_explorer_t *e)
{
	return e->alive.count;
}

/* ------------------------------------------------------------------ runs */

tsr_explorer_end_t tsr_explorer_run(tsr_explorer_t *e)
{
	e->ended = false;
	e->early = NULL;
	e->grown = true;
	tsr_explorer_go_on(e);
	return e->end;
}

void tsr_explorer_stop(tsr_explorer_t *e)
{
	tsr_explorer_finish(e, TSR_EXPLORER_STOPPED);
	end_task(e);
	tsr_explorer_leave(e);
}

bool tsr_explorer_unwind(tsr_explorer_t *e, uint64_t steps)
{
	e->unwinding = true;
	e->last_step = e->steps + steps;
	e->back_at = TSR_NO_TASK;
	return tsr_explorer_run(e) == TSR_EXPLORER_DONE;
}

bool tsr_explorer_livelock(const tsr_explorer_t *e, uint64_t *key_out)
{
	if (e->early)
		*key_out = e->early->key;
	return e->early != NULL;
}

tsr_explorer_counts_t tsr_explorer_count(const tsr_explorer_t *e)
{
	const tsr_early_t *early = e->early;
	const uint64_t choices = e->config.strategy ? tsr_strategy_choices(e->config.strategy) : 0;
	return (tsr_explorer_counts_t){.steps = early ? early->steps : e->steps,
				       .switches = e->switches,
				       .choices = early ? early->choices : choices,
				       .tasks = e->tasks,
				       .most_live = e->most_live,
				       .stack_bytes = tsr_fibres_bytes(e->fibres)};
}

/* Choices and their log, and the strategy that follows a script. */
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/explore/schedule/strategy_state.h"

/* ------------------------------------------------------------------ pending operations */

static uint64_t object_of(const tsr_pending_t *p, int i)
{
	return i == 0 ? p->object : p->more[i - 1];
}

static bool touches(const tsr_pending_t *p)
{
	return p->kind != TSR_PENDING_LOCAL && p->kind != TSR_PENDING_FENCE &&
	       p->kind != TSR_PENDING_MEET;
}

bool tsr_pending_independent(const tsr_pending_t *a, const tsr_pending_t *b)
{
	if (a->seq_cst && b->seq_cst)
		return false;
	if (!touches(a) || !touches(b) ||
	    (a->kind == TSR_PENDING_READ && b->kind == TSR_PENDING_READ))
		return true;
	for (int i = 0; i <= a->more_count; i++)
		for (int j = 0; j <= b->more_count; j++)
			if (object_of(a, i) == object_of(b, j))
				return false;
	return true;
}

int tsr_runnable_task(const tsr_runnable_t *runnable, int alternative)
{
	if (runnable->current < 0)
		return tsr_taskset_nth(runnable->tasks, alternative);
	if (alternative == 0)
		return runnable->current;
	const int task = tsr_taskset_nth(runnable->tasks, alternative - 1);
	return task < runnable->current ? task : tsr_taskset_after(runnable->tasks, task);
}

int tsr_runnable_alternative(const tsr_runnable_t *runnable, int task)
{
	const tsr_taskset_t *set = runnable->tasks;
	int lower = 0;

	if (task == runnable->current)
		return 0;
	for (int w = tsr_taskset_word(set, 0); w < task / 64; w = tsr_taskset_word(set, w + 1))
		lower += __builtin_popcountll(set->word[w]);
	lower += __builtin_popcountll(set->word[task / 64] & ((UINT64_C(1) << task % 64) - 1));
	/* the current task comes first though it be higher */
	return lower + (runnable->current > task);
}

/* ------------------------------------------------------------------ the log */

static void log_deviation(tsr_strategy_t *strategy, uint32_t alternative)
{
	tsr_script_t *script = &strategy->script;

	if (script->count == strategy->script_room) {
		const size_t room = strategy->script_room ? 2 * strategy->script_room : 64;
		tsr_deviation_t *more = realloc(script->deviation, room * sizeof *more);
		strategy->exhausted = strategy->exhausted || !more;
		if (!more)
			return;
		script->deviation = more;
		strategy->script_room = room;
	}
	script->deviation[script->count++] =
		(tsr_deviation_t){(uint32_t)strategy->choices, alternative};
}

int tsr_strategy_choose(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			const tsr_runnable_t *runnable)
{
	if (n < 2)
		return strategy->watches && kind == TSR_CHOICE_TASK
			       ? strategy->choose(strategy, kind, n, runnable)
			       : 0;

	const int chosen = strategy->choose(strategy, kind, n, runnable);
	if (chosen > 0)
		log_deviation(strategy, (uint32_t)chosen);
	strategy->choices += chosen >= 0;
	strategy->aside += tsr_choice_is_aside(kind);
	return chosen;
}

uint64_t tsr_strategy_choices(const tsr_strategy_t *strategy)
{
	return strategy->choices;
}

tsr_script_t tsr_strategy_script(const tsr_strategy_t *strategy)
{
	return strategy->script;
}

bool tsr_strategy_exhausted(const tsr_strategy_t *strategy)
{
	return strategy->exhausted;
}

void *tsr_strategy_allocate(size_t bytes)
{
	void *strategy = calloc(1, bytes);
	if (!strategy)
		(void)tsr_error(TSR_ERR_NO_MEMORY, "no memory for a strategy; free some");
	return strategy;
}

void tsr_strategy_destroy(tsr_strategy_t *strategy)
{
	if (!strategy)
		return;
	if (strategy->destroy)
		strategy->destroy(strategy);
	free(strategy->script.deviation);
	free(strategy);
}

/* ------------------------------------------------------------------ by script */

tsr_status_t tsr_script_copy(const tsr_script_t *script, tsr_script_t *copy_out)
{
	tsr_script_t copy = {NULL, script->count};

	for (size_t i = 1; i < script->count; i++)
		if (script->deviation[i - 1].index >= script->deviation[i].index)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "choice %u comes after choice %u in the script, and must "
					 "come before it",
					 script->deviation[i].index,
					 script->deviation[i - 1].index);
	if (script->count) {
		copy.deviation = malloc(script->count * sizeof *copy.deviation);
		if (!copy.deviation)
			return tsr_error(TSR_ERR_NO_MEMORY,
					 "no memory for a script of %zu deviations; free some",
					 script->count);
		memcpy(copy.deviation, script->deviation, script->count * sizeof *copy.deviation);
	}
	*copy_out = copy;
	return TSR_OK;
}

typedef struct tsr_scripted {
	tsr_strategy_t base;
	tsr_script_t script;
	size_t at;
} tsr_scripted_t;

static int choose_scripted(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			   const tsr_runnable_t *runnable)
{
	tsr_scripted_t *s = (tsr_scripted_t *)strategy;
	const uint32_t alternative = tsr_script_at(&s->script, &s->at, strategy->choices);

	(void)kind, (void)runnable;
	return alternative < (uint32_t)n ? (int)alternative : 0;
}

static void destroy_scripted(tsr_strategy_t *strategy)
{
	free(((tsr_scripted_t *)strategy)->script.deviation);
}

tsr_status_t tsr_strategy_scripted(const tsr_script_t *script, tsr_strategy_t **strategy_out)
{
	tsr_scripted_t *s = tsr_strategy_allocate(sizeof *s);
	if (!s)
		return TSR_ERR_NO_MEMORY;
	s->base.choose = choose_scripted;
	s->base.destroy = destroy_scripted;
	const tsr_status_t status = tsr_script_copy(script, &s->script);
	if (status) {
		tsr_strategy_destroy(&s->base);
		return status;
	}
	*strategy_out = &s->base;
	return TSR_OK;
}

/*
 * The strategies by chance: random, and priorities. Both draw from Philox with
 * the seed as key and the choice as counter.
 */
#include <stdlib.h>

#include "src/base/error.h"
#include "src/explore/schedule/strategy_state.h"
#include "src/tensor/random_core.h"

/* what is drawn */
enum { DRAW_CHOICE, DRAW_CHARACTER, DRAW_PRIORITY, DRAW_CHANGE, DRAW_ASIDE };

typedef struct tsr_draw {
	uint32_t word[4];
} tsr_draw_t;

static tsr_draw_t draw(uint64_t seed, uint64_t index, uint32_t what)
{
	/* The third word keeps clear of the streams of tsr_core_bits. */
	tsr_draw_t d = {{(uint32_t)index, (uint32_t)(index >> 32), 0x65787000u + what, 0}};
	tsr_core_philox(d.word, (uint32_t)seed, (uint32_t)(seed >> 32));
	return d;
}

/** Uniform in 0 .. n-1. */
static int below(uint32_t word, int n)
{
	return (int)((uint64_t)word * (uint64_t)n >> 32);
}

/* ------------------------------------------------------------------ what a seed is like */

/* which of the messages that are not the newest */
enum { TAKE_ANY, TAKE_NEXT, TAKE_OLDEST, TAKES };

/* The chance to answer otherwise than by default, in 2^-32. */
typedef struct tsr_character {
	uint32_t odds[TSR_CHOICES];
	int take;
} tsr_character_t;

/** 1 / 2^log2, and never for 0. */
static uint32_t one_in(int log2)
{
	return log2 == 0 ? 0 : UINT32_C(1) << (32 - log2);
}

static tsr_character_t character_of(uint64_t seed)
{
	static const int leave[8] = {1, 1, 2, 3, 4, 5, 6, 8}, late[4] = {0, 0, 1, 4},
			 stale[8] = {0, 1, 1, 2, 2, 3, 4, 5}, rare[4] = {0, 3, 5, 7};
	const tsr_draw_t a = draw(seed, 0, DRAW_CHARACTER), b = draw(seed, 1, DRAW_CHARACTER);

	return (tsr_character_t){
		.odds = {[TSR_CHOICE_TASK] = one_in(leave[below(a.word[0], 8)]),
			 [TSR_CHOICE_MESSAGE] = one_in(stale[below(a.word[1], 8)]),
			 [TSR_CHOICE_FLAG] = one_in(1),
			 [TSR_CHOICE_EXPIRE] = one_in(rare[below(a.word[2], 4)]),
			 [TSR_CHOICE_CACHE] = one_in(stale[below(a.word[3], 8)]),
			 [TSR_CHOICE_PIECE] = one_in(late[below(b.word[1], 4)]),
			 [TSR_CHOICE_INSIST] = below(b.word[2], 8) == 0 ? UINT32_MAX : 0,
			 [TSR_CHOICE_SPLIT] = below(b.word[3], 8) == 0 ? UINT32_MAX : 0,
			 [TSR_CHOICE_OTHER] = one_in(1)},
		.take = below(b.word[0], TAKES)};
}

static int choose_value(const tsr_character_t *character, tsr_choice_t kind, int n, tsr_draw_t d)
{
	if (d.word[0] >= character->odds[kind])
		return 0;
	if (kind == TSR_CHOICE_MESSAGE && character->take != TAKE_ANY)
		return character->take == TAKE_NEXT ? 1 : n - 1;
	return 1 + below(d.word[1], n - 1);
}

/** What is drawn for the choice that is made now. */
static tsr_draw_t draw_choice(const tsr_strategy_t *strategy, uint64_t seed, tsr_choice_t kind)
{
	return tsr_choice_is_aside(kind)
		       ? draw(seed, strategy->aside, DRAW_ASIDE)
		       : draw(seed, strategy->choices - strategy->aside, DRAW_CHOICE);
}

/* ------------------------------------------------------------------ random */

typedef struct tsr_random {
	tsr_strategy_t base;
	uint64_t seed;
	tsr_character_t character;
} tsr_random_t;

static int choose_random(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			 const tsr_runnable_t *runnable)
{
	const tsr_random_t *r = (const tsr_random_t *)strategy;
	if (tsr_choice_is_aside(kind) && r->character.odds[kind] == 0)
		return 0;
	const tsr_draw_t d = draw_choice(strategy, r->seed, kind);

	if (kind == TSR_CHOICE_TASK && runnable->current < 0)
		return below(d.word[1], n); /* nobody to go on with */
	return choose_value(&r->character, kind, n, d);
}

tsr_status_t tsr_strategy_random(uint64_t seed, tsr_strategy_t **strategy_out)
{
	tsr_random_t *r = tsr_strategy_allocate(sizeof *r);
	if (!r)
		return TSR_ERR_NO_MEMORY;
	r->base.choose = choose_random;
	r->seed = seed;
	r->character = character_of(seed);
	*strategy_out = &r->base;
	return TSR_OK;
}

/* ------------------------------------------------------------------ priorities */

typedef struct tsr_pct {
	tsr_strategy_t base;
	uint64_t seed, taken; /* choices of task so far */
	tsr_character_t character;
	uint64_t *priority;       /* by task; 0: not drawn yet */
	int tasks, changes, best; /* `best` was chosen last */
	uint64_t change[];        /* the choices of task at which the running one falls behind */
} tsr_pct_t;

/** The highest for a task beyond memory, so that it does not starve. */
static uint64_t priority_of(tsr_pct_t *p, int task)
{
	if (task >= p->tasks) {
		const int tasks = task + 1 < 64 ? 64 : 2 * task;
		uint64_t *more = realloc(p->priority, (size_t)tasks * sizeof *more);
		if (!more) {
			p->base.exhausted = true;
			return UINT64_MAX;
		}
		memset(more + p->tasks, 0, (size_t)(tasks - p->tasks) * sizeof *more);
		p->priority = more;
		p->tasks = tasks;
	}
	if (p->priority[task] == 0) {
		const tsr_draw_t d = draw(p->seed, (uint64_t)task, DRAW_PRIORITY);
		/* above all that have fallen */
		p->priority[task] = (uint64_t)d.word[1] << 32 | d.word[0] | UINT64_C(1) << 63;
	}
	return p->priority[task];
}

static bool falls(const tsr_pct_t *p)
{
	for (int i = 0; i < p->changes; i++)
		if (p->change[i] == p->taken)
			return true;
	return false;
}

static int choose_by_priority(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			      const tsr_runnable_t *runnable)
{
	tsr_pct_t *p = (tsr_pct_t *)strategy;

	if (kind != TSR_CHOICE_TASK)
		return choose_value(&p->character, kind, n, draw_choice(strategy, p->seed, kind));

	const bool change = falls(p);
	p->taken++;
	if (!change && !runnable->grown && runnable->current >= 0 && runnable->current == p->best)
		return 0;
	if (change && runnable->current >= 0 && priority_of(p, runnable->current) &&
	    runnable->current < p->tasks)
		/* who falls later falls deeper */
		p->priority[runnable->current] = (UINT64_C(1) << 62) - p->taken;
	uint64_t highest = 0;
	for (int task = tsr_taskset_after(runnable->tasks, -1); task >= 0;
	     task = tsr_taskset_after(runnable->tasks, task))
		if (priority_of(p, task) > highest) {
			highest = priority_of(p, task);
			p->best = task;
		}
	return tsr_runnable_alternative(runnable, p->best);
}

static void destroy_pct(tsr_strategy_t *strategy)
{
	free(((tsr_pct_t *)strategy)->priority);
}

tsr_status_t tsr_strategy_pct(uint64_t seed, int depth, uint64_t steps,
			      tsr_strategy_t **strategy_out)
{
	if (depth < 1 || depth > 1000 || steps < 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a depth of %d and %llu steps: PCT takes a depth of 1 to 1000 and "
				 "a step at least",
				 depth, (unsigned long long)steps);
	tsr_pct_t *p = tsr_strategy_allocate(sizeof *p + (size_t)(depth - 1) * sizeof p->change[0]);
	if (!p)
		return TSR_ERR_NO_MEMORY;
	p->base.choose = choose_by_priority;
	p->base.destroy = destroy_pct;
	p->seed = seed;
	p->best = -1;
	p->character = character_of(seed);
	p->changes = depth - 1;
	for (int i = 0; i < p->changes; i++)
		p->change[i] =
			tsr_core_high((uint64_t)draw(seed, (uint64_t)i, DRAW_CHANGE).word[1] << 32 |
					      draw(seed, (uint64_t)i, DRAW_CHANGE).word[0],
				      steps);
	*strategy_out = &p->base;
	return TSR_OK;
}

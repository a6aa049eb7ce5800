/* A run of an exhaustive search, and where the run after it begins. */
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/explore/schedule/reversals.h"
#include "src/explore/schedule/strategy_state.h"

/* Of an alternative of a choice of task. */
enum {
	WANTED = 1,   /* it is to be explored */
	EXPLORED = 2, /* it has been, with all that follows */
	ASLEEP = 4    /* it need not be: it sleeps since an earlier choice */
};
enum { KEPT_BITS = 2, KEPT_MASK = WANTED | EXPLORED, KEPT_IN_WORD = 32 / KEPT_BITS };

typedef struct tsr_alternative {
	int task;
	uint8_t is;
} tsr_alternative_t;

/* A choice as it was made. */
typedef struct tsr_made {
	uint32_t taken, n;
	size_t first; /* alternative, where they differ */
	/* they are tasks, of which not all need be explored; else what comes after `taken` is
	 * left */
	bool differ;
	bool fixed; /* nothing is left, as the bounds want it */
} tsr_made_t;

typedef struct tsr_search {
	tsr_strategy_t base;
	tsr_exhaustive_t bounds;
	tsr_frontier_t from;
	size_t at;     /* word of `from` */
	int first_new; /* the first event that no run before has had in this place */
	/* tasks whose next step has been explored here, with all that follows */
	tsr_taskset_t sleep;
	tsr_reversals_t run;
	tsr_made_t *made; /* of each choice */
	size_t made_count, made_room;
	tsr_alternative_t *alternative; /* of all choices of task, by choice */
	size_t alternatives, alternative_room;
	int preemptions;
	bool sleeps, reduces, pruned;
	bool diverged; /* the run did not come where the frontier is */
} tsr_search_t;

/* ------------------------------------------------------------------ choices as they are made */

/** Makes room for one more choice, of `n` alternatives. */
static bool make_room(tsr_search_t *s, size_t n)
{
	if (s->made_count == s->made_room) {
		const size_t room = s->made_room ? 2 * s->made_room : 256;
		tsr_made_t *more = realloc(s->made, room * sizeof *more);
		if (!more)
			return false;
		s->made = more;
		s->made_room = room;
	}
	if (s->alternatives + n > s->alternative_room) {
		const size_t room = 2 * s->alternative_room + n;
		tsr_alternative_t *more = realloc(s->alternative, room * sizeof *more);
		if (!more)
			return false;
		s->alternative = more;
		s->alternative_room = room;
	}
	return true;
}

static size_t kept_words(uint32_t n)
{
	return (n + KEPT_IN_WORD - 1) / KEPT_IN_WORD;
}

/**
 * What the frontier says of the choice that comes, or null behind it. A program
 * that does not do the same again has failed.
 */
static const uint32_t *kept(tsr_search_t *s, uint32_t n, bool differ)
{
	const size_t words = 2 + (differ ? kept_words(n) : 0);
	if (s->at == s->from.count)
		return NULL;
	if (s->at + words > s->from.count || s->from.word[s->at + 1] != n ||
	    s->from.word[s->at] >= n) {
		s->diverged = true;
		s->at = s->from.count;
		return NULL;
	}
	const uint32_t *word = &s->from.word[s->at];
	s->at += words;
	if (s->at == s->from.count)
		s->first_new = s->run.events;
	return word;
}

/** A choice of which, if not `fixed`, all alternatives are explored one after the other. */
static int choose_in_turn(tsr_search_t *s, int n, bool fixed)
{
	if (n < 2)
		return 0;
	const uint32_t *word = kept(s, (uint32_t)n, false);
	if (!make_room(s, 0)) {
		s->base.exhausted = true;
		return 0;
	}
	tsr_made_t *made = &s->made[s->made_count++];
	*made = (tsr_made_t){.taken = word ? word[0] : 0, .n = (uint32_t)n, .fixed = fixed};
	return (int)made->taken;
}

/* ------------------------------------------------------------- choices of task, with sleep sets */

/**
 * An alternative whose step touches nothing: it swaps with all others, so that
 * no other order of it need be explored.
 */
static int local(const tsr_runnable_t *runnable, int n)
{
	for (int k = 0; k < n; k++) {
		const tsr_pending_kind_t kind =
			runnable->pending(runnable->context, tsr_runnable_task(runnable, k))->kind;
		if (kind == TSR_PENDING_LOCAL || kind == TSR_PENDING_MEET)
			return k;
	}
	return n;
}

/** The step of `goes` wakes what depends on it. */
static void wake(tsr_search_t *s, const tsr_runnable_t *runnable, int goes)
{
	const tsr_pending_t *step = runnable->pending(runnable->context, goes);

	tsr_taskset_remove(&s->sleep, goes);
	for (int task = tsr_taskset_after(&s->sleep, -1); task >= 0;
	     task = tsr_taskset_after(&s->sleep, task))
		if (!tsr_pending_independent(step, runnable->pending(runnable->context, task)))
			tsr_taskset_remove(&s->sleep, task);
}

/** Notes the alternatives, and what is known of them. The first that does not sleep, or n. */
static uint32_t note_alternatives(tsr_search_t *s, const tsr_runnable_t *runnable, tsr_made_t *made,
				  const uint32_t *word)
{
	uint32_t awake = made->n;

	for (uint32_t k = 0; k < made->n; k++) {
		tsr_alternative_t *a = &s->alternative[s->alternatives++];
		a->task = tsr_runnable_task(runnable, (int)k);
		a->is = word ? word[2 + k / KEPT_IN_WORD] >> k % KEPT_IN_WORD * KEPT_BITS &
					KEPT_MASK
			     : 0;
		if (tsr_taskset_has(&s->sleep, a->task))
			a->is |= ASLEEP;
		else if (awake == made->n)
			awake = k;
		if (!s->reduces)
			a->is |= WANTED;
	}
	return awake;
}

/** What was explored here before sleeps from now on. */
static bool fall_asleep(tsr_search_t *s, const tsr_made_t *made)
{
	for (uint32_t k = 0; k < made->n; k++) {
		const tsr_alternative_t *a = &s->alternative[made->first + k];
		if (!(a->is & EXPLORED))
			continue;
		if (!tsr_taskset_reserve(&s->sleep, a->task + 1))
			return false;
		tsr_taskset_add(&s->sleep, a->task);
	}
	return true;
}

/** Which of several; -1: all sleep. */
static int choose_awake(tsr_search_t *s, int n, const tsr_runnable_t *runnable)
{
	const uint32_t *word = kept(s, (uint32_t)n, true);
	if (!make_room(s, (size_t)n)) {
		s->base.exhausted = true;
		return -1;
	}
	tsr_made_t *made = &s->made[s->made_count++];
	*made = (tsr_made_t){.n = (uint32_t)n, .first = s->alternatives, .differ = true};
	const uint32_t awake = note_alternatives(s, runnable, made, word);
	made->taken = word ? word[0] : awake;
	if (made->taken == made->n)
		return -1;
	s->alternative[made->first + made->taken].is |= WANTED;
	if (!fall_asleep(s, made)) {
		s->base.exhausted = true;
		return -1;
	}
	return (int)made->taken;
}

static int choose_task(tsr_search_t *s, int n, const tsr_runnable_t *runnable)
{
	int taken = local(runnable, n), node = TSR_NO_NODE;

	if (s->reduces && !tsr_reversals_look(&s->run, runnable->tasks))
		s->base.exhausted = true;
	if (taken < n)
		choose_in_turn(s, n, true);
	else if (n > 1) {
		taken = choose_awake(s, n, runnable);
		node = (int)s->made_count - 1;
	} else {
		taken = tsr_taskset_has(&s->sleep, tsr_runnable_task(runnable, 0)) ? -1 : 0;
	}
	s->pruned = taken < 0;
	if (taken < 0)
		return taken;
	const int goes = tsr_runnable_task(runnable, taken);
	wake(s, runnable, goes);
	if (s->reduces && !tsr_reversals_step(&s->run, runnable, goes, node))
		s->base.exhausted = true;
	return taken;
}

/* ------------------------------------------------------------------ the strategy */

static int choose_exhaustively(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			       const tsr_runnable_t *runnable)
{
	tsr_search_t *s = (tsr_search_t *)strategy;
	const bool bounded = s->bounds.preemptions >= 0;
	bool fixed = s->bounds.depth && s->base.choices - s->base.aside >= s->bounds.depth;

	/* what pieces change is told in every schedule, as a race within a coop; and a loop that
	 * spins would be tried as often as it turns */
	if (tsr_choice_is_aside(kind))
		return 0;
	if (kind == TSR_CHOICE_TASK && s->sleeps)
		return choose_task(s, n, runnable);
	if (kind != TSR_CHOICE_TASK || runnable->current < 0)
		return choose_in_turn(s, n, fixed);
	fixed = fixed || (bounded && s->preemptions >= s->bounds.preemptions);
	const int taken = choose_in_turn(s, n, fixed);
	s->preemptions += taken > 0;
	return taken;
}

static void destroy_search(tsr_strategy_t *strategy)
{
	tsr_search_t *s = (tsr_search_t *)strategy;
	tsr_taskset_free(&s->sleep);
	tsr_reversals_free(&s->run);
	free(s->from.word);
	free(s->made);
	free(s->alternative);
}

tsr_status_t tsr_strategy_exhaustive(const tsr_exhaustive_t *bounds, const tsr_frontier_t *from,
				     tsr_strategy_t **strategy_out)
{
	tsr_search_t *s = tsr_strategy_allocate(sizeof *s);
	if (!s)
		return TSR_ERR_NO_MEMORY;
	s->base.choose = choose_exhaustively;
	s->base.destroy = destroy_search;
	s->base.watches = true;
	s->bounds = *bounds;
	s->sleeps = bounds->reduction != TSR_REDUCE_NOTHING && bounds->preemptions < 0 &&
		    bounds->depth == 0;
	s->reduces = s->sleeps && bounds->reduction == TSR_REDUCE_REVERSALS;
	s->from = (tsr_frontier_t){calloc(from->count + 1, sizeof *from->word), from->count};
	if (!s->from.word) {
		tsr_strategy_destroy(&s->base);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no memory for a frontier of %zu words: bound the preemptions",
				 from->count);
	}
	if (from->count)
		memcpy(s->from.word, from->word, from->count * sizeof *from->word);
	*strategy_out = &s->base;
	return TSR_OK;
}

bool tsr_exhaustive_pruned(const tsr_strategy_t *strategy)
{
	return ((const tsr_search_t *)strategy)->pruned;
}

/* ------------------------------------------------------------------ what is left */

/**
 * One of the tasks has to be tried at that choice: the first that can, unless
 * another of them is tried anyway.
 */
static void want_one(void *context, int node, const int *tasks, int count)
{
	tsr_search_t *s = context;
	const tsr_made_t *made = &s->made[node];
	tsr_alternative_t *wanted = NULL;

	for (int i = 0; i < count; i++)
		for (uint32_t k = 0; k < made->n; k++) {
			tsr_alternative_t *a = &s->alternative[made->first + k];
			if (a->task != tasks[i])
				continue;
			if (a->is)
				return;
			wanted = wanted ? wanted : a;
		}
	if (wanted)
		wanted->is |= WANTED;
}

/** What the run says is to be explored beside what it was; all there is where it was not whole. */
static bool want(tsr_search_t *s, bool whole)
{
	if (whole)
		return !s->reduces || tsr_reversals_tell(&s->run, s->first_new, want_one, s);
	for (size_t i = 0; i < s->alternatives; i++)
		s->alternative[i].is |= WANTED;
	return true;
}

/** The alternative that is explored at a choice after the one that was; n: none. */
static uint32_t next_of(const tsr_search_t *s, const tsr_made_t *made)
{
	if (made->fixed)
		return made->n;
	if (!made->differ)
		return made->taken + 1;
	for (uint32_t k = 0; k < made->n; k++)
		if (k != made->taken && s->alternative[made->first + k].is == WANTED)
			return k;
	return made->n;
}

/** Appends a choice; returns the words behind it. */
static uint32_t *write_choice(const tsr_search_t *s, const tsr_made_t *made, uint32_t taken,
			      uint32_t *word)
{
	*word++ = taken;
	*word++ = made->n;
	if (!made->differ)
		return word;
	for (uint32_t k = 0; k < made->n; k++) {
		uint32_t is = s->alternative[made->first + k].is & KEPT_MASK;
		if (taken != made->taken && k == made->taken)
			is |= EXPLORED;
		word[k / KEPT_IN_WORD] |= is << k % KEPT_IN_WORD * KEPT_BITS;
	}
	return word + kept_words(made->n);
}

tsr_status_t tsr_exhaustive_next(tsr_strategy_t *strategy, bool whole, tsr_frontier_t *next_out,
				 bool *more_out)
{
	tsr_search_t *s = (tsr_search_t *)strategy;
	tsr_frontier_t next = {NULL, 0};
	size_t choices = s->made_count, words = 1;

	if (s->diverged || s->at < s->from.count)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "a schedule did not do the same as those before it, which the "
				 "search goes on from: let nothing "
				 "in the program hang on time, chance or what an earlier schedule "
				 "left, or choose another strategy");
	if (strategy->exhausted || !want(s, whole))
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"no memory for the choices of a run: explore fewer ranks, blocks or bytes");
	while (choices > 0 && next_of(s, &s->made[choices - 1]) == s->made[choices - 1].n)
		choices--;
	*more_out = choices > 0;
	*next_out = next;
	if (choices == 0)
		return TSR_OK;
	for (size_t i = 0; i < choices; i++)
		words += 2 + (s->made[i].differ ? kept_words(s->made[i].n) : 0);
	next.word = calloc(words, sizeof *next.word);
	if (!next.word)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no memory for a frontier of %zu words: bound the preemptions",
				 words);
	uint32_t *word = next.word;
	for (size_t i = 0; i < choices; i++)
		word = write_choice(s, &s->made[i],
				    i + 1 == choices ? next_of(s, &s->made[i]) : s->made[i].taken,
				    word);
	next.count = (size_t)(word - next.word);
	*next_out = next;
	return TSR_OK;
}

/* A run of an exhaustive search, and the script of the run after it. */
#include <stdlib.h>

#include "src/base/error.h"
#include "src/explore/strategy_state.h"

/* A choice as it was made, and the alternative that the search takes there next; 0: none is left. */
typedef struct tsr_made {
	uint32_t taken, next;
} tsr_made_t;

typedef struct tsr_search {
	tsr_strategy_t base;
	tsr_exhaustive_t bounds;
	tsr_script_t script;
	size_t at;
	tsr_taskset_t sleep; /* tasks whose next step has been explored here, with all that follows */
	tsr_made_t *made;    /* of each choice */
	size_t made_count, made_room;
	int preemptions;
	bool pruned;
} tsr_search_t;

static void note(tsr_search_t *s, int n, int taken, int next)
{
	if (n < 2)
		return;
	if (s->made_count == s->made_room) {
		const size_t room = s->made_room ? 2 * s->made_room : 256;
		tsr_made_t *more = realloc(s->made, room * sizeof *more);
		if (!more) {
			s->base.exhausted = true;
			return;
		}
		s->made = more;
		s->made_room = room;
	}
	if (s->bounds.depth && s->base.choices >= s->bounds.depth)
		next = 0;
	s->made[s->made_count++] = (tsr_made_t){(uint32_t)taken, (uint32_t)next};
}

/** Whether the script, and not the search, decides this choice; then which alternative it is. */
static bool scripted(tsr_search_t *s, int n, int *alternative_out)
{
	const tsr_script_t *script = &s->script;
	if (n < 2 || !script->count || s->base.choices > script->deviation[script->count - 1].index)
		return false;
	const uint32_t alternative = tsr_script_at(script, &s->at, s->base.choices);
	*alternative_out = (int)alternative;
	return alternative < (uint32_t)n;
}

/* ------------------------------------------------------------------ sleep sets */

/** The first alternative from `from` on that does not sleep; n: none. */
static int awake(const tsr_search_t *s, const tsr_runnable_t *runnable, int n, int from)
{
	while (from < n && tsr_taskset_has(&s->sleep, tsr_runnable_task(runnable, from)))
		from++;
	return from;
}

/** An alternative whose step touches nothing: it swaps with all others, so that no other order of it need be explored. */
static int local(const tsr_runnable_t *runnable, int n)
{
	for (int k = 0; k < n; k++)
		if (runnable->pending(runnable->context, tsr_runnable_task(runnable, k))->kind == TSR_PENDING_LOCAL)
			return k;
	return n;
}

/** What was explored before `taken` sleeps from now on; what the step of `taken` depends on wakes up. */
static void fall_asleep(tsr_search_t *s, const tsr_runnable_t *runnable, int taken, bool alone)
{
	const int goes = tsr_runnable_task(runnable, taken);
	const tsr_pending_t *step = runnable->pending(runnable->context, goes);

	for (int k = 0; k < taken && !alone; k++) {
		const int task = tsr_runnable_task(runnable, k);
		if (!tsr_taskset_reserve(&s->sleep, task + 1)) {
			s->base.exhausted = true;
			return;
		}
		tsr_taskset_add(&s->sleep, task);
	}
	tsr_taskset_remove(&s->sleep, goes);
	for (int task = tsr_taskset_after(&s->sleep, -1); task >= 0; task = tsr_taskset_after(&s->sleep, task))
		if (!tsr_pending_independent(step, runnable->pending(runnable->context, task)))
			tsr_taskset_remove(&s->sleep, task);
}

static int choose_sleeping(tsr_search_t *s, int n, const tsr_runnable_t *runnable)
{
	int taken = local(runnable, n), next = 0;
	const bool alone = taken < n;

	if (!alone) {
		if (!scripted(s, n, &taken))
			taken = awake(s, runnable, n, 0);
		if (taken == n) {
			s->pruned = true;
			return -1;
		}
		next = awake(s, runnable, n, taken + 1) % n;
	}
	fall_asleep(s, runnable, taken, alone);
	note(s, n, taken, next);
	return taken;
}

/* ------------------------------------------------------------------ the strategy */

static int choose_exhaustively(tsr_strategy_t *strategy, tsr_choice_t kind, int n, const tsr_runnable_t *runnable)
{
	tsr_search_t *s = (tsr_search_t *)strategy;
	const bool bounded = s->bounds.preemptions >= 0;
	int taken = 0, next;

	if (kind == TSR_CHOICE_TASK && s->bounds.sleep && !bounded)
		return choose_sleeping(s, n, runnable);
	if (!scripted(s, n, &taken))
		taken = 0;
	next = (taken + 1) % n;
	if (kind == TSR_CHOICE_TASK && runnable->current >= 0) {
		if (bounded && s->preemptions >= s->bounds.preemptions)
			next = 0;
		s->preemptions += taken > 0;
	}
	note(s, n, taken, next);
	return taken;
}

static void destroy_search(tsr_strategy_t *strategy)
{
	tsr_search_t *s = (tsr_search_t *)strategy;
	tsr_taskset_free(&s->sleep);
	free(s->script.deviation);
	free(s->made);
}

tsr_status_t tsr_strategy_exhaustive(const tsr_exhaustive_t *bounds, const tsr_script_t *script, tsr_strategy_t **strategy_out)
{
	tsr_search_t *s = tsr_strategy_allocate(sizeof *s);
	if (!s)
		return TSR_ERR_NO_MEMORY;
	s->base.choose = choose_exhaustively;
	s->base.destroy = destroy_search;
	s->base.watches = true;
	s->bounds = *bounds;
	const tsr_status_t status = tsr_script_copy(script, &s->script);
	if (status) {
		tsr_strategy_destroy(&s->base);
		return status;
	}
	*strategy_out = &s->base;
	return TSR_OK;
}

bool tsr_exhaustive_pruned(const tsr_strategy_t *strategy)
{
	return ((const tsr_search_t *)strategy)->pruned;
}

tsr_status_t tsr_exhaustive_next(const tsr_strategy_t *strategy, tsr_script_t *script_out, bool *more_out)
{
	const tsr_search_t *s = (const tsr_search_t *)strategy;
	size_t last = s->made_count, count = 0;
	tsr_script_t next = {NULL, 0};

	if (strategy->exhausted)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for the choices of a run: the search cannot go on");
	while (last > 0 && s->made[last - 1].next == 0)
		last--;
	if (last > 0) {
		for (size_t i = 0; i + 1 < last; i++)
			count += s->made[i].taken != 0;
		next.deviation = malloc((count + 1) * sizeof *next.deviation);
		if (!next.deviation)
			return tsr_error(TSR_ERR_NO_MEMORY, "no memory for a script of %zu deviations", count + 1);
		for (size_t i = 0; i + 1 < last; i++)
			if (s->made[i].taken)
				next.deviation[next.count++] = (tsr_deviation_t){(uint32_t)i, s->made[i].taken};
		next.deviation[next.count++] = (tsr_deviation_t){(uint32_t)(last - 1), s->made[last - 1].next};
	}
	*script_out = next;
	*more_out = last > 0;
	return TSR_OK;
}

/*
 * Values that came and went. A word keeps what it had in this schedule, and
 * links.c notes who has read what, so both are asked when nobody can go on.
 */
#include "src/explore/missed.h"

#include <stdio.h>
#include <string.h>

const tsr_flag_watch_t *tsr_watch_of(const tsr_exploration_t *x, const tsr_stuck_node_t *node)
{
	for (const tsr_flag_watch_t *watch = node->kind == TSR_AWAIT_FLAG ? x->watches : NULL;
	     watch; watch = watch->next)
		if (x->operations[watch->operation].task == node->task)
			return watch;
	return NULL;
}

/** Whether the task has read what that operation wrote. */
static bool has_read(const tsr_exploration_t *x, int task, uint32_t operation)
{
	for (int i = 0; i < x->links.count; i++)
		if (x->links.steps[i].kind == TSR_STEP_READ && x->links.steps[i].task == task &&
		    x->links.steps[i].from == operation)
			return true;
	return false;
}

/** A word that a task looks at. */
typedef struct looked_at {
	int task, area;
	tsr_shadow_word_t word;
	const tsr_flag_wait_t *wait; /* null: a loop of its own */
} looked_at_t;

static bool would_do(const looked_at_t *l, uint64_t value)
{
	return !l->wait || tsr_flag_holds(l->wait, value);
}

/** The latest value of those that are gone, would do, and were written by others. */
static bool find(tsr_exploration_t *x, const looked_at_t *l, uint32_t *gave_out, uint32_t *took_out)
{
	int count = 0;
	if (tsr_shadow_values(x->shadow, &l->word, &count) != TSR_OK)
		return false;
	for (int n = count - 2; n >= 0; n--) {
		uint64_t value = 0, next = 0;
		uint32_t gave = 0, took = 0;
		if (tsr_shadow_had(x->shadow, &l->word, n, &value, &gave) != TSR_OK ||
		    tsr_shadow_had(x->shadow, &l->word, n + 1, &next, &took) != TSR_OK)
			return false;
		if (gave == 0 || took == 0 || value == next || !would_do(l, value) ||
		    x->operations[gave].task == l->task || has_read(x, l->task, gave))
			continue;
		*gave_out = gave;
		*took_out = took;
		return true;
	}
	return false;
}

static void say_place(const tsr_finding_access_t *access, char *text, size_t size)
{
	if (access->file)
		snprintf(text, size, "%s at %s:%d", access->call, access->file, access->line);
	else
		snprintf(text, size, "%s", access->call);
}

static void tell(tsr_exploration_t *x, const looked_at_t *l, uint32_t gave, uint32_t took,
		 tsr_missed_t *missed)
{
	char gave_at[128], took_at[128];
	tsr_operation_tell(x, gave, l->area, l->word.offset, l->word.bytes, &missed->gave);
	tsr_operation_tell(x, took, l->area, l->word.offset, l->word.bytes, &missed->took);
	say_place(&missed->gave, gave_at, sizeof gave_at);
	say_place(&missed->took, took_at, sizeof took_at);
	snprintf(missed->missing, sizeof missed->missing,
		 "%s that was given by %s had come and gone before %s: %s has written another "
		 "over it",
		 l->wait ? "the value" : "a value", gave_at,
		 l->wait ? "the wait looked" : "the loop looked", took_at);
	snprintf(missed->change, sizeof missed->change,
		 "%swait for at least a value (tsr_wait, TSR_CMP_GE) of a word that only grows, "
		 "and count rounds instead of a reset; or let %s come only after all who wait "
		 "have answered",
		 l->wait ? "" : "if that is what the loop looks for: ", took_at);
}

static bool tell_word(tsr_exploration_t *x, const looked_at_t *l, tsr_missed_t *missed_out)
{
	uint32_t gave, took;
	if (!find(x, l, &gave, &took))
		return false;
	tell(x, l, gave, took, missed_out);
	return true;
}

/** A lock is given back, and taken again, as often as one likes. */
static bool is_for_lock(const tsr_exploration_t *x, const tsr_flag_watch_t *watch)
{
	const char *call = x->operations[watch->operation].site.call;
	return call && strncmp(call, "tsr_lock", strlen("tsr_lock")) == 0;
}

bool tsr_missed(tsr_exploration_t *x, const tsr_stuck_node_t *node, uint32_t spun,
		tsr_missed_t *missed_out)
{
	const tsr_flag_watch_t *watch = tsr_watch_of(x, node);
	looked_at_t l = {.task = node->task};
	if (spun) {
		const tsr_operation_t *operation = &x->operations[spun];
		if (operation->kind != TSR_FINDING_READ)
			return false; /* a lock that is tried, say */
		l.area = operation->area;
		l.word = (tsr_shadow_word_t){x->areas[l.area].region, operation->offset,
					     operation->bytes};
		return tell_word(x, &l, missed_out);
	}
	if (!watch || watch->wait->shift > 0 || is_for_lock(x, watch))
		return false;
	l.area = watch->area;
	l.wait = watch->wait;
	for (int flag = 0; flag < l.wait->count; flag++) {
		l.word = (tsr_shadow_word_t){x->areas[l.area].region,
					     watch->offset + (size_t)flag * l.wait->word_bytes,
					     l.wait->word_bytes};
		if (tell_word(x, &l, missed_out))
			return true;
	}
	return false;
}

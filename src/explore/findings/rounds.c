/*
 * Rounds: a buffer that is written and read again and again. A write that comes
 * before the read of the round before it is one that comes too early, though it
 * looks like a read that does not wait. And a counter that several blocks raise
 * may reach what a write waits for by the rounds of the fast ones, while a slow
 * one has yet to read.
 */
#include "src/explore/exploration_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

static bool is_again(const tsr_operation_t *a, const tsr_operation_t *b)
{
	return a->task == b->task && a->kind == b->kind && a->area == b->area &&
	       a->offset == b->offset && a->site.line == b->site.line &&
	       strcmp(a->site.call, b->site.call) == 0;
}

/** Which time it is that this call accesses this place, from 1. */
static uint32_t round_of(const tsr_exploration_t *x, uint32_t number)
{
	uint32_t round = 0;
	for (uint32_t i = 1; i <= number; i++)
		round += is_again(&x->operations[i], &x->operations[number]);
	return round;
}

/** The operation that made the same access in an earlier round; 0: none. */
static uint32_t in_round(const tsr_exploration_t *x, uint32_t number, uint32_t round)
{
	for (uint32_t i = 1; i < number; i++)
		if (is_again(&x->operations[i], &x->operations[number]) && --round == 0)
			return i;
	return 0;
}

bool tsr_rounds_reused(const tsr_exploration_t *x, uint32_t write, uint32_t read)
{
	const uint32_t reads = round_of(x, read);
	if (round_of(x, write) <= reads)
		return false;
	const uint32_t own = in_round(x, write, reads);
	const tsr_operation_t *written = &x->operations[own];
	return own && tsr_views_knows(x->views, x->actors[x->operations[read].task].thread,
				      x->actors[written->task].thread, written->epoch);
}

uint32_t tsr_rounds_previous(const tsr_exploration_t *x, uint32_t number)
{
	const uint32_t round = round_of(x, number);
	return round > 1 ? in_round(x, number, round - 1) : 0;
}

/* ------------------------------------------------------------------ counters of several */

/** How often a counter had been raised when a wait saw it. */
typedef struct tsr_raises {
	int by_reader, by_other; /* by who reads; most by another */
	uint32_t other;          /* the last of that one's */
} tsr_raises_t;

/** Whether they run the same kernel, as different blocks of one launch. */
static bool are_alike(const tsr_exploration_t *x, int a, int b)
{
	const tsr_task_who_t *one = tsr_explorer_who(x->explorer, a),
			     *other = tsr_explorer_who(x->explorer, b);
	return a != b && one->kind == TSR_TASK_WORKER && other->kind == TSR_TASK_WORKER &&
	       (one->rank != other->rank || one->block != other->block) &&
	       one->launch == other->launch && one->kernel && other->kernel &&
	       strcmp(one->kernel, other->kernel) == 0;
}

static int raises_of(const tsr_exploration_t *x, int steps, int task, const tsr_operation_t *word,
		     uint32_t *last_out)
{
	int count = 0;
	for (int i = 0; i < steps; i++) {
		const tsr_step_t *step = &x->links.steps[i];
		const tsr_operation_t *raised = &x->operations[step->operation];
		if (step->kind != TSR_STEP_WRITE || step->task != task ||
		    raised->kind != TSR_FINDING_UPDATE || raised->area != word->area ||
		    raised->offset != word->offset)
			continue;
		count++;
		*last_out = step->operation;
	}
	return count;
}

/**
 * Whether who has not raised this word raises others by the same call, or one
 * alone raises it: then it is not the counter of several.
 */
static bool is_of_one(const tsr_exploration_t *x, int reader, uint32_t other)
{
	const tsr_operation_t *operations = x->operations, *word = &operations[other];
	bool several = false;
	for (int i = 0; i < x->links.count; i++) {
		const tsr_step_t *step = &x->links.steps[i];
		const tsr_operation_t *raised = &operations[step->operation];
		const bool same = raised->area == word->area && raised->offset == word->offset;
		if (step->kind != TSR_STEP_WRITE || raised->kind != TSR_FINDING_UPDATE)
			continue;
		if (!same && step->task == reader && raised->site.line == word->site.line &&
		    strcmp(raised->site.call, word->site.call) == 0)
			return true;
		several = several || (same && step->task != word->task);
	}
	return !several;
}

/** Whether another one like the reader had raised the counter more often than it has. */
static bool is_ahead(const tsr_exploration_t *x, int steps, int reader, const tsr_operation_t *word,
		     tsr_raises_t *out)
{
	uint32_t last = 0;
	*out = (tsr_raises_t){.by_reader = raises_of(x, steps, reader, word, &last)};
	for (int i = 0; i < steps; i++) {
		const int task = x->links.steps[i].task;
		const tsr_operation_t *raised = &x->operations[x->links.steps[i].operation];
		if (x->links.steps[i].kind != TSR_STEP_WRITE || raised->area != word->area ||
		    raised->offset != word->offset || !are_alike(x, task, reader))
			continue;
		const int count = raises_of(x, steps, task, word, &last);
		if (count > out->by_other)
			*out = (tsr_raises_t){out->by_reader, count, last};
	}
	return out->by_other > out->by_reader &&
	       (out->by_reader > 0 || !is_of_one(x, reader, out->other));
}

static void say(tsr_exploration_t *x, uint32_t wait, uint32_t read, const tsr_raises_t *raises,
		tsr_advice_text_t *text)
{
	const tsr_operation_t *waits = &x->operations[wait], *reads = &x->operations[read];
	const tsr_task_who_t *slow = tsr_explorer_who(x->explorer, reads->task),
			     *fast = tsr_explorer_who(x->explorer,
						      x->operations[raises->other].task);
	char place[TSR_PLACE_TEXT], counter[TSR_PLACE_TEXT + 32];
	(void)tsr_area_text(&x->areas[waits->area], waits->offset, waits->bytes, place);
	snprintf(counter, sizeof counter, "%s of rank %d", place, x->areas[waits->area].rank);
	snprintf(text->missing, sizeof text->missing,
		 "%s at %s:%d was satisfied too early: several blocks raise the counter %s, and "
		 "block %d of rank %d had raised it %d times, block %d of rank %d, which is yet "
		 "to end %s at %s:%d, only %d times",
		 waits->site.call, waits->site.file ? waits->site.file : "?", waits->site.line,
		 counter, fast->block, fast->rank, raises->by_other, slow->block, slow->rank,
		 reads->site.call, reads->site.file ? reads->site.file : "?", reads->site.line,
		 raises->by_reader);
	snprintf(text->change, sizeof text->change,
		 "let each block raise a flag of its own in place of %s, and let %s at %s:%d wait "
		 "for each of them; or let no block go on to the next round before all have ended "
		 "this one",
		 counter, waits->site.call, waits->site.file ? waits->site.file : "?",
		 waits->site.line);
}

/** How many steps there were when what this read saw had been written; it may be old. */
static int seen_by(const tsr_exploration_t *x, int read)
{
	const tsr_step_t *steps = x->links.steps;
	int i = read;
	while (i > 0 &&
	       !(steps[i - 1].kind == TSR_STEP_WRITE && steps[i - 1].operation == steps[read].from))
		i--;
	return i;
}

bool tsr_rounds_tell(tsr_exploration_t *x, uint32_t write, uint32_t read, tsr_advice_text_t *text,
		     tsr_finding_t *finding)
{
	const int writer = x->operations[write].task, reader = x->operations[read].task;
	for (int i = x->links.count - 1; i >= 0; i--) {
		const tsr_step_t *step = &x->links.steps[i];
		const tsr_operation_t *waits = &x->operations[step->operation];
		tsr_raises_t raises;
		if (step->kind != TSR_STEP_READ || step->task != writer ||
		    step->operation >= write || waits->kind != TSR_FINDING_WAIT ||
		    waits->area < 0 || !is_ahead(x, seen_by(x, i), reader, waits, &raises))
			continue;
		const tsr_operation_t *raised = &x->operations[raises.other];
		tsr_operation_tell(x, raises.other, raised->area, raised->offset, raised->bytes,
				   &finding->access[2]);
		tsr_operation_tell(x, step->operation, waits->area, waits->offset, waits->bytes,
				   &finding->access[3]);
		finding->accesses = 4;
		say(x, step->operation, read, &raises, text);
		finding->missing = text->missing;
		finding->change = text->change;
		return true;
	}
	return false;
}

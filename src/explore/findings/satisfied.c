/*
 * Waits that were satisfied before what they are for. The reader of a race did
 * wait for the writer, but what it found had been given before the write: by a
 * signal that stands before it, or by others who raise the same flag, as a
 * count that is too small, a value of the round before, or additions that are
 * too large let them.
 */
#include "src/explore/satisfied.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

static bool is_same_word(const tsr_operation_t *a, const tsr_operation_t *b)
{
	return a->area >= 0 && a->area == b->area && a->offset == b->offset;
}

/** Whether the one call stands before the other in the program's text. */
static bool stands_before(const tsr_operation_t *a, const tsr_operation_t *b)
{
	return a->site.file && b->site.file && strcmp(a->site.file, b->site.file) == 0 &&
	       a->site.line < b->site.line;
}

/** "tsr_signal at kernel.c:28" */
static void tell_place(const tsr_operation_t *operation, char *text, size_t size)
{
	const tsr_op_site_t *site = &operation->site;
	snprintf(text, size, site->file ? "%s at %s:%d" : "%s", site->call, site->file, site->line);
}

static void tell_link(tsr_exploration_t *x, uint32_t signal, uint32_t wait, tsr_finding_t *finding)
{
	const uint32_t link[] = {signal, wait};
	for (int i = 0; i < 2; i++) {
		const tsr_operation_t *told = &x->operations[link[i]];
		tsr_operation_tell(x, link[i], told->area, told->offset, told->bytes,
				   &finding->access[2 + i]);
	}
	finding->accesses = 4;
}

/* ------------------------------------------------------------------ a signal before its write */

/** The last wait that the task did before an operation for what a task gives; null: none. */
static const tsr_step_t *wait_for(const tsr_exploration_t *x, int task, uint32_t until, int giver)
{
	const tsr_operation_t *operations = x->operations;
	for (int i = x->links.count - 1; i >= 0; i--) {
		const tsr_step_t *step = &x->links.steps[i];
		if (step->kind == TSR_STEP_READ && step->task == task && step->operation < until &&
		    operations[step->operation].kind == TSR_FINDING_WAIT &&
		    operations[step->from].task == giver)
			return step;
	}
	return NULL;
}

/** Whether a task has waited for something between two of its operations. */
static bool waits_between(const tsr_exploration_t *x, uint32_t from, uint32_t to)
{
	for (int i = 0; i < x->links.count; i++) {
		const tsr_step_t *step = &x->links.steps[i];
		if (step->kind == TSR_STEP_READ && step->operation > from && step->operation < to &&
		    step->task == x->operations[to].task &&
		    x->operations[step->operation].kind == TSR_FINDING_WAIT)
			return true;
	}
	return false;
}

/**
 * The signal was given before the write, and stands before it in the text too:
 * else it would be that of the round before. One that stands before a wait is of
 * an earlier step.
 */
static bool tell_signal_first(tsr_exploration_t *x, uint32_t before, uint32_t now,
			      tsr_advice_text_t *text, tsr_finding_t *finding)
{
	const tsr_operation_t *write = &x->operations[before], *read = &x->operations[now];
	const tsr_step_t *wait = wait_for(x, read->task, now, write->task);
	char put[512], signal[512], waits[512];
	if (!wait || wait->from >= before || !stands_before(&x->operations[wait->from], write) ||
	    waits_between(x, wait->from, before))
		return false;
	tell_place(write, put, sizeof put);
	tell_place(&x->operations[wait->from], signal, sizeof signal);
	tell_place(&x->operations[wait->operation], waits, sizeof waits);
	snprintf(text->missing, sizeof text->missing,
		 "%s saw %s, which rank %d had given before %s", waits, signal,
		 tsr_explorer_who(x->explorer, write->task)->rank, put);
	snprintf(text->change, sizeof text->change, "give %s behind %s", signal, put);
	tell_link(x, wait->from, wait->operation, finding);
	return true;
}

/* ------------------------------------------------------------------ a flag that others raise */

/** A wait for a flag, and what raises it further, which the wait was not for. */
typedef struct tsr_satisfied {
	const tsr_step_t *wait, *raise;
	int raisers, most; /* tasks that have raised it; how often one of them at most */
	int by_giver;      /* how often who gives `raise` had raised it before */
} tsr_satisfied_t;

static int raises_before(const tsr_exploration_t *x, const tsr_step_t *end, int task,
			 const tsr_operation_t *word)
{
	int count = 0;
	for (const tsr_step_t *step = x->links.steps; step < end; step++)
		count += step->kind == TSR_STEP_WRITE && step->task == task &&
			 is_same_word(&x->operations[step->operation], word);
	return count;
}

/** The end of the steps up to the one that wrote what a read saw; it may be old. */
static const tsr_step_t *seen_by(const tsr_exploration_t *x, const tsr_step_t *read)
{
	const tsr_step_t *step = read;
	while (step > x->links.steps &&
	       !(step[-1].kind == TSR_STEP_WRITE && step[-1].operation == read->from))
		step--;
	return step;
}

/** Who has raised it, and how often in what the wait has seen. */
static void count_raisers(const tsr_exploration_t *x, const tsr_operation_t *word,
			  tsr_satisfied_t *s)
{
	const tsr_step_t *end = x->links.steps + x->links.count, *seen = seen_by(x, s->wait);
	for (const tsr_step_t *step = x->links.steps; step < end; step++) {
		if (step->kind != TSR_STEP_WRITE ||
		    !is_same_word(&x->operations[step->operation], word))
			continue;
		s->raisers += raises_before(x, step, step->task, word) == 0;
		const int count = raises_before(x, seen, step->task, word);
		s->most = count > s->most ? count : s->most;
	}
	s->by_giver = raises_before(x, seen, s->raise->task, word);
}

/** The last wait of the reader before the read for the word that the signal raises. */
static bool find(const tsr_exploration_t *x, uint32_t now, uint32_t unread, tsr_satisfied_t *out)
{
	const tsr_operation_t *word = &x->operations[unread];
	*out = (tsr_satisfied_t){.raisers = 0};
	for (int i = x->links.count - 1; i >= 0; i--) {
		const tsr_step_t *step = &x->links.steps[i];
		const tsr_operation_t *operation = &x->operations[step->operation];
		if (step->kind == TSR_STEP_WRITE && step->operation == unread)
			out->raise = step;
		if (!out->wait && step->kind == TSR_STEP_READ && step->operation < now &&
		    step->task == x->operations[now].task && step->wanted > 0 &&
		    operation->kind == TSR_FINDING_WAIT && is_same_word(operation, word))
			out->wait = step;
	}
	if (!out->wait || !out->raise)
		return false;
	count_raisers(x, word, out);
	return true;
}

/** What to change; false: it is not known. */
static bool say_change(const tsr_exploration_t *x, const tsr_satisfied_t *s, char *change,
		       size_t size)
{
	const tsr_operation_t *raises = &x->operations[s->raise->operation];
	const uint64_t gives = s->raise->value, wanted = s->wait->wanted;
	char signal[512], waits[512];
	tell_place(raises, signal, sizeof signal);
	tell_place(&x->operations[s->wait->operation], waits, sizeof waits);
	if (raises->kind != TSR_FINDING_UPDATE && gives <= wanted)
		snprintf(change, size,
			 "give a value of its own in each round, %s and %s: that of the round "
			 "before is still there",
			 signal, waits);
	else if (gives <= wanted)
		return false;
	else if (raises->kind == TSR_FINDING_UPDATE && s->raisers == 1 &&
		 gives > s->raise->before + 1)
		snprintf(change, size,
			 "let %s set its value (TSR_SIGNAL_SET), or add 1 each time: it raises the "
			 "flag by %" PRIu64,
			 signal, gives - s->raise->before);
	else if (raises->kind == TSR_FINDING_UPDATE && s->raisers > 1 && s->by_giver == s->most)
		return false; /* it is of the next round */
	else if (raises->kind == TSR_FINDING_UPDATE && wanted >= (uint64_t)s->raisers &&
		 s->most > s->by_giver + 1)
		return false; /* one who raises it may be ahead of another */
	else if (raises->kind == TSR_FINDING_UPDATE)
		snprintf(change, size,
			 "let %s wait for all that is added to the flag, at least %" PRIu64
			 ", in place of %" PRIu64,
			 waits, gives, wanted);
	else
		snprintf(change, size, "let %s wait for %" PRIu64 " in place of %" PRIu64, waits,
			 gives, wanted);
	return true;
}

static bool tell_too_early(tsr_exploration_t *x, uint32_t now, uint32_t unread,
			   tsr_advice_text_t *text, tsr_finding_t *finding)
{
	tsr_satisfied_t s;
	char signal[512], waits[512];
	if (!unread || !find(x, now, unread, &s) ||
	    !say_change(x, &s, text->change, sizeof text->change))
		return false;
	tell_place(&x->operations[unread], signal, sizeof signal);
	tell_place(&x->operations[s.wait->operation], waits, sizeof waits);
	snprintf(text->missing, sizeof text->missing,
		 "%s waits for %" PRIu64 ", and found %" PRIu64
		 " before %s of rank %d, which gives %" PRIu64,
		 waits, s.wait->wanted, s.wait->value, signal,
		 tsr_explorer_who(x->explorer, s.raise->task)->rank, s.raise->value);
	tell_link(x, unread, s.wait->operation, finding);
	return true;
}

bool tsr_satisfied_tell(tsr_exploration_t *x, uint32_t before, uint32_t now, uint32_t unread,
			tsr_advice_text_t *text, tsr_finding_t *finding)
{
	if (finding->access[0].kind != TSR_FINDING_READ ||
	    finding->access[1].kind == TSR_FINDING_READ || finding->class == TSR_FINDING_SCOPE_RACE)
		return false;
	if (!tell_signal_first(x, before, now, text, finding) &&
	    !tell_too_early(x, now, unread, text, finding))
		return false;
	finding->missing = text->missing;
	finding->change = text->change;
	return true;
}

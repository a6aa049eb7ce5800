/*
 * What the rank that a wait names did raise. Where nobody can go on, a signal
 * that is waited for in vain was often given, to another flag or in another
 * rank's memory: that is the one which nobody waits for. And a wait may name a
 * rank that never signals it, while another does.
 */
#include "src/explore/elsewhere.h"
#include "src/explore/exploration_state.h"
#include "src/explore/links.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/base/compare.h"
#include "src/base/text.h"

/** The wait that is looked at, and the best signal so far that may have been meant for it. */
typedef struct tsr_search_raised {
	tsr_exploration_t *x;
	const tsr_flag_watch_t *watch;
	int waiter;            /* task */
	uint32_t same, astray; /* operations: that raised this very flag; that may be meant */
	int likely;            /* how likely `astray` is */
	tsr_raised_t *out;
} tsr_search_raised_t;

static bool is_same_word(const tsr_operation_t *a, int area, size_t offset)
{
	return a->area == area && a->offset == offset;
}

/** Whether anybody but who raised it has waited for the word of this operation, or does now. */
static bool is_heard(const tsr_exploration_t *x, const tsr_operation_t *raised)
{
	for (const tsr_flag_watch_t *watch = x->watches; watch; watch = watch->next)
		if (watch->area == raised->area && raised->offset >= watch->offset &&
		    raised->offset - watch->offset < watch->bytes)
			return true;
	for (int i = 0; i < x->links.count; i++) {
		const tsr_step_t *step = &x->links.steps[i];
		const tsr_operation_t *read = &x->operations[step->operation];
		if (step->kind == TSR_STEP_READ && step->task != raised->task &&
		    read->kind == TSR_FINDING_WAIT &&
		    is_same_word(read, raised->area, raised->offset))
			return true;
	}
	return false;
}

static bool is_worker_of(const tsr_exploration_t *x, int task, int rank)
{
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, task);
	return who->kind == TSR_TASK_WORKER && (rank < 0 || who->rank == rank);
}

/** How likely it is that a word which nobody hears was raised in place of the awaited one. */
static int likelihood(const tsr_search_raised_t *s, const tsr_operation_t *raised)
{
	tsr_area_t *wanted = &s->x->areas[s->watch->area], *here = &s->x->areas[raised->area];
	if (wanted->shared || here->shared || is_heard(s->x, raised))
		return 0;
	if (raised->offset == s->watch->offset)
		return 3; /* the same flag of another rank */
	if (here->rank != wanted->rank)
		return 0;
	return tsr_area_piece(wanted, s->watch->offset) == tsr_area_piece(here, raised->offset) ? 2
												: 1;
}

/** Keeps the last of each word: earlier ones are dropped. */
static void keep(tsr_search_raised_t *s, uint32_t number)
{
	const tsr_operation_t *raised = &s->x->operations[number];
	tsr_raised_t *out = s->out;
	int kept = 0;
	for (int i = 0; i < out->count; i++)
		if (!is_same_word(&s->x->operations[out->operation[i]], raised->area,
				  raised->offset))
			out->operation[kept++] = out->operation[i];
	if (kept == TSR_RAISED) {
		for (int i = 1; i < kept; i++)
			out->operation[i - 1] = out->operation[i];
		kept--;
	}
	out->operation[kept++] = number;
	out->count = kept;
}

/** Whether the program signals by it: what a collective raises of its state is its own. */
static bool is_signal(const tsr_operation_t *raised)
{
	static const char *const calls[] = {"tsr_signal", "tsr_put_signal", "tsr_atomic_"};
	for (size_t i = 0; i < sizeof calls / sizeof *calls && !raised->site.composed; i++)
		if (strncmp(raised->site.call, calls[i], strlen(calls[i])) == 0)
			return true;
	return false;
}

static void look_at(tsr_search_raised_t *s, uint32_t number)
{
	const tsr_operation_t *raised = &s->x->operations[number];
	if (!is_signal(raised))
		return;
	if (is_same_word(raised, s->watch->area, s->watch->offset))
		s->same = number;
	else
		keep(s, number);
	const int likely = s->same == number ? 0 : likelihood(s, raised);
	if (likely > 0 && likely >= s->likely) {
		s->likely = likely;
		s->astray = number;
	}
}

uint32_t tsr_raised_elsewhere(const tsr_exploration_t *x, int rank, int area, size_t offset)
{
	uint32_t elsewhere = 0;
	if (x->areas[area].shared || x->areas[area].rank != rank)
		return 0;
	for (int i = 0; i < x->links.count; i++) {
		const tsr_step_t *step = &x->links.steps[i];
		const tsr_operation_t *raised = &x->operations[step->operation];
		if (step->kind != TSR_STEP_WRITE || raised->area < 0 || raised->offset != offset)
			continue;
		if (raised->area == area)
			return 0;
		if (!x->areas[raised->area].shared && is_worker_of(x, step->task, rank) &&
		    is_signal(raised))
			elsewhere = step->operation;
	}
	return elsewhere;
}

bool tsr_raised_find(tsr_exploration_t *x, const tsr_flag_watch_t *watch, tsr_raised_t *out)
{
	tsr_search_raised_t s = {
		.x = x, .watch = watch, .waiter = x->operations[watch->operation].task, .out = out};
	*out = (tsr_raised_t){.watch = watch};
	for (int i = 0; i < x->links.count; i++) {
		const tsr_step_t *step = &x->links.steps[i];
		if (step->kind == TSR_STEP_WRITE && step->task != s.waiter &&
		    x->operations[step->operation].area >= 0 &&
		    is_worker_of(x, step->task, watch->wait->from))
			look_at(&s, step->operation);
	}
	out->same = s.same;
	out->astray = s.astray;
	return s.astray > 0;
}

/* ------------------------------------------------------------------ telling */

static void tell_word(tsr_exploration_t *x, int area, size_t offset, size_t bytes, char *text,
		      size_t size)
{
	char place[TSR_PLACE_TEXT];
	tsr_area_t *in = &x->areas[area];
	(void)tsr_area_text(in, offset, bytes, place);
	if (in->shared)
		snprintf(text, size, "%s", place);
	else
		snprintf(text, size, "%s of rank %d", place, in->rank);
}

static void tell_place(const tsr_op_site_t *site, char *text, size_t size)
{
	snprintf(text, size, site->file ? "%s at %s:%d" : "%s", site->call, site->file, site->line);
}

/** One access of the finding for each word that was raised, with the value that it has now. */
static void list(tsr_exploration_t *x, const tsr_raised_t *raised, tsr_finding_t *finding)
{
	while (finding->accesses < 2)
		finding->access[finding->accesses++] = TSR_FINDING_NOWHERE;
	for (int i = 0; i < raised->count && finding->accesses < TSR_FINDING_ACCESSES; i++) {
		const tsr_operation_t *told = &x->operations[raised->operation[i]];
		tsr_finding_access_t *access = &finding->access[finding->accesses++];
		tsr_operation_tell(x, raised->operation[i], told->area, told->offset, told->bytes,
				   access);
		if (told->bytes > sizeof(uint64_t))
			continue;
		access->valued = true;
		access->seen = access->expected =
			tsr_area_value(&x->areas[told->area], told->offset, told->bytes);
	}
}

/** The flag was raised, and not far enough, before everybody came to wait. */
static void tell_too_little(tsr_exploration_t *x, const tsr_raised_t *raised,
			    tsr_advice_text_t *text, tsr_finding_t *finding)
{
	const tsr_flag_watch_t *watch = raised->watch;
	char wanted[320], from[512], to[512];
	const uint64_t seen = finding->access[0].seen;
	tell_word(x, watch->area, watch->offset, watch->wait->word_bytes, wanted, sizeof wanted);
	tell_place(&x->operations[raised->same].site, from, sizeof from);
	tell_place(&x->operations[watch->operation].site, to, sizeof to);
	snprintf(text->missing, sizeof text->missing,
		 "%s has raised %s to %" PRIu64 ", and %s waits for %" PRIu64
		 ", which comes only behind a wait",
		 from, wanted, seen, to, watch->wait->value);
	snprintf(text->change, sizeof text->change,
		 "let %s wait for %" PRIu64 "; or signal once more before whoever signals waits",
		 to, seen);
	finding->missing = text->missing;
	finding->change = text->change;
}

void tsr_raised_tell(tsr_exploration_t *x, const tsr_raised_t *raised, tsr_advice_text_t *text,
		     tsr_finding_t *finding)
{
	const tsr_flag_watch_t *watch = raised->watch;
	const tsr_op_site_t *wait = &x->operations[watch->operation].site;
	char wanted[320], given[320], from[512], to[512], signal_who[256];
	list(x, raised, finding);
	if (!raised->astray) {
		if (raised->same && finding->class == TSR_FINDING_DEADLOCK)
			tell_too_little(x, raised, text, finding);
		return;
	}
	const tsr_operation_t *astray = &x->operations[raised->astray];
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, astray->task);
	tell_word(x, watch->area, watch->offset, watch->wait->word_bytes, wanted, sizeof wanted);
	tell_word(x, astray->area, astray->offset, astray->bytes, given, sizeof given);
	tell_place(&astray->site, from, sizeof from);
	tell_place(wait, to, sizeof to);
	snprintf(signal_who, sizeof signal_who, "rank %d", who->rank);
	snprintf(text->missing, sizeof text->missing,
		 "%s of %s has raised %s, for which nobody waits, and not %s", from, signal_who,
		 given, wanted);
	snprintf(text->change, sizeof text->change, "let %s raise %s, or let %s wait for %s", from,
		 wanted, to, given);
	if (astray->area != watch->area)
		snprintf(text->change, sizeof text->change, "let %s signal rank %d, not rank %d",
			 from, x->areas[watch->area].rank, x->areas[astray->area].rank);
	finding->missing = text->missing;
	finding->change = text->change;
}

void tsr_raised_tell_elsewhere(tsr_exploration_t *x, const tsr_flag_watch_t *watch, uint32_t signal,
			       tsr_advice_text_t *text, tsr_finding_t *finding)
{
	const tsr_operation_t *raised = &x->operations[signal];
	const int rank = x->areas[watch->area].rank;
	char wanted[320], given[320], from[512], to[512];
	tell_word(x, watch->area, watch->offset, watch->wait->word_bytes, wanted, sizeof wanted);
	tell_word(x, raised->area, raised->offset, raised->bytes, given, sizeof given);
	tell_place(&raised->site, from, sizeof from);
	tell_place(&x->operations[watch->operation].site, to, sizeof to);
	snprintf(text->missing, sizeof text->missing,
		 "%s of rank %d has raised %s, and nobody has raised %s, for which %s waits", from,
		 rank, given, wanted, to);
	snprintf(text->change, sizeof text->change,
		 "let rank %d signal itself too by %s, or not wait for itself by %s", rank, from,
		 to);
	finding->missing = text->missing;
	finding->change = text->change;
}

/* ------------------------------------------------------------------ who was named */

void tsr_raised_by_another(tsr_exploration_t *x, const tsr_flag_watch_t *watch)
{
	const tsr_links_t *links = &x->links;
	uint32_t other = 0;
	if (watch->wait->from < 0)
		return;
	for (int i = links->count - 1; i >= 0; i--) {
		const tsr_step_t *step = &links->steps[i];
		if (step->kind == TSR_STEP_READ && step->operation == watch->operation &&
		    step->from && !other) {
			other = step->from;
			if (is_worker_of(x, x->operations[other].task, watch->wait->from) ||
			    !is_worker_of(x, x->operations[other].task, -1))
				return;
		}
		if (!other && step->operation < watch->operation)
			return;
		/* a counter that several raise may name one of them */
		if (step->kind == TSR_STEP_WRITE &&
		    is_worker_of(x, step->task, watch->wait->from) &&
		    is_same_word(&x->operations[step->operation], watch->area, watch->offset))
			return;
	}
	if (!other)
		return;
	tsr_finding_t finding = {
		.class = TSR_FINDING_MISUSE, .severity = TSR_FINDING_WARNING, .accesses = 2};
	char message[256], change[256];
	const int rank = tsr_explorer_who(x->explorer, x->operations[other].task)->rank;
	tsr_operation_tell(x, watch->operation, watch->area, watch->offset, watch->wait->word_bytes,
			   &finding.access[0]);
	tsr_operation_tell(x, other, watch->area, watch->offset, watch->wait->word_bytes,
			   &finding.access[1]);
	snprintf(message, sizeof message,
		 "it names rank %d as the one that is to signal, which never did; rank %d has",
		 watch->wait->from, rank);
	snprintf(change, sizeof change,
		 "name rank %d, or TSR_ANY_RANK; or, if rank %d was to signal, let it", rank,
		 watch->wait->from);
	finding.message = message;
	finding.change = change;
	finding.missing = "a wait that expires would blame the rank that it names";
	tsr_exploration_found(x, &finding);
}

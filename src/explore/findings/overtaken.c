/*
 * Signals that overtake the copy which they are to tell of: a rank puts the copy
 * on one stream and launches the kernel that signals on another, without an
 * event between. The signal may come first, and so may a reader who waits for
 * it: then the copy seems to write again what is still read.
 *
 * A kernel that its rank launched behind the copy, and that is yet done before
 * it, is on a stream that nothing orders.
 */
#include "src/explore/overtaken.h"

#include <stdio.h>
#include <string.h>

bool tsr_operation_is_copy(const tsr_operation_t *operation)
{
	return operation->site.call && strcmp(operation->site.call, "tsr_stream_put_2d") == 0;
}

/** "tsr_signal at file.c:12" */
static void name(const tsr_operation_t *operation, char *text, size_t size)
{
	snprintf(text, size, "%s at %s:%d", operation->site.call,
		 operation->site.file ? operation->site.file : "?", operation->site.line);
}

static void say(tsr_exploration_t *x, uint32_t write, const tsr_step_t *step,
		tsr_advice_text_t *text)
{
	char copy[512], signal[512], wait[512];
	name(&x->operations[write], copy, sizeof copy);
	name(&x->operations[step->from], signal, sizeof signal);
	name(&x->operations[step->operation], wait, sizeof wait);
	snprintf(text->missing, sizeof text->missing,
		 "%s finds %s, which was launched behind %s and does not come after it: no event "
		 "orders their streams",
		 wait, signal, copy);
	snprintf(text->change, sizeof text->change,
		 "put both on one stream, or tsr_event_record behind %s and let the stream of %s "
		 "tsr_stream_wait_event",
		 copy, signal);
}

static void tell(tsr_exploration_t *x, uint32_t number, tsr_finding_access_t *out)
{
	const tsr_operation_t *told = &x->operations[number];
	tsr_operation_tell(x, number, told->area, told->offset, told->bytes, out);
}

bool tsr_overtaken_tell(tsr_exploration_t *x, uint32_t write, uint32_t read,
			tsr_advice_text_t *text, tsr_finding_t *finding)
{
	const tsr_operation_t *copy = &x->operations[write];
	const tsr_task_who_t *copies = tsr_explorer_who(x->explorer, copy->task);
	for (int i = x->links.count - 1; i >= 0 && tsr_operation_is_copy(copy); i--) {
		const tsr_step_t *step = &x->links.steps[i];
		if (step->kind != TSR_STEP_READ || step->task != x->operations[read].task ||
		    step->operation >= read || !x->operations[step->from].site.call)
			continue;
		const tsr_task_who_t *signals =
			tsr_explorer_who(x->explorer, x->operations[step->from].task);
		if (signals->kind != TSR_TASK_WORKER || signals->rank != copies->rank ||
		    signals->launch <= copies->launch)
			continue;
		tell(x, step->from, &finding->access[2]);
		tell(x, step->operation, &finding->access[3]);
		finding->accesses = 4;
		finding->class = TSR_FINDING_DATA_RACE; /* the read came too early */
		say(x, write, step, text);
		finding->missing = text->missing;
		finding->change = text->change;
		return true;
	}
	return false;
}

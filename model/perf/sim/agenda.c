#include "model/perf/sim/agenda.h"

#include <math.h>
#include <stdlib.h>

static bool is_before(const sim_event_t *x, const sim_event_t *y)
{
	return x->at_ns < y->at_ns || (x->at_ns <= y->at_ns && x->number < y->number);
}

static bool grow(sim_agenda_t *agenda)
{
	const size_t room = agenda->room ? 2 * agenda->room : 256;
	sim_event_t *heap = realloc(agenda->heap, room * sizeof *heap);
	if (!heap)
		return false;
	agenda->heap = heap;
	agenda->room = room;
	return true;
}

bool sim_agenda_add(sim_agenda_t *agenda, double at_ns, sim_event_fn act, void *ctx)
{
	const sim_event_t event = {at_ns, agenda->made++, act, ctx};
	if (agenda->count == agenda->room && !grow(agenda))
		return false;
	size_t i = agenda->count++;
	for (; i > 0 && is_before(&event, &agenda->heap[(i - 1) / 2]); i = (i - 1) / 2)
		agenda->heap[i] = agenda->heap[(i - 1) / 2];
	agenda->heap[i] = event;
	return true;
}

double sim_agenda_next_ns(const sim_agenda_t *agenda)
{
	return agenda->count ? agenda->heap[0].at_ns : INFINITY;
}

sim_event_t sim_agenda_take(sim_agenda_t *agenda)
{
	const sim_event_t first = agenda->heap[0], last = agenda->heap[--agenda->count];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < agenda->count; i = child) {
		child += child + 1 < agenda->count &&
			 is_before(&agenda->heap[child + 1], &agenda->heap[child]);
		if (!is_before(&agenda->heap[child], &last))
			break;
		agenda->heap[i] = agenda->heap[child];
	}
	agenda->heap[i] = last;
	return first;
}

void sim_agenda_free(sim_agenda_t *agenda)
{
	free(agenda->heap);
	*agenda = (sim_agenda_t){NULL, 0, 0, 0};
}

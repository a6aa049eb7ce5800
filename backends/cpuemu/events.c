/* The events of a worker: tsr_mark, and what the emulator notes by itself. */
#include "cpuemu/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/os/clock.h"
#include "src/base/text.h"
#include "tessera/dev.h"

/* Writes to one peer that follow each other so soon are one event. */
enum { SAME_SEND_NS = 5000 };

/** A new event of this worker, which ends now; or null. */
static tsr_record_event_t *append(tsr_coop_t *coop, tsr_record_kind_t kind, uint64_t begin_ns,
				  uint64_t end_ns)
{
	tsr_cpu_worker_t *worker = coop->worker;
	tsr_cpu_events_t *events = worker->events;
	if (!events)
		return NULL;
	if (events->count == events->room) {
		const int room = events->room ? 2 * events->room : 64;
		tsr_record_event_t *grown =
			room <= TSR_RECORD_EVENTS
				? realloc(events->event, (size_t)room * sizeof *grown)
				: NULL;
		if (!grown) {
			worker->record.events_lost++;
			return NULL;
		}
		events->event = grown;
		events->room = room;
	}
	worker->record.events++;
	tsr_record_event_t *event = &events->event[events->count++];
	*event = (tsr_record_event_t){.kind = kind,
				      .peer = coop->block->env->rank,
				      .owner = coop->block->env->rank,
				      .begin_ns = begin_ns,
				      .end_ns = end_ns};
	return event;
}

/** Which flag it is: an allocation and a place in it. */
static void name_flag(tsr_coop_t *coop, const tsr_mem_t *mem, tsr_record_event_t *event)
{
	const tsr_cpu_block_t *block = coop->block;
	const tsr_host_t *host = block->env->host;
	size_t offset;
	event->owner = mem->rank;
	if (mem->shared) {
		event->offset_bytes = (uint64_t)(mem->at - block->shared);
		snprintf(event->name, sizeof event->name, "shared memory");
		return;
	}
	event->offset_bytes = offset = (size_t)(mem->at - block->env->base[mem->rank]);
	if (host->find_allocation(host->ctx, offset, event->name, &offset))
		event->offset_bytes = offset;
}

uint64_t tsr_cpu_event_begin(const tsr_coop_t *coop)
{
	return coop->worker->events ? tsr_now_ns() : 0;
}

void tsr_cpu_event_waited(tsr_coop_t *coop, uint64_t begin_ns, const tsr_mem_t *mem, int from,
			  uint64_t value)
{
	if (!coop->worker->events)
		return;
	const uint64_t end_ns = tsr_now_ns();
	coop->worker->record.wait_ns += end_ns - begin_ns;
	tsr_record_event_t *event = append(coop, TSR_RECORD_WAIT, begin_ns, end_ns);
	if (!event)
		return;
	event->peer = from == TSR_ANY_RANK ? -1 : coop->block->team->ranks[from];
	event->value = (int64_t)value;
	name_flag(coop, mem, event);
}

void tsr_cpu_event_signal(tsr_coop_t *coop, const tsr_mem_t *mem, uint64_t value)
{
	const uint64_t now = tsr_cpu_event_begin(coop);
	tsr_record_event_t *event = append(coop, TSR_RECORD_SIGNAL, now, now);
	if (!event)
		return;
	event->peer = mem->rank;
	event->value = (int64_t)value;
	name_flag(coop, mem, event);
}

void tsr_cpu_event_product(tsr_coop_t *coop, uint64_t begin_ns, uint64_t operand_bytes)
{
	if (!coop->worker->events)
		return;
	if (coop->worker->record.first_product_ns == 0)
		coop->worker->record.first_product_ns = begin_ns;
	tsr_record_event_t *event = append(coop, TSR_RECORD_PRODUCT, begin_ns, tsr_now_ns());
	if (event)
		event->bytes = operand_bytes;
}

void tsr_cpu_event_send(tsr_coop_t *coop, int rank, uint64_t bytes)
{
	tsr_cpu_events_t *events = coop->worker->events;
	if (!events)
		return;
	const uint64_t now = tsr_now_ns();
	tsr_record_event_t *last = events->count ? &events->event[events->count - 1] : NULL;
	if (!last || last->kind != TSR_RECORD_SEND || last->peer != rank ||
	    now - last->end_ns > SAME_SEND_NS)
		last = append(coop, TSR_RECORD_SEND, now, now);
	events->sending = true;
	if (last) {
		last->peer = rank;
		last->bytes += bytes;
	}
}

void tsr_cpu_event_sent(tsr_coop_t *coop)
{
	tsr_cpu_events_t *events = coop->worker->events;
	if (!events || !events->sending)
		return;
	events->sending = false;
	coop->worker->record.last_remote_ns = tsr_now_ns();
	if (events->count && events->event[events->count - 1].kind == TSR_RECORD_SEND)
		events->event[events->count - 1].end_ns = coop->worker->record.last_remote_ns;
}

void tsr_mark(tsr_coop_t *coop, const char *name, int64_t value)
{
	if (coop->index != 0)
		return;
	const uint64_t now = tsr_cpu_event_begin(coop);
	tsr_record_event_t *event = append(coop, TSR_RECORD_MARK, now, now);
	if (!event)
		return;
	event->value = value;
	tsr_text_cut(name, sizeof event->name, event->name);
}

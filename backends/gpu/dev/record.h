/*
 * The record of a run, in kernels, and the bodies of tsr_role and tsr_mark. A
 * unit is compiled twice: once without TSR_RECORDED, where nothing of this is
 * left in its code, and once with it, for launches that are recorded
 * (docs/record.md). Then the thread that acts for a coop writes what the
 * coop does to the lane of its warp, in device memory, and reads nothing of it:
 * what it must know of the lane is in shared memory. The host reads the lane when
 * the launch has ended.
 */
#ifndef TESSERA_GPU_DEV_RECORD_H
#define TESSERA_GPU_DEV_RECORD_H

#include "gpu/dev/coop.h"

#if defined(TSR_RECORDED)

/* Writes to one peer that follow each other so soon are one event. */
enum { TSR_GPU_SAME_SEND_US = 5 };

/** The lane of the calling thread. */
TSR_DEV tsr_gpu_lane_t *tsr_gpu_lane(const tsr_coop_t *coop)
{
	const tsr_gpu_record_t *record = &coop->context->record;
	return record->lanes + ((int64_t)tsr_port_block() * record->lanes_each +
				tsr_port_thread() / TSR_GPU_LANE_THREADS);
}

TSR_DEV void tsr_gpu_record_name(char *to, const char *name, int room)
{
	int i = 0;
	TSR_GPU_NO_UNROLL
	for (; i + 1 < room && name[i]; i++)
		to[i] = name[i];
	to[i] = '\0';
}

/** Adds to a sum of the lane and waits for nothing. Relaxed: the host reads it after the launch. */
TSR_DEV void tsr_gpu_record_add(uint64_t *sum, uint64_t value)
{
	(void)tsr_port_add<TSR_RELAXED, TSR_SCOPE_DEVICE>(sum, value);
}

/** What the warp of the calling thread knows of its lane. */
TSR_DEV tsr_gpu_lane_state_t *tsr_gpu_lane_state(void)
{
	TSR_PORT_SHARED tsr_gpu_lane_state_t states[TSR_GPU_LANES_MOST];
	return &states[tsr_port_thread() / TSR_GPU_LANE_THREADS];
}

/** All threads of a block, as its kernel begins. */
TSR_DEV void tsr_gpu_record_enter(void)
{
	const tsr_gpu_lane_state_t none = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	if (tsr_port_thread() % TSR_GPU_LANE_THREADS == 0)
		*tsr_gpu_lane_state() = none;
	tsr_port_meet_block();
}

/** Gives the lane a new chunk, if there is one. */
TSR_DEV bool tsr_gpu_record_chunk(const tsr_coop_t *coop, tsr_gpu_lane_state_t *state)
{
	const tsr_gpu_record_t *record = &coop->context->record;
	/* Relaxed: the counter only gives out chunks. */
	const uint32_t number =
		tsr_port_add<TSR_RELAXED, TSR_SCOPE_DEVICE>(record->chunks_taken, 1u);
	if (number >= record->chunk_count)
		return false;
	tsr_gpu_chunk_t *chunk = &record->chunks[number];
	*(state->chunk ? &state->chunk->next : &tsr_gpu_lane(coop)->first_chunk) = number + 1;
	chunk->next = 0;
	state->chunk = chunk;
	state->next = chunk->event;
	state->room = TSR_GPU_EVENTS_EACH;
	return true;
}

/**
 * A new event of the calling thread's lane; null if all places are taken. The
 * caller adds what else belongs to this kind.
 */
TSR_DEV tsr_gpu_event_t *tsr_gpu_record_event(const tsr_coop_t *coop, uint32_t kind, int32_t peer,
					      uint64_t begin, uint64_t end)
{
	tsr_gpu_lane_t *lane = tsr_gpu_lane(coop);
	tsr_gpu_lane_state_t *state = tsr_gpu_lane_state();
	lane->end = state->end = end;
	state->sent_to = 0;
	if (state->events >= TSR_GPU_EVENTS_MOST ||
	    (state->room == 0 && !tsr_gpu_record_chunk(coop, state))) {
		lane->lost = ++state->lost;
		return 0;
	}
	tsr_gpu_event_t *event = state->next++;
	state->room--;
	lane->events = ++state->events;
	event->kind = kind;
	event->peer = peer;
	event->begin = begin;
	event->end = end;
	event->value = 0;
	event->more.of.address = 0;
	event->more.of.bytes = 0;
	event->more.of.owner = tsr_rank(coop);
	return event;
}

/** The time at which something begins that is recorded when it has ended. */
TSR_DEV uint64_t tsr_gpu_record_now(void)
{
	return tsr_port_clock();
}

/** By the thread that acts for a coop: it begins, as a worker of this number; or it had begun. */
TSR_DEV bool tsr_gpu_record_begins(const tsr_coop_t *coop, int worker)
{
	tsr_gpu_lane_t *lane = tsr_gpu_lane(coop);
	tsr_gpu_lane_state_t *state = tsr_gpu_lane_state();
	if (state->end)
		return false;
	lane->begin = lane->end = state->end = tsr_port_clock();
	lane->worker = worker;
	return true;
}

/** The coop begins; its kernel's end ends it. */
TSR_DEV void tsr_gpu_record_open(const tsr_coop_t *coop, int worker)
{
	if (tsr_gpu_leads(coop))
		(void)tsr_gpu_record_begins(coop, worker);
}

TSR_DEV void tsr_gpu_record_close(const tsr_coop_t *coop)
{
	if (tsr_gpu_leads(coop))
		tsr_gpu_lane(coop)->end = tsr_port_clock();
}

TSR_DEV void tsr_gpu_record_role(const tsr_coop_t *coop, const char *role)
{
	if (tsr_gpu_leads(coop))
		tsr_gpu_record_name(tsr_gpu_lane(coop)->role, role,
				    (int)sizeof((tsr_gpu_lane_t *)0)->role);
}

TSR_DEV void tsr_gpu_record_mark(const tsr_coop_t *coop, const char *name, int64_t value)
{
	if (!tsr_gpu_leads(coop))
		return;
	const uint64_t now = tsr_port_clock();
	tsr_gpu_event_t *event =
		tsr_gpu_record_event(coop, TSR_GPU_EVENT_MARK, tsr_rank(coop), now, now);
	if (!event)
		return;
	event->value = value;
	tsr_gpu_record_name(event->more.name, name, TSR_GPU_EVENT_NAME_CHARS);
}

/** One thread: a wait since `begin` for a word of `owner`, which `from` was to write, is over. */
TSR_DEV void tsr_gpu_record_wait(const tsr_coop_t *coop, uint64_t begin, const void *flag,
				 int owner, int from, uint64_t value)
{
	const uint64_t end = tsr_port_clock();
	tsr_gpu_record_add(&tsr_gpu_lane(coop)->waited, end - begin);
	tsr_gpu_event_t *event = tsr_gpu_record_event(coop, TSR_GPU_EVENT_WAIT, from, begin, end);
	if (!event)
		return;
	event->value = (int64_t)value;
	event->more.of.address = (uint64_t)(uintptr_t)flag;
	event->more.of.owner = owner;
}

/** One thread: the peer's copy of the flag is about to be raised. */
TSR_DEV void tsr_gpu_record_signal(const tsr_coop_t *coop, const void *flag, uint64_t value,
				   int peer)
{
	const uint64_t now = tsr_port_clock();
	tsr_gpu_event_t *event = tsr_gpu_record_event(coop, TSR_GPU_EVENT_SIGNAL, peer, now, now);
	if (!event)
		return;
	event->more.of.owner = peer;
	event->value = (int64_t)value;
	event->more.of.address = (uint64_t)(uintptr_t)flag;
}

/** A main loop begins; and: it has read this many bytes of operands. */
TSR_DEV void tsr_gpu_record_product(const tsr_coop_t *coop)
{
	if (!tsr_gpu_leads(coop))
		return;
	tsr_gpu_lane_state_t *state = tsr_gpu_lane_state();
	state->since = tsr_port_clock();
	if (!state->first_product)
		tsr_gpu_lane(coop)->first_product = state->first_product = state->since;
}

TSR_DEV void tsr_gpu_record_produced(const tsr_coop_t *coop, uint64_t operand_bytes)
{
	if (!tsr_gpu_leads(coop))
		return;
	tsr_gpu_lane_t *lane = tsr_gpu_lane(coop);
	const uint64_t now = tsr_port_clock();
	lane->last_product = now;
	tsr_gpu_record_add(&lane->products, 1);
	tsr_gpu_record_add(&lane->operand_bytes, operand_bytes);
	tsr_gpu_event_t *event = tsr_gpu_record_event(coop, TSR_GPU_EVENT_PRODUCT, tsr_rank(coop),
						      tsr_gpu_lane_state()->since, now);
	if (event)
		event->more.of.bytes = operand_bytes;
}

/** One thread: bytes were written to a member's heap since `begin`, this rank's own perhaps. */
TSR_DEV void tsr_gpu_record_wrote(const tsr_coop_t *coop, uint64_t begin, int peer, uint64_t bytes)
{
	tsr_gpu_lane_t *lane = tsr_gpu_lane(coop);
	tsr_gpu_lane_state_t *state = tsr_gpu_lane_state();
	if (peer == tsr_rank(coop)) {
		tsr_gpu_record_add(&lane->local_written_bytes, bytes);
		return;
	}
	const uint64_t end = tsr_port_clock();
	tsr_gpu_record_add(&lane->remote_written_bytes, bytes);
	if (!state->first_remote)
		lane->first_remote = state->first_remote = begin;
	lane->last_remote = end;
	if (state->sent_to == peer + 1 &&
	    (begin - state->end) * 1000 <
		    (uint64_t)TSR_GPU_SAME_SEND_US * coop->context->clock_khz) {
		tsr_gpu_event_t *last = state->next - 1;
		tsr_gpu_record_add(&last->more.of.bytes, bytes);
		last->end = state->end = lane->end = end;
		return;
	}
	tsr_gpu_event_t *event = tsr_gpu_record_event(coop, TSR_GPU_EVENT_SEND, peer, begin, end);
	if (!event)
		return;
	event->more.of.bytes = bytes;
	state->sent_to = peer + 1;
}

/** The same by all threads of a coop; and of reads. */
TSR_DEV void tsr_gpu_record_written(const tsr_coop_t *coop, uint64_t begin, int peer,
				    uint64_t bytes)
{
	if (bytes && tsr_gpu_leads(coop))
		tsr_gpu_record_wrote(coop, begin, peer, bytes);
}

TSR_DEV void tsr_gpu_record_read(const tsr_coop_t *coop, int peer, uint64_t bytes)
{
	if (!tsr_gpu_leads(coop))
		return;
	tsr_gpu_lane_t *lane = tsr_gpu_lane(coop);
	tsr_gpu_record_add(peer == tsr_rank(coop) ? &lane->local_read_bytes
						  : &lane->remote_read_bytes,
			   bytes);
}

/** To all members from `first` on, counted from this rank. */
TSR_DEV void tsr_gpu_record_written_all(const tsr_coop_t *coop, uint64_t begin, int first,
					uint64_t bytes)
{
	TSR_GPU_NO_UNROLL
	for (int i = first; i < tsr_size(coop); i++)
		tsr_gpu_record_written(coop, begin, tsr_peer(coop, i), bytes);
}

/**
 * By sender number `thread` of a main loop: what a request has brought to the ranks from `first` to
 * before `end` after mine.
 */
TSR_DEV void tsr_gpu_record_sent(const tsr_coop_t *coop, int thread, uint64_t begin, int first,
				 int end, uint64_t bytes)
{
	tsr_coop_t me = *coop;
	me.thread = thread;
	if (tsr_gpu_leads(&me) && tsr_gpu_record_begins(&me, TSR_GPU_WORKER_SENDER))
		tsr_gpu_record_role(&me, "sender");
	TSR_GPU_NO_UNROLL
	for (int i = first; i < end; i++)
		tsr_gpu_record_written(&me, begin, tsr_peer(coop, i), bytes);
}

/** Words that carry their own flag are written, to a peer or to all; the first one is the flag. */
TSR_DEV void tsr_gpu_record_marked(const tsr_coop_t *coop, uint64_t begin, const uint64_t *words,
				   uint64_t epoch, int64_t count, int peer)
{
	tsr_gpu_record_written(coop, begin, peer, (uint64_t)count * sizeof *words);
	if (tsr_gpu_leads(coop))
		tsr_gpu_record_signal(coop, words, epoch, peer);
}

TSR_DEV void tsr_gpu_record_marked_all(const tsr_coop_t *coop, uint64_t begin,
				       const uint64_t *words, uint64_t epoch, int64_t count)
{
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_gpu_record_marked(coop, begin, words, epoch, count, tsr_peer(coop, i));
}

/** A take of them is over; `taken`: they have come. */
TSR_DEV void tsr_gpu_record_take(const tsr_coop_t *coop, uint64_t begin, const uint64_t *words,
				 int from, uint64_t epoch, bool taken)
{
	if (taken && tsr_gpu_leads(coop))
		tsr_gpu_record_wait(coop, begin, words, tsr_rank(coop), from, epoch);
}

#else

/* Without a record: nothing, so that the code is as if these calls were not there. */

TSR_DEV void tsr_gpu_record_enter(void)
{
}

TSR_DEV uint64_t tsr_gpu_record_now(void)
{
	return 0;
}

TSR_DEV void tsr_gpu_record_open(const tsr_coop_t *, int)
{
}

TSR_DEV void tsr_gpu_record_close(const tsr_coop_t *)
{
}

TSR_DEV void tsr_gpu_record_role(const tsr_coop_t *, const char *)
{
}

TSR_DEV void tsr_gpu_record_mark(const tsr_coop_t *, const char *, int64_t)
{
}

TSR_DEV void tsr_gpu_record_wait(const tsr_coop_t *, uint64_t, const void *, int, int, uint64_t)
{
}

TSR_DEV void tsr_gpu_record_signal(const tsr_coop_t *, const void *, uint64_t, int)
{
}

TSR_DEV void tsr_gpu_record_product(const tsr_coop_t *)
{
}

TSR_DEV void tsr_gpu_record_produced(const tsr_coop_t *, uint64_t)
{
}

TSR_DEV void tsr_gpu_record_written(const tsr_coop_t *, uint64_t, int, uint64_t)
{
}

TSR_DEV void tsr_gpu_record_read(const tsr_coop_t *, int, uint64_t)
{
}

TSR_DEV void tsr_gpu_record_written_all(const tsr_coop_t *, uint64_t, int, uint64_t)
{
}

TSR_DEV void tsr_gpu_record_sent(const tsr_coop_t *, int, uint64_t, int, int, uint64_t)
{
}

TSR_DEV void tsr_gpu_record_marked(const tsr_coop_t *, uint64_t, const uint64_t *, uint64_t,
				   int64_t, int)
{
}

TSR_DEV void tsr_gpu_record_marked_all(const tsr_coop_t *, uint64_t, const uint64_t *, uint64_t,
				       int64_t)
{
}

TSR_DEV void tsr_gpu_record_take(const tsr_coop_t *, uint64_t, const uint64_t *, int, uint64_t,
				 bool)
{
}

#endif

TSR_DEV void tsr_role(tsr_coop_t *coop, const char *role)
{
	tsr_gpu_record_role(coop, role);
}

TSR_DEV void tsr_mark(tsr_coop_t *coop, const char *name, int64_t value)
{
	tsr_gpu_record_mark(coop, name, value);
}

#endif

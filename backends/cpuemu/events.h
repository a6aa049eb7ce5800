/*
 * The events of a worker while it runs: a list that the thread of the worker
 * appends to, and the record reads when the launch has ended. All calls do
 * nothing if nothing is recorded.
 */
#ifndef TESSERA_CPUEMU_EVENTS_H
#define TESSERA_CPUEMU_EVENTS_H

#include "cpuemu/dev/memory/memory.h"
#include "tessera/record.h"

typedef struct tsr_cpu_events {
	tsr_record_event_t *event;
	int count, room;
	bool sending; /* bytes are being written: the last event's, if it was kept */
} tsr_cpu_events_t;

/** The time if the worker is recorded, else 0. */
uint64_t tsr_cpu_event_begin(const tsr_coop_t *coop);

/** A wait has ended: since `begin_ns`, for the word at `mem`, which member `from` writes. */
void tsr_cpu_event_waited(tsr_coop_t *coop, uint64_t begin_ns, const tsr_mem_t *mem, int from,
			  uint64_t value);

/** The flag at `mem` is about to be raised. */
void tsr_cpu_event_signal(tsr_coop_t *coop, const tsr_mem_t *mem, uint64_t value);

/** A main loop that began at `begin_ns` has ended. */
void tsr_cpu_event_product(tsr_coop_t *coop, uint64_t begin_ns, uint64_t operand_bytes);

/** Bytes are about to be written into the heap of another rank; and: if so, they have been. */
void tsr_cpu_event_send(tsr_coop_t *coop, int rank, uint64_t bytes);
void tsr_cpu_event_sent(tsr_coop_t *coop);

#endif

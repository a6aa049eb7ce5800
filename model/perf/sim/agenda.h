/*
 * What happens when: a queue of events by time, and in the order of their
 * making where times are equal. So every run of a simulation is the same.
 */
#ifndef MODEL_PERF_SIM_AGENDA_H
#define MODEL_PERF_SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*sim_event_fn)(void *ctx, double at_ns);

typedef struct sim_event {
	double at_ns;
	uint64_t number;
	sim_event_fn act;
	void *ctx;
} sim_event_t;

/** Zero at first. */
typedef struct sim_agenda {
	sim_event_t *heap;
	size_t count, room;
	uint64_t made;
} sim_agenda_t;

/** False: no memory. */
bool sim_agenda_add(sim_agenda_t *agenda, double at_ns, sim_event_fn act, void *ctx);

/** When the next event is; INFINITY where there is none. */
double sim_agenda_next_ns(const sim_agenda_t *agenda);

/** Takes the next event, of which there must be one. */
sim_event_t sim_agenda_take(sim_agenda_t *agenda);

void sim_agenda_free(sim_agenda_t *agenda);

#endif

/*
 * Transfers and main loops that share what is limited: a device's memory, and
 * its links out and in. Between two events all of them go on at constant rates.
 *
 * Flows that ask for the same are a class, and have the same rate. A resource
 * is shared fairly: no flow gets more of it than another one that wants more.
 *
 * Source:     max-min fairness, as in Bertsekas and Gallager, "Data Networks", section 6.5.2.
 */
#ifndef MODEL_PERF_SIM_FLOWS_H
#define MODEL_PERF_SIM_FLOWS_H

#include <stdbool.h>
#include <stddef.h>

enum { SIM_FLOW_DEMANDS = 32 };

/** How much of a resource one unit of the flow takes. */
typedef struct sim_demand {
	int resource;
	double weight;
} sim_demand_t;

/** What a flow asks for. Its unit is a byte, or a nanosecond of multiplying. */
typedef struct sim_ask {
	double most; /* units in a nanosecond, if nothing is shared */
	/* how many flows of the kind go at one time, the first ones first; 0: all */
	int turns;
	int count;
	sim_demand_t demand[SIM_FLOW_DEMANDS];
} sim_ask_t;

typedef struct sim_flows sim_flows_t;

/** Who began a flow, and is told of its end. */
typedef struct sim_owner {
	void (*ended)(struct sim_owner *owner, double at_ns);
} sim_owner_t;

/** `rates[r]`: how much of resource r there is in a nanosecond. Null: no memory. */
sim_flows_t *sim_flows_create(const double *rates, int resources);
void sim_flows_destroy(sim_flows_t *flows);

/** Begins a flow of `amount` units, not before the last event. False: no memory. */
bool sim_flows_begin(sim_flows_t *flows, const sim_ask_t *ask, double amount, double at_ns,
		     sim_owner_t *owner);

/** When the next flow ends if none begins before; INFINITY where there is none. */
double sim_flows_next_ns(sim_flows_t *flows);

/**
 * A time before which no flow ends: as if none shared anything, unless the above
 * is known already. Costs less than the above.
 */
double sim_flows_bound_ns(const sim_flows_t *flows);

/** Ends that flow, and returns its owner. */
sim_owner_t *sim_flows_end(sim_flows_t *flows);

#endif

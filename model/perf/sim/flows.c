#include "model/perf/sim/flows.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** A flow of a class ends when the class has served this much to each of its flows. */
typedef struct flow {
	double target;
	uint64_t number;
	sim_owner_t *owner;
} flow_t;

typedef struct flow_class {
	sim_ask_t ask;
	double rate, served; /* of each flow */
	flow_t *heap;        /* the one that ends first is on top */
	int count, room;
	flow_t *queue; /* of those that wait for their turn, from `first` on; targets are amounts */
	int first, queued, queue_room;
} flow_class_t;

typedef struct resource {
	double rate, wanted; /* wanted: if each flow went as fast as it may */
	double level;        /* what a flow gets of it at most */
	int flows;           /* that take something of it */
	int *classes, count, room;
} resource_t;

struct sim_flows {
	resource_t *resources;
	int resource_count;
	flow_class_t *classes;
	int class_count, class_room;
	int *active, active_count; /* classes that have flows */
	int *slots;                /* a table of classes by what they ask for; -1: empty */
	int slot_count;
	double at_ns;
	uint64_t begun;
	double next_ns; /* when the first flow ends, and whose it is */
	int next;
	/* Many flows begin or end at one time. Rates, and the next end, are found when they are
	 * asked for and not after each of them. */
	bool unshared, unfound;
};

/* ------------------------------------------------------------------ making */

sim_flows_t *sim_flows_create(const double *rates, int resources)
{
	enum { SLOTS = 1024 };
	sim_flows_t *flows = calloc(1, sizeof *flows);
	if (!flows)
		return NULL;
	flows->resources = calloc((size_t)resources, sizeof *flows->resources);
	flows->slots = malloc(SLOTS * sizeof *flows->slots);
	flows->resource_count = resources;
	flows->slot_count = SLOTS;
	flows->next_ns = INFINITY;
	if (!flows->resources || !flows->slots) {
		sim_flows_destroy(flows);
		return NULL;
	}
	for (int i = 0; i < SLOTS; i++)
		flows->slots[i] = -1;
	for (int i = 0; i < resources; i++) {
		flows->resources[i].rate = rates[i];
		flows->resources[i].level = INFINITY;
	}
	return flows;
}

void sim_flows_destroy(sim_flows_t *flows)
{
	if (!flows)
		return;
	for (int i = 0; flows->resources && i < flows->resource_count; i++)
		free(flows->resources[i].classes);
	for (int i = 0; i < flows->class_count; i++) {
		free(flows->classes[i].heap);
		free(flows->classes[i].queue);
	}
	free(flows->resources);
	free(flows->classes);
	free(flows->active);
	free(flows->slots);
	free(flows);
}

/* ------------------------------------------------------------------ classes */

static uint64_t hash_of(const sim_ask_t *ask)
{
	uint64_t mixed = (uint64_t)ask->count | (uint64_t)ask->turns << 32, bits;
	memcpy(&bits, &ask->most, sizeof bits);
	mixed = (mixed ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < ask->count; i++) {
		memcpy(&bits, &ask->demand[i].weight, sizeof bits);
		mixed = (mixed ^ bits ^ (uint64_t)ask->demand[i].resource << 48) *
			UINT64_C(0x9e3779b97f4a7c15);
		mixed ^= mixed >> 29;
	}
	return mixed;
}

static bool is_same(const sim_ask_t *x, const sim_ask_t *y)
{
	if (memcmp(&x->most, &y->most, sizeof x->most) != 0 || x->count != y->count ||
	    x->turns != y->turns)
		return false;
	for (int i = 0; i < x->count; i++)
		if (x->demand[i].resource != y->demand[i].resource ||
		    memcmp(&x->demand[i].weight, &y->demand[i].weight, sizeof(double)) != 0)
			return false;
	return true;
}

static bool join_resources(sim_flows_t *flows, int class)
{
	const sim_ask_t *ask = &flows->classes[class].ask;
	for (int i = 0; i < ask->count; i++) {
		resource_t *resource = &flows->resources[ask->demand[i].resource];
		if (resource->count == resource->room) {
			const int room = resource->room ? 2 * resource->room : 16;
			int *grown = realloc(resource->classes, (size_t)room * sizeof *grown);
			if (!grown)
				return false;
			resource->classes = grown;
			resource->room = room;
		}
		resource->classes[resource->count++] = class;
	}
	return true;
}

/** Twice the slots, as soon as half of them are taken. */
static bool rehash(sim_flows_t *flows)
{
	const int count = 2 * flows->slot_count;
	int *slots = malloc((size_t)count * sizeof *slots);
	if (!slots)
		return false;
	for (int i = 0; i < count; i++)
		slots[i] = -1;
	for (int c = 0; c < flows->class_count; c++) {
		uint64_t at = hash_of(&flows->classes[c].ask) % (uint64_t)count;
		while (slots[at] >= 0)
			at = (at + 1) % (uint64_t)count;
		slots[at] = c;
	}
	free(flows->slots);
	flows->slots = slots;
	flows->slot_count = count;
	return true;
}

static bool grow_classes(sim_flows_t *flows)
{
	const int room = flows->class_room ? 2 * flows->class_room : 64;
	flow_class_t *classes = realloc(flows->classes, (size_t)room * sizeof *classes);
	if (!classes)
		return false;
	flows->classes = classes;
	int *active = realloc(flows->active, (size_t)room * sizeof *active);
	if (!active)
		return false;
	flows->active = active;
	flows->class_room = room;
	return true;
}

/** The class of what is asked for, or -1: no memory. */
static int class_of(sim_flows_t *flows, const sim_ask_t *ask)
{
	uint64_t at = hash_of(ask) % (uint64_t)flows->slot_count;
	for (; flows->slots[at] >= 0; at = (at + 1) % (uint64_t)flows->slot_count)
		if (is_same(&flows->classes[flows->slots[at]].ask, ask))
			return flows->slots[at];
	if (flows->class_count == flows->class_room && !grow_classes(flows))
		return -1;
	const int class = flows->class_count++;
	flows->classes[class] = (flow_class_t){.ask = *ask, .rate = ask->most};
	flows->slots[at] = class;
	if (!join_resources(flows, class) ||
	    (flows->class_count > flows->slot_count / 2 && !rehash(flows)))
		return -1;
	return class;
}

/* ------------------------------------------------------------------ rates */

/** Whether there is less of a resource than is wanted; sums are not exact. */
static bool lacks(const resource_t *resource, double wanted)
{
	return wanted > resource->rate * (1 + 1e-9);
}

/** What the flows of a class want of a resource, given what other resources let through. */
typedef struct want {
	double each;
	int flows;
} want_t;

static double weight_in(const sim_ask_t *ask, int resource)
{
	for (int i = 0; i < ask->count; i++)
		if (ask->demand[i].resource == resource)
			return ask->demand[i].weight;
	return 0;
}

/** The rate that a class may have but for one resource. */
static double rate_without(const sim_flows_t *flows, const flow_class_t *class, int resource)
{
	double rate = class->ask.most;
	for (int i = 0; i < class->ask.count; i++) {
		const sim_demand_t *demand = &class->ask.demand[i];
		if (demand->resource != resource && demand->weight > 0)
			rate = fmin(rate,
				    flows->resources[demand->resource].level / demand->weight);
	}
	return rate;
}

static int compare_wants(const void *x, const void *y)
{
	const double a = ((const want_t *)x)->each, b = ((const want_t *)y)->each;
	return (a > b) - (a < b);
}

/** The most that a flow can have of a resource, so that all together have what there is. */
static double share_out(double rate, want_t *wants, int count)
{
	int flows = 0;
	double all = 0;
	for (int i = 0; i < count; i++) {
		flows += wants[i].flows;
		all += wants[i].flows * wants[i].each;
	}
	if (all <= rate)
		return INFINITY;
	qsort(wants, (size_t)count, sizeof *wants, compare_wants);
	for (int i = 0; i < count; i++) {
		const double level = rate / flows;
		if (wants[i].each >= level)
			return level;
		rate -= wants[i].flows * wants[i].each;
		flows -= wants[i].flows;
	}
	return INFINITY;
}

static void share_resource(sim_flows_t *flows, int index)
{
	enum { MOST = 256 };
	resource_t *resource = &flows->resources[index];
	want_t wants[MOST];
	int count = 0;
	for (int i = 0; i < resource->count && count < MOST; i++) {
		const flow_class_t *class = &flows->classes[resource->classes[i]];
		if (class->count > 0)
			wants[count++] = (want_t){rate_without(flows, class, index) *
							  weight_in(&class->ask, index),
						  class->count};
	}
	resource->level = count > 0 ? share_out(resource->rate, wants, count) : INFINITY;
}

/**
 * Finds the rates of all classes. A second pass gives flows what others, held up
 * elsewhere, leave to them.
 */
static void share_all(sim_flows_t *flows)
{
	flows->unshared = false;
	for (int r = 0; r < flows->resource_count; r++)
		flows->resources[r].level = INFINITY;
	for (int pass = 0; pass < 2; pass++)
		for (int r = 0; r < flows->resource_count; r++)
			if (lacks(&flows->resources[r], flows->resources[r].wanted))
				share_resource(flows, r);
	for (int i = 0; i < flows->active_count; i++) {
		flow_class_t *class = &flows->classes[flows->active[i]];
		class->rate = rate_without(flows, class, -1);
	}
}

/**
 * One flow of a class more, or less. Where none of its resources lacks
 * anything, before and after, all rates stay as they are.
 */
static void count_flow(sim_flows_t *flows, flow_class_t *class, int change)
{
	bool short_of = false;
	for (int i = 0; i < class->ask.count; i++) {
		resource_t *resource = &flows->resources[class->ask.demand[i].resource];
		const double before = resource->wanted;
		resource->flows += change;
		resource->wanted += change * class->ask.most * class->ask.demand[i].weight;
		short_of = short_of || lacks(resource, fmax(before, resource->wanted));
	}
	if (short_of)
		flows->unshared = true;
	else
		class->rate = class->ask.most;
}

/* ------------------------------------------------------------------ time */

/** When a class' first flow ends at a given rate. */
static double end_ns_at(const sim_flows_t *flows, const flow_class_t *class, double rate)
{
	const double left = class->heap[0].target - class->served;
	return flows->at_ns + (left > 0 ? left / rate : 0);
}

/** No class goes slower: half of an equal part of each resource, because sums are not exact. */
static double least_rate(const sim_flows_t *flows, const flow_class_t *class)
{
	double rate = class->ask.most;
	for (int i = 0; i < class->ask.count; i++) {
		const sim_demand_t *demand = &class->ask.demand[i];
		const resource_t *resource = &flows->resources[demand->resource];
		if (demand->weight > 0)
			rate = fmin(rate, resource->rate / (resource->flows * demand->weight));
	}
	return rate / 2;
}

/**
 * Finds the next flow that ends without the rates: one that ends now, however
 * fast it is. False: it depends on the rates.
 */
static bool find_ended(sim_flows_t *flows)
{
	for (int i = 0; i < flows->active_count; i++) {
		const flow_class_t *class = &flows->classes[flows->active[i]];
		if (end_ns_at(flows, class, class->ask.most) > flows->at_ns)
			continue;
		if (end_ns_at(flows, class, least_rate(flows, class)) > flows->at_ns)
			return false;
		flows->next_ns = flows->at_ns;
		flows->next = flows->active[i];
		return true;
	}
	return false;
}

static void find_next(sim_flows_t *flows)
{
	if (!flows->unfound)
		return;
	flows->unfound = false;
	if (flows->unshared) {
		if (find_ended(flows))
			return;
		share_all(flows);
	}
	flows->next_ns = INFINITY;
	for (int i = 0; i < flows->active_count; i++) {
		const flow_class_t *class = &flows->classes[flows->active[i]];
		const double at = end_ns_at(flows, class, class->rate);
		if (at < flows->next_ns) {
			flows->next_ns = at;
			flows->next = flows->active[i];
		}
	}
}

static void pass_time(sim_flows_t *flows, double at_ns)
{
	const double passed = at_ns - flows->at_ns;
	if (passed <= 0)
		return;
	find_next(flows);
	if (flows->unshared)
		share_all(flows);
	for (int i = 0; i < flows->active_count; i++) {
		flow_class_t *class = &flows->classes[flows->active[i]];
		class->served += class->rate * passed;
	}
	flows->at_ns = at_ns;
}

/* ------------------------------------------------------------------ flows */

static bool ends_before(const flow_t *x, const flow_t *y)
{
	return x->target < y->target || (x->target <= y->target && x->number < y->number);
}

static bool push(flow_class_t *class, flow_t flow)
{
	if (class->count == class->room) {
		const int room = class->room ? 2 * class->room : 16;
		flow_t *heap = realloc(class->heap, (size_t)room * sizeof *heap);
		if (!heap)
			return false;
		class->heap = heap;
		class->room = room;
	}
	int i = class->count++;
	for (; i > 0 && ends_before(&flow, &class->heap[(i - 1) / 2]); i = (i - 1) / 2)
		class->heap[i] = class->heap[(i - 1) / 2];
	class->heap[i] = flow;
	return true;
}

static flow_t pop(flow_class_t *class)
{
	const flow_t first = class->heap[0], last = class->heap[--class->count];
	int i = 0;
	for (int child; (child = 2 * i + 1) < class->count; i = child) {
		child += child + 1 < class->count &&
			 ends_before(&class->heap[child + 1], &class->heap[child]);
		if (!ends_before(&class->heap[child], &last))
			break;
		class->heap[i] = class->heap[child];
	}
	class->heap[i] = last;
	return first;
}

/** A flow that waits for its turn. */
static bool enqueue(flow_class_t *class, flow_t flow)
{
	if (class->queued == class->queue_room) {
		const int room = class->queue_room ? 2 * class->queue_room : 16;
		flow_t *queue = malloc((size_t)room * sizeof *queue);
		if (!queue)
			return false;
		for (int i = 0; i < class->queued; i++)
			queue[i] = class->queue[(class->first + i) % class->queue_room];
		free(class->queue);
		class->queue = queue;
		class->queue_room = room;
		class->first = 0;
	}
	class->queue[(class->first + class->queued++) % class->queue_room] = flow;
	return true;
}

/** The next one in turn takes the place of one that has ended. False: there is none. */
static bool take_turn(flow_class_t *class)
{
	if (class->queued == 0)
		return false;
	flow_t flow = class->queue[class->first];
	class->first = (class->first + 1) % class->queue_room;
	class->queued--;
	flow.target += class->served;
	return push(class, flow); /* there is room: one has just left */
}

bool sim_flows_begin(sim_flows_t *flows, const sim_ask_t *ask, double amount, double at_ns,
		     sim_owner_t *owner)
{
	const int index = class_of(flows, ask);
	if (index < 0)
		return false;
	pass_time(flows, at_ns);
	flow_class_t *class = &flows->classes[index];
	if (ask->turns > 0 && class->count >= ask->turns)
		return enqueue(class, (flow_t){amount, flows->begun++, owner});
	if (class->count == 0) {
		class->served = 0;
		flows->active[flows->active_count++] = index;
	}
	if (!push(class, (flow_t){class->served + amount, flows->begun++, owner}))
		return false;
	count_flow(flows, class, 1);
	flows->unfound = true;
	return true;
}

double sim_flows_next_ns(sim_flows_t *flows)
{
	find_next(flows);
	return flows->next_ns;
}

double sim_flows_bound_ns(const sim_flows_t *flows)
{
	if (!flows->unfound)
		return flows->next_ns;
	double bound_ns = INFINITY;
	for (int i = 0; i < flows->active_count; i++) {
		const flow_class_t *class = &flows->classes[flows->active[i]];
		const double at = end_ns_at(flows, class, class->ask.most);
		bound_ns = at < bound_ns ? at : bound_ns;
	}
	return bound_ns;
}

sim_owner_t *sim_flows_end(sim_flows_t *flows)
{
	pass_time(flows, sim_flows_next_ns(flows));
	const int index = flows->next;
	flow_class_t *class = &flows->classes[index];
	const flow_t flow = pop(class);
	if (!take_turn(class)) {
		for (int i = 0; class->count == 0 && i < flows->active_count; i++)
			if (flows->active[i] == index) {
				flows->active[i] = flows->active[--flows->active_count];
				break;
			}
		count_flow(flows, class, -1);
	}
	flows->unfound = true;
	return flow.owner;
}

/* Flows share resources fairly, and end when what they share lets them. */
#include <criterion/criterion.h>
#include <math.h>

#include "model/perf/sim/agenda.h"
#include "model/perf/sim/flows.h"

static void nothing(sim_owner_t *owner, double at_ns)
{
	(void)owner;
	(void)at_ns;
}

static bool is_near(double x, double y)
{
	return fabs(x - y) < 1e-6;
}

/** Begins a flow of one resource. */
static void begin(sim_flows_t *flows, int resource, double most, double amount, double at_ns,
		  sim_owner_t *owner)
{
	const sim_ask_t ask = {.most = most, .count = 1, .demand = {{resource, 1}}};
	owner->ended = nothing;
	cr_assert(sim_flows_begin(flows, &ask, amount, at_ns, owner));
}

/** The next flow that ends is this one, at that time. */
static void ends(sim_flows_t *flows, const sim_owner_t *owner, double at_ns)
{
	cr_assert(is_near(sim_flows_next_ns(flows), at_ns), "at %g, not %g",
		  sim_flows_next_ns(flows), at_ns);
	cr_assert(sim_flows_end(flows) == owner);
}

Test(flows, one_flow_is_as_fast_as_it_may)
{
	const double rates[] = {10};
	sim_flows_t *flows = sim_flows_create(rates, 1);
	sim_owner_t slow, fast;
	begin(flows, 0, 2, 20, 0, &slow);
	ends(flows, &slow, 10);
	begin(flows, 0, 40, 20, 10, &fast);
	ends(flows, &fast, 12);
	cr_assert(isinf(sim_flows_next_ns(flows)));
	sim_flows_destroy(flows);
}

Test(flows, who_wants_little_gets_it_and_the_rest_is_shared)
{
	const double rates[] = {10};
	sim_flows_t *flows = sim_flows_create(rates, 1);
	sim_owner_t little, first, second;
	begin(flows, 0, 2, 10, 0, &little); /* 2 of the 10 */
	begin(flows, 0, 100, 8, 0, &first); /* 4 each */
	begin(flows, 0, 100, 20, 0, &second);
	ends(flows, &first, 2);
	/* 12 are left of the second, which has 8 now */
	ends(flows, &second, 3.5);
	ends(flows, &little, 5);
	sim_flows_destroy(flows);
}

Test(flows, what_one_resource_holds_up_others_may_have)
{
	const double rates[] = {10, 2};
	sim_flows_t *flows = sim_flows_create(rates, 2);
	sim_owner_t both, one;
	const sim_ask_t through_both = {.most = 100, .count = 2, .demand = {{0, 1}, {1, 1}}};
	both.ended = nothing;
	cr_assert(sim_flows_begin(flows, &through_both, 4, 0, &both));
	begin(flows, 0, 100, 16, 0, &one); /* 8: the other one can have 2 alone */
	ends(flows, &both, 2);
	ends(flows, &one, 2);
	sim_flows_destroy(flows);
}

Test(flows, flows_that_end_at_one_time_need_no_new_rates)
{
	enum { COUNT = 5 };
	const double rates[] = {10};
	sim_flows_t *flows = sim_flows_create(rates, 1);
	sim_owner_t owners[COUNT], late;
	for (int i = 0; i < COUNT; i++)
		begin(flows, 0, 100 + i, 20, 0, &owners[i]); /* a class each; 2 of the 10 */
	/* nobody asked for a rate yet: the bound is that of the fastest, alone */
	cr_assert(is_near(sim_flows_bound_ns(flows), 20.0 / (100 + COUNT - 1)));
	cr_assert(is_near(sim_flows_next_ns(flows), 10));
	cr_assert(is_near(sim_flows_bound_ns(flows), 10));
	for (int i = 0; i < COUNT; i++) {
		cr_assert(is_near(sim_flows_next_ns(flows), 10), "flow %d at %g", i,
			  sim_flows_next_ns(flows));
		(void)sim_flows_end(flows);
	}
	begin(flows, 0, 100, 20, 10, &late); /* all of it */
	ends(flows, &late, 12);
	sim_flows_destroy(flows);
}

Test(flows, a_weight_counts_for_more_than_a_unit)
{
	const double rates[] = {12};
	sim_flows_t *flows = sim_flows_create(rates, 1);
	sim_owner_t heavy;
	const sim_ask_t ask = {.most = 100, .count = 1, .demand = {{0, 3}}};
	heavy.ended = nothing;
	cr_assert(sim_flows_begin(flows, &ask, 8, 1, &heavy));
	ends(flows, &heavy, 3);
	sim_flows_destroy(flows);
}

Test(flows, turns_are_taken_in_order)
{
	enum { FLOWS = 40 };
	const double rates[] = {4};
	sim_flows_t *flows = sim_flows_create(rates, 1);
	sim_owner_t owner[FLOWS];
	const sim_ask_t ask = {.most = 2, .turns = 2, .count = 1, .demand = {{0, 1}}};
	for (int i = 0; i < FLOWS; i++) {
		owner[i].ended = nothing;
		cr_assert(sim_flows_begin(flows, &ask, 2, 0, &owner[i]));
	}
	for (int i = 0; i < FLOWS; i++) /* two at a time, each as long as one alone */
		ends(flows, &owner[i], 1 + i / 2);
	sim_flows_destroy(flows);
}

static void note(void *ctx, double at_ns)
{
	*(double *)ctx = at_ns;
}

Test(flows, events_come_by_time_and_then_as_they_were_made)
{
	enum { EVENTS = 1000 };
	static double noted[EVENTS];
	sim_agenda_t agenda = {0};
	double last_ns = -1;
	uint64_t last = 0;
	for (int i = 0; i < EVENTS; i++)
		cr_assert(sim_agenda_add(&agenda, (double)(i * 7919 % 10), note, &noted[i]));
	for (int i = 0; i < EVENTS; i++) {
		const sim_event_t event = sim_agenda_take(&agenda);
		cr_assert(event.at_ns > last_ns || (event.at_ns >= last_ns && event.number > last));
		event.act(event.ctx, event.at_ns);
		last_ns = event.at_ns;
		last = event.number;
	}
	cr_assert(isinf(sim_agenda_next_ns(&agenda)));
	for (int i = 0; i < EVENTS; i++)
		cr_assert(is_near(noted[i], i * 7919 % 10));
	sim_agenda_free(&agenda);
}

#include "model/memory/axioms/search.h"

#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"

/**
 * Fills in locations and values. False: some value is its own cause, an address
 * is no location's, or a read reads elsewhere.
 */
static bool complete_events(search_t *s)
{
	execution_t *x = &s->x;

	for (int i = x->test->locations; i < x->n; i++) {
		event_t *event = &x->event[i];
		const path_event_t *e = &s->path[event->thread]->event[i - s->base[event->thread]];
		if (event->kind == EVENT_FENCE)
			continue;
		if (!s->known[event->thread][e->address] || !s->known[event->thread][e->value])
			return false;
		event->value = s->number[event->thread][e->value];
		event->location = litmus_location(x->test, s->number[event->thread][e->address]);
		if (event->location < 0)
			return false;
	}
	for (int l = 0; l < x->test->locations; l++)
		x->at[l] = 0;
	for (int i = 0; i < x->n; i++) {
		if (x->event[i].kind == EVENT_READ &&
		    x->event[s->source[i]].location != x->event[i].location)
			return false;
		if (x->event[i].kind != EVENT_FENCE)
			x->at[x->event[i].location] |= set_of(i);
	}
	return true;
}

/** The write to a location that no other follows. */
static int last_write(const search_t *s, int location)
{
	if (s->final[location] != NO_EVENT)
		return s->final[location];
	set_t last = s->x.at[location] & s->x.writes;
	while (s->x.co.row[set_first(last)])
		last &= last - 1;
	return set_first(last);
}

/** The final state, once the last writes are known. */
static void complete_values(search_t *s)
{
	execution_t *x = &s->x;

	for (int i = 0; i < x->test->observed_count; i++) {
		litmus_observed_t what = x->test->observed[i];
		if (what.thread >= 0)
			x->values[i] =
				s->number[what.thread][s->path[what.thread]->final[what.index]];
		else
			x->values[i] = x->event[last_write(s, what.index)].value;
	}
}

/* Orders of writes. */

static bool order_location(search_t *s, int location);

static bool is_forbidden(search_t *s)
{
	return !s->what->all && axioms_judge(s->what->axioms, &s->x, &s->derived) != AXIOM_NONE;
}

/** All orders are known. */
static bool visit(search_t *s)
{
	if (is_forbidden(s))
		return false;
	complete_values(s);
	s->stop = !s->what->visit(&s->x, &s->derived, s->what->context);
	return true;
}

/**
 * The whole order of a location is known: on to the next. What seq_cst forbids
 * already, no order of another location allows again; without seq_cst events no
 * two locations' orders have to do with one another, and coherence has been
 * seen to.
 */
static bool take_order(search_t *s, int location, int count)
{
	bool last = location + 1 == s->x.test->locations, found = false;
	set_t later = 0;

	for (int i = count - 1; i >= 0; i--) {
		s->x.co.row[s->order[location][i]] = later;
		later |= set_of(s->order[location][i]);
	}
	if (last || !axioms_have_sc(&s->x) || !is_forbidden(s))
		found = order_location(s, location + 1);
	for (int i = 0; i < count; i++)
		s->x.co.row[s->order[location][i]] = 0;
	return found;
}

/**
 * Whether `write`, if a read-modify-write's, may come right after `last`; or
 * may be put off to after it, if it is not `next`.
 */
static bool fits_pair(const search_t *s, int write, int last, int next)
{
	const event_t *event = &s->x.event[write];
	int pair = event->thread < 0
			   ? NO_EVENT
			   : s->path[event->thread]->event[write - s->base[event->thread]].pair;

	if (s->what->all || pair == NO_EVENT)
		return true;
	return (s->source[s->base[event->thread] + pair] == last) == (write == next);
}

/**
 * Goes through the orders of a location's writes, given the first `count` of
 * them, and what follows from each. Where its final write is fixed, one order
 * that leads to a visit is enough. Returns whether any did.
 */
static bool order_writes(search_t *s, int location, int count, set_t left)
{
	int last = count ? s->order[location][count - 1] : NO_EVENT, final = s->final[location];
	bool found = false;

	if (search_is_over(s))
		return false;
	if (!left)
		return take_order(s, location, count);
	for (set_t next = left; next && !s->stop && !(found && final != NO_EVENT);
	     next &= next - 1) {
		int write = set_first(next);
		bool fits =
			!(s->before.row[write] & left) && (write != final || left == set_of(write));
		for (set_t rest = left; rest && fits; rest &= rest - 1)
			fits = fits_pair(s, set_first(rest), last, write);
		if (!fits)
			continue;
		s->order[location][count] = write;
		found |= order_writes(s, location, count + 1, left & ~set_of(write));
	}
	return found;
}

static bool order_location(search_t *s, int location)
{
	if (location == s->x.test->locations)
		return visit(s);
	return order_writes(s, location, 0, s->x.at[location] & s->x.writes);
}

/**
 * Of orders that end in the same writes one is enough: nobody sees the others,
 * and races do not hang on them.
 */
static void choose_finals(search_t *s, int location)
{
	if (location == s->x.test->locations) {
		complete_values(s);
		if (!s->what->wants || s->what->wants(&s->x, &s->derived, s->what->context))
			order_location(s, 0);
		return;
	}
	for (set_t final = s->x.at[location] & s->x.writes; final && !s->stop; final &= final - 1) {
		s->final[location] = set_first(final);
		if (s->after.row[set_first(final)] == 0)
			choose_finals(s, location + 1);
	}
}

/**
 * Coherence: what happens before in the epoch of a write (itself, and who reads
 * it) comes before in the order of writes.
 */
static relation_t order_by_coherence(const execution_t *x, const derived_t *derived)
{
	relation_t before = rel_none(x->n);

	for (set_t writes = x->writes; writes; writes &= writes - 1) {
		int w = set_first(writes);
		set_t after = 0, epoch = set_of(w) | x->rf.row[w];
		for (set_t members = epoch; members; members &= members - 1)
			after |= derived->hb.row[set_first(members)];
		for (set_t others = x->at[x->event[w].location] & x->writes & ~set_of(w); others;
		     others &= others - 1) {
			int other = set_first(others);
			if (after & (set_of(other) | x->rf.row[other]))
				relate(&before, w, other);
		}
	}
	return before;
}

/**
 * Atomicity: what comes before a read-modify-write's write comes before the
 * write that it read, and after likewise.
 */
static relation_t order_by_atomicity(const search_t *s, relation_t before)
{
	relation_t closed = rel_closure(before);

	for (set_t reads = s->x.reads; reads; reads &= reads - 1) {
		set_t mine = s->x.rmw.row[set_first(reads)];
		if (!mine || s->source[set_first(reads)] == NO_EVENT)
			continue;
		int from = s->source[set_first(reads)], to = set_first(mine);
		for (set_t writes = s->x.writes & ~set_of(from) & ~mine; writes;
		     writes &= writes - 1) {
			int other = set_first(writes);
			if (related(&closed, other, to))
				relate(&closed, other, from);
			if (related(&closed, from, other))
				relate(&closed, to, other);
		}
	}
	return closed;
}

bool search_order_in_part(search_t *s)
{
	relation_t before = order_by_coherence(&s->x, &s->derived),
		   closed = order_by_atomicity(s, before);

	while (!rel_is_empty(rel_minus(closed, before))) {
		before = closed;
		closed = order_by_atomicity(s, before);
	}
	if (!rel_is_irreflexive(closed))
		return false;
	s->after = closed;
	s->before = rel_inverse(closed);
	return true;
}

void search_orders(search_t *s)
{
	execution_t *x = &s->x;

	if (!complete_events(s))
		return;
	axioms_order(s->what->axioms, x, &s->derived);
	x->co = rel_none(x->n);
	if (!s->what->all) {
		if (axioms_may_allow(s->what->axioms, x, &s->derived) && search_order_in_part(s))
			choose_finals(s, 0);
		return;
	}
	s->after = rel_none(x->n);
	for (int l = 0; l < x->test->locations; l++) {
		s->final[l] = NO_EVENT;
		/* event l is its initial value */
		s->after.row[l] = x->at[l] & x->writes & ~x->initial;
	}
	s->before = rel_inverse(s->after);
	order_location(s, 0);
}

/* Which way each thread takes. */

/** The events of thread t's way, numbered from x->n on. */
static void add_thread(search_t *s, int t)
{
	execution_t *x = &s->x;
	const path_t *path = s->path[t];

	s->base[t] = x->n;
	s->checks += path->checks;
	for (int i = 0; i < path->events; i++) {
		const path_event_t *e = &path->event[i];
		const bool fence = e->kind == EVENT_FENCE; /* it has no address */
		const term_t *address = &path->term[e->address];
		int id = x->n++;
		x->event[id] = (event_t){.kind = e->kind,
					 .order = e->order,
					 .scope = e->scope,
					 .thread = t,
					 .instruction = e->instruction};
		s->place[id] = !fence && address->kind == TERM_NUMBER
				       ? litmus_location(x->test, address->number)
				       : UNKNOWN;
		if (s->place[id] != UNKNOWN) {
			x->event[id].location = s->place[id];
			x->at[s->place[id]] |= set_of(id);
		}
		s->moving |= !fence && s->place[id] == UNKNOWN;
		s->source[id] = NO_EVENT;
		*(e->kind == EVENT_READ    ? &x->reads
		  : e->kind == EVENT_WRITE ? &x->writes
					   : &x->fences) |= set_of(id);
	}
}

static void relate_thread(search_t *s, int t)
{
	execution_t *x = &s->x;
	const path_t *path = s->path[t];
	int base = s->base[t];

	for (int i = 0; i < path->events; i++) {
		const path_event_t *e = &path->event[i];
		for (int j = i + 1; j < path->events; j++)
			relate(&x->po, base + i, base + j);
		if (e->kind == EVENT_READ && e->pair >= 0)
			relate(&x->rmw, base + i, base + e->pair);
		for (set_t reads = e->depends; reads; reads &= reads - 1)
			relate(&x->dep, base + set_first(reads), base + i);
	}
}

static void start_execution(search_t *s)
{
	execution_t *x = &s->x;

	x->n = x->test->locations;
	x->reads = x->fences = 0;
	x->initial = x->writes = set_of(x->n) - 1;
	for (int l = 0; l < x->n; l++) {
		x->event[l] = (event_t){.kind = EVENT_WRITE,
					.thread = -1,
					.location = l,
					.value = x->test->initial[l]};
		s->place[l] = l;
		x->at[l] = set_of(l);
	}
	s->checks = 0;
	s->moving = false;
	s->exclusive = 0;
}

static tsr_status_t build_execution(search_t *s)
{
	execution_t *x = &s->x;
	int events = x->test->locations;

	for (int t = 0; t < x->test->threads; t++)
		events += s->path[t]->events;
	if (events > MAX_EVENTS)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "%s may have an execution of %d accesses, fences and locations "
				 "together; at most %d fit",
				 x->test->name, events, MAX_EVENTS);
	start_execution(s);
	for (int t = 0; t < x->test->threads; t++)
		add_thread(s, t);
	x->po = x->rmw = x->dep = x->rf = rel_none(x->n);
	for (int t = 0; t < x->test->threads; t++)
		relate_thread(s, t);
	axioms_include(s->what->axioms, x, &s->derived);
	search_sources(s);
	return TSR_OK;
}

static tsr_status_t choose_ways(search_t *s, int thread)
{
	tsr_status_t status = TSR_OK;

	if (thread == s->what->test->threads)
		return build_execution(s);
	for (int i = 0; i < s->paths[thread].count && status == TSR_OK && !s->stop; i++) {
		s->path[thread] = &s->paths[thread].path[i];
		status = choose_ways(s, thread + 1);
	}
	return status;
}

tsr_status_t candidates_visit(const candidates_t *what, bool *cut_out)
{
	search_t *s = malloc(sizeof *s);
	tsr_status_t status = TSR_OK;
	bool cut = false;

	if (!s)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory to enumerate the executions of %s",
				 what->test->name);
	memset(s->paths, 0, sizeof s->paths);
	s->what = what;
	s->x.test = what->test;
	s->stop = false;
	for (int t = 0; t < what->test->threads && status == TSR_OK; t++) {
		status = unfold(what->test, t, what->unroll, &s->paths[t]);
		cut |= s->paths[t].cut;
	}
	if (status == TSR_OK)
		status = choose_ways(s, 0);
	for (int t = 0; t < what->test->threads; t++)
		unfold_free(&s->paths[t]);
	free(s);
	if (status == TSR_OK && what->budget && what->budget->spent)
		status = budget_give_up(what->budget);
	if (status == TSR_OK)
		*cut_out = cut;
	return status;
}

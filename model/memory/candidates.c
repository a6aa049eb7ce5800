#include "model/memory/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"

enum { NO_EVENT = -1, UNKNOWN = -1 };

typedef struct search {
	const candidates_t *what;
	paths_t paths[LITMUS_MAX_THREADS];
	const path_t *path[LITMUS_MAX_THREADS]; /* the way that each thread takes */
	int base[LITMUS_MAX_THREADS];           /* the number of its first event */
	int checks;                             /* of all ways together */
	bool moving;                            /* an address hangs on what is read */
	int place[MAX_EVENTS];                  /* each access's location, UNKNOWN where its address hangs on what is read */

	bool known[LITMUS_MAX_THREADS][MAX_PATH_TERMS];
	int64_t number[LITMUS_MAX_THREADS][MAX_PATH_TERMS];

	int source[MAX_EVENTS];   /* of each read: a write, or NO_EVENT where none is chosen yet */
	set_t exclusive;          /* writes that a read-modify-write has taken as its source: no other may */
	relation_t before, after; /* of each write: those that must come earlier, later in its location's order */
	int order[LITMUS_MAX_LOCATIONS][MAX_EVENTS]; /* each location's order of writes, as far as it is built */

	int final[LITMUS_MAX_LOCATIONS]; /* each location's last write, or NO_EVENT where any may be */

	execution_t x;
	derived_t derived;
	bool stop;
} search_t;

/* What the chosen ways and sources make of the terms. */

static bool term_number(const search_t *s, int thread, const term_t *term, int64_t *number_out)
{
	if (term->kind == TERM_NUMBER) {
		*number_out = term->number;
		return true;
	}
	if (term->kind == TERM_APPLY) {
		*number_out = litmus_apply(term->function, s->number[thread][term->a], s->number[thread][term->b]);
		return s->known[thread][term->a] && s->known[thread][term->b];
	}
	int source = s->source[s->base[thread] + term->a];
	if (source == NO_EVENT)
		return false;
	const event_t *write = &s->x.event[source];
	if (write->thread < 0) {
		*number_out = write->value;
		return true;
	}
	int value = s->path[write->thread]->event[source - s->base[write->thread]].value;
	*number_out = s->number[write->thread][value];
	return s->known[write->thread][value];
}

/**
 * Computes every term that the chosen sources decide. A term that is still unknown when all sources are chosen would be its own
 * cause: the values of NoThinAir's cycles come out of thin air.
 */
static void compute_terms(search_t *s)
{
	int threads = s->what->test->threads;
	bool changed = true;

	for (int t = 0; t < threads; t++)
		memset(s->known[t], 0, (size_t)s->path[t]->terms * sizeof(bool));
	while (changed) {
		changed = false;
		for (int t = 0; t < threads; t++) {
			for (int i = 0; i < s->path[t]->terms; i++) {
				if (!s->known[t][i] && term_number(s, t, &s->path[t]->term[i], &s->number[t][i]))
					s->known[t][i] = changed = true;
			}
		}
	}
}

/** Whether no decision that is known contradicts the way its thread takes. */
static bool ways_are_possible(const search_t *s)
{
	for (int t = 0; t < s->what->test->threads; t++) {
		const path_t *path = s->path[t];
		for (int i = 0; i < path->checks; i++) {
			int term = path->check[i].term;
			if (s->known[t][term] && (s->number[t][term] != 0) != path->check[i].wanted)
				return false;
		}
	}
	return true;
}

/** Fills in locations and values. False: some value is its own cause, an address is no location's, or a read reads elsewhere. */
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
		if (x->event[i].kind == EVENT_READ && x->event[s->source[i]].location != x->event[i].location)
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
			x->values[i] = s->number[what.thread][s->path[what.thread]->final[what.index]];
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
 * The whole order of a location is known: on to the next. What seq_cst forbids already, no order of another location allows
 * again; without seq_cst events no two locations' orders have to do with one another, and coherence has been seen to.
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

/** Whether `write`, if a read-modify-write's, may come right after `last`; or may be put off to after it, if it is not `next`. */
static bool fits_pair(const search_t *s, int write, int last, int next)
{
	const event_t *event = &s->x.event[write];
	int pair = event->thread < 0 ? NO_EVENT : s->path[event->thread]->event[write - s->base[event->thread]].pair;

	if (s->what->all || pair == NO_EVENT)
		return true;
	return (s->source[s->base[event->thread] + pair] == last) == (write == next);
}

/**
 * Goes through the orders of a location's writes, given the first `count` of them, and what follows from each. Where its final
 * write is fixed, one order that leads to a visit is enough. Returns whether any did.
 */
static bool order_writes(search_t *s, int location, int count, set_t left)
{
	int last = count ? s->order[location][count - 1] : NO_EVENT, final = s->final[location];
	bool found = false;

	if (!left)
		return take_order(s, location, count);
	for (set_t next = left; next && !s->stop && !(found && final != NO_EVENT); next &= next - 1) {
		int write = set_first(next);
		bool fits = !(s->before.row[write] & left) && (write != final || left == set_of(write));
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

/** Of orders that end in the same writes one is enough: nobody sees the others, and races do not hang on them. */
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

/** Coherence: what happens before in the epoch of a write (itself, and who reads it) comes before in the order of writes. */
static relation_t order_by_coherence(const execution_t *x, const derived_t *derived)
{
	relation_t before = rel_none(x->n);

	for (set_t writes = x->writes; writes; writes &= writes - 1) {
		int w = set_first(writes);
		set_t after = 0, epoch = set_of(w) | x->rf.row[w];
		for (set_t members = epoch; members; members &= members - 1)
			after |= derived->hb.row[set_first(members)];
		for (set_t others = x->at[x->event[w].location] & x->writes & ~set_of(w); others; others &= others - 1) {
			int other = set_first(others);
			if (after & (set_of(other) | x->rf.row[other]))
				relate(&before, w, other);
		}
	}
	return before;
}

/** Atomicity: what comes before a read-modify-write's write comes before the write that it read, and after likewise. */
static relation_t order_by_atomicity(const search_t *s, relation_t before)
{
	relation_t closed = rel_closure(before);

	for (set_t reads = s->x.reads; reads; reads &= reads - 1) {
		set_t mine = s->x.rmw.row[set_first(reads)];
		if (!mine)
			continue;
		int from = s->source[set_first(reads)], to = set_first(mine);
		for (set_t writes = s->x.writes & ~set_of(from) & ~mine; writes; writes &= writes - 1) {
			int other = set_first(writes);
			if (related(&closed, other, to))
				relate(&closed, other, from);
			if (related(&closed, from, other))
				relate(&closed, to, other);
		}
	}
	return closed;
}

/** What each location's order of writes must obey; false: no order does. */
static bool order_in_part(search_t *s)
{
	relation_t before = order_by_coherence(&s->x, &s->derived), closed = order_by_atomicity(s, before);

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

static void order_all(search_t *s)
{
	execution_t *x = &s->x;

	axioms_order(s->what->axioms, x, &s->derived);
	x->co = rel_none(x->n);
	if (!s->what->all) {
		if (axioms_may_allow(s->what->axioms, x, &s->derived) && order_in_part(s))
			choose_finals(s, 0);
		return;
	}
	s->after = rel_none(x->n);
	for (int l = 0; l < x->test->locations; l++) {
		s->final[l] = NO_EVENT;
		s->after.row[l] = x->at[l] & x->writes & ~x->initial; /* event l is its initial value */
	}
	s->before = rel_inverse(s->after);
	order_location(s, 0);
}

/* Who reads from whom. */

/** Whether a read may read a write, as far as program order tells: not one that comes later, nor one that it overwrote. */
static bool in_sight(const search_t *s, int read, int write)
{
	const execution_t *x = &s->x;
	int location = s->place[write];

	if (location != UNKNOWN && s->place[read] != UNKNOWN && location != s->place[read])
		return false;
	if (s->what->all)
		return true;
	if (related(&x->po, read, write))
		return false;
	if (x->event[write].thread >= 0 && x->event[write].thread != x->event[read].thread)
		return true;
	for (set_t between = x->writes & ~x->initial; between && location != UNKNOWN; between &= between - 1) {
		int other = set_first(between);
		bool later = x->event[write].thread < 0 || related(&x->po, write, other);
		if (later && related(&x->po, other, read) && s->place[other] == location && s->place[read] == location)
			return false;
	}
	return true;
}

/** Chooses a source for each read from event number `from` on. */
static void choose_sources(search_t *s, int from)
{
	execution_t *x = &s->x;
	set_t reads = from < MAX_EVENTS ? x->reads >> from << from : 0;

	if (s->checks || s->moving || !reads) {
		compute_terms(s);
		if (!ways_are_possible(s))
			return;
	}
	if (!reads) {
		if (complete_events(s))
			order_all(s);
		return;
	}
	int read = set_first(reads);
	bool takes = x->rmw.row[read] && !s->what->all;
	for (set_t writes = x->writes; writes && !s->stop; writes &= writes - 1) {
		int write = set_first(writes);
		if (!in_sight(s, read, write) || (takes && set_has(s->exclusive, write)))
			continue;
		set_t exclusive = s->exclusive;
		s->exclusive |= takes ? set_of(write) : 0;
		s->source[read] = write;
		relate(&x->rf, write, read);
		choose_sources(s, read + 1);
		x->rf.row[write] &= ~set_of(read);
		s->source[read] = NO_EVENT;
		s->exclusive = exclusive;
	}
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
		const term_t *address = &path->term[e->address];
		int id = x->n++;
		x->event[id] = (event_t){
			.kind = e->kind, .order = e->order, .scope = e->scope, .thread = t, .instruction = e->instruction};
		s->place[id] = address->kind == TERM_NUMBER ? litmus_location(x->test, address->number) : UNKNOWN;
		s->moving |= e->kind != EVENT_FENCE && s->place[id] == UNKNOWN;
		s->source[id] = NO_EVENT;
		*(e->kind == EVENT_READ ? &x->reads : e->kind == EVENT_WRITE ? &x->writes : &x->fences) |= set_of(id);
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
		x->event[l] = (event_t){.kind = EVENT_WRITE, .thread = -1, .location = l, .value = x->test->initial[l]};
		s->place[l] = l;
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
				 "%s may have an execution of %d accesses, fences and locations together; at most %d fit",
				 x->test->name, events, MAX_EVENTS);
	start_execution(s);
	for (int t = 0; t < x->test->threads; t++)
		add_thread(s, t);
	x->po = x->rmw = x->dep = x->rf = rel_none(x->n);
	for (int t = 0; t < x->test->threads; t++)
		relate_thread(s, t);
	choose_sources(s, 0);
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
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory to enumerate the executions of %s", what->test->name);
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
	if (status == TSR_OK)
		*cut_out = cut;
	return status;
}

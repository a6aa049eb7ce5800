/*
 * Who reads from whom: each read gets a source in turn, and what can be no
 * execution any more is left at once.
 */
#include <string.h>

#include "model/memory/axioms/search.h"

/* What the chosen ways and sources make of the terms. */

static bool term_number(const search_t *s, int thread, const term_t *term, int64_t *number_out)
{
	if (term->kind == TERM_NUMBER) {
		*number_out = term->number;
		return true;
	}
	if (term->kind == TERM_APPLY) {
		*number_out = litmus_apply(term->function, s->number[thread][term->a],
					   s->number[thread][term->b]);
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

/** Computes what follows from the terms that are known. */
static void compute_more_terms(search_t *s)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (int t = 0; t < s->what->test->threads; t++) {
			for (int i = 0; i < s->path[t]->terms; i++) {
				if (!s->known[t][i] &&
				    term_number(s, t, &s->path[t]->term[i], &s->number[t][i]))
					s->known[t][i] = changed = true;
			}
		}
	}
}

/**
 * Where a check wants two terms to be equal and one of them is known, so is the
 * other. Returns whether that is new.
 */
static bool imply(search_t *s, int thread, int term, bool wanted)
{
	const term_t *check = &s->path[thread]->term[term];
	const litmus_function_t equal = wanted ? LITMUS_EQ : LITMUS_NEQ;

	if (check->kind != TERM_APPLY || check->function != equal ||
	    s->known[thread][check->a] == s->known[thread][check->b])
		return false;
	const int from = s->known[thread][check->a] ? check->a : check->b,
		  to = check->a + check->b - from;
	s->known[thread][to] = true;
	s->number[thread][to] = s->number[thread][from];
	return true;
}

/** Whether every term that the chosen sources decide is what the checks imply. */
static bool implications_hold(const search_t *s)
{
	for (int t = 0; t < s->what->test->threads; t++) {
		for (int i = 0; i < s->path[t]->terms; i++) {
			int64_t number;
			if (s->known[t][i] && term_number(s, t, &s->path[t]->term[i], &number) &&
			    number != s->number[t][i])
				return false;
		}
	}
	return true;
}

/**
 * Computes every term that the chosen sources decide. A term that is still
 * unknown when all sources are chosen would be its own cause: the values of
 * NoThinAir's cycles come out of thin air. Until then, `ahead`, what the ways
 * imply is computed too: a compare-and-swap that succeeds has read what it
 * expects. False: a source contradicts what is implied.
 */
static bool compute_terms(search_t *s, bool ahead)
{
	int threads = s->what->test->threads;

	for (int t = 0; t < threads; t++)
		memset(s->known[t], 0, (size_t)s->path[t]->terms * sizeof(bool));
	compute_more_terms(s);
	if (!ahead)
		return true;
	bool implied = false, changed = true;
	while (changed) {
		changed = false;
		for (int t = 0; t < threads; t++)
			for (int i = 0; i < s->path[t]->checks; i++)
				changed |= imply(s, t, s->path[t]->check[i].term,
						 s->path[t]->check[i].wanted);
		implied |= changed;
		if (changed)
			compute_more_terms(s);
	}
	return !implied || implications_hold(s);
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

/* Who reads from whom. */

/**
 * Whether a read may read a write, as far as program order tells: not one that
 * comes later, nor one that it overwrote.
 */
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
	for (set_t between = x->writes & ~x->initial; between && location != UNKNOWN;
	     between &= between - 1) {
		int other = set_first(between);
		bool later = x->event[write].thread < 0 || related(&x->po, write, other);
		if (later && related(&x->po, other, read) && s->place[other] == location &&
		    s->place[read] == location)
			return false;
	}
	return true;
}

/**
 * Whether the way of a read's thread is impossible if the read returns `value`,
 * as far as what else it reads is known.
 */
static bool contradicts(const search_t *s, int read, int64_t value)
{
	const int t = s->x.event[read].thread, mine = read - s->base[t];
	const path_t *path = s->path[t];
	bool known[MAX_PATH_TERMS];
	int64_t number[MAX_PATH_TERMS];
	const int returned = path->event[mine].value;

	if (s->known[t][returned] && s->number[t][returned] != value)
		return true;
	for (int i = 0; i < path->terms; i++) {
		const term_t *term = &path->term[i];
		known[i] = s->known[t][i];
		number[i] = known[i] ? s->number[t][i] : value;
		known[i] |= i == returned;
		if (known[i] || term->kind != TERM_APPLY)
			continue;
		known[i] = known[term->a] && known[term->b];
		if (known[i])
			number[i] = litmus_apply(term->function, number[term->a], number[term->b]);
	}
	for (int i = 0; i < path->checks; i++)
		if (known[path->check[i].term] &&
		    (number[path->check[i].term] != 0) != path->check[i].wanted)
			return true;
	return false;
}

/** Whether a write's value is known, and rules out that the read returns it. */
static bool is_ruled_out(const search_t *s, int read, int write)
{
	const event_t *event = &s->x.event[write];

	if (event->thread < 0)
		return contradicts(s, read, event->value);
	const int term = s->path[event->thread]->event[write - s->base[event->thread]].value;
	return s->known[event->thread][term] &&
	       contradicts(s, read, s->number[event->thread][term]);
}

/** The writes that a read may still read from. */
static set_t sources_of(const search_t *s, int read)
{
	const bool takes = s->x.rmw.row[read] && !s->what->all;
	set_t sources = s->sight[read] & ~(takes ? s->exclusive : 0);

	for (set_t left = set_has(s->deciding, read) ? sources : 0; left; left &= left - 1)
		if (is_ruled_out(s, read, set_first(left)))
			sources &= ~set_of(set_first(left));
	return sources;
}

/**
 * The read to choose a source for next: the one with the fewest left to choose
 * from, so that what is impossible shows early; of these a read-modify-write's,
 * whose value others hang on. Where no way hangs on values, the first.
 */
static int next_read(const search_t *s, set_t reads, set_t *sources_out)
{
	int best = set_first(reads), fewest = 2 * MAX_EVENTS;

	if (!s->deciding) {
		*sources_out = sources_of(s, best);
		return best;
	}
	for (set_t left = reads; left && fewest > 1; left &= left - 1) {
		const int read = set_first(left);
		const set_t sources = sources_of(s, read);
		const int rank = 2 * __builtin_popcountll(sources) - (s->x.rmw.row[read] != 0);
		if (rank >= fewest)
			continue;
		fewest = rank;
		best = read;
		*sources_out = sources;
	}
	return best;
}

/**
 * Whether what is read so far leaves any execution that is allowed. The axioms
 * asked only forbid more where more is read.
 */
static bool may_go_on(search_t *s)
{
	if (s->what->all || s->moving)
		return true;
	axioms_order(s->what->axioms, &s->x, &s->derived);
	return axioms_may_allow(s->what->axioms, &s->x, &s->derived) && search_order_in_part(s);
}

/** Chooses a source for each of `reads`. */
static void choose_sources(search_t *s, set_t reads)
{
	execution_t *x = &s->x;

	if (search_is_over(s))
		return;
	if (s->checks || s->moving || !reads) {
		if (!compute_terms(s, reads != 0) || !ways_are_possible(s))
			return;
	}
	if (!reads) {
		search_orders(s);
		return;
	}
	if (!may_go_on(s))
		return;
	set_t sources = 0;
	const int read = next_read(s, reads, &sources);
	const bool takes = x->rmw.row[read] && !s->what->all;
	for (; sources && !s->stop; sources &= sources - 1) {
		const int write = set_first(sources);
		const set_t exclusive = s->exclusive;
		s->exclusive |= takes ? set_of(write) : 0;
		s->source[read] = write;
		relate(&x->rf, write, read);
		choose_sources(s, reads & ~set_of(read));
		x->rf.row[write] &= ~set_of(read);
		s->source[read] = NO_EVENT;
		s->exclusive = exclusive;
	}
}

/** What each read may read from, and which reads decide on a thread's way. */
static void look_at_reads(search_t *s)
{
	s->deciding = 0;
	for (int t = 0; t < s->x.test->threads; t++)
		for (int i = 0; i < s->path[t]->checks; i++)
			s->deciding |= s->path[t]->term[s->path[t]->check[i].term].reads
				       << s->base[t];
	for (set_t reads = s->x.reads; reads; reads &= reads - 1) {
		const int read = set_first(reads);
		s->sight[read] = 0;
		for (set_t writes = s->x.writes; writes; writes &= writes - 1)
			if (in_sight(s, read, set_first(writes)))
				s->sight[read] |= set_of(set_first(writes));
	}
}

void search_sources(search_t *s)
{
	look_at_reads(s);
	choose_sources(s, s->x.reads);
}

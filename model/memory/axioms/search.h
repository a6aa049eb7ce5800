/*
 * The search for executions, inside: candidates.c chooses ways and orders of
 * writes, sources.c who reads from whom.
 */
#ifndef MODEL_MEMORY_AXIOMS_SEARCH_H
#define MODEL_MEMORY_AXIOMS_SEARCH_H

#include "model/memory/axioms/candidates.h"

enum { NO_EVENT = -1, UNKNOWN = -1 };

typedef struct search {
	const candidates_t *what;
	paths_t paths[LITMUS_MAX_THREADS];
	const path_t *path[LITMUS_MAX_THREADS]; /* the way that each thread takes */
	int base[LITMUS_MAX_THREADS];           /* the number of its first event */
	int checks;                             /* of all ways together */
	bool moving;                            /* an address hangs on what is read */
	/* each access's location, UNKNOWN where its address hangs on what is read */
	int place[MAX_EVENTS];
	/* the writes that each read may read from, as far as program order tells */
	set_t sight[MAX_EVENTS];
	set_t deciding; /* reads on whose values a thread's way hangs */

	bool known[LITMUS_MAX_THREADS][MAX_PATH_TERMS];
	int64_t number[LITMUS_MAX_THREADS][MAX_PATH_TERMS];

	int source[MAX_EVENTS]; /* of each read: a write, or NO_EVENT where none is chosen yet */
	/* writes that a read-modify-write has taken as its source: no other may */
	set_t exclusive;
	/* of each write: those that must come earlier, later in its location's order */
	relation_t before, after;
	/* each location's order of writes, as far as it is built */
	int order[LITMUS_MAX_LOCATIONS][MAX_EVENTS];

	/* each location's last write, or NO_EVENT where any may be */
	int final[LITMUS_MAX_LOCATIONS];

	execution_t x;
	derived_t derived;
	bool stop;
} search_t;

/** Whether to leave off: the visitor has seen enough, or the time is up. */
static inline bool search_is_over(search_t *s)
{
	s->stop = s->stop || (s->what->budget && budget_spent(s->what->budget));
	return s->stop;
}

/**
 * Chooses a source for each read of the ways that are chosen, in every way that
 * may be allowed, and goes on to search_orders.
 */
void search_sources(search_t *s);

/** Who reads from whom is known: orders the writes of each location, and visits. */
void search_orders(search_t *s);

/**
 * What each location's order of writes must obey, given axioms_order of what is
 * read so far; false: no order does.
 */
bool search_order_in_part(search_t *s);

#endif

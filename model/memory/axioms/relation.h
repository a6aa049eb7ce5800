/*
 * Sets of events and relations between them, as bits: small enough to compute
 * with as a cat file writes them.
 */
#ifndef MODEL_MEMORY_AXIOMS_RELATION_H
#define MODEL_MEMORY_AXIOMS_RELATION_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_EVENTS = 64 };

typedef uint64_t set_t; /* bit i: event i */

/** row[a] holds b where a is related to b. Both are below n. */
typedef struct relation {
	int n;
	set_t row[MAX_EVENTS];
} relation_t;

static inline set_t set_of(int event)
{
	return UINT64_C(1) << event;
}

static inline bool set_has(set_t set, int event)
{
	return set >> event & 1;
}

/**
 * The lowest member of a set that is not empty. To visit all: for (set_t left =
 * set; left; left &= left - 1).
 */
static inline int set_first(set_t set)
{
	return __builtin_ctzll(set);
}

static inline bool related(const relation_t *r, int a, int b)
{
	return set_has(r->row[a], b);
}

static inline void relate(relation_t *r, int a, int b)
{
	r->row[a] |= set_of(b);
}

relation_t rel_none(int n);
relation_t rel_identity(int n, set_t set);                 /* [set] */
relation_t rel_product(int n, set_t from, set_t to);       /* from * to */
relation_t rel_union(relation_t a, relation_t b);          /* a | b */
relation_t rel_meet(relation_t a, relation_t b);           /* a & b */
relation_t rel_minus(relation_t a, relation_t b);          /* a \ b */
relation_t rel_then(relation_t a, relation_t b);           /* a ; b */
relation_t rel_inverse(relation_t a);                      /* a^-1 */
relation_t rel_maybe(relation_t a);                        /* a? */
relation_t rel_closure(relation_t a);                      /* a+ */
relation_t rel_within(set_t from, relation_t a, set_t to); /* [from] ; a ; [to] */

bool rel_is_empty(relation_t a);
bool rel_is_irreflexive(relation_t a);
bool rel_is_acyclic(relation_t a);

#endif

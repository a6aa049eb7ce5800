/*
 * What a thread may do: its instructions along one way through its branches, as
 * events whose values are not known yet.
 */
#ifndef MODEL_MEMORY_AXIOMS_UNFOLD_H
#define MODEL_MEMORY_AXIOMS_UNFOLD_H

#include "model/memory/axioms/relation.h"
#include "model/memory/language/litmus.h"

enum { MAX_PATH_EVENTS = 40, MAX_PATH_TERMS = 256, MAX_PATH_CHECKS = 40, MAX_PATHS = 512 };

/** A number that may hang on what the path's reads return. */
typedef struct term {
	enum { TERM_NUMBER, TERM_READ, TERM_APPLY } kind;
	litmus_function_t function;
	int a, b;       /* terms; of TERM_READ: a is the event */
	int64_t number; /* of TERM_NUMBER */
	set_t reads;    /* the path's events that the term is computed from */
} term_t;

typedef enum event_kind { EVENT_READ, EVENT_WRITE, EVENT_FENCE } event_kind_t;

typedef struct path_event {
	event_kind_t kind;
	litmus_order_t order;
	litmus_scope_t scope;
	int instruction;    /* of the thread */
	int address, value; /* terms */
	int pair;           /* the other half of a read-modify-write, or -1 */
	/* the reads that this event may not overtake by a dependency: address, data and control */
	set_t depends;
} path_event_t;

/**
 * One way through a thread. It is taken where each check's term is not zero
 * (wanted), or is zero (not wanted).
 */
typedef struct path {
	int events, terms, checks;
	path_event_t event[MAX_PATH_EVENTS];
	term_t term[MAX_PATH_TERMS];
	struct {
		int term;
		bool wanted;
	} check[MAX_PATH_CHECKS];
	int final[LITMUS_MAX_REGISTERS]; /* each register's last value, a term */
} path_t;

typedef struct paths {
	path_t *path;
	int count, room;
	bool cut; /* a way that went round a loop more than `unroll` times was left out */
} paths_t;

/**
 * All ways through a thread. TSR_ERR_UNSUPPORTED: too long, too many, or an
 * access to nothing; TSR_ERR_NO_MEMORY: the host has none. What the paths held
 * before is overwritten and their memory used again; unfold_free frees it.
 */
tsr_status_t unfold(const litmus_test_t *test, int thread, int unroll, paths_t *paths);
void unfold_free(paths_t *paths);

#endif

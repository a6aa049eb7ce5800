/*
 * A candidate execution: events of all threads, who reads from whom, and each
 * location's order of writes.
 */
#ifndef MODEL_MEMORY_AXIOMS_EXECUTION_H
#define MODEL_MEMORY_AXIOMS_EXECUTION_H

#include "model/memory/axioms/relation.h"
#include "model/memory/axioms/unfold.h"
#include "model/memory/language/litmus.h"

typedef struct event {
	event_kind_t kind;
	litmus_order_t order;
	litmus_scope_t scope;
	int thread;      /* -1: the initial value of a location */
	int instruction; /* of the thread */
	int location;    /* of a read or write */
	int64_t value;   /* that is read or written */
} event_t;

/**
 * Events are numbered: initial writes first (event l is location l's), then
 * thread by thread in program order.
 */
typedef struct execution {
	const litmus_test_t *test;
	int n;
	event_t event[MAX_EVENTS];
	set_t reads, writes, fences, initial;
	set_t at[LITMUS_MAX_LOCATIONS]; /* reads and writes of each location */
	/* po and co are transitive; dep: address, data, and control to writes */
	relation_t po, rmw, rf, co, dep;
	int64_t values[LITMUS_MAX_OBSERVED]; /* the final state */
} execution_t;

#endif

/* Enumerates the candidate executions of a test. */
#ifndef MODEL_MEMORY_CANDIDATES_H
#define MODEL_MEMORY_CANDIDATES_H

#include "model/memory/axioms.h"
#include "model/memory/execution.h"

/** What is called for each candidate, after axioms_order, with what that made of it. Returns false to end the enumeration. */
typedef bool (*candidate_fn)(const execution_t *x, derived_t *derived, void *context);

typedef struct candidates {
	const litmus_test_t *test;
	const axioms_t *axioms;
	int unroll;
	bool all; /* also those that the axioms forbid; else most of these are never built */
	candidate_fn visit;
	void *context;
} candidates_t;

/**
 * Visits candidates in an order that depends on nothing but the test. With `all` unset it visits at least one candidate for each
 * final state and race that the axioms allow, and may visit some that they forbid: whoever is visited asks axioms_judge.
 * *cut_out: whether a loop was left early. TSR_ERR_UNSUPPORTED: too large, and what is; TSR_ERR_NO_MEMORY.
 */
tsr_status_t candidates_visit(const candidates_t *what, bool *cut_out);

#endif

/* Enumerates the candidate executions of a test. */
#ifndef MODEL_MEMORY_AXIOMS_CANDIDATES_H
#define MODEL_MEMORY_AXIOMS_CANDIDATES_H

#include "model/memory/axioms/axioms.h"
#include "model/memory/axioms/execution.h"
#include "model/memory/budget.h"

/**
 * What is called for each candidate, with what axioms_order made of it. visit:
 * false ends the enumeration.
 */
typedef bool (*candidate_fn)(const execution_t *x, derived_t *derived, void *context);

typedef struct candidates {
	const litmus_test_t *test;
	const axioms_t *axioms;
	int unroll;
	bool all; /* also those that the axioms forbid */
	candidate_fn visit;
	candidate_fn
		/* may be null; asked before orders of writes are tried: whether this final state is
		 * still of interest */
		wants;
	void *context;
	budget_t *budget; /* may be null: no limit */
} candidates_t;

/**
 * Visits candidates in an order that depends on nothing but the test: with
 * `all` every one, unjudged; without, only such as the axioms allow, and of
 * those at least one for each final state and each race. *cut_out: whether a
 * loop was left early. TSR_ERR_TIMEOUT: the budget is spent;
 * TSR_ERR_UNSUPPORTED: too large, and what is; TSR_ERR_NO_MEMORY.
 */
tsr_status_t candidates_visit(const candidates_t *what, bool *cut_out);

#endif

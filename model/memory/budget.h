/* The time that a witness may take for one test, and word of a test that takes long. */
#ifndef MODEL_MEMORY_BUDGET_H
#define MODEL_MEMORY_BUDGET_H

#include "model/memory/witness.h"

typedef struct budget {
	const litmus_test_t *test;
	const litmus_options_t *options;
	uint64_t began_ns, told_ns;
	unsigned looks;
	bool spent;
} budget_t;

/** Starts the clock of a test. */
budget_t budget_begin(const litmus_test_t *test, const litmus_options_t *options);

/**
 * Whether the test's time is up; tells options->progress each second. Looks at
 * the clock: call it every millisecond or so.
 */
bool budget_look(budget_t *budget);

/** The same for loops of microseconds a round: looks at the clock every so many calls. */
static inline bool budget_spent(budget_t *budget)
{
	enum { EVERY = 64 };
	return ++budget->looks % EVERY == 0 ? budget_look(budget) : budget->spent;
}

/**
 * The status of a test whose time is up: TSR_ERR_TIMEOUT, "NAME: given up after
 * ... (limit ...; --limit raises it)".
 */
tsr_status_t budget_give_up(const budget_t *budget);

#endif

/*
 * What the runs of a search come to, so that two searches can be compared: each
 * trace and each end of a toy, once.
 */
#ifndef EXPLORE_OUTCOMES_H
#define EXPLORE_OUTCOMES_H

#include "explore_toy.h"

typedef struct outcome {
	uint64_t digest[2], state[2];
	uint64_t result; /* of the first task, for who wants to see it */
} outcome_t;

typedef struct outcomes {
	outcome_t *outcome; /* to be freed */
	int count, room, runs, pruned, stuck;
} outcomes_t;

/** Adds how a run of the toy ended, which is not ended yet by toy_end. */
static inline void outcomes_note(outcomes_t *all, const toy_t *toy)
{
	outcome_t outcome = {{0, 0}, {17, 17}, (uint64_t)toy->result[0]};
	tsr_explorer_digest(toy->explorer, outcome.digest);
	for (int cell = 0; cell < TOY_CELLS; cell++)
		outcome.state[0] = outcome.state[0] * 1000003 + toy_now(toy, cell);
	for (int self = 0; self < TOY_TASKS; self++)
		outcome.state[1] = outcome.state[1] * 1000003 + (uint64_t)toy->result[self];
	if (all->count == all->room) {
		all->room = all->room ? 2 * all->room : 64;
		all->outcome = realloc(all->outcome, (size_t)all->room * sizeof *all->outcome);
		cr_assert(all->outcome);
	}
	all->outcome[all->count++] = outcome;
}

static inline int outcomes_by_content(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(outcome_t));
}

/** Sorts them, and leaves each once. */
static inline void outcomes_sort(outcomes_t *all)
{
	int distinct = 0;
	qsort(all->outcome, (size_t)all->count, sizeof *all->outcome, outcomes_by_content);
	for (int i = 0; i < all->count; i++)
		if (i == 0 ||
		    outcomes_by_content(&all->outcome[i], &all->outcome[distinct - 1]) != 0)
			all->outcome[distinct++] = all->outcome[i];
	all->count = distinct;
}

#endif

/*
 * Values that came and went before who waits for them has looked: why nobody can
 * go on, where there is such a value.
 */
#ifndef TESSERA_EXPLORE_MISSED_H
#define TESSERA_EXPLORE_MISSED_H

#include "src/explore/exploration_state.h"

/** A value that a word had, and another one that came after it. */
typedef struct tsr_missed {
	tsr_finding_access_t gave, took; /* the writes */
	char missing[512], change[512];  /* what is to be said of it */
} tsr_missed_t;

/**
 * Whether the node waits for a value that its word had and has no more: its task
 * has not read it, though somebody has written it. Of a loop of the program's own
 * it is unknown what it waits for: any value that it has not read may be that.
 * @param spun  the access that such a loop goes round by; 0: it is no loop
 */
bool tsr_missed(tsr_exploration_t *x, const tsr_stuck_node_t *node, uint32_t spun,
		tsr_missed_t *missed_out);

/** The wait for a flag that a task is in, or null. */
const tsr_flag_watch_t *tsr_watch_of(const tsr_exploration_t *x, const tsr_stuck_node_t *node);

#endif

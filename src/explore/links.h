/*
 * Which signals and waits lie between two accesses: what a finding names as the
 * link of a race.
 */
#ifndef TESSERA_EXPLORE_LINKS_H
#define TESSERA_EXPLORE_LINKS_H

#include "src/explore/exploration_state.h"

/**
 * Note an ordered access (of its steps `from` and values are set; null: it has not read what an
 * operation wrote, or not written), what a wait was for, and a change of an edge, by a task or not.
 */
void tsr_links_access(tsr_exploration_t *x, uint32_t operation, const tsr_step_t *read,
		      const tsr_step_t *written);
void tsr_links_wanted(tsr_exploration_t *x, uint32_t operation, const tsr_flag_wait_t *wait);
void tsr_links_edge(tsr_exploration_t *x, tsr_step_kind_t kind, int task, const tsr_edge_t *edge,
		    const tsr_edge_t *other);

/**
 * Fills in the link of a race between `before` and the current access of its
 * second task, if there is one: accesses 2 and 3 of the finding. Returns the
 * signal that would do and that nobody has read; 0: there is none.
 */
uint32_t tsr_links_tell(tsr_exploration_t *x, uint32_t before, uint32_t now,
			tsr_finding_t *finding);

/** Whether another worker of the reader's block gave way to the write, before the read was over. */
bool tsr_links_spoken(tsr_exploration_t *x, uint32_t read, uint32_t write);
void tsr_links_settle(tsr_exploration_t *x);
void tsr_links_free(tsr_links_t *links);

#endif

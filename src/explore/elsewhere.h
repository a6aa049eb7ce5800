/* Ranks that wait for themselves and have signalled others alone: findings/raised.c. */
#ifndef TESSERA_EXPLORE_ELSEWHERE_H
#define TESSERA_EXPLORE_ELSEWHERE_H

#include "src/explore/exploration_state.h"

/**
 * A signal by which a rank, or a block of it, has raised the word at `offset` of
 * another rank, while nobody has raised its own, for which it waits; 0: none.
 */
uint32_t tsr_raised_elsewhere(const tsr_exploration_t *x, int rank, int area, size_t offset);

/** Says so of the wait that the finding tells of first, in its advice, in `text`. */
void tsr_raised_tell_elsewhere(tsr_exploration_t *x, const tsr_flag_watch_t *watch, uint32_t signal,
			       tsr_advice_text_t *text, tsr_finding_t *finding);

#endif

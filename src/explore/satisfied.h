/* Waits that were satisfied before what they are for: findings/satisfied.c. */
#ifndef TESSERA_EXPLORE_SATISFIED_H
#define TESSERA_EXPLORE_SATISFIED_H

#include "src/explore/exploration_state.h"

/**
 * Where a race has no link: whether the later access's thread did wait, and what
 * came was not what it waited for (`unread`: what would be; 0: unknown). Says
 * so: accesses 2 and 3 of the finding, and its advice in `text`.
 */
bool tsr_satisfied_tell(tsr_exploration_t *x, uint32_t before, uint32_t now, uint32_t unread,
			tsr_advice_text_t *text, tsr_finding_t *finding);

#endif

/* What races know of copies on streams, and of signals that overtake them. */
#ifndef TESSERA_EXPLORE_OVERTAKEN_H
#define TESSERA_EXPLORE_OVERTAKEN_H

#include "src/explore/exploration_state.h"

/** Whether the host has put it on a stream: it signals nothing by itself. */
bool tsr_operation_is_copy(const tsr_operation_t *operation);

/**
 * Whether the write is a copy on a stream that a signal has overtaken, which its
 * rank launched behind it, and the reader took for it. Says so: accesses 2 and 3
 * of the finding, and its advice in `text`.
 */
bool tsr_overtaken_tell(tsr_exploration_t *x, uint32_t write, uint32_t read,
			tsr_advice_text_t *text, tsr_finding_t *finding);

#endif

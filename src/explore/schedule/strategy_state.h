/* What all strategies have in common: known to strategy*.c and exhaustive.c only. */
#ifndef TESSERA_EXPLORE_SCHEDULE_STRATEGY_STATE_H
#define TESSERA_EXPLORE_SCHEDULE_STRATEGY_STATE_H

#include "src/explore/schedule/strategy.h"

struct tsr_strategy {
	/* As tsr_strategy_choose, whose count and log are kept for it; with n = 1 for
	 * TSR_CHOICE_TASK only where it `watches`. */
	int (*choose)(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
		      const tsr_runnable_t *runnable);
	void (*destroy)(tsr_strategy_t *strategy); /* what it owns beside itself */
	bool watches, exhausted;
	uint64_t choices;
	uint64_t
		/* of them of TSR_CHOICE_PIECE: they are drawn beside the others, which do not hang
		 * on how many there are */
		pieces;
	tsr_script_t script;
	size_t script_room;
};

/**
 * A strategy of `bytes`, of which the first member is a tsr_strategy_t, the
 * rest zero. Null, and said why, where there is no memory.
 */
void *tsr_strategy_allocate(size_t bytes);

/** A copy of a script that rises. Errors: TSR_ERR_ARGUMENT, TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_script_copy(const tsr_script_t *script, tsr_script_t *copy_out);

/**
 * What a script says to choice `index`, `at` being where it was before: indices
 * rise. 0: the default.
 */
static inline uint32_t tsr_script_at(const tsr_script_t *script, size_t *at, uint64_t index)
{
	while (*at < script->count && script->deviation[*at].index < index)
		++*at;
	return *at < script->count && script->deviation[*at].index == index
		       ? script->deviation[*at].alternative
		       : 0;
}

#endif

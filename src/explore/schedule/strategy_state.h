/*
 * The common part of all strategies. Only strategy*.c and exhaustive.c use it.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_STRATEGY_STATE_H
#define TESSERA_EXPLORE_SCHEDULE_STRATEGY_STATE_H

#include "src/explore/schedule/strategy.h"

struct tsr_strategy {
	/* As tsr_strategy_choose, which counts and logs for it. Called with n = 1 for
	 * TSR_CHOICE_TASK only if it `watches`. */
	int (*choose)(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
		      const tsr_runnable_t *runnable);
	void (*destroy)(tsr_strategy_t *strategy); /* frees what the strategy owns besides itself */
	bool watches, exhausted;
	uint64_t choices;
	uint64_t aside; /* number of those that are tsr_choice_is_aside */
	tsr_script_t script;
	size_t script_room;
};

/**
 * Whether a choice is drawn separately, so that the other choices do not depend
 * on the number of such.
 */
static inline bool tsr_choice_is_aside(tsr_choice_t kind)
{
	return kind == TSR_CHOICE_PIECE || kind == TSR_CHOICE_INSIST || kind == TSR_CHOICE_SPLIT;
}

/**
 * Allocates a strategy of `bytes` whose first member is a tsr_strategy_t; the
 * rest is zero. Null, with a sentence, if there is no memory.
 */
void *tsr_strategy_allocate(size_t bytes);

/**
 * Copies a script. Errors: TSR_ERR_ARGUMENT (it is not sorted),
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_script_copy(const tsr_script_t *script, tsr_script_t *copy_out);

/**
 * The script's answer to choice `index`; 0: the default. `at` is the position
 * in the script; indices must ascend from call to call.
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

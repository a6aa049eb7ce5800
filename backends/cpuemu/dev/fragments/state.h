/* States of attention, row by row: what the main loop and the calls on states share. */
#ifndef TESSERA_CPUEMU_STATE_H
#define TESSERA_CPUEMU_STATE_H

#include "cpuemu/dev/fragments/value.h"

/** Whether the state has values. False: the misuse is noted, or a lack of memory has been. */
bool tsr_state_has_values(tsr_coop_t *coop, const char *call, const tsr_state_t *state);

static inline float *tsr_row_top(const tsr_state_t *state, int64_t row)
{
	return (float *)(void *)tsr_frag_at(state->top, row, 0);
}

static inline float *tsr_row_sum(const tsr_state_t *state, int64_t row)
{
	return (float *)(void *)tsr_frag_at(state->sum, row, 0);
}

static inline float *tsr_row_o(const tsr_state_t *state, int64_t row)
{
	return (float *)(void *)tsr_frag_at(state->o, row, 0);
}

/** Merges (top, sum, o) into a row of a state. */
void tsr_row_merge(tsr_state_t *state, int64_t row, float top, float sum, const float *o);

#endif

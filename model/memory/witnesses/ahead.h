/*
 * What the threads of a test may still do from each of their instructions on:
 * found once, from the code alone.
 */
#ifndef MODEL_MEMORY_WITNESSES_AHEAD_H
#define MODEL_MEMORY_WITNESSES_AHEAD_H

#include "model/memory/language/litmus.h"

/** Bit i: register i, location i, instruction i. */
typedef struct ahead_point {
	/* that are read before they are written, or shown at the end: the others no longer
	 * matter */
	uint32_t registers;
	uint32_t reads, writes;       /* of locations: updates are both */
	uint32_t sc_reads, sc_writes; /* the same by seq_cst accesses */
	/* the latter by an access or a fence; what is seq_cst is both */
	bool sc_fences, acquire_fences, releases;
	uint32_t atomic_writes;
	uint64_t jumps; /* backward jumps */
} ahead_point_t;

/** One point for each instruction, and one for the thread's end. */
typedef struct ahead {
	ahead_point_t at[LITMUS_MAX_THREADS][LITMUS_MAX_INSTRUCTIONS + 1];
} ahead_t;

void ahead_find(const litmus_test_t *test, ahead_t *ahead_out);

#endif

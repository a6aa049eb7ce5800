/*
 * What the threads of a test do by themselves, and what they ask of memory: for
 * witnesses that run it on a machine, step by step.
 */
#ifndef MODEL_MEMORY_WITNESSES_STEPS_H
#define MODEL_MEMORY_WITNESSES_STEPS_H

#include "model/memory/witness.h"
#include "model/memory/witnesses/ahead.h"
#include "src/views/views.h"

/** Where each thread is. */
typedef struct steps {
	int pc[LITMUS_MAX_THREADS];
	int64_t reg[LITMUS_MAX_THREADS][LITMUS_MAX_REGISTERS];
	/* how often each backward jump was taken */
	int rounds[LITMUS_MAX_THREADS][LITMUS_MAX_INSTRUCTIONS];
} steps_t;

/** The next access or fence of a thread. It looks at the steps, which must outlive it. */
typedef struct steps_access {
	const steps_t *steps;
	const litmus_instruction_t *instruction;
	int thread;
	tsr_views_access_t access; /* its context is this */
} steps_access_t;

/** The machines' name of a scope. */
tsr_views_scope_t steps_scope(litmus_scope_t scope);

void steps_begin(const litmus_test_t *test, steps_t *steps_out);

/**
 * Runs a thread up to its next access, fence or end: moves and branches concern
 * nobody else. Backward jumps are taken `unroll` times; false: there was
 * another, so the run is given up and the result says that it was cut.
 */
bool steps_settle(const litmus_test_t *test, const litmus_options_t *options, steps_t *steps,
		  int thread, litmus_result_t *result);

static inline bool steps_ended(const litmus_test_t *test, const steps_t *steps, int thread)
{
	return steps->pc[thread] >= test->thread[thread].count;
}

/**
 * What a thread that was settled and has not ended does next. TSR_ERR_ARGUMENT:
 * it reads or writes no location.
 */
tsr_status_t steps_decode(const litmus_test_t *test, const steps_t *steps, int thread,
			  steps_access_t *access_out);

/**
 * Marks an addition whose register nobody reads any more: an access of which
 * nobody asks what it read.
 */
void steps_mark_unread(const ahead_t *ahead, steps_access_t *access);

/** It did, and a load or update read this value. */
void steps_take(const steps_access_t *access, steps_t *steps, uint64_t value);

/**
 * Takes in where each thread is, and of its registers and rounds those that
 * still matter (ahead).
 */
void steps_digest(const litmus_test_t *test, const ahead_t *ahead, const steps_t *steps,
		  uint64_t digest[2]);

#endif

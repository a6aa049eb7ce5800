/*
 * Who plays a litmus test on a backend, and in which steps: what the witnesses
 * that run a test begin with.
 */
#ifndef TESSERA_TOOLS_LITMUS_PLAN_H
#define TESSERA_TOOLS_LITMUS_PLAN_H

#include "model/memory/witness.h"
#include "tools/litmus/kernel.h"

/** Hands an error on. */
#define LITMUS_TRY(call_)                           \
	do {                                        \
		tsr_status_t try_status_ = (call_); \
		if (try_status_ != TSR_OK)          \
			return try_status_;         \
	} while (0)

/** What a test looks like to the kernel, before memory and ranks are known. */
typedef struct litmus_plan {
	const litmus_test_t *test;
	int devices; /* that the test's threads are on */
	/* threads share a block: litmus_run_workers, else litmus_run_blocks */
	bool split;
	/* of each device: blocks with threads of the test */
	int classes[LITMUS_RUN_THREADS];
	int device[LITMUS_RUN_THREADS];             /* of each thread */
	litmus_run_args_t args[LITMUS_RUN_THREADS]; /* of each device, with steps and players */
} litmus_plan_t;

/**
 * TSR_ERR_UNSUPPORTED: what the device API has not (wave scope, loops, computed
 * addresses), or more of something than fits.
 */
tsr_status_t litmus_plan(const litmus_test_t *test, litmus_plan_t *plan_out);

#endif

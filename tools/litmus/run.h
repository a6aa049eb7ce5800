/* Litmus tests on a backend: the witnesses that run, where the others reason. */
#ifndef TESSERA_TOOLS_LITMUS_RUN_H
#define TESSERA_TOOLS_LITMUS_RUN_H

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

/**
 * Runs tests one after another in worlds of `backend`, one for all that need as
 * many devices. results[i] is added to; statuses[i] says whether test i could
 * be run. Errors: TSR_ERR_NO_DEVICE, TSR_ERR_NOT_FOUND, TSR_ERR_NO_MEMORY,
 * TSR_ERR_KERNEL (the world failed, and has said why).
 */
tsr_status_t litmus_run_on(const char *backend, const litmus_test_t *const *tests, int count,
			   const litmus_options_t *options, litmus_result_t *results,
			   tsr_status_t *statuses);

extern const litmus_witness_t litmus_cpuemu, litmus_cuda, litmus_hip;

#endif

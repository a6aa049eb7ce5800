/* Verification of a plan's C, for programs that make plans themselves. */
#ifndef GEMM_ALL_SCATTER_VERIFY_H
#define GEMM_ALL_SCATTER_VERIFY_H

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"
#include "kernels/host/judge.h"

/**
 * Writes this rank's A and B of the plan. One thread a rank; no run may be in
 * flight on it. Errors: TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t gas_plan_fill(gas_plan_t *plan, tsr_world_t *world, const workload_inputs_t *inputs);

/**
 * Sets every element of this rank's C to NaN, which no product of the inputs
 * can be. In all else like gas_plan_fill.
 */
tsr_status_t gas_plan_poison(gas_plan_t *plan, tsr_world_t *world);

/** The expected C: see product_expect. */
typedef struct gas_reference gas_reference_t;

/**
 * Computes the expected C.
 *
 * Called by:  every rank, one thread a rank (collective), with the same
 *             arguments.
 * Errors:     those of product_expect.
 */
tsr_status_t gas_reference_create(tsr_world_t *world, const gas_config_t *config,
				  const workload_inputs_t *inputs, gas_reference_t **reference_out);
void gas_reference_destroy(gas_reference_t *reference);

/**
 * Compares every element of this rank's C with the reference. One thread a
 * rank; no run may be in flight on it. Not collective.
 */
tsr_status_t gas_reference_check(const gas_reference_t *reference, tsr_world_t *world,
				 const gas_plan_t *plan, verdict_t *verdict_out);

/** The same for an M x N array in host memory. */
void gas_reference_judge(const gas_reference_t *reference, const void *c, verdict_t *verdict_out);

#endif

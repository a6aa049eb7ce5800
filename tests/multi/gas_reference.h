/* Inputs of plans of GEMM + all-scatter that tests make themselves, and what C must be. */
#ifndef TESSERA_TESTS_GAS_REFERENCE_H
#define TESSERA_TESTS_GAS_REFERENCE_H

#include <stdlib.h>

#include "kernels/gemm_all_scatter/config.h"
#include "kernels/gemm_all_scatter/gemm_all_scatter.h"
#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"
#include "kernels/host/matrices.h"

typedef struct gas_reference {
	workload_expected_t *expected;
	judge_t *judge;
} gas_reference_t;

/**
 * Writes this rank's A and B of the plan. One thread a rank; no run may be in
 * flight on it. Errors: TSR_ERR_NO_MEMORY (host).
 */
static inline tsr_status_t gas_plan_fill(gas_plan_t *plan, tsr_world_t *world,
					 const workload_inputs_t *inputs)
{
	const gas_config_t *config = gas_plan_config(plan);
	const workload_matrix_t a =
		gas_matrix(config, GAS_A, tsr_world_rank(world), tsr_world_size(world));
	const workload_matrix_t b =
		gas_matrix(config, GAS_B, tsr_world_rank(world), tsr_world_size(world));
	tsr_status_t status = inputs_fill(world, inputs, &a, gas_plan_a(plan));
	return status == TSR_OK ? inputs_fill(world, inputs, &b, gas_plan_b(plan)) : status;
}

/**
 * Sets every element of this rank's C to NaN, which no product of the inputs
 * can be. In all else like gas_plan_fill.
 */
static inline tsr_status_t gas_plan_poison(gas_plan_t *plan, tsr_world_t *world)
{
	return matrix_poison(world, gas_plan_c(plan));
}

static inline void gas_reference_destroy(gas_reference_t *reference)
{
	if (!reference)
		return;
	judge_destroy(reference->judge);
	if (reference->expected)
		reference->expected->close(reference->expected);
	free(reference);
}

/** Computes the expected C. Collective, with the same arguments. Errors: product_expect's. */
static inline tsr_status_t gas_reference_create(tsr_world_t *world, const gas_config_t *config,
						const workload_inputs_t *inputs,
						gas_reference_t **reference_out)
{
	const product_t product = gas_product(config);
	const workload_matrix_t c =
		gas_matrix(config, GAS_C, tsr_world_rank(world), tsr_world_size(world));
	gas_reference_t *reference = calloc(1, sizeof *reference);
	if (!reference)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to verify with; free some");
	tsr_status_t status = product_expect(world, &product, inputs, &reference->expected);
	if (status == TSR_OK)
		status = judge_create(reference->expected, GAS_C, &c, inputs->integers,
				      &reference->judge);
	if (status == TSR_OK)
		*reference_out = reference;
	else
		gas_reference_destroy(reference);
	return status;
}

/**
 * Compares every element of this rank's C with the reference. One thread a
 * rank; no run may be in flight on it. Not collective.
 */
static inline tsr_status_t gas_reference_check(const gas_reference_t *reference, tsr_world_t *world,
					       const gas_plan_t *plan, verdict_t *verdict_out)
{
	return judge_view(reference->judge, world, gas_plan_c(plan), verdict_out);
}

/** The same for an M x N array in host memory. */
static inline void gas_reference_judge(const gas_reference_t *reference, const void *c,
				       verdict_t *verdict_out)
{
	judge_array(reference->judge, c, verdict_out);
}

#endif

/* Inputs that every rank can make for itself, and the verdict on C. */
#ifndef GEMM_ALL_SCATTER_VERIFY_H
#define GEMM_ALL_SCATTER_VERIFY_H

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"

/** Which numbers A and B hold. An element depends on its place in the whole matrix alone, not on the world. */
typedef struct gas_inputs {
	uint64_t seed;
	bool integers; /* -4 .. 4, so that sums are exact; else uniform in [-1, 1), rounded to the dtype */
} gas_inputs_t;

/** Errors: TSR_ERR_ARGUMENT where K is so large that integers' sums would not be exact in f32, or that no bound holds. */
tsr_status_t gas_inputs_check(const gas_config_t *config, const gas_inputs_t *inputs);

/** Write A (M x K), or the share's columns of B (K x share.cols), row-major and dense. Any thread. */
void gas_inputs_a(const gas_config_t *config, const gas_inputs_t *inputs, void *a_out);
void gas_inputs_b(const gas_config_t *config, const gas_inputs_t *inputs, gas_share_t share, void *b_out);

/** Writes the plan's A and B on this rank. One thread a rank, no run in flight on it. Errors: TSR_ERR_NO_MEMORY (host). */
tsr_status_t gas_plan_fill(gas_plan_t *plan, tsr_world_t *world, const gas_inputs_t *inputs);

/** Makes every element of this rank's C a NaN, which no product of the inputs is. As gas_plan_fill. */
tsr_status_t gas_plan_poison(gas_plan_t *plan, tsr_world_t *world);

/**
 * The product in double precision, with what is needed to bound a kernel's error. A computed c(i,j) passes where
 *     |c(i,j) - sum a b| <= gamma_K * |a(i,:)| |b(:,j)| + half an ulp of C's dtype,    gamma_K = K u / (1 - K u), u = 2^-23.
 * The first term bounds a sum of K products in f32 in any order (Higham, Accuracy and Stability, section 3.1: gamma_K * sum |a||b|,
 * and sum |a||b| is at most the product of the norms); u is twice f32's, for hardware that truncates. The second is the one
 * rounding to the dtype. Integers must be right bit for bit.
 */
typedef struct gas_reference gas_reference_t;

/**
 * Each rank computes its own columns, and gets the others'. Takes 8 bytes of host memory an element of C, and those of the element.
 * Called by: collective, one thread a rank, every rank with the same arguments.
 * Errors:    those of gas_inputs_check and tsr_team_gather_all; TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t gas_reference_create(tsr_world_t *world, const gas_config_t *config, const gas_inputs_t *inputs,
				  gas_reference_t **reference_out);
void gas_reference_destroy(gas_reference_t *reference);

/** What is wrong with one rank's C: the first wrong element in row-major order, and how many there are. */
typedef struct gas_verdict {
	int64_t wrong; /* 0: all right */
	int64_t row, col;
	double got, expected, bound;
} gas_verdict_t;

/** Compares this rank's C with the reference, every element. One thread a rank, no run in flight on it. Not collective. */
tsr_status_t gas_reference_check(const gas_reference_t *reference, tsr_world_t *world, const gas_plan_t *plan,
				 gas_verdict_t *verdict_out);

/** The same for an M x N array of the host. */
void gas_reference_judge(const gas_reference_t *reference, const void *c, gas_verdict_t *verdict_out);

#endif

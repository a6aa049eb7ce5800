/* What a product must be: in double precision, with a bound of what a kernel may be off by. */
#ifndef KERNELS_HOST_PRODUCT_H
#define KERNELS_HOST_PRODUCT_H

#include "kernels/workload.h"

/** C = A * B, all of it, wherever the ranks have the parts. */
typedef struct product {
	int64_t m, n, k;
	tsr_dtype_t dtype; /* of A, B and C; sums are f32 */
	/* How often a sum on the way to an element is rounded to the dtype: 0 where sums are f32
	 * until the end. */
	int roundings;
} product_t;

/**
 * Whether it is one, and its matrices fit the address space. Errors:
 * TSR_ERR_ARGUMENT. Any thread.
 */
tsr_status_t product_check(const product_t *product);

/**
 * Errors: TSR_ERR_ARGUMENT where K is so large that integers' sums would not be
 * exact in f32, or that no bound holds.
 */
tsr_status_t product_check_inputs(const product_t *product, const workload_inputs_t *inputs);

/**
 * The product of the inputs' streams 0 (A) and 1 (B). A computed c(i,j) passes
 * where
 *     |c(i,j) - sum a b| <= (gamma_K + r v) * |a(i,:)| |b(:,j)| + half an ulp
 *     of C's dtype,   gamma_K = K u / (1 - K u), u = 2^-23.
 * The first term bounds a sum of K products in f32 in any order (Higham,
 * Accuracy and Stability, section 3.1: gamma_K * sum |a||b|, and sum |a||b| is
 * at most the product of the norms); u is twice f32's, for hardware that
 * truncates. The second is that of `r` roundings of sums to the dtype, whose
 * unit is v. The last is the rounding of the result.
 *
 * Each rank computes its share of the columns, and gets the others'. Takes 8
 * bytes of host memory an element of C.
 * Called by: collective, one thread a rank, every rank with the same arguments.
 * Errors:    those of product_check_inputs and tsr_team_gather_all;
 *            TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t product_expect(tsr_world_t *world, const product_t *product,
			    const workload_inputs_t *inputs, workload_expected_t **expected_out);

#endif

/*
 * Expected values of a matrix product: in double precision, with a bound on a
 * kernel's error.
 */
#ifndef KERNELS_HOST_PRODUCT_H
#define KERNELS_HOST_PRODUCT_H

#include "kernels/workload.h"

/** C = A * B, the whole product, however its parts are distributed. */
typedef struct product {
	int64_t m, n, k;
	tsr_dtype_t dtype; /* of A, B and C; sums are f32 */
	/* How often a partial sum of an element is rounded to the dtype; 0 if sums stay f32 until
	 * the end. */
	int roundings;
} product_t;

/**
 * Checks that the extents make a product, and that its matrices fit into the
 * address space. Any thread. Errors: TSR_ERR_ARGUMENT.
 */
tsr_status_t product_check(const product_t *product);

enum { PRODUCT_WORDS = 96 };

/** Writes what it is for sentences: "shape 64x64x64 in bf16". Any thread. */
void product_words(const product_t *product, char words_out[PRODUCT_WORDS]);

/**
 * Checks that results for these inputs can be verified. Any thread. Errors:
 * TSR_ERR_ARGUMENT (K is so large that sums of integers are not exact in f32,
 * or that no error bound holds).
 */
tsr_status_t product_check_inputs(const product_t *product, const workload_inputs_t *inputs);

/**
 * The product of the inputs' streams 0 (A) and 1 (B). A computed c(i,j) is
 * accepted if
 *     |c(i,j) - sum a b| <= (gamma_K + r v) * |a(i,:)| |b(:,j)| + half an ulp
 *     of C's dtype,   gamma_K = K u / (1 - K u), u = 2^-23.
 * The first term bounds the error of a sum of K products in f32 in any order
 * (Higham, Accuracy and Stability, section 3.1: gamma_K * sum |a||b|, and sum
 * |a||b| is at most the product of the norms). u is twice that of f32, for
 * hardware that truncates. The second term bounds `r` roundings of partial sums
 * to the dtype, whose unit roundoff is v. The last term is the rounding of the
 * result.
 *
 * Each rank computes its share of the columns and gathers the others. Needs 8
 * bytes of host memory for each element of C.
 *
 * Called by:  every rank, one thread a rank (collective), with the same
 *             arguments.
 * Errors:     those of product_check_inputs and tsr_team_gather_all;
 *             TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t product_expect(tsr_world_t *world, const product_t *product,
			    const workload_inputs_t *inputs, workload_expected_t **expected_out);

#endif

/* Inputs by position: any rank can make any part of A and B. */
#include <inttypes.h>
#include <stdlib.h>

#include "kernels/gemm_all_scatter/verify.h"

enum { LARGEST_INTEGER = 4 };

tsr_status_t gas_inputs_check(const gas_config_t *config, const gas_inputs_t *inputs)
{
	/* Sums stay below 2^24, where f32 holds every integer; and K u stays below 1, see gas_reference_t. */
	int64_t largest = inputs->integers ? (1 << 24) / (LARGEST_INTEGER * LARGEST_INTEGER) - 1 : (1 << 22);
	if (config->k <= largest)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "a product of depth K = %" PRId64 " cannot be judged with %s inputs; K may be at most %" PRId64, config->k,
			 inputs->integers ? "integer" : "random", largest);
}

/** B's numbers come from another stream than A's. */
static double element(const gas_inputs_t *inputs, uint64_t matrix, int64_t index)
{
	uint64_t seed = 2 * inputs->seed + matrix;
	if (inputs->integers)
		return (double)tsr_random_int(seed, (uint64_t)index, -LARGEST_INTEGER, LARGEST_INTEGER + 1);
	return 2.0 * (double)tsr_random_f32(seed, (uint64_t)index) - 1.0;
}

void gas_inputs_a(const gas_config_t *config, const gas_inputs_t *inputs, void *a_out)
{
	for (int64_t i = 0; i < config->m * config->k; i++)
		tsr_dtype_set(config->dtype, a_out, (size_t)i, element(inputs, 0, i));
}

void gas_inputs_b(const gas_config_t *config, const gas_inputs_t *inputs, gas_share_t share, void *b_out)
{
	for (int64_t row = 0; row < config->k; row++)
		for (int64_t col = 0; col < share.cols; col++)
			tsr_dtype_set(config->dtype, b_out, (size_t)(row * share.cols + col),
				      element(inputs, 1, row * config->n + share.first_col + col));
}

tsr_status_t gas_plan_fill(gas_plan_t *plan, tsr_world_t *world, const gas_inputs_t *inputs)
{
	const gas_config_t *config = gas_plan_config(plan);
	tsr_view_t a = gas_plan_a(plan), b = gas_plan_b(plan);
	gas_share_t share = gas_share(config->n, tsr_world_rank(world), tsr_world_size(world));
	size_t element_bytes = tsr_dtype_bytes(config->dtype);
	size_t a_bytes = (size_t)(a.rows * a.cols) * element_bytes, b_bytes = (size_t)(b.rows * b.cols) * element_bytes;
	void *host = malloc(a_bytes > b_bytes ? a_bytes : b_bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for inputs of %s; use a smaller shape",
				 TSR_SIZE(a_bytes > b_bytes ? a_bytes : b_bytes));
	gas_inputs_a(config, inputs, host);
	tsr_status_t status = gas_matrix_write(world, a, host);
	if (status == TSR_OK && b_bytes > 0) {
		gas_inputs_b(config, inputs, share, host);
		status = gas_matrix_write(world, b, host);
	}
	free(host);
	return status;
}

tsr_status_t gas_plan_poison(gas_plan_t *plan, tsr_world_t *world)
{
	return gas_matrix_poison(world, gas_plan_c(plan));
}

/* Where attention has its queries and keys, for the expected outputs. */
#include "kernels/attend/reference.h"
#include "kernels/attention/attention.h"

static attend_query_t query_of(const workload_config_t *config, int ranks, int64_t row,
			       int64_t head)
{
	const att_config_t c = att_config_of(config);
	const int64_t own = row % c.queries + att_diagonal(&c) + 1;
	(void)ranks, (void)head;
	return (attend_query_t){.at = {row, 0},
				.key_head = row / c.queries / att_group(&c),
				.seen = !c.causal || own > c.keys ? c.keys
					: own > 0                 ? own
								  : 0};
}

static tsr_pos_t key_of(const workload_config_t *config, int ranks, int64_t key_head, int64_t key)
{
	const att_config_t c = att_config_of(config);
	(void)ranks;
	return (tsr_pos_t){key_head * c.keys + key, 0};
}

tsr_status_t att_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const att_config_t c = att_config_of(config);
	const attend_problem_t problem = {.dtype = c.dtype,
					  .dim = c.dim,
					  .keys = c.keys,
					  .kept = 1,
					  .scale = att_scale(&c),
					  .q = ATT_Q,
					  .k = ATT_K,
					  .v = ATT_V,
					  .lse = ATT_LSE,
					  .matrix = att_matrix,
					  .query = query_of,
					  .key = key_of};
	return attend_expect(world, config, inputs, &problem, expected_out);
}

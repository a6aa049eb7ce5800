/* Where queries and keys are, for the expected outputs. */
#include "kernels/attend/reference.h"
#include "kernels/ulysses/ulysses.h"

static attend_query_t query_of(const workload_config_t *config, int ranks, int64_t row,
			       int64_t head)
{
	const uly_config_t c = uly_config_of(config);
	int rank = 0;
	share_t share = uly_positions_of(&c, rank, ranks);
	while (row >= c.batch * (share.first + share.count))
		share = uly_positions_of(&c, ++rank, ranks);
	const int64_t within = row - c.batch * share.first, sequence = within / share.count,
		      position = share.first + within % share.count;
	return (attend_query_t){.at = {row, head * c.dim},
				.key_head = sequence * c.key_heads + head / uly_share(&c),
				.seen = c.causal ? position + 1 : c.sequence};
}

static tsr_pos_t key_of(const workload_config_t *config, int ranks, int64_t key_head, int64_t key)
{
	const uly_config_t c = uly_config_of(config);
	int rank = 0;
	share_t share = uly_positions_of(&c, rank, ranks);
	while (key >= share.first + share.count)
		share = uly_positions_of(&c, ++rank, ranks);
	return (tsr_pos_t){c.batch * share.first + key_head / c.key_heads * share.count + key -
				   share.first,
			   key_head % c.key_heads * c.dim};
}

tsr_status_t uly_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const uly_config_t c = uly_config_of(config);
	const attend_problem_t problem = {.dtype = c.dtype,
					  .dim = c.dim,
					  .keys = c.sequence,
					  .kept = c.key_heads,
					  .scale = uly_scale(&c),
					  .q = ULY_Q,
					  .k = ULY_K,
					  .v = ULY_V,
					  .lse = -1,
					  .matrix = uly_matrix,
					  .query = query_of,
					  .key = key_of};
	return attend_expect(world, config, inputs, &problem, expected_out);
}

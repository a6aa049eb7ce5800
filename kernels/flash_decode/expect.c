/* Where flash decode has its queries and keys, for the expected outputs. */
#include "kernels/attend/reference.h"
#include "kernels/flash_decode/flash_decode.h"

static attend_query_t query_of(const workload_config_t *config, int ranks, int64_t row,
			       int64_t head)
{
	const fd_config_t c = fd_config_of(config);
	(void)head;
	return (attend_query_t){
		.at = {row, 0}, .key_head = row / fd_share(&c), .seen = fd_all_keys(&c, ranks)};
}

/** Keys of rank 0 come first, then those of rank 1; and so do the rows of K and V. */
static tsr_pos_t key_of(const workload_config_t *config, int ranks, int64_t key_head, int64_t key)
{
	const fd_config_t c = fd_config_of(config);
	int rank = 0;
	while (key >= fd_keys(&c, rank, ranks).first + fd_keys(&c, rank, ranks).count)
		rank++;
	const share_t keys = fd_keys(&c, rank, ranks);
	return (tsr_pos_t){
		c.batch * c.key_heads * keys.first + key_head * keys.count + key - keys.first, 0};
}

tsr_status_t fd_expect(tsr_world_t *world, const workload_config_t *config,
		       const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const fd_config_t c = fd_config_of(config);
	const attend_problem_t problem = {.dtype = c.dtype,
					  .dim = c.dim,
					  .keys = fd_all_keys(&c, tsr_world_size(world)),
					  .kept = 1,
					  .scale = fd_scale(&c),
					  .q = FD_Q,
					  .k = FD_K,
					  .v = FD_V,
					  .lse = FD_LSE,
					  .matrix = fd_matrix,
					  .query = query_of,
					  .key = key_of};
	return attend_expect(world, config, inputs, &problem, expected_out);
}

/* Where ring attention has its queries and keys, for the expected outputs. */
#include "kernels/attend/reference.h"
#include "kernels/ring_attention/ring.h"

/** The rank that has position `position` of the sequence, and which of its own it is. */
static int64_t own_number(const ring_config_t *c, int ranks, int64_t position, int *rank_out)
{
	for (int rank = 0; rank < ranks; rank++) {
		const ring_share_t share = ring_share(c, rank, ranks);
		*rank_out = rank;
		if (position >= share.at && position < share.at + share.early)
			return position - share.at;
		if (position >= share.late_at &&
		    position < share.late_at + share.count - share.early)
			return position - share.late_at + share.early;
	}
	return -1; /* never: the ranks have all positions */
}

static attend_query_t query_of(const workload_config_t *config, int ranks, int64_t row,
			       int64_t head)
{
	const ring_config_t c = ring_config_of(config);
	int rank = 0;
	(void)head;
	while (row >= ring_all_heads(&c) * (ring_share(&c, rank, ranks).first +
					    ring_share(&c, rank, ranks).count))
		rank++;
	const ring_share_t share = ring_share(&c, rank, ranks);
	const int64_t within = row - ring_all_heads(&c) * share.first, own = within % share.count,
		      position = own < share.early ? share.at + own
						   : share.late_at + own - share.early;
	return (attend_query_t){.at = {row, 0},
				.key_head = within / share.count / (c.heads / c.key_heads),
				.seen = c.causal ? position + 1 : c.sequence};
}

static tsr_pos_t key_of(const workload_config_t *config, int ranks, int64_t key_head, int64_t key)
{
	const ring_config_t c = ring_config_of(config);
	int rank = 0;
	const int64_t own = own_number(&c, ranks, key, &rank);
	const ring_share_t share = ring_share(&c, rank, ranks);
	return (tsr_pos_t){key_head, (share.first + own) * c.dim};
}

tsr_status_t ring_expect(tsr_world_t *world, const workload_config_t *config,
			 const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const ring_config_t c = ring_config_of(config);
	const attend_problem_t problem = {.dtype = c.dtype,
					  .dim = c.dim,
					  .keys = c.sequence,
					  .kept = 1,
					  .scale = ring_scale(&c),
					  .q = RING_Q,
					  .k = RING_K,
					  .v = RING_V,
					  .lse = RING_LSE,
					  .matrix = ring_matrix,
					  .query = query_of,
					  .key = key_of};
	return attend_expect(world, config, inputs, &problem, expected_out);
}

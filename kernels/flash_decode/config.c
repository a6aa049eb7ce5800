/* What can be said of a configuration without a device. */
#include <math.h>

#include "kernels/flash_decode/flash_decode.h"

const fd_pattern_kernels_t fd_patterns[FD_PATTERNS] = {
	[FD_BULK_SYNCHRONOUS] = {"bulk-synchronous",
				 {"fd_attend", "fd_merge_own", "fd_merge_gathered"}},
	[FD_OWN_ALL_GATHER] = {"own-all-gather",
			       {"fd_attend", "fd_merge_own", "fd_all_gather", "fd_merge_gathered"}},
	[FD_FINE_WAITS] = {"fine-waits",
			   {"fd_attend", "fd_merge_own", "fd_push", "fd_merge_coming"}},
	[FD_FUSED] = {"fused", {"fd_attend", "fd_merge_and_push", "fd_merge_coming"}},
	[FD_ONE_LAUNCH] = {"one-launch", {"fd_one_launch_marked"}},
};

fd_config_t fd_config_of(const workload_config_t *config)
{
	const workload_value_t *value = config->value;
	const int64_t *tile = value[FD_TILE].x, *lengths = value[FD_LENGTHS].x;
	return (fd_config_t){.pattern = (fd_pattern_t)config->pattern,
			     .batch = value[FD_BATCH].x[0],
			     .heads = value[FD_HEADS].x[0],
			     .key_heads = value[FD_KEY_HEADS].x[0] > 0 ? value[FD_KEY_HEADS].x[0]
								       : value[FD_HEADS].x[0],
			     .keys = value[FD_KEYS].x[0],
			     .dim = value[FD_DIM].x[0],
			     .lengths = {lengths[0], lengths[1], lengths[2]},
			     .dtype = (tsr_dtype_t)value[FD_DTYPE].x[0],
			     .tile = {(int)tile[0], (int)tile[1], (int)tile[2]},
			     .blocks = (int)value[FD_BLOCKS].x[0]};
}

/* ------------------------------------------------------------ keys */

static bool are_shared(const fd_config_t *c)
{
	return c->lengths[0] == 0 && c->lengths[1] == 0 && c->lengths[2] == 0;
}

share_t fd_keys(const fd_config_t *c, int rank, int ranks)
{
	share_t share = {0, 0};
	if (are_shared(c))
		return share_of(c->keys, rank, ranks);
	for (int r = 0; r < rank; r++)
		share.first += c->lengths[r % FD_TURNS];
	share.count = c->lengths[rank % FD_TURNS];
	return share;
}

int64_t fd_most_keys(const fd_config_t *c, int ranks)
{
	int64_t most = 0;
	for (int rank = 0; rank < ranks; rank++) {
		const int64_t count = fd_keys(c, rank, ranks).count;
		most = count > most ? count : most;
	}
	return most;
}

int64_t fd_all_keys(const fd_config_t *c, int ranks)
{
	const share_t last = fd_keys(c, ranks - 1, ranks);
	return last.first + last.count;
}

/* ------------------------------------------------------------ groups and units */

int64_t fd_share(const fd_config_t *c)
{
	return c->heads / c->key_heads;
}

int64_t fd_groups(const fd_config_t *c)
{
	return c->batch * c->key_heads * tiles_of(fd_share(c), c->tile.m);
}

int64_t fd_units(const fd_config_t *c, int rank, int ranks)
{
	const int64_t steps = tiles_of(fd_keys(c, rank, ranks).count, c->tile.n);
	return fd_groups(c) * (steps > 0 ? steps : 1);
}

/* ------------------------------------------------------------ sizes */

double fd_scale(const fd_config_t *c)
{
	return 1 / sqrt((double)c->dim);
}

int64_t fd_result_floats(const fd_config_t *c)
{
	return c->dim + 4;
}

int64_t fd_state_bytes(const fd_config_t *c)
{
	return (int64_t)c->tile.m * (c->tile.k + 2) * (int64_t)sizeof(float);
}

/**
 * Keys and values: rank 0's of all key heads, then rank 1's. Queries and outputs
 * are on every rank.
 */
bool fd_matrix(const workload_config_t *config, int index, int rank, int ranks,
	       workload_matrix_t *matrix_out)
{
	static const char *const names[FD_MATRICES] = {"Q", "K", "V", "O", "L"};
	const fd_config_t c = fd_config_of(config);
	const bool of_keys = index == FD_K || index == FD_V;
	const int64_t all_heads = c.batch * c.heads, key_heads = c.batch * c.key_heads,
		      cols = index == FD_LSE ? 1 : c.dim;
	const share_t keys = fd_keys(&c, rank, ranks);
	if (index < 0 || index >= FD_MATRICES)
		return false;
	*matrix_out = (workload_matrix_t){.name = names[index],
					  .use = index < FD_O ? WORKLOAD_INPUT : WORKLOAD_OUTPUT,
					  .dtype = index == FD_LSE ? TSR_F32 : c.dtype,
					  .stream = (uint64_t)index,
					  .rows = of_keys ? key_heads * fd_all_keys(&c, ranks)
							  : all_heads,
					  .cols = cols,
					  .first_row = of_keys ? key_heads * keys.first : 0,
					  .part_rows = of_keys ? key_heads * keys.count : all_heads,
					  .part_cols = cols};
	return true;
}

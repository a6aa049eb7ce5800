/* What can be said of a configuration without a device. */
#include <inttypes.h>
#include <math.h>

#include "kernels/attend/params.h"
#include "kernels/attend/tiles.h"
#include "kernels/host/matrices.h"
#include "kernels/ulysses/ulysses.h"

const uly_pattern_kernels_t uly_patterns[ULY_PATTERNS] = {
	[ULY_BULK_SYNCHRONOUS] = {"bulk-synchronous", {"uly_exchange", "uly_attend"}},
	[ULY_FUSED] = {"fused", {"uly_fused", NULL}},
};

uly_config_t uly_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	const int64_t *tile = v[ULY_TILE].x;
	return (uly_config_t){.batch = v[ULY_BATCH].x[0],
			      .heads = v[ULY_HEADS].x[0],
			      .key_heads = v[ULY_KEY_HEADS].x[0] > 0 ? v[ULY_KEY_HEADS].x[0]
								     : v[ULY_HEADS].x[0],
			      .sequence = v[ULY_SEQUENCE].x[0],
			      .dim = v[ULY_DIM].x[0],
			      .causal = v[ULY_MASK].x[0] == ATTEND_CAUSAL,
			      .dtype = (tsr_dtype_t)v[ULY_DTYPE].x[0],
			      .pattern = (uly_pattern_t)config->pattern,
			      .tile = {(int)tile[0], (int)tile[1], (int)tile[2]},
			      .blocks = (int)v[ULY_BLOCKS].x[0],
			      .comm_blocks = (int)v[ULY_COMM_BLOCKS].x[0],
			      .chunk_rows = v[ULY_CHUNK_ROWS].x[0],
			      .group = v[ULY_GROUP].x[0]};
}

share_t uly_positions_of(const uly_config_t *c, int rank, int ranks)
{
	return share_of(c->sequence, rank, ranks);
}

share_t uly_key_heads_of(const uly_config_t *c, int rank, int ranks)
{
	return share_of(c->key_heads, rank, ranks);
}

int64_t uly_share(const uly_config_t *c)
{
	return c->heads / c->key_heads;
}

int64_t uly_tiles(const uly_config_t *c, int ranks)
{
	return tiles_of(share_largest(c->sequence, ranks), c->tile.m);
}

int64_t uly_row_chunks(const uly_config_t *c, int ranks)
{
	const int64_t most = share_largest(c->sequence, ranks);
	return most / c->chunk_rows + (most % c->chunk_rows != 0);
}

int64_t uly_groups(const uly_config_t *c, int ranks)
{
	const int64_t most = share_largest(c->key_heads, ranks);
	return most / c->group + (most % c->group != 0);
}

double uly_scale(const uly_config_t *c)
{
	return 1 / sqrt((double)c->dim);
}

/** The ranks' parts are below each other; in each the sequences are. */
bool uly_matrix(const workload_config_t *config, int index, int rank, int ranks,
		workload_matrix_t *matrix_out)
{
	static const char *const names[ULY_MATRICES] = {"Q", "K", "V", "O"};
	const uly_config_t c = uly_config_of(config);
	const share_t share = uly_positions_of(&c, rank, ranks);
	if (index < 0 || index >= ULY_MATRICES)
		return false;
	const int64_t cols = (index == ULY_K || index == ULY_V ? c.key_heads : c.heads) * c.dim;
	*matrix_out = (workload_matrix_t){.name = names[index],
					  .use = index < ULY_O ? WORKLOAD_INPUT : WORKLOAD_OUTPUT,
					  .dtype = c.dtype,
					  .stream = (uint64_t)index,
					  .rows = c.batch * c.sequence,
					  .cols = cols,
					  .first_row = c.batch * share.first,
					  .part_rows = c.batch * share.count,
					  .part_cols = cols};
	return true;
}

static tsr_status_t check_sizes(const workload_config_t *config, const uly_config_t *c)
{
	workload_matrix_t whole;
	if (c->heads % c->key_heads != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%" PRId64 " heads cannot share %" PRId64
				 " key heads: take a divisor",
				 c->heads, c->key_heads);
	for (int i = 0; uly_matrix(config, i, 0, 1, &whole); i++)
		if (c->batch > ATTEND_MOST / c->sequence || c->heads > ATTEND_MOST / c->dim ||
		    c->batch * c->sequence > ATTEND_MOST / c->heads ||
		    !matrix_fits(whole.dtype, whole.rows, whole.cols))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s of %" PRId64 " rows is too large: all heads together "
					 "have 2^30 positions at most",
					 whole.name, whole.rows);
	return TSR_OK;
}

tsr_status_t uly_check(const workload_config_t *config, int ranks)
{
	if (config->pattern < 0 || config->pattern >= ULY_PATTERNS)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "ulysses has no pattern %" PRId64 ": take one of 0 to %d",
				 config->pattern, ULY_PATTERNS - 1);
	const uly_config_t c = uly_config_of(config);
	if (c.blocks > 0 && c.comm_blocks >= c.blocks && c.pattern == ULY_FUSED)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d of %d blocks send, and none computes: take fewer "
				 "--comm-blocks",
				 c.comm_blocks, c.blocks);
	(void)ranks;
	const tsr_status_t status = check_sizes(config, &c);
	return status != TSR_OK ? status
				: attend_check_tile("ulysses", uly_patterns[c.pattern].kernels[0],
						    c.dtype, c.dim, c.tile);
}

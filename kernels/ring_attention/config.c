/* What can be said of a configuration without a device. */
#include <inttypes.h>
#include <math.h>

#include "kernels/attend/params.h"
#include "kernels/attend/tiles.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "kernels/ring_attention/ring.h"

const ring_pattern_kernels_t ring_patterns[RING_PATTERNS] = {
	[RING_BULK_SYNCHRONOUS] = {"bulk-synchronous", {"ring_gather_shards", "ring_attend"}},
	[RING_GATHER] = {"gather", {"ring_gather", NULL}},
	[RING_ROTATE] = {"rotate", {"ring_rotate", NULL}},
};

ring_config_t ring_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	const int64_t *tile = v[RING_TILE].x;
	return (ring_config_t){.batch = v[RING_BATCH].x[0],
			       .heads = v[RING_HEADS].x[0],
			       .key_heads = v[RING_KEY_HEADS].x[0] > 0 ? v[RING_KEY_HEADS].x[0]
								       : v[RING_HEADS].x[0],
			       .sequence = v[RING_SEQUENCE].x[0],
			       .dim = v[RING_DIM].x[0],
			       .causal = v[RING_MASK].x[0] == ATTEND_CAUSAL,
			       .dtype = (tsr_dtype_t)v[RING_DTYPE].x[0],
			       .pattern = (ring_pattern_t)config->pattern,
			       .tile = {(int)tile[0], (int)tile[1], (int)tile[2]},
			       .blocks = (int)v[RING_BLOCKS].x[0],
			       .comm_blocks = (int)v[RING_COMM_BLOCKS].x[0],
			       .chunk_rows = v[RING_CHUNK_ROWS].x[0]};
}

/* ------------------------------------------------------------ positions */

/** Pieces r and 2 W - 1 - r of 2 W; without a mask, piece r of W. */
ring_share_t ring_share(const ring_config_t *c, int rank, int ranks)
{
	if (!c->causal) {
		const share_t own = share_of(c->sequence, rank, ranks);
		return (ring_share_t){own.first, own.count, own.count, own.first, c->sequence};
	}
	const share_t early = share_of(c->sequence, rank, 2 * ranks),
		      late = share_of(c->sequence, 2 * ranks - 1 - rank, 2 * ranks);
	/* the ranks before have all before the early piece, and all behind the late one */
	return (ring_share_t){.first = early.first + c->sequence - late.first - late.count,
			      .count = early.count + late.count,
			      .early = early.count,
			      .at = early.first,
			      .late_at = late.first};
}

int64_t ring_most_positions(const ring_config_t *c, int ranks)
{
	int64_t most = 0;
	for (int rank = 0; rank < ranks; rank++) {
		const int64_t count = ring_share(c, rank, ranks).count;
		most = count > most ? count : most;
	}
	return most;
}

int64_t ring_tiles(const ring_config_t *c, int rank, int ranks)
{
	const ring_share_t share = ring_share(c, rank, ranks);
	return tiles_of(share.early, c->tile.m) + tiles_of(share.count - share.early, c->tile.m);
}

int64_t ring_all_heads(const ring_config_t *c)
{
	return c->batch * c->heads;
}

int64_t ring_all_key_heads(const ring_config_t *c)
{
	return c->batch * c->key_heads;
}

int64_t ring_head_chunks(const ring_config_t *c, int ranks)
{
	const int64_t rows = ring_most_positions(c, ranks);
	return rows / c->chunk_rows + (rows % c->chunk_rows != 0);
}

int64_t ring_head_rows(const ring_config_t *c, int ranks)
{
	const int64_t rows =
		c->pattern == RING_ROTATE ? ring_most_positions(c, ranks) : c->sequence;
	return matrix_pitch(c->dtype, rows * c->dim) / c->dim;
}

/** With a causal mask behind the shards of the ranks after it, and the early pieces before it. */
int64_t ring_own_row(const ring_config_t *c, int rank, int ranks)
{
	const ring_share_t share = ring_share(c, rank, ranks);
	return c->causal && c->pattern != RING_ROTATE
		       ? c->sequence - share.first - share.count + share.at
		       : 0;
}

double ring_scale(const ring_config_t *c)
{
	return 1 / sqrt((double)c->dim);
}

/* ------------------------------------------------------------ matrices */

/** Q, O and L: the ranks' parts are below each other, and in each the heads are. */
static workload_matrix_t of_queries(const ring_config_t *c, ring_share_t share, int64_t cols)
{
	const int64_t heads = ring_all_heads(c);
	return (workload_matrix_t){.rows = heads * c->sequence,
				   .cols = cols,
				   .first_row = heads * share.first,
				   .part_rows = heads * share.count,
				   .part_cols = cols};
}

/** K and V: a row is a head, in which the ranks' parts are beside each other. */
static workload_matrix_t of_keys(const ring_config_t *c, ring_share_t share)
{
	const int64_t heads = ring_all_key_heads(c);
	return (workload_matrix_t){.rows = heads,
				   .cols = c->sequence * c->dim,
				   .part_rows = heads,
				   .first_col = share.first * c->dim,
				   .part_cols = share.count * c->dim,
				   .in_place = true};
}

bool ring_matrix(const workload_config_t *config, int index, int rank, int ranks,
		 workload_matrix_t *matrix_out)
{
	static const char *const names[RING_MATRICES] = {"Q", "K", "V", "O", "L"};
	const ring_config_t c = ring_config_of(config);
	const ring_share_t share = ring_share(&c, rank, ranks);
	if (index < 0 || index >= RING_MATRICES)
		return false;
	*matrix_out = index == RING_K || index == RING_V
			      ? of_keys(&c, share)
			      : of_queries(&c, share, index == RING_LSE ? 1 : c.dim);
	matrix_out->name = names[index];
	matrix_out->use = index < RING_O ? WORKLOAD_INPUT : WORKLOAD_OUTPUT;
	matrix_out->dtype = index == RING_LSE ? TSR_F32 : c.dtype;
	matrix_out->stream = (uint64_t)index;
	return true;
}

static tsr_status_t check_sizes(const workload_config_t *config, const ring_config_t *c)
{
	workload_matrix_t whole;
	if (c->heads % c->key_heads != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%" PRId64 " heads cannot share %" PRId64
				 " key heads: take a divisor",
				 c->heads, c->key_heads);
	for (int i = 0; ring_matrix(config, i, 0, 1, &whole); i++)
		if (c->batch > ATTEND_MOST / c->heads ||
		    c->sequence > ATTEND_MOST / (c->batch * c->heads) ||
		    !matrix_fits(whole.dtype, whole.rows, whole.cols))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s of %" PRId64 " x %" PRId64 " heads and %" PRId64
					 " positions is too large: all heads together have 2^30 "
					 "positions at most",
					 whole.name, c->batch, c->heads, c->sequence);
	return TSR_OK;
}

tsr_status_t ring_check(const workload_config_t *config, int ranks)
{
	if (config->pattern < 0 || config->pattern >= RING_PATTERNS)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "ring attention has no pattern %" PRId64 ": take one of 0 to %d",
				 config->pattern, RING_PATTERNS - 1);
	const ring_config_t c = ring_config_of(config);
	if (c.blocks > 0 && c.comm_blocks >= c.blocks && c.pattern != RING_BULK_SYNCHRONOUS &&
	    ranks > 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d of %d blocks move shards, and none computes: take fewer "
				 "--comm-blocks",
				 c.comm_blocks, c.blocks);
	const tsr_status_t status = check_sizes(config, &c);
	return status != TSR_OK
		       ? status
		       : attend_check_tile("ring attention", ring_patterns[c.pattern].kernels[0],
					   c.dtype, c.dim, c.tile);
}

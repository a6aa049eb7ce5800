/* What each rank has before and behind a collective. */
#include "kernels/host/matrices.h"
#include "kernels/collectives/collectives.h"

const char *const coll_names[] = {"all-reduce", "all-gather", "reduce-scatter",
				  "all-to-all", "broadcast",  "gather",
				  "scatter",    "reduce",     NULL};

static int64_t up(int64_t x, int64_t by)
{
	return x / by + (x % by != 0);
}

coll_config_t coll_config_of(const workload_config_t *config)
{
	const tsr_dtype_t dtype = (tsr_dtype_t)config->value[COLL_DTYPE].x[0];
	const int64_t bytes = config->value[COLL_BYTES].x[0], rows = config->value[COLL_ROWS].x[0],
		      element = (int64_t)tsr_dtype_bytes(dtype);
	coll_config_t c = {.what = (collective_t)config->value[COLL_OPERATION].x[0],
			   .bytes = bytes,
			   .rows = rows,
			   .dtype = dtype};
	if (element > 0 && rows > 0) {
		c.cols = up(up(bytes, element), rows);
		c.pitch = matrix_pitch(dtype, c.cols + up(config->value[COLL_GAP].x[0], element));
	}
	return c;
}

bool coll_combines(collective_t what)
{
	return what == COLL_ALL_REDUCE || what == COLL_REDUCE_SCATTER || what == COLL_REDUCE;
}

/** Whether a rank has a shard for each rank, before the collective and behind it. */
static bool has_all_before(collective_t what)
{
	return what == COLL_REDUCE_SCATTER || what == COLL_ALL_TO_ALL || what == COLL_SCATTER;
}

static bool has_all_behind(collective_t what)
{
	return what == COLL_ALL_GATHER || what == COLL_ALL_TO_ALL || what == COLL_GATHER;
}

int64_t coll_src_shards(collective_t what, int ranks)
{
	return has_all_before(what) ? ranks : 1;
}

int64_t coll_dst_shards(collective_t what, int ranks)
{
	return has_all_behind(what) ? ranks : 1;
}

bool coll_matrix(const workload_config_t *config, int index, int rank, int ranks,
		 workload_matrix_t *matrix_out)
{
	const coll_config_t c = coll_config_of(config);
	const bool src = index == COLL_SRC, root = rank == COLL_ROOT;
	const int64_t shards =
		src ? coll_src_shards(c.what, ranks) : coll_dst_shards(c.what, ranks);
	const int64_t rows = shards * c.rows;
	/* the same on all ranks that have any, or on each the next rows of the whole */
	const bool same = src ? c.what == COLL_SCATTER
			      : c.what != COLL_REDUCE_SCATTER && c.what != COLL_ALL_TO_ALL &&
					  c.what != COLL_SCATTER;
	const bool none = !root && (src ? c.what == COLL_SCATTER
					: c.what == COLL_GATHER || c.what == COLL_REDUCE);
	if (index < 0 || index >= COLL_MATRICES)
		return false;
	*matrix_out = (workload_matrix_t){.name = src ? "src" : "dst",
					  .use = src ? WORKLOAD_INPUT : WORKLOAD_OUTPUT,
					  .dtype = c.dtype,
					  .stream = 0,
					  .rows = same ? rows : rows * ranks,
					  .cols = c.cols,
					  .first_row = same ? 0 : rows * rank,
					  .part_rows = none ? 0 : rows,
					  .part_cols = c.cols};
	return true;
}

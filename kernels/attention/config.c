/* What can be said of a configuration without a device. */
#include <math.h>

#include "kernels/attend/params.h"
#include "kernels/attention/attention.h"

att_config_t att_config_of(const workload_config_t *config)
{
	const workload_value_t *value = config->value;
	const int64_t *tile = value[ATT_TILE].x;
	return (att_config_t){.batch = value[ATT_BATCH].x[0],
			      .heads = value[ATT_HEADS].x[0],
			      .key_heads = value[ATT_KEY_HEADS].x[0] > 0 ? value[ATT_KEY_HEADS].x[0]
									 : value[ATT_HEADS].x[0],
			      .queries = value[ATT_QUERIES].x[0],
			      .keys = value[ATT_KEYS].x[0] > 0 ? value[ATT_KEYS].x[0]
							       : value[ATT_QUERIES].x[0],
			      .dim = value[ATT_DIM].x[0],
			      .causal = value[ATT_MASK].x[0] == ATTEND_CAUSAL,
			      .dtype = (tsr_dtype_t)value[ATT_DTYPE].x[0],
			      .tile = {(int)tile[0], (int)tile[1], (int)tile[2]},
			      .blocks = (int)value[ATT_BLOCKS].x[0]};
}

share_t att_share(const att_config_t *c, int rank, int ranks)
{
	return share_of(c->batch * c->key_heads, rank, ranks);
}

int64_t att_group(const att_config_t *c)
{
	return c->heads / c->key_heads;
}

int64_t att_diagonal(const att_config_t *c)
{
	return c->keys - c->queries;
}

double att_scale(const att_config_t *c)
{
	return 1 / sqrt((double)c->dim);
}

bool att_matrix(const workload_config_t *config, int index, int rank, int ranks,
		workload_matrix_t *matrix_out)
{
	static const char *const names[ATT_MATRICES] = {"Q", "K", "V", "O", "L"};
	const att_config_t c = att_config_of(config);
	const bool of_keys = index == ATT_K || index == ATT_V;
	const share_t share = att_share(&c, rank, ranks);
	if (index < 0 || index >= ATT_MATRICES)
		return false;
	/* rows that belong to one key head */
	const int64_t each = of_keys ? c.keys : att_group(&c) * c.queries,
		      cols = index == ATT_LSE ? 1 : c.dim;
	*matrix_out = (workload_matrix_t){.name = names[index],
					  .use = index < ATT_O ? WORKLOAD_INPUT : WORKLOAD_OUTPUT,
					  .dtype = index == ATT_LSE ? TSR_F32 : c.dtype,
					  .stream = (uint64_t)index,
					  .rows = c.batch * c.key_heads * each,
					  .cols = cols,
					  .first_row = share.first * each,
					  .part_rows = share.count * each,
					  .part_cols = cols};
	return true;
}

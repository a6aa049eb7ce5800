/* Collectives of tensors on a stream, as a workload. */
#ifndef COLLECTIVES_COLLECTIVES_H
#define COLLECTIVES_COLLECTIVES_H

#include "kernels/workload.h"

/** What is done. The values of the parameter `operation`. */
typedef enum collective {
	COLL_ALL_REDUCE = 1,
	COLL_ALL_GATHER,
	COLL_REDUCE_SCATTER,
	COLL_ALL_TO_ALL,
	COLL_BROADCAST,
	COLL_GATHER,
	COLL_SCATTER,
	COLL_REDUCE
} collective_t;

/** The names, in that order; ends with null. */
extern const char *const coll_names[];

/** Of gather, scatter, reduce and broadcast. The baselines' broadcast begins at rank 0. */
enum { COLL_ROOT = 0 };

/** What a plan is made for. */
typedef struct coll_config {
	collective_t what;
	int64_t bytes;      /* of a shard: what a rank has for each other rank */
	int64_t rows, cols; /* of a shard */
	int64_t pitch;      /* elements from a row to the next */
	tsr_dtype_t dtype;
} coll_config_t;

/* The places of the parameters. */
enum { COLL_OPERATION, COLL_BYTES, COLL_ROWS, COLL_GAP, COLL_DTYPE };

coll_config_t coll_config_of(const workload_config_t *config);

/** Numbers of the matrices. A shard is the next coll_config_t.rows rows of each. */
enum { COLL_SRC, COLL_DST, COLL_MATRICES };

bool coll_matrix(const workload_config_t *config, int index, int rank, int ranks,
		 workload_matrix_t *matrix_out);

/** Whether it adds up what the ranks have. */
bool coll_combines(collective_t what);

/** Shards in src and in dst on a rank that has them; other ranks have none. */
int64_t coll_src_shards(collective_t what, int ranks);
int64_t coll_dst_shards(collective_t what, int ranks);

/** Errors: TSR_ERR_NO_MEMORY (host). */
tsr_status_t coll_expect(tsr_world_t *world, const workload_config_t *config,
			 const workload_inputs_t *inputs, workload_expected_t **expected_out);

tsr_status_t coll_open(tsr_world_t *world, const workload_config_t *config,
		       workload_run_t **run_out);

#endif

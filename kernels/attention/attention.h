/* Forward attention as a workload: what its files share. */
#ifndef ATTENTION_ATTENTION_H
#define ATTENTION_ATTENTION_H

#include "kernels/host/share.h"
#include "kernels/host/variants.h"
#include "kernels/workload.h"

/* The places of the parameters. */
enum {
	ATT_BATCH,
	ATT_HEADS,
	ATT_KEY_HEADS,
	ATT_QUERIES,
	ATT_KEYS,
	ATT_DIM,
	ATT_MASK,
	ATT_DTYPE,
	ATT_TILE,
	ATT_BLOCKS
};

/** Numbers of the matrices. Heads lie below each other. */
enum { ATT_Q, ATT_K, ATT_V, ATT_O, ATT_LSE, ATT_MATRICES };

/** What a plan is made for. */
typedef struct att_config {
	int64_t batch, heads, key_heads, queries, keys, dim;
	bool causal;
	tsr_dtype_t dtype;
	tile_size_t tile; /* queries, keys of a step, columns of a head */
	int blocks;
} att_config_t;

att_config_t att_config_of(const workload_config_t *config);

/** The key heads of the whole batch that a rank has, with the heads that share them. */
share_t att_share(const att_config_t *c, int rank, int ranks);

/** Heads of Q that share a key head. */
int64_t att_group(const att_config_t *c);

/** With a causal mask, query i sees keys up to i + this: the last query sees the last key. */
int64_t att_diagonal(const att_config_t *c);

double att_scale(const att_config_t *c);

bool att_matrix(const workload_config_t *config, int index, int rank, int ranks,
		workload_matrix_t *matrix_out);

/** Errors: TSR_ERR_NO_MEMORY (host). */
tsr_status_t att_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out);

tsr_status_t att_open(tsr_world_t *world, const workload_config_t *config,
		      workload_run_t **run_out);

#endif

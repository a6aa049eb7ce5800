/*
 * Expected outputs of attention: a softmax in two passes, in double. A workload
 * says where queries and keys lie in its matrices.
 */
#ifndef ATTEND_REFERENCE_H
#define ATTEND_REFERENCE_H

#include "kernels/workload.h"

/** A query, and what it sees. */
typedef struct attend_query {
	tsr_pos_t at;     /* of its first element, in the whole Q */
	int64_t key_head; /* whose keys it meets */
	int64_t seen;     /* it sees keys 0 .. seen - 1 of these */
} attend_query_t;

/** What is computed. The functions see the whole matrices of a team of `ranks`. */
typedef struct attend_problem {
	tsr_dtype_t dtype; /* of Q, K, V and O */
	int64_t dim;       /* columns of a head */
	int64_t keys;      /* of a key head */
	int64_t kept;      /* key heads that neighbouring rows of O meet: so many are kept */
	double scale;
	int q, k, v, lse; /* numbers of the matrices; lse: -1 if there is none */
	/** The workload's: workload_t.matrix. */
	bool (*matrix)(const workload_config_t *config, int index, int rank, int ranks,
		       workload_matrix_t *matrix_out);
	/** The query of row `row` of O, and of its `head`-th head. */
	attend_query_t (*query)(const workload_config_t *config, int ranks, int64_t row,
				int64_t head);
	/** Where key `key` of a key head begins, in the whole K and in the whole V. */
	tsr_pos_t (*key)(const workload_config_t *config, int ranks, int64_t key_head, int64_t key);
} attend_problem_t;

/**
 * The outputs: O, whose rows have one head beside the other; and the logarithms
 * of the sums, a column for each head. An element of O is accepted within what
 * tsr_attend promises.
 *
 * Called by:  every rank, one thread a rank, with the same arguments.
 * Errors:     TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t attend_expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, const attend_problem_t *problem,
			   workload_expected_t **expected_out);

#endif

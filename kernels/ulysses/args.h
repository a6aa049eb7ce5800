/* The arguments that the host passes to every kernel of this folder. */
#ifndef ULYSSES_ARGS_H
#define ULYSSES_ARGS_H

#include "kernels/attend/deal_state.h"
#include "kernels/dev/handshake_state.h"
#include "tessera/types.h"

/* What uly_exchange does: `step`. */
enum { ULY_IN, ULY_OUT };

/** Q, K and V in arrays of them. */
enum { ULY_OF_Q, ULY_OF_K, ULY_OF_V, ULY_INPUTS };

typedef struct uly_args {
	/* as they are given: this rank's positions, sequence below sequence; all heads beside each
	 * other */
	tsr_view_t given[ULY_INPUTS];
	/* as they are attended: all positions, sequence below sequence; this rank's heads beside
	 * each other. The same address and distance between rows on all ranks. */
	tsr_view_t heads[ULY_INPUTS];
	/* where tiles of results are stored: in bulk-synchronous here, as `heads` */
	tsr_view_t result;
	/* O: as `given`, with rows for the most positions of any rank; the same address on all */
	tsr_view_t o;
	float scale;
	int32_t causal;
	int32_t batch;
	int32_t share;      /* so many heads of Q in turn have one key head */
	int32_t dim;        /* columns of a head */
	int32_t step;       /* of uly_exchange */
	int32_t me, ranks;  /* this rank, and their number */
	int32_t heads_here; /* of this rank, of Q */
	attend_deal_t deal; /* of this rank's tiles to its computing blocks */
	/* A chunk: rows of a rank's positions in one sequence, with the heads of a group. */
	int32_t chunk_rows, group;  /* positions, and key heads, of a chunk; the last have fewer */
	int32_t row_chunks, groups; /* number of chunks of the most positions, and key heads */
	int32_t tiles;              /* of queries that cover the most positions of any rank */
	int32_t position[TSR_MAX_RANKS + 1]; /* each rank's first; behind the last rank, all */
	int32_t key_head[TSR_MAX_RANKS + 1]; /* the same of key heads */
	/* the epoch for which a chunk is here (READY): uly_come */
	TSR_HEAP uint64_t *come;
	TSR_HEAP handshake_t *sync;
} uly_args_t;

#endif

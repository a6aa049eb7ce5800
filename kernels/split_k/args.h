/* The arguments that the host passes to every kernel of these workloads. */
#ifndef SPLIT_K_ARGS_H
#define SPLIT_K_ARGS_H

#include "kernels/dev/handshake_state.h"

typedef struct splitk_args {
	tsr_view_t a; /* M x k: this rank's columns of A */
	tsr_view_t b; /* k x N: this rank's rows of B */
	tsr_view_t c; /* this rank's rows of C, or all of C */
	/* M x N: this rank's partial sums of all rows, in patterns that keep them */
	tsr_view_t partial;
	/* sums of all ranks for the elements of c, in patterns whose ranks add to them */
	tsr_view_t total;
	/* A chunk is the rows of C whose sums one rank completes. */
	int64_t chunk_rows; /* M divided by the ranks, without the rest */
	int64_t tiles_m;    /* rows of tiles that cover the largest chunk */
	int64_t tiles_n;
	int32_t bands;        /* in each chunk: tsr_ring_order */
	int32_t group;        /* rows of tiles walked together */
	int32_t sums;         /* the tsr_dtype_t in which partial sums are sent */
	int32_t rest;         /* M modulo the ranks: so many chunks have one more row */
	int32_t computing;    /* number of blocks that compute; the others communicate */
	int32_t reserved;     /* 0 */
	int64_t slot_bytes;   /* size of a sent tile */
	TSR_HEAP void *inbox; /* slots of sent tiles (inbox.h) */
	/* flags of slots, or of tiles of this rank's chunk: the epoch whose sum is there (READY) */
	TSR_HEAP uint64_t *come;
	TSR_HEAP handshake_t *sync;
} splitk_args_t;

#endif

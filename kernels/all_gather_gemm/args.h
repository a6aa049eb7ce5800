/* The arguments that the host passes to every kernel of this folder. */
#ifndef ALL_GATHER_GEMM_ARGS_H
#define ALL_GATHER_GEMM_ARGS_H

#include "kernels/dev/handshake_state.h"
#include "kernels/dev/tiling_state.h"

/* What is divided among the ranks and gathered, and how: `along`. */
enum {
	AGG_BY_ROWS = 1,    /* A, by rows */
	AGG_BY_COLUMNS = 2, /* A, by columns */
	AGG_B_BY_ROWS = 3   /* B, by rows */
};

/* What the one block of agg_copies does: `step`. */
enum { AGG_OPEN, AGG_SAY_ARRIVED, AGG_FINISH };

typedef struct agg_args {
	/* the operands of the product: one is the whole of what is gathered, the other this
	 * rank's own: K x n, its columns of B; or m x K, its rows of A */
	tsr_view_t a, b;
	/* What is gathered, on every rank: M x K, A; or K x N, B. This rank's shard is in its
	 * place. The other ranks' shards arrive in theirs, except in pull. */
	tsr_view_t whole;
	tsr_view_t c;    /* M x n: this rank's columns of C; or m x N: its rows */
	tiling_t tiling; /* of c */
	int32_t along;   /* AGG_BY_ROWS, ... */
	/* where a rank's shard begins: a row, or a column; behind the last rank, the end */
	int32_t begin[TSR_MAX_RANKS + 1];
	/* where the first unit that begins in this rank's shard begins (shards.h) */
	int32_t turn;
	int32_t divides_first; /* shards are parts of K, and turn is not 0: see agg_tasks */
	int32_t chunk_rows;    /* rows of a shard's chunks; the last one may have fewer */
	int32_t chunks;        /* number of chunks of the largest shard */
	int32_t in_turn;       /* shards arrive chunk by chunk in turn; 0: one after the other */
	int32_t step;          /* copy-engines: AGG_OPEN, ..., */
	int32_t peer;          /* and for AGG_SAY_ARRIVED the rank to which a chunk was copied, */
	int32_t chunk;         /* and the chunk's number in this rank's shard */
	/* come[source * chunks + i]: the epoch for which chunk i of rank `source` is here
	 * (READY) */
	TSR_HEAP uint64_t *come;
	/* marked: rows of an inbox for one rank, and words of a row; two inboxes for each rank by
	 * parity of the epoch, each with a token behind its rows */
	int32_t inbox_rows, row_words, element_bytes;
	TSR_HEAP uint64_t *words;
	/* marked: for each chunk, how many of its rows are here; 0 after a run */
	TSR_HEAP uint64_t *counted;
	/* marked: the token that is put, and the place of those that are taken */
	TSR_HEAP uint32_t *token;
	/* where shards are parts of K: for each computing block, the sums of its first task */
	TSR_HEAP unsigned char *first_sums;
	TSR_HEAP handshake_t *sync;
} agg_args_t;

#endif

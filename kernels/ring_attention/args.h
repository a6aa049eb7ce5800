/* The arguments that the host passes to every kernel of this folder. */
#ifndef RING_ATTENTION_ARGS_H
#define RING_ATTENTION_ARGS_H

#include "kernels/attend/deal_state.h"
#include "kernels/dev/handshake_state.h"
#include "tessera/types.h"

typedef struct ring_args {
	/* this rank's positions: of each head those of its early piece, then those of its late one;
	 * heads lie below each other */
	tsr_view_t q, o;
	tsr_view_t lse; /* one column */
	/* Keys and values, `head_rows` rows for each head: what this rank sees of all shards
	 * (gather.h). In rotate: for each head what this rank has; then the same twice, for other
	 * ranks' shards. */
	tsr_view_t k, v;
	attend_deal_t deal;   /* of this rank's tiles to its computing blocks */
	int32_t me, ranks;    /* this rank, and their number */
	uint32_t early_tiles; /* of a head of q: those of the early piece; they come first */
	float scale;
	int32_t causal;
	int32_t key_heads;   /* of all sequences */
	int32_t share;       /* so many heads in turn have one key head */
	int32_t head_rows;   /* of k and v; on all ranks alike */
	int32_t row_bytes;   /* of k and v */
	int32_t chunk_rows;  /* of a shard's head; the last chunk may have fewer */
	int32_t head_chunks; /* number of chunks of a head of the largest shard */
	/* for each rank: how many positions the ranks before it have, and how many their early
	 * pieces have; behind the last rank, all */
	int32_t first[TSR_MAX_RANKS + 1], early[TSR_MAX_RANKS + 1];
	/* the epoch for which a chunk is here (READY): ring_come */
	TSR_HEAP uint64_t *come;
	TSR_HEAP unsigned char *states; /* rotate: one for each of this rank's tiles */
	/* rotate: passed[s]: the epoch in which the next rank has no more use for what it held at
	 * step s (RETIRED); left[s]: how many of this rank's blocks have none */
	TSR_HEAP uint64_t *passed, *left;
	TSR_HEAP handshake_t *sync;
} ring_args_t;

#endif

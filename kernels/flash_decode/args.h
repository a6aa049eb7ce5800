/* The arguments that the host passes to every kernel of this folder. */
#ifndef FLASH_DECODE_ARGS_H
#define FLASH_DECODE_ARGS_H

#include "kernels/dev/handshake_state.h"
#include "tessera/types.h"

typedef struct fd_args {
	/* one query of each head of all sequences, below each other; the same on every rank */
	tsr_view_t q;
	/* this rank's keys and values: those of all key heads, below each other */
	tsr_view_t k, v;
	tsr_view_t o, lse; /* what every rank gets: rows as of q, and one column */
	float scale;
	int32_t keys;  /* of this rank, for each key head; may be 0 */
	int32_t share; /* so many heads in turn have one key head */
	/* Groups: tiles of heads that share a key head. `tiles` of each key head. */
	uint32_t groups, tiles;
	/* Units: steps of keys of a group; a group without keys has one, which is empty. Blocks
	 * of the launch that attends have `each` of them, and the first `rest` blocks one more. */
	uint32_t units, each, rest;
	/* a state for each part of a group: parts.h */
	TSR_HEAP unsigned char *states;
	TSR_HEAP uint64_t *counted; /* for each group, how many parts there were in all runs */
	/* Results: rows as of q, in f32, and their logarithms in the column behind the last. */
	tsr_view_t mine;   /* of this rank's keys */
	tsr_view_t theirs; /* of each rank's, below each other; one or two of these: results.h */
	TSR_HEAP uint64_t *come;  /* come[source * groups + g]: the epoch whose result is here */
	TSR_HEAP uint64_t *words; /* results in words that carry their flag */
	int32_t group_words;      /* of a group */
	TSR_HEAP void *gather;    /* tsr_all_gather_state_t */
	TSR_HEAP handshake_t *sync;
} fd_args_t;

#endif

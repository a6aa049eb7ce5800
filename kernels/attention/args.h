/* The arguments that the host passes to every kernel of this workload. */
#ifndef ATTENTION_ARGS_H
#define ATTENTION_ARGS_H

#include <stdint.h>

#include "kernels/attend/deal_state.h"
#include "tessera/types.h"

typedef struct attention_args {
	/* this rank's heads, below each other: rows are queries, or keys */
	tsr_view_t q, k, v, o;
	tsr_view_t lse;     /* one column */
	attend_deal_t deal; /* of the tiles of its heads */
	int64_t share;      /* so many of them in turn have one key head */
	int64_t queries;    /* rows of a head of q */
	int64_t keys;       /* rows of a head of k */
	int64_t diagonal;   /* if causal: the last query sees the last key */
	int32_t causal;
	float scale;
} attention_args_t;

#endif

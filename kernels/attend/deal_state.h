/*
 * How the tiles of queries of all heads are dealt to blocks, as the host hands it
 * to a kernel. The device half: kernels/attend/deal.h.
 */
#ifndef ATTEND_DEAL_STATE_H
#define ATTEND_DEAL_STATE_H

#include <stdint.h>

/** Counts fit into 32 bits, which GPUs divide many times faster. */
typedef struct attend_deal {
	uint32_t tiles;   /* of a head */
	uint32_t each;    /* of a head: pairs, or tiles where they are dealt one by one */
	uint32_t all;     /* the same of all heads */
	uint32_t step;    /* number of blocks, which take them in turn, head by head */
	int32_t in_pairs; /* two tiles at a time */
} attend_deal_t;

/** The deal of `heads` heads of `tiles` tiles to `blocks` blocks. Any thread of the host. */
static inline attend_deal_t attend_deal(int64_t tiles, int64_t heads, int in_pairs, int blocks)
{
	const int64_t each = in_pairs ? (tiles + 1) / 2 : tiles;
	const attend_deal_t deal = {(uint32_t)tiles, (uint32_t)each, (uint32_t)(each * heads),
				    (uint32_t)blocks, in_pairs};
	return deal;
}

#endif

/*
 * How the tiles of queries of all heads are dealt to blocks. Blocks next to each
 * other have tiles of one head, whose keys they find in the cache.
 *
 * Causal tiles of a head take the longer the later they are. So they are dealt
 * in pairs, the n-th from the end of a head with the n-th from its beginning:
 * each block has about the same to do. Counts fit into 32 bits, which GPUs
 * divide many times faster.
 */
#ifndef ATTEND_DEAL_H
#define ATTEND_DEAL_H

#include "tessera/dev.h"

typedef struct attend_deal {
	uint32_t tiles;       /* of a head */
	uint32_t each;        /* of a head: pairs, or tiles where they are dealt one by one */
	uint32_t first, step; /* of this block, counted head by head in these */
	uint32_t count;       /* number of this block's tiles; a pair has two */
	int32_t in_pairs;
} attend_deal_t;

/** Of one of the block's tiles. */
typedef struct attend_dealt {
	uint32_t head, tile;
	int32_t is_missing; /* the middle tile of an odd number has no partner */
} attend_dealt_t;

/** Deals `heads` heads of `tiles` tiles to `blocks` blocks; the share of block `block`. */
TSR_FN attend_deal_t attend_deal(uint32_t tiles, uint32_t heads, int in_pairs, int block,
				 int blocks)
{
	const uint32_t each = in_pairs ? (tiles + 1) / 2 : tiles, all = each * heads,
		       first = (uint32_t)block, step = (uint32_t)blocks,
		       mine = all > first ? (all - first - 1) / step + 1 : 0;
	const attend_deal_t deal = {tiles, each, first, step, in_pairs ? 2 * mine : mine, in_pairs};
	return deal;
}

/** The block's `number`-th tile, from 0 on. Tiles 2 i and 2 i + 1 are its i-th pair. */
TSR_FN attend_dealt_t attend_dealt(const attend_deal_t *deal, uint32_t number)
{
	const uint32_t in_turn = deal->in_pairs ? number / 2 : number,
		       place = deal->first + in_turn * deal->step, low = place % deal->each,
		       high = deal->tiles - 1 - low;
	const attend_dealt_t dealt = {place / deal->each,
				      deal->in_pairs && number % 2 == 0 ? high : low,
				      deal->in_pairs && number % 2 == 1 && low == high};
	return dealt;
}

#endif

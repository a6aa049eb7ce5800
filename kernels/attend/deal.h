/*
 * The tiles of queries of a block. Blocks next to each other have tiles of one
 * head, whose keys they find in the cache.
 *
 * Causal tiles of a head take the longer the later they are. So they are dealt
 * in pairs, the n-th from the end of a head with the n-th from its beginning:
 * each block has about the same to do.
 */
#ifndef ATTEND_DEAL_H
#define ATTEND_DEAL_H

#include "kernels/attend/deal_state.h"
#include "tessera/dev.h"

/** One of a block's tiles. */
typedef struct attend_dealt {
	uint32_t head, tile;
	int32_t is_missing; /* the middle tile of an odd number has no partner */
} attend_dealt_t;

/** The number of tiles of block `block`; a pair has two. */
TSR_FN uint32_t attend_count(const attend_deal_t *deal, uint32_t block)
{
	const uint32_t mine = deal->all > block ? (deal->all - block - 1) / deal->step + 1 : 0;
	return deal->in_pairs ? 2 * mine : mine;
}

/** The `number`-th of them, from 0 on. Tiles 2 i and 2 i + 1 are the block's i-th pair. */
TSR_FN attend_dealt_t attend_dealt(const attend_deal_t *deal, uint32_t block, uint32_t number)
{
	const uint32_t in_turn = deal->in_pairs ? number / 2 : number,
		       place = block + in_turn * deal->step, head = place / deal->each,
		       low = place - head * deal->each, high = deal->tiles - 1 - low;
	const attend_dealt_t dealt = {head, deal->in_pairs && number % 2 == 0 ? high : low,
				      deal->in_pairs && number % 2 == 1 && low == high};
	return dealt;
}

#endif

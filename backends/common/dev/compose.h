/*
 * Bodies that are composed of other calls of this API, equal in every port. A
 * port's bodies include this header after all others (on the CPU one file of
 * the library does). A port defines:
 *
 *   int tsr_port_may_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer)
 *       whether the coop holds the lock. If not, the port has ended the world.
 *       A port that does not check it returns 1
 */
#ifndef TESSERA_COMMON_DEV_COMPOSE_H
#define TESSERA_COMMON_DEV_COMPOSE_H

#include "common/dev/states.h"
#include "tessera/dev/atomic.h"
#include "tessera/dev/collective.h"
#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/lock.h"
#include "tessera/dev/pointer.h"
#include "tessera/dev/signal.h"
#include "tessera/dev/word.h"

#include TSR_PORT_BODIES

/*
 * Reports name the call that the kernel has made, and its place, not the calls
 * in here: TSR_PART_OF says which call it is.
 */
#pragma push_macro("TSR_AT")
#undef TSR_AT
#define TSR_AT(coop_) (coop_)

/*
 * In one call, the blocks of a rank together raise a count by TSR_GATHER_ROUND,
 * however many blocks there are. So a division gives the round, and nothing
 * needs to be stored or reset between calls, or between launches with different
 * numbers of blocks.
 */
enum { TSR_GATHER_ROUND = TSR_ALL_GATHER_MAX_BLOCKS };
/*
 * so that two blocks do not store to one cache line, if the pieces are aligned
 * to it
 */
enum { TSR_GATHER_LINE = 128 };

/** A count in the state. */
TSR_FN TSR_HEAP uint64_t *tsr_gather_count(TSR_HEAP tsr_all_gather_state_t *state, int word)
{
	return (TSR_HEAP uint64_t *)state + word;
}

/**
 * What this block adds to a count: at least 1, so that a round is not complete
 * before all blocks have arrived.
 */
TSR_FN uint64_t tsr_gather_share(const tsr_coop_t *block)
{
	return tsr_block_index(block) == 0
		       ? (uint64_t)TSR_GATHER_ROUND - (uint64_t)(tsr_block_count(block) - 1)
		       : 1;
}

/**
 * The value that the counts reach when all blocks have arrived at this call. A
 * relaxed load of my own rank's count is enough. This block has seen the end of
 * the last round (by its wait for it, or by the launch), and the current round
 * cannot be complete without this block. So the loaded value is in the current
 * round, whatever the other blocks have added, and even if later accesses
 * overtake the load.
 */
TSR_FN uint64_t tsr_gather_target(tsr_coop_t *block, TSR_HEAP tsr_all_gather_state_t *state)
{
	int me = tsr_rank(block);
	uint64_t seen = tsr_atomic_load(block, tsr_gather_count(state, TSR_GATHER_READY(me)), me,
					TSR_RELAXED, TSR_SCOPE_SYSTEM);
	return (seen / TSR_GATHER_ROUND + 1) * TSR_GATHER_ROUND;
}

/**
 * Puts this block's part of the piece to every rank, when that rank's memory
 * may be overwritten.
 */
TSR_FN tsr_wait_result_t tsr_gather_push(tsr_coop_t *block, TSR_HEAP unsigned char *dst,
					 const TSR_HEAP unsigned char *src, size_t size_bytes,
					 TSR_HEAP tsr_all_gather_state_t *state, uint64_t target)
{
	const size_t blocks = (size_t)tsr_block_count(block),
		     index = (size_t)tsr_block_index(block);
	const size_t each = (size_bytes / blocks / TSR_GATHER_LINE + 1) * TSR_GATHER_LINE;
	const size_t first = index * each, left = first < size_bytes ? size_bytes - first : 0;
	if (left == 0)
		return TSR_WAIT_OK;
	/* also for this rank: its other blocks may have written what this one reads next */
	int i = 0;
	/* Always waits at least once, even in a world of one rank: others may have written what
	 * this block reads next, and checkers need no special case. */
	do {
		int peer = tsr_peer(block, i);
		/* RETIRED, and for my own rank READY of `src`. Partner: the first signal in
		 * tsr_gather_all, of all blocks of `peer`. Litmus: LB.retired.diffGPU-ss,
		 * MP.count.diffGPU-sss. */
		const tsr_wait_result_t how =
			tsr_wait(block, tsr_gather_count(state, TSR_GATHER_RETIRED(peer)), target,
				 peer);
		if (how != TSR_WAIT_OK)
			return how;
	} while (++i < tsr_size(block));
	tsr_put_all(block, dst + (size_t)tsr_rank(block) * size_bytes + first, src + first,
		    left < each ? left : each);
	return TSR_WAIT_OK;
}

TSR_FN tsr_wait_result_t tsr_gather_all(tsr_coop_t *block, TSR_HEAP unsigned char *dst,
					const TSR_HEAP unsigned char *src, size_t size_bytes,
					TSR_HEAP tsr_all_gather_state_t *state)
{
	const int me = tsr_rank(block);
	TSR_COLLECTIVE(block, "tsr_all_gather", state,
		       tsr_gather_count(state, TSR_GATHER_READY(me)), TSR_GATHER_ROUND, dst,
		       size_bytes * (size_t)tsr_size(block), size_bytes, 0,
		       TSR_ALL_GATHER_WORDS(tsr_size(block)), 0);
	const uint64_t target = tsr_gather_target(block, state);
	/* RETIRED. Partner: the wait in tsr_gather_push on every rank. Litmus:
	 * LB.retired.diffGPU-ss, MP.count.diffGPU-sss. */
	tsr_signal_all(block, tsr_gather_count(state, TSR_GATHER_RETIRED(me)),
		       tsr_gather_share(block), TSR_SIGNAL_ADD);
	tsr_wait_result_t how = tsr_gather_push(block, dst, src, size_bytes, state, target);
	if (how != TSR_WAIT_OK)
		return how;
	/* READY. Partner: the waits below on every rank. Litmus: MP.mcast.diffGPU-sss. */
	tsr_signal_all(block, tsr_gather_count(state, TSR_GATHER_READY(me)),
		       tsr_gather_share(block), TSR_SIGNAL_ADD);
	for (int i = 0; i < tsr_size(block) && how == TSR_WAIT_OK; i++) {
		int from = tsr_peer(block, i);
		/* Partner: the signal above, of all blocks of `from`. Litmus:
		 * MP.count.diffGPU-sss. */
		how = tsr_wait(block, tsr_gather_count(state, TSR_GATHER_READY(from)), target,
			       from);
	}
	return how;
}

#include "common/dev/collect.h"
#include "common/dev/combine.h"
#include "common/dev/exchange.h"
#include "common/dev/one_shot.h"
#include "common/dev/rooted.h"
#include "common/dev/short.h"

TSR_DEV tsr_wait_result_t tsr_all_gather(tsr_coop_t *block, TSR_HEAP void *dst,
					 const TSR_HEAP void *src, size_t size_bytes,
					 TSR_HEAP tsr_all_gather_state_t *state)
{
	TSR_PART_OF(block, "tsr_all_gather");
	const tsr_wait_result_t how =
		TSR_BY_NODES(block, tsr_spread_bytes(block, dst, src, size_bytes, state),
			     tsr_gather_all(block, (TSR_HEAP unsigned char *)dst,
					    (const TSR_HEAP unsigned char *)src, size_bytes,
					    state));
	TSR_PART_OF(block, TSR_PART_OF_NONE);
	return how;
}

/* ------------------------------------------------------------------ locks */

/**
 * Takes the lock if it is free. Returns the old word: 0 if it was free,
 * otherwise 1 + the holder's rank.
 * Partner:    tsr_unlock. Litmus: MP.casacq.diffGPU-ss.
 */
TSR_FN uint64_t tsr_lock_try(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer)
{
	const uint64_t open = 0, mine = 1 + (uint64_t)tsr_rank(coop);
	return tsr_atomic_cas(coop, lock, open, mine, peer, TSR_ACQUIRE, TSR_RELAXED,
			      TSR_SCOPE_SYSTEM);
}

/** The holder, for reports; TSR_ANY_RANK if the word is no rank's. */
TSR_FN int tsr_lock_holder(const tsr_coop_t *coop, uint64_t word)
{
	return word <= (uint64_t)tsr_size(coop) ? (int)word - 1 : TSR_ANY_RANK;
}

/*
 * A waiting coop polls relaxed until the lock seems free; the compare-and-swap
 * acquires.
 */
TSR_DEV tsr_wait_result_t tsr_lock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer)
{
	tsr_wait_result_t how = TSR_WAIT_OK;
	uint64_t word;
	TSR_PART_OF(coop, "tsr_lock");
	while (how == TSR_WAIT_OK && (word = tsr_lock_try(coop, lock, peer)) != 0)
		how = tsr_wait_word(coop, lock, TSR_CMP_EQ, 0, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM,
				    tsr_lock_holder(coop, word), (uint64_t *)0);
	TSR_PART_OF(coop, TSR_PART_OF_NONE);
	return how;
}

TSR_DEV tsr_wait_result_t tsr_lock_until(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer,
					 uint64_t deadline_ns)
{
	tsr_wait_result_t how = TSR_WAIT_OK;
	uint64_t word;
	TSR_PART_OF(coop, "tsr_lock_until");
	while (how == TSR_WAIT_OK && (word = tsr_lock_try(coop, lock, peer)) != 0)
		how = tsr_wait_word_until(coop, lock, TSR_CMP_EQ, 0, peer, TSR_RELAXED,
					  TSR_SCOPE_SYSTEM, tsr_lock_holder(coop, word),
					  deadline_ns, (uint64_t *)0);
	TSR_PART_OF(coop, TSR_PART_OF_NONE);
	return how;
}

/* Partner: tsr_lock_try of the next holder. Litmus: MP.casacq.diffGPU-ss. */
TSR_DEV void tsr_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer)
{
	const uint64_t open = 0;
	TSR_PART_OF(coop, "tsr_unlock");
	if (tsr_port_may_unlock(coop, lock, peer))
		tsr_atomic_store(coop, lock, open, peer, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	TSR_PART_OF(coop, TSR_PART_OF_NONE);
}

#pragma pop_macro("TSR_AT")

#endif

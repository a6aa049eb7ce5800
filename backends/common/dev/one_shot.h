/*
 * The all-reduce in one step (dev/reduction.h): each rank puts its elements to
 * all, in words that carry their own flag, takes those of all, and combines
 * them. compose.h includes this header.
 *
 * The blocks of a rank meet before the first word is put, and after the last
 * result is stored. A fence before the puts and one behind the takes let the
 * words carry what came before the call; so it is a barrier of all blocks of
 * all ranks, as the two steps are. Two inboxes by parity of the round are
 * enough: whoever puts round e + 2 has left round e + 1, for which all had left
 * round e.
 */
#ifndef TESSERA_COMMON_DEV_ONE_SHOT_H
#define TESSERA_COMMON_DEV_ONE_SHOT_H

#include "common/dev/exchange.h"
#include "tessera/dev/marked.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/reduction.h"

enum { TSR_ONE_SHOT_PIECE = 1024 }; /* elements */

/** What is combined, and where it goes: to one rank, or with TSR_ANY_RANK to all. */
typedef struct tsr_combine {
	tsr_view_t dst, src;
	tsr_reduce_t op;
	int32_t to;
	int64_t apart; /* as tsr_port_combine has it (combine.h) */
} tsr_combine_t;

/** A call that may be made in one step. */
typedef struct tsr_one_shot {
	int used;
	tsr_collect_t *c;
	TSR_HEAP uint64_t *state; /* as words */
	tsr_view_t dst, src;      /* without gaps */
	uint64_t target;          /* what the counts of this rank's blocks reach */
	uint32_t epoch;
} tsr_one_shot_t;

/** Whether a call is made in one step; the same on all ranks. */
TSR_FN int tsr_one_shot_suits(const tsr_coop_t *block, tsr_view_t dst, tsr_view_t src)
{
	const int64_t bytes = src.rows * src.cols * tsr_element_bytes(src.dtype);
	return !tsr_view_is_empty(src) && bytes <= TSR_ONE_SHOT_BYTES(tsr_size(block)) &&
	       tsr_view_has_no_gaps(dst) && tsr_view_has_no_gaps(src);
}

TSR_FN TSR_HEAP uint64_t *tsr_one_shot_arrived(const tsr_coop_t *block,
					       TSR_HEAP tsr_collective_state_t *state)
{
	return (TSR_HEAP uint64_t *)state + TSR_ONE_SHOT_ARRIVED(tsr_size(block));
}

TSR_FN TSR_HEAP uint64_t *tsr_one_shot_left(const tsr_coop_t *block,
					    TSR_HEAP tsr_collective_state_t *state)
{
	return (TSR_HEAP uint64_t *)state + TSR_ONE_SHOT_LEFT(tsr_size(block));
}

/** All blocks of this rank meet. One alone only counts. */
TSR_FN tsr_wait_result_t tsr_one_shot_meet(const tsr_one_shot_t *o, TSR_HEAP uint64_t *count)
{
	tsr_coop_t *block = o->c->block;
	const int me = tsr_rank(block);
	if (tsr_block_count(block) == 1) {
		tsr_atomic_add(block, count, tsr_gather_share(block), me, TSR_RELAXED,
			       TSR_SCOPE_DEVICE);
		tsr_sync(block);
		return TSR_WAIT_OK;
	}
	/* Partner: the wait below of this rank's other blocks. Litmus:
	 * MP.rel.acq.sameGPU-ww; of several additions, as MP.count.diffGPU-sss. */
	tsr_atomic_add(block, count, tsr_gather_share(block), me, TSR_RELEASE, TSR_SCOPE_DEVICE);
	/* Partner: the addition above of this rank's other blocks. Litmus: the same. */
	return tsr_wait_word(block, count, TSR_CMP_GE, o->target, me, TSR_ACQUIRE, TSR_SCOPE_DEVICE,
			     me, (uint64_t *)0);
}

/** The pieces of a message that one block moves: the last may be shorter. */
TSR_FN int64_t tsr_one_shot_pieces(tsr_view_t view)
{
	return tsr_tiles(view.rows * view.cols, TSR_ONE_SHOT_PIECE);
}

TSR_FN tsr_view_t tsr_one_shot_piece(tsr_view_t view, int64_t piece)
{
	const int64_t first = piece * TSR_ONE_SHOT_PIECE, left = view.rows * view.cols - first,
		      count = left < TSR_ONE_SHOT_PIECE ? left : TSR_ONE_SHOT_PIECE;
	return tsr_view_flat(view, first, count, count);
}

/** Where a piece lies in its message, in bytes. */
TSR_FN int64_t tsr_one_shot_offset(const tsr_one_shot_t *o, tsr_view_t piece)
{
	return (int64_t)((intptr_t)piece.data - (intptr_t)o->src.data);
}

/** The words of a piece that a rank has put, in my inbox or, if it is I, in all ranks'. */
TSR_FN TSR_HEAP uint64_t *tsr_one_shot_words(const tsr_one_shot_t *o, tsr_view_t piece, int from)
{
	const int ranks = tsr_size(o->c->block);
	const int64_t inbox = (int64_t)(o->epoch & 1) * ranks + from;
	return o->state + TSR_ONE_SHOT_INBOX(ranks) + inbox * (TSR_ONE_SHOT_BYTES(ranks) / 4) +
	       tsr_one_shot_offset(o, piece) / 4;
}

/** Where a piece of rank 0 lies when it has been taken; those of other ranks lie behind it. */
TSR_FN TSR_HEAP unsigned char *tsr_one_shot_taken(const tsr_one_shot_t *o, tsr_view_t piece)
{
	return (TSR_HEAP unsigned char *)(o->state + TSR_ONE_SHOT_TAKEN(tsr_size(o->c->block))) +
	       tsr_one_shot_offset(o, piece);
}

/**
 * Puts this block's pieces to all, and takes them from all. Whatever the numbers
 * of blocks, each piece is put by one call and taken by one on each rank.
 */
TSR_FN tsr_wait_result_t tsr_one_shot_exchange(const tsr_one_shot_t *o)
{
	tsr_coop_t *block = o->c->block;
	const int64_t pieces = tsr_one_shot_pieces(o->src), step = tsr_block_count(block);
	const int ranks = tsr_size(block);
	tsr_wait_result_t how = TSR_WAIT_OK;
	/* What came before the call, and goes with the words. Partner: the fence below, on every
	 * rank. Litmus: MP.frel.facq.diffGPU-ss. */
	tsr_fence(block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	for (int64_t i = tsr_block_index(block); i < pieces; i += step) {
		const tsr_view_t piece = tsr_one_shot_piece(o->src, i);
		tsr_put_all_marked(block, tsr_one_shot_words(o, piece, tsr_rank(block)), piece.data,
				   (size_t)tsr_view_span(piece), o->epoch);
	}
	for (int64_t i = tsr_block_index(block); i < pieces; i += step) {
		const tsr_view_t piece = tsr_one_shot_piece(o->src, i);
		for (int from = 0; from < ranks && how == TSR_WAIT_OK; from++)
			how = tsr_take_marked(block,
					      tsr_one_shot_taken(o, piece) +
						      from * TSR_ONE_SHOT_BYTES(ranks),
					      tsr_one_shot_words(o, piece, from),
					      (size_t)tsr_view_span(piece), o->epoch, from);
	}
	/* Partner: the fence above, on every rank. Litmus: MP.frel.facq.diffGPU-ss. */
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	return how;
}

/** What is combined of a piece that was taken, by the block that has taken it. */
TSR_FN tsr_combine_t tsr_one_shot_mine(const tsr_one_shot_t *o, tsr_reduce_t op, int64_t piece)
{
	tsr_coop_t *block = o->c->block;
	tsr_combine_t c = {tsr_one_shot_piece(o->dst, piece), tsr_one_shot_piece(o->src, piece), op,
			   tsr_rank(block), TSR_ONE_SHOT_BYTES(tsr_size(block))};
	c.src.data = tsr_one_shot_taken(o, c.src);
	return c;
}

TSR_FN tsr_one_shot_t tsr_one_shot_of(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src,
				      TSR_HEAP tsr_collective_state_t *state)
{
	const tsr_one_shot_t o = {tsr_one_shot_suits(c->block, dst, src),
				  c,
				  (TSR_HEAP uint64_t *)state,
				  dst,
				  src,
				  0,
				  0};
	return o;
}

/** All blocks of this rank have come, and this block's pieces of all ranks. */
TSR_FN tsr_wait_result_t tsr_one_shot_enter(tsr_one_shot_t *o)
{
	tsr_coop_t *block = o->c->block;
	TSR_HEAP tsr_collective_state_t *state = (TSR_HEAP tsr_collective_state_t *)o->state;
	/* relaxed is enough, as in tsr_gather_target */
	const uint64_t seen = tsr_atomic_load(block, tsr_one_shot_left(block, state),
					      tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
	o->target = (seen / TSR_GATHER_ROUND + 1) * TSR_GATHER_ROUND;
	o->epoch = (uint32_t)(o->target / TSR_GATHER_ROUND);
	const tsr_wait_result_t how = tsr_one_shot_meet(o, tsr_one_shot_arrived(block, state));
	return how == TSR_WAIT_OK ? tsr_one_shot_exchange(o) : how;
}

TSR_FN tsr_wait_result_t tsr_one_shot_leave(const tsr_one_shot_t *o)
{
	return tsr_one_shot_meet(o, tsr_one_shot_left(o->c->block,
						      (TSR_HEAP tsr_collective_state_t *)o->state));
}

#endif

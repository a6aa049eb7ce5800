/*
 * Collectives in one step (dev/collective.h): each rank puts its messages in
 * words that carry their own flag, and takes those of all. compose.h includes
 * this header.
 *
 * The blocks of a rank meet before the first word is put, and after the last is
 * used. Each has a share of every message; two ranks need not cut it alike. Two
 * inboxes by parity of the round are enough: whoever puts round e + 2 has left
 * round e + 1, which all had begun after they had left round e.
 *
 * A call in one step is a barrier of all blocks of all ranks, as one in two
 * steps is. Words carry themselves alone, a rank may have none for another, and
 * what one has sent must not be stored while another may still read there. So
 * each rank also signals that it has begun, which goes beside the words, and
 * nothing is stored before all have.
 */
#ifndef TESSERA_COMMON_DEV_ONE_SHOT_H
#define TESSERA_COMMON_DEV_ONE_SHOT_H

#include "common/dev/collect.h"
#include "common/dev/words.h"
#include "tessera/dev/marked.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/reduction.h"

/** A block's share of a message: what it puts, or where it stores, and which words. */
typedef struct tsr_one_shot_share {
	tsr_view_t view;          /* may be empty */
	int64_t first, row_words; /* the first word, and the words from one row to the next */
} tsr_one_shot_share_t;

/** A call that may be made in one step. */
typedef struct tsr_one_shot {
	int used;
	tsr_collect_t *c;
	TSR_HEAP uint64_t *state; /* as words */
	uint64_t target;          /* what the counts of this rank's blocks reach */
	uint32_t epoch;
} tsr_one_shot_t;

/* ------------------------------------------------------------------ choice */

/**
 * What a message of one step may have, in bytes. Between nodes it is less: each
 * rank sends its words to every rank there, at twice their bytes, and saves two
 * meetings and a step.
 */
TSR_FN int64_t tsr_one_shot_most(const tsr_coop_t *block)
{
	const int64_t most = TSR_ONE_SHOT_BYTES_IN_KERNEL(tsr_size(block));
	return TSR_BY_NODES(block, most < TSR_ONE_SHOT_FAR_BYTES ? most : TSR_ONE_SHOT_FAR_BYTES,
			    most);
}

/**
 * Whether messages are small enough for one step: of a matrix of `rows` x `cols`
 * elements, which the ranks have cut into parts by rows, by columns, or by both.
 * All ranks pass the same, so that all choose alike.
 */
TSR_FN int tsr_one_shot_suits(const tsr_coop_t *block, int64_t rows, int64_t cols, int32_t dtype,
			      int by_rows, int by_cols)
{
	const int ranks = tsr_size(block);
	const int64_t most_rows = tsr_tiles(rows, by_rows ? ranks : 1),
		      most_cols = tsr_tiles(cols, by_cols ? ranks : 1),
		      words = TSR_MARKED_WORDS(most_cols * tsr_element_bytes(dtype));
	const int64_t most = tsr_one_shot_most(block);
	return rows > 0 && cols > 0 && most_rows <= most && words <= most &&
	       4 * most_rows * words <= most;
}

TSR_FN tsr_one_shot_t tsr_one_shot_of(tsr_collect_t *c, TSR_HEAP tsr_collective_state_t *state,
				      int used)
{
	const tsr_one_shot_t o = {used, c, (TSR_HEAP uint64_t *)state, 0, 0};
	return o;
}

TSR_FN TSR_HEAP uint64_t *tsr_one_shot_arrived(const tsr_one_shot_t *o)
{
	return o->state + TSR_ONE_SHOT_ARRIVED(tsr_size(o->c->block));
}

TSR_FN TSR_HEAP uint64_t *tsr_one_shot_left(const tsr_one_shot_t *o)
{
	return o->state + TSR_ONE_SHOT_LEFT(tsr_size(o->c->block));
}

/*
 * What a checker knows a call by, and the count whose rounds number the calls:
 * those in one step have counts of their own, and so rounds of their own.
 */
TSR_FN TSR_HEAP void *tsr_one_shot_key(const tsr_one_shot_t *o)
{
	return o->used ? tsr_one_shot_arrived(o) : o->state;
}

/** Words of the state from there on. */
TSR_FN int64_t tsr_one_shot_words(const tsr_one_shot_t *o)
{
	const int ranks = tsr_size(o->c->block);
	return TSR_COLLECTIVE_WORDS(ranks) - (o->used ? TSR_ONE_SHOT_ARRIVED(ranks) : 0);
}

TSR_FN TSR_HEAP uint64_t *tsr_one_shot_rounds(const tsr_one_shot_t *o)
{
	return o->used ? tsr_one_shot_left(o)
		       : tsr_gather_count(o->c->counts, TSR_GATHER_READY(tsr_rank(o->c->block)));
}

/* ------------------------------------------------------------------ meetings */

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

/** Numbers the round. */
TSR_FN void tsr_one_shot_number(tsr_one_shot_t *o)
{
	/* relaxed is enough, as in tsr_gather_target */
	const uint64_t seen = tsr_atomic_load(o->c->block, tsr_one_shot_left(o),
					      tsr_rank(o->c->block), TSR_RELAXED, TSR_SCOPE_DEVICE);
	o->target = (seen / TSR_GATHER_ROUND + 1) * TSR_GATHER_ROUND;
	o->epoch = (uint32_t)(o->target / TSR_GATHER_ROUND);
}

/** All blocks of this rank have come. */
TSR_FN tsr_wait_result_t tsr_one_shot_arrive(tsr_one_shot_t *o)
{
	tsr_one_shot_number(o);
	return tsr_one_shot_meet(o, tsr_one_shot_arrived(o));
}

TSR_FN tsr_wait_result_t tsr_one_shot_leave(const tsr_one_shot_t *o)
{
	return tsr_one_shot_meet(o, tsr_one_shot_left(o));
}

/** Tells all ranks that all blocks of this one have come. */
TSR_FN void tsr_one_shot_tell(const tsr_one_shot_t *o)
{
	tsr_coop_t *block = o->c->block;
	const int64_t mine = TSR_ONE_SHOT_BEGUN(tsr_size(block), tsr_rank(block));
	/* READY of what came before the call, and RETIRED of dst and of the inbox of the round
	 * before. Partner: tsr_one_shot_hear on every rank. Litmus: MP.mcast.diffGPU-sss,
	 * LB.retired.diffGPU-ss. */
	if (tsr_block_index(block) == 0)
		tsr_signal_all(block, o->state + mine, o->target, TSR_SIGNAL_SET);
}

TSR_FN tsr_wait_result_t tsr_one_shot_hear(const tsr_one_shot_t *o)
{
	tsr_coop_t *block = o->c->block;
	const int ranks = tsr_size(block);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int i = 1; i < ranks && how == TSR_WAIT_OK; i++) {
		const int from = tsr_peer(block, i);
		/* Partner: tsr_one_shot_tell on `from`. Litmus: MP.mcast.diffGPU-sss,
		 * LB.retired.diffGPU-ss. */
		how = tsr_wait(block, o->state + TSR_ONE_SHOT_BEGUN(ranks, from), o->target, from);
	}
	return how;
}

/* ------------------------------------------------------------------ messages */

/**
 * The share of this block: whole rows, or where there are fewer rows than blocks,
 * words of each row. `turn` gives the first share of several messages to several
 * blocks. A rank cuts a message that it stores over as it did when it put it.
 */
TSR_FN tsr_one_shot_share_t tsr_one_shot_share(const tsr_one_shot_t *o, tsr_view_t message,
					       int turn)
{
	const int32_t bytes = (int32_t)tsr_element_bytes(message.dtype),
		      blocks = tsr_block_count(o->c->block),
		      index = (tsr_block_index(o->c->block) + turn) % blocks;
	tsr_one_shot_share_t share = {message, 0, 0};
	if (tsr_view_is_empty(message))
		return share;
	if (tsr_view_has_no_gaps(message) && message.cols * bytes % 4 == 0)
		message = tsr_view_flat(message, 0, message.rows * message.cols,
					message.rows * message.cols);
	/* a message is small: 32 bits hold all of this, and are divided in much less time */
	const int32_t rows = (int32_t)message.rows, words = ((int32_t)message.cols * bytes + 3) / 4;
	tsr_pos_t at = {0, 0};
	share.row_words = words;
	if (rows >= blocks) {
		const int32_t each = (rows + blocks - 1) / blocks;
		at.row = (int64_t)index * each;
		share.view = tsr_view_part(message, at, each, message.cols);
	} else {
		/* an even number: elements may have two words */
		const int32_t each = (words + 2 * blocks - 1) / (2 * blocks) * 2;
		at.col = (int64_t)index * each * 4 / bytes;
		share.view = tsr_view_part(message, at, message.rows, (int64_t)each * 4 / bytes);
	}
	share.first = at.row * words + at.col * bytes / 4;
	return share;
}

/** The words that a rank has put, in my inbox or, if it is I, in all ranks'. */
TSR_FN TSR_HEAP uint64_t *tsr_one_shot_inbox(const tsr_one_shot_t *o, int from)
{
	const int ranks = tsr_size(o->c->block);
	const int64_t inbox = (int64_t)(o->epoch & 1) * ranks + from;
	return o->state + TSR_ONE_SHOT_INBOX(ranks) + inbox * (TSR_ONE_SHOT_BYTES(ranks) / 4);
}

/** Puts a share of a message to one rank, or to all with TSR_ANY_RANK. */
TSR_FN void tsr_one_shot_put_share(const tsr_one_shot_t *o, tsr_one_shot_share_t share, int peer)
{
	if (!tsr_view_is_empty(share.view))
		tsr_port_put_words(o->c->block,
				   tsr_one_shot_inbox(o, tsr_rank(o->c->block)) + share.first,
				   share.row_words, share.view, o->epoch, peer);
}

/** Takes a share of the message of one rank. */
TSR_FN tsr_wait_result_t tsr_one_shot_take_share(const tsr_one_shot_t *o,
						 tsr_one_shot_share_t share, int from)
{
	if (tsr_view_is_empty(share.view))
		return TSR_WAIT_OK;
	return tsr_port_take_words(o->c->block, share.view,
				   tsr_one_shot_inbox(o, from) + share.first, share.row_words,
				   o->epoch, from);
}

/** Takes a share of the messages of all ranks, and combines them there. */
TSR_FN tsr_wait_result_t tsr_one_shot_combine_share(const tsr_one_shot_t *o,
						    tsr_one_shot_share_t share, tsr_reduce_t op)
{
	const int ranks = tsr_size(o->c->block);
	const tsr_one_shot_words_t words = {
		tsr_one_shot_inbox(o, 0) + share.first, share.row_words,
		TSR_ONE_SHOT_BYTES(ranks) / 4,
		(TSR_HEAP unsigned char *)(o->state + TSR_ONE_SHOT_TAKEN(ranks)) + share.first * 4};
	if (tsr_view_is_empty(share.view))
		return TSR_WAIT_OK;
	return tsr_port_combine_words(o->c->block, share.view, words, o->epoch, op);
}

/** Puts this block's share of a message. */
TSR_FN void tsr_one_shot_put(const tsr_one_shot_t *o, tsr_view_t message, int peer, int turn)
{
	tsr_one_shot_put_share(o, tsr_one_shot_share(o, message, turn), peer);
}

/** Takes this block's share of the message of one rank to `place`. */
TSR_FN tsr_wait_result_t tsr_one_shot_take(const tsr_one_shot_t *o, tsr_view_t place, int from,
					   int turn)
{
	return tsr_one_shot_take_share(o, tsr_one_shot_share(o, place, turn), from);
}

/** Takes this block's share of the messages of all ranks, and combines them to `dst`. */
TSR_FN tsr_wait_result_t tsr_one_shot_combine(const tsr_one_shot_t *o, tsr_view_t dst,
					      tsr_reduce_t op)
{
	return tsr_one_shot_combine_share(o, tsr_one_shot_share(o, dst, 0), op);
}

#endif

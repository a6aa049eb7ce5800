/*
 * Short collectives on a stream (short_call.h): one step, as in one_shot.h, and no
 * meeting within the kernel. compose.h includes this header.
 *
 * The stream makes the meetings that calls within a kernel need. All blocks of
 * the call before have ended when a kernel begins, so it may use the inbox of
 * the round before the last one; and what they wrote is there. Each rank has a
 * word for every other, so a rank that has taken its words knows that all others
 * have begun: no signal says so.
 */
#ifndef TESSERA_COMMON_DEV_SHORT_H
#define TESSERA_COMMON_DEV_SHORT_H

#include "common/dev/one_shot.h"
#include "common/dev/short_call.h"

/** This block's part of the message at `message.data`. May be empty. */
TSR_FN tsr_one_shot_share_t tsr_short_share(const tsr_one_shot_t *o, const tsr_short_call_t *a,
					    tsr_view_t message)
{
	if (message.rows != 1)
		return tsr_one_shot_share(o, message, 0);
	const int32_t index = tsr_block_index(o->c->block), first = index * a->each,
		      left = (int32_t)message.cols - first;
	tsr_one_shot_share_t share = {message, (int64_t)index * a->each_bytes / 4,
				      a->each_bytes / 4};
	share.view.data = (TSR_HEAP unsigned char *)message.data + (int64_t)index * a->each_bytes;
	share.view.cols = left < a->each ? left : a->each;
	return share;
}

TSR_FN tsr_view_t tsr_short_message(tsr_view_t first, int64_t apart, int rank)
{
	first.data = (TSR_HEAP unsigned char *)first.data + rank * apart;
	return first;
}

TSR_FN const char *tsr_short_name(const tsr_short_call_t *a)
{
	return a->kind == TSR_SHORT_ALL_GATHER   ? "tsr_all_gather_view"
	       : a->kind == TSR_SHORT_ALL_TO_ALL ? "tsr_all_to_all"
	       : a->kind == TSR_SHORT_ALL_REDUCE ? "tsr_all_reduce_view"
						 : "tsr_reduce_scatter";
}

/** Tells a port that compares calls what all ranks pass alike. */
TSR_FN void tsr_short_compare(const tsr_one_shot_t *o, const tsr_short_call_t *a)
{
	const int parts = a->dst_apart == 0 && a->src_apart == 0 ? 1 : tsr_size(o->c->block),
		  reads = a->kind == TSR_SHORT_REDUCE_SCATTER,
		  combines = reads || a->kind == TSR_SHORT_ALL_REDUCE;
	TSR_COLLECTIVE(o->c->block, o->c->call, tsr_one_shot_key(o), tsr_one_shot_rounds(o),
		       TSR_GATHER_ROUND, reads ? a->src.data : a->dst.data, combines,
		       parts * tsr_collect_bytes(a->dst.rows, a->dst.cols, a->dst.dtype), 0,
		       tsr_one_shot_words(o),
		       tsr_collect_how((tsr_reduce_t)a->op, TSR_DIM_ROWS, TSR_DIM_ROWS, a->dst));
	(void)parts, (void)combines;
}

/**
 * The round's number. What this rank's stream did before comes before the words
 * that this block puts.
 */
TSR_FN tsr_one_shot_t tsr_short_begin(tsr_collect_t *c, const tsr_short_call_t *a)
{
	tsr_one_shot_t o = tsr_one_shot_of(c, a->state, 1);
	tsr_short_compare(&o, a);
	tsr_one_shot_number(&o);
	/* READY of what came before, and RETIRED of dst. Partner: the fence of tsr_short_hear on
	 * every rank. Litmus: MP.frel.facq.diffGPU-ss, LB.retired.diffGPU-ss. */
	tsr_fence(c->block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	return o;
}

/** Puts this block's part of each message. */
TSR_FN void tsr_short_put(const tsr_one_shot_t *o, const tsr_short_call_t *a)
{
	tsr_coop_t *block = o->c->block;
	if (a->src_apart == 0) {
		tsr_one_shot_put_share(o, tsr_short_share(o, a, a->src), TSR_ANY_RANK);
		return;
	}
	for (int i = 0; i < tsr_size(block); i++) {
		const int peer = tsr_peer(block, i);
		const tsr_view_t message = tsr_short_message(a->src, a->src_apart, peer);
		tsr_one_shot_put_share(o, tsr_short_share(o, a, message), peer);
	}
}

/**
 * Waits until all other ranks have begun: for the first word of this block's part
 * of each one's message. Before that they may still read `dst`. A fence of the
 * coop is by the thread that takes that word.
 */
TSR_FN tsr_wait_result_t tsr_short_hear(const tsr_one_shot_t *o, const tsr_short_call_t *a)
{
	tsr_coop_t *block = o->c->block;
	const int ranks = tsr_size(block);
	const tsr_one_shot_share_t share = tsr_short_share(o, a, a->dst);
	const tsr_view_t word = {(TSR_HEAP unsigned char *)(o->state + TSR_ONE_SHOT_TAKEN(ranks)) +
					 share.first * 4,
				 1,
				 4,
				 4,
				 TSR_U8,
				 TSR_SPACE_HEAP};
	tsr_wait_result_t how = TSR_WAIT_OK;
	if (tsr_view_is_empty(share.view))
		return how;
	for (int i = 1; i < ranks && how == TSR_WAIT_OK; i++) {
		const int from = tsr_peer(block, i);
		how = tsr_port_take_words(block, word, tsr_one_shot_inbox(o, from) + share.first, 1,
					  o->epoch, from);
	}
	/* Partner: the fence of tsr_short_begin on every rank. Litmus: MP.frel.facq.diffGPU-ss,
	 * LB.retired.diffGPU-ss. */
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	return how;
}

/** Takes this block's part of the message from one rank. */
TSR_FN tsr_wait_result_t tsr_short_take(const tsr_one_shot_t *o, const tsr_short_call_t *a,
					int from)
{
	const tsr_view_t message = tsr_short_message(a->dst, a->dst_apart, from);
	return tsr_one_shot_take_share(o, tsr_short_share(o, a, message), from);
}

/** Counts the round, for the next one's number, if all has come. */
TSR_FN void tsr_short_end(const tsr_one_shot_t *o, tsr_wait_result_t how)
{
	tsr_coop_t *block = o->c->block;
	const int me = tsr_rank(block);
	if (tsr_collect_return(o->c, how) != TSR_WAIT_OK)
		return;
	/* Relaxed: what reads these counts is ordered behind this kernel. */
	tsr_atomic_add(block, tsr_one_shot_arrived(o), tsr_gather_share(block), me, TSR_RELAXED,
		       TSR_SCOPE_DEVICE);
	tsr_atomic_add(block, tsr_one_shot_left(o), tsr_gather_share(block), me, TSR_RELAXED,
		       TSR_SCOPE_DEVICE);
}

TSR_DEV_OWN void tsr_short_move(tsr_coop_t *block, const tsr_short_call_t *a)
{
	tsr_collect_t c = tsr_collect(block, tsr_short_name(a), a->state);
	tsr_one_shot_t o = tsr_short_begin(&c, a);
	tsr_short_put(&o, a);
	tsr_wait_result_t how = tsr_short_hear(&o, a);
	for (int i = 0; i < tsr_size(block) && how == TSR_WAIT_OK; i++)
		how = tsr_short_take(&o, a, tsr_peer(block, i));
	tsr_short_end(&o, how);
}

TSR_DEV_OWN void tsr_short_combine(tsr_coop_t *block, const tsr_short_call_t *a)
{
	tsr_collect_t c = tsr_collect(block, tsr_short_name(a), a->state);
	tsr_one_shot_t o = tsr_short_begin(&c, a);
	tsr_short_put(&o, a);
	tsr_wait_result_t how = tsr_short_hear(&o, a);
	if (how == TSR_WAIT_OK)
		how = tsr_one_shot_combine_share(&o, tsr_short_share(&o, a, a->dst),
						 (tsr_reduce_t)a->op);
	tsr_short_end(&o, how);
}

#endif

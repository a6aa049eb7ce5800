/*
 * What the bodies of all collectives on views share (dev/collective.h): checks
 * of a call, and the two meetings of all blocks of all ranks. compose.h includes
 * this header.
 */
#ifndef TESSERA_COMMON_DEV_COLLECT_H
#define TESSERA_COMMON_DEV_COLLECT_H

#include "common/dev/nodes.h"
#include "common/dev/views.h"

#define TSR_VIEWS_CURE "look up in its contract how src is cut, and what dst then has"
#define TSR_SHARED_CURE "give src and dst memory of their own, or call it in place as it allows"
#define TSR_SPACE_CURE "make views of the heap by tsr_view"

/** One call, as its entry and its end need it. */
typedef struct tsr_collect {
	tsr_coop_t *block;
	const char *call;
	TSR_HEAP tsr_all_gather_state_t *counts; /* of a collective: the same counts */
	uint64_t target;
} tsr_collect_t;

TSR_FN tsr_collect_t tsr_collect(tsr_coop_t *block, const char *call,
				 TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = {block, call, (TSR_HEAP tsr_all_gather_state_t *)state, 0};
	TSR_PART_OF(block, call);
	return c;
}

TSR_FN tsr_wait_result_t tsr_collect_return(tsr_collect_t *c, tsr_wait_result_t how)
{
	(void)c;
	TSR_PART_OF(c->block, TSR_PART_OF_NONE);
	return how;
}

/** Whether the views can be of one call; one that cannot ends the world. */
TSR_FN int tsr_collect_takes(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src)
{
	if (dst.space != TSR_SPACE_HEAP || src.space != TSR_SPACE_HEAP)
		TSR_REFUSE(c->block, c->call, TSR_SPACE_CURE, "of a view of shared memory");
	else if (dst.dtype != src.dtype)
		TSR_REFUSE(c->block, c->call, "pass views of one dtype",
			   "from a view of dtype %d to one of dtype %d", (int)src.dtype,
			   (int)dst.dtype);
	else
		return 1;
	return 0;
}

/** Whether a place has the extents of the piece that goes there. */
TSR_FN int tsr_collect_fits(tsr_collect_t *c, tsr_view_t place, int64_t rows, int64_t cols)
{
	if ((place.rows == rows && place.cols == cols) ||
	    (tsr_view_is_empty(place) && (rows < 1 || cols < 1)))
		return 1;
	TSR_REFUSE(c->block, c->call, TSR_VIEWS_CURE,
		   "of %lld x %lld elements to a place of %lld x %lld", (long long)rows,
		   (long long)cols, (long long)place.rows, (long long)place.cols);
	return 0;
}

/** Whether `dst` and `src` share no memory, or the call is in place. */
TSR_FN int tsr_collect_apart(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src, int in_place)
{
	if (in_place || !tsr_views_share_memory(dst, src))
		return 1;
	TSR_REFUSE(c->block, c->call, TSR_SHARED_CURE,
		   "of views that share memory, in a way that is not in place");
	return 0;
}

/**
 * Parameters that all ranks pass alike, as one number for a port that compares
 * calls: bytes from the lowest on for the operation, both dimensions and the dtype, and above
 * them the distance between rows of the view that others reach.
 */
TSR_FN uint64_t tsr_collect_how(tsr_reduce_t op, tsr_dim_t dim, tsr_dim_t place, tsr_view_t reached)
{
	const uint64_t apart = reached.rows > 1 ? (uint32_t)reached.ld : 0;
	return (uint64_t)(op & 0xff) | (uint64_t)(dim & 0xff) << 8 |
	       (uint64_t)(place & 0xff) << 16 | (uint64_t)(reached.dtype & 0xff) << 24 |
	       apart << 32;
}

/** Bytes of a matrix, which all ranks pass alike. */
TSR_FN size_t tsr_collect_bytes(int64_t rows, int64_t cols, int32_t dtype)
{
	return (size_t)(rows * cols * tsr_element_bytes(dtype));
}

TSR_FN tsr_wait_result_t tsr_collect_enter_flat(tsr_collect_t *c)
{
	tsr_coop_t *block = c->block;
	tsr_wait_result_t how;
	/* READY of src and RETIRED of dst. Partner: the waits below on every rank. Litmus:
	 * MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
	tsr_signal_all(block, tsr_gather_count(c->counts, TSR_GATHER_RETIRED(tsr_rank(block))),
		       tsr_gather_share(block), TSR_SIGNAL_ADD);
	int next = 0;
	do { /* a team has a rank */
		const int from = tsr_peer(block, next);
		/* Partner: the signal above, of all blocks of `from`. Litmus:
		 * MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
		how = tsr_wait(block, tsr_gather_count(c->counts, TSR_GATHER_RETIRED(from)),
			       c->target, from);
	} while (++next < tsr_size(block) && how == TSR_WAIT_OK);
	return how;
}

/**
 * Tells all ranks that this block has arrived, and waits for all blocks of all
 * ranks. Then every `src` is written and every `dst` no longer used.
 */
TSR_FN tsr_wait_result_t tsr_collect_enter(tsr_collect_t *c)
{
	c->target = tsr_gather_target(c->block, c->counts);
	return TSR_BY_NODES(c->block,
			    tsr_nodes_meet(c->block,
					   tsr_gather_count(c->counts, TSR_GATHER_RETIRED(0)),
					   TSR_GATHER_RETIRED(1) - TSR_GATHER_RETIRED(0),
					   c->target),
			    tsr_collect_enter_flat(c));
}

TSR_FN tsr_wait_result_t tsr_collect_leave_flat(tsr_collect_t *c)
{
	tsr_coop_t *block = c->block;
	tsr_wait_result_t how;
	/* READY of dst and RETIRED of src. Partner: the waits below on every rank. Litmus:
	 * MP.mcast.diffGPU-sss, LB.retired.diffGPU-ss. */
	tsr_signal_all(block, tsr_gather_count(c->counts, TSR_GATHER_READY(tsr_rank(block))),
		       tsr_gather_share(block), TSR_SIGNAL_ADD);
	int next = 0;
	do { /* a team has a rank */
		const int from = tsr_peer(block, next);
		/* Partner: the signal above, of all blocks of `from`. Litmus:
		 * MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
		how = tsr_wait(block, tsr_gather_count(c->counts, TSR_GATHER_READY(from)),
			       c->target, from);
	} while (++next < tsr_size(block) && how == TSR_WAIT_OK);
	return how;
}

/**
 * Tells all ranks that this block has moved its part, and waits for all blocks
 * of all ranks. Then every `dst` is there and every `src` has been read.
 */
TSR_FN tsr_wait_result_t tsr_collect_leave(tsr_collect_t *c)
{
	return TSR_BY_NODES(c->block,
			    tsr_nodes_meet(c->block,
					   tsr_gather_count(c->counts, TSR_GATHER_READY(0)),
					   TSR_GATHER_READY(1) - TSR_GATHER_READY(0), c->target),
			    tsr_collect_leave_flat(c));
}

/** This block's share of a view. */
TSR_FN tsr_view_t tsr_collect_mine(const tsr_collect_t *c, tsr_view_t view)
{
	return tsr_view_share(view, tsr_block_index(c->block), tsr_block_count(c->block));
}

#endif

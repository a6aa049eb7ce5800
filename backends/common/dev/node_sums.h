/*
 * Sums, maxima and minima in teams that span nodes: the members of a node combine
 * first, and what they have together crosses once. compose.h includes this
 * header.
 *
 * Each rank owns a part of the result. In every other node one member, the
 * owner's server there, combines what its node has of that part, and puts this
 * partial into a slot of the owner. The owner combines its own node's members and
 * the partials, in the order of nodes. Slots hold a chunk of a part, and there are
 * two of them for each node: a server fills one while the owner reads the other.
 * Each has counts of its own. A block of a server may be a chunk ahead of the
 * others, and one count of both slots would take its part for theirs.
 */
#ifndef TESSERA_COMMON_DEV_NODE_SUMS_H
#define TESSERA_COMMON_DEV_NODE_SUMS_H

#include "common/dev/one_shot.h"
#include "common/dev/partials.h"
#include "common/dev/spread.h"

#if TSR_PORT_NODES

/** What becomes of a part: its owner keeps it, gives it to all, or to one rank. */
enum { TSR_SUM_KEPT = -2, TSR_SUM_SPREAD = -1 };

typedef struct tsr_node_sum {
	tsr_collect_t *c;
	tsr_pieces_t src; /* the parts of all owners */
	tsr_view_t dst;   /* of my part */
	tsr_reduce_t op;
	int to; /* TSR_SUM_KEPT, TSR_SUM_SPREAD, or the root */
	TSR_HEAP uint64_t *nodes;
	TSR_HEAP unsigned char *slots;
	int64_t slot_bytes, rows, cols; /* rows, cols: of a chunk */
	int64_t chunks, chunks_across;
	int servers; /* without them each owner reads what all ranks have */
	tsr_nodes_rounds_t rounds;
} tsr_node_sum_t;

/* ------------------------------------------------------------------ what crosses */

/**
 * Whether partials are at most as many bytes as what they are made of. Sums of
 * short elements are not rounded, so they pay only where a node has some members.
 */
TSR_FN int tsr_node_sum_pays(const tsr_coop_t *block, int32_t dtype, tsr_reduce_t op)
{
	const int ranks = tsr_size(block);
	int64_t partials = 0, elements = 0;
	for (int k = 0; k < tsr_port_nodes(block); k++) {
		const int members = tsr_port_node_members(block, k);
		partials += tsr_element_bytes(tsr_partial_dtype(dtype, op, members)) *
			    (ranks - members);
		elements += tsr_element_bytes(dtype) * members * (ranks - members);
	}
	return partials <= elements;
}

/** Cuts parts into chunks, alike on all ranks: no partial is larger than a slot. */
TSR_FN void tsr_node_sum_cut(tsr_node_sum_t *s)
{
	tsr_coop_t *block = s->c->block;
	const int64_t held = s->src.all.dtype == TSR_F64 ? 8 : 4;
	int64_t rows = 0, cols = 0;
	for (int r = 0; r < tsr_size(block); r++) {
		const tsr_view_t part = tsr_piece(block, &s->src, r);
		rows = part.rows > rows ? part.rows : rows;
		cols = part.cols > cols ? part.cols : cols;
	}
	const int64_t room = s->slot_bytes / held,
		      lines = room > TSR_COMBINE_LINE ? room / TSR_COMBINE_LINE * TSR_COMBINE_LINE
						      : room;
	s->rows = rows;
	s->cols = cols;
	if (s->servers && cols > room)
		s->cols = lines;
	if (s->servers && s->cols > 0 && rows > room / s->cols)
		s->rows = room / s->cols;
	s->chunks_across = s->cols > 0 ? tsr_tiles(cols, s->cols) : 0;
	s->chunks = s->rows > 0 ? tsr_tiles(rows, s->rows) * s->chunks_across : 0;
}

TSR_FN tsr_node_sum_t tsr_node_sum_of(tsr_collect_t *c, tsr_pieces_t src, tsr_view_t dst,
				      tsr_reduce_t op, int to,
				      TSR_HEAP tsr_collective_state_t *state)
{
	const int ranks = tsr_size(c->block), others = tsr_port_nodes(c->block) - 1;
	tsr_node_sum_t s;
	s.c = c;
	s.src = src;
	s.dst = dst;
	s.op = op;
	s.to = to;
	s.nodes = tsr_nodes_words(c->block, state);
	/* the room of calls in one step, of which none is under way */
	s.slots = (TSR_HEAP unsigned char *)state +
		  TSR_ONE_SHOT_TAKEN(ranks) * (int64_t)sizeof(uint64_t);
	s.slot_bytes = tsr_quotient(TSR_NODES_ROOM, 2 * others) / 128 * 128;
	s.servers = tsr_node_sum_pays(c->block, src.all.dtype, op);
	s.rounds = tsr_nodes_rounds(c->block, s.nodes);
	tsr_node_sum_cut(&s);
	return s;
}

TSR_FN tsr_view_t tsr_node_sum_chunk(const tsr_node_sum_t *s, tsr_view_t part, int64_t chunk)
{
	const int64_t down = tsr_quotient(chunk, s->chunks_across);
	const tsr_pos_t at = {down * s->rows, (chunk - down * s->chunks_across) * s->cols};
	return tsr_view_part(part, at, s->rows, s->cols);
}

TSR_FN tsr_view_t tsr_node_sum_mine(const tsr_node_sum_t *s, tsr_view_t chunk)
{
	return tsr_combine_part(chunk, tsr_block_index(s->c->block), tsr_block_count(s->c->block));
}

/** The slots of an owner for a chunk: those of all other nodes. */
TSR_FN tsr_partials_t tsr_node_sum_slots(const tsr_node_sum_t *s, int64_t chunk, tsr_view_t of)
{
	const int others = tsr_port_nodes(s->c->block) - 1;
	const tsr_partials_t p = {s->slots + (chunk & 1) * others * s->slot_bytes,
				  s->slot_bytes,
				  of.rows,
				  of.cols,
				  tsr_block_index(s->c->block),
				  tsr_block_count(s->c->block),
				  of.dtype,
				  (int32_t)s->op};
	return p;
}

/* ------------------------------------------------------------------ servers */

/** Puts this block's share of the partial of one chunk to its owner. */
TSR_FN void tsr_node_sum_fill(const tsr_node_sum_t *s, int owner, int64_t chunk)
{
	tsr_coop_t *block = s->c->block;
	const int node = tsr_my_node(block), theirs = tsr_port_node(block, owner);
	const tsr_view_t of = tsr_node_sum_chunk(s, tsr_piece(block, &s->src, owner), chunk),
			 mine = tsr_node_sum_mine(s, of);
	const tsr_partials_t slots = tsr_node_sum_slots(s, chunk, of);
	if (!tsr_view_is_empty(mine))
		tsr_port_combine_node(block,
				      tsr_partial(&slots, node < theirs ? node : node - 1,
						  tsr_port_node_members(block, node)),
				      mine, s->op, owner);
	/* READY of the slot, and RETIRED of src. Partner: tsr_node_sum_take on the owner.
	 * Litmus: MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
	tsr_signal(block, s->nodes + TSR_NODES_FILLED(tsr_size(block), tsr_rank(block), chunk & 1),
		   tsr_gather_share(block), TSR_SIGNAL_ADD, owner);
}

/** Serves the owners of other nodes, a chunk of each. */
TSR_FN tsr_wait_result_t tsr_node_sum_serve(const tsr_node_sum_t *s, int64_t chunk)
{
	tsr_coop_t *block = s->c->block;
	const int me = tsr_rank(block), ranks = tsr_size(block), node = tsr_my_node(block);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int i = 1; i < ranks && how == TSR_WAIT_OK; i++) {
		const int owner = tsr_peer(block, i);
		if (tsr_port_node(block, owner) == node ||
		    tsr_node_server(block, node, owner) != me)
			continue;
		/* RETIRED of the slot: two chunks ago it was filled last. Partner: the signal of
		 * tsr_node_sum_take on the owner. Litmus: LB.retired.diffGPU-ss,
		 * MP.reuse.diffGPU-ss. */
		if (chunk > 1)
			how = tsr_wait(block, s->nodes + TSR_NODES_DRAINED(ranks, owner, chunk & 1),
				       (s->rounds.drained[chunk & 1] + (uint64_t)chunk / 2) *
					       TSR_GATHER_ROUND,
				       owner);
		if (how == TSR_WAIT_OK)
			tsr_node_sum_fill(s, owner, chunk);
	}
	return how;
}

/* ------------------------------------------------------------------ owners */

/** Waits for the partials of one chunk of my part. */
TSR_FN tsr_wait_result_t tsr_node_sum_await(const tsr_node_sum_t *s, int64_t chunk)
{
	tsr_coop_t *block = s->c->block;
	const int me = tsr_rank(block), node = tsr_my_node(block);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int k = 0; k < tsr_port_nodes(block) && how == TSR_WAIT_OK; k++) {
		if (k == node)
			continue;
		const int from = tsr_node_server(block, k, me);
		/* Partner: the signal of tsr_node_sum_fill, of all blocks of `from`. Litmus:
		 * MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
		how = tsr_wait(block, s->nodes + TSR_NODES_FILLED(tsr_size(block), from, chunk & 1),
			       (s->rounds.filled[chunk & 1] + (uint64_t)chunk / 2 + 1) *
				       TSR_GATHER_ROUND,
			       from);
	}
	return how;
}

/** The slots of a chunk may be filled again, by the next chunk but one. */
TSR_FN void tsr_node_sum_drained(const tsr_node_sum_t *s, int64_t chunk)
{
	tsr_coop_t *block = s->c->block;
	const int me = tsr_rank(block), node = tsr_my_node(block);
	for (int k = 0; k < tsr_port_nodes(block); k++)
		if (k != node)
			/* RETIRED of the slot. Partner: the wait of tsr_node_sum_serve. Litmus:
			 * LB.retired.diffGPU-ss, MP.reuse.diffGPU-ss. */
			tsr_signal(block,
				   s->nodes + TSR_NODES_DRAINED(tsr_size(block), me, chunk & 1),
				   tsr_gather_share(block), TSR_SIGNAL_ADD,
				   tsr_node_server(block, k, me));
}

/** Combines this block's share of one chunk of my part, and gives it to whom it is for. */
TSR_FN tsr_wait_result_t tsr_node_sum_take(const tsr_node_sum_t *s, int64_t chunk)
{
	tsr_coop_t *block = s->c->block;
	const int me = tsr_rank(block), to = s->to < 0 ? me : s->to;
	const tsr_view_t of = tsr_node_sum_chunk(s, tsr_piece(block, &s->src, me), chunk),
			 src = tsr_node_sum_mine(s, of),
			 dst = tsr_node_sum_mine(s, tsr_node_sum_chunk(s, s->dst, chunk));
	const tsr_partials_t slots = tsr_node_sum_slots(s, chunk, of);
	const tsr_wait_result_t how = s->servers ? tsr_node_sum_await(s, chunk) : TSR_WAIT_OK;
	if (how != TSR_WAIT_OK)
		return how;
	if (!tsr_view_is_empty(src) && s->servers)
		tsr_port_combine_nodes(block, dst, src, &slots, to);
	else if (!tsr_view_is_empty(src))
		tsr_port_combine(block, dst, src, s->op, to);
	if (s->servers && chunk + 2 < s->chunks)
		tsr_node_sum_drained(s, chunk);
	if (s->to == TSR_SUM_SPREAD) {
		tsr_sync(block); /* every thread's part of the share is there */
		tsr_spread_put(block, dst, dst);
	}
	return TSR_WAIT_OK;
}

/** Serves and takes all chunks: the next one is served before this one is taken. */
TSR_FN tsr_wait_result_t tsr_node_sum_chunks(const tsr_node_sum_t *s)
{
	tsr_wait_result_t how = TSR_WAIT_OK;
	if (s->servers && s->chunks > 0)
		how = tsr_node_sum_serve(s, 0);
	for (int64_t chunk = 0; chunk < s->chunks && how == TSR_WAIT_OK; chunk++) {
		if (s->servers && chunk + 1 < s->chunks)
			how = tsr_node_sum_serve(s, chunk + 1);
		if (how == TSR_WAIT_OK)
			how = tsr_node_sum_take(s, chunk);
	}
	return how;
}

/** A call that combines. `dst`: where the pieces of all ranks go if they are spread. */
TSR_FN tsr_wait_result_t tsr_node_sum(tsr_node_sum_t s, tsr_view_t dst)
{
	tsr_coop_t *block = s.c->block;
	const tsr_pieces_t pieces = {dst, TSR_DIM_ROWS, 1};
	tsr_wait_result_t how = tsr_collect_enter(s.c);
	if (how == TSR_WAIT_OK)
		how = tsr_node_sum_chunks(&s);
	if (how == TSR_WAIT_OK && s.to == TSR_SUM_SPREAD) {
		tsr_spread_tell(block, s.nodes);
		how = tsr_spread_pass_on(block, &pieces, s.nodes,
					 ++s.rounds.passed_on * TSR_GATHER_ROUND);
	}
	if (how != TSR_WAIT_OK)
		return how;
	for (int odd = 0; odd < 2 && s.servers; odd++) {
		s.rounds.filled[odd] += (uint64_t)(s.chunks + 1 - odd) / 2;
		s.rounds.drained[odd] += s.chunks > 2 ? (uint64_t)(s.chunks - 1 - odd) / 2 : 0;
	}
	tsr_nodes_count(block, s.nodes, s.rounds);
	return tsr_collect_leave(s.c);
}

/* ------------------------------------------------------------------ the calls */

TSR_FN tsr_wait_result_t tsr_node_sum_scatter(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src,
					      tsr_dim_t dim, tsr_reduce_t op,
					      TSR_HEAP tsr_collective_state_t *state)
{
	const tsr_pieces_t parts = {src, dim, 0};
	return tsr_node_sum(tsr_node_sum_of(c, parts, dst, op, TSR_SUM_KEPT, state), dst);
}

/** To all ranks, or to the root. */
TSR_FN tsr_wait_result_t tsr_node_sum_whole(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src,
					    tsr_reduce_t op, int to,
					    TSR_HEAP tsr_collective_state_t *state)
{
	const tsr_pieces_t parts = {src, TSR_DIM_ROWS, 1};
	const tsr_view_t mine = tsr_combine_part(dst, tsr_rank(c->block), tsr_size(c->block));
	return tsr_node_sum(tsr_node_sum_of(c, parts, mine, op, to, state), dst);
}

#endif

#endif

/*
 * The plan of a run: one kernel. Each block counts the choices of its pieces of
 * this rank's tokens. The last block puts the rank's counts to all ranks. Then
 * each block takes the counts of all, and so knows where its tokens' rows are on
 * every rank. It puts the places to the ranks, whose experts need them.
 *
 * Nothing is reserved by atomics, so the places are the same in every run. No
 * rank writes to another before it has taken that rank's counts of this run, and
 * they say that the rank has ended its last one (RETIRED).
 *
 * Source:     ParallelKittens, section 4.3, whose places are counted on the host;
 *             DeepEP, issue 753 (places as a pure function of the choices).
 */
#ifndef MOE_PLANNING_H
#define MOE_PLANNING_H

#include "kernels/dev/leave.h"
#include "kernels/moe/places.h"

/** The choices of a piece, in shared memory. */
typedef struct moe_piece {
	int32_t keys[MOE_KEYS];   /* their experts; then the rows of their tokens */
	int32_t places[MOE_KEYS]; /* where they are placed */
	int32_t index[MOE_KEYS];  /* of those, the rows on one rank */
} moe_piece_t;

/** What a block of the plan has in shared memory. Entries of experts are of all of them. */
typedef struct moe_planning {
	union {
		moe_piece_t piece;
		int32_t table[3 * MOE_KEYS]; /* counts of several pieces */
		moe_groups_t groups;         /* when all pieces are placed */
	};
	int32_t tokens[TSR_MAX_RANKS];   /* of each rank */
	int32_t taken[MOE_EXPERTS + 1];  /* a rank's choices of each expert, and its tokens */
	int32_t totals[MOE_EXPERTS + 1]; /* the choices of all ranks */
	int32_t before[MOE_EXPERTS];     /* those whose rows come before this rank's */
	int32_t own[MOE_EXPERTS];        /* this rank's */
	int32_t starts[MOE_EXPERTS + 1]; /* the first block of each, as if one rank had all */
	int32_t next[MOE_EXPERTS];       /* the row of the next choice */
} moe_planning_t;

/** The words with the counts of rank `source`; two for each rank, by parity of the epoch. */
TSR_FN TSR_HEAP uint64_t *moe_words(const moe_args_t *a, uint64_t epoch, int source)
{
	const int64_t lane = (int64_t)(epoch % 2) * a->ranks + source;
	return a->words + lane * (a->all_experts + 1);
}

/** A dense table in shared memory. */
TSR_FN tsr_view_t moe_table(int32_t *data, int64_t rows, int64_t cols)
{
	return tsr_view_shared(data, TSR_I32, rows, cols, cols);
}

/* ------------------------------------------------------------ counting */

/** How many tokens piece `piece` has. */
TSR_FN int32_t moe_piece_tokens(const moe_args_t *a, int32_t piece)
{
	const int32_t left = a->tokens - piece * a->piece;
	return left < a->piece ? left : a->piece;
}

/** Reads the choices of a piece. What no expert has counts as no choice. Returns their number. */
TSR_FN int moe_load_keys(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a,
			 int32_t piece)
{
	const int32_t tokens = moe_piece_tokens(a, piece);
	const int count = tokens * a->choices;
	tsr_sync(block); /* what was here has been used */
	moe_read(block, a, shared->piece.keys, a->experts, (int64_t)piece * a->piece, tokens,
		 a->choices);
	tsr_sync(block);
	TSR_EACH(block, i, count) {
		if (shared->piece.keys[i] >= a->all_experts)
			shared->piece.keys[i] = -1;
	}
	return count;
}

/** Counts the choices of this block's pieces. */
TSR_FN void moe_count(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a)
{
	for (int32_t piece = tsr_block_index(block); piece < a->pieces;
	     piece += tsr_block_count(block)) {
		const int count = moe_load_keys(block, shared, a, piece);
		const tsr_pos_t at = {piece, 0};
		TSR_EACH(block, e, a->all_experts) {
			shared->next[e] = 0;
		}
		tsr_coop_place(block, 0, shared->piece.keys, count, shared->next, a->all_experts);
		const tsr_view_t sums = moe_table(shared->next, 1, a->all_experts);
		tsr_put_2d(block, tsr_view_part(a->counts, at, 1, a->all_experts), sums, a->me);
		tsr_sync(block);
	}
}

/**
 * Adds the counts of the pieces below `end` to `to`, of several at a time. The
 * caller has met, and uses no piece's choices.
 */
TSR_FN void moe_add_pieces(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a,
			   int32_t end, int32_t *to)
{
	const int32_t most =
		(int32_t)(sizeof shared->table / sizeof *shared->table) / a->all_experts;
	for (int32_t first = 0; first < end; first += most) {
		const int32_t rows = end - first < most ? end - first : most;
		moe_read(block, a, shared->table, a->counts, first, rows, a->all_experts);
		tsr_sync(block);
		TSR_EACH(block, e, a->all_experts) {
			for (int32_t row = 0; row < rows; row++)
				to[e] += shared->table[row * a->all_experts + e];
		}
		tsr_sync(block);
	}
}

/**
 * Sets the counters of later launches to 0. They begin behind the end of this one,
 * so relaxed stores are enough.
 */
TSR_FN void moe_reset_counters(tsr_coop_t *block, const moe_args_t *a)
{
	tsr_atomic_store(block, a->counted, (uint64_t)0, a->me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_store(block, a->taken, (uint64_t)0, a->me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_store(block, a->steps, (uint64_t)0, a->me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/**
 * The last block that has counted puts the sums, and the number of tokens, to all
 * ranks. The adds are partners of each other (litmus: MP.rmw.sameGPU-aa). The
 * fence passes on what they have acquired, and all that this rank has done in
 * earlier launches.
 * Partner:    moe_take on every rank, and the fence there. Litmus:
 *             MP.frel.facq.diffGPU-ss.
 */
TSR_FN void moe_publish(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a,
			uint64_t epoch)
{
	const uint64_t before = tsr_atomic_add(block, a->counted, (uint64_t)1, a->me, TSR_ACQ_REL,
					       TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)tsr_block_count(block))
		return;
	moe_reset_counters(block, a);
	TSR_EACH(block, e, a->all_experts + 1) {
		shared->totals[e] = e < a->all_experts ? 0 : a->tokens;
	}
	tsr_sync(block);
	moe_add_pieces(block, shared, a, a->pieces, shared->totals);
	TSR_HEAP uint64_t *words = moe_words(a, epoch, a->me);
	const size_t bytes = (size_t)(a->all_experts + 1) * sizeof(int32_t);
	tsr_fence(block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	tsr_put_all_marked(block, words, shared->totals, bytes, (uint32_t)epoch);
	tsr_sync(block);
}

/**
 * Takes the counts of all ranks, and adds them up. After that this block may
 * write to other ranks, and read what the blocks of this one have counted.
 * Partner:    moe_publish on every rank, and the fence there. Litmus:
 *             MP.frel.facq.diffGPU-ss; LB.marked.diffGPU-ss for what this rank then
 *             overwrites on others.
 */
TSR_FN void moe_take(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a, uint64_t epoch)
{
	const size_t bytes = (size_t)(a->all_experts + 1) * sizeof(int32_t);
	TSR_EACH(block, e, a->all_experts) {
		shared->totals[e] = 0;
		shared->before[e] = 0;
	}
	for (int source = 0; source < a->ranks; source++) {
		const TSR_HEAP uint64_t *words = moe_words(a, epoch, source);
		tsr_take_marked(block, shared->taken, words, bytes, (uint32_t)epoch, source);
		TSR_EACH(block, e, a->all_experts) {
			const int owner = moe_owner(a, e);
			shared->totals[e] += shared->taken[e];
			if (moe_turn(a, owner, source) < moe_turn(a, owner, a->me))
				shared->before[e] += shared->taken[e];
			if (source == a->me)
				shared->own[e] = shared->taken[e];
			if (e == 0)
				shared->tokens[source] = shared->taken[a->all_experts];
		}
	}
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
}

/** The first blocks of all experts. */
TSR_FN void moe_start(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a)
{
	TSR_EACH(block, e, a->all_experts) {
		shared->starts[e] = moe_blocks(a, shared->totals[e]);
	}
	const int32_t all = tsr_coop_scan(block, shared->starts, a->all_experts);
	TSR_EACH(block, i, 1) {
		shared->starts[a->all_experts + i] = all;
	}
	tsr_sync(block);
}

/** The first block of an expert, on its rank. */
TSR_FN int32_t moe_start_of(const moe_planning_t *shared, const moe_args_t *a, int32_t expert)
{
	return shared->starts[expert] - shared->starts[moe_first_expert(a, moe_owner(a, expert))];
}

/* ------------------------------------------------------------ placing */

/**
 * Tells rank `to` the tokens of its rows that are this piece's. `keys` has the
 * row of each choice's token. A row has one token, so no two blocks write it.
 */
TSR_FN void moe_scatter(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a, int count,
			int to)
{
	TSR_EACH(block, i, count) {
		shared->piece.index[i] = moe_rank_of(a, shared->piece.places[i]) == to
						 ? shared->piece.places[i] - to * a->capacity
						 : -1;
	}
	tsr_sync(block);
	tsr_put_scattered(block, a->origin, shared->piece.index, shared->piece.keys, count, to);
	tsr_sync(block);
}

/** The places of a piece's choices, in shared memory. A row for which there is no room is none. */
TSR_FN int moe_find_places(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a,
			   int32_t piece)
{
	TSR_EACH(block, e, a->all_experts) {
		shared->next[e] = moe_start_of(shared, a, e) * TSR_TILE_M(tile) + shared->before[e];
	}
	tsr_sync(block);
	moe_add_pieces(block, shared, a, piece, shared->next);
	const int count = moe_load_keys(block, shared, a, piece);
	tsr_coop_place(block, shared->piece.places, shared->piece.keys, count, shared->next,
		       a->all_experts);
	TSR_EACH(block, i, count) {
		const int32_t row = shared->piece.places[i], expert = shared->piece.keys[i];
		const int has_room = row >= 0 && row < a->capacity;
		shared->piece.places[i] = has_room ? moe_owner(a, expert) * a->capacity + row : -1;
		shared->piece.keys[i] = moe_row(a, a->me, piece * a->piece + i / a->choices);
	}
	tsr_sync(block);
	return count;
}

/**
 * Places this block's pieces, and tells all ranks. They wait for the signal
 * behind the last one.
 */
TSR_FN void moe_place(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a)
{
	for (int32_t piece = tsr_block_index(block); piece < a->pieces;
	     piece += tsr_block_count(block)) {
		const int count = moe_find_places(block, shared, a, piece);
		const int32_t first = piece * a->piece, tokens = moe_piece_tokens(a, piece);
		const tsr_pos_t from = {first, 0}, to = {moe_row(a, a->me, first), 0};
		const tsr_view_t placed = moe_table(shared->piece.places, tokens, a->choices),
				 weights = tsr_view_part(a->weights, from, tokens, a->choices);
		tsr_put_all_2d(block, tsr_view_part(a->places, to, tokens, a->choices), placed);
		tsr_put_all_2d(block, tsr_view_part(a->weighed, to, tokens, a->choices), weights);
		for (int i = 0; i < a->ranks; i++)
			moe_scatter(block, shared, a, count, tsr_peer(block, i));
	}
}

/* ------------------------------------------------------------ groups */

/** What this rank's i-th expert has: its rows as far as there is room, and its first block. */
TSR_FN void moe_describe(moe_planning_t *shared, const moe_args_t *a, int32_t i)
{
	const int32_t e = moe_first_expert(a, a->me) + i, m = TSR_TILE_M(tile),
		      room = a->capacity / m, start = moe_start_of(shared, a, e),
		      first = start < room ? start : room, left = (room - first) * m,
		      rows = shared->totals[e] < left ? shared->totals[e] : left;
	const int only_own = shared->own[e] == shared->totals[e];
	shared->groups.first_block[i] = first;
	shared->groups.rows[i] = rows;
	/* with tokens of others too, the blocks that own tokens fill */
	const int32_t own = only_own ? moe_blocks(a, rows)
				     : (shared->own[e] < rows ? shared->own[e] : rows) / m;
	shared->groups.own_first[i] = i < a->early ? own : 0;
}

/** The first expert of rank `rank` whose rows do not fit; -1: all do. */
TSR_FN int32_t moe_first_over(const moe_planning_t *shared, const moe_args_t *a, int rank)
{
	const int32_t first = moe_first_expert(a, rank), end = moe_first_expert(a, rank + 1),
		      room = a->capacity / TSR_TILE_M(tile);
	int32_t expert = first;
	if (shared->starts[end] - shared->starts[first] <= room)
		return -1;
	while (shared->starts[expert + 1] - shared->starts[first] <= room)
		expert++;
	return expert;
}

/** Says which rank has no room for its rows, the first one, and the expert; else 0. */
TSR_FN void moe_check_room(tsr_coop_t *block, const moe_planning_t *shared, const moe_args_t *a)
{
	int rank = 0;
	while (rank < a->ranks && moe_first_over(shared, a, rank) < 0)
		rank++;
	const int32_t expert = rank < a->ranks ? moe_first_over(shared, a, rank) : 0;
	tsr_put_value(block, a->overflow, rank < a->ranks ? rank + 1 : 0, a->me);
	tsr_put_value(block, a->overflow + 1, expert, a->me);
}

/** Writes the groups of this rank, for its later launches. */
TSR_FN void moe_write_groups(tsr_coop_t *block, moe_planning_t *shared, const moe_args_t *a)
{
	const int32_t count = moe_first_expert(a, a->me + 1) - moe_first_expert(a, a->me),
		      room = a->capacity / TSR_TILE_M(tile);
	tsr_shared_clear(block, &shared->groups, sizeof shared->groups);
	TSR_EACH(block, rank, a->ranks) {
		shared->groups.tokens[rank] = shared->tokens[rank];
	}
	TSR_EACH(block, i, count) {
		moe_describe(shared, a, i);
	}
	const int32_t own = tsr_coop_scan(block, shared->groups.own_first, count);
	TSR_EACH(block, i, 1) {
		const int32_t all = shared->starts[moe_first_expert(a, a->me + 1)] -
				    shared->starts[moe_first_expert(a, a->me)];
		shared->groups.first_block[count + i] = all < room ? all : room;
		shared->groups.own_first[count + i] = own;
	}
	tsr_sync(block);
	const tsr_view_t mine = moe_table((int32_t *)&shared->groups, 1, MOE_GROUP_WORDS);
	tsr_put_2d(block, a->groups, mine, a->me);
	moe_check_room(block, shared, a);
}

/*
 * The signal says that a block's places, and the rows of its tokens, are on all
 * ranks. Each block adds one in every run, so a rank knows how many to expect.
 * Partner:    moe_await_plans on every rank. Litmus: MP.rmw.diffGPU-ss.
 */
TSR_KERNEL_SHARED(moe_plan_marked, moe_planning_t, moe_args_t, a)
{
	const uint64_t epoch = handshake_epoch(block, a->plan);
	tsr_role(block, "plan");
	moe_count(block, shared, a);
	moe_publish(block, shared, a, epoch);
	moe_take(block, shared, a, epoch);
	moe_start(block, shared, a);
	moe_place(block, shared, a);
	if (tsr_block_index(block) == 0)
		moe_write_groups(block, shared, a);
	tsr_signal_all(block, &a->planned[a->me], 1, TSR_SIGNAL_ADD);
	handshake_leave(block, a->plan);
}

#endif

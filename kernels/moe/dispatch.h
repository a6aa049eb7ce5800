/*
 * Dispatch: tokens go to the ranks of their experts, each once a rank; there each
 * is copied to the row of every expert that has it.
 *
 * The rows are filled block by block, in the order in which the product needs
 * them, so its first tiles wait for a few copies alone.
 */
#ifndef MOE_DISPATCH_H
#define MOE_DISPATCH_H

#include "kernels/moe/groups.h"

/* choices that a sender looks at together; `places` also has the origins of a block's rows */
enum { MOE_SENT = 1024 };

/** What a block that sends has in shared memory: of the tokens of a chunk, or a part of it, */
typedef struct moe_sending {
	int32_t places[MOE_SENT]; /* where their rows are, */
	int32_t goes[MOE_SENT];   /* and whether one of them is on the rank that gets them */
} moe_sending_t;

/* ------------------------------------------------------------ sending */

/** The flag of chunk `chunk` of rank `source`'s tokens; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *moe_come(const moe_args_t *a, int source, int32_t chunk)
{
	return a->come + (int64_t)source * a->chunks + chunk;
}

/** This rank's tokens first .. first + count - 1, and where they come on other ranks. */
TSR_FN tsr_view_t moe_mine(const moe_args_t *a, int32_t first, int32_t count)
{
	const tsr_pos_t at = {first, 0};
	return tsr_view_part(a->x, at, count, a->x.cols);
}

TSR_FN tsr_view_t moe_theirs(const moe_args_t *a, int source, int32_t first, int32_t count)
{
	const tsr_pos_t at = {moe_row(a, source, first), 0};
	return tsr_view_part(a->staged, at, count, a->staged.cols);
}

/** Looks which of `count` tokens from `first` on have an expert on rank `peer`. */
TSR_FN void moe_look(tsr_coop_t *block, moe_sending_t *shared, const moe_args_t *a, int32_t first,
		     int32_t count, int peer)
{
	tsr_sync(block); /* what was here has been used */
	moe_read(block, a, shared->places, a->places, moe_row(a, a->me, first), count, a->choices);
	tsr_sync(block);
	TSR_EACH(block, t, count) {
		shared->goes[t] = 0;
		for (int32_t j = 0; j < a->choices; j++)
			if (moe_rank_of(a, shared->places[t * a->choices + j]) == peer)
				shared->goes[t] = 1;
	}
	tsr_sync(block);
}

/** Puts those of `count` tokens from `first` on that have an expert on rank `peer`, run by run. */
TSR_FN void moe_put(tsr_coop_t *block, moe_sending_t *shared, const moe_args_t *a, int32_t first,
		    int32_t count, int peer)
{
	moe_look(block, shared, a, first, count, peer);
	for (int32_t begin = 0; begin < count;) {
		int32_t end = begin;
		while (end < count && shared->goes[end])
			end++;
		const tsr_view_t to = moe_theirs(a, a->me, first + begin, end - begin);
		if (end > begin)
			tsr_put_2d(block, to, moe_mine(a, first + begin, end - begin), peer);
		begin = end + 1;
	}
}

/**
 * Sending block `index` of `count`: puts chunks of this rank's tokens, to the next
 * rank first. Each chunk has a flag, whether or not a token goes.
 * Partner:    moe_await_token on the rank that gets it. Litmus:
 *             MP.rel.acq.diffGPU-ss. What is overwritten there has been read: the
 *             plan has taken that rank's counts (moe_take; LB.marked.diffGPU-ss).
 */
TSR_FN void moe_send(tsr_coop_t *block, moe_sending_t *shared, const moe_run_t *run, int index,
		     int count)
{
	const moe_args_t *a = run->args;
	const int32_t some = MOE_SENT / a->choices;
	tsr_role(block, "send");
	for (int32_t i = index; i < (a->ranks - 1) * a->chunks; i += count) {
		const int peer = tsr_peer(block, 1 + i / a->chunks);
		const int32_t chunk = i % a->chunks, begin = chunk * a->chunk,
			      past = begin + a->chunk, end = past < a->tokens ? past : a->tokens;
		for (int32_t first = begin; first < end; first += some)
			moe_put(block, shared, a, first, end - first < some ? end - first : some,
				peer);
		tsr_signal(block, moe_come(a, a->me, chunk), run->epoch, TSR_SIGNAL_SET, peer);
	}
}

/* ------------------------------------------------------------ filling rows */

/**
 * Waits for the plans of all ranks: they say which tokens this rank's rows hold.
 * Partner:    the signal of moe_plan_marked on these ranks. Litmus: MP.rmw.diffGPU-ss.
 */
TSR_FN void moe_await_plans(tsr_coop_t *block, const moe_run_t *run)
{
	const moe_args_t *a = run->args;
	for (int source = 0; source < a->ranks; source++)
		tsr_wait(block, &a->planned[source], run->epoch * (uint64_t)a->plan_blocks, source);
}

/** The chunks of one rank's tokens that a worker has waited for; of the first 64. */
typedef struct moe_seen {
	int source;
	uint64_t chunks;
} moe_seen_t;

/**
 * Waits until another rank's token is here.
 * Partner:    the signal of moe_send, or of moe_say, on that rank. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN void moe_await_token(tsr_coop_t *worker, const moe_run_t *run, int source, int32_t token,
			    moe_seen_t *seen)
{
	const moe_args_t *a = run->args;
	const int32_t chunk = (int32_t)((uint32_t)token / (uint32_t)a->chunk);
	const uint64_t bit = chunk < 64 ? (uint64_t)1 << chunk : 0;
	if (seen->source != source) {
		seen->source = source;
		seen->chunks = 0;
	}
	if (seen->chunks & bit)
		return;
	tsr_wait(worker, moe_come(a, source, chunk), run->epoch, source);
	seen->chunks |= bit;
}

/**
 * Copies the token of row `origin` of all tokens to row `row`. `waits`: the tokens of
 * other ranks are still coming.
 */
TSR_FN void moe_fill_row(tsr_coop_t *worker, const moe_run_t *run, int32_t row, int32_t origin,
			 int waits, moe_seen_t *seen)
{
	const moe_args_t *a = run->args;
	const int source = (int)((uint32_t)origin / (uint32_t)a->tokens_most);
	const int32_t token = origin - source * a->tokens_most;
	const tsr_pos_t at = {row, 0};
	if (waits && source != a->me)
		moe_await_token(worker, run, source, token, seen);
	const tsr_view_t from =
		source == a->me ? moe_mine(a, token, 1) : moe_theirs(a, source, token, 1);
	tsr_put_2d(worker, tsr_view_part(a->rows, at, 1, a->rows.cols), from, a->me);
}

/* Rows that a block fills at a time: a tile's rows come sooner if several blocks fill them. */
enum {
	MOE_FILLED = 32,
	MOE_FILLS_OF_TILE = TSR_TILE_M(tile) > MOE_FILLED ? TSR_TILE_M(tile) / MOE_FILLED : 1,
	MOE_FILL_ROWS = TSR_TILE_M(tile) / MOE_FILLS_OF_TILE
};

/**
 * The block's workers fill piece `piece` of all rows; not the padding. The origins
 * are read together: a row's copy would wait for its own.
 */
TSR_FN void moe_fill(tsr_coop_t *block, int32_t *origins, const moe_run_t *run, int32_t piece,
		     int waits, moe_seen_t *seen)
{
	const moe_args_t *a = run->args;
	const moe_groups_t *g = run->groups;
	const int32_t expert = moe_expert_of(run, piece / MOE_FILLS_OF_TILE),
		      first = piece * MOE_FILL_ROWS,
		      end = g->first_block[expert] * TSR_TILE_M(tile) + g->rows[expert],
		      left = end - first, rows = left < MOE_FILL_ROWS ? left : MOE_FILL_ROWS;
	if (rows <= 0)
		return;
	tsr_sync(block); /* what was here has been used */
	moe_read(block, a, origins, tsr_view(a->origin + first, TSR_I32, 1, rows, rows), 0, 1,
		 rows);
	tsr_sync(block);
	tsr_coop_t worker = tsr_split(block);
	for (int32_t i = tsr_worker_index(&worker); i < rows; i += tsr_worker_count(&worker))
		moe_fill_row(&worker, run, first + i, origins[i], waits, seen);
	tsr_sync(block);
}

/**
 * Takes the next piece of rows that nobody fills yet, in the order of the product;
 * -1: there is none. The plan sets the counter to 0, and its launch has ended.
 */
TSR_FN int32_t moe_take_piece(tsr_coop_t *block, const moe_run_t *run)
{
	const uint64_t index = tsr_atomic_add(block, run->args->taken, (uint64_t)1, run->args->me,
					      TSR_RELAXED, TSR_SCOPE_DEVICE);
	const int32_t number = (int32_t)index / MOE_FILLS_OF_TILE;
	return number < moe_block_count(run) ? moe_block_at(run, number) * MOE_FILLS_OF_TILE +
						       (int32_t)index % MOE_FILLS_OF_TILE
					     : -1;
}

/**
 * Says that a piece is filled. Behind the last one of a group its counter is 0
 * again, and the group is complete.
 * Partner:    the adds, of each other: litmus MP.rmw.sameGPU-aa. The signal, of
 *             moe_gate of this rank's computing blocks: litmus MP.rel.acq.sameGPU-aa.
 */
TSR_FN void moe_say_filled(tsr_coop_t *block, const moe_run_t *run, int32_t piece)
{
	const moe_args_t *a = run->args;
	const moe_together_t group = moe_together(run, piece / MOE_FILLS_OF_TILE);
	const uint64_t before = tsr_atomic_add(block, a->ready + group.first, (uint64_t)1, a->me,
					       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)(group.count * MOE_FILLS_OF_TILE))
		return;
	tsr_atomic_store(block, a->ready + group.first, (uint64_t)0, a->me, TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
	tsr_signal_local(block, a->filled + group.first, run->epoch, TSR_SCOPE_DEVICE);
}

/** Fills pieces of rows, whichever come next. */
TSR_FN void moe_expand(tsr_coop_t *block, int32_t *origins, const moe_run_t *run)
{
	moe_seen_t seen = {-1, 0};
	tsr_role(block, "fill rows");
	moe_await_plans(block, run);
	for (int32_t piece = moe_take_piece(block, run); piece >= 0;
	     piece = moe_take_piece(block, run)) {
		moe_fill(block, origins, run, piece, 1, &seen);
		moe_say_filled(block, run, piece);
	}
}

/**
 * Gate of the first product: waits until the rows of a block are here, and those of
 * the blocks with which it shares its weights.
 * Partner:    the signal of moe_say_filled. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN tsr_from_t moe_gate(tsr_coop_t *loader, tsr_part_t part, const void *ctx)
{
	const moe_run_t *run = (const moe_run_t *)ctx;
	const moe_args_t *a = run->args;
	if (part.k0 == 0) {
		const int32_t block = (int32_t)(part.at.row / TSR_TILE_M(tile));
		tsr_wait_local(loader, a->filled + moe_together(run, block).first, run->epoch,
			       TSR_SCOPE_DEVICE);
	}
	return tsr_from(a->me, a->me);
}

#endif

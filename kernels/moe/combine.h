/*
 * Combine: each rank sums, for every token, what its own experts made of it,
 * times the weights, and puts the sum to the token's rank. That adds the ranks'
 * sums. So results travel once a rank too.
 *
 * Order of sums: on a rank, that of the token's choices; then the ranks in their
 * order, and each rank's sum is rounded to the dtype. So results have the same
 * bits in every run.
 */
#ifndef MOE_COMBINE_H
#define MOE_COMBINE_H

#include "kernels/moe/groups.h"

enum { MOE_WORKERS = 12 }; /* of a block, at most, that combine; more have nothing to do */

/**
 * What a worker has in shared memory: of a token's choices, where they are and then
 * their weights; the rows that are added; and their factors.
 */
typedef struct moe_sum {
	union {
		int32_t places[MOE_CHOICES];
		float weights[MOE_CHOICES];
	};
	int32_t rows[MOE_CHOICES];
	union {
		int32_t choice[MOE_CHOICES]; /* of each row */
		float factors[MOE_CHOICES];
		int32_t ranks[MOE_CHOICES]; /* of the first choice on each; -1 */
	};
} moe_sum_t;

typedef struct moe_combining {
	moe_sum_t sum[MOE_WORKERS];
} moe_combining_t;

/** Which worker one is, of all that share something. */
typedef struct moe_worker {
	int index, count;
} moe_worker_t;

/** A worker of block `block` of `blocks`. */
TSR_FN moe_worker_t moe_worker(const tsr_coop_t *worker, int block, int blocks)
{
	const int workers = tsr_worker_count(worker) < MOE_WORKERS ? tsr_worker_count(worker)
								   : MOE_WORKERS,
		  index = tsr_worker_index(worker);
	const moe_worker_t mine = {index < workers ? block * workers + index : INT32_MAX,
				   blocks * workers};
	return mine;
}

/** One band of the columns of `rows` rows of a view, from `row` on. */
TSR_FN tsr_view_t moe_band(const moe_args_t *a, tsr_view_t view, int64_t row, int64_t rows,
			   int32_t band)
{
	const int64_t cols = (int64_t)a->band_tiles * TSR_TILE_N(tile);
	const tsr_pos_t at = {row, band * cols};
	return tsr_view_part(view, at, rows, cols);
}

/** The flag of a band of a batch that rank `owner` has put back; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *moe_returned(const moe_args_t *a, int owner, int32_t batch, int32_t band)
{
	return a->returned + ((int64_t)owner * a->batches + batch) * a->bands + band;
}

/** Reads where a token's choices are. The worker meets before and after. */
TSR_FN void moe_load_places(tsr_coop_t *worker, moe_sum_t *sum, const moe_args_t *a, int32_t row)
{
	tsr_sync(worker); /* what was here has been used */
	moe_read(worker, a, sum->places, a->places, row, 1, a->choices);
	tsr_sync(worker);
}

/* ------------------------------------------------------------ on the experts' rank */

/** The row of choice `j` here; a negative number if another rank, or none, has it. */
TSR_FN int32_t moe_row_here(const moe_sum_t *sum, const moe_args_t *a, int32_t j)
{
	const int32_t row = sum->places[j] - a->me * a->capacity;
	return row < a->capacity ? row : -1;
}

/** How many of a token's first `choices` choices are here. */
TSR_FN int32_t moe_count_here(const moe_sum_t *sum, const moe_args_t *a, int32_t choices)
{
	int32_t here = 0;
	for (int32_t j = 0; j < choices; j++)
		here += moe_row_here(sum, a, j) >= 0;
	return here;
}

/**
 * Makes the list of rows that this rank adds for a token, without gaps: a load of a
 * row that is not here would be one less on its way. Returns their number.
 */
TSR_FN int32_t moe_list_rows(tsr_coop_t *worker, moe_sum_t *sum, const moe_args_t *a, int32_t row)
{
	const int32_t count = moe_count_here(sum, a, a->choices);
	TSR_EACH(worker, j, a->choices) {
		const int32_t place = moe_row_here(sum, a, j), at = moe_count_here(sum, a, j);
		if (place >= 0) {
			sum->rows[at] = place;
			sum->choice[at] = j;
		}
	}
	tsr_sync(worker); /* weights replace places */
	if (count > 0)
		moe_read(worker, a, sum->weights, a->weighed, row, 1, a->choices);
	tsr_sync(worker);
	TSR_EACH(worker, i, count) {
		sum->factors[i] = sum->weights[sum->choice[i]];
	}
	tsr_sync(worker);
	return count;
}

/** Sums what this rank's experts made of a token of `source`. Nothing if none has it. */
TSR_FN void moe_return_token(tsr_coop_t *worker, moe_sum_t *sum, const moe_args_t *a, int source,
			     int32_t token, int32_t band)
{
	/* on one rank that is all */
	const tsr_view_t to = a->ranks == 1
				      ? moe_band(a, a->out, token, 1, band)
				      : moe_band(a, a->back, moe_row(a, a->me, token), 1, band);
	moe_load_places(worker, sum, a, moe_row(a, source, token));
	const int32_t count = moe_list_rows(worker, sum, a, moe_row(a, source, token));
	if (count > 0 || a->ranks == 1)
		tsr_sum_rows(worker, to, moe_band(a, a->y2, 0, a->y2.rows, band), sum->rows,
			     sum->factors, count, source);
}

/**
 * Puts one band of a batch's results back to rank `source`.
 * Partner:    moe_finish_batch there. Litmus: MP.rel.acq.diffGPU-ss. What is
 *             overwritten there has been read: the plan has taken that rank's
 *             counts (moe_take; LB.marked.diffGPU-ss).
 */
TSR_FN void moe_return_batch(tsr_coop_t *worker, moe_combining_t *shared, const moe_run_t *run,
			     int source, int32_t batch, int32_t band)
{
	const moe_args_t *a = run->args;
	const int32_t tokens = run->groups->tokens[source], first = batch * a->batch,
		      past = first + a->batch, end = past < tokens ? past : tokens;
	for (int32_t token = first; token < end; token++)
		moe_return_token(worker, &shared->sum[tsr_worker_index(worker)], a, source, token,
				 band);
	tsr_signal(worker, moe_returned(a, a->me, batch, band), run->epoch, TSR_SIGNAL_SET, source);
}

/* ------------------------------------------------------------ on the token's rank */

/** The rank of a choice, if it is the token's first one there; else -1. */
TSR_FN int32_t moe_first_on_rank(const moe_sum_t *sum, const moe_args_t *a, int32_t choice)
{
	const int32_t rank = moe_rank_of(a, sum->places[choice]);
	for (int32_t j = 0; j < choice; j++)
		if (moe_rank_of(a, sum->places[j]) == rank)
			return -1;
	return rank;
}

/** Adds the ranks' sums of a token of this rank, in the order of ranks. */
TSR_FN void moe_finish_token(tsr_coop_t *worker, moe_sum_t *sum, const moe_args_t *a, int32_t token,
			     int32_t band)
{
	moe_load_places(worker, sum, a, moe_row(a, a->me, token));
	TSR_EACH(worker, j, a->choices) {
		sum->ranks[j] = moe_first_on_rank(sum, a, j);
	}
	tsr_sync(worker);
	int32_t count = 0;
	for (int32_t j = 0; j < a->choices; j++)
		count += sum->ranks[j] >= 0;
	TSR_EACH(worker, j, a->choices) {
		const int32_t rank = sum->ranks[j];
		int32_t before = 0; /* ranks that are added before this one */
		for (int32_t i = 0; i < a->choices; i++)
			before += sum->ranks[i] >= 0 && sum->ranks[i] < rank;
		if (rank >= 0)
			sum->rows[before] = moe_row(a, rank, token);
	}
	tsr_sync(worker);
	tsr_sum_rows(worker, moe_band(a, a->out, token, 1, band),
		     moe_band(a, a->back, 0, a->back.rows, band), sum->rows, 0, count, a->me);
}

/**
 * Finishes one band of a batch of this rank's tokens.
 * Partner:    the signal of moe_return_batch on all ranks. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN void moe_finish_batch(tsr_coop_t *worker, moe_combining_t *shared, const moe_run_t *run,
			     int32_t batch, int32_t band)
{
	const moe_args_t *a = run->args;
	const int32_t first = batch * a->batch, past = first + a->batch,
		      end = past < a->tokens ? past : a->tokens;
	for (int owner = 0; owner < a->ranks; owner++)
		tsr_wait(worker, moe_returned(a, owner, batch, band), run->epoch, owner);
	for (int32_t token = first; token < end; token++)
		moe_finish_token(worker, &shared->sum[tsr_worker_index(worker)], a, token, band);
}

/* ------------------------------------------------------------ a band */

/** Puts a worker's part of a band's results back, to the next rank first. */
TSR_FN void moe_return_band(tsr_coop_t *worker, moe_combining_t *shared, const moe_run_t *run,
			    int32_t band, moe_worker_t mine)
{
	const moe_args_t *a = run->args;
	for (int64_t i = mine.index; i < a->ranks * a->batches; i += mine.count)
		moe_return_batch(worker, shared, run,
				 tsr_peer(worker, (1 + (int)i / a->batches) % a->ranks),
				 (int32_t)i % a->batches, band);
}

/** The same, of the band of this rank's own tokens. On one rank that was all. */
TSR_FN void moe_finish_band(tsr_coop_t *worker, moe_combining_t *shared, const moe_run_t *run,
			    int32_t band, moe_worker_t mine)
{
	const moe_args_t *a = run->args;
	for (int64_t batch = mine.index; a->ranks > 1 && batch < a->batches; batch += mine.count)
		moe_finish_batch(worker, shared, run, (int32_t)batch, band);
}

#endif

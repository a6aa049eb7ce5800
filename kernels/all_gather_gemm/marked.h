/*
 * Marked: one kernel, for small shards. The last blocks put this rank's shard row
 * by row to the other ranks, as words that carry their own flag, and take the
 * other ranks' rows. The other blocks multiply; each waits for the chunks that its
 * tile needs.
 *
 * A row arrives in one trip over the link: no signal follows it, and nobody waits
 * for memory that may be overwritten. Two inboxes by parity of the epoch are
 * enough, because every rank takes something of every other rank in every run: a
 * token, if the other has no rows.
 *
 * Source:     next-workloads of Tessera's research, 1.1 (tiny M), after NCCL's
 *             protocol LL.
 */
#ifndef ALL_GATHER_GEMM_MARKED_H
#define ALL_GATHER_GEMM_MARKED_H

#include "kernels/all_gather_gemm/arrivals.h"
#include "kernels/dev/leave.h"

/** The number of rows of rank `source`'s shard. */
TSR_FN int32_t agg_shard_rows(const agg_args_t *a, int source)
{
	return a->along == AGG_BY_COLUMNS ? (int32_t)a->whole.rows
					  : a->begin[source + 1] - a->begin[source];
}

/** Row `row` of rank `source`'s shard, in its place. */
TSR_FN tsr_view_t agg_row(const agg_args_t *a, int source, int32_t row)
{
	const int by_rows = a->along != AGG_BY_COLUMNS;
	const int32_t begin = a->begin[source];
	const tsr_pos_t at = {by_rows ? begin + row : row, by_rows ? 0 : begin};
	return tsr_view_part(a->whole, at, 1,
			     by_rows ? a->whole.cols : a->begin[source + 1] - begin);
}

/** The words of rank `source`'s row `row`, or of its token, in this epoch's inbox. */
TSR_FN TSR_HEAP uint64_t *agg_words(const agg_run_t *run, int ranks, int source, int32_t row)
{
	const agg_args_t *a = run->args;
	const int64_t lane = (int64_t)(run->epoch % 2) * ranks + source;
	return a->words + (lane * (a->inbox_rows + 1) + row) * a->row_words;
}

/**
 * Sending block `index` of `count`: puts its rows of this rank's shard to the
 * other ranks, the rank first that needs them first. Block 0 puts the tokens.
 * Partner:    tsr_take_marked in agg_take_rows. Litmus: LB.marked.diffGPU-ss, for
 *             the inbox that is put to again two runs later.
 */
TSR_FN void agg_put_rows(tsr_coop_t *block, const agg_run_t *run, int index, int count)
{
	const agg_args_t *a = run->args;
	const int me = tsr_rank(block), ranks = tsr_size(block);
	tsr_role(block, "send and take");
	for (int32_t row = index; row < agg_shard_rows(a, me); row += count) {
		const tsr_view_t mine = agg_row(a, me, row);
		for (int i = ranks - 1; i > 0; i--)
			tsr_put_marked(block, agg_words(run, ranks, me, row), mine.data,
				       (size_t)(mine.cols * a->element_bytes), (uint32_t)run->epoch,
				       tsr_peer(block, i));
	}
	for (int i = 1; index == 0 && i < ranks; i++)
		tsr_put_marked(block, agg_words(run, ranks, me, a->inbox_rows), a->token,
			       sizeof *a->token, (uint32_t)run->epoch, tsr_peer(block, i));
}

/**
 * Counts a row that is in its place. Who counts a chunk's last row signals the
 * computing blocks (agg_local_gate).
 * The adds are partners of each other: the last one acquires the rows that the
 * others have released (litmus: MP.rmw.sameGPU-aa), and its signal passes them on
 * (MP.rel.acq.sameGPU-aa).
 */
TSR_FN void agg_count_row(tsr_coop_t *block, const agg_run_t *run, int source, int32_t row)
{
	const agg_args_t *a = run->args;
	const int32_t chunk = row / a->chunk_rows,
		      left = agg_shard_rows(a, source) - chunk * a->chunk_rows,
		      rows = left < a->chunk_rows ? left : a->chunk_rows;
	TSR_HEAP uint64_t *counted = a->counted + (int64_t)source * a->chunks + chunk;
	const uint64_t before = tsr_atomic_add(block, counted, (uint64_t)1, tsr_rank(block),
					       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 < (uint64_t)rows)
		return;
	tsr_atomic_store(block, counted, (uint64_t)0, tsr_rank(block), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
	tsr_signal_local(block, agg_come(a, source, chunk), run->epoch, TSR_SCOPE_DEVICE);
}

/** Takes row `row` of rank `source`'s shard, if it has so many, and counts it. */
TSR_FN void agg_take_row(tsr_coop_t *block, const agg_run_t *run, int source, int32_t row)
{
	const agg_args_t *a = run->args;
	const tsr_view_t theirs = agg_row(a, source, row);
	if (row >= agg_shard_rows(a, source) || theirs.cols == 0)
		return;
	tsr_take_marked(block, theirs.data, agg_words(run, tsr_size(block), source, row),
			(size_t)(theirs.cols * a->element_bytes), (uint32_t)run->epoch, source);
	agg_count_row(block, run, source, row);
}

/**
 * Sending block `index` of `count`: takes its part of the other ranks' rows, in
 * the order in which the product needs them. Block 0 takes the tokens.
 * Partner:    tsr_put_marked in agg_put_rows on these ranks.
 */
TSR_FN void agg_take_rows(tsr_coop_t *block, const agg_run_t *run, int index, int count)
{
	const agg_args_t *a = run->args;
	const int others = tsr_size(block) - 1, by_rows = a->along != AGG_BY_COLUMNS;
	for (int32_t i = index; i < others * a->inbox_rows; i += count) {
		const int distance = 1 + (by_rows ? i / a->inbox_rows : i % others);
		agg_take_row(block, run, tsr_peer(block, distance),
			     by_rows ? i % a->inbox_rows : i / others);
	}
	for (int i = 1; index == 0 && i <= others; i++) {
		const int source = tsr_peer(block, i);
		tsr_take_marked(block, a->token + 1,
				agg_words(run, others + 1, source, a->inbox_rows), sizeof *a->token,
				(uint32_t)run->epoch, source);
	}
}

TSR_KERNEL(agg_marked, agg_args_t, a)
{
	const int index = tsr_block_index(block), computing = a->tiling.blocks,
		  senders = tsr_block_count(block) - computing;
	agg_run_t run = agg_begin(block, a);
	if (index < computing) {
		agg_multiply_local(block, &run);
	} else {
		agg_put_rows(block, &run, index - computing, senders);
		agg_take_rows(block, &run, index - computing, senders);
	}
	handshake_leave(block, a->sync);
}

#endif

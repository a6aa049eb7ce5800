/*
 * Results of a rank's keys: O and its logarithm for each head, in f32. They are
 * what ranks exchange: 4 * (D + 4) bytes a head, whatever the number of keys. So
 * each rank gets all of them, and merges them in rank order.
 */
#ifndef FLASH_DECODE_RESULTS_H
#define FLASH_DECODE_RESULTS_H

#include "kernels/flash_decode/parts.h"

/** The rows of a group among the results of all heads that begin at row `first` of `all`. */
TSR_FN tsr_view_t fd_results_of(tsr_view_t all, int64_t first, fd_rows_t rows)
{
	const tsr_pos_t at = {first + rows.first, 0};
	return tsr_view_part(all, at, rows.count, all.cols);
}

/** The columns of O, and the column of the logarithms. */
TSR_FN tsr_view_t fd_outputs(tsr_view_t results)
{
	const tsr_pos_t at = {0, 0};
	return tsr_view_part(results, at, results.rows, TSR_TILE_N(tile));
}

TSR_FN tsr_view_t fd_logarithms(tsr_view_t results)
{
	const tsr_pos_t at = {0, TSR_TILE_N(tile)};
	return tsr_view_part(results, at, results.rows, 1);
}

/**
 * Where rank `source`'s results arrive: the first row of `theirs`. There are two
 * places for each, by the parity of the epoch. That is enough, because every
 * rank waits in every run for all results of every other rank: who stores those
 * of run e + 2 has had everybody's of run e + 1, which each sent when its
 * launches of run e had ended. Litmus: LB.retired.diffGPU-ss.
 */
TSR_FN int64_t fd_place(const fd_run_t *run, int ranks, int source)
{
	return ((int64_t)(run->epoch % 2) * ranks + source) * run->args->q.rows;
}

/** Stores the result of a state in this rank's memory. */
TSR_FN void fd_keep_result(tsr_coop_t *me, tsr_view_t o_view, tsr_view_t lse_view,
			   const tile_state_t *state)
{
	const tsr_pos_t at = {0, 0};
	TSR_FRAG(tile, o, me);
	TSR_FRAG_ROWS(tile, lse, me);
	tsr_state_finish(me, state, o, lse);
	tsr_tile_store(me, o_view, at, o);
	tsr_rows_store(me, lse_view, at, lse, tsr_rank(me));
}

/** Stores a group's result of all ranks' keys, which every rank gets. */
TSR_FN void fd_keep_whole(tsr_coop_t *me, const fd_args_t *a, fd_rows_t rows,
			  const tile_state_t *state)
{
	fd_keep_result(me, fd_results_of(a->o, 0, rows), fd_results_of(a->lse, 0, rows), state);
}

/** The same of this rank's keys. */
TSR_FN void fd_keep_mine(tsr_coop_t *me, const fd_args_t *a, fd_rows_t rows,
			 const tile_state_t *state)
{
	const tsr_view_t mine = fd_results_of(a->mine, 0, rows);
	fd_keep_result(me, fd_outputs(mine), fd_logarithms(mine), state);
}

/** Adds the keys of a rank's result, which is here. */
TSR_FN void fd_add_result(tsr_coop_t *me, tsr_view_t result, tile_state_t *state)
{
	const tsr_pos_t at = {0, 0};
	tsr_state_merge_output(me, state, fd_outputs(result), at, fd_logarithms(result), at,
			       tsr_rank(me));
}

#endif

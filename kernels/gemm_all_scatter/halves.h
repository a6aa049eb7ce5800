/*
 * The last tiles, multiplied by two blocks each, half of K each (split-K). What all blocks compute last is sent last, while nothing
 * is computed any more, and where the tiles do not divide into rounds, some blocks have none of the last: of halves there are twice
 * as many, and of their tiles half as many come last.
 */
#ifndef GEMM_ALL_SCATTER_HALVES_H
#define GEMM_ALL_SCATTER_HALVES_H

#include "kernels/gemm_all_scatter/tiles.h"

/** Behind the whole tiles a task is a half. */
TSR_FN int64_t gas_task_count(const gas_args_t *a)
{
	return a->whole + 2 * (gas_tile_count(a) - a->whole);
}

/** Tasks of the `index`-th of the blocks that compute. */
TSR_FN tsr_tasks_t gas_half_tasks(const gas_args_t *a, int index)
{
	tsr_tasks_t tasks = {index, a->gemm_blocks, gas_task_count(a)};
	return tasks;
}

/** The tile of a task: behind the whole ones two tasks have one, the first half of its K, then the second. */
TSR_FN int64_t gas_task_tile(const gas_args_t *a, int64_t task)
{
	return task < a->whole ? task : a->whole + (task - a->whole) / 2;
}

/** Whether it completes the tile: it is the whole, or its second half. */
TSR_FN int gas_task_completes(const gas_args_t *a, int64_t task)
{
	return task < a->whole || (task - a->whole) % 2 != 0;
}

/** Task order: a whole tile, or half of its K. */
TSR_FN tsr_part_t gas_half_order(int64_t task, const void *ctx)
{
	const gas_args_t *a = ((const gas_run_t *)ctx)->args;
	tsr_part_t part = tsr_whole(gas_tile_at(a, gas_task_tile(a, task)));
	if (!gas_task_completes(a, task))
		part.k1 = a->half_k;
	else if (task >= a->whole)
		part.k0 = a->half_k;
	return part;
}

/**
 * Begins an epilogue: whether `c` is the whole product of the tile at `at`. The block that has its first half leaves the sum to the
 * one that has the second, whose task is the next: so who waits waits for an earlier task, which is done or being done.
 * Signal and wait are partners. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN int gas_complete(tsr_coop_t *me, const gas_run_t *run, tsr_pos_t at, tile_frag_t *c)
{
	const gas_args_t *a = run->args;
	const int64_t place = gas_tile_index(a, at) - a->whole;
	if (place < 0)
		return 1;
	TSR_HEAP uint64_t *ready = a->half_ready + place;
	TSR_HEAP unsigned char *sum = (TSR_HEAP unsigned char *)a->half_sum + place * (int64_t)TSR_FRAG_BYTES(tile);
	if ((2 * (uint32_t)place + 1) % (uint32_t)a->gemm_blocks != (uint32_t)tsr_block_index(me)) {
		tsr_frag_save(me, sum, c);
		tsr_signal_local(me, ready, run->epoch, TSR_SCOPE_DEVICE);
		return 0;
	}
	tsr_wait_local(me, ready, run->epoch, TSR_SCOPE_DEVICE);
	tsr_frag_add(me, c, sum);
	return 1;
}

#endif

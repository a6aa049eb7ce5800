/*
 * The last tiles, multiplied by several blocks each, a part of K each (split-K). What all blocks compute last is sent last, while
 * nothing is computed any more, and where the tiles do not divide into rounds, some blocks have none of the last: of parts there
 * are more, and fewer of their tiles come last. Where there are fewer tiles than blocks, all blocks take part.
 */
#ifndef GEMM_ALL_SCATTER_PARTS_H
#define GEMM_ALL_SCATTER_PARTS_H

#include "kernels/gemm_all_scatter/tiles.h"

/** Behind the whole tiles a task is a part of one. */
TSR_FN int64_t gas_task_count(const gas_args_t *a)
{
	return a->whole + a->parts * (gas_tile_count(a) - a->whole);
}

/** Tasks of the `index`-th of the blocks that compute. */
TSR_FN tsr_tasks_t gas_part_tasks(const gas_args_t *a, int index)
{
	tsr_tasks_t tasks = {index, a->gemm_blocks, gas_task_count(a)};
	return tasks;
}

/** The tile of a task: behind the whole ones each has as many tasks as parts, in the order of K. */
TSR_FN int64_t gas_task_tile(const gas_args_t *a, int64_t task)
{
	return task < a->whole ? task : a->whole + (task - a->whole) / a->parts;
}

/** Whether it completes the tile: it is the whole, or its last part. */
TSR_FN int gas_task_completes(const gas_args_t *a, int64_t task)
{
	return task < a->whole || (task - a->whole) % a->parts == a->parts - 1;
}

/** Where a part of K begins: at a whole chunk. */
TSR_FN int64_t gas_part_begin(const gas_args_t *a, int64_t part)
{
	return a->chunks * part / a->parts * TSR_TILE_K(tile);
}

/** Task order: a whole tile, or a part of its K. */
TSR_FN tsr_part_t gas_part_order(int64_t task, const void *ctx)
{
	const gas_args_t *a = ((const gas_run_t *)ctx)->args;
	tsr_part_t part = tsr_whole(gas_tile_at(a, gas_task_tile(a, task)));
	if (task < a->whole)
		return part;
	const int64_t index = (task - a->whole) % a->parts;
	part.k0 = gas_part_begin(a, index);
	if (index < a->parts - 1)
		part.k1 = gas_part_begin(a, index + 1);
	return part;
}

/** Which part of the `place`-th divided tile this block has: blocks take tasks in turn, and are not fewer than parts. */
TSR_FN int gas_my_part(tsr_coop_t *me, const gas_args_t *a, int64_t place)
{
	const uint32_t blocks = (uint32_t)a->gemm_blocks;
	return (int)(((uint32_t)tsr_block_index(me) + blocks - (uint32_t)(place * a->parts) % blocks) % blocks);
}

/**
 * Begins an epilogue: whether `c` is the whole product of the tile at `at`. Blocks that have earlier parts leave their sums to the
 * one that has the last, whose task is the next or so: who waits waits for earlier tasks, which are done or being done. It adds
 * them in the order of K, and takes the flags back for the next launch, which begins after this one has ended. Signal and wait are
 * partners. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN int gas_complete(tsr_coop_t *me, const gas_run_t *run, tsr_pos_t at, tile_frag_t *c)
{
	const gas_args_t *a = run->args;
	const int64_t place = gas_tile_index(a, at) - a->whole;
	if (place < 0)
		return 1;
	const int last = a->parts - 1, part = gas_my_part(me, a, place);
	TSR_HEAP uint64_t *ready = a->part_ready + place * last;
	TSR_HEAP unsigned char *sum = (TSR_HEAP unsigned char *)a->part_sum + place * last * (int64_t)TSR_FRAG_BYTES(tile);
	if (part < last) {
		tsr_frag_save(me, sum + part * (int64_t)TSR_FRAG_BYTES(tile), c);
		tsr_signal_local(me, ready + part, 1, TSR_SCOPE_DEVICE);
		return 0;
	}
	for (int i = 0; i < last; i++) {
		tsr_wait_local(me, ready + i, 1, TSR_SCOPE_DEVICE);
		tsr_frag_add(me, c, sum + i * (int64_t)TSR_FRAG_BYTES(tile));
		tsr_atomic_store(me, ready + i, (uint64_t)0, tsr_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE);
	}
	return 1;
}

#endif

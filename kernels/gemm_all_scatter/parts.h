/*
 * The last tiles, multiplied by several blocks each, a part of K each
 * (split-K). What all blocks compute last is sent last, while nothing is
 * computed any more, and where the tiles do not divide into rounds, some blocks
 * have none of the last: of parts there are more, and fewer of their tiles come
 * last. Where there are fewer tiles than blocks, all blocks take part.
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
	return task < a->whole ? task : a->whole + (uint32_t)(task - a->whole) / (uint32_t)a->parts;
}

/** Whether it completes the tile: it is the whole, or its last part. */
TSR_FN int gas_task_completes(const gas_args_t *a, int64_t task)
{
	return task < a->whole ||
	       (uint32_t)(task - a->whole) % (uint32_t)a->parts == (uint32_t)a->parts - 1;
}

/**
 * Where a part of K begins: at a whole chunk. The last parts have one more,
 * where they do not divide; so the first may be empty, and the last is not.
 */
TSR_FN int64_t gas_part_begin(const gas_args_t *a, int32_t part)
{
	const int32_t more = part > a->shorter_parts ? part - a->shorter_parts : 0;
	return ((int64_t)part * a->part_chunks + more) * TSR_TILE_K(tile);
}

/**
 * Task order: a whole tile, or a part of its K. Divisions are of 32 bits: those
 * of 64 take registers beside the main loop.
 */
TSR_FN tsr_part_t gas_part_order(int64_t task, const void *ctx)
{
	const gas_args_t *a = ((const gas_run_t *)ctx)->args;
	if (task < a->whole)
		return tsr_whole(gas_tile_at(a, task));
	const uint32_t divided = (uint32_t)(task - a->whole), place = divided / (uint32_t)a->parts;
	const int32_t index = (int32_t)(divided - place * (uint32_t)a->parts);
	tsr_part_t part = tsr_whole(gas_tile_at(a, a->whole + place));
	part.k0 = gas_part_begin(a, index);
	if (index < a->parts - 1)
		part.k1 = gas_part_begin(a, index + 1);
	return part;
}

/** Into how many parts a divided tile is cut: of a large one the compiler knows it. */
TSR_FN int gas_parts(const gas_args_t *a)
{
	return GAS_MOST_PARTS(TSR_TILE_M(tile), TSR_TILE_N(tile)) == 2 ? 2 : a->parts;
}

/**
 * Whether this block has part `part` of the `place`-th divided tile: blocks
 * take tasks in turn, and are not fewer than parts.
 */
TSR_FN int gas_has_part(tsr_coop_t *me, const gas_args_t *a, int64_t place, int part)
{
	const uint32_t task = (uint32_t)place * (uint32_t)gas_parts(a) + (uint32_t)part;
	return task % (uint32_t)a->gemm_blocks == (uint32_t)tsr_block_index(me);
}

/**
 * Begins an epilogue: whether `c` is the whole product of the tile at `at`.
 * Blocks that have earlier parts leave their sums to the one that has the last,
 * whose task is the next or so: who waits waits for earlier tasks, which are
 * done or being done. It adds them in the order of K, and takes the flags back
 * for the next launch, which begins after this one has ended. Signal and wait
 * are partners. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN int gas_complete(tsr_coop_t *me, const gas_run_t *run, tsr_pos_t at, tile_frag_t *c)
{
	const gas_args_t *a = run->args;
	const int64_t place = gas_tile_index(a, at) - a->whole;
	if (place < 0)
		return 1;
	const int last = gas_parts(a) - 1;
	TSR_HEAP uint64_t *ready = a->part_ready + place * last;
	TSR_HEAP unsigned char *sum = (TSR_HEAP unsigned char *)a->part_sum +
				      place * last * (int64_t)TSR_FRAG_BYTES(tile);
	if (!gas_has_part(me, a, place, last)) {
		int part = 0;
		while (part < last - 1 && !gas_has_part(me, a, place, part))
			part++;
		tsr_frag_save(me, sum + part * (int64_t)TSR_FRAG_BYTES(tile), c);
		tsr_signal_local(me, ready + part, 1, TSR_SCOPE_DEVICE);
		return 0;
	}
	int i = 0;
	do { /* no loop is left of it where the compiler knows that there are two parts */
		tsr_wait_local(me, ready + i, 1, TSR_SCOPE_DEVICE);
		tsr_atomic_store(me, ready + i, (uint64_t)0, tsr_rank(me), TSR_RELAXED,
				 TSR_SCOPE_DEVICE);
		tsr_frag_add(me, c, sum + i * (int64_t)TSR_FRAG_BYTES(tile));
	} while (++i < last);
	return 1;
}

#endif

/*
 * Split-K for the last tiles: several blocks compute a tile together, a part of
 * K each. Tiles that are computed last are sent last, while nothing is
 * computed. If the tiles do not fill the last round of blocks, some blocks are
 * idle in it. Parts fill the round better, and fewer tiles are completed last.
 * If there are fewer tiles than blocks, all blocks take part.
 */
#ifndef KERNELS_DEV_PARTS_H
#define KERNELS_DEV_PARTS_H

#include "kernels/dev/tiling.h"

/**
 * The number of tasks: one for each whole tile, then one for each part of the
 * other tiles.
 */
TSR_FN int64_t tiling_task_count(const tiling_t *t)
{
	return t->whole + t->parts * (tiling_count(t) - t->whole);
}

/** The tasks of computing block `index`. */
TSR_FN tsr_tasks_t tiling_tasks(const tiling_t *t, int index)
{
	tsr_tasks_t tasks = {index, t->blocks, tiling_task_count(t)};
	return tasks;
}

/**
 * The tile of a task. After the whole tiles, each tile has as many tasks as
 * parts, in the order of K.
 */
TSR_FN int64_t tiling_task_tile(const tiling_t *t, int64_t task)
{
	return task < t->whole ? task : t->whole + (uint32_t)(task - t->whole) / (uint32_t)t->parts;
}

/**
 * Whether the task completes its tile: it is the whole tile, or its last part.
 */
TSR_FN int tiling_completes(const tiling_t *t, int64_t task)
{
	return task < t->whole ||
	       (uint32_t)(task - t->whole) % (uint32_t)t->parts == (uint32_t)t->parts - 1;
}

/**
 * Where part `part` of K begins, at a multiple of the operand tile's K. If the
 * operand tiles cannot be divided evenly, the last parts have one more. So the
 * first part may be empty, but the last one is not.
 */
TSR_FN int64_t tiling_part_begin(const tiling_t *t, int32_t part)
{
	const int32_t more = part > t->shorter_parts ? part - t->shorter_parts : 0;
	return ((int64_t)part * t->part_chunks + more) * TSR_TILE_K(tile);
}

/**
 * What a task computes: a whole tile, or a part of its K. Divisions are of 32
 * bits: 64-bit divisions take registers from the main loop.
 */
TSR_FN tsr_part_t tiling_part(const tiling_t *t, int64_t task)
{
	if (task < t->whole)
		return tsr_whole(tiling_at(t, task));
	const uint32_t divided = (uint32_t)(task - t->whole), place = divided / (uint32_t)t->parts;
	const int32_t index = (int32_t)(divided - place * (uint32_t)t->parts);
	tsr_part_t part = tsr_whole(tiling_at(t, t->whole + place));
	part.k0 = tiling_part_begin(t, index);
	if (index < t->parts - 1)
		part.k1 = tiling_part_begin(t, index + 1);
	return part;
}

/**
 * The number of parts of a divided tile. For a large tile it is 2, which the
 * compiler then knows.
 */
TSR_FN int tiling_parts(const tiling_t *t)
{
	return TILING_MOST_PARTS(TSR_TILE_M(tile), TSR_TILE_N(tile)) == 2 ? 2 : t->parts;
}

/**
 * Whether this block has part `part` of the divided tile number `place`. Blocks
 * take tasks in turn, and there are at least as many blocks as parts.
 */
TSR_FN int tiling_has_part(tsr_coop_t *me, const tiling_t *t, int64_t place, int part)
{
	const uint32_t task = (uint32_t)place * (uint32_t)tiling_parts(t) + (uint32_t)part;
	return task % (uint32_t)t->blocks == (uint32_t)tsr_block_index(me);
}

/**
 * Begins an epilogue. Returns whether `c` is the whole product of the tile at
 * `at`. A block with an earlier part saves its sums for the block with the last
 * part. That block adds them in the order of K. Its own task comes after
 * theirs, so it waits only for earlier tasks, which are finished or running. It
 * also resets the flags for the next launch, which begins after this one has
 * ended. Signal and wait are partners. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN int tiling_complete(tsr_coop_t *me, const tiling_t *t, tsr_pos_t at, tile_frag_t *c)
{
	const int64_t place = tiling_index(t, at) - t->whole;
	if (place < 0)
		return 1;
	const int last = tiling_parts(t) - 1;
	TSR_HEAP uint64_t *ready = t->part_ready + place * last;
	TSR_HEAP unsigned char *sum = (TSR_HEAP unsigned char *)t->part_sum +
				      place * last * (int64_t)TSR_FRAG_BYTES(tile);
	if (!tiling_has_part(me, t, place, last)) {
		int part = 0;
		while (part < last - 1 && !tiling_has_part(me, t, place, part))
			part++;
		tsr_frag_save(me, sum + part * (int64_t)TSR_FRAG_BYTES(tile), c);
		tsr_signal_local(me, ready + part, 1, TSR_SCOPE_DEVICE);
		return 0;
	}
	int i = 0;
	do { /* if the compiler knows that there are two parts, no loop remains */
		tsr_wait_local(me, ready + i, 1, TSR_SCOPE_DEVICE);
		tsr_atomic_store(me, ready + i, (uint64_t)0, tsr_rank(me), TSR_RELAXED,
				 TSR_SCOPE_DEVICE);
		tsr_frag_add(me, c, sum + i * (int64_t)TSR_FRAG_BYTES(tile));
	} while (++i < last);
	return 1;
}

#endif

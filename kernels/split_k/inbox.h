/*
 * The inbox: slots for sent tiles, each with a flag. A slot belongs to a lane and
 * a tile of the receiver's chunk; the pattern says what its lanes are. Slots and
 * flags have the same addresses on every rank.
 */
#ifndef SPLIT_K_INBOX_H
#define SPLIT_K_INBOX_H

#include "kernels/split_k/chunks.h"

/** The number of a tile of a chunk. */
TSR_FN int64_t splitk_index(const splitk_args_t *a, tsr_pos_t tile_at)
{
	return tile_at.row * a->tiles_n + tile_at.col;
}

TSR_FN TSR_HEAP unsigned char *splitk_slot(const splitk_args_t *a, int lane, int64_t index)
{
	return (TSR_HEAP unsigned char *)a->inbox +
	       (lane * a->tiles_m * a->tiles_n + index) * a->slot_bytes;
}

TSR_FN TSR_HEAP uint64_t *splitk_come(const splitk_args_t *a, int lane, int64_t index)
{
	return a->come + lane * a->tiles_m * a->tiles_n + index;
}

/**
 * Sends a tile's sums to `peer`, and signals.
 * Partner:    the wait of splitk_add on the peer. Litmus: MP.rel.acq.diffGPU-ss.
 * The slot is free: handshake_open has waited for the peer (LB.retired.diffGPU-ss).
 */
TSR_FN void splitk_send(tsr_coop_t *me, const splitk_run_t *run, int lane, int64_t index,
			const tile_frag_t *sums, int peer)
{
	const splitk_args_t *a = run->args;
	tsr_frag_send(me, splitk_slot(a, lane, index), sums, (tsr_dtype_t)a->sums, peer);
	tsr_signal(me, splitk_come(a, lane, index), run->epoch, TSR_SIGNAL_SET, peer);
}

/**
 * Waits for a tile's sums, which rank `source` sends, and adds them.
 * Partner:    the signal of splitk_send on that rank. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN void splitk_add(tsr_coop_t *me, const splitk_run_t *run, int lane, int64_t index,
		       tile_frag_t *sums, int source)
{
	const splitk_args_t *a = run->args;
	tsr_wait(me, splitk_come(a, lane, index), run->epoch, source);
	tsr_frag_add_sent(me, sums, splitk_slot(a, lane, index), (tsr_dtype_t)a->sums);
}

/**
 * Adds all other ranks' sums of a tile of this rank's chunk. The lanes are the
 * ranks that send. The tile's own sum is in `sums`, and the others follow in rank
 * order, so every run gives the same bits. (To take the own sum in its turn would
 * need the registers of a second tile.)
 */
TSR_FN void splitk_add_all(tsr_coop_t *me, const splitk_run_t *run, int64_t index,
			   tile_frag_t *sums)
{
	for (int source = 0; source < run->ranks; source++)
		if (source != run->me)
			splitk_add(me, run, source, index, sums, source);
}

#endif

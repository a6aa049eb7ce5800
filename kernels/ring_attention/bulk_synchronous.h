/*
 * Bulk-synchronous: two kernels on one stream. The first gathers the shards of
 * keys and values on every rank, and ends with a meeting of all ranks. The second
 * computes.
 */
#ifndef RING_ATTENTION_BULK_SYNCHRONOUS_H
#define RING_ATTENTION_BULK_SYNCHRONOUS_H

#include "kernels/ring_attention/gather.h"

TSR_KERNEL(ring_gather_shards, ring_args_t, a)
{
	const uint64_t epoch = handshake_epoch(block, a->sync);
	tsr_role(block, "send");
	handshake_open(block, a->sync, epoch, tsr_block_index(block));
	for (int32_t i = tsr_block_index(block); i < ring_parcels(a); i += tsr_block_count(block))
		ring_put_parcel(block, a, ring_parcel_at(a, i));
	handshake_close(block, a->sync, epoch, tsr_block_count(block));
}

TSR_KERNEL(ring_attend, ring_args_t, a)
{
	ring_run_t run = {a, 0, (uint32_t)tsr_block_index(block), 0, 0};
	tsr_role(block, "compute");
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, ring_gather_tasks(&run),
		   ring_gather_span, TSR_NO_KEYS_GATE, TSR_NO_START, ring_store, &run);
}

#endif

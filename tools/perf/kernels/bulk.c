/*
 * put --via bulk: one thread of a block hands messages to the copy engine of
 * its multiprocessor, which moves them through shared memory. The other threads
 * idle. No call of the device API does this; docs/design.md says why.
 */
#include "tessera/dev.h"
#include "tools/perf/kernels/kernels.h"

enum { STAGES = 4, STAGE_BYTES = 32 << 10 };

/** A ring of stages. The barrier of a stage tells when it has been loaded. */
typedef struct perf_bulk_ring {
	_Alignas(128) unsigned char stage[STAGES][STAGE_BYTES];
	uint64_t loaded[STAGES];
} perf_bulk_ring_t;

#if defined(TSR_PORT_BULK)
#include TSR_PORT_BULK

/** The place of a block's next piece. A piece is a part of a message that fits a stage. */
typedef struct perf_bulk_walk {
	const perf_move_args_t *args;
	uint64_t message, step; /* where the message begins; distance to the block's next one */
	uint64_t inside;        /* where the piece begins in the message */
	uint64_t left;          /* repetitions, the current one included */
	uint64_t first;         /* the block's first message */
} perf_bulk_walk_t;

TSR_FN perf_bulk_walk_t perf_bulk_begin(const tsr_coop_t *block, const perf_move_args_t *a)
{
	const uint64_t first = (uint64_t)tsr_block_index(block) * a->chunk_bytes;
	perf_bulk_walk_t walk = {a,
				 first,
				 (uint64_t)tsr_block_count(block) * a->chunk_bytes,
				 0,
				 first < a->size_bytes ? a->repeats : 0,
				 first};
	return walk;
}

TSR_FN uint32_t perf_bulk_bytes(const perf_bulk_walk_t *walk)
{
	const uint64_t left = walk->args->chunk_bytes - walk->inside;
	return (uint32_t)(left < STAGE_BYTES ? left : STAGE_BYTES);
}

TSR_FN void perf_bulk_next(perf_bulk_walk_t *walk)
{
	walk->inside += STAGE_BYTES;
	if (walk->inside < walk->args->chunk_bytes)
		return;
	walk->inside = 0;
	walk->message += walk->step;
	if (walk->message < walk->args->size_bytes)
		return;
	walk->message = walk->first;
	walk->left--;
}

TSR_FN void perf_bulk_load(perf_bulk_walk_t *walk, perf_bulk_ring_t *ring, uint32_t stage)
{
	const uint32_t barrier = tsr_cuda_shared_address(&ring->loaded[stage]),
		       bytes = perf_bulk_bytes(walk);
	if (walk->left == 0)
		return;
	tsr_cuda_mbarrier_expect(barrier, bytes);
	tsr_cuda_bulk_load(tsr_cuda_shared_address(ring->stage[stage]),
			   (const char *)walk->args->src + walk->message + walk->inside, bytes,
			   barrier);
	perf_bulk_next(walk);
}

/** One thread makes all calls. It loads a stage again when the store from it has been read. */
TSR_FN void perf_bulk_move(const tsr_coop_t *block, const perf_move_args_t *a, char *dst,
			   perf_bulk_ring_t *ring)
{
	perf_bulk_walk_t loads = perf_bulk_begin(block, a), stores = loads;
	for (uint32_t stage = 0; stage < STAGES; stage++)
		tsr_cuda_mbarrier_init<1>(tsr_cuda_shared_address(&ring->loaded[stage]));
	tsr_cuda_before_engine(); /* it must see the initialised barriers */
	for (uint32_t stage = 0; stage + 1 < STAGES; stage++)
		perf_bulk_load(&loads, ring, stage);
	for (uint32_t i = 0; stores.left > 0; i++) {
		const uint32_t stage = i % STAGES;
		/* partner: the engine, which completes the phase with the last byte */
		tsr_cuda_mbarrier_wait(tsr_cuda_shared_address(&ring->loaded[stage]),
				       i / STAGES & 1);
		tsr_cuda_bulk_store(dst + stores.message + stores.inside,
				    tsr_cuda_shared_address(ring->stage[stage]),
				    perf_bulk_bytes(&stores));
		perf_bulk_next(&stores);
		tsr_cuda_bulk_stores_read<1>();
		perf_bulk_load(&loads, ring, (i + STAGES - 1) % STAGES);
	}
	tsr_cuda_bulk_stores_end();
}

TSR_KERNEL_SHARED(perf_bulk_put, perf_bulk_ring_t, perf_move_args_t, a)
{
	char *dst = tsr_gpu_heap_address(block, (char *)a->dst, a->dst_peer);
	if (block->thread < TSR_CUDA_WARP_THREADS && tsr_cuda_elected())
		perf_bulk_move(block, a, dst, shared);
}
#else
/* The command does not launch it on backends without such an engine. */
TSR_KERNEL_SHARED(perf_bulk_put, perf_bulk_ring_t, perf_move_args_t, a)
{
}
#endif

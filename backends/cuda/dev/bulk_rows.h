/*
 * Copies of long rows by a whole block whose shared memory is free: one thread
 * hands them to the multiprocessor's copy engine, piece by piece, and the others
 * wait. Beside a product a block's threads move 20 GB/s to a peer, because each
 * waits for its loads; the engine has pieces in flight all the time.
 */
#ifndef TESSERA_CUDA_BULK_ROWS_H
#define TESSERA_CUDA_BULK_ROWS_H

#include "cuda/dev/bulk.h"
#include "cuda/dev/pipeline.h"

enum {
	/* of shared memory, in stages of a piece: a shorter row makes more stages, so that as many
	 * bytes are on their way */
	TSR_CUDA_BULK_ROOM = 96 << 10,
	TSR_CUDA_BULK_PIECE = 16 << 10,
	/* shorter rows are too many pieces, and fewer bytes are not worth the start */
	TSR_CUDA_BULK_ROW_LEAST = 4 << 10,
	TSR_CUDA_BULK_MOST_STAGES = TSR_CUDA_BULK_ROOM / TSR_CUDA_BULK_ROW_LEAST,
	TSR_CUDA_BULK_LEAST = 64 << 10
};

/** The stages of a copy: shared addresses of the first one and of its mbarrier. */
typedef struct tsr_cuda_stages {
	uint32_t memory, loaded;
	uint32_t count, bytes; /* bytes of each */
} tsr_cuda_stages_t;

TSR_DEV tsr_cuda_stages_t tsr_cuda_stages(uint32_t memory, int64_t row_bytes)
{
	const uint32_t bytes = row_bytes < TSR_CUDA_BULK_PIECE ? (uint32_t)row_bytes
							       : (uint32_t)TSR_CUDA_BULK_PIECE;
	return {memory, memory + TSR_CUDA_BULK_ROOM, TSR_CUDA_BULK_ROOM / bytes, bytes};
}

/** The pieces of rows, in order. */
typedef struct tsr_cuda_pieces {
	const char *src;
	char *dst;
	int64_t rows, byte; /* rows that are left, this one included; bytes done of it */
} tsr_cuda_pieces_t;

TSR_DEV uint32_t tsr_cuda_piece_bytes(const tsr_cuda_pieces_t *at, int64_t row_bytes)
{
	const int64_t left = row_bytes - at->byte;
	return (uint32_t)(left < TSR_CUDA_BULK_PIECE ? left : TSR_CUDA_BULK_PIECE);
}

TSR_DEV void tsr_cuda_next_piece(tsr_cuda_pieces_t *at, const tsr_gpu_rows_of_bytes_t &job)
{
	at->byte += TSR_CUDA_BULK_PIECE;
	if (at->byte < job.row_bytes)
		return;
	at->byte = 0;
	at->src += job.src_pitch;
	at->dst += job.dst_pitch;
	at->rows--;
}

/** Loads the next piece to a stage, if there is one. Partner: tsr_cuda_move_pieces. */
TSR_DEV void tsr_cuda_load_piece(tsr_cuda_pieces_t *at, const tsr_gpu_rows_of_bytes_t &job,
				 const tsr_cuda_stages_t &stages, uint32_t stage)
{
	if (at->rows <= 0)
		return;
	const uint32_t bytes = tsr_cuda_piece_bytes(at, job.row_bytes),
		       barrier = stages.loaded + 8 * stage;
	tsr_cuda_mbarrier_expect(barrier, bytes);
	tsr_cuda_bulk_load(stages.memory + stage * stages.bytes, at->src + at->byte, bytes,
			   barrier);
	tsr_cuda_next_piece(at, job);
}

/**
 * One thread makes all calls. It loads a stage again when the store from it has
 * been read. Behind the last store's end its bytes are visible to this thread
 * (PTX ISA 8.0, section 9.7.8.24: wait_group, and the proxy fence that follows it).
 */
TSR_DEV void tsr_cuda_move_pieces(const tsr_gpu_rows_of_bytes_t &job,
				  const tsr_cuda_stages_t &stages)
{
	tsr_cuda_pieces_t loads = {job.src, job.dst, job.rows, 0}, stores = loads;
	TSR_GPU_NO_UNROLL
	for (uint32_t stage = 0; stage < stages.count; stage++)
		tsr_cuda_mbarrier_init<1>(stages.loaded + 8 * stage);
	tsr_cuda_mbarrier_publish();
	tsr_cuda_before_engine(); /* it must see barriers, and what is to be copied */
	TSR_GPU_NO_UNROLL
	for (uint32_t stage = 0; stage + 1 < stages.count; stage++)
		tsr_cuda_load_piece(&loads, job, stages, stage);
	uint32_t stage = 0, parity = 0;
	TSR_GPU_NO_UNROLL
	while (stores.rows > 0) {
		/* partner: the engine, which completes the phase with the last byte */
		tsr_cuda_mbarrier_wait(stages.loaded + 8 * stage, parity);
		tsr_cuda_bulk_store(stores.dst + stores.byte, stages.memory + stage * stages.bytes,
				    tsr_cuda_piece_bytes(&stores, job.row_bytes));
		tsr_cuda_next_piece(&stores, job);
		tsr_cuda_bulk_stores_read<1>();
		tsr_cuda_load_piece(&loads, job, stages, stage == 0 ? stages.count - 1 : stage - 1);
		parity ^= stage + 1 == stages.count;
		stage = stage + 1 == stages.count ? 0 : stage + 1;
	}
	tsr_cuda_bulk_stores_end();
	TSR_GPU_NO_UNROLL
	for (uint32_t ended = 0; ended < stages.count; ended++)
		tsr_cuda_mbarrier_end(stages.loaded + 8 * ended);
}

/** Copies the rows in bulk, if the block and the rows are such: whether it did. */
TSR_DEV bool tsr_port_copy_in_bulk(const tsr_coop_t *coop, tsr_gpu_rows_of_bytes_t job)
{
	if (!coop->whole || coop->threads != TSR_CUDA_MAIN_THREADS)
		return false;
	if (job.row_bytes == job.dst_pitch && job.row_bytes == job.src_pitch) {
		job.row_bytes *= job.rows;
		job.rows = 1;
	}
	if (job.row_bytes < TSR_CUDA_BULK_ROW_LEAST ||
	    job.row_bytes * job.rows < TSR_CUDA_BULK_LEAST ||
	    (((uintptr_t)job.dst | (uintptr_t)job.src | (uint64_t)job.row_bytes) & 15) ||
	    (job.rows > 1 && (((uint64_t)job.dst_pitch | (uint64_t)job.src_pitch) & 15)))
		return false;
	uint32_t bytes;
	const uint32_t memory = tsr_cuda_shared_address(tsr_cuda_free_shared(coop, &bytes));
	if (bytes < TSR_CUDA_BULK_ROOM + 8 * TSR_CUDA_BULK_MOST_STAGES)
		return false;
	tsr_gpu_meet(coop); /* the engine reads what all have written */
	if (coop->thread < TSR_CUDA_WARP_THREADS && tsr_cuda_elected())
		tsr_cuda_move_pieces(job, tsr_cuda_stages(memory, job.row_bytes));
	tsr_gpu_meet(coop);
	return true;
}

#endif

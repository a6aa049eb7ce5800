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
	TSR_CUDA_BULK_STAGES = 6,
	TSR_CUDA_BULK_PIECE = 16 << 10,
	/* shorter rows are too many pieces, and fewer bytes are not worth the start */
	TSR_CUDA_BULK_ROW_LEAST = 2 << 10,
	TSR_CUDA_BULK_LEAST = 64 << 10
};

/** The pieces of rows, in order: rows, or parts of longer ones. */
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

/** How many pieces a stage holds next: one, or as many whole rows as it has room for. */
TSR_DEV uint32_t tsr_cuda_pieces_of_stage(const tsr_cuda_pieces_t *at, int64_t row_bytes)
{
	const int64_t room = row_bytes < TSR_CUDA_BULK_PIECE ? TSR_CUDA_BULK_PIECE / row_bytes : 1;
	return (uint32_t)(at->rows < room ? at->rows : room);
}

/** Loads the next pieces to a stage, if there are any. Partner: tsr_cuda_move_pieces. */
TSR_DEV void tsr_cuda_load_stage(tsr_cuda_pieces_t *at, const tsr_gpu_rows_of_bytes_t &job,
				 uint32_t stages, uint32_t loaded, uint32_t stage)
{
	if (at->rows <= 0)
		return;
	const uint32_t bytes = tsr_cuda_piece_bytes(at, job.row_bytes),
		       barrier = loaded + 8 * stage,
		       count = tsr_cuda_pieces_of_stage(at, job.row_bytes);
	uint32_t to = stages + stage * TSR_CUDA_BULK_PIECE;
	tsr_cuda_mbarrier_expect(barrier, count * bytes);
	TSR_GPU_NO_UNROLL
	for (uint32_t i = 0; i < count; i++, to += bytes) {
		tsr_cuda_bulk_load(to, at->src + at->byte, bytes, barrier);
		tsr_cuda_next_piece(at, job);
	}
}

/** Stores the pieces of a stage that has arrived. */
TSR_DEV void tsr_cuda_store_stage(tsr_cuda_pieces_t *at, const tsr_gpu_rows_of_bytes_t &job,
				  uint32_t stages, uint32_t stage)
{
	const uint32_t bytes = tsr_cuda_piece_bytes(at, job.row_bytes),
		       count = tsr_cuda_pieces_of_stage(at, job.row_bytes);
	uint32_t from = stages + stage * TSR_CUDA_BULK_PIECE;
	TSR_GPU_NO_UNROLL
	for (uint32_t i = 0; i < count; i++, from += bytes) {
		tsr_cuda_bulk_store(at->dst + at->byte, from, bytes);
		tsr_cuda_next_piece(at, job);
	}
	tsr_cuda_bulk_stores_close();
}

/**
 * One thread makes all calls. It loads a stage again when the store from it has
 * been read. Behind the last store's end its bytes are visible to this thread
 * (PTX ISA 8.0, section 9.7.8.24: wait_group, and the proxy fence that follows it).
 */
TSR_DEV void tsr_cuda_move_pieces(const tsr_gpu_rows_of_bytes_t &job, uint32_t stages,
				  uint32_t loaded)
{
	enum { count = TSR_CUDA_BULK_STAGES };
	tsr_cuda_pieces_t loads = {job.src, job.dst, job.rows, 0}, stores = loads;
	for (uint32_t stage = 0; stage < count; stage++)
		tsr_cuda_mbarrier_init(loaded + 8 * stage, 1);
	tsr_cuda_mbarrier_publish();
	tsr_cuda_before_engine(); /* it must see barriers, and what is to be copied */
	for (uint32_t stage = 0; stage + 1 < count; stage++)
		tsr_cuda_load_stage(&loads, job, stages, loaded, stage);
	uint32_t stage = 0, parity = 0;
	TSR_GPU_NO_UNROLL
	while (stores.rows > 0) {
		/* partner: the engine, which completes the phase with the last byte */
		tsr_cuda_mbarrier_wait(loaded + 8 * stage, parity);
		tsr_cuda_store_stage(&stores, job, stages, stage);
		tsr_cuda_bulk_stores_read<1>();
		tsr_cuda_load_stage(&loads, job, stages, loaded,
				    stage == 0 ? count - 1 : stage - 1);
		parity ^= stage + 1 == count;
		stage = stage + 1 == count ? 0 : stage + 1;
	}
	tsr_cuda_bulk_stores_end();
	for (uint32_t stage_ended = 0; stage_ended < count; stage_ended++)
		tsr_cuda_mbarrier_end(loaded + 8 * stage_ended);
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
	const uint32_t memory = tsr_cuda_shared_address(tsr_cuda_free_shared(coop, &bytes)),
		       loaded = memory + TSR_CUDA_BULK_STAGES * TSR_CUDA_BULK_PIECE;
	if (bytes < TSR_CUDA_BULK_STAGES * (TSR_CUDA_BULK_PIECE + 8))
		return false;
	tsr_gpu_meet(coop); /* the engine reads what all have written */
	if (coop->thread < TSR_CUDA_WARP_THREADS && tsr_cuda_elected())
		tsr_cuda_move_pieces(job, memory, loaded);
	tsr_gpu_meet(coop);
	return true;
}

#endif

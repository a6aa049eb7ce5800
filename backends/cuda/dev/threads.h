/*
 * The number of threads of blocks and workers, and the depth of tiles. The host
 * half asks the driver for the launch bounds of each kernel.
 */
#ifndef TESSERA_CUDA_THREADS_H
#define TESSERA_CUDA_THREADS_H

#define TSR_CUDA_WARP_THREADS 32
#define TSR_CUDA_WARPGROUP_THREADS 128
/*
 * worker 0, or a block with one worker: the threads that multiply, and a
 * warpgroup that loads for them
 */
#define TSR_CUDA_MAIN_THREADS 384
/*
 * a block that moves data: the largest number of threads, with enough registers
 * for that
 */
#define TSR_CUDA_WIDE_THREADS 1024
#define TSR_CUDA_MOVER_THREADS 128 /* every other worker: one warpgroup */

/* Inside worker 0, while it runs a main loop: */
#define TSR_CUDA_CONSUMER_THREADS 256 /* two warpgroups, which multiply and run the epilogue */
/*
 * one warp of the third warpgroup, which runs order and gate and drives the
 * copy engine
 */
#define TSR_CUDA_LOADER_THREADS 32
#define TSR_CUDA_SENDER_THREADS 96 /* its other warps, which send finished tiles to peers */

#define TSR_CUDA_TILE_DEPTH 64 /* K of the tiles that the tensor cores multiply (dev/layout.h) */

/** Threads of a block of `workers` workers. */
#define TSR_CUDA_BLOCK_THREADS(workers_) \
	(TSR_CUDA_MAIN_THREADS + ((workers_)-1) * TSR_CUDA_MOVER_THREADS)

#endif

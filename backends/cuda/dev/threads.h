/* How many threads a block has. The host half asks the driver for the launch bounds of each kernel. */
#ifndef TESSERA_CUDA_THREADS_H
#define TESSERA_CUDA_THREADS_H

#define TSR_CUDA_SOLE_THREADS 256  /* a block of one worker: two warpgroups */
#define TSR_CUDA_WIDE_THREADS 1024 /* a block that moves data: the most there are, and its registers are enough for that */
#define TSR_CUDA_MAIN_THREADS 256  /* worker 0 of a block of several */
#define TSR_CUDA_MOVER_THREADS 128 /* every other worker: a warpgroup */

/** Threads of a block of `workers` workers. */
#define TSR_CUDA_BLOCK_THREADS(workers_) \
	((workers_) == 1 ? TSR_CUDA_SOLE_THREADS : TSR_CUDA_MAIN_THREADS + ((workers_)-1) * TSR_CUDA_MOVER_THREADS)

#endif

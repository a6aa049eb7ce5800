/*
 * The number of threads of blocks and workers: for the device half, and for the
 * host half that launches it.
 */
#ifndef TESSERA_HIP_THREADS_H
#define TESSERA_HIP_THREADS_H

/*
 * The hardware's barrier covers the whole workgroup. So if there are several
 * workers, each is one wave, which needs no barrier.
 */
#define TSR_HIP_WAVE_THREADS 64
#define TSR_HIP_SOLE_THREADS 256 /* a block with one worker: four waves */

/** Threads of a block of `workers` workers. */
#define TSR_HIP_BLOCK_THREADS(workers_) \
	((workers_) == 1 ? TSR_HIP_SOLE_THREADS : (workers_)*TSR_HIP_WAVE_THREADS)

#endif

/* How many threads a block has: for the device half, and for the host half that launches it. */
#ifndef TESSERA_HIP_THREADS_H
#define TESSERA_HIP_THREADS_H

/*
 * The hardware's barrier is the whole workgroup's, so that each of several
 * workers is one wave, which needs none.
 */
#define TSR_HIP_WAVE_THREADS 64
#define TSR_HIP_SOLE_THREADS 256 /* a block of one worker: four waves */

/** Threads of a block of `workers` workers. */
#define TSR_HIP_BLOCK_THREADS(workers_) \
	((workers_) == 1 ? TSR_HIP_SOLE_THREADS : (workers_)*TSR_HIP_WAVE_THREADS)

#endif

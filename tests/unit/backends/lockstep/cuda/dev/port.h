/*
 * A stand-in for backends/cuda/dev/port.h with which an ordinary C++ compiler
 * reads the CUDA port's layout of fragments and their products: as
 * hip/dev/port.h beside this, but for warps and for meetings of workers, which
 * are several of them.
 */
#ifndef TESSERA_LOCKSTEP_CUDA_PORT_H
#define TESSERA_LOCKSTEP_CUDA_PORT_H

#include <pthread.h>
#include <stdint.h>

#include "cuda/dev/threads.h"

#define TSR_PORT_WIDE_THREADS TSR_CUDA_WIDE_THREADS
#define TSR_PORT_MAIN_THREADS TSR_CUDA_MAIN_THREADS
#define TSR_PORT_MOVER_THREADS TSR_CUDA_MOVER_THREADS
#define TSR_PORT_PART_THREADS TSR_CUDA_WARP_THREADS
#define TSR_PORT_BLOCK_THREADS(workers_) TSR_CUDA_BLOCK_THREADS(workers_)
#define TSR_PORT_UNPACKS_EARLY 1
#define TSR_PORT_LAYOUT "cuda/dev/layout.h"
#define TSR_PORT_OUTGOING "hip/dev/outgoing.h" /* none of its own */
#define TSR_PORT_ADD "hip/dev/add.h"           /* by compare-and-swap */
#define TSR_PORT_DOT "cuda/dev/dot.h"
#define TSR_PORT_GEMM "cuda/dev/gemm.h"
#define TSR_PORT_ATTEND "cuda/dev/attend.h"

typedef unsigned __int128 tsr_port_unit_t;

enum { LOCKSTEP_LANES = 32, LOCKSTEP_WAVES = TSR_CUDA_WIDE_THREADS / LOCKSTEP_LANES };

/** A warp: where its lanes meet, and what each hands to an instruction. */
typedef struct lockstep_wave {
	pthread_barrier_t meet;
	float number[LOCKSTEP_LANES][12];
} lockstep_wave_t;

#include "stand_in.h"

/** A warp meets alone; and one worker of the block does what is tested. */
TSR_DEV void tsr_port_meet_worker(int, int threads)
{
	pthread_barrier_wait(threads == LOCKSTEP_LANES
				     ? &lockstep_waves[lockstep_thread / LOCKSTEP_LANES].meet
				     : &lockstep_worker);
}

/** Two neighbours of a row, rounded to D: backends/cuda/dev/outgoing.h. */
template <typename D> TSR_DEV uint32_t tsr_cuda_pair(float first, float second);

#endif

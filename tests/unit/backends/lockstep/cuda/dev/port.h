/*
 * A stand-in for backends/cuda/dev/port.h with which an ordinary C++ compiler
 * reads the CUDA port's layout of fragments and their products: as
 * hip/dev/port.h beside this, but for warps and for meetings of workers, which
 * are several of them.
 */
#ifndef TESSERA_LOCKSTEP_CUDA_PORT_H
#define TESSERA_LOCKSTEP_CUDA_PORT_H

#include <math.h>
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
#define TSR_PORT_OUTGOING "cuda/dev/outgoing.h"
#define TSR_PORT_ADD "hip/dev/add.h" /* by compare-and-swap */
#define TSR_PORT_DOT "cuda/dev/dot.h"
#define TSR_PORT_GEMM "cuda/dev/gemm.h"
#define TSR_PORT_ATTEND "cuda/dev/attend.h"
#define TSR_PORT_BULK "cuda/dev/bulk.h"

typedef unsigned __int128 tsr_port_unit_t;

enum { LOCKSTEP_LANES = 32, LOCKSTEP_WAVES = TSR_CUDA_WIDE_THREADS / LOCKSTEP_LANES };

/** A warp: where its lanes meet, and what each hands to an instruction. */
typedef struct lockstep_wave {
	pthread_barrier_t meet;
	float number[LOCKSTEP_LANES][12];
} lockstep_wave_t;

/* what a kernel with a pipeline has of an H100's */
enum { LOCKSTEP_DYNAMIC_BYTES = 224 << 10 };

#include "stand_in.h"

/** A warp meets alone; so do the threads that are tested, which are a worker, or a part of one. */
TSR_DEV void tsr_port_meet_worker(int, int threads)
{
	pthread_barrier_wait(threads == LOCKSTEP_LANES
				     ? &lockstep_waves[lockstep_thread / LOCKSTEP_LANES].meet
			     : threads == lockstep_worker_threads ? &lockstep_worker
								  : &lockstep_block);
}

/** Where the swizzle of 128 bytes puts what belongs to a shared address. */
TSR_DEV uint32_t lockstep_swizzled(uint32_t address)
{
	return address ^ (address >> 7 & 7) << 4;
}

/* ---- CUDA's own functions */

TSR_DEV void __syncwarp(void)
{
	pthread_barrier_wait(&lockstep_waves[lockstep_thread / LOCKSTEP_LANES].meet);
}

TSR_DEV bool __all_sync(unsigned, bool says)
{
	return tsr_port_ballot(says) == 0xffffffffu;
}

/** A word of another lane. */
template <typename T> TSR_DEV T __shfl_sync(unsigned, T x, int lane)
{
	static_assert(sizeof(T) == sizeof(float), "a register");
	lockstep_wave_t *warp = &lockstep_waves[lockstep_thread / LOCKSTEP_LANES];
	warp->number[lockstep_thread % LOCKSTEP_LANES][0] = __builtin_bit_cast(float, x);
	__syncwarp();
	const T theirs = __builtin_bit_cast(T, warp->number[lane][0]);
	__syncwarp();
	return theirs;
}

template <typename T> TSR_DEV T __shfl_xor_sync(unsigned all, T x, int bit)
{
	return __shfl_sync(all, x, (lockstep_thread % LOCKSTEP_LANES) ^ bit);
}

TSR_DEV void __nanosleep(unsigned)
{
}

[[noreturn]] TSR_DEV void __trap(void)
{
	__builtin_trap();
}

TSR_DEV uint32_t __float_as_uint(float x)
{
	return __builtin_bit_cast(uint32_t, x);
}

TSR_DEV uint32_t __funnelshift_l(uint32_t low, uint32_t high, int by)
{
	return by ? high << by | low >> (32 - by) : high;
}

struct uint4 {
	uint32_t x, y, z, w;
};

TSR_DEV uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
	return {x, y, z, w};
}

/** Two neighbours of a row, rounded to D: pull.h. */
template <typename D> TSR_DEV uint32_t tsr_cuda_pair(float first, float second);

#endif

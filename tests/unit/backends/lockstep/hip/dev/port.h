/*
 * A stand-in for backends/hip/dev/port.h with which an ordinary C++ compiler
 * reads the HIP port's layout and main loop: each lane is a thread of the
 * operating system, shared memory is static, and an instruction of the matrix
 * cores is a meeting of the 64 threads of a wave, which then sum up by the
 * published layouts. One block at a time. Lanes are not in step but where they
 * meet, so that ThreadSanitizer sees an exchange through shared memory which no
 * meeting orders.
 */
#ifndef TESSERA_LOCKSTEP_PORT_H
#define TESSERA_LOCKSTEP_PORT_H

#include <pthread.h>
#include <stdint.h>

#include "hip/dev/threads.h"

#define address_space(n_) /* all memory is one */
#define __fp16 _Float16

#define TSR_PORT_WIDE_THREADS TSR_HIP_SOLE_THREADS
#define TSR_PORT_MAIN_THREADS TSR_HIP_WAVE_THREADS
#define TSR_PORT_MOVER_THREADS TSR_HIP_WAVE_THREADS
#define TSR_PORT_PART_THREADS TSR_HIP_WAVE_THREADS
#define TSR_PORT_BLOCK_THREADS(workers_) TSR_HIP_BLOCK_THREADS(workers_)
#define TSR_PORT_LAYOUT "hip/dev/layout.h"
#define TSR_PORT_OUTGOING "hip/dev/outgoing.h"
#define TSR_PORT_ADD "hip/dev/add.h"
#define TSR_PORT_DOT "hip/dev/dot.h"
#define TSR_PORT_GEMM "hip/dev/gemm.h"
#define TSR_PORT_ATTEND "hip/dev/attend.h"

typedef uint32_t tsr_port_unit_t __attribute__((ext_vector_type(4)));

enum { LOCKSTEP_LANES = 64, LOCKSTEP_WAVES = TSR_HIP_SOLE_THREADS / LOCKSTEP_LANES };

/** A wave: where its lanes meet, and what each hands to an instruction. */
typedef struct lockstep_wave {
	pthread_barrier_t meet;
	float a[LOCKSTEP_LANES][4], b[LOCKSTEP_LANES][4];
	int word[LOCKSTEP_LANES];
} lockstep_wave_t;

enum { LOCKSTEP_DYNAMIC_BYTES = 1024 };

#include "stand_in.h"

/** A worker is one wave. */
TSR_DEV void tsr_port_meet_worker(int, int)
{
	pthread_barrier_wait(&lockstep_waves[lockstep_thread / LOCKSTEP_LANES].meet);
}

/* ---- what the main loop asks the compiler for */

#define __builtin_amdgcn_readfirstlane(x_) (x_)
#define __builtin_amdgcn_s_waitcnt(n_) ((void)0)
#define __builtin_amdgcn_sched_barrier(mask_) ((void)0)
#define __builtin_amdgcn_sched_group_barrier(mask_, size_, id_) ((void)0)

/** The word of the lane whose number is a quarter of `address`. */
TSR_DEV int lockstep_permute(int address, int word)
{
	lockstep_wave_t *wave = &lockstep_waves[lockstep_thread / LOCKSTEP_LANES];
	wave->word[lockstep_thread % LOCKSTEP_LANES] = word;
	pthread_barrier_wait(&wave->meet);
	const int theirs = wave->word[address / 4 % LOCKSTEP_LANES];
	pthread_barrier_wait(&wave->meet);
	return theirs;
}
#define __builtin_amdgcn_ds_bpermute(address_, word_) lockstep_permute(address_, word_)

TSR_DEV void tsr_hip_no_earlier(void)
{
}

TSR_DEV int tsr_hip_unknown(int x)
{
	return x;
}

template <typename V> TSR_DEV void tsr_hip_pin(V &)
{
}

/* ---- the matrix cores */

typedef short lockstep_4_bf16 __attribute__((ext_vector_type(4)));
typedef _Float16 lockstep_4_f16 __attribute__((ext_vector_type(4)));

/** As gfx90a takes operands: subnormal numbers, below `least`, are zeros. */
TSR_DEV float lockstep_normal(float x, float least)
{
	return __builtin_fabsf(x) < least ? 0 : x;
}

TSR_DEV int lockstep_numbers(float x, float (&number)[4])
{
	number[0] = x;
	return 1;
}

TSR_DEV int lockstep_numbers(lockstep_4_bf16 x, float (&number)[4])
{
	for (int i = 0; i < 4; i++)
		number[i] =
			lockstep_normal(__builtin_bit_cast(float, (uint32_t)(uint16_t)x[i] << 16),
					0x1p-126f);
	return 4;
}

TSR_DEV int lockstep_numbers(lockstep_4_f16 x, float (&number)[4])
{
	for (int i = 0; i < 4; i++)
		number[i] = lockstep_normal((float)x[i], 0x1p-14f);
	return 4;
}

/**
 * One block of EDGE x EDGE. Lane l has row (of B: column) l % EDGE, and of K
 * what belongs to its group l / EDGE.
 */
template <int EDGE, typename V, typename S> S lockstep_multiply(V a, V b, S sum)
{
	lockstep_wave_t *wave = &lockstep_waves[lockstep_thread / LOCKSTEP_LANES];
	int lane = lockstep_thread % LOCKSTEP_LANES, count = lockstep_numbers(a, wave->a[lane]);
	lockstep_numbers(b, wave->b[lane]);
	pthread_barrier_wait(&wave->meet);
	for (int reg = 0; reg < EDGE * EDGE / LOCKSTEP_LANES; reg++) {
		int row = EDGE == 32 ? 8 * (reg / 4) + 4 * (lane / 32) + reg % 4
				     : 4 * (lane / 16) + reg;
		for (int group = 0; group < LOCKSTEP_LANES / EDGE; group++)
			for (int i = 0; i < count; i++)
				sum[reg] += wave->a[group * EDGE + row][i] *
					    wave->b[group * EDGE + lane % EDGE][i];
	}
	pthread_barrier_wait(&wave->meet);
	return sum;
}

#define __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a_, b_, sum_, x_, y_, z_) \
	lockstep_multiply<32>(a_, b_, sum_)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a_, b_, sum_, x_, y_, z_) \
	lockstep_multiply<16>(a_, b_, sum_)
#define __builtin_amdgcn_mfma_f32_32x32x8f16(a_, b_, sum_, x_, y_, z_) \
	lockstep_multiply<32>(a_, b_, sum_)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a_, b_, sum_, x_, y_, z_) \
	lockstep_multiply<16>(a_, b_, sum_)
#define __builtin_amdgcn_mfma_f32_32x32x2f32(a_, b_, sum_, x_, y_, z_) \
	lockstep_multiply<32>(a_, b_, sum_)
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a_, b_, sum_, x_, y_, z_) \
	lockstep_multiply<16>(a_, b_, sum_)

#endif

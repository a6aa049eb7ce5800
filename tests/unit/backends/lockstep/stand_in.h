/*
 * What the stand-ins for the two ports (cuda/dev/port.h and hip/dev/port.h
 * beside this) have in common: each lane is a thread of the operating system,
 * shared memory is static, and lanes meet at barriers of threads. A stand-in
 * includes this once it has said how many threads its workers have, which
 * bodies it uses, and what a lane hands to an instruction (lockstep_wave_t).
 * One block runs at a time.
 */
#ifndef TESSERA_LOCKSTEP_STAND_IN_H
#define TESSERA_LOCKSTEP_STAND_IN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define TSR_PORT_DEVICE
#define TSR_PORT_SHARED static
#define TSR_PORT_ENTRY(threads_) extern "C" void
#define TSR_PORT_BY_VALUE(type_) const type_
#define TSR_RELAXED __ATOMIC_RELAXED
#define TSR_ACQUIRE __ATOMIC_ACQUIRE
#define TSR_RELEASE __ATOMIC_RELEASE
#define TSR_ACQ_REL __ATOMIC_ACQ_REL
#define TSR_SEQ_CST __ATOMIC_SEQ_CST
#define TSR_SCOPE_BLOCK 0
#define TSR_SCOPE_DEVICE 1
#define TSR_SCOPE_SYSTEM 2

#include "gpu/dev/port.h"

/* aligned so that the lower bits of an address are its place */
alignas(1 << 18) inline unsigned char lockstep_dynamic[LOCKSTEP_DYNAMIC_BYTES];
extern pthread_barrier_t lockstep_block;
extern pthread_barrier_t lockstep_worker; /* of a worker of several warps */
extern int lockstep_worker_threads;
extern lockstep_wave_t lockstep_waves[LOCKSTEP_WAVES];
extern bool lockstep_says[LOCKSTEP_WAVES][LOCKSTEP_LANES]; /* of a ballot */
extern thread_local int lockstep_thread;

TSR_DEV int tsr_port_thread(void)
{
	return lockstep_thread;
}

TSR_DEV int tsr_port_block(void)
{
	return 0;
}

TSR_DEV unsigned char *tsr_port_dynamic_shared(void)
{
	return lockstep_dynamic;
}

TSR_DEV void tsr_port_meet_block(void)
{
	pthread_barrier_wait(&lockstep_block);
}

TSR_DEV uint64_t tsr_port_ballot(bool says)
{
	const int wave = lockstep_thread / LOCKSTEP_LANES;
	uint64_t all = 0;
	lockstep_says[wave][lockstep_thread % LOCKSTEP_LANES] = says;
	pthread_barrier_wait(&lockstep_waves[wave].meet);
	for (int lane = 0; lane < LOCKSTEP_LANES; lane++)
		all |= (uint64_t)lockstep_says[wave][lane] << lane;
	pthread_barrier_wait(&lockstep_waves[wave].meet);
	return all;
}

TSR_DEV uint64_t tsr_port_clock(void)
{
	return 0;
}

TSR_DEV void tsr_port_pause(void)
{
}

TSR_DEV void tsr_port_rest(uint32_t)
{
}

template <typename T> TSR_DEV void tsr_port_forget(T *)
{
}

template <typename T> TSR_DEV T tsr_port_read_here(T value)
{
	return value;
}

template <typename T> TSR_DEV T *tsr_port_global(T *p)
{
	return p;
}

template <typename T> TSR_DEV T tsr_port_constant(const T *p)
{
	return *p;
}

template <typename T> TSR_DEV bool tsr_port_is_shared(T *)
{
	return false;
}

template <int HINT> TSR_DEV void tsr_port_write_hinted(void *at, tsr_port_unit_t unit)
{
	*(tsr_port_unit_t *)at = unit;
}

TSR_DEV tsr_port_unit_t tsr_port_read_streaming(const void *at)
{
	return *(const tsr_port_unit_t *)at;
}

TSR_DEV float tsr_port_exp2(float x)
{
	return __builtin_exp2f(x);
}

TSR_DEV float tsr_port_log2(float x)
{
	return __builtin_log2f(x);
}

TSR_DEV float tsr_port_widen_f16(uint16_t bits)
{
	return (float)__builtin_bit_cast(_Float16, bits);
}

TSR_DEV uint16_t tsr_port_round_bf16(float x)
{
	uint32_t bits;
	__builtin_memcpy(&bits, &x, sizeof bits);
	const uint32_t quiet = bits >> 16 | 0x40u,
		       rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
	return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

TSR_DEV uint16_t tsr_port_round_f16(float x)
{
	return __builtin_bit_cast(uint16_t, (_Float16)x);
}

/* ---- order: what is tested makes no ordered access, and a meeting orders all */

template <int ORDER, int SCOPE> TSR_DEV void tsr_port_fence(void)
{
}
template <int SCOPE> TSR_DEV void tsr_port_drain(void)
{
}
template <int SCOPE> TSR_DEV void tsr_port_refresh(void)
{
}
template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_load(W *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
template <int ORDER, int SCOPE, typename W> TSR_DEV void tsr_port_store(W *p, W v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_add(T *p, T v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_min(T *p, T v)
{
	T seen = __atomic_load_n(p, __ATOMIC_SEQ_CST);
	while (v < seen && !__atomic_compare_exchange_n(p, &seen, v, false, __ATOMIC_SEQ_CST,
							__ATOMIC_SEQ_CST)) {
	}
	return seen;
}
#define LOCKSTEP_RMW(name_)                                                               \
	template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_##name_(T *p, T v) \
	{                                                                                 \
		return __atomic_fetch_##name_(p, v, __ATOMIC_SEQ_CST);                    \
	}
LOCKSTEP_RMW(and)
LOCKSTEP_RMW(or)
LOCKSTEP_RMW(max)
template <int ORDER, int FAILURE, int SCOPE, typename W>
TSR_DEV W tsr_port_cas(W *p, W expected, W desired)
{
	__atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return expected;
}

#endif

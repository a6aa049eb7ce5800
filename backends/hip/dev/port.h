/*
 * The device port for HIP: clang 19 or later, gfx90a and gfx942, no vendor
 * header. What it must define: gpu/dev/port.h.
 */
#ifndef TESSERA_HIP_PORT_H
#define TESSERA_HIP_PORT_H

#if !defined(__clang__) || __clang_major__ < 19
#error "the HIP port needs clang 19 or later: compile with clang-19 -x hip"
#endif
#if !defined(__HIP_DEVICE_COMPILE__)
#error "the HIP port is for devices only: compile with --offload-device-only; the host half is the C compiler's"
#endif
#if !defined(__gfx90a__) && !defined(__gfx942__)
#error "the HIP port knows gfx90a and gfx942: on others the caches are not what its ordered accesses were written for"
#endif

#include "hip/dev/threads.h"

#define TSR_PORT_DEVICE __attribute__((device))
#define TSR_PORT_SHARED __attribute__((shared))
#define TSR_PORT_ENTRY(threads_)           \
	extern "C" __attribute__((global)) \
	__attribute__((amdgpu_flat_work_group_size(threads_, threads_))) void
#define TSR_PORT_BY_VALUE(type_) const type_
/*
 * each wave writes its own stores back before a signal, so more waves do not
 * help
 */
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

#define TSR_PORT_MEET_SHARED(coop_) tsr_hip_meet_shared((coop_)->whole)

#define TSR_RELAXED __ATOMIC_RELAXED
#define TSR_ACQUIRE __ATOMIC_ACQUIRE
#define TSR_RELEASE __ATOMIC_RELEASE
#define TSR_ACQ_REL __ATOMIC_ACQ_REL
#define TSR_SEQ_CST __ATOMIC_SEQ_CST
#define TSR_SCOPE_BLOCK __HIP_MEMORY_SCOPE_WORKGROUP
#define TSR_SCOPE_DEVICE __HIP_MEMORY_SCOPE_AGENT
#define TSR_SCOPE_SYSTEM __HIP_MEMORY_SCOPE_SYSTEM

#include "gpu/dev/port.h"

#include "hip/dev/order.h"

/* ---- threads, time, memory */

TSR_DEV int tsr_port_thread(void)
{
	return (int)__builtin_amdgcn_workitem_id_x();
}

TSR_DEV int tsr_port_block(void)
{
	return (int)__builtin_amdgcn_workgroup_id_x();
}

TSR_DEV unsigned char *tsr_port_dynamic_shared(void)
{
	extern __attribute__((shared))
	__attribute__((aligned(128))) unsigned char tsr_hip_dynamic_shared[];
	return tsr_hip_dynamic_shared;
}

/*
 * Waves may pass the barrier while their stores are in flight, and a later
 * release by one wave would not wait for the stores of the others. So every
 * wave waits for its own stores before the barrier.
 */
TSR_DEV void tsr_port_meet_block(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	tsr_hip_settle();
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	tsr_hip_no_earlier();
}

/*
 * A worker is one wave, whose lanes are always together. The compiler must not
 * move accesses across, and the wave waits as above.
 */
TSR_DEV void tsr_port_meet_worker(int worker, int threads)
{
	(void)worker;
	(void)threads;
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
	tsr_hip_settle();
	__builtin_amdgcn_wave_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/*
 * For shared memory only: loads of the next stage, or stores of the last band,
 * stay in flight across it. The comment in the assembly tells the check of the
 * ISA that this is intended. A wave's own accesses to shared memory are performed
 * in order.
 */
TSR_DEV void tsr_hip_meet_shared(int whole)
{
	if (whole)
		__asm__ volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier ; for shared memory alone" ::
					 : "memory");
	else {
		__builtin_amdgcn_wave_barrier();
		tsr_hip_no_earlier();
	}
}

/** Returns x; the compiler does not know its value. */
TSR_DEV int tsr_hip_unknown(int x)
{
	__asm__ volatile("" : "+v"(x));
	return x;
}

/** The compiler computes x no later than here. */
template <typename V> TSR_DEV void tsr_hip_pin(V &x)
{
	__asm__ volatile("" : "+v"(x));
}

TSR_DEV uint64_t tsr_port_ballot(bool says)
{
	return __builtin_amdgcn_ballot_w64(says);
}

TSR_DEV uint64_t tsr_port_clock(void)
{
	return __builtin_readsteadycounter();
}

TSR_DEV void tsr_port_pause(void)
{
	__builtin_amdgcn_s_sleep(1);
}

TSR_DEV void tsr_port_rest(uint32_t polls)
{
	for (uint32_t i = 0; i < polls / 8 && i < 16; i++)
		__builtin_amdgcn_s_sleep(8); /* in units of 64 cycles */
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
	return (T *)(__attribute__((address_space(1))) T *)p;
}

template <typename T> TSR_DEV T tsr_port_constant(const T *p)
{
	/* by the scalar unit if all lanes ask for the same */
	return *(const __attribute__((address_space(4))) T *)(uintptr_t)p;
}

template <typename T> TSR_DEV bool tsr_port_is_shared(T *p)
{
	return __builtin_amdgcn_is_shared((const void *)p);
}

typedef uint32_t tsr_port_unit_t __attribute__((ext_vector_type(4)));

/** Through: inline assembly, because clang has it only for atomics. */
template <int HINT> TSR_DEV void tsr_port_write_hinted(void *at, tsr_port_unit_t unit)
{
	if constexpr (HINT == TSR_HINT_STREAM)
		__builtin_nontemporal_store(unit, (tsr_port_unit_t *)at);
	else
#if defined(__gfx942__)
		__asm__ volatile("global_store_dwordx4 %0, %1, off sc0 sc1" ::"v"(at), "v"(unit)
				 : "memory");
#else
		__asm__ volatile("global_store_dwordx4 %0, %1, off glc" ::"v"(at), "v"(unit)
				 : "memory");
#endif
}

TSR_DEV tsr_port_unit_t tsr_port_read_streaming(const void *at)
{
	return __builtin_nontemporal_load((const tsr_port_unit_t *)at);
}

TSR_DEV float tsr_port_exp2(float x)
{
	return __builtin_amdgcn_exp2f(x);
}

TSR_DEV float tsr_port_log2(float x)
{
	return __builtin_amdgcn_logf(x);
}

TSR_DEV float tsr_port_widen_f16(uint16_t bits)
{
	_Float16 x;
	__builtin_memcpy(&x, &bits, sizeof x);
	return (float)x;
}

/** In integers, because gfx90a and gfx942 have no instruction for it. NaN stays a quiet NaN. */
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
	_Float16 half = (_Float16)x;
	uint16_t bits;
	__builtin_memcpy(&bits, &half, sizeof bits);
	return bits;
}

#endif

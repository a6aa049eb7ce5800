/*
 * The device port for CUDA: nvcc 13, C++17, compute capability 9.0 and later;
 * tiles on Hopper's tensor cores for sm_90a alone (cuda/dev/wgmma.h). What it
 * must define: gpu/dev/port.h.
 */
#ifndef TESSERA_CUDA_PORT_H
#define TESSERA_CUDA_PORT_H

#if !defined(__CUDACC_VER_MAJOR__) || __CUDACC_VER_MAJOR__ < 13
#error "the CUDA port needs nvcc 13 or later: earlier ones have no scoped atomics of their own"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "the CUDA port needs compute capability 9.0 or later: compile with -gencode=arch=compute_90a,code=sm_90a"
#endif

#include "cuda/dev/threads.h"

#define TSR_PORT_DEVICE __device__
#define TSR_PORT_SHARED __shared__
/*
 * At least one block a multiprocessor: so the registers of a thread are known,
 * which can then be dealt anew (dev/hopper.h).
 */
#define TSR_PORT_ENTRY(threads_) extern "C" __global__ void __launch_bounds__(threads_, 1)
#define TSR_PORT_BY_VALUE(type_) const __grid_constant__ type_
#define TSR_PORT_WIDE_THREADS TSR_CUDA_WIDE_THREADS
#define TSR_PORT_MAIN_THREADS TSR_CUDA_MAIN_THREADS
#define TSR_PORT_MOVER_THREADS TSR_CUDA_MOVER_THREADS
#define TSR_PORT_PART_THREADS TSR_CUDA_WARP_THREADS
#define TSR_PORT_BLOCK_THREADS(workers_) TSR_CUDA_BLOCK_THREADS(workers_)
#define TSR_PORT_UNPACKS_EARLY 1

#define TSR_PORT_LAYOUT "cuda/dev/layout.h"
#define TSR_PORT_OUTGOING "cuda/dev/outgoing.h"
#define TSR_PORT_ADD "cuda/dev/add.h"
#define TSR_PORT_DOT "cuda/dev/dot.h"
#define TSR_PORT_GEMM "cuda/dev/gemm.h"
#define TSR_PORT_ATTEND "cuda/dev/attend.h"
#define TSR_PORT_BULK "cuda/dev/bulk.h"

#define TSR_RELAXED __NV_ATOMIC_RELAXED
#define TSR_ACQUIRE __NV_ATOMIC_ACQUIRE
#define TSR_RELEASE __NV_ATOMIC_RELEASE
#define TSR_ACQ_REL __NV_ATOMIC_ACQ_REL
#define TSR_SEQ_CST __NV_ATOMIC_SEQ_CST
#define TSR_SCOPE_BLOCK __NV_THREAD_SCOPE_BLOCK
#define TSR_SCOPE_DEVICE __NV_THREAD_SCOPE_DEVICE
#define TSR_SCOPE_SYSTEM __NV_THREAD_SCOPE_SYSTEM

#include "gpu/dev/port.h"

/* ---- threads, time, memory */

TSR_DEV int tsr_port_thread(void)
{
	return (int)threadIdx.x;
}

TSR_DEV int tsr_port_block(void)
{
	return (int)blockIdx.x;
}

TSR_DEV unsigned char *tsr_port_dynamic_shared(void)
{
	extern __shared__ __align__(128) unsigned char tsr_cuda_dynamic_shared[];
	return tsr_cuda_dynamic_shared;
}

/*
 * A barrier orders and carries what its threads did, at block scope: who
 * releases after it releases for all of them.
 */
TSR_DEV void tsr_port_meet_block(void)
{
	__syncthreads();
}

/* Named barriers: 0 is the block's, 1 .. 4 are the workers'. */
enum {
	TSR_CUDA_BARRIER_WORKER = 1,
	/* of worker 0 in a main loop */
	TSR_CUDA_BARRIER_CONSUMERS = TSR_CUDA_BARRIER_WORKER + TSR_GPU_MAX_WORKERS,
	TSR_CUDA_BARRIER_GROUP /* and the next one: of each of its warpgroups that multiply */
};

TSR_DEV void tsr_port_meet_worker(int worker, int threads)
{
	if (threads == TSR_CUDA_WARP_THREADS) {
		/* the loader of a main loop, or a worker of tsr_split; orders as a barrier does */
		__syncwarp();
		return;
	}
	int barrier = threads == TSR_CUDA_CONSUMER_THREADS ? (int)TSR_CUDA_BARRIER_CONSUMERS
							   : TSR_CUDA_BARRIER_WORKER + worker;
	__asm__ volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

TSR_DEV uint64_t tsr_port_ballot(bool says)
{
	return __ballot_sync(~0u, says);
}

TSR_DEV uint64_t tsr_port_clock(void)
{
	uint64_t ns;
	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/*
 * Polling at full speed: a rest costs latency, and the poll of one thread costs
 * the others nothing.
 */
TSR_DEV void tsr_port_pause(void)
{
}

TSR_DEV void tsr_port_rest(uint32_t polls)
{
	__nanosleep(polls < 128 ? polls * 32 : 4096);
}

/* ptxas serialises a main loop's products if it finds sums converted before the loop has ended. */
TSR_DEV float tsr_port_read_here(float value)
{
	__asm__ volatile("" : "+f"(value));
	return value;
}

TSR_DEV double tsr_port_read_here(double value)
{
	return value;
}

template <typename T> TSR_DEV void tsr_port_forget(T *value)
{
	__asm__ volatile("" : "+l"(*value));
}

template <typename T> TSR_DEV T *tsr_port_global(T *p)
{
	return (T *)__cvta_global_to_generic(__cvta_generic_to_global((const void *)p));
}

template <typename T> TSR_DEV T tsr_port_constant(const T *p)
{
	return __ldg(p);
}

template <typename T> TSR_DEV bool tsr_port_is_shared(T *p)
{
	return __isShared((const void *)p);
}

typedef uint4 tsr_port_unit_t;

template <int HINT> TSR_DEV void tsr_port_write_hinted(void *at, tsr_port_unit_t unit)
{
	if constexpr (HINT == TSR_HINT_STREAM)
		__stcs((uint4 *)at, unit);
	else
		__stwt((uint4 *)at, unit);
}

TSR_DEV tsr_port_unit_t tsr_port_read_streaming(const void *at)
{
	return __ldcs((const uint4 *)at);
}

TSR_DEV float tsr_port_exp2(float x)
{
	float y;
	__asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

TSR_DEV float tsr_port_log2(float x)
{
	float y;
	__asm__("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

TSR_DEV float tsr_port_widen_f16(uint16_t bits)
{
	float x;
	__asm__("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
	return x;
}

/** To nearest, ties to even. */
TSR_DEV uint16_t tsr_port_round_bf16(float x)
{
	uint16_t bits;
	__asm__("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
	return bits;
}

TSR_DEV uint16_t tsr_port_round_f16(float x)
{
	uint16_t bits;
	__asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
	return bits;
}

/**
 * Two neighbouring elements of a row, rounded to D; the first is in the lower
 * half.
 */
template <typename D> TSR_DEV uint32_t tsr_cuda_pair(float first, float second)
{
	uint32_t pair;
	if constexpr ((int)D::code == TSR_BF16)
		__asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
	else
		__asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
	return pair;
}

/* ---- order: template arguments are literals to nvcc, function arguments are not */

#define TSR_CUDA_FENCE(kind_)                                                  \
	do {                                                                   \
		if constexpr (SCOPE == TSR_SCOPE_SYSTEM)                       \
			__asm__ volatile("fence." kind_ ".sys;" ::: "memory"); \
		else if constexpr (SCOPE == TSR_SCOPE_DEVICE)                  \
			__asm__ volatile("fence." kind_ ".gpu;" ::: "memory"); \
		else                                                           \
			__asm__ volatile("fence." kind_ ".cta;" ::: "memory"); \
	} while (0)

/**
 * By hand: the compiler's builtin makes fence.sc of all but acq_rel. One that
 * only acquires drops what the first-level cache holds; one that releases waits
 * for all stores on their way, which takes many times as long.
 */
template <int ORDER, int SCOPE> TSR_DEV void tsr_port_fence(void)
{
	if constexpr (ORDER == TSR_SEQ_CST)
		TSR_CUDA_FENCE("sc");
	else if constexpr (ORDER == TSR_ACQ_REL)
		TSR_CUDA_FENCE("acq_rel");
	else if constexpr (ORDER == TSR_RELEASE)
		TSR_CUDA_FENCE("release");
	else
		TSR_CUDA_FENCE("acquire");
}

/*
 * The barrier between a thread's stores and another's release, or another's
 * acquire and a thread's loads, is enough here. For the compiler too: behind an
 * acquiring load alone ptxas would use a plain load from before it; the probes
 * of device code look for that.
 */
template <int SCOPE> TSR_DEV void tsr_port_drain(void)
{
}

template <int SCOPE> TSR_DEV void tsr_port_refresh(void)
{
}

template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_load(W *p)
{
	return __nv_atomic_load_n(p, ORDER, SCOPE);
}

template <int ORDER, int SCOPE, typename W> TSR_DEV void tsr_port_store(W *p, W v)
{
	__nv_atomic_store_n(p, v, ORDER, SCOPE);
}

template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_xchg(W *p, W v)
{
	return __nv_atomic_exchange_n(p, v, ORDER, SCOPE);
}

/** What a type is added as: 64-bit words without a sign, whose bits are the same. */
template <typename T> struct tsr_cuda_sum {
	typedef T type;
};
template <> struct tsr_cuda_sum<int64_t> {
	typedef uint64_t type;
};

template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_add(T *p, T v)
{
	typedef typename tsr_cuda_sum<T>::type sum_t;
	return (T)__nv_atomic_fetch_add((sum_t *)p, (sum_t)v, ORDER, SCOPE);
}

#define TSR_CUDA_RMW(name_)                                                               \
	template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_##name_(T *p, T v) \
	{                                                                                 \
		return __nv_atomic_fetch_##name_(p, v, ORDER, SCOPE);                     \
	}
TSR_CUDA_RMW(and)
TSR_CUDA_RMW(or)
TSR_CUDA_RMW(xor)
TSR_CUDA_RMW(min)
TSR_CUDA_RMW(max)

template <int ORDER, int FAILURE, int SCOPE, typename W>
TSR_DEV W tsr_cuda_cas(W *p, W expected, W desired)
{
	__nv_atomic_compare_exchange_n(p, &expected, desired, false, ORDER, FAILURE, SCOPE);
	return expected;
}

/**
 * One instruction has one order: of a release that acquires where it fails,
 * nvcc by itself makes a release alone.
 */
template <int ORDER, int FAILURE, int SCOPE, typename W>
TSR_DEV W tsr_port_cas(W *p, W expected, W desired)
{
	constexpr bool both = ORDER == TSR_RELEASE && FAILURE == TSR_ACQUIRE;
	return tsr_cuda_cas < both ? TSR_ACQ_REL : ORDER, FAILURE, SCOPE > (p, expected, desired);
}

#endif

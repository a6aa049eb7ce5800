/*
 * Ordered accesses of one thread for HIP. Releases are laid down by hand, as a
 * fence, a wait, and a relaxed access:
 * clang 19 drops the wait after buffer_wbl2 where the wave has no store of its
 * own in flight (llvm-project pull 178316), and the access would pass the
 * write-back.
 */
#ifndef TESSERA_HIP_ORDER_H
#define TESSERA_HIP_ORDER_H

#include "gpu/dev/port.h"

/** Waits until all of this wave's accesses are performed. */
TSR_DEV void tsr_hip_settle(void)
{
	__asm__ volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
}

/**
 * Prevents earlier reads of what comes later. Only for the compiler: it treats
 * a fence as no write to memory, and might then read through the scalar cache,
 * which the fence's buffer_inv does not invalidate; and it moves plain loads
 * across acquiring ones of a word beside them; the probes of device code look
 * for that.
 */
TSR_DEV void tsr_hip_no_earlier(void)
{
	__asm__ volatile("" ::: "memory");
}

template <int SCOPE> TSR_DEV void tsr_hip_release(void)
{
	if constexpr (SCOPE == TSR_SCOPE_SYSTEM)
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
	else if constexpr (SCOPE == TSR_SCOPE_DEVICE)
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
	else
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	tsr_hip_settle();
}

/**
 * Before a release: writes the L2 back, and waits for that and for all earlier
 * accesses.
 */
template <int ORDER, int SCOPE> TSR_DEV void tsr_hip_before(void)
{
	if constexpr (tsr_gpu_releases<ORDER>)
		tsr_hip_release<SCOPE>();
}

/**
 * After an acquire: the access has returned. Later reads are not older once
 * each wave has invalidated: tsr_port_refresh.
 */
template <int ORDER> TSR_DEV void tsr_hip_after(void)
{
	if constexpr (tsr_gpu_acquires<ORDER>)
		tsr_hip_settle();
}

/* ---- what the bodies ask for */

template <int ORDER, int SCOPE> TSR_DEV void tsr_port_fence(void)
{
	tsr_hip_before<ORDER, SCOPE>();
	tsr_hip_after<ORDER>();
}

/*
 * Nothing to do: in the meeting each wave waits for its own stores
 * (tsr_port_meet_block), which are then in the L2 that all waves of a block
 * share. The releasing wave writes the whole L2 back, including them.
 */
template <int SCOPE> TSR_DEV void tsr_port_drain(void)
{
}

/*
 * Each wave invalidates, once, after the meeting. The waves share the L1 and
 * the L2, but no counter says when an invalidation is performed: LLVM's tables
 * promise that later loads of the same wave come after it, and promise nothing
 * for loads of other waves.
 */
template <int SCOPE> TSR_DEV void tsr_port_refresh(void)
{
	tsr_hip_settle();
	if constexpr (SCOPE == TSR_SCOPE_SYSTEM)
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
	else if constexpr (SCOPE == TSR_SCOPE_DEVICE)
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
	else
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	tsr_hip_no_earlier();
}

/*
 * A seq_cst load waits for all earlier accesses; it releases nothing, and
 * writes nothing back.
 */
template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_load(W *p)
{
	if constexpr (ORDER == TSR_SEQ_CST)
		tsr_hip_settle();
	W value = __hip_atomic_load(p, __ATOMIC_RELAXED, SCOPE);
	tsr_hip_after<ORDER>();
	return value;
}

template <int ORDER, int SCOPE, typename W> TSR_DEV void tsr_port_store(W *p, W v)
{
	tsr_hip_before<ORDER, SCOPE>();
	__hip_atomic_store(p, v, __ATOMIC_RELAXED, SCOPE);
}

/*
 * The statement behind it may touch any memory, another device's too. From clang
 * 21 on, code for HIP promises by default that an atomic touches none that is
 * remote or fine-grained (-fno-atomic-remote-memory), and heaps are both:
 * gfx90a's own add of doubles, which clang then takes, does nothing there. Said
 * here and not by an option, so that it holds however a kernel is compiled.
 */
#if __has_cpp_attribute(clang::atomic)
#define TSR_HIP_ANY_MEMORY [[clang::atomic(remote_memory, fine_grained_memory)]]
#else
#define TSR_HIP_ANY_MEMORY
#endif

#define TSR_HIP_RMW(name_, builtin_)                                                      \
	template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_##name_(T *p, T v) \
	{                                                                                 \
		T old;                                                                    \
		tsr_hip_before<ORDER, SCOPE>();                                           \
		TSR_HIP_ANY_MEMORY                                                        \
		{                                                                         \
			old = builtin_(p, v, __ATOMIC_RELAXED, SCOPE);                    \
		}                                                                         \
		tsr_hip_after<ORDER>();                                                   \
		return old;                                                               \
	}
TSR_HIP_RMW(xchg, __hip_atomic_exchange)
TSR_HIP_RMW(add, __hip_atomic_fetch_add)
TSR_HIP_RMW(and, __hip_atomic_fetch_and)
TSR_HIP_RMW(or, __hip_atomic_fetch_or)
TSR_HIP_RMW(xor, __hip_atomic_fetch_xor)
TSR_HIP_RMW(min, __hip_atomic_fetch_min)
TSR_HIP_RMW(max, __hip_atomic_fetch_max)

template <int ORDER, int FAILURE, int SCOPE, typename W>
TSR_DEV W tsr_port_cas(W *p, W expected, W desired)
{
	tsr_hip_before<ORDER, SCOPE>();
	if constexpr (FAILURE == TSR_SEQ_CST && !tsr_gpu_releases<ORDER>)
		tsr_hip_settle(); /* as a seq_cst load */
	__hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED,
					     __ATOMIC_RELAXED, SCOPE);
	tsr_hip_after<tsr_gpu_acquires<ORDER> ? ORDER : FAILURE>();
	return expected;
}

#endif

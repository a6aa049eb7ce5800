/*
 * Ordered accesses of one thread for HIP. Releases are laid down by hand, as a fence, a wait, and a relaxed access:
 * clang 19 drops the wait after buffer_wbl2 where the wave has no store of its own in flight (llvm-project pull 178316), and
 * the access would pass the write-back.
 */
#ifndef TESSERA_HIP_ORDER_H
#define TESSERA_HIP_ORDER_H

#include "tessera/dev/gpu/port.h"

/** Waits until all of this wave's accesses are performed. */
TSR_DEV void tsr_hip_settle(void)
{
	__asm__ volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
}

/**
 * Nothing that stands later is read earlier. For the compiler alone, which takes a fence for no write to memory, and may then read
 * through the scalar cache what the fence's buffer_inv does not invalidate.
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

template <int SCOPE> TSR_DEV void tsr_hip_acquire(void)
{
	tsr_hip_settle(); /* the access that acquires has come back */
	if constexpr (SCOPE == TSR_SCOPE_SYSTEM)
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
	else if constexpr (SCOPE == TSR_SCOPE_DEVICE)
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
	else
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	tsr_hip_no_earlier();
}

/** A seq_cst access waits for all earlier ones, loads too, and then is a release or an acquire, or both. */
template <int ORDER, int SCOPE> TSR_DEV void tsr_hip_before(void)
{
	if constexpr (tsr_gpu_releases<ORDER>)
		tsr_hip_release<SCOPE>();
}

template <int ORDER, int SCOPE> TSR_DEV void tsr_hip_after(void)
{
	if constexpr (tsr_gpu_acquires<ORDER>)
		tsr_hip_acquire<SCOPE>();
}

/* ---- what the bodies ask for */

template <int ORDER, int SCOPE> TSR_DEV void tsr_port_fence(void)
{
	tsr_hip_before<ORDER, SCOPE>();
	tsr_hip_after<ORDER, SCOPE>();
}

/* Each wave writes back and waits for its own stores: the wait of the one that releases later covers only its own. */
template <int SCOPE> TSR_DEV void tsr_port_drain(void)
{
	tsr_hip_release<SCOPE>();
}

/* Each wave invalidates: what another wave's invalidation may have left to its loads in flight is gone. */
template <int SCOPE> TSR_DEV void tsr_port_refresh(void)
{
	tsr_hip_acquire<SCOPE>();
}

template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_load(W *p)
{
	tsr_hip_before<ORDER == TSR_SEQ_CST ? TSR_SEQ_CST : TSR_RELAXED, SCOPE>();
	W value = __hip_atomic_load(p, __ATOMIC_RELAXED, SCOPE);
	tsr_hip_after<ORDER, SCOPE>();
	return value;
}

template <int ORDER, int SCOPE, typename W> TSR_DEV void tsr_port_store(W *p, W v)
{
	tsr_hip_before<ORDER, SCOPE>();
	__hip_atomic_store(p, v, __ATOMIC_RELAXED, SCOPE);
}

#define TSR_HIP_RMW(name_, builtin_)                                                      \
	template <int ORDER, int SCOPE, typename T> TSR_DEV T tsr_port_##name_(T *p, T v) \
	{                                                                                 \
		tsr_hip_before<ORDER, SCOPE>();                                           \
		T old = builtin_(p, v, __ATOMIC_RELAXED, SCOPE);                          \
		tsr_hip_after<ORDER, SCOPE>();                                            \
		return old;                                                               \
	}
TSR_HIP_RMW(xchg, __hip_atomic_exchange)
TSR_HIP_RMW(add, __hip_atomic_fetch_add)
TSR_HIP_RMW(and, __hip_atomic_fetch_and)
TSR_HIP_RMW(or, __hip_atomic_fetch_or)
TSR_HIP_RMW(xor, __hip_atomic_fetch_xor)
TSR_HIP_RMW(min, __hip_atomic_fetch_min)
TSR_HIP_RMW(max, __hip_atomic_fetch_max)

template <int ORDER, int FAILURE, int SCOPE, typename W> TSR_DEV W tsr_port_cas(W *p, W expected, W desired)
{
	tsr_hip_before<FAILURE == TSR_SEQ_CST ? TSR_SEQ_CST : ORDER, SCOPE>();
	__hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED, SCOPE);
	tsr_hip_after<tsr_gpu_acquires<ORDER> ? ORDER : FAILURE, SCOPE>();
	return expected;
}

#endif

/*
 * One kernel for each ordered operation, order and scope: what the compilers
 * make of each is compared with ci/checks/golden/. They are compiled, for every
 * backend whose toolkit is here, and not run.
 */
#include "tessera/dev.h"

typedef struct probe_args {
	TSR_HEAP uint64_t *p;
	TSR_HEAP uint64_t *result;
	int32_t peer;
} probe_args_t;

/*
 * Orders are spelt TSR_<order>, scopes TSR_SCOPE_<scope>, kernels
 * probe_<operation>_<order>_<scope>.
 */

#define PROBE_LOAD(order_, scope_)                                                               \
	TSR_KERNEL(probe_load_##order_##_##scope_, probe_args_t, a)                              \
	{                                                                                        \
		uint64_t seen =                                                                  \
			tsr_atomic_load(block, a->p, a->peer, TSR_##order_, TSR_SCOPE_##scope_); \
		tsr_atomic_store(block, a->result, seen, tsr_rank(block), TSR_RELAXED,           \
				 TSR_SCOPE_DEVICE);                                              \
	}

#define PROBE_STORE(order_, scope_)                                               \
	TSR_KERNEL(probe_store_##order_##_##scope_, probe_args_t, a)              \
	{                                                                         \
		tsr_atomic_store(block, a->p, (uint64_t)1, a->peer, TSR_##order_, \
				 TSR_SCOPE_##scope_);                             \
	}

#define PROBE_RMW(operation_, order_, scope_)                                             \
	TSR_KERNEL(probe_##operation_##_##order_##_##scope_, probe_args_t, a)             \
	{                                                                                 \
		uint64_t old = tsr_atomic_##operation_(block, a->p, (uint64_t)3, a->peer, \
						       TSR_##order_, TSR_SCOPE_##scope_); \
		tsr_atomic_store(block, a->result, old, tsr_rank(block), TSR_RELAXED,     \
				 TSR_SCOPE_DEVICE);                                       \
	}

#define PROBE_CAS(order_, failure_, scope_)                                                      \
	TSR_KERNEL(probe_cas_##order_##_##failure_##_##scope_, probe_args_t, a)                  \
	{                                                                                        \
		uint64_t old = tsr_atomic_cas(block, a->p, (uint64_t)1, (uint64_t)2, a->peer,    \
					      TSR_##order_, TSR_##failure_, TSR_SCOPE_##scope_); \
		tsr_atomic_store(block, a->result, old, tsr_rank(block), TSR_RELAXED,            \
				 TSR_SCOPE_DEVICE);                                              \
	}

#define PROBE_FENCE(order_, scope_)                                                   \
	TSR_KERNEL(probe_fence_##order_##_##scope_, probe_args_t, a)                  \
	{                                                                             \
		tsr_atomic_store(block, a->p, (uint64_t)1, a->peer, TSR_RELAXED,      \
				 TSR_SCOPE_##scope_);                                 \
		tsr_fence(block, TSR_##order_, TSR_SCOPE_##scope_);                   \
		tsr_atomic_store(block, a->result, (uint64_t)1, a->peer, TSR_RELAXED, \
				 TSR_SCOPE_##scope_);                                 \
	}

#define PROBE_RMW_ORDERS(operation_, scope_)   \
	PROBE_RMW(operation_, RELAXED, scope_) \
	PROBE_RMW(operation_, ACQUIRE, scope_) \
	PROBE_RMW(operation_, RELEASE, scope_) \
	PROBE_RMW(operation_, ACQ_REL, scope_) \
	PROBE_RMW(operation_, SEQ_CST, scope_)

#define PROBE_SCOPE(scope_)                 \
	PROBE_LOAD(RELAXED, scope_)         \
	PROBE_LOAD(ACQUIRE, scope_)         \
	PROBE_LOAD(SEQ_CST, scope_)         \
	PROBE_STORE(RELAXED, scope_)        \
	PROBE_STORE(RELEASE, scope_)        \
	PROBE_STORE(SEQ_CST, scope_)        \
	PROBE_RMW_ORDERS(xchg, scope_)      \
	PROBE_RMW_ORDERS(add, scope_)       \
	PROBE_RMW_ORDERS(and, scope_)       \
	PROBE_RMW_ORDERS(or, scope_)        \
	PROBE_RMW_ORDERS(xor, scope_)       \
	PROBE_RMW_ORDERS(min, scope_)       \
	PROBE_RMW_ORDERS(max, scope_)       \
	PROBE_CAS(RELAXED, RELAXED, scope_) \
	PROBE_CAS(RELAXED, ACQUIRE, scope_) \
	PROBE_CAS(RELAXED, SEQ_CST, scope_) \
	PROBE_CAS(ACQUIRE, RELAXED, scope_) \
	PROBE_CAS(ACQUIRE, ACQUIRE, scope_) \
	PROBE_CAS(ACQUIRE, SEQ_CST, scope_) \
	PROBE_CAS(RELEASE, RELAXED, scope_) \
	PROBE_CAS(RELEASE, ACQUIRE, scope_) \
	PROBE_CAS(RELEASE, SEQ_CST, scope_) \
	PROBE_CAS(ACQ_REL, RELAXED, scope_) \
	PROBE_CAS(ACQ_REL, ACQUIRE, scope_) \
	PROBE_CAS(ACQ_REL, SEQ_CST, scope_) \
	PROBE_CAS(SEQ_CST, RELAXED, scope_) \
	PROBE_CAS(SEQ_CST, ACQUIRE, scope_) \
	PROBE_CAS(SEQ_CST, SEQ_CST, scope_) \
	PROBE_FENCE(ACQUIRE, scope_)        \
	PROBE_FENCE(RELEASE, scope_)        \
	PROBE_FENCE(ACQ_REL, scope_)        \
	PROBE_FENCE(SEQ_CST, scope_)

PROBE_SCOPE(BLOCK)
PROBE_SCOPE(DEVICE)
PROBE_SCOPE(SYSTEM)

/*
 * Every type that an atomic takes, at one order and scope; compiled for the
 * golden lines as probe_atomics.c is.
 */
#include "tessera/dev.h"

#define PROBE_TYPE(name_, type_)                                                                   \
	typedef struct probe_args_##name_ {                                                        \
		TSR_HEAP type_ *p;                                                                 \
		TSR_HEAP type_ *result;                                                            \
		int32_t peer;                                                                      \
	} probe_args_##name_##_t;                                                                  \
	PROBE_VALUE(name_, type_, add)                                                             \
	PROBE_VALUE(name_, type_, min)                                                             \
	PROBE_VALUE(name_, type_, max)                                                             \
	PROBE_VALUE(name_, type_, xchg)                                                            \
	TSR_KERNEL(probe_copy_##name_, probe_args_##name_##_t, a)                                  \
	{                                                                                          \
		type_ seen = tsr_atomic_load(block, a->p, a->peer, TSR_ACQUIRE, TSR_SCOPE_SYSTEM); \
		tsr_atomic_store(block, a->result, seen, a->peer, TSR_RELEASE, TSR_SCOPE_SYSTEM);  \
	}

#define PROBE_VALUE(name_, type_, operation_)                                                    \
	TSR_KERNEL(probe_##operation_##_##name_, probe_args_##name_##_t, a)                      \
	{                                                                                        \
		type_ old = tsr_atomic_##operation_(block, a->p, (type_)3, a->peer, TSR_ACQ_REL, \
						    TSR_SCOPE_SYSTEM);                           \
		tsr_atomic_store(block, a->result, old, tsr_rank(block), TSR_RELAXED,            \
				 TSR_SCOPE_DEVICE);                                              \
	}

#define PROBE_INTEGER(name_, type_)                                                               \
	PROBE_TYPE(name_, type_)                                                                  \
	PROBE_VALUE(name_, type_, and)                                                            \
	PROBE_VALUE(name_, type_, or)                                                             \
	PROBE_VALUE(name_, type_, xor)                                                            \
	TSR_KERNEL(probe_cas_##name_, probe_args_##name_##_t, a)                                  \
	{                                                                                         \
		type_ old = tsr_atomic_cas(block, a->p, (type_)1, (type_)2, a->peer, TSR_RELEASE, \
					   TSR_RELAXED, TSR_SCOPE_SYSTEM);                        \
		tsr_atomic_store(block, a->result, old, tsr_rank(block), TSR_RELAXED,             \
				 TSR_SCOPE_DEVICE);                                               \
	}

PROBE_INTEGER(u32, uint32_t)
PROBE_INTEGER(i32, int32_t)
PROBE_INTEGER(u64, uint64_t)
PROBE_INTEGER(i64, int64_t)
PROBE_TYPE(f32, float)
PROBE_TYPE(f64, double)

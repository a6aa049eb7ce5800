/* The memory layer's accesses. */
#include "cpuemu/dev/memory/memory.h"

#include "cpuemu/dev/arithmetic/extremes.h"
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/far.h"
#include "cpuemu/watched.h"
#include "src/base/convert.h"

/** Shows an access to ThreadSanitizer; the build without it leaves this out. */
static inline void watch(const tsr_mem_t *mem, const unsigned char *at, size_t bytes, size_t rows,
			 size_t pitch, bool write)
{
	if (TSR_CPU_TSAN && mem->env)
		tsr_cpu_watch(mem->env, at, (tsr_watched_rows_t){bytes, rows, pitch}, write);
}

void tsr_mem_read(const tsr_mem_t *mem, void *private_to, const unsigned char *from, size_t bytes)
{
	if (mem->explored) {
		tsr_explored_read(mem, private_to, from, bytes, bytes, 1);
		return;
	}
	if (mem->far) {
		tsr_far_read(mem, private_to, from, bytes, bytes, 1);
		return;
	}
	watch(mem, from, bytes, 1, 0, false);
	memcpy(private_to, from, bytes);
}

void tsr_mem_write(const tsr_mem_t *mem, unsigned char *to, const void *private_from, size_t bytes)
{
	if (mem->explored) {
		tsr_explored_write(mem, to, bytes, private_from, bytes, 1);
		return;
	}
	if (mem->far) {
		tsr_far_write(mem, to, bytes, private_from, bytes, 1);
		return;
	}
	watch(mem, to, bytes, 1, 0, true);
	memcpy(to, private_from, bytes);
}

void tsr_mem_read_rows(const tsr_mem_t *mem, void *private_to, const unsigned char *from,
		       size_t pitch, size_t bytes, size_t rows)
{
	if (mem->explored)
		tsr_explored_read(mem, private_to, from, pitch, bytes, rows);
	else if (mem->far)
		tsr_far_read(mem, private_to, from, pitch, bytes, rows);
	else
		for (size_t i = 0; i < rows; i++)
			tsr_mem_read(mem, (unsigned char *)private_to + i * bytes, from + i * pitch,
				     bytes);
}

void tsr_mem_write_rows(const tsr_mem_t *mem, unsigned char *to, size_t pitch,
			const void *private_from, size_t bytes, size_t rows)
{
	if (mem->explored)
		tsr_explored_write(mem, to, pitch, private_from, bytes, rows);
	else if (mem->far)
		tsr_far_write(mem, to, pitch, private_from, bytes, rows);
	else
		for (size_t i = 0; i < rows; i++)
			tsr_mem_write(mem, to + i * pitch,
				      (const unsigned char *)private_from + i * bytes, bytes);
}

void tsr_mem_copy(const tsr_mem_t *to_mem, unsigned char *to, size_t to_pitch,
		  const tsr_mem_t *from_mem, const unsigned char *from, size_t from_pitch,
		  size_t bytes, size_t rows)
{
	if (to_mem->explored) {
		tsr_explored_copy(to_mem, to, to_pitch, from, from_pitch, bytes, rows);
		return;
	}
	if (to_mem->far || from_mem->far) {
		tsr_far_copy(to_mem, to, to_pitch, from_mem, from, from_pitch, bytes, rows);
		return;
	}
	watch(from_mem, from, bytes, rows, from_pitch, false);
	watch(to_mem, to, bytes, rows, to_pitch, true);
	if (to_pitch == bytes && from_pitch == bytes) {
		memmove(to, from, rows * bytes);
		return;
	}
	for (size_t i = 0; i < rows; i++)
		memmove(to + i * to_pitch, from + i * from_pitch, bytes);
}

void tsr_mem_clear(const tsr_mem_t *mem, unsigned char *to, size_t bytes)
{
	if (mem->explored) {
		tsr_explored_clear(mem, to, bytes);
		return;
	}
	if (mem->far) {
		tsr_far_clear(mem, to, bytes);
		return;
	}
	watch(mem, to, bytes, 1, 0, true);
	memset(to, 0, bytes);
}

/*
 * The atomics, on bits. Every order is a literal at its access, so that
 * compiler and ThreadSanitizer see what was asked for. The partners of these
 * accesses are whatever the kernels pair them with.
 */

/* One access for each order; `access_(order)` is a macro. */
#define BY_ORDER(order_, access_)                 \
	switch (order_) {                         \
	case TSR_RELAXED:                         \
		return access_(__ATOMIC_RELAXED); \
	case TSR_ACQUIRE:                         \
		return access_(__ATOMIC_ACQUIRE); \
	case TSR_RELEASE:                         \
		return access_(__ATOMIC_RELEASE); \
	case TSR_ACQ_REL:                         \
		return access_(__ATOMIC_ACQ_REL); \
	default:                                  \
		return access_(__ATOMIC_SEQ_CST); \
	}

/*
 * A failure order beyond the success order raises the latter: older compilers
 * refuse the pair, and C17 asks for no less.
 */
static int at_least(int order, int failure)
{
	if (failure == TSR_SEQ_CST)
		return TSR_SEQ_CST;
	if (failure == TSR_ACQUIRE && order == TSR_RELAXED)
		return TSR_ACQUIRE;
	return failure == TSR_ACQUIRE && order == TSR_RELEASE ? TSR_ACQ_REL : order;
}

#define PAIR(order_, failure_) ((order_)*8 + (failure_))
#define CAS_CASE(order_, failure_)                                                     \
	case PAIR(order_, failure_):                                                   \
		(void)__atomic_compare_exchange_n(at, &expected, desired, 0, (order_), \
						  (failure_));                         \
		break

#define LOAD(order_) __atomic_load_n(at, order_)
#define XCHG(order_) __atomic_exchange_n(at, bits, order_)
#define ADD(order_) __atomic_fetch_add(at, bits, order_)
#define AND(order_) __atomic_fetch_and(at, bits, order_)
#define OR(order_) __atomic_fetch_or(at, bits, order_)
#define XOR(order_) __atomic_fetch_xor(at, bits, order_)

/*
 * The accesses of one width. Orders that an operation cannot have were refused
 * by the port's macros.
 */
#define DEFINE_WIDTH(name_, bits_t_)                                                              \
	static bits_t_ name_##_load(const bits_t_ *at, int order)                                 \
	{                                                                                         \
		if (order == TSR_RELAXED)                                                         \
			return LOAD(__ATOMIC_RELAXED);                                            \
		return order == TSR_ACQUIRE ? LOAD(__ATOMIC_ACQUIRE) : LOAD(__ATOMIC_SEQ_CST);    \
	}                                                                                         \
	static void name_##_store(bits_t_ *at, bits_t_ bits, int order)                           \
	{                                                                                         \
		if (order == TSR_RELAXED)                                                         \
			__atomic_store_n(at, bits, __ATOMIC_RELAXED);                             \
		else if (order == TSR_RELEASE)                                                    \
			__atomic_store_n(at, bits, __ATOMIC_RELEASE);                             \
		else                                                                              \
			__atomic_store_n(at, bits, __ATOMIC_SEQ_CST);                             \
	}                                                                                         \
	static bits_t_ name_##_xchg(bits_t_ *at, bits_t_ bits, int order)                         \
	{                                                                                         \
		BY_ORDER(order, XCHG)                                                             \
	}                                                                                         \
	static bits_t_ name_##_add(bits_t_ *at, bits_t_ bits, int order)                          \
	{                                                                                         \
		BY_ORDER(order, ADD)                                                              \
	}                                                                                         \
	static bits_t_ name_##_and(bits_t_ *at, bits_t_ bits, int order)                          \
	{                                                                                         \
		BY_ORDER(order, AND)                                                              \
	}                                                                                         \
	static bits_t_ name_##_or(bits_t_ *at, bits_t_ bits, int order)                           \
	{                                                                                         \
		BY_ORDER(order, OR)                                                               \
	}                                                                                         \
	static bits_t_ name_##_xor(bits_t_ *at, bits_t_ bits, int order)                          \
	{                                                                                         \
		BY_ORDER(order, XOR)                                                              \
	}                                                                                         \
	static bits_t_ name_##_cas(bits_t_ *at, bits_t_ expected, bits_t_ desired, int order,     \
				   int failure)                                                   \
	{                                                                                         \
		switch (PAIR(at_least(order, failure), failure)) {                                \
			CAS_CASE(__ATOMIC_RELAXED, __ATOMIC_RELAXED);                             \
			CAS_CASE(__ATOMIC_ACQUIRE, __ATOMIC_RELAXED);                             \
			CAS_CASE(__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);                             \
			CAS_CASE(__ATOMIC_RELEASE, __ATOMIC_RELAXED);                             \
			CAS_CASE(__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);                             \
			CAS_CASE(__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                             \
			CAS_CASE(__ATOMIC_SEQ_CST, __ATOMIC_RELAXED);                             \
			CAS_CASE(__ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);                             \
			CAS_CASE(__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                             \
		}                                                                                 \
		return expected;                                                                  \
	}                                                                                         \
	/* What the processor has no instruction for: a loop, relaxed until it succeeds. */       \
	static bits_t_ name_##_loop(bits_t_ *at, tsr_mem_kind_t kind, enum tsr_cpu_op op,         \
				    bits_t_ bits, int order)                                      \
	{                                                                                         \
		bits_t_ old = LOAD(__ATOMIC_RELAXED), found;                                      \
		for (;; old = found) {                                                            \
			found = name_##_cas(at, old,                                              \
					    (bits_t_)tsr_mem_combine(kind, op, old, bits), order, \
					    TSR_RELAXED);                                         \
			if (found == old)                                                         \
				return old;                                                       \
		}                                                                                 \
	}                                                                                         \
	static bits_t_ name_##_atomic(bits_t_ *at, tsr_mem_kind_t kind, enum tsr_cpu_op op,       \
				      bits_t_ bits, int order)                                    \
	{                                                                                         \
		bool real = tsr_mem_kind_is_real(kind);                                           \
		switch (op) {                                                                     \
		case TSR_CPU_LOAD:                                                                \
			return name_##_load(at, order);                                           \
		case TSR_CPU_STORE:                                                               \
			name_##_store(at, bits, order);                                           \
			return 0;                                                                 \
		case TSR_CPU_XCHG:                                                                \
			return name_##_xchg(at, bits, order);                                     \
		case TSR_CPU_ADD:                                                                 \
			return real ? name_##_loop(at, kind, op, bits, order)                     \
				    : name_##_add(at, bits, order);                               \
		case TSR_CPU_AND:                                                                 \
			return name_##_and(at, bits, order);                                      \
		case TSR_CPU_OR:                                                                  \
			return name_##_or(at, bits, order);                                       \
		case TSR_CPU_XOR:                                                                 \
			return name_##_xor(at, bits, order);                                      \
		default:                                                                          \
			return name_##_loop(at, kind, op, bits, order);                           \
		}                                                                                 \
	}

#define COMBINE_OF(name_, x_, y_)                              \
	(op == TSR_CPU_ADD   ? (x_) + (y_)                     \
	 : op == TSR_CPU_MIN ? tsr_smaller_##name_((x_), (y_)) \
			     : tsr_larger_##name_((x_), (y_)))
#define COMBINE_HALF(widen_, round_)                                               \
	do {                                                                       \
		const float x = widen_((uint16_t)old), y = widen_((uint16_t)bits); \
		result = round_(COMBINE_OF(f32, x, y));                            \
	} while (0)
#define COMBINE(name_, type_)                  \
	do {                                   \
		type_ x, y, z;                 \
		memcpy(&x, &old, sizeof x);    \
		memcpy(&y, &bits, sizeof y);   \
		z = COMBINE_OF(name_, x, y);   \
		memcpy(&result, &z, sizeof z); \
	} while (0)

uint64_t tsr_mem_combine(tsr_mem_kind_t kind, enum tsr_cpu_op op, uint64_t old, uint64_t bits)
{
	uint64_t result = 0;
	switch (kind) {
	case TSR_MEM_U32:
		COMBINE(u32, uint32_t);
		break;
	case TSR_MEM_I32:
		COMBINE(i32, int32_t);
		break;
	case TSR_MEM_U64:
		COMBINE(u64, uint64_t);
		break;
	case TSR_MEM_I64:
		COMBINE(i64, int64_t);
		break;
	case TSR_MEM_F32:
		COMBINE(f32, float);
		break;
	case TSR_MEM_F64:
		COMBINE(f64, double);
		break;
	case TSR_MEM_F16:
		COMBINE_HALF(tsr_widen_f16, tsr_round_f16);
		break;
	case TSR_MEM_BF16:
		COMBINE_HALF(tsr_widen_bf16, tsr_round_bf16);
		break;
	}
	return result;
}

DEFINE_WIDTH(half, uint16_t)
DEFINE_WIDTH(narrow, uint32_t)
DEFINE_WIDTH(wide, uint64_t)

static uint64_t any_atomic(const tsr_mem_t *mem, tsr_mem_kind_t kind, enum tsr_cpu_op op,
			   uint64_t bits, int order)
{
	if (tsr_mem_kind_bytes(kind) == 2)
		return half_atomic((uint16_t *)(void *)mem->at, kind, op, (uint16_t)bits, order);
	if (tsr_mem_kind_bytes(kind) == 4)
		return narrow_atomic((uint32_t *)(void *)mem->at, kind, op, (uint32_t)bits, order);
	return wide_atomic((uint64_t *)(void *)mem->at, kind, op, bits, order);
}

static uint64_t any_cas(const tsr_mem_t *mem, tsr_mem_kind_t kind, uint64_t expected,
			uint64_t desired, int order, int failure)
{
	if (tsr_mem_kind_bytes(kind) == 4) /* those of 16 bits have none */
		return narrow_cas((uint32_t *)(void *)mem->at, (uint32_t)expected,
				  (uint32_t)desired, order, failure);
	return wide_cas((uint64_t *)(void *)mem->at, expected, desired, order, failure);
}

/*
 * Every scope is the machine's: a processor has no narrower one.
 * ThreadSanitizer is shown the scope beside the access.
 */
uint64_t tsr_mem_atomic(const tsr_mem_t *mem, tsr_mem_kind_t kind, enum tsr_cpu_op op,
			uint64_t bits, int order, int scope)
{
	if (mem->far)
		return tsr_far_atomic(mem, kind, op, bits, order, scope);
	tsr_scoped_effect_t effect = op == TSR_CPU_LOAD    ? TSR_SCOPED_READ
				     : op == TSR_CPU_STORE ? TSR_SCOPED_WRITE
							   : TSR_SCOPED_UPDATE;
	tsr_scoped_t access;
	bool relaxed = tsr_scoped_open(&access, mem->at, effect, order, scope);
	uint64_t old = any_atomic(mem, kind, op, bits, relaxed ? TSR_RELAXED : order);
	tsr_scoped_close(&access, effect, order);
	return old;
}

uint64_t tsr_mem_cas(const tsr_mem_t *mem, tsr_mem_kind_t kind, uint64_t expected, uint64_t desired,
		     int order, int failure, int scope)
{
	if (mem->far)
		return tsr_far_cas(mem, kind, expected, desired, at_least(order, failure), scope);
	tsr_scoped_t access;
	bool relaxed = tsr_scoped_open(&access, mem->at, TSR_SCOPED_UPDATE,
				       at_least(order, failure), scope);
	uint64_t old = any_cas(mem, kind, expected, desired, relaxed ? TSR_RELAXED : order,
			       relaxed ? TSR_RELAXED : failure);
	bool stored = old == (tsr_mem_kind_bytes(kind) == 4 ? (uint32_t)expected : expected);
	tsr_scoped_close(&access, stored ? TSR_SCOPED_UPDATE : TSR_SCOPED_READ,
			 stored ? order : failure);
	return old;
}

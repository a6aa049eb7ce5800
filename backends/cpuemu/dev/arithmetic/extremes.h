/*
 * The larger and the smaller of two numbers, as tsr_reduce_t says (tessera/types.h):
 * of floats NaN if either is NaN, and -0 is less than +0.
 */
#ifndef TESSERA_CPUEMU_ARITHMETIC_EXTREMES_H
#define TESSERA_CPUEMU_ARITHMETIC_EXTREMES_H

#include <stdint.h>

#define TSR_CPU_EXTREMES_OF_REALS(name_, type_)                                     \
	static inline type_ tsr_larger_##name_(type_ x, type_ y)                    \
	{                                                                           \
		return y > x || y != y || (y == x && __builtin_signbit(x)) ? y : x; \
	}                                                                           \
	static inline type_ tsr_smaller_##name_(type_ x, type_ y)                   \
	{                                                                           \
		return y < x || y != y || (y == x && __builtin_signbit(y)) ? y : x; \
	}
#define TSR_CPU_EXTREMES_OF_INTEGERS(name_, type_)                \
	static inline type_ tsr_larger_##name_(type_ x, type_ y)  \
	{                                                         \
		return y > x ? y : x;                             \
	}                                                         \
	static inline type_ tsr_smaller_##name_(type_ x, type_ y) \
	{                                                         \
		return y < x ? y : x;                             \
	}
TSR_CPU_EXTREMES_OF_REALS(f32, float)
TSR_CPU_EXTREMES_OF_REALS(f64, double)
TSR_CPU_EXTREMES_OF_INTEGERS(i32, int32_t)
TSR_CPU_EXTREMES_OF_INTEGERS(u32, uint32_t)
TSR_CPU_EXTREMES_OF_INTEGERS(i64, int64_t)
TSR_CPU_EXTREMES_OF_INTEGERS(u64, uint64_t)

#endif

/*
 * A second version of loops over arrays, with wider instructions. Most
 * processors have them, but the library is not compiled for them.
 *
 *     static inline TSR_INTO_WIDE void add(...) { a loop }
 *     static TSR_WIDE void add_wide(...) { add(...); }
 *     if (tsr_has_wide()) add_wide(...); else add(...);
 *
 * Both versions give the same results: no product and sum become one
 * instruction.
 */
#ifndef TESSERA_BASE_WIDE_H
#define TESSERA_BASE_WIDE_H

#include <stdbool.h>

#define TSR_INTO_WIDE __attribute__((always_inline))

#ifdef __x86_64__
#define TSR_WIDE __attribute__((target("avx2")))

static inline bool tsr_has_wide(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
#define TSR_WIDE

static inline bool tsr_has_wide(void)
{
	return false;
}
#endif

#endif

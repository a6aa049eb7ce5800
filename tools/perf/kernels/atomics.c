/* atomic: a kernel for each operation, which repeats it on one word. */
#include "tools/perf/kernels/count.h"
#include "tools/perf/kernels/kernels.h"

/** Relaxed: nothing is handed over. The host reads the word after a barrier. */
#define PERF_RMW(name_, value_)                                                      \
	tsr_atomic_##name_(block, a->word, (uint64_t)(value_), a->peer, TSR_RELAXED, \
			   TSR_SCOPE_SYSTEM)
#define PERF_CAS(expected_, desired_)                                                              \
	tsr_atomic_cas(block, a->word, (expected_), (desired_), a->peer, TSR_RELAXED, TSR_RELAXED, \
		       TSR_SCOPE_SYSTEM)
#define PERF_BIT(i_) ((uint64_t)1 << ((i_)&63))

#define PERF_MINE(i_) (((uint64_t)tsr_rank(block) << 48) + (i_) + 1)

TSR_FN uint64_t perf_lesser(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

TSR_FN uint64_t perf_greater(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/** Old values come in any order. */
TSR_FN uint64_t perf_any(uint64_t last)
{
	(void)last;
	return 0;
}

/** Whether `old` is a value of mine that I have overwritten myself. */
TSR_FN uint64_t perf_stale(uint64_t old, uint64_t last, int rank)
{
	return last != 0 && old >> 48 == (uint64_t)rank && old != last;
}

/**
 * Operation i finds the value `old_` and leaves `next_`. `last` is what this
 * rank's operation before has left, at first `start_`. `behind_` says that `old`
 * is older than `last`. The gains of all operations on all ranks add up to the
 * word's gain, unless an operation was lost or made twice.
 */
#define PERF_ATOMIC(name_, start_, old_, next_, behind_)                      \
	TSR_KERNEL(perf_atomic_##name_, perf_atomic_args_t, a)                \
	{                                                                     \
		uint64_t wrong = 0, gained = 0, last = (start_);              \
		for (uint64_t i = a->first; i < a->first + a->repeats; i++) { \
			const uint64_t old = (old_), next = (next_);          \
			wrong += (behind_);                                   \
			gained += next - old;                                 \
			last = next;                                          \
		}                                                             \
		perf_count(block, a->wrong, wrong);                           \
		perf_count(block, a->gained, gained);                         \
	}

PERF_ATOMIC(add, 0, PERF_RMW(add, 1), old + 1, old < last)
PERF_ATOMIC(and, UINT64_MAX, PERF_RMW(and, ~PERF_BIT(i)), old & ~PERF_BIT(i), (old & ~last) != 0)
PERF_ATOMIC(or, 0, PERF_RMW(or, PERF_BIT(i)), old | PERF_BIT(i), (last & ~old) != 0)
PERF_ATOMIC(xor, 0, PERF_RMW(xor, PERF_BIT(i)), old ^ PERF_BIT(i), perf_any(last))
PERF_ATOMIC(min, UINT64_MAX, PERF_RMW(min, UINT64_MAX - i), perf_lesser(old, UINT64_MAX - i),
	    perf_lesser(old, last) != old)
PERF_ATOMIC(max, 0, PERF_RMW(max, i), perf_greater(old, i), old < last)
/* all values differ */
PERF_ATOMIC(xchg, 0, PERF_RMW(xchg, PERF_MINE(i)), PERF_MINE(i),
	    perf_stale(old, last, tsr_rank(block)))
/* fails if another rank came first, and at the beginning of a launch */
PERF_ATOMIC(cas, 0, PERF_CAS(last, last + 1), old == last ? old + 1 : old, old < last)

/** Loads, which take the same way as the operations and change nothing. */
TSR_KERNEL(perf_atomic_loads, perf_atomic_args_t, a)
{
	for (uint64_t i = 0; i < a->repeats; i++)
		(void)tsr_atomic_load(block, a->word, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	/* No partner, because nothing is handed over. ci/checks/isa demands an acquire behind the
	 * last load at system scope. */
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
}

/*
 * What compilers may not do with plain accesses beside ordered ones, nor with
 * ordered ones that seem to be of no use: clang moves a plain load across an
 * acquiring load of a neighbouring word, ptxas takes the value of an earlier one,
 * and deletes what nobody uses. tests/device/kept.py counts what is left here.
 * Compiled, not run.
 */
#include "tessera/dev.h"

/* The words of one line: data beside its flag. */
typedef struct probe_order_args {
	TSR_HEAP uint64_t *line;
	TSR_HEAP uint64_t *result;
} probe_order_args_t;

enum { FLAG, DATA };

TSR_FN uint64_t plain_load(TSR_HEAP uint64_t *p)
{
	return *(uint64_t *)p;
}

TSR_FN void plain_store(TSR_HEAP uint64_t *p, uint64_t value)
{
	*(uint64_t *)p = value;
}

/*
 * Every thread loads the word before and after: the second load is another one.
 * Nothing is stored in between, for a store might be to the same word.
 */
#define PROBE_NEIGHBOUR(name_, seen_)                                    \
	TSR_KERNEL(probe_neighbour_##name_, probe_order_args_t, a)       \
	{                                                                \
		TSR_HEAP uint64_t *mine = a->result + 3 * block->thread; \
		const uint64_t before = plain_load(a->line + DATA);      \
		const uint64_t seen = (uint64_t)(seen_);                 \
		const uint64_t after = plain_load(a->line + DATA);       \
		plain_store(mine, before);                               \
		plain_store(mine + 1, seen);                             \
		plain_store(mine + 2, after);                            \
	}
#define PROBE_LOADED(scope_)                                                                   \
	PROBE_NEIGHBOUR(load_##scope_, tsr_atomic_load(block, a->line + FLAG, tsr_rank(block), \
						       TSR_ACQUIRE, TSR_SCOPE_##scope_))
PROBE_LOADED(BLOCK)
PROBE_LOADED(DEVICE)
PROBE_LOADED(SYSTEM)
PROBE_NEIGHBOUR(wait, tsr_wait(block, a->line + FLAG, 7, tsr_rank(block)))
PROBE_NEIGHBOUR(fence, (tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM), 0))

/* One add each, of one word, whose old values nobody uses. */
TSR_KERNEL(probe_adds_twice, probe_order_args_t, a)
{
	(void)tsr_atomic_add(block, a->line, (uint64_t)1, tsr_rank(block), TSR_RELEASE,
			     TSR_SCOPE_SYSTEM);
	(void)tsr_atomic_add(block, a->line, (uint64_t)1, tsr_rank(block), TSR_RELEASE,
			     TSR_SCOPE_SYSTEM);
}

/* Words that were loaded for nothing. */
TSR_KERNEL(probe_unused_RELAXED, probe_order_args_t, a)
{
	(void)tsr_atomic_load(block, a->line, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(probe_unused_ACQUIRE, probe_order_args_t, a)
{
	(void)tsr_atomic_load(block, a->line, tsr_rank(block), TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
}

/* The bells: how a waiter that sleeps learns that a flag of its rank may have changed. */
#ifndef TESSERA_CPUEMU_BELL_H
#define TESSERA_CPUEMU_BELL_H

#include "cpuemu/dev/memory/memory.h"
#include "src/base/os/clock.h"
#include "src/base/os/futex.h"

/**
 * One bell a rank has many listeners: each flag rings for one of 32 groups of
 * them, so that a signal in a chain of hundreds of blocks wakes a few and not
 * all. Who signals and who waits find the group from the flag's place, the same
 * on every rank.
 */
static inline uint32_t tsr_bell_group(const tsr_cpu_env_t *env, const tsr_mem_t *mem)
{
	uintptr_t place =
		mem->shared ? (uintptr_t)mem->at : (uintptr_t)(mem->at - env->base[mem->rank]);
	return 1u << ((uint32_t)(place >> 3) * 0x9e3779b1u >> 27);
}

/*
 * ThreadSanitizer must see the flag's own order alone: a bell with an order
 * would hide a flag that lacks its release. Where it watches, a ring may be
 * missed, which costs the length of a sleep.
 */
#if TSR_CPU_TSAN
#define TSR_BELL_ORDER memory_order_relaxed
#else
#define TSR_BELL_ORDER memory_order_seq_cst
#endif

/**
 * Wakes the listeners of `groups` at the rank of `mem`.
 *
 * Called after a flag has been raised. The count of sleepers is read after the
 * bell is raised, and a sleeper counts itself before it reads the bell and
 * looks at the flag once more: in the one order of these seq_cst accesses
 * either this sees the sleeper, or the sleeper sees the bell and, by the
 * release of the raise, the flag. Partner: tsr_bell_sleep.
 */
static inline void tsr_bell_ring_groups(const tsr_cpu_env_t *env, const tsr_mem_t *mem,
					uint32_t groups)
{
	tsr_shared_words_t *words = env->host->words;
	atomic_fetch_add_explicit(&words->rank[mem->rank].bell, 1, TSR_BELL_ORDER);
	if (atomic_load_explicit(&words->rank[mem->rank].sleepers, TSR_BELL_ORDER) != 0)
		(void)syscall(SYS_futex, &words->rank[mem->rank].bell, FUTEX_WAKE_BITSET, INT_MAX,
			      NULL, NULL, groups);
}

/** The same for the one flag at `mem`. */
static inline void tsr_bell_ring(const tsr_cpu_env_t *env, const tsr_mem_t *mem)
{
	tsr_bell_ring_groups(env, mem, tsr_bell_group(env, mem));
}

/**
 * Sleeps until one of `groups` rings or `ns` have passed; may return early.
 * `seen` is the bell as it was before the last look.
 */
static inline void tsr_bell_sleep(_Atomic uint32_t *bell, uint32_t seen, uint32_t groups,
				  uint64_t ns)
{
	uint64_t until = tsr_now_ns() + ns; /* the bitset form takes a point in time */
	struct timespec t = {.tv_sec = (time_t)(until / 1000000000u),
			     .tv_nsec = (long)(until % 1000000000u)};
	(void)syscall(SYS_futex, bell, FUTEX_WAIT_BITSET, seen, &t, NULL, groups);
}

#endif

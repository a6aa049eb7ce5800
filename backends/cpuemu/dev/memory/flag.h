/*
 * Waits of one thread for flags and for words, which the bodies of several
 * calls share.
 */
#ifndef TESSERA_CPUEMU_FLAG_H
#define TESSERA_CPUEMU_FLAG_H

#include "cpuemu/dev/memory/wait.h"

/** A wait for one of `count` flags of mine, or for a word of anybody's. */
typedef struct tsr_cpu_wait {
	tsr_coop_t *coop;
	bool (*look)(void *ctx);
	tsr_mem_t flags;
	int count, start;
	size_t word_bytes; /* 0: flags */
	int shift;         /* bits of the word below those that are compared */
	tsr_cmp_t cmp;     /* flags: TSR_CMP_GE */
	uint64_t value;
	int order, scope; /* flags: acquire */
	int from;
	int which;          /* found */
	uint64_t seen;      /* of the flag looked at first, when it was not enough */
	uint64_t waited_ns; /* left behind */
} tsr_cpu_wait_t;

/**
 * Waits for `p` at `peer`. If the deadline expires, leaves the wait record;
 * `ends_world`: ends the world too.
 */
tsr_wait_result_t tsr_cpu_wait_at(tsr_cpu_wait_t *wait, const char *call, const TSR_HEAP void *p,
				  int peer, uint64_t deadline_ns, bool ends_world);

/** The groups of listeners of `count` words from `words` on. */
uint32_t tsr_cpu_wait_groups(const tsr_cpu_env_t *env, const tsr_mem_t *words, int64_t count);

#endif

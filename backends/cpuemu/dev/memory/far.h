/*
 * Accesses to the heap of a rank on another node. That memory is not mapped
 * here: a command to the net (src/net/net.h) reaches it. Where the world is one
 * node this costs a look at a pointer.
 *
 * A put, a clear and a store without a result return before the owner has them.
 * What reads waits for the answer. The accesses of one rank to another rank's
 * heap take effect there in the order in which they were made. A release at
 * system scope, to whomever, first waits until all that this rank has written
 * anywhere has taken effect (model/memory/README.md, "Several nodes").
 */
#ifndef TESSERA_CPUEMU_FAR_H
#define TESSERA_CPUEMU_FAR_H

#include "cpuemu/dev/memory/memory.h"

/** Rows of memory, dense in private memory. */
void tsr_far_read(const tsr_mem_t *mem, void *private_to, const unsigned char *from, size_t pitch,
		  size_t bytes, size_t rows);
void tsr_far_write(const tsr_mem_t *mem, unsigned char *to, size_t pitch, const void *private_from,
		   size_t bytes, size_t rows);
void tsr_far_clear(const tsr_mem_t *mem, unsigned char *to, size_t bytes);

/** A copy of which one side is far, or both are. */
void tsr_far_copy(const tsr_mem_t *to_mem, unsigned char *to, size_t to_pitch,
		  const tsr_mem_t *from_mem, const unsigned char *from, size_t from_pitch,
		  size_t bytes, size_t rows);

/** tsr_mem_atomic and tsr_mem_cas. */
uint64_t tsr_far_atomic(const tsr_mem_t *mem, tsr_mem_kind_t kind, enum tsr_cpu_op op,
			uint64_t bits, int order, int scope);
uint64_t tsr_far_cas(const tsr_mem_t *mem, tsr_mem_kind_t kind, uint64_t expected, uint64_t desired,
		     int order, int scope);

/** Raises a flag; its owner wakes who waits for it. Partner: tsr_mem_acquire, there. */
void tsr_far_raise(const tsr_mem_t *mem, uint64_t value, tsr_signal_op_t op, int scope);

/**
 * The same relaxed operation on `count` elements from `to` on, without results:
 * additions of tsr_store_add, words that carry their own flag.
 */
void tsr_far_each(const tsr_mem_t *mem, unsigned char *to, tsr_mem_kind_t kind, enum tsr_cpu_op op,
		  const void *values, size_t count);

/** Waits until the owners have all that this rank has written to far memory. */
void tsr_far_settle(const tsr_cpu_env_t *env);

/**
 * By a thread that waits for what a rank of another node does: moves messages
 * meanwhile. Returns whether the wait is over (tsr_net_help).
 */
bool tsr_far_help(const tsr_cpu_env_t *env, bool (*over)(void *ctx), void *ctx);

/** Before a release with this scope that is no access to far memory. */
static inline void tsr_far_release(const tsr_cpu_env_t *env, int scope)
{
	if (env->host->net && scope == TSR_SCOPE_SYSTEM)
		tsr_far_settle(env);
}

#endif

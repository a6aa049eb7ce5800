/*
 * The device port where blocks are explored: every access and wait of the
 * memory layer goes to the exploration, with the call that made it. Elsewhere
 * it costs a look at a pointer.
 */
#ifndef TESSERA_CPUEMU_EXPLORED_H
#define TESSERA_CPUEMU_EXPLORED_H

#include "cpuemu/dev/memory/memory.h"
#include "src/explore/exploration.h"

/** Null if nothing is explored. */
static inline tsr_exploration_t *tsr_cpu_exploration(const tsr_coop_t *coop)
{
	return coop->block->env->host->exploration;
}

/** The caller's call, for reports. */
tsr_op_site_t tsr_explored_site(const tsr_coop_t *coop, const char *call);

/** Converts orders and scopes of the device API to those of the views. */
tsr_views_order_t tsr_explored_order(int order);
tsr_views_scope_t tsr_explored_scope(int scope);

/** The caller makes its part of a call that all ranks make. */
void tsr_explored_collective(tsr_coop_t *coop, const char *call,
			     const tsr_collective_t *collective);

/* ------------------------------------------------ calls of the memory layer */

/*
 * Rows of memory, which the exploration handles in one call; rows in private
 * memory are dense.
 */
void tsr_explored_read(const tsr_mem_t *mem, void *private_to, const unsigned char *from,
		       size_t pitch, size_t bytes, size_t rows);
void tsr_explored_write(const tsr_mem_t *mem, unsigned char *to, size_t pitch,
			const void *private_from, size_t bytes, size_t rows);
void tsr_explored_copy(const tsr_mem_t *mem, unsigned char *to, size_t to_pitch,
		       const unsigned char *from, size_t from_pitch, size_t bytes, size_t rows);
void tsr_explored_clear(const tsr_mem_t *mem, unsigned char *to, size_t bytes);

/**
 * An atomic, including compare-and-swap; then `bits` is the expected value.
 * Returns the old bits.
 */
typedef struct tsr_explored_atomic {
	tsr_mem_kind_t kind;
	enum tsr_cpu_op op;
	uint64_t bits, desired;
	int order, failure, scope;
	bool unread; /* of an addition of integers: nobody asks for the old bits */
} tsr_explored_atomic_t;

uint64_t tsr_explored_atomic(const tsr_mem_t *mem, const tsr_explored_atomic_t *atomic);

void tsr_explored_raise(const tsr_mem_t *mem, uint64_t value, tsr_signal_op_t op, int scope);

/**
 * A wait for one of `count` words of `word_bytes` bytes; and, where it ends
 * well, which it was and what was seen there.
 */
typedef struct tsr_explored_wait {
	int count, start;
	size_t word_bytes;
	int shift; /* bits of a word below those that are compared */
	tsr_cmp_t cmp;
	uint64_t value;
	int order, scope, from;
	bool ends_world;
	uint64_t deadline_ns;
	int which;
	uint64_t seen;
} tsr_explored_wait_t;

/**
 * The result of a wait, as the device API defines it. Deadlines expire when the
 * exploration chooses, in a simulation at their own time, and never end the world.
 */
tsr_wait_result_t tsr_explored_wait(const tsr_mem_t *words, tsr_explored_wait_t *wait);

/** The rows that the rank writes in an allocation: tsr_declare_writes. */
void tsr_explored_declare_writes(const tsr_mem_t *mem, const tsr_view_t *slab);

/** A fence of the caller's fibre. */
void tsr_explored_fence(const tsr_coop_t *coop, int order, int scope);

void tsr_explored_meet(tsr_coop_t *coop, const char *call);

_Noreturn void tsr_explored_misuse(tsr_coop_t *coop, const char *call, const char *sentence);

#endif

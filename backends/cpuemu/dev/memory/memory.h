/*
 * The only layer through which the emulator accesses the heap and shared
 * memory. Everything in dev/ uses it, so that an executor with its own memory
 * can replace it.
 */
#ifndef TESSERA_CPUEMU_MEMORY_H
#define TESSERA_CPUEMU_MEMORY_H

#include "cpuemu/dev/internal.h"
#include "cpuemu/dev/memory/scoped.h"

typedef enum tsr_mem_access { TSR_MEM_READ, TSR_MEM_WRITE } tsr_mem_access_t;

/** Memory that has been checked. `at` is its address in this process. */
typedef struct tsr_mem {
	unsigned char *at;
	int rank;             /* world rank of the heap's owner; my rank for shared memory */
	bool shared;          /* the block's shared memory */
	tsr_coop_t *explored; /* the accessing coop if blocks are explored, otherwise null */
	const char *call;     /* explored: the call that accesses it */
	/* Explored: beginning of the memory that was passed to the call, at this rank. All accesses
	 * of the call must be in the allocation that holds it. */
	const unsigned char *owner;
	const tsr_cpu_env_t *env; /* ThreadSanitizer: where windows are found; else null */
	/* not null: the owner is on another node, and `at` names a place that is not mapped here:
	 * dev/memory/far.h */
	const tsr_cpu_env_t *far;
} tsr_mem_t;

/** A pass of a TSR_EACH makes this call, which ends the schedule. */
void tsr_explored_in_each(tsr_coop_t *coop, const char *call);

void tsr_mem_inside_explored(const tsr_mem_t *mem, const unsigned char *at, size_t bytes);

/** Notes who accesses it by which call, for the exploration, and whether it is far. */
static inline void tsr_mem_note(tsr_coop_t *coop, const char *call, tsr_mem_t *mem)
{
	const tsr_host_t *host = coop->block->env->host;
	if (host->exploration && coop->worker->in_each)
		tsr_explored_in_each(coop, call);
	mem->explored = host->exploration ? coop : NULL;
	mem->far = host->net && tsr_host_is_far(host, mem->rank) ? coop->block->env : NULL;
	mem->call = call;
	mem->owner = mem->at;
	mem->env = TSR_CPU_TSAN ? coop->block->env : NULL;
}

/**
 * Checks that `bytes` at `at` are in the allocation that was passed to the
 * call. Only an exploration knows allocations.
 */
static inline void tsr_mem_inside(const tsr_mem_t *mem, const unsigned char *at, size_t bytes)
{
	if (mem->explored)
		tsr_mem_inside_explored(mem, at, bytes);
}

/*
 * The rare part of tsr_mem_reach: shared memory, or the sentence of an error.
 */
bool tsr_mem_reach_slow(tsr_coop_t *coop, const char *call, const TSR_HEAP void *pointer,
			size_t bytes, size_t align, int peer, tsr_mem_access_t access,
			tsr_mem_t *mem);

/** tsr_mem_reach without the check of allocations. */
static inline bool tsr_mem_locate(tsr_coop_t *coop, const char *call, const TSR_HEAP void *pointer,
				  size_t bytes, size_t align, int peer, tsr_mem_access_t access,
				  tsr_mem_t *mem)
{
	const tsr_device_team_t *team = coop->block->team;
	const tsr_cpu_window_t *window = tsr_cpu_window_of(team, (uintptr_t)pointer);
	uintptr_t offset = (uintptr_t)pointer - (uintptr_t)window->mine;
	if ((unsigned)peer >= (unsigned)team->size || offset >= window->bytes ||
	    bytes > window->bytes - offset || offset % align != 0 ||
	    (access == TSR_MEM_WRITE && coop->kind == TSR_CPU_LOADER))
		return tsr_mem_reach_slow(coop, call, pointer, bytes, align, peer, access, mem);
	*mem = (tsr_mem_t){.at = window->base[peer] + offset, .rank = team->ranks[peer]};
	tsr_mem_note(coop, call, mem);
	return true;
}

/**
 * Checks and translates `bytes` at `peer`'s copy of `pointer`. Returns false
 * after noting a misuse; the caller skips the operation. Shared memory has no
 * copies: `peer` must be my rank.
 */
static inline bool tsr_mem_reach(tsr_coop_t *coop, const char *call, const TSR_HEAP void *pointer,
				 size_t bytes, size_t align, int peer, tsr_mem_access_t access,
				 tsr_mem_t *mem)
{
	if (!tsr_mem_locate(coop, call, pointer, bytes, align, peer, access, mem))
		return false;
	tsr_mem_inside(mem, mem->at, bytes);
	return true;
}

/**
 * The same for `count` words of four bytes that the contract wants in shared
 * memory; `what` names them. There is one at least.
 */
bool tsr_mem_reach_shared(tsr_coop_t *coop, const char *call, const char *what,
			  const int32_t *words, int count, tsr_mem_access_t access, tsr_mem_t *mem);

/**
 * The same for a whole view, which must not be empty. Also checks its extents,
 * dtype and space.
 */
bool tsr_mem_reach_view(tsr_coop_t *coop, const char *call, tsr_view_t view, int peer,
			tsr_mem_access_t access, tsr_mem_t *mem);

/**
 * The same for a part of a view. With `masked`, each access to an element
 * checks whether that is inside.
 */
bool tsr_mem_reach_part(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_view_t part,
			bool masked, int peer, tsr_mem_access_t access, tsr_mem_t *mem);

/**
 * Counts payload in the record of the run. Called before the access, so that
 * the time of the first remote write is that of its begin.
 */
void tsr_mem_count(tsr_coop_t *coop, const tsr_mem_t *mem, tsr_mem_access_t access, uint64_t bytes);

/* ------------------------------------------------------------------ weak accesses */

/*
 * Functions, not inline: if the compiler knew a bound of the size, it would
 * copy with instructions of its own, which ThreadSanitizer does not see; it
 * watches calls of memcpy.
 */
void tsr_mem_read(const tsr_mem_t *mem, void *private_to, const unsigned char *from, size_t bytes);
void tsr_mem_write(const tsr_mem_t *mem, unsigned char *to, const void *private_from, size_t bytes);
void tsr_mem_clear(const tsr_mem_t *mem, unsigned char *to, size_t bytes);

/** Rows of memory, `pitch` bytes apart there and dense in private memory. */
void tsr_mem_read_rows(const tsr_mem_t *mem, void *private_to, const unsigned char *from,
		       size_t pitch, size_t bytes, size_t rows);
void tsr_mem_write_rows(const tsr_mem_t *mem, unsigned char *to, size_t pitch,
			const void *private_from, size_t bytes, size_t rows);

/**
 * Whether one access to many rows is one step, and not one a row: where it is
 * explored, or far.
 */
static inline bool tsr_mem_takes_rows(const tsr_mem_t *mem)
{
	return mem->explored || mem->far;
}

/**
 * Copies rows of `bytes` bytes, the pitches apart. They may overlap: a tile
 * copied to itself.
 */
void tsr_mem_copy(const tsr_mem_t *to_mem, unsigned char *to, size_t to_pitch,
		  const tsr_mem_t *from_mem, const unsigned char *from, size_t from_pitch,
		  size_t bytes, size_t rows);

/* ------------------------------------------------------------------ ordered accesses */

/** The types of an atomic's bits. Only tsr_store_add uses those of 16 bits. */
typedef enum tsr_mem_kind {
	TSR_MEM_U32,
	TSR_MEM_I32,
	TSR_MEM_U64,
	TSR_MEM_I64,
	TSR_MEM_F32,
	TSR_MEM_F64,
	TSR_MEM_F16,
	TSR_MEM_BF16
} tsr_mem_kind_t;

static inline size_t tsr_mem_kind_bytes(tsr_mem_kind_t kind)
{
	if (kind == TSR_MEM_F16 || kind == TSR_MEM_BF16)
		return 2;
	return kind == TSR_MEM_U32 || kind == TSR_MEM_I32 || kind == TSR_MEM_F32 ? 4 : 8;
}

static inline bool tsr_mem_kind_is_real(tsr_mem_kind_t kind)
{
	return kind == TSR_MEM_F32 || kind == TSR_MEM_F64 || kind == TSR_MEM_F16 ||
	       kind == TSR_MEM_BF16;
}

/**
 * The new bits of an addition of floats, a minimum or a maximum. Integer
 * additions are not made here, because they must not overflow.
 */
uint64_t tsr_mem_combine(tsr_mem_kind_t kind, enum tsr_cpu_op op, uint64_t old, uint64_t bits);

/**
 * Any atomic except compare-and-swap, on the bits of a value. Returns the old
 * bits (store: 0).
 */
uint64_t tsr_mem_atomic(const tsr_mem_t *mem, tsr_mem_kind_t kind, enum tsr_cpu_op op,
			uint64_t bits, int order, int scope);

/** Compare-and-swap; returns the old bits. */
uint64_t tsr_mem_cas(const tsr_mem_t *mem, tsr_mem_kind_t kind, uint64_t expected, uint64_t desired,
		     int order, int failure, int scope);

/** Reads a flag of mine in a poll: relaxed, orders nothing. */
TSR_CPU_UNSEEN static inline uint64_t tsr_mem_poll(const unsigned char *at)
{
	return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

/**
 * Reads the flag again after a poll has succeeded. Partner: tsr_mem_raise with
 * a scope that includes this thread. Litmus: MP.rel.acq.diffGPU-ss.
 */
static inline uint64_t tsr_mem_acquire(const unsigned char *at, int scope)
{
	const uint64_t *flag = (const uint64_t *)(const void *)at;
	uint64_t value;
	tsr_scoped_t access;
	if (tsr_scoped_open(&access, at, TSR_SCOPED_READ, TSR_ACQUIRE, scope))
		/* the pair of calls around it has the order */
		value = __atomic_load_n(flag, __ATOMIC_RELAXED);
	else
		value = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
	tsr_scoped_close(&access, TSR_SCOPED_READ, TSR_ACQUIRE);
	return value;
}

/**
 * Raises a flag that is mapped. Partner: tsr_mem_acquire. An ADD continues the
 * release sequences of the ADDs before it. Litmus: MP.rel.acq.diffGPU-ss for
 * SET, MP.rmw.diffGPU-ss for ADD.
 */
static inline void tsr_mem_raise(unsigned char *at, uint64_t value, tsr_signal_op_t op, int scope)
{
	uint64_t *flag = (uint64_t *)(void *)at;
	tsr_scoped_effect_t effect = op == TSR_SIGNAL_ADD ? TSR_SCOPED_UPDATE : TSR_SCOPED_WRITE;
	tsr_scoped_t access;
	/* Relaxed if the pair of calls has the order. */
	bool relaxed = tsr_scoped_open(&access, at, effect, TSR_RELEASE, scope);
	if (op == TSR_SIGNAL_ADD)
		(void)(relaxed ? __atomic_fetch_add(flag, value, __ATOMIC_RELAXED)
			       : __atomic_fetch_add(flag, value, __ATOMIC_RELEASE));
	else if (relaxed)
		__atomic_store_n(flag, value, __ATOMIC_RELAXED);
	else
		__atomic_store_n(flag, value, __ATOMIC_RELEASE);
	tsr_scoped_close(&access, effect, TSR_RELEASE);
}

#endif

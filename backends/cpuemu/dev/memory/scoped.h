/*
 * What ThreadSanitizer is shown of an ordered access, so that it sees scopes
 * too. Elsewhere all of this is nothing.
 *
 * ThreadSanitizer takes every release and acquire for one of the widest scope.
 * In its build the instruction itself is relaxed, from which it derives no
 * edge, between two stand-alone fences, which it does not see and the processor
 * obeys. The edges are given on tokens instead: one for each location and scope
 * instance (a block, a device, the system). A release at scope S leaves what it
 * covers on the tokens of my block up to my S, an acquire at S' takes it from
 * those of mine up to S': they have a token in common where each scope includes
 * the other's thread, and nowhere else. Order seq_cst counts as acq_rel.
 *
 * Beside its tokens a location keeps the number of its release sequence, and
 * who wrote last with which scope. So a store and a read-modify-write whose
 * scope does not include the last writer begin a new sequence, an acquire takes
 * only what heads the sequence that it reads from, and a compare-and-swap that
 * fails releases nothing. (C++20's sequences; litmus: MP.rs.store and
 * MP.rs.narrow, MP.cas.failed.)
 *
 * Fences: a release fence keeps what the worker has done by then, in a fibre of
 * ThreadSanitizer that does nothing else, and every later store of the worker
 * leaves it on the tokens of the fence's scopes: exact. An acquire fence takes
 * whatever anybody ever released, with a scope that includes it, to the
 * locations that the worker has loaded from: never too little, so correct
 * fences raise no report; too much where a location is released again between
 * load and fence, or its sequence was cut before the load.
 *
 * What it cannot see: two atomics that race on the flag alone, with no data
 * behind them. Memory for tokens is bounded; where it ends the wider token
 * stands in for the narrower, and an ordered access to a location without
 * tokens shows its order to all scopes.
 */
#ifndef TESSERA_CPUEMU_SCOPED_H
#define TESSERA_CPUEMU_SCOPED_H

#include <stdbool.h>

#if defined(TSR_CPU_TSAN) /* scoped.c itself is compiled without, and told */
#elif defined(__SANITIZE_THREAD__)
#define TSR_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSR_CPU_TSAN 1
#endif
#endif
#if !defined(TSR_CPU_TSAN)
#define TSR_CPU_TSAN 0
#endif

/**
 * A function that ThreadSanitizer is to know nothing of, for looks that find
 * nothing: each would take a place in the thread's history, and what has
 * dropped out of that is not reported. Nothing with an order may be in it.
 */
#if !TSR_CPU_TSAN
#define TSR_CPU_UNSEEN
#elif defined(__clang__)
/* no_sanitize leaves atomics and calls in it */
#define TSR_CPU_UNSEEN __attribute__((disable_sanitizer_instrumentation))
#else
#define TSR_CPU_UNSEEN __attribute__((no_sanitize("thread")))
#endif

struct tsr_cpu_block;

/** What an access does to its location; a compare-and-swap that fails reads. */
typedef enum tsr_scoped_effect {
	TSR_SCOPED_READ,
	TSR_SCOPED_WRITE,
	TSR_SCOPED_UPDATE
} tsr_scoped_effect_t;

/** One access, from before its instruction until after it. */
typedef struct tsr_scoped {
	const void *at;
	/* the location's, locked; null where the access is not lowered, or nothing depends on it */
	struct tsr_scoped_token *place;
	int scope;
	bool lowered;
} tsr_scoped_t;

#if TSR_CPU_TSAN

/**
 * This thread runs a worker of `block` from now on; whose accesses are whose.
 * tsr_scoped_leave: no longer.
 */
void tsr_scoped_enter(const struct tsr_cpu_block *block);
void tsr_scoped_leave(void);

/**
 * Before the instruction of an access with an effect, an order and a scope
 * (TSR_*), the strongest that it may turn out to have.
 * True: the instruction is to be relaxed. tsr_scoped_close follows at once,
 * whatever this returns: the location may be locked.
 */
bool tsr_scoped_open(tsr_scoped_t *access, const void *at, tsr_scoped_effect_t effect, int order,
		     int scope);

/** After it, with the effect and the order that it turned out to have. */
void tsr_scoped_close(tsr_scoped_t *access, tsr_scoped_effect_t effect, int order);

/** Beside a fence of the processor, of this thread's worker. */
void tsr_scoped_fence(int order, int scope);

#else

static inline void tsr_scoped_enter(const struct tsr_cpu_block *block)
{
	(void)block;
}

static inline void tsr_scoped_leave(void)
{
}

static inline bool tsr_scoped_open(tsr_scoped_t *access, const void *at, tsr_scoped_effect_t effect,
				   int order, int scope)
{
	(void)access, (void)at, (void)effect, (void)order, (void)scope;
	return false;
}

static inline void tsr_scoped_close(tsr_scoped_t *access, tsr_scoped_effect_t effect, int order)
{
	(void)access, (void)effect, (void)order;
}

static inline void tsr_scoped_fence(int order, int scope)
{
	(void)order, (void)scope;
}

#endif
#endif

/*
 * What the bodies include: the contracts without dev/site.h, whose macros would
 * catch the definitions.
 */
#ifndef TESSERA_CPUEMU_INTERNAL_H
#define TESSERA_CPUEMU_INTERNAL_H

#include <stdbool.h>
#include <string.h>

#include "cpuemu/block.h"
#include "src/base/text.h"
#include "tessera/dev/atomic.h"
#include "tessera/dev/collective.h"
#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/hint.h"
#include "tessera/dev/kernel.h"
#include "tessera/dev/lock.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/pointer.h"
#include "tessera/dev/signal.h"
#include "tessera/dev/tile.h"
#include "tessera/dev/value.h"
#include "tessera/dev/view.h"
#include "tessera/dev/word.h"

#include "cpuemu/dev/bodies.h"

/**
 * Notes that a kernel used the API wrongly, and ends the world with
 * TSR_ERR_KERNEL: "kernel K, block B, worker W of rank R: CALL WHAT at
 * FILE:LINE; CURE". The caller skips its operation. Returns false: `return
 * tsr_cpu_misuse(...)`.
 */
bool tsr_cpu_misuse(tsr_coop_t *coop, const char *call, const char *cure, const char *what, ...)
	__attribute__((format(printf, 4, 5)));

#define TSR_RANKS_CURE "ranks begin at 0 and end before the size of the stream's team"

/** "world" or "team": what a rank argument counts. */
static inline const char *tsr_cpu_circle(const tsr_coop_t *coop)
{
	return *coop->block->team->host->name != '\0' ? "team" : "world";
}

/**
 * Whom reports name: a member of the block's team, with its number in the world
 * where that may be another.
 */
static inline const char *tsr_cpu_member(const tsr_coop_t *coop, int member,
					 char text[TSR_WHO_TEXT])
{
	const tsr_device_team_t *team = coop->block->team;
	return tsr_who_text(team->ranks[member], member, team->host->name, text);
}

/* The half of tsr_cpu_meet where others are waited for, or an exploration hears of it. */
bool tsr_cpu_meet_others(tsr_coop_t *coop, const char *call);

/**
 * The coop's threads meet, as the contract of `call` promises; on the CPU
 * nothing for a coop of one. False where the world has ended instead.
 */
static inline bool tsr_cpu_meet(tsr_coop_t *coop, const char *call)
{
	if (coop->count == 1 && !coop->block->env->host->exploration)
		return true;
	return tsr_cpu_meet_others(coop, call);
}

/**
 * The same where nobody has to be waited for any more: after a wait or an
 * acquire, whose result all threads have got.
 */
void tsr_cpu_met(tsr_coop_t *coop);

/**
 * The value that the coop's first thread brings, on all of them. That they wait
 *  for it is no meeting that a contract promises.
 */
uint64_t tsr_cpu_give(tsr_coop_t *coop, const char *call, uint64_t value);

static inline bool tsr_cpu_leads(const tsr_coop_t *coop)
{
	return coop->index == 0;
}

/** The thread's share of `total` things: first .. last-1. */
static inline void tsr_cpu_share(const tsr_coop_t *coop, int64_t total, int64_t *first,
				 int64_t *last)
{
	*first = total * coop->index / coop->count;
	*last = total * (coop->index + 1) / coop->count;
}

static inline bool tsr_cpu_aborted(const tsr_coop_t *coop)
{
	/* Relaxed: it carries no data, and a late look only costs one more turn. */
	return atomic_load_explicit(&coop->block->env->host->words->aborted,
				    memory_order_relaxed) != 0;
}

static inline size_t tsr_cpu_bytes(int32_t dtype)
{
	switch (dtype) {
	case TSR_F64:
	case TSR_I64:
		return 8;
	case TSR_F32:
	case TSR_I32:
		return 4;
	case TSR_F16:
	case TSR_BF16:
		return 2;
	case TSR_I8:
	case TSR_U8:
		return 1;
	default:
		return 0;
	}
}

/**
 * A private buffer of the thread, given back in reverse order; null (and the
 * misuse is noted) where there is no room.
 */
void *tsr_cpu_arena_take(tsr_coop_t *coop, size_t bytes);
void tsr_cpu_arena_drop(tsr_coop_t *coop);

#endif

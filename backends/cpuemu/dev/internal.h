/*
 * Includes the contracts for the bodies, without dev/site.h: its macros would
 * catch the definitions.
 */
#ifndef TESSERA_CPUEMU_INTERNAL_H
#define TESSERA_CPUEMU_INTERNAL_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cpuemu/block.h"
#include "src/base/text.h"
#include "tessera/dev/atomic.h"
#include "tessera/dev/attend.h"
#include "tessera/dev/collective.h"
#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/hint.h"
#include "tessera/dev/kernel.h"
#include "tessera/dev/lock.h"
#include "tessera/dev/marked.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/pointer.h"
#include "tessera/dev/reduction.h"
#include "tessera/dev/signal.h"
#include "tessera/dev/sum.h"
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

/** "world" or "team": the ranks that a rank argument counts. */
static inline const char *tsr_cpu_circle(const tsr_coop_t *coop)
{
	return *coop->block->team->host->name != '\0' ? "team" : "world";
}

/**
 * The name in reports of a member of the block's team, with its world rank if
 * that may differ.
 */
static inline const char *tsr_cpu_member(const tsr_coop_t *coop, int member,
					 char text[TSR_WHO_TEXT])
{
	const tsr_device_team_t *team = coop->block->team;
	return tsr_who_text(team->ranks[member], member, team->host->name, text);
}

enum { TSR_CPU_PLACE_TEXT = 200 };

/** "kernel.c:40", the place of the coop's last call, or the kernel's name if it is unknown. */
static inline const char *tsr_cpu_place(const tsr_coop_t *coop, char text[TSR_CPU_PLACE_TEXT])
{
	if (coop->line > 0)
		snprintf(text, TSR_CPU_PLACE_TEXT, "%s:%d", coop->file, coop->line);
	else
		snprintf(text, TSR_CPU_PLACE_TEXT, "%s", coop->block->kernel->name);
	return text;
}

/*
 * The part of tsr_cpu_meet that waits for other threads, or tells an
 * exploration.
 */
bool tsr_cpu_meet_others(tsr_coop_t *coop, const char *call);

/**
 * A meeting of the coop's threads, as the contract of `call` promises. On the
 * CPU a coop of one thread does nothing. Returns false if the world has ended
 * instead.
 */
static inline bool tsr_cpu_meet(tsr_coop_t *coop, const char *call)
{
	if (coop->count == 1 && !coop->block->env->host->exploration)
		return true;
	return tsr_cpu_meet_others(coop, call);
}

/**
 * The same if there is nothing left to wait for: after a wait or an acquire,
 * whose result all threads have.
 */
void tsr_cpu_met(tsr_coop_t *coop);

/**
 * Gives the value of the coop's first thread to all threads. They wait for it,
 * but that is no meeting that a contract promises.
 */
uint64_t tsr_cpu_give(tsr_coop_t *coop, const char *call, uint64_t value);

static inline bool tsr_cpu_leads(const tsr_coop_t *coop)
{
	return coop->index == 0;
}

/** The thread's share of `total` items: first .. last-1. */
static inline void tsr_cpu_share(const tsr_coop_t *coop, int64_t total, int64_t *first,
				 int64_t *last)
{
	*first = total * coop->index / coop->count;
	*last = total * (coop->index + 1) / coop->count;
}

static inline bool tsr_cpu_aborted(const tsr_coop_t *coop)
{
	/* Relaxed: it carries no data, and seeing it late only costs one more turn. */
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
 * Takes a private buffer of the thread; buffers are released in reverse order.
 * Null (and the misuse is noted) if there is no memory.
 */
void *tsr_cpu_arena_take(tsr_coop_t *coop, size_t bytes);
void tsr_cpu_arena_drop(tsr_coop_t *coop);

struct tsr_partials;

/**
 * tsr_reduce if `apart` is 0; otherwise the view is of what rank 0 has given, in
 * my own memory, and what each next rank has given lies `apart` bytes behind.
 */
void tsr_cpu_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		    tsr_reduce_t op, int64_t apart);

/** The same over the members of my node alone. */
void tsr_cpu_reduce_node(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			 tsr_reduce_t op);

/**
 * The same over all nodes. What the members of another node have together lies
 * in my own memory, where `partials` says.
 */
void tsr_cpu_reduce_nodes(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			  const struct tsr_partials *partials);

/** What common/dev/combine.h asks of a port. */
void tsr_port_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to);
void tsr_port_combine_as(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to);

/** What common/dev/compose.h asks of a port. */
int tsr_port_may_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer);

/** What common/dev/nodes.h asks of a port. */
int tsr_port_nodes(const tsr_coop_t *coop);
int tsr_port_node(const tsr_coop_t *coop, int rank);
int tsr_port_node_place(const tsr_coop_t *coop, int rank);
int tsr_port_node_members(const tsr_coop_t *coop, int node);
int tsr_port_node_member(const tsr_coop_t *coop, int node, int place);

/** What common/dev/node_sums.h asks of a port. */
void tsr_port_combine_node(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op,
			   int to);
void tsr_port_combine_nodes(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
			    const struct tsr_partials *partials, int to);

/** What common/dev/one_shot.h asks of a port. */
void tsr_port_put_words(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, int64_t row_words, tsr_view_t src,
			uint32_t epoch, int peer);
tsr_wait_result_t tsr_port_take_words(tsr_coop_t *coop, tsr_view_t dst,
				      const TSR_HEAP uint64_t *src, int64_t row_words,
				      uint32_t epoch, int from);
struct tsr_one_shot_words;
tsr_wait_result_t tsr_port_combine_words(tsr_coop_t *coop, tsr_view_t dst,
					 struct tsr_one_shot_words words, uint32_t epoch,
					 tsr_reduce_t op);

#endif

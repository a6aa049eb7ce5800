/* The state of a view machine: known to the files of this folder only. */
#ifndef TESSERA_VIEWS_MACHINE_H
#define TESSERA_VIEWS_MACHINE_H

#include <stddef.h>

#include "src/views/views.h"

/*
 * A vector says how far something has been seen. Its components are the threads, counted in epochs that advance whenever a thread's
 * view is handed on, and then the scope instances from wave on: their count advances with each seq_cst fence, and seq_cst stores
 * belong to it as they belong to their thread.
 */
typedef uint32_t tsr_epoch_t;

/** View and clock of a thread at a release. Never changes; shared by all sets that hold it. */
typedef struct tsr_head {
	int holders, thread;
	tsr_views_scope_t scope;
	tsr_epoch_t vectors[]; /* the view, one for each component; the clock, one for each thread */
} tsr_head_t;

/** A set of heads, ordered by thread and scope. Never changes; null is the empty set. */
typedef struct tsr_heads {
	int holders, count;
	tsr_head_t *head[];
} tsr_heads_t;

typedef struct tsr_message {
	uint64_t value;
	tsr_heads_t *heads;
	int thread; /* -1: the first value, which nobody has written */
	tsr_views_scope_t scope;
	bool plain;
	bool attached; /* of an update, which follows directly what it has read: nothing comes between */
} tsr_message_t;

/** Who touched a message, and how. */
typedef struct tsr_mark {
	int component; /* a thread; or a scope instance, for a seq_cst store */
	bool write, plain;
	tsr_views_scope_t scope;
	int message;
	tsr_epoch_t first, last; /* the first epoch decides who has to see it, the last one who races with it */
	uint32_t site;           /* of the last */
} tsr_mark_t;

typedef struct tsr_location {
	tsr_message_t *messages; /* in modification order */
	tsr_mark_t *marks;       /* ordered by all but epochs and site */
	int message_count, message_room, mark_count, mark_room;
} tsr_location_t;

typedef struct tsr_views_thread {
	tsr_heads_t *pending;  /* read by relaxed loads: a later acquire fence takes them over */
	tsr_heads_t *released; /* of release fences: later stores release them */
} tsr_views_thread_t;

struct tsr_views {
	int threads, components, locations, history;
	const int *component; /* [thread][scope]: of the instance that the thread is in; shared by copies, as its holders are */
	int *holders;
	tsr_epoch_t *view;  /* [component][component] */
	tsr_epoch_t *clock; /* [thread][thread] */
	tsr_views_thread_t *thread;
	tsr_location_t *location;
	bool exhausted; /* an allocation failed: what it was for is missing */
};

static inline tsr_epoch_t *tsr_views_view(const tsr_views_t *v, int component)
{
	return v->view + (size_t)component * (size_t)v->components;
}

static inline tsr_epoch_t *tsr_views_clock(const tsr_views_t *v, int thread)
{
	return v->clock + (size_t)thread * (size_t)v->threads;
}

/** The component of the instance of `scope` that `thread` is in; -1 where the scope is the thread. */
static inline int tsr_views_instance(const tsr_views_t *v, int thread, tsr_views_scope_t scope)
{
	return scope == TSR_VIEWS_THREAD ? -1 : v->component[thread * TSR_VIEWS_SCOPES + (int)scope];
}

/** Whether each of two scopes, as named by these threads, includes the other's thread. */
static inline bool tsr_views_inclusive(const tsr_views_t *v, int a, tsr_views_scope_t scope_a, int b, tsr_views_scope_t scope_b)
{
	tsr_views_scope_t scope = scope_a < scope_b ? scope_a : scope_b;
	return a == b || (scope != TSR_VIEWS_THREAD && tsr_views_instance(v, a, scope) == tsr_views_instance(v, b, scope));
}

static inline void tsr_epochs_join(tsr_epoch_t *into, const tsr_epoch_t *from, int count)
{
	for (int i = 0; i < count; i++)
		if (into[i] < from[i])
			into[i] = from[i];
}

/** Advances the thread's epoch, once what it was has been handed on. */
static inline void tsr_views_advance(tsr_views_t *v, int thread)
{
	tsr_views_view(v, thread)[thread]++;
	tsr_views_clock(v, thread)[thread]++;
}

/** A set with one head: the thread as it is now, released at `scope`. Null, and `exhausted`, where there is no memory. */
tsr_heads_t *tsr_heads_of(tsr_views_t *v, int thread, tsr_views_scope_t scope);

/** The union of two sets, which it lets go of. What a later, wider head of the same thread makes superfluous is left out. */
tsr_heads_t *tsr_heads_union(tsr_views_t *v, tsr_heads_t *a, tsr_heads_t *b);

tsr_heads_t *tsr_heads_hold(tsr_heads_t *heads);
void tsr_heads_drop(tsr_heads_t *heads);

/** The thread takes over those heads that synchronise with an acquire of its at `scope`. */
void tsr_heads_join(tsr_views_t *v, const tsr_heads_t *heads, int thread, tsr_views_scope_t scope);

#endif

/* The state of a view machine: known to the files of this folder only. */
#ifndef TESSERA_VIEWS_MACHINE_H
#define TESSERA_VIEWS_MACHINE_H

#include <stddef.h>

#include "src/views/views.h"

/*
 * A vector says how far something has been seen. Its components are counted in
 * epochs. A thread has one, whose epochs advance whenever what the thread knows
 * is handed on; a scope instance gets one with its first seq_cst store or
 * fence, which its fences advance: seq_cst stores belong to it as they belong
 * to their thread.
 *
 * A thread that begins after all that a thread which has ended has handed on
 * goes on with that one's component, so that vectors are as long as the threads
 * that nothing orders, and not as all that ever were. Threads that nothing
 * orders never share one.
 *
 * An epoch is handed on whole, at its end: who knows a thread's epoch knows all
 * that the thread knew then. Vectors are as long as they had to be; the rest is
 * zero. Null is the empty one. Many holders share one: it is written only where
 * it has one holder.
 */
typedef struct tsr_vector {
	int holders, count;
	tsr_epoch_t epoch[];
} tsr_vector_t;

/** What a thread knew at a release. Never changes; shared by all sets that hold it. */
typedef struct tsr_head {
	int holders, thread, component;
	tsr_views_scope_t scope;
	tsr_epoch_t epoch; /* of the thread: in place of its entry in the vectors */
	tsr_vector_t *view, *clock;
} tsr_head_t;

/** A set of heads, ordered by thread and scope. Never changes; null is the empty set. */
typedef struct tsr_heads {
	int holders, count;
	tsr_head_t *head[];
} tsr_heads_t;

typedef struct tsr_message {
	uint64_t value;
	tsr_heads_t *heads;
	int thread;    /* -1: the first value */
	uint32_t site; /* of who wrote it */
	tsr_views_scope_t scope;
	bool plain;
	/* of an update, which follows directly what it has read: nothing comes between */
	bool attached;
} tsr_message_t;

/** Who touched a message, and how. */
typedef struct tsr_mark {
	int component;
	int thread; /* -1: of a scope instance, for a seq_cst store */
	int message;
	bool write, plain;
	tsr_views_scope_t scope;
	/* the first epoch decides who has to see it, the last one who races with it */
	tsr_epoch_t first, last;
	uint32_t site; /* of the last */
} tsr_mark_t;

typedef struct tsr_location {
	tsr_message_t *messages; /* in modification order; none: the location has ended */
	tsr_mark_t *marks;       /* ordered by all but epochs and site */
	int message_count, message_room, mark_count, mark_room;
	int prune_at; /* so many marks are worth a look at who still needs them */
} tsr_location_t;

/**
 * Its own component's entries in the vectors stand apart, in `epoch`: what
 * stands in the vectors for it is no more than that. View and clock are one
 * object until a seq_cst fence parts them.
 */
typedef struct tsr_views_thread {
	tsr_views_place_t place;
	int component, live_at;  /* its index among the live; -1: ended */
	tsr_epoch_t epoch, used; /* used: the last epoch in which it has touched anything */
	tsr_vector_t *view, *clock;
	tsr_heads_t *pending;  /* read by relaxed loads: a later acquire fence takes them over */
	tsr_heads_t *released; /* of release fences: later stores release them */
} tsr_views_thread_t;

typedef struct tsr_instance {
	tsr_views_scope_t scope;
	int number, component;
	tsr_epoch_t epoch;
	tsr_vector_t *view;
} tsr_instance_t;

/**
 * Who has a component. Of a thread that has ended: which epochs a thread has to
 * know that goes on with it.
 */
typedef struct tsr_component {
	bool free;
	tsr_epoch_t handed, last;
} tsr_component_t;

struct tsr_views_token {
	tsr_views_token_t *previous, *next;
	bool empty;
	tsr_vector_t *view, *clock;
};

struct tsr_views {
	int threads, thread_room, live_count, live_room, components, component_room, instances,
		instance_room;
	int locations, location_room, free_count, free_room, history;
	tsr_views_thread_t *thread; /* all that ever were */
	int *live;
	tsr_component_t *component;
	tsr_instance_t *instance;
	tsr_location_t *location;
	int *free_locations;
	tsr_views_token_t *tokens;
	/* a clock that every live thread and token has reached, as it was when it was last looked
	 * for */
	tsr_vector_t *common;
	int common_age; /* accesses since */
	bool exhausted; /* an allocation failed: what it was for is missing */
};

/* ------------------------------------------------------------------ vectors */

static inline tsr_epoch_t tsr_vector_at(const tsr_vector_t *vector, int component)
{
	return vector && component < vector->count ? vector->epoch[component] : 0;
}

tsr_vector_t *tsr_vector_hold(tsr_vector_t *vector);
void tsr_vector_drop(tsr_vector_t *vector);

/**
 * The greater of both in each component, and at least `epoch` in one. Lets go
 * of `mine`. Null, and `exhausted`: no memory.
 */
tsr_vector_t *tsr_vector_join(tsr_views_t *v, tsr_vector_t *mine, const tsr_vector_t *from,
			      int component, tsr_epoch_t epoch);

/** Joins a pair of view and clock to another. */
void tsr_vectors_join(tsr_views_t *v, tsr_vector_t **view, tsr_vector_t **clock,
		      const tsr_vector_t *from_view, const tsr_vector_t *from_clock, int component,
		      tsr_epoch_t epoch);

/** How far a thread has seen a component, and how far it knows of it by happens-before. */
static inline tsr_epoch_t tsr_views_seen(const tsr_views_thread_t *thread, int component)
{
	return component == thread->component ? thread->epoch
					      : tsr_vector_at(thread->view, component);
}

static inline tsr_epoch_t tsr_views_known(const tsr_views_thread_t *thread, int component)
{
	return component == thread->component ? thread->epoch
					      : tsr_vector_at(thread->clock, component);
}

/* ------------------------------------------------------------------ threads and scope instances */

/**
 * The instance of `scope` that the thread is in; null where the scope is the
 * thread, or nothing seq_cst was done at it yet.
 */
const tsr_instance_t *tsr_views_instance(const tsr_views_t *v, int thread, tsr_views_scope_t scope);

/** The same, made where it is missing. Null: the scope is the thread, or `exhausted`. */
tsr_instance_t *tsr_views_make_instance(tsr_views_t *v, int thread, tsr_views_scope_t scope);

/** Whether each of two scopes, as named by these threads, includes the other's thread. */
static inline bool tsr_views_inclusive(const tsr_views_t *v, int a, tsr_views_scope_t scope_a,
				       int b, tsr_views_scope_t scope_b)
{
	tsr_views_scope_t scope = scope_a < scope_b ? scope_a : scope_b;
	return a == b || (scope != TSR_VIEWS_THREAD &&
			  v->thread[a].place.instance[scope] == v->thread[b].place.instance[scope]);
}

/** Makes room for one more of an array's elements. False, and `exhausted`: no memory. */
bool tsr_views_grow(tsr_views_t *v, void **array, int count, int *room, size_t size);

/* ------------------------------------------------------------------ heads */

/**
 * A set with one head: the thread as it is now, released at `scope`. Null, and
 * `exhausted`, where there is no memory.
 */
tsr_heads_t *tsr_heads_of(tsr_views_t *v, int thread, tsr_views_scope_t scope);

/**
 * The union of two sets, which it lets go of. What a later, wider head of the
 * same thread makes superfluous is left out.
 */
tsr_heads_t *tsr_heads_union(tsr_views_t *v, tsr_heads_t *a, tsr_heads_t *b);

tsr_heads_t *tsr_heads_hold(tsr_heads_t *heads);
void tsr_heads_drop(tsr_heads_t *heads);

/** The thread takes over those heads that synchronise with an acquire of its at `scope`. */
void tsr_heads_join(tsr_views_t *v, const tsr_heads_t *heads, int thread, tsr_views_scope_t scope);

/* ------------------------------------------------------------------ marks */

/**
 * Adds a mark, and leaves out what it makes superfluous: marks of its kind that
 * no view and no clock tells from it.
 */
void tsr_marks_add(tsr_views_t *v, tsr_location_t *location, const tsr_mark_t *mark);

/**
 * Marks of messages from `from` on follow them by so many places. Those of a
 * message that is gone go to the oldest.
 */
void tsr_marks_shift(tsr_views_t *v, tsr_location_t *location, int from, int by);

/**
 * Lets go of marks and messages that no live thread and no token can tell the
 * absence of, where there may be many.
 */
void tsr_marks_prune(tsr_views_t *v, tsr_location_t *location);

#endif

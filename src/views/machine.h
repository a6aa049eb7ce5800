/* The state of a view machine. Only the files of this folder use it. */
#ifndef TESSERA_VIEWS_MACHINE_H
#define TESSERA_VIEWS_MACHINE_H

#include <stddef.h>

#include "src/views/views.h"

/*
 * A vector says how far each component has been seen. Components are counted in
 * epochs. A thread has one component; its epoch advances whenever the thread's
 * knowledge is handed on. A scope instance gets a component with its first
 * seq_cst store or fence, and its fences advance the epoch: seq_cst stores
 * belong to the instance as they belong to their thread.
 *
 * A thread that begins after everything that an ended thread has handed on
 * continues that thread's component. So the length of vectors is the number of
 * threads that nothing orders, not of all threads that ever were. Threads that
 * nothing orders never share a component.
 *
 * An epoch is handed on as a whole, at its end: if a thread knows an epoch of
 * another, it knows all that the other knew then. Vectors are as long as
 * needed; the rest counts as zero. Null is the empty vector. Several holders
 * may share a vector; it is modified only if it has one holder.
 */
typedef struct tsr_vector {
	int holders, count;
	tsr_epoch_t epoch[];
} tsr_vector_t;

/**
 * The knowledge of a thread at a release. It never changes, and all sets that
 * contain it share it.
 */
typedef struct tsr_head {
	int holders, thread, component;
	tsr_views_scope_t scope;
	tsr_epoch_t epoch; /* epoch of the thread, instead of its entry in the vectors */
	tsr_vector_t *view, *clock;
} tsr_head_t;

/**
 * A set of heads, ordered by thread and scope. It never changes. Null is the
 * empty set.
 */
typedef struct tsr_heads {
	int holders, count;
	tsr_head_t *head[];
} tsr_heads_t;

typedef struct tsr_message {
	uint64_t value;
	tsr_heads_t *heads;
	int thread;    /* -1: the initial value */
	uint32_t site; /* site of the writing access */
	tsr_views_scope_t scope;
	bool plain;
	/* of an update, which directly follows the message that it has read; nothing may come
	 * between */
	bool attached;
} tsr_message_t;

/** An access to a message, and its kind. */
typedef struct tsr_mark {
	int component;
	int thread; /* -1: an access of a scope instance, for a seq_cst store */
	int message;
	bool write, plain;
	tsr_views_scope_t scope;
	/* the first epoch decides which threads must see it, the last one which race with it */
	tsr_epoch_t first, last;
	uint32_t site; /* site of the last such access */
} tsr_mark_t;

typedef struct tsr_location {
	tsr_message_t *messages; /* in modification order; none: the location has ended */
	tsr_mark_t *marks;       /* ordered by all members except epochs and site */
	int message_count, message_room, mark_count, mark_room;
	int prune_at; /* at this number of marks, check which of them are still needed */
} tsr_location_t;

/**
 * A thread. The entry of its own component is `epoch`; the vectors may have a
 * lower one. View and clock are one object until a seq_cst fence separates
 * them.
 */
typedef struct tsr_views_thread {
	tsr_views_place_t place;
	int component, live_at;  /* its index among the live threads; -1: ended */
	tsr_epoch_t epoch, used; /* used: the last epoch in which it has made an access */
	tsr_vector_t *view, *clock;
	tsr_heads_t *pending;  /* read by relaxed loads; a later acquire fence takes them over */
	tsr_heads_t *released; /* from release fences; later stores release them */
} tsr_views_thread_t;

typedef struct tsr_instance {
	tsr_views_scope_t scope;
	int number, component;
	tsr_epoch_t epoch;
	tsr_vector_t *view;
} tsr_instance_t;

/**
 * The owner of a component. For an ended thread: the epochs that a thread must
 * know to continue it.
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
	tsr_views_thread_t *thread; /* all threads that ever were */
	int *live;
	tsr_component_t *component;
	tsr_instance_t *instance;
	tsr_location_t *location;
	int *free_locations;
	tsr_views_token_t *tokens;
	/* a clock that every live thread and token has reached; updated now and then */
	tsr_vector_t *common;
	int common_age; /* accesses since its last update */
	bool exhausted; /* an allocation failed, so the state is incomplete */
};

/* ------------------------------------------------------------ vectors */

static inline tsr_epoch_t tsr_vector_at(const tsr_vector_t *vector, int component)
{
	return vector && component < vector->count ? vector->epoch[component] : 0;
}

tsr_vector_t *tsr_vector_hold(tsr_vector_t *vector);
void tsr_vector_drop(tsr_vector_t *vector);

/**
 * The maximum of both in each component, and at least `epoch` in one component.
 * Releases `mine`. Null, and `exhausted`, if there is no memory.
 */
tsr_vector_t *tsr_vector_join(tsr_views_t *v, tsr_vector_t *mine, const tsr_vector_t *from,
			      int component, tsr_epoch_t epoch);

/** Joins a pair of view and clock into another pair. */
void tsr_vectors_join(tsr_views_t *v, tsr_vector_t **view, tsr_vector_t **clock,
		      const tsr_vector_t *from_view, const tsr_vector_t *from_clock, int component,
		      tsr_epoch_t epoch);

/**
 * How far a thread has seen a component, and how far it knows it by
 * happens-before.
 */
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

/* ---------------------------------------------- threads and scope instances */

/**
 * The instance of `scope` that the thread is in. Null if the scope is the
 * thread, or if nothing seq_cst was done in it yet.
 */
const tsr_instance_t *tsr_views_instance(const tsr_views_t *v, int thread, tsr_views_scope_t scope);

/**
 * The same; makes the instance if it is missing. Null: the scope is the thread,
 * or `exhausted`.
 */
tsr_instance_t *tsr_views_make_instance(tsr_views_t *v, int thread, tsr_views_scope_t scope);

/**
 * Whether each of two scopes, named by these two threads, includes the other
 * thread.
 */
static inline bool tsr_views_inclusive(const tsr_views_t *v, int a, tsr_views_scope_t scope_a,
				       int b, tsr_views_scope_t scope_b)
{
	tsr_views_scope_t scope = scope_a < scope_b ? scope_a : scope_b;
	return a == b || (scope != TSR_VIEWS_THREAD &&
			  v->thread[a].place.instance[scope] == v->thread[b].place.instance[scope]);
}

/**
 * Makes room for one more element of an array. Returns false, and sets
 * `exhausted`, if there is no memory.
 */
bool tsr_views_grow(tsr_views_t *v, void **array, int count, int *room, size_t size);

/* ------------------------------------------------------------ heads */

/**
 * A set with one head: the thread's state now, released at `scope`. Null, and
 * `exhausted`, if there is no memory.
 */
tsr_heads_t *tsr_heads_of(tsr_views_t *v, int thread, tsr_views_scope_t scope);

/**
 * The union of two sets; releases both. Leaves out heads that a later, wider
 * head of the same thread makes superfluous.
 */
tsr_heads_t *tsr_heads_union(tsr_views_t *v, tsr_heads_t *a, tsr_heads_t *b);

tsr_heads_t *tsr_heads_hold(tsr_heads_t *heads);
void tsr_heads_drop(tsr_heads_t *heads);

/**
 * Makes the thread take over the heads that synchronise with its acquire at
 * `scope`.
 */
void tsr_heads_join(tsr_views_t *v, const tsr_heads_t *heads, int thread, tsr_views_scope_t scope);

/* ------------------------------------------------------------ marks */

/**
 * Adds a mark, and removes marks of the same kind that it makes superfluous:
 * those that no view and no clock can distinguish from it.
 */
void tsr_marks_add(tsr_views_t *v, tsr_location_t *location, const tsr_mark_t *mark);

/**
 * Moves marks of messages from `from` on by `by` places. Marks of a removed
 * message go to the oldest one.
 */
void tsr_marks_shift(tsr_views_t *v, tsr_location_t *location, int from, int by);

/**
 * Removes marks and messages whose absence no live thread and no token can
 * notice, if there may be many.
 */
void tsr_marks_prune(tsr_views_t *v, tsr_location_t *location);

#endif

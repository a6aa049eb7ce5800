/*
 * The view machine: the memory model in operational form. An executor that
 * explores uses it as its memory.
 *
 * Nothing here is concurrent. The caller plays all threads and makes two
 * choices: which thread acts next, and which of the possible effects its access
 * has (what a load sees, where a store goes in its location's modification
 * order). Every run is allowed by the axioms of model/memory. Two things that
 * the axioms allow are never shown: load buffering, because threads act in
 * program order, and an order of seq_cst operations that differs from the order
 * of execution.
 *
 *   Message:    what a store leaves in its location: value, thread, scope, and
 *               the heads that it releases. A location keeps its messages in
 *               modification order.
 *   View:       how far its holder has seen each thread. It limits what a load
 *               may see: no message older than one that was written or read
 *               within the view.
 *   Clock:      the part of a view that was gained by synchronisation, that is
 *               by happens-before. Accesses outside it race. Seq_cst fences
 *               hand on views, but not clocks.
 *   Head:       view and clock of a thread at a release, with the scope of the
 *               release. A thread that acquires a message takes over those of
 *               its heads whose scope includes the thread and is included by
 *               the acquire's scope.
 *
 * Threads and locations may be added and ended while the machine runs. Its
 * memory grows with the number of live threads, times the number of threads
 * that nothing orders. Of ended threads a place is kept, and what others have
 * seen of them.
 *
 * Called by:  one thread at a time for each machine.
 * Source:     promising semantics and C11Tester for the views, FastTrack for
 *             the clocks.
 */
#ifndef TESSERA_VIEWS_VIEWS_H
#define TESSERA_VIEWS_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

typedef enum tsr_views_order {
	TSR_VIEWS_PLAIN, /* not atomic; its scope is the thread */
	TSR_VIEWS_RELAXED,
	TSR_VIEWS_ACQUIRE,
	TSR_VIEWS_RELEASE,
	TSR_VIEWS_ACQ_REL,
	TSR_VIEWS_SEQ_CST
} tsr_views_order_t;

/** Scopes, from narrow to wide. */
typedef enum tsr_views_scope {
	TSR_VIEWS_THREAD,
	TSR_VIEWS_WAVE,
	TSR_VIEWS_BLOCK,
	TSR_VIEWS_DEVICE,
	TSR_VIEWS_SYSTEM,
	TSR_VIEWS_SCOPES /* number of scopes */
} tsr_views_scope_t;

/**
 * Where a thread runs: for each scope from wave on, the number of its instance.
 * Equal numbers mean the same instance.
 */
typedef struct tsr_views_place {
	int instance[TSR_VIEWS_SCOPES];
} tsr_views_place_t;

typedef enum tsr_views_kind {
	TSR_VIEWS_LOAD,
	TSR_VIEWS_STORE,
	TSR_VIEWS_UPDATE,
	TSR_VIEWS_FENCE
} tsr_views_kind_t;

/**
 * The new value of an update, computed from the value that it reads. Returns
 * false to write nothing; the update is then a load, like a failed
 * compare-and-swap.
 */
typedef bool (*tsr_views_update_fn)(const void *context, uint64_t old, uint64_t *value_out);

typedef struct tsr_views_access {
	tsr_views_kind_t kind;
	tsr_views_order_t order;
	tsr_views_order_t failure; /* the order of an update that writes nothing */
	tsr_views_scope_t scope;
	int location;               /* not used by a fence */
	uint64_t value;             /* for a store, and for an update that `adds` */
	tsr_views_update_fn update; /* for an update; a pure function */
	const void *context;
	/* an update that adds `value`, and nobody asks for what it read: a machine may have it
	 * under way for a while, as it has a store */
	bool adds;
	uint32_t site; /* the caller's number for the access, for reports */
} tsr_views_access_t;

enum { TSR_VIEWS_DATA_RACE = 1, TSR_VIEWS_SCOPE_RACE = 2 };

/** The effect of an access. */
typedef struct tsr_views_event {
	uint64_t value; /* the value that a load or an update read */
	bool initial;   /* it read the initial value, which no thread has written */
	/* thread whose message it read; -1: the initial value, or nothing was read */
	int from_thread;
	uint32_t from_site;
	bool wrote;
	/* races with earlier accesses: a data race if one of the two is plain, otherwise a scope
	 * race */
	unsigned races;
	int other_thread;    /* the other thread of one of these races */
	uint32_t other_site; /* site of its latest such access */
	bool other_wrote;
} tsr_views_event_t;

typedef struct tsr_views tsr_views_t;

/**
 * Creates a machine with threads 0 .. threads - 1, which know nothing of each
 * other, and locations 0 .. locations - 1, which hold 0.
 * @param history  most messages that a location keeps; 0: all. Dropping the
 *                 oldest loses behaviours, but never soundness.
 * Errors:     TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_create(const tsr_views_place_t *places, int threads, int locations,
			      int history, tsr_views_t **views_out);

/**
 * A second machine in the same state, without its tokens. Copies are cheap,
 * because vectors are shared. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_copy(const tsr_views_t *views, tsr_views_t **copy_out);

/** Destroys a machine and its tokens. Null is allowed. */
void tsr_views_destroy(tsr_views_t *views);

/**
 * The approximate size of the machine's memory. Memory that it shares with
 * copies counts half.
 */
size_t tsr_views_size_bytes(const tsr_views_t *views);

/** Gives a location its initial value, before any access to it. */
void tsr_views_initialise(tsr_views_t *views, int location, uint64_t value);

/**
 * The number of effects that the access can have now: at least 1. Choice 0 is
 * the newest: a load sees the last message, a store comes last. If all choices
 * are 0, the threads' accesses interleave.
 */
int tsr_views_choices(const tsr_views_t *views, int thread, const tsr_views_access_t *access);

/**
 * Performs the access. `choice` is below tsr_views_choices. Races are reported
 * in the event and do not stop the machine. Errors: TSR_ERR_NO_MEMORY, after
 * which the machine can only be destroyed.
 */
tsr_status_t tsr_views_act(tsr_views_t *views, int thread, const tsr_views_access_t *access,
			   int choice, tsr_views_event_t *event_out);

/**
 * The value that an access would read with choice `choice`, or for a store the
 * value that it would follow. Changes nothing. `initial`: no thread has written
 * it. Errors: TSR_ERR_ARGUMENT (there is no such choice).
 */
tsr_status_t tsr_views_peek(const tsr_views_t *views, int thread, const tsr_views_access_t *access,
			    int choice, uint64_t *value_out, bool *initial_out);

/**
 * The value of the location's `n`-th message from the oldest on that is kept, and
 * the site of the access that wrote it. False: there is no such message, or
 * nobody has written it since the location was made.
 */
bool tsr_views_had(const tsr_views_t *views, int location, int n, uint64_t *value_out,
		   uint32_t *site_out);

/** The number of messages that a location keeps: 1 at least. */
int tsr_views_messages(const tsr_views_t *views, int location);

/** The value of the last message. */
uint64_t tsr_views_newest(const tsr_views_t *views, int location);

/** Whether a thread has written the value of the last message. */
bool tsr_views_written(const tsr_views_t *views, int location);

/* ------------------------------------------------ adding and ending threads */

/**
 * Counts a thread's steps between the points at which it hands on what it has
 * done. Never 0.
 */
typedef uint32_t tsr_epoch_t;

/**
 * What some threads have done up to now, kept for others to take over. It
 * belongs to its machine.
 */
typedef struct tsr_views_token tsr_views_token_t;

/**
 * Adds a thread that begins after what the token contains: a launch, or a new
 * fibre. With null or an empty token it knows nothing, like the threads with
 * which a machine is created. That is only for such threads, because the
 * machine may forget what all live threads know. Numbers ascend and are never
 * reused. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_add_thread(tsr_views_t *views, const tsr_views_place_t *place,
				  const tsr_views_token_t *token, int *thread_out);

/**
 * Ends a thread. Its accesses can still race with later ones. They go into the
 * token, if there is one, and happen before nothing else that did not know of
 * them already. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_end_thread(tsr_views_t *views, int thread, tsr_views_token_t *token);

/**
 * The epoch of the thread's next access. A caller that asks is expected to make
 * that access.
 */
tsr_epoch_t tsr_views_epoch(tsr_views_t *views, int thread);

/**
 * Whether everything that `other` (which may have ended) did up to and
 * including that epoch happens before what `thread` does next.
 */
bool tsr_views_knows(const tsr_views_t *views, int thread, int other, tsr_epoch_t epoch);

/**
 * A thread's clock as an array, for frequent queries: how far it knows each
 * component by happens-before.
 */
typedef struct tsr_views_clock {
	const tsr_epoch_t *epoch;
	int count; /* it knows nothing of components from here on */
	int own;   /* its own component, of which it knows everything */
} tsr_views_clock_t;

/** Valid until the next change of the machine. */
tsr_views_clock_t tsr_views_clock(const tsr_views_t *views, int thread);

/** The component that counts a thread's epochs. It never changes. */
int tsr_views_component(const tsr_views_t *views, int thread);

static inline bool tsr_views_clock_knows(const tsr_views_clock_t *clock, int component,
					 tsr_epoch_t epoch)
{
	return component == clock->own ||
	       (component < clock->count && clock->epoch[component] >= epoch);
}

/* --------------------------------------------------- order without accesses */

/**
 * What `from` did happens before what `to` does next: a thread is started or
 * joined, or the host creates order. Errors, also of the calls below:
 * TSR_ERR_NO_MEMORY, after which the machine can only be destroyed.
 */
tsr_status_t tsr_views_hand_over(tsr_views_t *views, int from, int to);

/**
 * Creates an empty token. It is destroyed with its machine, if not before.
 * Destroying null is allowed.
 */
tsr_status_t tsr_views_token_create(tsr_views_t *views, tsr_views_token_t **token_out);
void tsr_views_token_destroy(tsr_views_t *views, tsr_views_token_t *token);

/** Empties a token, before the next round of a meeting. */
void tsr_views_token_clear(tsr_views_token_t *token);

/** Adds what `from` contains to `into`. */
tsr_status_t tsr_views_token_join(tsr_views_t *views, tsr_views_token_t *into,
				  const tsr_views_token_t *from);

/**
 * Adds what the thread did to the token. In a meeting all threads give, then
 * all take.
 */
tsr_status_t tsr_views_give(tsr_views_t *views, int thread, tsr_views_token_t *token);

/** What the token contains happens before what the thread does next. */
tsr_status_t tsr_views_take(tsr_views_t *views, int thread, const tsr_views_token_t *token);

/* ---------------------------------------------- adding and ending locations */

/** A plain access that was made before its location was added. */
typedef struct tsr_views_past {
	int thread;
	tsr_epoch_t epoch;
	uint32_t site;
	bool wrote;
} tsr_views_past_t;

/**
 * Adds a location for memory that holds `value` and has been accessed plainly
 * before. Later accesses that race with those will report it.
 * @param written  false: no thread has ever written it, and a read reports
 *                 that.
 * Numbers of ended locations are reused. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_add_location(tsr_views_t *views, uint64_t value, bool written,
				    const tsr_views_past_t *pasts, int count, int *location_out);

/** Removes the location and all accesses to it. */
tsr_status_t tsr_views_end_location(tsr_views_t *views, int location);

/**
 * The accesses to the location, including atomic ones: writes at most `room` of
 * them. Returns their number.
 */
int tsr_views_pasts(const tsr_views_t *views, int location, tsr_views_past_t *pasts_out, int room);

/**
 * Whether all accesses to the location so far happen before what the thread
 * does next.
 */
bool tsr_views_knows_all(const tsr_views_t *views, int thread, int location);

/* ------------------------------------------------------------ digests */

/**
 * Adds a word to a digest: two hashes of 128 bits in all, so that collisions
 * can be ignored.
 */
static inline void tsr_views_mix(uint64_t digest[2], uint64_t word)
{
	digest[0] = (digest[0] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	digest[0] ^= digest[0] >> 32;
	digest[1] = (digest[1] + word) * UINT64_C(0xc2b2ae3d27d4eb4f);
	digest[1] ^= digest[1] >> 29;
}

/**
 * Adds the whole state except sites to a digest. Equal states change it
 * equally, however they were reached.
 */
void tsr_views_digest(const tsr_views_t *views, uint64_t digest[2]);

/** What a thread may still do. */
typedef struct tsr_views_future {
	uint64_t locations; /* bit x: it may access location x */
	bool writes;        /* it may write atomically */
	bool releases;      /* it may hand on what it knows, by a store, an update or a fence */
	bool acquires;      /* it may take over by a fence what its loads have read */
	bool seq_cst;
} tsr_views_future_t;

/**
 * The same, reduced to what the futures can distinguish: of a location that
 * nobody accesses again only the newest value; of a thread's knowledge only
 * whether it has seen each access that may still matter, not when. `futures`
 * has one entry for each thread. For machines with at most 64 locations,
 * without tokens, to which no thread and no location is added, and whose
 * history is unlimited.
 */
void tsr_views_digest_ahead(const tsr_views_t *views, const tsr_views_future_t *futures,
			    uint64_t digest[2]);

#endif

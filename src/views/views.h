/*
 * The view machine: the memory model in operational form, written as the memory
 * of an executor that explores.
 *
 * Nothing here is concurrent. A caller plays all threads and makes two choices:
 * which thread acts next, and which of the possible things its access does
 * (what a load sees, where a store goes in its location's modification order).
 * Every run that can be chosen is allowed by the axioms of model/memory. What
 * the axioms allow and no run shows is load buffering, since threads act in
 * program order, and an order of seq_cst operations that disagrees with the
 * order of execution.
 *
 *   Message    what a store leaves in its location: value, thread, scope, and
 *              the heads that it releases. The location keeps its messages in
 *              modification order.
 *   View       how far its holder has seen each thread. It bounds what a load
 *              may see: no message older than one that was written or read
 *              within the view.
 *   Clock      the part of a view that was gained by synchronisation, that is
 *              by happens-before. Accesses outside it race. Seq_cst fences hand
 *              on views and no clocks.
 *   Head       view and clock of a thread at a release, with the scope of the
 *              release. Who acquires a message takes over those of its heads
 *              whose scope includes it and is included by its own.
 *
 * Threads and locations may come and go while the machine runs. What a machine
 * needs grows with the threads that live, times those that nothing orders; of
 * threads that have ended a place is kept, and what others have seen of them.
 *
 * Called by: one thread at a time for each machine. Source: promising semantics
 * and C11Tester for the views, FastTrack for the clocks.
 */
#ifndef TESSERA_VIEWS_VIEWS_H
#define TESSERA_VIEWS_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

typedef enum tsr_views_order {
	TSR_VIEWS_PLAIN, /* not atomic: its scope is the thread */
	TSR_VIEWS_RELAXED,
	TSR_VIEWS_ACQUIRE,
	TSR_VIEWS_RELEASE,
	TSR_VIEWS_ACQ_REL,
	TSR_VIEWS_SEQ_CST
} tsr_views_order_t;

/** From narrow to wide. */
typedef enum tsr_views_scope {
	TSR_VIEWS_THREAD,
	TSR_VIEWS_WAVE,
	TSR_VIEWS_BLOCK,
	TSR_VIEWS_DEVICE,
	TSR_VIEWS_SYSTEM,
	TSR_VIEWS_SCOPES /* how many there are */
} tsr_views_scope_t;

/**
 * Where a thread runs: of each scope from wave on, the number of its instance.
 * Equal numbers: the same instance.
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
 * What an update makes of the value that it reads. False: it writes nothing and
 * is a load, as a compare-and-swap that fails.
 */
typedef bool (*tsr_views_update_fn)(const void *context, uint64_t old, uint64_t *value_out);

typedef struct tsr_views_access {
	tsr_views_kind_t kind;
	tsr_views_order_t order;
	tsr_views_order_t failure; /* the order of an update that writes nothing */
	tsr_views_scope_t scope;
	int location;               /* not of a fence */
	uint64_t value;             /* of a store */
	tsr_views_update_fn update; /* of an update; a pure function */
	const void *context;
	uint32_t site; /* the caller's mark, for reports */
} tsr_views_access_t;

enum { TSR_VIEWS_DATA_RACE = 1, TSR_VIEWS_SCOPE_RACE = 2 };

/** What an access did. */
typedef struct tsr_views_event {
	uint64_t value;  /* what a load or update read */
	bool initial;    /* it read what was there at first: nobody has written it */
	int from_thread; /* whose message it read; -1: what was there at first, or nothing */
	uint32_t from_site;
	bool wrote;
	/* with earlier accesses: a data race where one of the two is plain, else a scope race */
	unsigned races;
	int other_thread;    /* of one of them, where there are any */
	uint32_t other_site; /* of its latest such access */
	bool other_wrote;
} tsr_views_event_t;

typedef struct tsr_views tsr_views_t;

/**
 * A machine with threads 0 .. threads - 1, which know nothing of each other,
 * and locations 0 .. locations - 1, which hold 0.
 * @param history  the most messages that a location keeps: with the oldest ones
 *                 go behaviours, never soundness. 0: all.
 * Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_create(const tsr_views_place_t *places, int threads, int locations,
			      int history, tsr_views_t **views_out);

/**
 * A second machine in the same state, without its tokens. Vectors are shared,
 * so a copy is cheap. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_copy(const tsr_views_t *views, tsr_views_t **copy_out);

/** Its tokens are destroyed with it. Null is no machine. */
void tsr_views_destroy(tsr_views_t *views);

/** The memory that the machine has, about; what it shares with copies is counted by halves. */
size_t tsr_views_size_bytes(const tsr_views_t *views);

/** Gives a location its first value, before any access to it. */
void tsr_views_initialise(tsr_views_t *views, int location, uint64_t value);

/**
 * In how many ways the access can act now: at least 1. Choice 0 is the newest:
 * a load that sees the last message, a store that comes last. A machine that is
 * always told 0 interleaves.
 */
int tsr_views_choices(const tsr_views_t *views, int thread, const tsr_views_access_t *access);

/**
 * Acts. `choice` is below tsr_views_choices. Races are told and do not stop the
 * machine.
 * Errors: TSR_ERR_NO_MEMORY, after which the machine can only be destroyed.
 */
tsr_status_t tsr_views_act(tsr_views_t *views, int thread, const tsr_views_access_t *access,
			   int choice, tsr_views_event_t *event_out);

/**
 * What choice `choice` of an access would read, without acting; of a store,
 * what it would follow. `initial`: nobody has written it. Errors:
 * TSR_ERR_ARGUMENT: there is no such choice.
 */
tsr_status_t tsr_views_peek(const tsr_views_t *views, int thread, const tsr_views_access_t *access,
			    int choice, uint64_t *value_out, bool *initial_out);

/** The value of the last message. */
uint64_t tsr_views_newest(const tsr_views_t *views, int location);

/** Whether anybody has written the value of the last message. */
bool tsr_views_written(const tsr_views_t *views, int location);

/* ------------------------------------------------------------------ threads that come and go */

/** Counts a thread's steps between two occasions at which it hands on what it has done. Never 0. */
typedef uint32_t tsr_epoch_t;

/**
 * What some threads have done up to now, kept for others to take over. It
 * belongs to its machine.
 */
typedef struct tsr_views_token tsr_views_token_t;

/**
 * A thread that begins after what stands in the token: a launch, a fibre that
 * is spawned. Null, or an empty token: it knows nothing, as the threads do that
 * a machine is made with; for them alone, for what all live threads know may be
 * forgotten. Numbers are given in order and never twice. Errors:
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_add_thread(tsr_views_t *views, const tsr_views_place_t *place,
				  const tsr_views_token_t *token, int *thread_out);

/**
 * The thread acts no more. What it did keeps its place among what may race: it
 * goes to the token, if there is one, and happens before nothing else that did
 * not know of it already. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_end_thread(tsr_views_t *views, int thread, tsr_views_token_t *token);

/** The epoch of the thread's next access: who asks is taken to make one. */
tsr_epoch_t tsr_views_epoch(tsr_views_t *views, int thread);

/**
 * Whether all that `other`, which may have ended, did up to and in that epoch
 * happens before what `thread` does next.
 */
bool tsr_views_knows(const tsr_views_t *views, int thread, int other, tsr_epoch_t epoch);

/**
 * A thread's clock as an array, for those who ask it often: how far it knows of
 * each component by happens-before.
 */
typedef struct tsr_views_clock {
	const tsr_epoch_t *epoch;
	int count; /* of the rest it knows nothing */
	int own;   /* its own component: it knows all of that */
} tsr_views_clock_t;

/** Valid until the machine does anything at all. */
tsr_views_clock_t tsr_views_clock(const tsr_views_t *views, int thread);

/** The component of which a thread's epochs are, for good. */
int tsr_views_component(const tsr_views_t *views, int thread);

static inline bool tsr_views_clock_knows(const tsr_views_clock_t *clock, int component,
					 tsr_epoch_t epoch)
{
	return component == clock->own ||
	       (component < clock->count && clock->epoch[component] >= epoch);
}

/* ------------------------------------------------------------------ edges that no access makes */

/**
 * What `from` did happens before what `to` does next: a thread that is started
 * or joined, an edge of the host's. Errors, of all below too:
 * TSR_ERR_NO_MEMORY, after which the machine can only be destroyed.
 */
tsr_status_t tsr_views_hand_over(tsr_views_t *views, int from, int to);

/** An empty token. Destroyed with its machine, if not before; null is no token. */
tsr_status_t tsr_views_token_create(tsr_views_t *views, tsr_views_token_t **token_out);
void tsr_views_token_destroy(tsr_views_t *views, tsr_views_token_t *token);

/** It stands for nothing again: before the next round of a meeting. */
void tsr_views_token_clear(tsr_views_token_t *token);

/** `into` stands for what `from` stands for, too. */
tsr_status_t tsr_views_token_join(tsr_views_t *views, tsr_views_token_t *into,
				  const tsr_views_token_t *from);

/** What the thread did goes into the token. A meeting: all give, then all take. */
tsr_status_t tsr_views_give(tsr_views_t *views, int thread, tsr_views_token_t *token);

/** What the token stands for happens before what the thread does next. */
tsr_status_t tsr_views_take(tsr_views_t *views, int thread, const tsr_views_token_t *token);

/* ------------------------------------------------------------------ locations that come and go */

/** A plain access from before its location was made. */
typedef struct tsr_views_past {
	int thread;
	tsr_epoch_t epoch;
	uint32_t site;
	bool wrote;
} tsr_views_past_t;

/**
 * A location for memory that holds `value`, and has been accessed plainly
 * before: accesses that race with those will say so.
 * @param written  false: nobody has ever written it, and who reads it is told
 *                 so.
 * Numbers of locations that have ended are given again. Errors:
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_views_add_location(tsr_views_t *views, uint64_t value, bool written,
				    const tsr_views_past_t *pasts, int count, int *location_out);

/** Forgets the location and all that was done to it. */
tsr_status_t tsr_views_end_location(tsr_views_t *views, int location);

/**
 * Who has accessed the location, atomically too: at most `room` of them.
 * Returns how many there are.
 */
int tsr_views_pasts(const tsr_views_t *views, int location, tsr_views_past_t *pasts_out, int room);

/** Whether all accesses to the location so far happen before what the thread does next. */
bool tsr_views_knows_all(const tsr_views_t *views, int thread, int location);

/* ------------------------------------------------------------------ digests */

/**
 * Takes a word into a digest: two hashes, 128 bits in all, so that states that
 * only seem equal need not be thought of.
 */
static inline void tsr_views_mix(uint64_t digest[2], uint64_t word)
{
	digest[0] = (digest[0] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	digest[0] ^= digest[0] >> 32;
	digest[1] = (digest[1] + word) * UINT64_C(0xc2b2ae3d27d4eb4f);
	digest[1] ^= digest[1] >> 29;
}

/**
 * Takes the whole state into a digest, sites left out: equal states do the same
 * to it, however they were reached.
 */
void tsr_views_digest(const tsr_views_t *views, uint64_t digest[2]);

/** What a thread may still do. */
typedef struct tsr_views_future {
	uint64_t locations; /* bit x: it may access location x */
	bool writes;        /* atomically */
	bool releases;      /* by a store, an update or a fence: it hands on what it knows */
	bool acquires;      /* by a fence: it takes over what its loads have read */
	bool seq_cst;
} tsr_views_future_t;

/**
 * The same of no more than the futures can tell apart: of what nobody accesses
 * again the newest value alone, and of what a thread knows whether it has seen
 * each access that may still bound it, not when that was. `futures` has one for
 * each thread. For machines of at most 64 locations, without tokens, to which
 * no thread and no location is added and whose history is not bounded.
 */
void tsr_views_digest_ahead(const tsr_views_t *views, const tsr_views_future_t *futures,
			    uint64_t digest[2]);

#endif

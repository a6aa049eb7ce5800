/*
 * The tokens behind scoped.h. ThreadSanitizer must derive nothing from their
 * keeping: this file is compiled without it, and tells it by calls of its
 * runtime what it is to know. (To tell the compilers to leave single functions
 * alone would not do: clang instruments the atomics of those all the same.)
 */
#include "cpuemu/dev/memory/scoped.h"

#if TSR_CPU_TSAN

#include <sanitizer/tsan_interface.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cpuemu/block.h"

#if defined(__SANITIZE_THREAD__)
#error "backends/cpuemu/SConscript compiles this file without ThreadSanitizer"
#endif

/**
 * What an atomic store is compiled to; gcc has no header for it. Orders are
 * numbered as the compilers number theirs.
 */
void __tsan_atomic64_store(volatile int64_t *at, int64_t value, int order);

/**
 * A report needs the stack of the earlier access, and without it there is none:
 * ThreadSanitizer must remember what a thread did before it spun in a wait for
 * as long as the emulator's waits spin. gcc's spends 2^history_size quarters of
 * a MiB on each thread, clang's less than 3 MiB. TSAN_OPTIONS overrides it.
 * Visible, because gcc's runtime is a shared library, which would not see it.
 */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
#if defined(__clang__)
	return "history_size=7";
#else
	return "history_size=4";
#endif
}

enum {
	TOKENS = 1 << 20, /* addresses; memory is used where they are touched */
	BUCKETS = 1 << 16,
	SCOPES = TSR_SCOPE_SYSTEM + 1,
	PENDING = 64,
	SPINS = 64,
};

/**
 * Of one location and one scope instance: that of the system is also the
 * location's place. Never moved, never given back.
 */
typedef struct tsr_scoped_token {
	_Atomic(struct tsr_scoped_token *) next; /* in its bucket */
	/* the key; the system: no device, a device: no block */
	_Atomic(const void *) at, device, block;
	_Atomic uint64_t sequence; /* whose heads are on `heads` */
	/* ThreadSanitizer's, by their addresses: this sequence's heads, all there were */
	int64_t heads, ever;

	/* Of a place. */
	_Atomic uint32_t lock; /* guards all tokens of the location but their keys */
	_Atomic int scope;     /* of the last write */
	_Atomic(const void *) writer_device, writer_block;
	_Atomic uint64_t current; /* number of the release sequence */
} token_t;

/*
 * One table a process, as ThreadSanitizer has one shadow: the tokens say which
 * device they belong to.
 */
static token_t tokens[TOKENS];
static _Atomic(token_t *) buckets[BUCKETS];
static _Atomic uint32_t token_count, table_lock;

/**
 * Whose worker this thread runs, and what its fences have kept: the coop's
 * first thread makes those of the coop.
 */
static _Thread_local struct {
	const void *device, *block;
	/* fibre that has done what the worker had before its last release fence of the scope */
	void *fenced[SCOPES];
	token_t *pending[PENDING]; /* places loaded from, that an acquire fence has to look at */
	int pending_count;
} self;

static bool releases(int order)
{
	return order == TSR_RELEASE || order == TSR_ACQ_REL || order == TSR_SEQ_CST;
}

static bool acquires(int order)
{
	return order == TSR_ACQUIRE || order == TSR_ACQ_REL || order == TSR_SEQ_CST;
}

#define GET(word_) atomic_load_explicit(&(word_), memory_order_relaxed)
#define SET(word_, value_) atomic_store_explicit(&(word_), (value_), memory_order_relaxed)

/*
 * The fences of a place's lock are those of the access that it guards too: full
 * ones, so that they serve every order that the access may have. Partner of
 * each is the other.
 */
static void lock_take(_Atomic uint32_t *lock)
{
	for (int tries = 1; atomic_exchange_explicit(lock, 1, memory_order_relaxed) != 0; tries++)
		if (tries % SPINS == 0)
			sched_yield();
	atomic_thread_fence(memory_order_seq_cst);
}

static void lock_give(_Atomic uint32_t *lock)
{
	atomic_thread_fence(memory_order_seq_cst);
	SET(*lock, 0);
}

/* ------------------------------------------------------------------ the table */

static _Atomic(token_t *) *bucket_of(const void *at, const void *device, const void *block)
{
	uint64_t h = (uint64_t)(uintptr_t)at;
	h = (h ^ (uint64_t)(uintptr_t)device * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
	h = (h ^ (uint64_t)(uintptr_t)block * 0xc4ceb9fe1a85ec53u ^ h >> 29) * 0x9e3779b97f4a7c15u;
	return &buckets[h >> 48];
}
_Static_assert(BUCKETS == 1 << 16, "the bucket is the top 16 bits");

static token_t *token_find(const void *at, const void *device, const void *block)
{
	token_t *token = GET(*bucket_of(at, device, block));
	/* partner: token_add's before it sets the bucket */
	atomic_thread_fence(memory_order_acquire);
	while (token &&
	       (GET(token->at) != at || GET(token->device) != device || GET(token->block) != block))
		token = GET(token->next);
	return token;
}

/** Null where all tokens are taken. */
static token_t *token_add(const void *at, const void *device, const void *block)
{
	_Atomic(token_t *) *bucket = bucket_of(at, device, block);
	lock_take(&table_lock);
	token_t *token = token_find(at, device, block);
	if (!token && GET(token_count) < TOKENS) {
		token = &tokens[GET(token_count)];
		SET(token_count, GET(token_count) + 1);
		SET(token->at, at);
		SET(token->device, device);
		SET(token->block, block);
		SET(token->scope, -1); /* not written */
		SET(token->next, GET(*bucket));
		atomic_thread_fence(memory_order_release); /* partner: token_find's */
		SET(*bucket, token);
	}
	lock_give(&table_lock);
	return token;
}

static token_t *place_find(const void *at)
{
	return token_find(at, NULL, NULL);
}

/** The token of my instance of `scope`; null where nobody has released to it. */
static token_t *token_of(token_t *place, int scope, bool add)
{
	const void *at = GET(place->at), *block = scope == TSR_SCOPE_BLOCK ? self.block : NULL;
	if (scope == TSR_SCOPE_SYSTEM)
		return place;
	token_t *token = token_find(at, self.device, block);
	if (!token && add)
		token = token_add(at, self.device, block);
	if (!token && GET(token_count) == TOKENS)
		return place; /* wider than asked for: a report less, never one too many */
	return token;
}

/* ------------------------------------------------------------- with the place locked: the edges */

/** Whether the last write and an access of mine at `scope` include each other. */
static bool includes_writer(token_t *place, int scope)
{
	int least = GET(place->scope) < scope ? GET(place->scope) : scope;
	switch (least) {
	case TSR_SCOPE_SYSTEM:
		return true;
	case TSR_SCOPE_DEVICE:
		return GET(place->writer_device) == self.device;
	case TSR_SCOPE_BLOCK:
		return GET(place->writer_device) == self.device &&
		       GET(place->writer_block) == self.block;
	default:
		return false; /* not written since anybody released to it */
	}
}

static void release_to(token_t *place, int scope)
{
	uint64_t current = GET(place->current);
	for (int level = TSR_SCOPE_BLOCK; level <= scope; level++) {
		token_t *token = token_of(place, level, true);
		if (GET(token->sequence) == current) {
			__tsan_release(&token->heads);
		} else {
			/* a store with release forgets what was released before; partner:
			 * acquire_from */
			SET(token->sequence, current);
			__tsan_atomic64_store(&token->heads, 0, __ATOMIC_RELEASE);
		}
		__tsan_release(&token->ever);
	}
}

static void acquire_from(token_t *place, int scope)
{
	for (int level = TSR_SCOPE_BLOCK; level <= scope; level++) {
		token_t *token = token_of(place, level, false);
		if (token && GET(token->sequence) == GET(place->current))
			__tsan_acquire(&token->heads);
	}
}

/** For fences: not only the present sequence. Needs no lock. */
static void acquire_ever(token_t *place, int scope)
{
	for (int level = TSR_SCOPE_BLOCK; level <= scope; level++) {
		token_t *token = token_of(place, level, false);
		if (token)
			__tsan_acquire(&token->ever);
	}
}

/** What release fences of mine have kept goes out with every write. */
static void release_fenced(token_t *place)
{
	for (int scope = TSR_SCOPE_BLOCK; scope <= TSR_SCOPE_SYSTEM; scope++) {
		if (!self.fenced[scope])
			continue;
		void *me = __tsan_get_current_fiber();
		__tsan_switch_to_fiber(self.fenced[scope], __tsan_switch_to_fiber_no_sync);
		release_to(place, scope);
		__tsan_switch_to_fiber(me, __tsan_switch_to_fiber_no_sync);
	}
}

static void note_pending(token_t *place)
{
	for (int i = 0; i < self.pending_count; i++)
		if (self.pending[i] == place)
			return;
	if (self.pending_count == PENDING) { /* as if a fence had come by now: a report less */
		acquire_ever(self.pending[0], TSR_SCOPE_SYSTEM);
		self.pending[0] = self.pending[--self.pending_count];
	}
	self.pending[self.pending_count++] = place;
}

/* ------------------------------------------------------------------ accesses */

/** Whether tokens may change by it; where not, a location without a place stays without. */
static bool matters(tsr_scoped_effect_t effect, int order)
{
	bool fenced = self.fenced[TSR_SCOPE_BLOCK] || self.fenced[TSR_SCOPE_DEVICE] ||
		      self.fenced[TSR_SCOPE_SYSTEM];
	return order != TSR_RELAXED || (effect != TSR_SCOPED_READ && fenced);
}

bool tsr_scoped_open(tsr_scoped_t *access, const void *at, tsr_scoped_effect_t effect, int order,
		     int scope)
{
	bool needed = matters(effect, order);
	*access = (tsr_scoped_t){.at = at, .scope = scope};
	if (!self.device)
		return false;
	access->place = place_find(at);
	if (!access->place && needed)
		access->place = token_add(at, NULL, NULL);
	if (access->place)
		lock_take(&access->place->lock);
	access->lowered = access->place || !needed;
	return access->lowered;
}

static void after_read(token_t *place, int order, int scope)
{
	if (acquires(order))
		acquire_from(place, scope);
	if (!acquires(order) || scope < TSR_SCOPE_SYSTEM)
		note_pending(place); /* a fence of a wider scope may take more */
}

static void after_write(token_t *place, int order, int scope, bool continues)
{
	if (!continues)
		SET(place->current, GET(place->current) + 1);
	SET(place->scope, scope);
	SET(place->writer_device, self.device);
	SET(place->writer_block, self.block);
	if (releases(order))
		release_to(place, scope);
	release_fenced(place);
}

/**
 * A relaxed load of a location that had no place: if it has one by now, its
 * first releases may have been seen.
 */
static void after_late_read(const void *at)
{
	token_t *place = place_find(at);
	if (!place)
		return;
	lock_take(&place->lock); /* who releases is done with it */
	lock_give(&place->lock);
	note_pending(place);
}

void tsr_scoped_close(tsr_scoped_t *access, tsr_scoped_effect_t effect, int order)
{
	token_t *place = access->place;
	if (!access->lowered)
		return;
	if (!place) {
		if (effect != TSR_SCOPED_WRITE)
			after_late_read(access->at);
		return;
	}
	bool included = includes_writer(place, access->scope);
	if (effect != TSR_SCOPED_WRITE && included)
		after_read(place, order, access->scope);
	if (effect != TSR_SCOPED_READ)
		after_write(place, order, access->scope, effect == TSR_SCOPED_UPDATE && included);
	lock_give(&place->lock);
}

/* ------------------------------------------------------------------ workers and their fences */

static void forget_fences(int scope)
{
	for (int level = TSR_SCOPE_BLOCK; level <= scope; level++) {
		if (self.fenced[level])
			__tsan_destroy_fiber(self.fenced[level]);
		self.fenced[level] = NULL;
	}
}

void tsr_scoped_fence(int order, int scope)
{
	if (!self.device)
		return;
	for (int i = 0; acquires(order) && i < self.pending_count; i++)
		acquire_ever(self.pending[i], scope);
	if (acquires(order) && scope == TSR_SCOPE_SYSTEM)
		self.pending_count = 0; /* no fence can take more from those loads */
	if (releases(order)) {
		/* this one covers more, at every scope they had */
		forget_fences(scope);
		/* a new fibre has done what its maker has */
		self.fenced[scope] = __tsan_create_fiber(0);
	}
}

void tsr_scoped_enter(const tsr_cpu_block_t *block)
{
	self.device = block->env;
	self.block = block;
}

void tsr_scoped_leave(void)
{
	forget_fences(TSR_SCOPE_SYSTEM);
	self.pending_count = 0;
	self.device = self.block = NULL;
}

#endif

/*
 * The cache machine: stale data as a device like gfx942 really shows it,
 * written as the memory of an executor that explores.
 *
 * It is the cheap of the two memories. Bytes lie in four places: store buffers
 * of threads, a write-back cache for each block (L1), one for each device (L2),
 * and home, which is memory that the caller gives. Nothing keeps the caches
 * coherent but what programs do. Every run that can be chosen is allowed by the
 * axioms of model/memory where the program has no race; where it has one, old
 * data is read as it would be. Which accesses race it does not say: that is for
 * clocks, kept elsewhere.
 *
 *   Level      where an access acts, by its scope: plain, wave and block in the
 *              L1; device in the L2; system at home. What is nearer and dirty
 *              is written back first, and nearer copies are brought up to date.
 *   Release    all in the thread's store buffer is stored; from device on the
 *              block's L1 is written back, at system the device's L2 too.
 *   Acquire    from device on the block's L1 drops what is clean, at system the
 *              device's L2 too.
 *   Late       what a thread's store buffer holds, in any order but that of
 *              overlapping bytes, and dirty bytes of caches. It is out of
 *              others' sight until something is done about it, or it happens by
 *              itself: tsr_cache_arrivals.
 *   Stale      bytes of a cache that are not what lies further out.
 *
 * A region is homed at a device. Its own lines are coherent in that device's
 * L2, so they need none there; other devices' L2s hold copies of them that are
 * not coherent. The memory of a block is coherent in the block, and in no
 * cache.
 *
 * Where something can go more than one way the machine asks `choose`. 0 is
 * always eager and fresh: a machine that is always told 0 interleaves, and each
 * load sees the last store. The same answers give the same run everywhere: no
 * choice depends on an address.
 *
 * Called by: one thread at a time for each machine. Every call that stores or
 * loads may fail with TSR_ERR_NO_MEMORY, after which the machine can only be
 * destroyed, and with TSR_ERR_ARGUMENT for bytes outside a region, an ordered
 * access that is not of 2, 4 or 8 aligned bytes, or a number that names
 * nothing; then it has done nothing.
 * Source: LLVM's memory model of gfx942 (User Guide for AMDGPU Backend) for the
 * levels.
 */
#ifndef TESSERA_CACHES_CACHES_H
#define TESSERA_CACHES_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/views/views.h"
#include "tessera/status.h"

typedef struct tsr_cache tsr_cache_t;

/** What is asked. */
typedef enum tsr_cache_choice {
	/* 0: at home at once; then, where it makes a difference: in the cache of its level; in the
	 * store buffer */
	TSR_CACHE_STORE,
	/* 0: fresh; 1, 2: stale copies, from the L2 and from the L1. Asked only where they
	 * differ */
	TSR_CACHE_LOAD,
	/* 0: nothing; then whether something late arrives, or something is cached that nobody has
	 * asked for */
	TSR_CACHE_ARRIVAL,
	TSR_CACHE_WHICH /* which of the late bytes arrive, or which line is cached */
} tsr_cache_choice_t;

/** Answers with a number below n; n is at least 2. */
typedef int (*tsr_cache_choose_fn)(void *context, tsr_cache_choice_t kind, int n);

/** Mistakes of a machine, for tests that must tell it from the right one. */
typedef enum tsr_cache_mistake {
	TSR_CACHE_RIGHT,
	TSR_CACHE_RELEASE_WRITES_NOTHING_BACK,
	TSR_CACHE_RELEASE_OVERTAKES, /* what the thread's store buffer holds */
	TSR_CACHE_ACQUIRE_DROPS_NOTHING,
	TSR_CACHE_UPDATE_STAYS_NEAR,   /* read-modify-writes act in the L1, whatever their scope */
	TSR_CACHE_STORES_SWAP,         /* stores to the same bytes by one thread */
	TSR_CACHE_SEQ_CST_OVERTAKES,   /* seq_cst loads do not wait for earlier stores */
	TSR_CACHE_DEVICE_LEVEL_IS_NEAR /* accesses at device scope act in the L1 */
} tsr_cache_mistake_t;

typedef struct tsr_cache_config {
	int devices;
	/* the most stores of up to 64 bytes that a thread buffers; 0: none */
	int buffered_stores;
	/* the most lines of 64 bytes that each cache holds, others make room; 0: no bound */
	int lines_l1, lines_l2;
	/* tsr_cache_arrivals may cache lines that nobody has asked for: for small regions */
	bool fills;
	tsr_cache_choose_fn choose; /* null: always 0 */
	void *context;
	tsr_cache_mistake_t mistake;
} tsr_cache_config_t;

/** Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_cache_create(const tsr_cache_config_t *config, tsr_cache_t **cache_out);

/** Late bytes are lost. Null is no machine. */
void tsr_cache_destroy(tsr_cache_t *cache);

/* ------------------------------------------------------------------ what there is */

enum {
	TSR_CACHE_NOWHERE = -1, /* home of a region: no device, such as the host's memory */
	TSR_CACHE_SHARED = -2   /* the memory of a block: in no cache */
};

enum {
	/* block of a host's thread: it acts at home, and its writes drop all cached copies */
	TSR_CACHE_HOST = -1,
	/* block of a copy engine: it acts at home, and no cache learns of it */
	TSR_CACHE_ENGINE = -2
};

/**
 * Memory, which stays the caller's and must outlive the region. Nobody else
 * writes to it. Numbers are the lowest that are free.
 * @param home  a device, TSR_CACHE_NOWHERE or TSR_CACHE_SHARED.
 */
tsr_status_t tsr_cache_add_region(tsr_cache_t *cache, int home, void *memory, size_t bytes,
				  int *region_out);

/** Forgets the region, and what caches and threads hold of it. */
tsr_status_t tsr_cache_end_region(tsr_cache_t *cache, int region);

/** A block that begins on a device, with an empty L1. Numbers are the lowest that are free. */
tsr_status_t tsr_cache_add_block(tsr_cache_t *cache, int device, int *block_out);

/** The block's threads have ended. Its L1 is written back to the L2. */
tsr_status_t tsr_cache_end_block(tsr_cache_t *cache, int block);

/** A thread of a block, of a host or an engine. Numbers are the lowest that are free. */
tsr_status_t tsr_cache_add_thread(tsr_cache_t *cache, int block, int *thread_out);

/** All in its store buffer is stored. */
tsr_status_t tsr_cache_end_thread(tsr_cache_t *cache, int thread);

/**
 * A launch begins on a device, before its blocks: acquires at system scope. It
 * ends, after them: releases at system scope.
 */
tsr_status_t tsr_cache_begin_launch(tsr_cache_t *cache, int device);
tsr_status_t tsr_cache_end_launch(tsr_cache_t *cache, int device);

/* ------------------------------------------------------------------ plain accesses */

/** Bytes of a region. */
typedef struct tsr_cache_place {
	int region;
	size_t offset, bytes;
} tsr_cache_place_t;

/** Any number of bytes. Each line may be old or new by itself. */
tsr_status_t tsr_cache_read(tsr_cache_t *cache, int thread, const tsr_cache_place_t *place,
			    void *to);

/**
 * Any number of bytes, as one store or more: where they are late they arrive
 * line by line. One choice for all.
 */
tsr_status_t tsr_cache_write(tsr_cache_t *cache, int thread, const tsr_cache_place_t *place,
			     const void *from);

/**
 * As many bytes as `to` has, in ascending order: a read and a write of a few
 * bytes at a time. One choice for all that is written.
 */
tsr_status_t tsr_cache_copy_bytes(tsr_cache_t *cache, int thread, const tsr_cache_place_t *to,
				  const tsr_cache_place_t *from);

/* ------------------------------------------------------------------ ordered accesses */

/** What an ordered access did. */
typedef struct tsr_cache_event {
	uint64_t value; /* what a load or update read */
	bool wrote;
} tsr_cache_event_t;

/**
 * Acts: a load, store, update or fence of any order. The access's `location` is
 * not read, but `place`, and that not for a fence: 4 or 8 aligned bytes, which
 * are a number with its little end first.
 */
tsr_status_t tsr_cache_act(tsr_cache_t *cache, int thread, const tsr_views_access_t *access,
			   const tsr_cache_place_t *place, tsr_cache_event_t *event_out);

/**
 * A worker comes to a meeting of its block: all in its store buffer is stored,
 * in the sight of the others.
 */
tsr_status_t tsr_cache_meet(tsr_cache_t *cache, int thread);

/**
 * A release of one thread and an acquire of another, both at system scope: an
 * edge of the host's.
 */
tsr_status_t tsr_cache_hand_over(tsr_cache_t *cache, int from, int to);

/* ------------------------------------------------------------------ what happens by itself */

/**
 * Lets one thing happen, or nothing: something late arrives one step further
 * out. Asks nothing where nothing can happen.
 */
tsr_status_t tsr_cache_arrivals(tsr_cache_t *cache);

/** How many things are late. */
size_t tsr_cache_late(const tsr_cache_t *cache);

/**
 * All that is late arrives at home, and caches are empty: as after any length
 * of time. Before a deadlock is one, it is waited for.
 */
tsr_status_t tsr_cache_settle(tsr_cache_t *cache);

/* ------------------------------------------------------------------ questions */

/**
 * What a load of the thread would see by default, without doing anything: for
 * awaits. At most 8 bytes.
 */
tsr_status_t tsr_cache_peek(const tsr_cache_t *cache, int thread, const tsr_cache_place_t *place,
			    uint64_t *value_out);

/**
 * The same for one that sees whatever anybody has stored, late or not. Where
 * two are late, the one that is further in.
 */
tsr_status_t tsr_cache_newest(const tsr_cache_t *cache, const tsr_cache_place_t *place,
			      uint64_t *value_out);

/** What the machine has allocated. */
size_t tsr_cache_size_bytes(const tsr_cache_t *cache);

/**
 * A second machine in the same state. `memory` has, for each region's number,
 * memory with the same content.
 */
tsr_status_t tsr_cache_copy(const tsr_cache_t *cache, void *const *memory, tsr_cache_t **copy_out);

/**
 * Takes the whole state but homes into a digest: equal states do the same to
 * it. Only for machines whose caches have no bound.
 */
void tsr_cache_digest(const tsr_cache_t *cache, uint64_t digest[2]);

#endif

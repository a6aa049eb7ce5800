/*
 * The cache machine: a model of memory that shows stale data as a device like
 * gfx942 really does. An executor that explores uses it as its memory.
 *
 * It is the cheaper of the two memory models. Bytes are in four places: store
 * buffers of threads, a write-back cache for each block (L1), one for each
 * device (L2), and home, which is memory of the caller. Only the program's own
 * operations keep the caches coherent. If the program has no race, every run of
 * this machine is allowed by the axioms of model/memory. If it has one, old
 * data is read as on a device. The machine does not report races; clocks, kept
 * elsewhere, do that.
 *
 *   Level:      the cache in which an access acts, by its scope: plain, wave
 *               and block in the L1; device in the L2; system at home. Nearer
 *               dirty bytes are written back first, and nearer copies are
 *               updated.
 *   Release:    performs all stores in the thread's store buffer. From device
 *               scope on, writes back the block's L1; at system scope also the
 *               device's L2.
 *   Acquire:    from device scope on, drops clean bytes of the block's L1; at
 *               system scope also of the device's L2.
 *   Late:       stores in store buffers, which are performed in any order
 *               except for overlapping bytes, and dirty bytes of caches. Others
 *               do not see them until an operation performs them, or they
 *               arrive by themselves: tsr_cache_arrivals.
 *   Stale:      cached bytes that differ from those further out.
 *
 * A region has a home device. That device's L2 is coherent with the region's
 * memory, so it holds no lines of it; the L2s of other devices hold copies that
 * are not coherent. The memory of a block is coherent in the block, and is not
 * cached.
 *
 * Devices may be on several nodes. Memory of a device on another node is far: no
 * cache has it. Each device has a queue to each such device. Stores to far
 * memory, and additions of which nobody asks what they read, are commands in
 * it; they land at home one by one, in order, at any later time, and each queue
 * by itself. Reads and other updates come behind the queue's commands and wait.
 * At system scope a release waits until all the device's queues are empty,
 * except that it may travel itself behind what is in its own; a seq_cst read
 * waits for all of them too. Narrower ones wait for nothing: in a device the
 * queue's order is the order of its commands. The end of a launch waits for all.
 *
 * Where several things may happen, the machine asks `choose`. 0 is always eager
 * and fresh: if all answers are 0, the threads' accesses interleave and each
 * load sees the last store. The same answers always give the same run, because
 * no choice depends on an address.
 *
 * Called by:  one thread at a time for each machine.
 * Errors:     of every call that stores or loads: TSR_ERR_NO_MEMORY, after
 *             which the machine can only be destroyed; TSR_ERR_ARGUMENT for
 *             bytes outside a region, for an ordered access that is not of 2, 4
 *             or 8 aligned bytes, or for a number that does not exist; then
 *             nothing was done.
 * Source:     LLVM's memory model of gfx942 (User Guide for AMDGPU Backend) for
 *             the levels.
 */
#ifndef TESSERA_CACHES_CACHES_H
#define TESSERA_CACHES_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/views/views.h"
#include "tessera/status.h"

typedef struct tsr_cache tsr_cache_t;

/** What a choice decides. */
typedef enum tsr_cache_choice {
	/* 0: performed at home at once; others, if they differ: in the cache of its level; in the
	 * store buffer, or in the queue to another node */
	TSR_CACHE_STORE,
	/* 0: fresh; 1, 2: stale copies, from the L2 and from the L1. Asked only if they differ */
	TSR_CACHE_LOAD,
	/* 0: nothing happens; others: something late arrives, or a line is cached that nobody has
	 * loaded */
	TSR_CACHE_ARRIVAL,
	TSR_CACHE_WHICH /* which late bytes arrive, or which line is cached */
} tsr_cache_choice_t;

/** Returns a number below n. n is at least 2. */
typedef int (*tsr_cache_choose_fn)(void *context, tsr_cache_choice_t kind, int n);

/**
 * Mistakes of a machine, for tests that must distinguish it from a correct one.
 */
typedef enum tsr_cache_mistake {
	TSR_CACHE_RIGHT,
	TSR_CACHE_RELEASE_WRITES_NOTHING_BACK,
	TSR_CACHE_RELEASE_OVERTAKES, /* a release overtakes the thread's buffered stores */
	TSR_CACHE_ACQUIRE_DROPS_NOTHING,
	TSR_CACHE_UPDATE_STAYS_NEAR,    /* read-modify-writes act in the L1, whatever their scope */
	TSR_CACHE_STORES_SWAP,          /* stores of one thread to the same bytes change places */
	TSR_CACHE_SEQ_CST_OVERTAKES,    /* seq_cst loads do not wait for earlier stores */
	TSR_CACHE_DEVICE_LEVEL_IS_NEAR, /* accesses at device scope act in the L1 */
	/* mistakes between nodes: a signal waits only for what was sent to the rank that it goes
	 * to */
	TSR_CACHE_FLUSHES_ONE_PEER,
	TSR_CACHE_SIGNALS_BEFORE_FLUSH, /* a signal lands, and then what was sent before it */
	TSR_CACHE_ANSWERS_EARLY,        /* an update acts before what was sent before it lands */
	TSR_CACHE_COMMANDS_SWAP         /* what one rank sends to another lands in any order */
} tsr_cache_mistake_t;

typedef struct tsr_cache_config {
	int devices;
	/* the node of each device; null: all are on one. Must outlive the machine */
	const int *node;
	/* commands of a rank to another node's that may be under way; 0: no limit */
	int queued_commands;
	/* stores of up to 64 bytes that a thread may buffer; 0: none */
	int buffered_stores;
	/* lines of 64 bytes that each cache may hold; others make room; 0: no limit */
	int lines_l1, lines_l2;
	/* tsr_cache_arrivals may cache lines that nobody has loaded; for small regions */
	bool fills;
	tsr_cache_choose_fn choose; /* null: always 0 */
	void *context;
	tsr_cache_mistake_t mistake;
} tsr_cache_config_t;

/** Creates a machine. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_cache_create(const tsr_cache_config_t *config, tsr_cache_t **cache_out);

/** Destroys a machine; late bytes are lost. Null is allowed. */
void tsr_cache_destroy(tsr_cache_t *cache);

/* ------------------------------------------------- regions, blocks, threads */

enum {
	TSR_CACHE_NOWHERE = -1, /* home of a region: no device, such as host memory */
	TSR_CACHE_SHARED = -2   /* the memory of a block: not cached */
};

enum {
	/* block of a host's thread: it acts at home, and its writes remove all cached copies */
	TSR_CACHE_HOST = -1,
	/* block of a copy engine: it acts at home, and caches do not notice */
	TSR_CACHE_ENGINE = -2
};

/**
 * Adds memory, which the caller owns and which must outlive the region. Nobody
 * else writes to it. A new region gets the lowest free number.
 * @param home  a device, TSR_CACHE_NOWHERE or TSR_CACHE_SHARED.
 */
tsr_status_t tsr_cache_add_region(tsr_cache_t *cache, int home, void *memory, size_t bytes,
				  int *region_out);

/** Removes the region, and its bytes in caches and store buffers. */
tsr_status_t tsr_cache_end_region(tsr_cache_t *cache, int region);

/**
 * Starts a block on a device, with an empty L1. It gets the lowest free number.
 */
tsr_status_t tsr_cache_add_block(tsr_cache_t *cache, int device, int *block_out);

/** Ends a block whose threads have ended. Writes its L1 back to the L2. */
tsr_status_t tsr_cache_end_block(tsr_cache_t *cache, int block);

/**
 * Adds a thread of a block, of a host or of an engine. It gets the lowest free
 * number.
 */
tsr_status_t tsr_cache_add_thread(tsr_cache_t *cache, int block, int *thread_out);

/** Ends a thread. Performs all stores in its store buffer. */
tsr_status_t tsr_cache_end_thread(tsr_cache_t *cache, int thread);

/**
 * A launch begins on a device, before its blocks: acquires at system scope. A
 * launch ends, after its blocks: releases at system scope.
 */
tsr_status_t tsr_cache_begin_launch(tsr_cache_t *cache, int device);
tsr_status_t tsr_cache_end_launch(tsr_cache_t *cache, int device);

/* ----------------------------------------------------------- plain accesses */

/** Bytes of a region. */
typedef struct tsr_cache_place {
	int region;
	size_t offset, bytes;
} tsr_cache_place_t;

/** Reads any number of bytes. Each line may be fresh or stale on its own. */
tsr_status_t tsr_cache_read(tsr_cache_t *cache, int thread, const tsr_cache_place_t *place,
			    void *to);

/**
 * Writes any number of bytes, as one store or more: late ones arrive line by
 * line. One choice for all of them.
 */
tsr_status_t tsr_cache_write(tsr_cache_t *cache, int thread, const tsr_cache_place_t *place,
			     const void *from);

/**
 * Copies as many bytes as `to` has, in ascending order, a few bytes at a time.
 * One choice for everything that is written.
 */
tsr_status_t tsr_cache_copy_bytes(tsr_cache_t *cache, int thread, const tsr_cache_place_t *to,
				  const tsr_cache_place_t *from);

/* --------------------------------------------------------- ordered accesses */

/** The effect of an ordered access. */
typedef struct tsr_cache_event {
	uint64_t value; /* the value that a load or an update read */
	bool wrote;
} tsr_cache_event_t;

/**
 * Performs a load, store, update or fence of any order. Uses `place` instead of
 * the access's `location`; a fence needs neither. The place is 4 or 8 aligned
 * bytes, a little-endian number. An update that `adds` and is late is said to
 * have read the newest value.
 */
tsr_status_t tsr_cache_act(tsr_cache_t *cache, int thread, const tsr_views_access_t *access,
			   const tsr_cache_place_t *place, tsr_cache_event_t *event_out);

/**
 * A worker arrives at a meeting of its block: performs all stores in its store
 * buffer, so that the others see them.
 */
tsr_status_t tsr_cache_meet(tsr_cache_t *cache, int thread);

/**
 * The threads of a coop have met, which the machine has as one thread: performs
 * its stores to memory of its block, where a kernel may look itself. Others may
 * still be late.
 */
tsr_status_t tsr_cache_met(tsr_cache_t *cache, int thread);

/**
 * A release of one thread and an acquire of another, both at system scope, for
 * order that the host creates.
 */
tsr_status_t tsr_cache_hand_over(tsr_cache_t *cache, int from, int to);

/* ------------------------------------------------------- spontaneous events */

/**
 * Makes one thing happen, or nothing: something late arrives one level further
 * out. Asks nothing if nothing can happen.
 */
tsr_status_t tsr_cache_arrivals(tsr_cache_t *cache);

/**
 * The number of things that may arrive next: late stores, dirty lines, queues
 * that are not empty.
 */
size_t tsr_cache_late(const tsr_cache_t *cache);

/**
 * Makes everything that is late arrive at home, and empties the caches, as
 * after a long time. Must be called before a deadlock is reported.
 */
tsr_status_t tsr_cache_settle(tsr_cache_t *cache);

/* ------------------------------------------------------------ queries */

/**
 * The value that a load of the thread would see by default, at most 8 bytes;
 * for waits. Changes nothing.
 */
tsr_status_t tsr_cache_peek(const tsr_cache_t *cache, int thread, const tsr_cache_place_t *place,
			    uint64_t *value_out);

/**
 * The newest value that anybody has stored, late or not. If two stores are
 * late, the one that is nearer to its thread.
 */
tsr_status_t tsr_cache_newest(const tsr_cache_t *cache, const tsr_cache_place_t *place,
			      uint64_t *value_out);

/** The bytes that the machine has allocated. */
size_t tsr_cache_size_bytes(const tsr_cache_t *cache);

/**
 * A second machine in the same state. `memory` has, for each region's number,
 * memory with the same content.
 */
tsr_status_t tsr_cache_copy(const tsr_cache_t *cache, void *const *memory, tsr_cache_t **copy_out);

/**
 * Adds the whole state except homes to a digest: equal states change it
 * equally. Only for machines whose caches have no limit.
 */
void tsr_cache_digest(const tsr_cache_t *cache, uint64_t digest[2]);

#endif

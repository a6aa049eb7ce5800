/*
 * The state of a cache machine, and the functions that its files share. Only
 * they use this header.
 */
#ifndef TESSERA_CACHES_CACHE_MACHINE_H
#define TESSERA_CACHES_CACHE_MACHINE_H

#include "src/caches/cache_lines.h"
#include "src/caches/caches.h"

/** The level at which an access acts, from near to far. */
typedef enum tsr_level { TSR_LEVEL_BLOCK, TSR_LEVEL_DEVICE, TSR_LEVEL_HOME } tsr_level_t;

typedef struct tsr_cache_region {
	bool live;
	int home;
	uint8_t *memory;
	size_t bytes;
} tsr_cache_region_t;

typedef struct tsr_cache_block {
	bool live;
	int device, threads;
	tsr_lines_t l1;
} tsr_cache_block_t;

/**
 * A store in its thread's store buffer, or the part of it that is in one line.
 */
typedef struct tsr_buffered_store {
	uint64_t key;
	tsr_line_mask_t mask;
	tsr_level_t level;
	uint8_t bytes[TSR_LINE_BYTES];
} tsr_buffered_store_t;

typedef struct tsr_cache_thread {
	bool live;
	int block;
	tsr_buffered_store_t *buffer; /* in program order */
	int count, room;
} tsr_cache_thread_t;

/** What a rank has sent to memory on another node: a store, or a number that is added there. */
typedef struct tsr_far_command {
	uint64_t key;
	tsr_line_mask_t mask;
	bool adds;
	uint8_t bytes[TSR_LINE_BYTES];
} tsr_far_command_t;

/** The commands of one rank to one other that have not landed. */
typedef struct tsr_far_queue {
	tsr_far_command_t *command; /* from `first` on, in the order in which they were sent */
	int first, count, room;
} tsr_far_queue_t;

struct tsr_cache {
	tsr_cache_config_t config;
	tsr_lines_t *l2;      /* [device] */
	tsr_far_queue_t *far; /* [device that sends][device whose memory it is]; null: one node */
	tsr_cache_region_t *region;
	tsr_cache_block_t *block;
	tsr_cache_thread_t *thread;
	int regions, blocks, threads; /* numbers in use, including those that are free again */
	bool exhausted; /* an allocation failed, so the machine's state is incomplete */
};

/** The way of one thread to a line. */
typedef struct tsr_path {
	tsr_cache_t *c;
	int device; /* -1: no device */
	uint64_t key;
	tsr_lines_t *l1, *l2; /* null: no such cache on the way */
	/* beginning of the line at home; its last bytes may be outside the region */
	uint8_t *home;
	tsr_line_mask_t within; /* bytes of the line that belong to the region */
} tsr_path_t;

static inline uint64_t tsr_cache_key(int region, size_t line)
{
	return (uint64_t)region << 40 | line;
}

/** Offset of a line in its region. */
static inline size_t tsr_cache_first_byte(uint64_t key)
{
	return (size_t)(key & ((UINT64_C(1) << 40) - 1)) * TSR_LINE_BYTES;
}

static inline tsr_cache_region_t *tsr_cache_region_of(const tsr_cache_t *c, uint64_t key)
{
	return &c->region[key >> 40];
}

static inline int tsr_cache_choose(const tsr_cache_t *c, tsr_cache_choice_t kind, size_t n)
{
	return n < 2 || !c->config.choose ? 0 : c->config.choose(c->config.context, kind, (int)n);
}

/* -------------------------------------- between the levels (cache_levels.c) */

/** The path of a block, the host or an engine to the line. */
tsr_path_t tsr_cache_path(tsr_cache_t *c, int block, uint64_t key);

/** The path of a device's L2 to the line. */
tsr_path_t tsr_cache_path_of_device(tsr_cache_t *c, int device, uint64_t key);

/**
 * Loads some bytes as an access of that level sees them; may choose stale
 * copies. Other bytes of `out` are undefined.
 */
void tsr_cache_load_line(const tsr_path_t *path, tsr_level_t level, tsr_line_mask_t mask,
			 uint8_t out[TSR_LINE_BYTES]);

/** The same with the default choice. Changes nothing. */
void tsr_cache_peek_line(const tsr_path_t *path, uint8_t out[TSR_LINE_BYTES]);

void tsr_cache_store_line(const tsr_path_t *path, tsr_level_t level, tsr_line_mask_t mask,
			  const uint8_t *bytes);

/** Write the dirty bytes of the line one level further out. */
void tsr_cache_write_back_l1(const tsr_path_t *path);
void tsr_cache_write_back_l2(const tsr_path_t *path);

/** Fills missing bytes of the line into the caches on the path. */
void tsr_cache_fill(const tsr_path_t *path);

/**
 * `block` is a block's number, or TSR_CACHE_HOST or TSR_CACHE_ENGINE, for which
 * nothing needs to be written back.
 */
void tsr_cache_release(tsr_cache_t *c, int block, tsr_level_t level);
void tsr_cache_acquire(tsr_cache_t *c, int block, tsr_level_t level);
void tsr_cache_write_back_block(tsr_cache_t *c, int block);
void tsr_cache_write_back_device(tsr_cache_t *c, int device);

/** Removes all cached copies of these bytes. */
void tsr_cache_drop_copies(tsr_cache_t *c, uint64_t key, tsr_line_mask_t mask);

/* ---------------------------------------- store buffers (store_buffer.c) */

/**
 * Appends a store to the thread's buffer; if the buffer is full, performs the
 * oldest store.
 */
void tsr_cache_buffer_store(tsr_cache_t *c, int thread, const tsr_buffered_store_t *store);

/**
 * Perform the stores that overlap these bytes, or all of them, oldest first.
 */
void tsr_cache_drain_bytes(tsr_cache_t *c, int thread, uint64_t key, tsr_line_mask_t mask);
void tsr_cache_drain(tsr_cache_t *c, int thread);

/** Performs the stores to memory of the thread's block, which is not cached. */
void tsr_cache_drain_shared(tsr_cache_t *c, int thread);

/** Performs one store, after those that it must not overtake. */
void tsr_cache_drain_one(tsr_cache_t *c, int thread, int index);

/**
 * Applies the thread's own buffered stores to bytes that it has loaded. Returns
 * the bytes that they cover.
 */
tsr_line_mask_t tsr_cache_forward(const tsr_cache_t *c, int thread, uint64_t key,
				  uint8_t bytes[TSR_LINE_BYTES]);

/* ---------------------------------------- other nodes (far_queues.c) */

/**
 * The queue to a region whose memory is on another node than the device; null
 * where it is near. Hosts and engines (device -1) have no queues.
 */
tsr_far_queue_t *tsr_cache_queue(const tsr_cache_t *c, int device, int region);

/** The device of a thread; -1: a host's or an engine's. */
static inline int tsr_cache_device(const tsr_cache_t *c, int thread)
{
	const int block = c->thread[thread].block;

	return block < 0 ? -1 : c->block[block].device;
}

/** Sends a command; if the queue is full, the oldest one lands. */
void tsr_cache_send(tsr_cache_t *c, tsr_far_queue_t *queue, const tsr_far_command_t *command);

/** Lands the first command, or all of them. Null is allowed. */
void tsr_cache_land_first(tsr_cache_t *c, tsr_far_queue_t *queue);
void tsr_cache_land(tsr_cache_t *c, tsr_far_queue_t *queue);

/** Lands what the device has sent, but what is in the queue `but`, which may be null. */
void tsr_cache_flush(tsr_cache_t *c, int device, const tsr_far_queue_t *but);

/** How many commands may land next, of all queues; the `which`-th of them does. */
size_t tsr_cache_landings(const tsr_cache_t *c);
void tsr_cache_land_one(tsr_cache_t *c, size_t which);

/** Applies to the bytes of a line what is in a queue, which may be null; or in all of them. */
void tsr_cache_apply_queue(const tsr_far_queue_t *queue, uint64_t key,
			   uint8_t bytes[TSR_LINE_BYTES]);
void tsr_cache_apply_queues(const tsr_cache_t *c, uint64_t key, uint8_t bytes[TSR_LINE_BYTES]);

/** Forgets the commands to a region. */
void tsr_cache_forget_commands(tsr_cache_t *c, int region);

/** The number of queues: 0 on one node. */
static inline int tsr_cache_queues(const tsr_cache_t *c)
{
	return c->far ? c->config.devices * c->config.devices : 0;
}

/** An empty copy gets the queues of a machine. False: no memory. */
bool tsr_cache_copy_queues(const tsr_cache_t *c, tsr_cache_t *copy);
void tsr_cache_free_queues(tsr_cache_t *c);

/* ---------------------------------------- errors (caches.c) */

/** TSR_OK, or the error of a failed allocation. */
tsr_status_t tsr_cache_status(const tsr_cache_t *c);

/** Checks that the thread and the place exist. */
tsr_status_t tsr_cache_check(const tsr_cache_t *c, int thread, const tsr_cache_place_t *place);

#endif

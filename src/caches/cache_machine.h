/*
 * The state of a cache machine, and what its files do for each other. Known to
 * the files of the cache machine only.
 */
#ifndef TESSERA_CACHES_CACHE_MACHINE_H
#define TESSERA_CACHES_CACHE_MACHINE_H

#include "src/caches/cache_lines.h"
#include "src/caches/caches.h"

/** How far out an access acts. */
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

/** A store, or the part of one that lies in a line, in its thread's store buffer. */
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

struct tsr_cache {
	tsr_cache_config_t config;
	tsr_lines_t *l2; /* [device] */
	tsr_cache_region_t *region;
	tsr_cache_block_t *block;
	tsr_cache_thread_t *thread;
	int regions, blocks, threads; /* numbers in use, or free again */
	bool exhausted;               /* an allocation failed: what it was for is missing */
};

/** A line as a thread gets at it. */
typedef struct tsr_path {
	tsr_cache_t *c;
	int device; /* -1: none */
	uint64_t key;
	tsr_lines_t *l1, *l2; /* null: there is none between */
	/* where the line begins; may lie before the region's end by less than a line */
	uint8_t *home;
	tsr_line_mask_t within; /* those of its bytes that the region has */
} tsr_path_t;

static inline uint64_t tsr_cache_key(int region, size_t line)
{
	return (uint64_t)region << 40 | line;
}

/** Where in its region a line begins. */
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

/* ---------------------------------------------------------- between the levels (cache_levels.c) */

/** The line of that key, as a block, the host or an engine gets at it. */
tsr_path_t tsr_cache_path(tsr_cache_t *c, int block, uint64_t key);

/** As a device's L2 gets at it. */
tsr_path_t tsr_cache_path_of_device(tsr_cache_t *c, int device, uint64_t key);

/**
 * What an access of that level sees of some bytes; asks for old copies. Other
 * bytes of `out` are undefined.
 */
void tsr_cache_load_line(const tsr_path_t *path, tsr_level_t level, tsr_line_mask_t mask,
			 uint8_t out[TSR_LINE_BYTES]);

/** What it would see by default. Changes nothing. */
void tsr_cache_peek_line(const tsr_path_t *path, uint8_t out[TSR_LINE_BYTES]);

void tsr_cache_store_line(const tsr_path_t *path, tsr_level_t level, tsr_line_mask_t mask,
			  const uint8_t *bytes);

/** What is dirty of the line goes one step further out. */
void tsr_cache_write_back_l1(const tsr_path_t *path);
void tsr_cache_write_back_l2(const tsr_path_t *path);

/** The caches on the path get what they lack of the line. */
void tsr_cache_fill(const tsr_path_t *path);

/**
 * Block is a block's number, or TSR_CACHE_HOST or TSR_CACHE_ENGINE, of which
 * nothing needs to be written back.
 */
void tsr_cache_release(tsr_cache_t *c, int block, tsr_level_t level);
void tsr_cache_acquire(tsr_cache_t *c, int block, tsr_level_t level);
void tsr_cache_write_back_block(tsr_cache_t *c, int block);
void tsr_cache_write_back_device(tsr_cache_t *c, int device);

/** Nobody has a copy of these bytes any more. */
void tsr_cache_drop_copies(tsr_cache_t *c, uint64_t key, tsr_line_mask_t mask);

/* -------------------------------------------------- stores that threads buffer (store_buffer.c) */

/** At the end of those that the thread keeps; where there are too many the oldest is stored. */
void tsr_cache_buffer_store(tsr_cache_t *c, int thread, const tsr_buffered_store_t *store);

/** Stores those that overlap such bytes, or all, oldest first. */
void tsr_cache_drain_bytes(tsr_cache_t *c, int thread, uint64_t key, tsr_line_mask_t mask);
void tsr_cache_drain(tsr_cache_t *c, int thread);

/** Stores one, and before it those that it may not overtake. */
void tsr_cache_drain_one(tsr_cache_t *c, int thread, int index);

/** The thread's own stores over what it has loaded. Returns the bytes that they cover. */
tsr_line_mask_t tsr_cache_forward(const tsr_cache_t *c, int thread, uint64_t key,
				  uint8_t bytes[TSR_LINE_BYTES]);

/* ------------------------------------------------------------------ errors (caches.c) */

/** TSR_OK, or what became of an allocation. */
tsr_status_t tsr_cache_status(const tsr_cache_t *c);

/** Whether a thread, and a place, are such. */
tsr_status_t tsr_cache_check(const tsr_cache_t *c, int thread, const tsr_cache_place_t *place);

#endif

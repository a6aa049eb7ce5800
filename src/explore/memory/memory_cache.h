/*
 * The cache machine as an exploration's memory: declarations that its two files
 * share.
 */
#ifndef TESSERA_EXPLORE_MEMORY_MEMORY_CACHE_H
#define TESSERA_EXPLORE_MEMORY_MEMORY_CACHE_H

#include "src/caches/caches.h"
#include "src/explore/exploration_state.h"

/** A running block. */
typedef struct tsr_cached_block {
	int rank, launch, block;
	int number, threads; /* in the machine; 0 threads: the entry is free */
} tsr_cached_block_t;

struct tsr_cached {
	tsr_cache_t *machine;
	int *node; /* of each rank, where there are several; else null */
	tsr_cached_block_t *block;
	int block_count, block_room;
	bool arrives; /* something late must arrive; the only choice is what */
	bool fresh;   /* a wait has ended; its load must see no older value */
	unsigned char *stage;
	size_t stage_room;
};
typedef struct tsr_cached tsr_cached_t;

/**
 * Begin and end fibres, with their blocks and launches (memory_cache_blocks.c).
 */
tsr_status_t tsr_cached_begin(tsr_exploration_t *x, const tsr_task_who_t *who, tsr_actor_t *actor);
tsr_status_t tsr_cached_end(tsr_exploration_t *x, const tsr_task_who_t *who, tsr_actor_t *actor);

#endif

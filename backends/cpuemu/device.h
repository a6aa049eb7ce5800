/* The inside of the emulated device, shared by the files of its host half. */
#ifndef TESSERA_CPUEMU_DEVICE_H
#define TESSERA_CPUEMU_DEVICE_H

#include <pthread.h>

#include "cpuemu/block.h"
#include "src/explore/exploration.h"

/*
 * One lock for each device guards streams, events, the admission of blocks, the
 * pool and the record. Kernels take it only at their end, so it is on no path
 * that is measured.
 */

/** The first failure of a stream's kernels since the last query. */
typedef struct tsr_cpu_failure {
	tsr_status_t status;
	char sentence[640];
} tsr_cpu_failure_t;

/** One launch of a kernel, from the call to the end of its last block. */
typedef struct tsr_cpu_launch {
	tsr_device_stream_t *stream;
	const tsr_kernel_t *kernel;
	struct tsr_cpu_unit *unit;
	/* the place of the host's call; "": unknown */
	const char *file;
	int line;
	tsr_device_gate_t gate;
	int blocks, begun, ended;
	int slots;
	/* as many as can be resident; each block takes a free one */
	tsr_cpu_block_t *slot;
	tsr_cpu_block_t *free_slots; /* list */
	/* explored: what it is ordered after, and what its blocks have done */
	tsr_edge_t *begin, *end;
	int order; /* explored: number of earlier launches of this rank */
	/* blocks x workers entries, owned by the record; null without a record */
	tsr_record_entry_t *entries;
	struct tsr_cpu_events *events; /* as many, where each worker's are kept */
	_Alignas(max_align_t) unsigned char args[];
} tsr_cpu_launch_t;

/**
 * A unit of admission: a launch, or a group of launches whose blocks must be
 * resident together.
 */
typedef struct tsr_cpu_unit {
	struct tsr_cpu_unit *next; /* in the device's queue */
	bool together;
	bool engine; /* one copy of the copy engine, which needs no place of a block */
	int blocks;  /* of all its launches together */
	int waiting; /* launches that are not at the head of their stream yet */
	int living;  /* launches that have not ended */
	int count;
	tsr_cpu_launch_t *launch[];
} tsr_cpu_unit_t;

typedef enum tsr_cpu_item_kind {
	TSR_CPU_ITEM_LAUNCH,
	TSR_CPU_ITEM_MARK,
	TSR_CPU_ITEM_WAIT
} tsr_cpu_item_kind_t;

/** An item in a stream's queue. */
typedef struct tsr_cpu_item {
	struct tsr_cpu_item *next;
	tsr_cpu_item_kind_t kind;
	bool submitted; /* launch: its unit knows that it is at the head */
	tsr_cpu_launch_t *launch;
	tsr_device_event_t *event; /* mark, wait */
	uint64_t mark;             /* number of the event's recording */
	tsr_edge_t *after;         /* explored: what the host had done when it queued the item */
} tsr_cpu_item_t;

struct tsr_device_stream {
	tsr_device_t *device;
	const tsr_device_team_t *team;
	struct tsr_device_stream *next;
	int index;
	tsr_cpu_item_t *head, **tail;
	uint64_t given, done; /* number of items */
	int threads;          /* largest number of threads that one of its launches uses */
	bool copies;          /* it has had a copy, so it has a thread for the copy engine */
	tsr_cpu_failure_t failure;
	tsr_edge_t *order; /* explored: what has been done on the stream */
};

struct tsr_device_event {
	tsr_device_t *device;
	int users;                  /* the host, and items that use it */
	uint64_t recorded, reached; /* numbers of marks */
	uint64_t stamp_ns;          /* time at which the last reached mark was reached */
	tsr_cpu_failure_t failure;  /* failure of the stream when the mark was reached */
	tsr_edge_t *order;          /* explored: what had been done on the streams by then */
};

/** The record of one launch: an entry, and a list of events, for each worker of each block. */
typedef struct tsr_cpu_recorded {
	tsr_record_entry_t *entries;
	struct tsr_cpu_events *events;
	int count;
} tsr_cpu_recorded_t;

/** A thread of the pool. */
typedef struct tsr_cpu_thread {
	struct tsr_cpu_thread *next;
	tsr_device_t *device;
	pthread_t id;
	tsr_cpu_worker_t worker;
} tsr_cpu_thread_t;

struct tsr_device {
	tsr_cpu_env_t env;
	tsr_device_props_t props;

	/* The heap: heap.c. */
	/* mappings to be unmapped; null for heaps of this process other than mine */
	void *mapped[TSR_MAX_RANKS];
	size_t mapped_bytes;

	pthread_mutex_t lock;
	pthread_cond_t work;    /* a block has workers to begin, or the pool ends */
	pthread_cond_t changed; /* a stream has made progress */

	tsr_device_stream_t *streams;
	int streams_created;
	tsr_cpu_unit_t *queue, **queue_tail;  /* units that wait for room, in order */
	int resident;                         /* resident blocks */
	tsr_cpu_block_t *ready, **ready_tail; /* blocks with workers to begin */

	tsr_cpu_thread_t *threads;
	int thread_count;
	bool closing;

	int launches; /* explored: launches so far */
	bool recording;
	tsr_cpu_recorded_t *recorded;
	int recorded_count;
};

/*
 * Call everything below with the lock held, unless the comment says otherwise.
 */

/** Advances every stream as far as possible, then admits blocks. */
void tsr_cpu_advance(tsr_device_t *device);

/** Appends an item to the stream's queue. */
void tsr_cpu_stream_push(tsr_device_stream_t *stream, tsr_cpu_item_t *item);

/**
 * A block has ended: frees its slot, and ends the launch with its last block.
 */
void tsr_cpu_block_ended(tsr_cpu_block_t *block);

/** Releases a launch that has ended, or that was never queued. */
void tsr_cpu_launch_release(tsr_cpu_launch_t *launch);

/**
 * Makes the pool as large as all streams may need at the same time. Errors:
 * TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_cpu_pool_grow(tsr_device_t *device);

/**
 * Runs one worker of one block on the calling thread or fibre. Does nothing if
 * the world has ended.
 */
void tsr_cpu_run_worker(tsr_cpu_worker_t *worker, tsr_cpu_block_t *block, int index);

/** Without the lock: ends and joins the pool's threads, which are idle. */
void tsr_cpu_pool_close(tsr_device_t *device);

void tsr_cpu_event_reached(tsr_device_event_t *event, uint64_t mark,
			   const tsr_cpu_failure_t *failure);
void tsr_cpu_event_unuse(tsr_device_event_t *event);

/** Allocates a launch's entries if a record is kept. */
tsr_status_t tsr_cpu_record_launch(tsr_device_t *device, tsr_cpu_launch_t *launch);
void tsr_cpu_record_drop(tsr_device_t *device);

/**
 * Turns a failure into the call's status: the failure's own, or that the world
 * has ended. Without the lock.
 */
tsr_status_t tsr_cpu_failure_status(const tsr_device_t *device, const tsr_cpu_failure_t *failure);

/* ------------------------------------------------- with fibres (explored.c) */

static inline tsr_exploration_t *tsr_cpu_explored(const tsr_device_t *device)
{
	return device->env.host->exploration;
}

/** Begins all workers of a block as fibres. */
void tsr_cpu_explore_block(tsr_device_t *device, tsr_cpu_block_t *block);

/**
 * Registers a function with which the exploration asks the device for blocks
 * that wait for room.
 */
void tsr_cpu_explore_open(tsr_device_t *device);

/**
 * Maintain the edges of items that streams queue, reach and pass. Do nothing
 * without an exploration.
 */
void tsr_cpu_explore_queued(tsr_device_stream_t *stream, tsr_cpu_item_t *item);
void tsr_cpu_explore_passed(tsr_device_stream_t *stream, tsr_cpu_item_t *item);
void tsr_cpu_explore_begins(tsr_device_stream_t *stream, tsr_cpu_item_t *item);
void tsr_cpu_explore_launch_ended(tsr_cpu_launch_t *launch);

/**
 * Runs other fibres until the stream has finished `all` items, or the event's
 * mark is reached. Without the lock.
 */
void tsr_cpu_explore_sync_stream(tsr_device_stream_t *stream, uint64_t all);
void tsr_cpu_explore_sync_event(tsr_device_event_t *event, uint64_t mark);

extern const tsr_heap_ops_t tsr_cpu_heap_ops;
extern const tsr_window_ops_t tsr_cpu_window_ops;
extern const tsr_team_ops_t tsr_cpu_team_ops;
extern const tsr_stream_ops_t tsr_cpu_stream_ops;
extern const tsr_event_ops_t tsr_cpu_event_ops;
extern const tsr_record_ops_t tsr_cpu_record_ops;

#endif

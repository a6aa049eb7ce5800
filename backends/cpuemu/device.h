/* The inside of the emulated device: the host half's parts share it. */
#ifndef TESSERA_CPUEMU_DEVICE_H
#define TESSERA_CPUEMU_DEVICE_H

#include <pthread.h>

#include "cpuemu/block.h"
#include "src/explore/exploration.h"

/*
 * One lock a device guards streams, events, the admission of blocks, the pool
 * and the record. Kernels never take it, but for their end: it is not on any
 * path that is measured.
 */

enum { TSR_CPU_POISON = 0xa5 }; /* what undefined shared memory holds: no flag, no sensible float */

/** The first failure of a stream's kernels since somebody asked. */
typedef struct tsr_cpu_failure {
	tsr_status_t status;
	char sentence[640];
} tsr_cpu_failure_t;

/** One launch of a kernel, from the call to the end of its last block. */
typedef struct tsr_cpu_launch {
	tsr_device_stream_t *stream;
	const tsr_kernel_t *kernel;
	struct tsr_cpu_unit *unit;
	int blocks, begun, ended;
	int slots;
	/* as many as can be resident; a block takes one that is free */
	tsr_cpu_block_t *slot;
	tsr_cpu_block_t *free_slots; /* list */
	/* explored: what it comes after, and what its blocks have done */
	tsr_edge_t *begin, *end;
	int order; /* explored: launches of this rank before it */
	/* blocks x workers, owned by the record; null where none is kept */
	tsr_record_entry_t *entries;
	_Alignas(max_align_t) unsigned char args[];
} tsr_cpu_launch_t;

/** What is admitted as one: a launch, or a group of launches whose blocks are resident together. */
typedef struct tsr_cpu_unit {
	struct tsr_cpu_unit *next; /* in the device's queue */
	bool together;
	bool engine; /* one copy of the copy engine's: takes no place of a block's */
	int blocks;  /* of all its launches */
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

/** What a stream queues. */
typedef struct tsr_cpu_item {
	struct tsr_cpu_item *next;
	tsr_cpu_item_kind_t kind;
	bool submitted; /* launch: its unit knows that it is at the head */
	tsr_cpu_launch_t *launch;
	tsr_device_event_t *event; /* mark, wait */
	uint64_t mark;             /* which recording of the event */
	tsr_edge_t *after;         /* explored: what the host had done when it queued the item */
} tsr_cpu_item_t;

struct tsr_device_stream {
	tsr_device_t *device;
	const tsr_device_team_t *team;
	struct tsr_device_stream *next;
	int index;
	tsr_cpu_item_t *head, **tail;
	uint64_t given, done; /* items */
	int threads;          /* the most that one of its launches runs on */
	bool copies;          /* it has had a copy: the copy engine's thread for it */
	tsr_cpu_failure_t failure;
	tsr_edge_t *order; /* explored: what has been done on the stream */
};

struct tsr_device_event {
	tsr_device_t *device;
	int users;                  /* the host, and items that name it */
	uint64_t recorded, reached; /* marks */
	uint64_t stamp_ns;          /* of the last mark that was reached */
	tsr_cpu_failure_t failure;  /* of the stream when the mark was reached */
	tsr_edge_t *order;          /* explored: what had been done on the streams by then */
};

/** The record of one launch. */
typedef struct tsr_cpu_recorded {
	tsr_record_entry_t *entries;
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
	/* what is to be unmapped; null for heaps of this process but my own */
	void *mapped[TSR_MAX_RANKS];
	size_t mapped_bytes;

	pthread_mutex_t lock;
	pthread_cond_t work;    /* a block has workers to begin, or the pool ends */
	pthread_cond_t changed; /* a stream has gone on */

	tsr_device_stream_t *streams;
	int streams_created;
	tsr_cpu_unit_t *queue, **queue_tail;  /* units that wait for room, in order */
	int resident;                         /* blocks */
	tsr_cpu_block_t *ready, **ready_tail; /* blocks with workers to begin */

	tsr_cpu_thread_t *threads;
	int thread_count;
	bool closing;

	int launches; /* explored: so far */
	bool recording;
	tsr_cpu_recorded_t *recorded;
	int recorded_count;
};

/* All below with the lock held, where not said otherwise. */

/** Moves every stream as far as it goes, then admits blocks. */
void tsr_cpu_advance(tsr_device_t *device);

/** Puts an item behind the stream's work. */
void tsr_cpu_stream_push(tsr_device_stream_t *stream, tsr_cpu_item_t *item);

/** A block has ended: makes its slot free and ends the launch with its last block. */
void tsr_cpu_block_ended(tsr_cpu_block_t *block);

/** Releases a launch that has ended, or was never queued. */
void tsr_cpu_launch_release(tsr_cpu_launch_t *launch);

/**
 * Makes the pool as large as all streams may need at one time. Errors:
 * TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_cpu_pool_grow(tsr_device_t *device);

/**
 * Runs one worker of one block on the calling thread or fibre. A world that has
 * ended runs nothing more.
 */
void tsr_cpu_run_worker(tsr_cpu_worker_t *worker, tsr_cpu_block_t *block, int index);

/** Without the lock: ends and joins the pool's threads, which have nothing to do. */
void tsr_cpu_pool_close(tsr_device_t *device);

void tsr_cpu_event_reached(tsr_device_event_t *event, uint64_t mark,
			   const tsr_cpu_failure_t *failure);
void tsr_cpu_event_unuse(tsr_device_event_t *event);

/** Makes room for a launch's entries where a record is kept. */
tsr_status_t tsr_cpu_record_launch(tsr_device_t *device, tsr_cpu_launch_t *launch);
void tsr_cpu_record_drop(tsr_device_t *device);

/**
 * Turns a failure that was taken into the call's status: the failure's own, or
 * that the world has ended. Without the lock.
 */
tsr_status_t tsr_cpu_failure_status(const tsr_device_t *device, const tsr_cpu_failure_t *failure);

/* ------------------------------------------------------------- explored.c: the same with fibres */

static inline tsr_exploration_t *tsr_cpu_explored(const tsr_device_t *device)
{
	return device->env.host->exploration;
}

/** Begins all workers of a block as fibres. */
void tsr_cpu_explore_block(tsr_device_t *device, tsr_cpu_block_t *block);

/** Tells the exploration how to ask the device which blocks wait for room. */
void tsr_cpu_explore_open(tsr_device_t *device);

/** The edges of what streams queue, reach and pass. Nothing where nothing is explored. */
void tsr_cpu_explore_queued(tsr_device_stream_t *stream, tsr_cpu_item_t *item);
void tsr_cpu_explore_passed(tsr_device_stream_t *stream, tsr_cpu_item_t *item);
void tsr_cpu_explore_begins(tsr_device_stream_t *stream, tsr_cpu_item_t *item);
void tsr_cpu_explore_launch_ended(tsr_cpu_launch_t *launch);

/**
 * Others run until the stream has done `all` items, or the event's mark is
 * reached. Without the lock.
 */
void tsr_cpu_explore_sync_stream(tsr_device_stream_t *stream, uint64_t all);
void tsr_cpu_explore_sync_event(tsr_device_event_t *event, uint64_t mark);

extern const tsr_heap_ops_t tsr_cpu_heap_ops;
extern const tsr_team_ops_t tsr_cpu_team_ops;
extern const tsr_stream_ops_t tsr_cpu_stream_ops;
extern const tsr_event_ops_t tsr_cpu_event_ops;
extern const tsr_record_ops_t tsr_cpu_record_ops;

#endif

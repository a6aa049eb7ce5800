/*
 * The inside of a world: shared by the files of src/ that implement the host
 * API.
 */
#ifndef TESSERA_WORLD_WORLD_H
#define TESSERA_WORLD_WORLD_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend.h"
#include "src/base/settings/options.h"
#include "src/bootstrap/bootstrap.h"
#include "tessera/world.h"

struct tsr_allocator; /* src/heap/allocator.h */

struct tsr_world {
	tsr_boot_t *boot;
	tsr_options_t options;
	tsr_log_t *log; /* null: quiet; this rank's; tsr_log finds it by the thread */
	const tsr_backend_t *backend;
	tsr_host_t host; /* the backend keeps a pointer to it */
	tsr_device_t *device;
	int rank, size;
	bool is_of_main; /* made by TSR_MAIN, which also ends it */
	int node_count;
	int nodes[TSR_MAX_RANKS]; /* nodes[r]: the node of rank r */

	struct tsr_team *team;  /* the team of all ranks; null until the heaps are mapped */
	struct tsr_team *teams; /* list of the other teams; guarded by streams_lock */

	void *heap_bases[TSR_MAX_RANKS];
	size_t heap_bytes;
	bool heap_made; /* the backend's heap exists and must be unmapped */
	struct tsr_allocator *allocator;
	/* addresses behind every rank's heap that windows are mapped to, as offsets from the heap's
	 * base; equal, with a null allocator: windows take room in the heap */
	size_t window_begin, window_end;
	struct tsr_allocator *window_allocator;
	struct tsr_window *windows;              /* list; guarded by allocator_lock */
	struct tsr_window_memory *window_memory; /* what tsr_window_alloc gave; the same */
	/* needed because the backend looks up allocations from its own threads */
	pthread_mutex_t allocator_lock;

	pthread_mutex_t streams_lock;
	struct tsr_stream *streams; /* list of the live streams, for tsr_barrier and tsr_finalize */
	int streams_created;
	uint64_t teams_made;

	pthread_mutex_t order_lock;       /* for what is below, and the clocks of streams */
	struct tsr_clock *host_clock;     /* what the host has waited for; null: nothing yet */
	struct tsr_state_use *state_uses; /* list: states of collectives that have been used */
	bool compares;                    /* collectives on streams, with the other ranks */
	/* a kernel has been launched; kept if tessera check asks when that was */
	_Atomic bool launched;
};

/**
 * tsr_init for a membership that exists already; tsr_main uses it for ranks
 * that are threads.
 */
tsr_status_t tsr_world_open(tsr_boot_t *boot, const tsr_options_t *options,
			    tsr_world_t **world_out);

/** Joins `job`, of which this process is a rank, and opens its world. */
tsr_status_t tsr_world_join(const tsr_job_t *job, const tsr_options_t *options,
			    tsr_world_t **world_out);

/**
 * The collective of src/bootstrap; on failure with the sentence that ended this
 * world.
 */
tsr_status_t tsr_world_exchange(tsr_world_t *world, const char *call, const char *arguments,
				const void *mine, void *all, size_t size_bytes);

#endif

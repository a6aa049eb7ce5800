/*
 * The plug-in contract: what a backend gives to the library, and what the
 * library gives to a backend.
 */
#ifndef TESSERA_BACKEND_H
#define TESSERA_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/kernel.h"
#include "tessera/record.h"
#include "tessera/status.h"
#include "tessera/stream.h"
#include "tessera/types.h"
#include "tessera/world.h"

#define TSR_BACKEND_ABI 2u

/* ---------------------------------------------------------- what the library gives to a backend */

/**
 * Words that all ranks of the world share, on host memory that every process
 * maps. Zero at first. They sleep and wake each other here; nothing else of the
 * library's state is visible to a backend.
 */
typedef struct tsr_shared_words {
	_Atomic uint32_t aborted; /* not 0: the world has ended; waits return at once */
	struct {
		/* futex: raised after a flag of this rank may have changed */
		_Alignas(64) _Atomic uint32_t bell;
		/* waiters of this rank that sleep on the bell */
		_Atomic uint32_t sleepers;
	} rank[TSR_MAX_RANKS];
} tsr_shared_words_t;

/**
 * What a device is opened with. Lives until the device is closed. All functions
 * may be called by any thread.
 */
typedef struct tsr_host {
	void *ctx; /* first argument of the functions below */
	int rank, size;
	/* equal on ranks that are threads of one process, different on all others, whatever
	 * getpid() says */
	uint64_t process;
	uint64_t deadline_ns;
	tsr_shared_words_t *words;
	/* null, or whose fibres the ranks are: src/base/executor.h */
	struct tsr_exploration *exploration;

	/**
	 * Ends the world with a status and one sentence. The first one wins; `words->aborted`
	 * becomes not 0.
	 */
	void (*abort_world)(void *ctx, tsr_status_t status, const char *sentence);
	/**
	 * Keeps a wait record. The backend fills all but allocation and offset, which come from
	 * `flag` (null: as filled).
	 */
	void (*keep_wait_record)(void *ctx, tsr_wait_record_t *record, const void *flag);
	/**
	 * A rank that has ended without leaving, or -1. Costs a system call: for waits that have
	 * waited long already.
	 */
	int (*lost_rank)(void *ctx);
	/**
	 * Finds the allocation of this rank's heap that holds `offset` bytes of the heap's base.
	 * False: none.
	 */
	bool (*find_allocation)(void *ctx, size_t heap_offset, char name_out[32],
				size_t *offset_out);
} tsr_host_t;

/** A team: the ranks that the kernels of its streams see, in their order. */
typedef struct tsr_host_team {
	int rank, size;   /* mine in it; the number of members */
	const int *ranks; /* ranks[i]: of member i in the world */
	const char *name; /* for reports; "": the world */
} tsr_host_team_t;

/* ---------------------------------------------------------- what a backend gives to the library */

typedef struct tsr_device tsr_device_t; /* each backend's own */
typedef struct tsr_device_team tsr_device_team_t;
typedef struct tsr_device_stream tsr_device_stream_t;
typedef struct tsr_device_event tsr_device_event_t;

/**
 * A heap as it is exported to the peers: travels with SCM_RIGHTS. `fd` is -1
 * where the bytes suffice.
 */
typedef struct tsr_heap_export {
	int fd;
	/* tsr_host_t.process of the exporter: an export of one's own process is used at its own
	 * address */
	uint64_t process;
	uint64_t address; /* of the heap in the exporter */
	uint64_t size_bytes;
	unsigned char bytes[64]; /* the vendor's handle */
} tsr_heap_export_t;

/**
 * Every table begins with its size in bytes, so that later slots can be told
 * from missing ones. Slots are null only where it says so.
 */
typedef struct tsr_device_ops {
	size_t size;
	/**
	 * Devices present. TSR_ERR_NO_DEVICE with a sentence where there is none. Must not fail
	 * hard where the vendor's runtime is absent.
	 */
	tsr_status_t (*probe)(int *count_out);
	/** Opens the device of rank host->rank. Keeps `host`. */
	tsr_status_t (*open)(const tsr_host_t *host, tsr_device_t **device_out);
	/** Closes it; waits for nothing: the library has synchronised. */
	void (*close)(tsr_device_t *device);
	tsr_status_t (*properties)(tsr_device_t *device, tsr_device_props_t *props_out);
} tsr_device_ops_t;

typedef struct tsr_heap_ops {
	size_t size;
	/** Makes this rank's heap. The export's fd, if any, is the caller's to close. */
	tsr_status_t (*create)(tsr_device_t *device, size_t size_bytes,
			       tsr_heap_export_t *export_out);
	/**
	 * Maps all ranks' heaps (mine too) and checks each mapping; bases_out[r] is rank r's heap
	 * in this process, aligned to the largest alignment of an allocation: 2 MiB.
	 */
	tsr_status_t (*map)(tsr_device_t *device, const tsr_heap_export_t *exports, int count,
			    void **bases_out);
	/** Undoes map and create. */
	void (*unmap)(tsr_device_t *device);
	/** Host memory to and from my heap; returns when done. */
	tsr_status_t (*write)(tsr_device_t *device, void *heap, const void *host,
			      size_t size_bytes);
	tsr_status_t (*read)(tsr_device_t *device, void *host, const void *heap, size_t size_bytes);
	tsr_status_t (*fill)(tsr_device_t *device, void *heap, int byte, size_t size_bytes);
} tsr_heap_ops_t;

/** One launch as the backend sees it: the stream is its own. */
typedef struct tsr_device_launch {
	tsr_device_stream_t *stream;
	const tsr_kernel_t *kernel;
	int blocks;
	const void *args;
} tsr_device_launch_t;

/**
 * A copy as the backend sees it: rows of bytes from my heap to `peer`'s, both
 * where this process has them mapped.
 */
typedef struct tsr_device_copy {
	void *dst;
	const void *src;
	size_t dst_pitch_bytes, src_pitch_bytes; /* from one row to the next, at least row_bytes */
	size_t row_bytes, rows;                  /* not 0 */
	int peer;                                /* its rank in the world */
	/* the program's call stands there; null: not known */
	const char *file;
	int line;
} tsr_device_copy_t;

/** Where a team's kernels find its members' heaps. */
typedef struct tsr_team_ops {
	size_t size;
	/** When the heaps are mapped. Keeps `team`, which lives until destroy. */
	tsr_status_t (*create)(tsr_device_t *device, const tsr_host_team_t *team,
			       tsr_device_team_t **team_out);
	/** Its streams are destroyed already. */
	void (*destroy)(tsr_device_t *device, tsr_device_team_t *team);
} tsr_team_ops_t;

typedef struct tsr_stream_ops {
	size_t size;
	/** A stream whose kernels see the ranks of `team`. */
	tsr_status_t (*create)(tsr_device_t *device, const tsr_device_team_t *team,
			       tsr_device_stream_t **stream_out);
	void (*destroy)(tsr_device_stream_t *stream); /* synchronised already */
	/**
	 * Starts `count` launches; `together`: all their blocks are resident at one time, else
	 * TSR_ERR_RESIDENCY and nothing starts.
	 */
	tsr_status_t (*launch)(tsr_device_t *device, const tsr_device_launch_t *launches, int count,
			       bool together);
	/** Waits for the stream; returns the first failure of its kernels since the last call. */
	tsr_status_t (*sync)(tsr_device_stream_t *stream);
	tsr_status_t (*wait_event)(tsr_device_stream_t *stream, tsr_device_event_t *event);
	/** Copies behind the stream's work, in no block and whatever is resident. */
	tsr_status_t (*copy)(tsr_device_stream_t *stream, const tsr_device_copy_t *copy);
} tsr_stream_ops_t;

typedef struct tsr_event_ops {
	size_t size;
	tsr_status_t (*create)(tsr_device_t *device, tsr_device_event_t **event_out);
	void (*destroy)(tsr_device_event_t *event);
	tsr_status_t (*record)(tsr_device_event_t *event, tsr_device_stream_t *stream);
	tsr_status_t (*sync)(tsr_device_event_t *event);
	/**
	 * Time stamp of the reached mark. TSR_ERR_ARGUMENT where it was not recorded or is not
	 * reached. Null where the device tells intervals only: then there is elapsed_ns.
	 */
	tsr_status_t (*stamp_ns)(const tsr_device_event_t *event, uint64_t *ns_out);
	/**
	 * From one reached mark to another, below 0 where `end` was reached first. TSR_ERR_ARGUMENT
	 * as above. Null where there is stamp_ns.
	 */
	tsr_status_t (*elapsed_ns)(const tsr_device_event_t *begin, const tsr_device_event_t *end,
				   int64_t *ns_out);
} tsr_event_ops_t;

/** (optional: null where the backend keeps no record) */
typedef struct tsr_record_ops {
	size_t size;
	tsr_status_t (*start)(tsr_device_t *device);
	tsr_status_t (*stop)(tsr_device_t *device);
	tsr_status_t (*entry)(const tsr_device_t *device, int index, tsr_record_entry_t *entry_out);
} tsr_record_ops_t;

/** A backend. Registered in src/registry/backends.c, best first. */
typedef struct tsr_backend {
	uint32_t abi; /* TSR_BACKEND_ABI */
	const char *name;
	bool thread_ranks; /* ranks may be threads of one process */
	const tsr_device_ops_t *device;
	const tsr_heap_ops_t *heap;
	const tsr_team_ops_t *team;
	const tsr_stream_ops_t *stream;
	const tsr_event_ops_t *event;
	const tsr_record_ops_t *record;
} tsr_backend_t;

extern const tsr_backend_t tsr_backend_cpuemu;
extern const tsr_backend_t tsr_backend_cuda, tsr_backend_hip; /* where the build has them */

#endif

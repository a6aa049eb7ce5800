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

#define TSR_BACKEND_ABI 8u

/* ------------------------------------ what the library gives to a backend */

/**
 * Words that all ranks of the world share, in host memory that every process
 * maps. Zero at first. Ranks sleep on them and wake each other. A backend sees
 * nothing else of the library's state.
 */
typedef struct tsr_shared_words {
	_Atomic uint32_t aborted; /* not 0: the world has ended; waits return at once */
	struct {
		/* a futex; a rank raises it after it may have changed a flag of this rank */
		_Alignas(64) _Atomic uint32_t bell;
		/* number of waiters of this rank that sleep on the bell */
		_Atomic uint32_t sleepers;
	} rank[TSR_MAX_RANKS];
} tsr_shared_words_t;

/**
 * What a device is opened with. It lives until the device is closed. Any thread
 * may call its functions.
 */
struct tsr_net;
struct tsr_net_memory; /* src/net/net.h */
struct tsr_net_calls;

typedef struct tsr_host {
	void *ctx; /* first argument of the functions below */
	int rank, size;
	/* equal on ranks that are threads of one process, different on all others; getpid() may be
	 * equal in different containers */
	uint64_t process;
	uint64_t deadline_ns;
	tsr_shared_words_t *words;
	/* null, or the exploration that runs the ranks as fibres: src/base/executor.h */
	struct tsr_exploration *exploration;
	/* what reaches the heaps of ranks on other nodes (src/net/net.h); null: the world is one
	 * node */
	struct tsr_net *net;
	const struct tsr_net_calls *net_calls; /* what plug-ins call it by; null where `net` is */
	const int *nodes; /* nodes[r]: the node of rank r; nodes are counted from 0 */
	/* settings of one backend: TESSERA_CUDA_HEAP=ipc, TESSERA_HIP_HEAP=uncached */
	bool cuda_ipc, hip_uncached;

	/**
	 * Ends the world with a status and one sentence. The first call wins; `words->aborted`
	 * becomes not 0.
	 */
	void (*abort_world)(void *ctx, tsr_status_t status, const char *sentence);
	/**
	 * Keeps a wait record. The backend fills in all members except allocation and offset, which
	 * the library derives from `flag`. If `flag` is null, the record stays as it is.
	 */
	void (*keep_wait_record)(void *ctx, tsr_wait_record_t *record, const void *flag);
	/**
	 * Returns a rank that has ended without leaving the world, or -1. Makes a system call, so
	 * use it only in waits that have lasted long already.
	 */
	int (*lost_rank)(void *ctx);
	/**
	 * Finds the allocation that holds the byte at `heap_offset` of this rank's heap, and the
	 * name that it has in reports, as tsr_heap_find gives it. Returns false if there is none.
	 */
	bool (*find_allocation)(void *ctx, size_t heap_offset, char name_out[32],
				size_t *offset_out);
} tsr_host_t;

/** Whether a rank is on another node, where its heap can be reached through the net alone. */
static inline bool tsr_host_is_far(const tsr_host_t *host, int rank)
{
	return host->nodes[rank] != host->nodes[host->rank];
}

/** A team: the ranks that the kernels of its streams see, in their order. */
typedef struct tsr_host_team {
	int rank, size;   /* this rank's number in the team, and the number of members */
	const int *ranks; /* ranks[i]: the world rank of member i */
	const char *name; /* for reports; "": the world */
} tsr_host_team_t;

/* ------------------------------------ what a backend gives to the library */

typedef struct tsr_device tsr_device_t; /* each backend has its own */
typedef struct tsr_device_team tsr_device_team_t;
typedef struct tsr_device_stream tsr_device_stream_t;
typedef struct tsr_device_event tsr_device_event_t;

/**
 * A heap as it is exported to the peers. Ranks exchange it with SCM_RIGHTS.
 * `fd` is -1 if the bytes are enough.
 */
typedef struct tsr_heap_export {
	int fd;
	/* tsr_host_t.process of the exporter; in the same process the heap is used at its own
	 * address */
	uint64_t process;
	uint64_t address; /* address of the heap in the exporting process */
	uint64_t size_bytes;
	/* addresses behind the heap that this rank keeps for windows, as offsets from the heap's
	 * base; equal: none */
	uint64_t window_begin, window_end;
	unsigned char bytes[64]; /* the vendor's handle */
} tsr_heap_export_t;

/**
 * The calls on a device. Each table of this header begins with its size in
 * bytes, so that the library can tell a missing slot from a later one. A slot
 * is null only where its comment allows it.
 */
typedef struct tsr_device_ops {
	size_t size;
	/**
	 * Counts the devices that are present. Without a device: TSR_ERR_NO_DEVICE with a sentence.
	 * Must not crash or abort if the vendor's runtime is absent.
	 */
	tsr_status_t (*probe)(int *count_out);
	/** Opens the device of rank host->rank. Keeps `host`. */
	tsr_status_t (*open)(const tsr_host_t *host, tsr_device_t **device_out);
	/** Closes the device. Waits for nothing, because the library has synchronised. */
	void (*close)(tsr_device_t *device);
	tsr_status_t (*properties)(tsr_device_t *device, tsr_device_props_t *props_out);
} tsr_device_ops_t;

typedef struct tsr_heap_ops {
	size_t size;
	/** Makes this rank's heap. The caller closes the export's fd, if there is one. */
	tsr_status_t (*create)(tsr_device_t *device, size_t size_bytes,
			       tsr_heap_export_t *export_out);
	/**
	 * Maps the heaps of this node's ranks (this rank's too) and checks each mapping.
	 * bases_out[r] is rank r's heap in this process, aligned to 2 MiB, the largest alignment of
	 * an allocation. For a rank of another node it is an address that nothing else has and
	 * nobody may access.
	 */
	tsr_status_t (*map)(tsr_device_t *device, const tsr_heap_export_t *exports, int count,
			    void **bases_out);
	/** Undoes map and create. */
	void (*unmap)(tsr_device_t *device);
	/**
	 * Copies between host memory and this rank's heap; fill sets its bytes. They return when
	 * done.
	 */
	tsr_status_t (*write)(tsr_device_t *device, void *heap, const void *host,
			      size_t size_bytes);
	tsr_status_t (*read)(tsr_device_t *device, void *host, const void *heap, size_t size_bytes);
	tsr_status_t (*fill)(tsr_device_t *device, void *heap, int byte, size_t size_bytes);
	/**
	 * How the net reaches this rank's heap for ranks of other nodes. Called when the heaps are
	 * mapped, and before tsr_host_t.net is set; `unmap` undoes it. Null: the backend's worlds
	 * are one node.
	 */
	tsr_status_t (*serve)(tsr_device_t *device, struct tsr_net_memory *memory_out);
	/** From now on the backend's own threads do not call the net. Null: it has none. */
	void (*leave_net)(tsr_device_t *device);
} tsr_heap_ops_t;

/** A part of a window's memory as it is exported to the peers: what one descriptor names. */
typedef struct tsr_window_part {
	int fd;
	uint64_t begin, size_bytes; /* where it lies in the window */
} tsr_window_part_t;

/**
 * The calls on windows: memory of the program's that becomes a part of this
 * rank's heap (tessera/window.h).
 */
typedef struct tsr_window_ops {
	size_t size;
	/** What memory of a window begins and ends at a multiple of; 0: there are no windows. */
	size_t (*unit_bytes)(const tsr_device_t *device);
	/**
	 * The addresses behind every rank's heap that windows are mapped to, as offsets from the
	 * heap's base, equal on all ranks; known when the heaps are mapped. Equal offsets: windows
	 * take room in the heap.
	 */
	void (*room)(const tsr_device_t *device, size_t *begin_out, size_t *end_out);
	/**
	 * Whether `size_bytes`, a multiple of the unit, from `memory` on can become a window, and
	 * how many bytes of addresses it takes: as many, or more units. Errors: TSR_ERR_ARGUMENT,
	 * TSR_ERR_UNSUPPORTED, TSR_ERR_SYSTEM.
	 */
	tsr_status_t (*check)(tsr_device_t *device, const void *memory, size_t size_bytes,
			      size_t *room_bytes_out);
	/**
	 * From now on the bytes at `memory` and those at `heap`, an address of this rank's heap or
	 * of the room behind it that is a multiple of the unit, are the same: those that were at
	 * `memory`. After an error they are as before.
	 */
	tsr_status_t (*open)(tsr_device_t *device, void *heap, void *memory, size_t size_bytes);
	/**
	 * Undoes that, and what import_part did for this window: `memory` keeps its bytes. After an
	 * error `memory` is as before. Errors: TSR_ERR_ARGUMENT (the program has unmapped it),
	 * TSR_ERR_SYSTEM.
	 */
	tsr_status_t (*close)(tsr_device_t *device, void *heap, void *memory, size_t size_bytes);
	/**
	 * Exports the part that begins at byte `begin` of the open window `heap`; the next one
	 * begins where it ends. The caller closes its fd. Null, and import_part too: what open does
	 * reaches all ranks.
	 */
	tsr_status_t (*export_part)(tsr_device_t *device, void *heap, size_t begin,
				    tsr_window_part_t *part_out);
	/**
	 * Maps a part of `rank`'s window where it belongs behind that rank's heap. `heap` is the
	 * window on this rank. The caller closes the fd.
	 */
	tsr_status_t (*import_part)(tsr_device_t *device, void *heap, int rank,
				    const tsr_window_part_t *part);
	/**
	 * Allocates memory that `check` takes, of the device whose tsr_device_props_t.ordinal this
	 * is; no device need be open. `size_bytes` is rounded up to whole units. Errors:
	 * TSR_ERR_NO_MEMORY, TSR_ERR_UNSUPPORTED, TSR_ERR_SYSTEM.
	 */
	tsr_status_t (*alloc)(int ordinal, size_t size_bytes, void **memory_out);
	/** Frees it; `size_bytes` as it was asked for. */
	tsr_status_t (*release)(int ordinal, void *memory, size_t size_bytes);
} tsr_window_ops_t;

/** What a kernel waits for on the host before it begins. */
typedef struct tsr_device_gate {
	/* null: nothing. Any number of threads may call it, and at any time until the kernel
	 * ends; it returns when the kernel may begin, or the world has ended */
	void (*pass)(void *ctx, uint32_t number);
	void *ctx;
	uint32_t number;
} tsr_device_gate_t;

/** One launch, on a stream of the backend. */
typedef struct tsr_device_launch {
	tsr_device_stream_t *stream;
	const tsr_kernel_t *kernel;
	int blocks;
	const void *args;
	/* the place of the call in the program; null: unknown */
	const char *file;
	int line;
	tsr_device_gate_t gate; /* given only to backends that have gates */
} tsr_device_launch_t;

/**
 * One copy: rows of bytes from this rank's heap to `peer`'s. The addresses are
 * those of this process.
 */
typedef struct tsr_device_copy {
	void *dst;
	const void *src;
	size_t dst_pitch_bytes, src_pitch_bytes; /* from one row to the next, at least row_bytes */
	size_t row_bytes, rows;                  /* not 0 */
	int peer;                                /* the peer's world rank */
	/* the place of the call in the program; null: unknown */
	const char *file;
	int line;
} tsr_device_copy_t;

/**
 * The calls on a team: kernels of its streams find the heaps of its members.
 */
typedef struct tsr_team_ops {
	size_t size;
	/** Called when the heaps are mapped. Keeps `team`, which lives until destroy. */
	tsr_status_t (*create)(tsr_device_t *device, const tsr_host_team_t *team,
			       tsr_device_team_t **team_out);
	/** Called when the team's streams are destroyed. */
	void (*destroy)(tsr_device_t *device, tsr_device_team_t *team);
} tsr_team_ops_t;

typedef struct tsr_stream_ops {
	size_t size;
	/** Makes a stream whose kernels see the ranks of `team`. */
	tsr_status_t (*create)(tsr_device_t *device, const tsr_device_team_t *team,
			       tsr_device_stream_t **stream_out);
	void (*destroy)(tsr_device_stream_t *stream); /* synchronised already */
	/**
	 * Starts `count` launches. With `together` all their blocks must be resident at the same
	 * time; if they cannot be: TSR_ERR_RESIDENCY, and nothing starts.
	 */
	tsr_status_t (*launch)(tsr_device_t *device, const tsr_device_launch_t *launches, int count,
			       bool together);
	/** Waits for the stream. Returns the first failure of its kernels since the last call. */
	tsr_status_t (*sync)(tsr_device_stream_t *stream);
	tsr_status_t (*wait_event)(tsr_device_stream_t *stream, tsr_device_event_t *event);
	/**
	 * Copies after the stream's earlier work. Needs no thread block, and does not depend on
	 * resident blocks.
	 */
	tsr_status_t (*copy)(tsr_device_stream_t *stream, const tsr_device_copy_t *copy);
	/**
	 * As create, of a stream of the vendor's runtime that the caller has made and destroys.
	 * `destroy` leaves it alone. Errors: TSR_ERR_UNSUPPORTED (the backend has no such streams).
	 */
	tsr_status_t (*adopt)(tsr_device_t *device, const tsr_device_team_t *team, void *native,
			      tsr_device_stream_t **stream_out);
	/** The vendor's stream behind a stream. Errors: as adopt. */
	tsr_status_t (*native)(const tsr_device_stream_t *stream, void **native_out);
} tsr_stream_ops_t;

typedef struct tsr_event_ops {
	size_t size;
	tsr_status_t (*create)(tsr_device_t *device, tsr_device_event_t **event_out);
	void (*destroy)(tsr_device_event_t *event);
	tsr_status_t (*record)(tsr_device_event_t *event, tsr_device_stream_t *stream);
	tsr_status_t (*sync)(tsr_device_event_t *event);
	/**
	 * The time at which the mark was reached. TSR_ERR_ARGUMENT if it was not recorded or is
	 * not reached yet. Null if the device can only measure intervals; then elapsed_ns is not
	 * null.
	 */
	tsr_status_t (*stamp_ns)(const tsr_device_event_t *event, uint64_t *ns_out);
	/**
	 * The time from one reached mark to another, negative if `end` was reached first. Errors as
	 * above. Null if stamp_ns is not null.
	 */
	tsr_status_t (*elapsed_ns)(const tsr_device_event_t *begin, const tsr_device_event_t *end,
				   int64_t *ns_out);
} tsr_event_ops_t;

/**
 * The calls on the record of a run (optional: null if the backend keeps none).
 */
typedef struct tsr_record_ops {
	size_t size;
	tsr_status_t (*start)(tsr_device_t *device);
	tsr_status_t (*stop)(tsr_device_t *device);
	tsr_status_t (*entry)(const tsr_device_t *device, int index, tsr_record_entry_t *entry_out);
	tsr_status_t (*event)(const tsr_device_t *device, int index, tsr_record_event_t *event_out);
} tsr_record_ops_t;

/** A backend. Listed in src/registry/backends.c, best first. */
typedef struct tsr_backend {
	uint32_t abi; /* TSR_BACKEND_ABI */
	const char *name;
	bool thread_ranks; /* ranks may be threads of one process */
	bool gates;        /* kernels pass the gates of their launches */
	const tsr_device_ops_t *device;
	const tsr_heap_ops_t *heap;
	const tsr_window_ops_t *window;
	const tsr_team_ops_t *team;
	const tsr_stream_ops_t *stream;
	const tsr_event_ops_t *event;
	const tsr_record_ops_t *record;
} tsr_backend_t;

/**
 * What a plug-in shows, under the name tsr_backend_plugin: a shared library that
 * holds one backend, for the same version of libtessera.so
 * (src/registry/plugins.h).
 */
typedef struct tsr_plugin {
	uint32_t abi;        /* TSR_BACKEND_ABI; whatever follows has the shape of that number */
	const char *version; /* of the library that it was built with, such as "0.1.0" */
	const tsr_backend_t *backend;
} tsr_plugin_t;

extern const tsr_backend_t tsr_backend_cpuemu;
extern const tsr_backend_t tsr_backend_cuda, tsr_backend_hip; /* only if the build includes them */

#endif

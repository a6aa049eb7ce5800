/*
 * What the host halves of the GPU backends share. Nothing here knows a vendor:
 * a backend fills in what only it can do.
 */
#ifndef TESSERA_GPU_GPU_H
#define TESSERA_GPU_GPU_H

#include <pthread.h>

#include "backend.h"
#include "gpu/calls.h"
#include "gpu/dev/context.h"

/**
 * Host memory that the device sees: the abort word, the notes, and what the
 * check of a mapping has seen.
 */
typedef struct tsr_gpu_page {
	/* 1: the world has ended. Set by a kernel whose note is fatal, or by the host */
	_Alignas(128) uint32_t abort;
	_Alignas(128) uint64_t seen[4];
	_Alignas(128) tsr_gpu_note_t notes[TSR_GPU_NOTES];
} tsr_gpu_page_t;

/** A kernel as the device has it. */
typedef struct tsr_gpu_function {
	const tsr_kernel_t *kernel;
	void *entry;       /* the vendor's function; null: the image of its unit has none */
	int threads;       /* of a block: what the device half was compiled for */
	int static_bytes;  /* shared memory of the port's own */
	int dynamic_bytes; /* the kernel's own part, and what else its main loop takes */
	int local_bytes;   /* a thread */
	int blocks_per_sm; /* that can be resident; 0 where a block does not fit */
} tsr_gpu_function_t;

/** The device code of one translation unit. */
typedef struct tsr_gpu_module {
	struct tsr_gpu_module *next;
	const tsr_image_t *image;
	void *module; /* the vendor's */
	int count;
	tsr_gpu_function_t function[];
} tsr_gpu_module_t;

/**
 * What a backend does for the shared code, with its device current, but where
 * it says otherwise.
 */
typedef struct tsr_gpu_vendor {
	const char *name;     /* of the backend */
	const char *toolkit;  /* what builds code for it */
	const char *debugger; /* what shows where a kernel crashed */
	/* Cures of what may fail: */
	const char *memory_is_full;
	const char *code_is_refused;     /* the library's own */
	const char *base_is_not_aligned; /* of a heap */
	const tsr_gpu_calls_t *calls;
	/**
	 * Finds the driver, takes the rank's device and asks it what it is, without making it
	 * current. `drop` ends what `make` has made with the device current, `give_back` what
	 * `take` has taken.
	 */
	tsr_status_t (*take)(tsr_device_t *device);
	void (*give_back)(tsr_device_t *device);
	tsr_status_t (*make)(tsr_device_t *device);
	void (*drop)(tsr_device_t *device);
	/** Ticks a millisecond of the clock that kernels read. */
	uint32_t (*clock_khz)(const tsr_device_t *device);
	/** The library's own code for this device. */
	const tsr_image_t *(*check_image)(const tsr_device_t *device);
	/** Whether the image is for this device. */
	bool (*runs)(const tsr_device_t *device, const tsr_image_t *image);
	/**
	 * With the lock: loads m->image, and fills entry and figures of every function in it but
	 * its kernel. On failure undoes that, and says why.
	 */
	tsr_status_t (*load)(tsr_device_t *device, tsr_gpu_module_t *m);
	/**
	 * Memory of tsr_gpu_whole_bytes that peers can map, and its handle in the export, whose
	 * other members are filled; and a peer's memory, mapped here. Both leave the address in
	 * tsr_gpu_t.base. close undoes either, however far it came.
	 */
	tsr_status_t (*heap_make)(tsr_device_t *device, tsr_heap_export_t *export);
	tsr_status_t (*heap_open)(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);
	void (*heap_close)(tsr_device_t *device, int rank);
	/**
	 * Says that rank's heap, as it is mapped here, has a fault, in words that follow it; and
	 * what to do. TSR_ERR_SYSTEM.
	 */
	tsr_status_t (*heap_is_broken)(const tsr_device_t *device, int rank, const char *fault);
} tsr_gpu_vendor_t;

/**
 * A team: where its kernels find its members' heaps. Addressing goes through
 * {window, base of each rank}: the heap is window 0, and the only one so far
 * (docs/design.md).
 */
struct tsr_device_team {
	const tsr_host_team_t *host;
	/* device memory, of the world's size: tsr_gpu_context_t.peer_offset */
	int64_t *peer_offset;
	struct tsr_device_team *next;
};

/** What is kept of a stream. */
typedef struct tsr_gpu_track {
	struct tsr_gpu_track *next;
	const tsr_device_team_t *team;
	uint64_t serial;          /* no other stream of this device had or will have it */
	const tsr_kernel_t *last; /* launched last */
	/** The first failure of the stream's kernels since somebody asked. */
	struct tsr_gpu_failure {
		tsr_status_t status;
		char sentence[640];
	} failure;
} tsr_gpu_track_t;

struct tsr_device_stream {
	tsr_device_t *device;
	tsr_gpu_track_t track;
	void *stream; /* the vendor's */
};

struct tsr_device_event {
	tsr_device_t *device;
	void *event; /* the vendor's */
	bool recorded;
	uint64_t serial; /* of the stream that it was recorded in last */
};

/** Which kernel a launch number was, for the notes that carry it. */
typedef struct tsr_gpu_launched {
	uint32_t number;
	uint64_t serial; /* of its stream */
	const tsr_kernel_t *kernel;
} tsr_gpu_launched_t;

enum { TSR_GPU_LAUNCHES_KEPT = 4096 }; /* more than a stream's queue in the driver holds */

/** A GPU of a rank. The backend's own device begins with it: tsr_gpu_of. */
typedef struct tsr_gpu {
	const tsr_gpu_vendor_t *vendor;
	const tsr_host_t *host;
	char arch[64]; /* in words: "9.0", "gfx942" */
	int sms;
	size_t block_shared_bytes; /* the most a block may have, static and dynamic */
	tsr_device_props_t props;
	bool opened;       /* the device has been made current once */
	void *side;        /* the vendor's stream for copies, fills and checks */
	void *notes_taken; /* device memory */
	tsr_gpu_page_t *page;
	uint64_t page_on_device;
	void *base[TSR_MAX_RANKS]; /* of every rank's heap, as mapped here; null: not */
	tsr_gpu_context_t launch;  /* what launches have in common */
	/* bytes from my heap to every rank's, once they are mapped */
	int64_t peer_offset[TSR_MAX_RANKS];

	pthread_mutex_t lock; /* guards all below */
	tsr_gpu_track_t *streams;
	uint64_t serials;
	/* ended, with their tables: to free device memory may wait for all kernels that run */
	tsr_device_team_t *spare_teams;
	tsr_gpu_module_t *modules;
	tsr_gpu_launched_t *launched; /* ring, by number */
	uint32_t launches;
	bool reported[TSR_GPU_NOTES];
	bool dead; /* a kernel has crashed: the driver refuses everything from then on */
} tsr_gpu_t;

static inline tsr_gpu_t *tsr_gpu_of(const tsr_device_t *device)
{
	return (tsr_gpu_t *)(uintptr_t)device;
}

/* ------------------------------------------------------------------ the device (device.c) */

/** Opens a device that is zero but for what the vendor has set; on failure closes and frees it. */
tsr_status_t tsr_gpu_device_open(tsr_device_t *device, const tsr_gpu_vendor_t *vendor,
				 const tsr_host_t *host);

/** tsr_device_ops_t.close, which frees it, and .properties. */
void tsr_gpu_device_close(tsr_device_t *device);
tsr_status_t tsr_gpu_device_properties(tsr_device_t *device, tsr_device_props_t *props_out);

/** From sms and block_shared_bytes: what tsr_device_props_t says of any GPU. */
void tsr_gpu_props_fill(tsr_gpu_t *gpu);

/** Keeps where every rank's heap is as this device sees it; of 0 ranks: nowhere any more. */
void tsr_gpu_context_map(tsr_gpu_t *gpu, int count);

/* The tables of operations, the same for all vendors (stream.c, event.c, heap.c, team.c). */
extern const tsr_stream_ops_t tsr_gpu_stream_ops;
extern const tsr_event_ops_t tsr_gpu_event_ops;
extern const tsr_heap_ops_t tsr_gpu_heap_ops;
extern const tsr_team_ops_t tsr_gpu_team_ops;

/** Drops what ended teams have left, when the device is closed. */
void tsr_gpu_teams_drop(tsr_device_t *device);

void tsr_gpu_stream_add(tsr_gpu_t *gpu, tsr_gpu_track_t *track, const tsr_device_team_t *team);
void tsr_gpu_stream_remove(tsr_gpu_t *gpu, tsr_gpu_track_t *track);

/** With the lock: null where it is gone. */
tsr_gpu_track_t *tsr_gpu_stream_find(const tsr_gpu_t *gpu, uint64_t serial);

/**
 * tsr_device_ops_t.probe in a process of its own: neither vendor's runtime
 * survives fork(), and a program that asks what is here may start ranks
 * afterwards. `look` says how many devices there are, or why none; `driver` and
 * `see` are the words for one that does not answer. Errors: the status of look,
 * with its sentence; TSR_ERR_NO_DEVICE; TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_gpu_look_in_child(tsr_status_t (*look)(const void *ctx, int *count_out),
				   const void *ctx, const char *driver, const char *see,
				   int *count_out);

/* ---------------------------------------------------------------- launches (launch.c, module.c) */

/** tsr_stream_ops_t.launch. Takes the lock. */
tsr_status_t tsr_gpu_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count,
			    bool together);

/**
 * With the lock: the context of one launch on the stream of `track`, whose
 * number is remembered for the notes.
 */
tsr_gpu_context_t tsr_gpu_launch_number(tsr_gpu_t *gpu, const tsr_gpu_track_t *track,
					const tsr_device_launch_t *launch);

/** The entry of a kernel in its image. */
enum { TSR_GPU_ENTRY_CHARS = 256 };
void tsr_gpu_entry_name(const tsr_kernel_t *kernel, char name_out[TSR_GPU_ENTRY_CHARS]);

/**
 * Dynamic shared memory of a launch, from the kernel and its static_bytes: its
 * own part, or all where its main loop wants it.
 */
int tsr_gpu_dynamic_bytes(const tsr_gpu_t *gpu, const tsr_gpu_function_t *function);

/**
 * With the lock: finds a kernel, loading its unit where it is the first of it.
 * Errors: TSR_ERR_UNSUPPORTED, and those of load.
 */
tsr_status_t tsr_gpu_function(tsr_gpu_t *gpu, tsr_device_t *device, const tsr_kernel_t *kernel,
			      const tsr_gpu_function_t **function_out);
void tsr_gpu_modules_unload(tsr_gpu_t *gpu, tsr_device_t *device);

/* ------------------------------------------------------------------ waiting (await.c, note.c) */

/**
 * Waits for the end of `stream`, or for `event` where it is not null; `serial`
 * is the stream's. Meanwhile hands an end of the world on to the kernels, and
 * looks for lost ranks and for notes, which it reads at the end, too. Errors:
 * the first failure of that stream, which is taken; else TSR_ERR_KERNEL where
 * the driver has lost the device; else that the world has ended.
 */
tsr_status_t tsr_gpu_wait(tsr_device_t *device, void *stream, void *event, uint64_t serial);

/**
 * Reads the notes that kernels have left: wait records are kept, fatal ones end
 * the world and fail their stream.
 */
void tsr_gpu_notes_read(tsr_gpu_t *gpu);

/** TSR_ERR_ABORTED where the world has ended. */
tsr_status_t tsr_gpu_world_status(const tsr_gpu_t *gpu);

/* ------------------------------------------------ the check of a mapping (check.c, dev/check.c) */

/**
 * Lies behind the heap, so that checking a mapping never touches what is
 * allocated. Each rank has words of its own in it.
 */
typedef struct tsr_gpu_tail {
	char magic[16];
	uint64_t rank, process, size_bytes;
	struct {
		uint64_t word, count;
	} of[TSR_MAX_RANKS];
} tsr_gpu_tail_t;

/** How much memory heap and tail take: whole pages of 2 MiB, which is what bases are aligned to. */
size_t tsr_gpu_whole_bytes(size_t heap_bytes);
enum { TSR_GPU_ALIGN = 2 << 20 };

/* With the device current: */

/** Writes who I am behind my heap, before any peer maps it. */
tsr_status_t tsr_gpu_tail_write(tsr_device_t *device, size_t heap_bytes);

/**
 * Checks that `rank`'s heap is what its owner says, and that this device's
 * stores, loads and atomics reach it.
 */
tsr_status_t tsr_gpu_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);

/**
 * The code of that kernel, TSR_GPU_CHECK_ENTRY, for each toolkit of the build;
 * null past the last.
 */
const tsr_image_t *tsr_gpu_check_image_at(int index);
#define TSR_GPU_CHECK_ENTRY "tsr_gpu_check"

#endif

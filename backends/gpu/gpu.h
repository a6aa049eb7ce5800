/*
 * The shared host half of the GPU backends. Nothing here depends on a vendor: a
 * backend provides what only it can do.
 */
#ifndef TESSERA_GPU_GPU_H
#define TESSERA_GPU_GPU_H

#include <pthread.h>

#include "backend.h"
#include "gpu/calls.h"
#include "gpu/dev/context.h"

/**
 * Host memory that the device can access: the abort word, the notes, and the
 * results of the check of a mapping.
 */
typedef struct tsr_gpu_page {
	/* 1: the world has ended. Set by a kernel with a fatal note, or by the host */
	_Alignas(128) uint32_t abort;
	_Alignas(128) uint64_t seen[4];
	tsr_gpu_clock_t clock;
	_Alignas(128) tsr_gpu_note_t notes[TSR_GPU_NOTES];
} tsr_gpu_page_t;

/** The forms in which a unit may be compiled: each is an image of its own. */
typedef enum tsr_gpu_form {
	TSR_GPU_PLAIN,
	TSR_GPU_RECORDED, /* keeps the record of a run */
	TSR_GPU_NODES     /* reaches ranks of other nodes */
} tsr_gpu_form_t;

/** A kernel on the device. */
typedef struct tsr_gpu_function {
	const tsr_kernel_t *kernel;
	void *entry;       /* the vendor's function; null: the image of its unit has none */
	int threads;       /* of a block, as the device half was compiled */
	int static_bytes;  /* shared memory of the port itself */
	int dynamic_bytes; /* the kernel's own part, and additional memory of its main loop */
	int local_bytes;   /* for each thread */
	int blocks_per_sm; /* blocks that can be resident; 0 if a block does not fit */
	tsr_gpu_form_t form;
} tsr_gpu_function_t;

/** The device code of one translation unit. */
typedef struct tsr_gpu_module {
	struct tsr_gpu_module *next;
	const tsr_image_t *image;
	void *module; /* the vendor's */
	tsr_gpu_form_t form;
	int count;
	tsr_gpu_function_t function[];
} tsr_gpu_module_t;

/**
 * A vendor's part. The shared code calls it with the device current, except
 * where a comment says otherwise.
 */
typedef struct tsr_gpu_vendor {
	const char *name;     /* of the backend */
	const char *toolkit;  /* builds code for it */
	const char *debugger; /* shows where a kernel crashed */
	/* Cures for calls that may fail: */
	const char *memory_is_full;
	const char *code_is_refused;     /* the library's own code */
	const char *base_is_not_aligned; /* of a heap */
	const tsr_gpu_calls_t *calls;
	/**
	 * `take` finds the driver, takes the rank's device and reads its properties, without making
	 * it current. `make` makes what needs the device current. `drop` undoes `make`, `give_back`
	 * undoes `take`.
	 */
	tsr_status_t (*take)(tsr_device_t *device);
	void (*give_back)(tsr_device_t *device);
	tsr_status_t (*make)(tsr_device_t *device);
	void (*drop)(tsr_device_t *device);
	/** Ticks per millisecond of the clock that kernels read. */
	uint32_t (*clock_khz)(const tsr_device_t *device);
	/** The library's own code for this device. */
	const tsr_image_t *(*check_image)(const tsr_device_t *device);
	/** Whether the image runs on this device. */
	bool (*runs)(const tsr_device_t *device, const tsr_image_t *image);
	/**
	 * With the lock: loads m->image, and fills in entry and figures of every function in it,
	 * except its kernel. On failure undoes that, and reports why.
	 */
	tsr_status_t (*load)(tsr_device_t *device, tsr_gpu_module_t *m);
	/**
	 * `heap_make` allocates memory of tsr_gpu_whole_bytes that peers can map, and writes to the
	 * export its handle and what room it keeps for windows; the other members are set.
	 * `heap_open` maps a peer's memory. Both
	 * leave the address in tsr_gpu_t.base. `heap_close` undoes either, even after a failure.
	 */
	tsr_status_t (*heap_make)(tsr_device_t *device, tsr_heap_export_t *export);
	tsr_status_t (*heap_open)(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);
	void (*heap_close)(tsr_device_t *device, int rank);
	/**
	 * Reports that rank's heap, as it is mapped here, has a fault, which `fault` describes, and
	 * the cure. Returns TSR_ERR_SYSTEM.
	 */
	tsr_status_t (*heap_is_broken)(const tsr_device_t *device, int rank, const char *fault);
} tsr_gpu_vendor_t;

/**
 * A team: its kernels find the heaps of its members through it. Addressing uses
 * {window, base of each rank}: the heap is window 0, and the only one so far
 * (docs/design.md).
 */
struct tsr_device_team {
	const tsr_host_team_t *host;
	/* device memory for as many ranks as the world has: tsr_gpu_context_t.peer_offset, and
	 * behind it .nodes */
	int64_t *peer_offset;
	struct tsr_device_team *next;
};

/** The host's data of a stream. */
typedef struct tsr_gpu_track {
	struct tsr_gpu_track *next;
	const tsr_device_team_t *team;
	uint64_t serial;          /* unique among all streams of this device, past and future */
	const tsr_kernel_t *last; /* the last kernel launched */
	/** The first failure of the stream's kernels since the last query. */
	struct tsr_gpu_failure {
		tsr_status_t status;
		char sentence[640];
	} failure;
} tsr_gpu_track_t;

struct tsr_device_stream {
	tsr_device_t *device;
	tsr_gpu_track_t track;
	void *stream; /* the vendor's */
	bool adopted; /* the program made the vendor's stream, and destroys it */
};

struct tsr_device_event {
	tsr_device_t *device;
	void *event; /* the vendor's */
	bool recorded;
	uint64_t serial; /* of the stream in which it was recorded last */
};

/** The launch of a number, for notes, which carry the number. */
typedef struct tsr_gpu_launched {
	uint32_t number;
	uint64_t serial; /* of its stream */
	const tsr_kernel_t *kernel;
	const char *file; /* place of the host's call; null: unknown */
	int line;
} tsr_gpu_launched_t;

enum { TSR_GPU_LAUNCHES_KEPT = 4096 }; /* more than a stream's queue in the driver holds */

/**
 * A GPU of a rank. The backend's own device struct begins with it: tsr_gpu_of.
 */
typedef struct tsr_gpu {
	const tsr_gpu_vendor_t *vendor;
	const tsr_host_t *host;
	char arch[64]; /* as text: "9.0", "gfx942" */
	int sms;
	size_t block_shared_bytes; /* most shared memory of a block, static and dynamic */
	tsr_device_props_t props;
	bool opened;       /* the device has been made current once */
	void *side;        /* the vendor's stream for copies, fills and checks */
	void *notes_taken; /* device memory */
	tsr_gpu_page_t *page;
	uint64_t page_on_device;
	void *base[TSR_MAX_RANKS];       /* address here of every rank's heap; null: not mapped */
	size_t window_begin, window_end; /* tsr_window_ops_t.room */
	unsigned char window_mark;       /* of the window that was opened last: window.c */
	tsr_gpu_context_t launch;        /* the part that all launches share */
	/* bytes from my heap to every rank's heap, after they are mapped */
	int64_t peer_offset[TSR_MAX_RANKS];

	pthread_mutex_t lock; /* guards everything below */
	tsr_gpu_track_t *streams;
	uint64_t serials;
	/* ended teams, with their tables: freeing device memory may wait for all running kernels */
	tsr_device_team_t *spare_teams;
	tsr_gpu_module_t *modules;
	tsr_gpu_launched_t *launched; /* ring, indexed by number */
	uint32_t launches;
	bool reported[TSR_GPU_NOTES];
	struct tsr_gpu_recording *recording; /* record.h; null: nothing was ever recorded */
	struct tsr_gpu_nodes *nodes;         /* far/nodes.h; null: the world is one node */
	bool dead; /* a kernel has crashed, so the driver refuses everything */
} tsr_gpu_t;

static inline tsr_gpu_t *tsr_gpu_of(const tsr_device_t *device)
{
	return (tsr_gpu_t *)(uintptr_t)device;
}

/* ---------------------------------------------------- the device (device.c) */

/**
 * Opens a device that is zero except for what the vendor has set. On failure
 * closes and frees it.
 */
tsr_status_t tsr_gpu_device_open(tsr_device_t *device, const tsr_gpu_vendor_t *vendor,
				 const tsr_host_t *host);

/** tsr_device_ops_t.close, which also frees it, and .properties. */
void tsr_gpu_device_close(tsr_device_t *device);
tsr_status_t tsr_gpu_device_properties(tsr_device_t *device, tsr_device_props_t *props_out);

/**
 * Fills in the properties that any GPU has, from sms and block_shared_bytes.
 */
void tsr_gpu_props_fill(tsr_gpu_t *gpu);

/** Whether the world has ranks on other nodes. */
static inline bool tsr_gpu_spans_nodes(const tsr_gpu_t *gpu)
{
	bool spans = false;
	for (int r = 0; r < gpu->host->size; r++)
		spans |= tsr_host_is_far(gpu->host, r);
	return spans;
}

/**
 * Stores where every rank's heap is for this device; with 0 ranks, that none is
 * mapped any more.
 */
void tsr_gpu_context_map(tsr_gpu_t *gpu, int count);

/*
 * The tables of operations, equal for all vendors (stream.c, event.c, heap.c,
 * team.c, record.c). Windows are a vendor's own.
 */
extern const tsr_stream_ops_t tsr_gpu_stream_ops;
extern const tsr_event_ops_t tsr_gpu_event_ops;
extern const tsr_heap_ops_t tsr_gpu_heap_ops;
extern const tsr_team_ops_t tsr_gpu_team_ops;
extern const tsr_record_ops_t tsr_gpu_record_ops;

/** Frees what ended teams have left, when the device is closed. */
void tsr_gpu_teams_drop(tsr_device_t *device);

void tsr_gpu_stream_add(tsr_gpu_t *gpu, tsr_gpu_track_t *track, const tsr_device_team_t *team);
void tsr_gpu_stream_remove(tsr_gpu_t *gpu, tsr_gpu_track_t *track);

/** With the lock: finds a stream; null if it does not exist any more. */
tsr_gpu_track_t *tsr_gpu_stream_find(const tsr_gpu_t *gpu, uint64_t serial);

/**
 * tsr_device_ops_t.probe in a child process: neither vendor's runtime survives
 * fork(), and a program that probes may start ranks afterwards. `look` returns
 * the number of devices, or why there are none. `driver` and `see` are parts of
 * the sentence for a driver that does not answer. Errors: the status of `look`,
 * with its sentence; TSR_ERR_NO_DEVICE; TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_gpu_look_in_child(tsr_status_t (*look)(const void *ctx, int *count_out),
				   const void *ctx, const char *driver, const char *see,
				   int *count_out);

/* -------------------------------------------- launches (launch.c, module.c) */

/** tsr_stream_ops_t.launch. Takes the lock. */
tsr_status_t tsr_gpu_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count,
			    bool together);

/**
 * With the lock: the context of one launch on the stream of `track`. Its number
 * is stored for notes.
 */
tsr_gpu_context_t tsr_gpu_launch_number(tsr_gpu_t *gpu, const tsr_gpu_track_t *track,
					const tsr_device_launch_t *launch);

/**
 * Whether an image runs on a device of this compute capability, where
 * architectures are numbers, as NVIDIA's are: "sm_90" on its own and later minor
 * ones, as "sm_100f", a family's, does; "sm_90a" on its own alone.
 */
bool tsr_gpu_number_runs(const char *image, int major, int minor);

/** The name of a kernel's entry in its image. */
enum { TSR_GPU_ENTRY_CHARS = 256 };
void tsr_gpu_entry_name(const tsr_kernel_t *kernel, char name_out[TSR_GPU_ENTRY_CHARS]);

/**
 * Dynamic shared memory of a launch, from the kernel and its static_bytes: its
 * own part, or everything if its main loop wants it.
 */
int tsr_gpu_dynamic_bytes(const tsr_gpu_t *gpu, const tsr_gpu_function_t *function);

/**
 * The name of a unit in its image of another form: the unit's own name, and
 * this.
 */
#define TSR_IMAGE_RECORDED ":recorded"
#define TSR_IMAGE_NODES ":nodes"

/**
 * With the lock: finds a kernel in one form; loads its unit if necessary.
 * Errors: TSR_ERR_UNSUPPORTED, and those of load.
 */
tsr_status_t tsr_gpu_function(tsr_gpu_t *gpu, tsr_device_t *device, const tsr_kernel_t *kernel,
			      tsr_gpu_form_t form, const tsr_gpu_function_t **function_out);

/** Whether there is code that keeps a record, for this device. */
bool tsr_gpu_keeps_record(const tsr_gpu_t *gpu, const tsr_device_t *device,
			  const tsr_kernel_t *kernel);

/**
 * Loads the code of all units in one form. In a world over several nodes, before the
 * first launch: drivers load code only when kernels that run have ended, and meanwhile
 * serve no rank of another node, for which such a kernel may wait.
 */
tsr_status_t tsr_gpu_modules_load(tsr_gpu_t *gpu, tsr_device_t *device, tsr_gpu_form_t form);
void tsr_gpu_modules_unload(tsr_gpu_t *gpu, tsr_device_t *device);

/* ------------------------------------------------ waiting (await.c, note.c) */

/**
 * Waits for the end of `stream`, or for `event` if it is not null; `serial` is
 * the stream's. Meanwhile reports an end of the world to the kernels, and looks
 * for lost ranks and for notes, which it also reads at the end. Errors: the
 * first failure of that stream, which is cleared; otherwise TSR_ERR_KERNEL if
 * the driver has lost the device; otherwise that the world has ended.
 */
tsr_status_t tsr_gpu_wait(tsr_device_t *device, void *stream, void *event, uint64_t serial);

/**
 * Reads the notes of kernels: keeps wait records; a fatal note ends the world
 * and fails its stream.
 */
void tsr_gpu_notes_read(tsr_gpu_t *gpu);

/** TSR_ERR_ABORTED if the world has ended. */
tsr_status_t tsr_gpu_world_status(const tsr_gpu_t *gpu);

/* ------------------------------------------------------- windows (window.c) */

/**
 * With the device current, when all heaps are mapped: the room that every rank
 * keeps for windows, and the table of what is there for kernels of debug
 * builds. Errors: those of allocation and copies.
 */
tsr_status_t tsr_gpu_windows_make(tsr_device_t *device, const tsr_heap_export_t *exports,
				  int count);
void tsr_gpu_windows_drop(tsr_device_t *device);

/** With the device current: kernels may access the window at `heap`, or (closed) not any more. */
tsr_status_t tsr_gpu_window_opened(tsr_device_t *device, const void *heap, size_t size_bytes);
tsr_status_t tsr_gpu_window_closed(tsr_device_t *device, const void *heap, size_t size_bytes);

/** tsr_window_ops_t.room */
void tsr_gpu_window_room(const tsr_device_t *device, size_t *begin_out, size_t *end_out);

/** The offset of an address from this rank's heap base. False: outside heap and windows' room. */
bool tsr_gpu_offset(const tsr_gpu_t *gpu, uint64_t address, size_t *offset_out);

/* ---------------------------- the check of a mapping (check.c, dev/check.c) */

/**
 * Memory behind the heap, so that the check of a mapping never touches
 * allocations. Each rank has its own words in it.
 */
typedef struct tsr_gpu_tail {
	char magic[16];
	uint64_t rank, process, size_bytes;
	struct {
		uint64_t word, count;
	} of[TSR_MAX_RANKS];
} tsr_gpu_tail_t;

/**
 * Size of heap and tail together, in whole pages of 2 MiB, the alignment of
 * heap bases.
 */
size_t tsr_gpu_whole_bytes(size_t heap_bytes);
enum { TSR_GPU_ALIGN = 2 << 20 };

/* With the device current: */

/** Writes this rank's identity behind its heap, before a peer maps it. */
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
#define TSR_GPU_CLOCK_ENTRY "tsr_gpu_clock" /* of the same code: clock.c */
#define TSR_GPU_SERVE_ENTRY "tsr_gpu_serve" /* far/serve.c */
#define TSR_GPU_CARRY_ENTRY "tsr_gpu_carry" /* far/carry.c */
#define TSR_GPU_STACK_ENTRY "tsr_gpu_stack" /* far/nodes.c */

#endif

/*
 * What the host half of a GPU backend hands to every launch of a kernel, and
 * what the kernel tells it back. C11 and C++17.
 */
#ifndef TESSERA_GPU_DEV_CONTEXT_H
#define TESSERA_GPU_DEV_CONTEXT_H

#include <stdint.h>

#include "tessera/types.h"

/*
 * The entry of kernel `name` is the symbol TSR_GPU_ENTRY_PREFIX + name, for a
 *     variant TSR_GPU_ENTRY_PREFIX + name + "__" + variant: extern "C" void
 *     tsr_entry_<name>(tsr_gpu_context_t context, args_t args)
 * both by value, args at the next offset of its alignment. A block has as many
 * threads as the kernel's launch bounds say (backends/<name>/dev/threads.h).
 *
 * Dynamic shared memory is tsr_kernel_t.shared_bytes, or as much as a block can
 * have where the kernel's main loop wants it. Such a kernel is known by its
 * static shared memory: beside whole pieces of scratch memory, and the KiB that
 * the driver may count in, it has at least TSR_GPU_LOOP_BYTES of it, and no
 * other has as much.
 */
#define TSR_GPU_ENTRY_PREFIX "tsr_entry_"

/* shared memory through which a coop's threads exchange elements */
#define TSR_GPU_SCRATCH_BYTES 8192
#define TSR_GPU_LOOP_BYTES 768
#define TSR_GPU_TAKES_ALL_SHARED(static_bytes_) ((static_bytes_) % 1024 >= TSR_GPU_LOOP_BYTES)

/** Most notes that are kept of one rank; as many wait records as a world keeps. */
#define TSR_GPU_NOTES 64

/** Most workers of a block: the scratch memory of each is part of the block's shared memory. */
#define TSR_GPU_MAX_WORKERS 4

enum {
	TSR_GPU_NOTE_WAIT = 1,    /* a wait expired */
	TSR_GPU_NOTE_RANK = 2,    /* a rank outside the world (debug builds) */
	TSR_GPU_NOTE_POINTER = 3, /* memory outside the heap (debug builds) */
	/* an element type that the call does not take, in `peer` (debug builds) */
	TSR_GPU_NOTE_DTYPE = 4,
	/* a fragment was sent otherwise than it is added (debug builds) */
	TSR_GPU_NOTE_SENT = 5
};

/**
 * Something that the host is to report: where, and what. Rank and kernel are
 * those of the launch.
 */
typedef struct tsr_gpu_note {
	/* TSR_GPU_NOTE_*; 0 until the rest is written: stored last, release at system scope */
	uint32_t kind;
	uint32_t fatal;  /* not 0: the world ends */
	uint32_t launch; /* of the context */
	int32_t block, worker;
	/* wait: the rank that should have signalled, or TSR_ANY_RANK; else the rank argument */
	int32_t peer;
	int32_t line;
	uint32_t word; /* wait: 0 for a flag of mine, else 1 + tsr_cmp_t */
	int32_t owner; /* of a word: whose copy */
	uint32_t reserved;
	uint64_t address; /* of the flag, or of the memory: as this rank addresses it */
	uint64_t size_bytes;
	uint64_t expected, seen; /* wait: values of the flag or word */
	uint64_t waited_ns;
	char file[96]; /* cut at the front where it is longer */
} tsr_gpu_note_t;

/** One launch. The host fills it before every launch; the same for all its blocks. */
typedef struct tsr_gpu_context {
	int32_t rank, size;  /* mine in the stream's team, and its members */
	int32_t blocks;      /* of the launch */
	uint32_t launch;     /* the host's number for it, which notes carry */
	uint64_t heap_bytes; /* of every rank */
	uint64_t deadline_ns;
	uint32_t clock_khz; /* ticks a millisecond of the clock that the port reads */
	/* the kernel's own part of the dynamic shared memory, tsr_kernel_t.shared_bytes: its
	 * beginning */
	uint32_t shared_bytes;
	/* host memory, mapped: not 0 once the world has ended. Kernels may set it to 1 */
	uint32_t *abort;
	tsr_gpu_note_t *notes; /* host memory, mapped: TSR_GPU_NOTES of them */
	/* this device's memory: notes claimed so far; past TSR_GPU_NOTES they are dropped */
	uint32_t *notes_taken;
	void *workspace;          /* this device's memory, for the port's own use; null: none */
	uint32_t workspace_parts; /* the port knows what they are, */
	uint32_t workspace_each;  /* and what each of them has: the same in launches of all teams */
	char *heap;               /* mine, at its own address */
	/* this device's memory: bytes from there to each member's heap as this device sees it; 0 to
	 * mine. Constant while the team lives */
	const int64_t *peer_offset;
} tsr_gpu_context_t;

#endif

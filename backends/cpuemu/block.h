/*
 * What the host half and the device port of the emulator share: the emulated
 * block and what a thread carries through it.
 */
#ifndef TESSERA_CPUEMU_BLOCK_H
#define TESSERA_CPUEMU_BLOCK_H

#include "backend.h"
#include "tessera/dev/port.h"

/** Explored: buffers that workers have given back, the last one first. All on one thread. */
enum { TSR_CPU_SPARES = 8 };
typedef struct tsr_cpu_spare {
	void *data;
	size_t bytes;
} tsr_cpu_spare_t;

/**
 * Memory of which each member of a team has a copy: an address of mine is
 * translated through it (docs/design.md). Constant.
 */
typedef struct tsr_cpu_window {
	unsigned char *mine;        /* in my memory */
	size_t bytes;               /* of every member's */
	unsigned char *const *base; /* base[i]: that of member i as this process sees it */
} tsr_cpu_window_t;

/** A team as its kernels see it. Constant. */
struct tsr_device_team {
	const tsr_host_team_t *host;
	int rank, size;        /* mine in the team */
	const int *ranks;      /* ranks[i]: of member i in the world */
	const char *name;      /* explored: for reports; null: the world */
	uint64_t key;          /* a number that all members have in common, made of their ranks */
	tsr_cpu_window_t heap; /* window 0 */
	unsigned char *base[]; /* of the members' heaps */
};

/**
 * The window that an address of mine is looked up in, which may lie outside it:
 * the heap, which is the only one so far.
 */
static inline const tsr_cpu_window_t *tsr_cpu_window_of(const struct tsr_device_team *team,
							uintptr_t address)
{
	(void)address;
	return &team->heap;
}

/**
 * The surroundings of every block of a device. Constant while kernels run, but
 * for `running` and the spares.
 */
typedef struct tsr_cpu_env {
	const tsr_host_t *host;
	int rank, size; /* of the world, as all here */
	size_t heap_bytes;
	unsigned char *base[TSR_MAX_RANKS]; /* every rank's heap as this process sees it */
	int cpus;                           /* that this process may run on */
	_Atomic int running;                /* workers of this rank that are inside a kernel */
	/* other work takes the processors from us, as far as is known: a guess */
	_Atomic uint64_t busy_until_ns;
	int spares;
	tsr_cpu_spare_t spare[TSR_CPU_SPARES];
} tsr_cpu_env_t;

enum { TSR_CPU_ARENA_DEPTH = 64 };

/** A buffer of an arena, and the head of the fragment that lies in it, if one does. */
typedef struct tsr_cpu_slot {
	tsr_frag_t frag; /* first: a fragment finds its slot */
	struct tsr_cpu_arena *owner;
	void *data;
	size_t bytes;
} tsr_cpu_slot_t;

/**
 * A thread's private memory: a stack of buffers that grow and are kept, so that
 * a main loop does not allocate.
 */
typedef struct tsr_cpu_arena {
	int depth;
	tsr_cpu_slot_t slot[TSR_CPU_ARENA_DEPTH];
	/* handed out where there is no room: it has no elements, so every operation on it does
	 * nothing */
	tsr_frag_t none;
} tsr_cpu_arena_t;

/** What belongs to one thread while it runs one worker of one block. */
typedef struct tsr_cpu_worker {
	int index;  /* of the worker in its block */
	bool tiled; /* `tile` is what the running call works at, for reports */
	tsr_pos_t tile;
	bool apart;          /* it reads operands, which another thread may do for the coop */
	uint32_t tile_place; /* of the fragment that it loads or stores, as a number; 0: none */
	tsr_record_entry_t record;
	tsr_cpu_arena_t arena;
} tsr_cpu_worker_t;

/**
 * An emulated block. A new content for each block that is begun; the meeting
 * words belong to its workers.
 */
typedef struct tsr_cpu_block {
	tsr_cpu_env_t *env;
	const tsr_device_team_t *team;
	struct tsr_cpu_launch *launch;
	const tsr_kernel_t *kernel;
	int index, count;
	unsigned char *shared;
	size_t shared_bytes;

	_Atomic uint32_t arrived, phase, sleepers; /* the meeting of the workers: dev/coop.c */
	struct tsr_block_meeting *explored;        /* the same where the workers are fibres */
	/* what the first worker hands to the others, between two meetings */
	uint64_t given;

	/* in the launch's free list or the device's queue; guarded by the device's lock, as
	 * below */
	struct tsr_cpu_block *next;
	int taken, unfinished; /* workers that a thread has begun, and that have not ended */
} tsr_cpu_block_t;

/** Keeps the first failure of the launch's stream, and ends the world. Any thread. */
void tsr_cpu_launch_fail(struct tsr_cpu_launch *launch, tsr_status_t status, const char *sentence);

/** Gives back an arena's buffers. */
void tsr_cpu_arena_clear(tsr_cpu_arena_t *arena);

#endif

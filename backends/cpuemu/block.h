/*
 * The emulated block, and the state of each thread that runs a part of it. The
 * host half and the device port of the emulator share this header.
 */
#ifndef TESSERA_CPUEMU_BLOCK_H
#define TESSERA_CPUEMU_BLOCK_H

#include "backend.h"
#include "tessera/dev/port.h"

/* byte in undefined shared memory: no useful flag, no sensible float */
enum { TSR_CPU_POISON = 0xa5 };

/**
 * Explored: buffers that workers have released, the last one first. All workers
 * are on one thread.
 */
enum { TSR_CPU_SPARES = 8 };
typedef struct tsr_cpu_spare {
	void *data;
	size_t bytes;
} tsr_cpu_spare_t;

/**
 * Memory of which each member of a team has a copy. An address of mine is
 * translated through it (docs/design.md). Constant.
 */
typedef struct tsr_cpu_window {
	unsigned char *mine;        /* address of my copy */
	size_t bytes;               /* size of every member's copy */
	unsigned char *const *base; /* base[i]: address in this process of member i's copy */
} tsr_cpu_window_t;

/**
 * The members of a team by nodes: those of node k are member[first[k]] up to
 * member[first[k + 1] - 1]. Nodes without members do not count, the others keep
 * their order; members of a node keep the team's order.
 */
typedef struct tsr_cpu_nodes {
	int count;
	int node[TSR_MAX_RANKS];  /* node[r]: of member r */
	int place[TSR_MAX_RANKS]; /* place[r]: of member r among its node's members */
	int first[TSR_MAX_RANKS + 1];
	int member[TSR_MAX_RANKS];
} tsr_cpu_nodes_t;

/** A team as its kernels see it. Constant. */
struct tsr_device_team {
	const tsr_host_team_t *host;
	int rank, size;   /* this rank's number in the team */
	const int *ranks; /* ranks[i]: world rank of member i */
	const char *name; /* explored: the name for reports; null: the world */
	uint64_t key;     /* a number that all members share, made of their ranks */
	tsr_cpu_nodes_t nodes;
	tsr_cpu_window_t heap; /* window 0 */
	unsigned char *base[]; /* addresses of the members' heaps */
};

/**
 * The window in which an address of mine is looked up, even if the address is
 * outside it: the heap, which is the only window so far.
 */
static inline const tsr_cpu_window_t *tsr_cpu_window_of(const struct tsr_device_team *team,
							uintptr_t address)
{
	(void)address;
	return &team->heap;
}

/**
 * What all blocks of a device share. Constant while kernels run, except for
 * `running` and the spares.
 */
typedef struct tsr_cpu_env {
	const tsr_host_t *host;
	int rank, size; /* in the world, as everything here */
	size_t heap_bytes;
	unsigned char *base[TSR_MAX_RANKS]; /* address in this process of every rank's heap */
	int cpus;                           /* number of processors that this process may use */
	_Atomic int running;                /* workers of this rank that are inside a kernel */
	int spread; /* the threads that the passes of a TSR_EACH are spread over in plain runs */
	/* until when other work seems to use the processors; a guess */
	_Atomic uint64_t busy_until_ns;
	int spares;
	tsr_cpu_spare_t spare[TSR_CPU_SPARES];
} tsr_cpu_env_t;

enum { TSR_CPU_ARENA_DEPTH = 64 };

/**
 * A buffer of an arena, and the head of the fragment in it, if there is one.
 */
typedef struct tsr_cpu_slot {
	tsr_frag_t frag; /* must be first: a fragment finds its slot through it */
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
	/* given out if there is no memory: it has no elements, so operations on it do nothing */
	tsr_frag_t none;
} tsr_cpu_arena_t;

/** The state of a thread while it runs one worker of one block. */
typedef struct tsr_cpu_worker {
	int index;  /* index of the worker in its block */
	bool tiled; /* `tile` is set: the tile that the current call works on, for reports */
	tsr_pos_t tile;
	bool apart; /* the call reads operands, which another thread may do for the coop */
	/* number of the place of the fragment that it loads or stores; 0: none */
	uint32_t tile_place;
	bool saved; /* it is the place of a saved state */
	tsr_record_entry_t record;
	struct tsr_cpu_events *events; /* where its events are kept; null: nothing is recorded */
	bool in_each;                  /* between begin and end of a TSR_EACH */
	unsigned char *before;         /* explored: shared memory as it was when that began */
	struct tsr_cpu_passes *passes; /* how its passes are made; null: it was never asked */
	unsigned char *stack;          /* where the frames of the kernel begin, from above */
	tsr_coop_t *whole;             /* the block's coop, that the kernel was called with */
	tsr_cpu_arena_t arena;
} tsr_cpu_worker_t;

/**
 * An emulated block. Initialised anew for each block that begins. Its workers
 * own the meeting words.
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
	struct tsr_block_meeting *explored;        /* the same if the workers are fibres */
	/* a value that the first worker gives to the others, between two meetings */
	uint64_t given;
	int parts; /* workers that tsr_split has made of the one; 0: it has not been called */

	/* in the launch's free list or the device's queue; guarded by the device's lock, as
	 * everything below */
	struct tsr_cpu_block *next;
	/* workers that a thread has begun, and workers that have not ended */
	int taken, unfinished;
} tsr_cpu_block_t;

/**
 * Explored: makes two workers of a block of one, who has come to tsr_split for
 * the first time, if the exploration chooses to. The second comes back from
 * here, too: each with its part in the block's coop, in frames of its own.
 */
void tsr_cpu_explore_split(tsr_coop_t *block);

/**
 * Keeps the first failure of the launch's stream, and ends the world. Any
 * thread.
 */
void tsr_cpu_launch_fail(struct tsr_cpu_launch *launch, tsr_status_t status, const char *sentence);

/** Frees an arena's buffers. */
void tsr_cpu_arena_clear(tsr_cpu_arena_t *arena);

#endif

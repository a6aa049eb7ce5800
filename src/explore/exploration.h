/*
 * The exploring executor, as the emulator sees it. It is one process with one
 * thread of the operating system, in which every rank's program and every
 * worker of every block is a fibre. All memory accesses go through a model, and
 * a strategy decides everything that the model leaves open. README.md describes
 * how it is built. Code of the library below it uses only src/base/executor.h.
 *
 * "The caller" is the running fibre. If `exploration` is null, nothing is
 * explored: ranks are processes or threads, and none of these functions is
 * called.
 */
#ifndef TESSERA_EXPLORE_EXPLORATION_H
#define TESSERA_EXPLORE_EXPLORATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/compare.h"
#include "src/base/executor.h"
#include "src/views/views.h"
#include "tessera/status.h"
#include "tessera/types.h"

/* ---------------------------------------- described in src/base/executor.h */

tsr_status_t tsr_exploration_ranks(const char *text, int *ranks_out);
bool tsr_exploration_compared(const char *text);
void tsr_exploration_launched(const char *text);
tsr_status_t tsr_exploration_create(const char *text, int size,
				    tsr_exploration_t **exploration_out);
void tsr_exploration_destroy(tsr_exploration_t *exploration);
int tsr_exploration_run(tsr_exploration_t *exploration, tsr_exploration_rank_fn rank, void *ctx);
tsr_status_t tsr_exploration_edge(tsr_exploration_t *exploration, tsr_edge_t **edge_out);
void tsr_exploration_edge_drop(tsr_exploration_t *exploration, tsr_edge_t *edge);
void tsr_exploration_give(tsr_exploration_t *exploration, tsr_edge_t *edge);
void tsr_exploration_take(tsr_exploration_t *exploration, const tsr_edge_t *edge);
void tsr_exploration_wait(tsr_exploration_t *exploration, const tsr_host_wait_t *wait);
void tsr_exploration_changed(tsr_exploration_t *exploration, int rank);
void tsr_exploration_settle(tsr_exploration_t *exploration);
bool tsr_exploration_forgets(const tsr_exploration_t *exploration);
int tsr_exploration_node(const tsr_exploration_t *exploration, int rank);
tsr_status_t tsr_exploration_allocated(tsr_exploration_t *exploration, int rank, size_t offset,
				       size_t bytes, const char *name, const tsr_form_t *form);
void tsr_exploration_freed(tsr_exploration_t *exploration, int rank, size_t offset);
void tsr_exploration_named(tsr_exploration_t *exploration, int rank, size_t offset,
			   const char *name);
void tsr_exploration_mismatch(tsr_exploration_t *exploration, const tsr_made_call_t made[2],
			      const char *sentence);
void tsr_exploration_fails(tsr_exploration_t *exploration);
_Noreturn void tsr_exploration_abort(tsr_exploration_t *exploration, tsr_status_t status,
				     int exit_code, const char *sentence);

/* ------------------------------------------------------------ devices */

/** Adds what `from` contains to `into`: order that the host knows of. */
void tsr_exploration_join(tsr_exploration_t *exploration, tsr_edge_t *into, const tsr_edge_t *from);

/**
 * Adds a heap of `bytes`, which nobody has written. Programs address it by
 * `base`, where no memory is accessible: a pointer that is dereferenced instead
 * of passed to the API is reported. The values are at `values`.
 */
tsr_status_t tsr_exploration_add_heap(tsr_exploration_t *exploration, int rank, unsigned char *base,
				      unsigned char *values, size_t bytes);

/**
 * The program has given `bytes` at `memory`, which is inaccessible from now on,
 * to be the bytes of its heap at `heap`: whoever dereferences an address there
 * is reported as with an address of the heap. `end_window` takes that back.
 */
tsr_status_t tsr_exploration_add_window(tsr_exploration_t *exploration, const void *heap,
					const void *memory, size_t bytes);
void tsr_exploration_end_window(tsr_exploration_t *exploration, const void *memory);

/* ------------------------------------------------------------ blocks */

/** A worker of a block. The kernel's name lives as long as the process. */
typedef struct tsr_worker_who {
	int rank, launch;
	const char *kernel;
	int block, worker;
	/* from tsr_exploration_name: the team whose ranks the kernel sees; null: the world */
	const char *team;
	int team_rank; /* its rank in that team */
} tsr_worker_who_t;

/**
 * Copies a text into memory that lives as long as the exploration, for reports
 * about things that may be gone. Null for "", or if there is no memory.
 */
const char *tsr_exploration_name(tsr_exploration_t *exploration, const char *text);

/**
 * Starts a worker: a fibre that is ordered after what `after` contains, and not
 * otherwise after the caller. Schedules begin with the first worker of the
 * program. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_exploration_begin(tsr_exploration_t *exploration, const tsr_worker_who_t *who,
				   void (*body)(void *ctx), void *ctx, const tsr_edge_t *after);

/**
 * A block that has one worker, the caller, may go on as two, in copies of the
 * caller's frames (tsr_explorer_fork): `who` is the second. So a seed chooses,
 * and for all blocks alike. Returns twice if it does: 0 to the caller and 1 to
 * the second worker, which is ordered after what the caller did before; else -1.
 */
int tsr_exploration_split(tsr_exploration_t *exploration, const tsr_worker_who_t *who);

/** Called last by the worker: adds its end to `end`. */
void tsr_exploration_end(tsr_exploration_t *exploration, tsr_edge_t *end);

/** Adds the shared memory of a block, as long as the block runs. */
tsr_status_t tsr_exploration_add_shared(tsr_exploration_t *exploration, const tsr_worker_who_t *who,
					unsigned char *base, size_t bytes);
void tsr_exploration_end_shared(tsr_exploration_t *exploration, unsigned char *base);

/**
 * The number of blocks for which a device has room. `usual` is the number in
 * the device's own settings.
 */
int tsr_exploration_room(const tsr_exploration_t *exploration, int usual);

/**
 * A device reports the blocks that wait for room, and the blocks for whose end
 * they wait: all that run.
 */
typedef void (*tsr_exploration_tell_fn)(void *argument, const tsr_worker_who_t *block);
typedef void (*tsr_exploration_unbegun_fn)(void *ctx, tsr_exploration_tell_fn tell, void *argument);
void tsr_exploration_residency(tsr_exploration_t *exploration, int rank,
			       tsr_exploration_unbegun_fn unbegun, void *ctx);

/* ------------------------ accesses of the caller, on the host or in a block */

/** A call of the API in the source. Strings live as long as the process. */
typedef struct tsr_op_site {
	/* file is null if unknown; the place of a host's call is in base/place.h */
	const char *call, *file;
	int line;
	bool tiled; /* row and col are set: position of the tile, in elements */
	int64_t row, col;
	/* a kernel's coop that makes the call; the same, with the next member, for everything that
	 * one call does */
	const void *coop;
	uint32_t number; /* number of the call; differs from that of the coop's previous call */
	/* it reads operands for the coop, which the coop has read completely before it continues */
	bool apart;
	/* it is part of a call that the library builds from others, such as tsr_all_gather */
	bool composed;
	/* a fragment and its place, whose load and later store need no meeting; 0: none */
	uint32_t tile_place;
	bool saved; /* the place of a saved state: its saves and loads need none in any order */
} tsr_op_site_t;

/** `count` rows of `bytes` bytes; `pitch` bytes from one row to the next. */
typedef struct tsr_rows_of_bytes {
	size_t bytes, count, pitch;
} tsr_rows_of_bytes_t;

/**
 * Checks `bytes` at `at`, which the caller is about to access by a pointer or a
 * view that begins at `owner`: they must be in the allocation that holds
 * `owner`. Otherwise reports that and ends the schedule.
 */
void tsr_exploration_inside(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			    const unsigned char *owner, const unsigned char *at, size_t bytes);

void tsr_exploration_read(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  void *private_to, size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows);
void tsr_exploration_write(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			   unsigned char *to, const void *private_from, size_t from_pitch,
			   const tsr_rows_of_bytes_t *rows);

/**
 * Copies from memory to memory, as memmove does within a row. `rows` has the
 * pitch of `from`.
 */
void tsr_exploration_copy(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  unsigned char *to, size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows);
void tsr_exploration_fill(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  unsigned char *to, int byte, size_t bytes);

/**
 * The newest value of a word of 4 or 8 bytes that is allocated. The explorer
 * uses it to check the program. It is no access of the caller, so nothing
 * races with it.
 */
uint64_t tsr_exploration_newest(tsr_exploration_t *exploration, const unsigned char *at,
				size_t bytes);

/**
 * Performs an ordered access of 2, 4 or 8 bytes, described as for the views,
 * except for the location. Returns the old value.
 */
uint64_t tsr_exploration_act(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			     const tsr_views_access_t *access, const unsigned char *at,
			     size_t bytes);

/**
 * The caller is about to SET a flag, by a release at `scope`. If the flag has
 * that value already, the signal is lost or doubled.
 */
void tsr_exploration_signals(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			     const unsigned char *flag, uint64_t value, tsr_views_scope_t scope);

/** A call that all ranks make. Addresses are in the caller's own heap. */
typedef struct tsr_collective {
	const unsigned char *state; /* state of the calls that belong together */
	/* u64 in that state that grows by this much in each round, on all ranks alike */
	const unsigned char *count;
	uint64_t count_per_round;
	uint64_t team;           /* team that makes the call: a number that its members share */
	const unsigned char *to; /* memory that ranks reach on others; null: none */
	uint64_t size_bytes;     /* size of each rank's part, or of all */
	int root;                /* 0 where there is none */
	uint64_t how; /* parameters, as tsr_collect_how packs them (common/dev/collect.h) */
} tsr_collective_t;

/**
 * The newest bytes at an address of a heap, without an access: for what may be
 * known of memory. False: it is in no heap.
 */
bool tsr_exploration_peek(const tsr_exploration_t *exploration, const void *at, void *out,
			  size_t bytes);

/**
 * The caller is about to make its part of such a call, as others on its rank
 * do. A difference to the first caller's arguments is reported.
 */
void tsr_exploration_collective(tsr_exploration_t *exploration, const tsr_op_site_t *site,
				const tsr_collective_t *call);

/**
 * Declares that the caller's rank writes only these rows of the allocation that
 * holds them.
 */
void tsr_exploration_declare_writes(tsr_exploration_t *exploration, const tsr_op_site_t *site,
				    const unsigned char *at, const tsr_rows_of_bytes_t *rows);

/**
 * The caller's coop meets, as its contract promises: what any of its threads
 * did happens before what each does next.
 */
void tsr_exploration_met(tsr_exploration_t *exploration);

void tsr_exploration_fence(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			   tsr_views_order_t order, tsr_views_scope_t scope);

/** Completes all earlier stores of the caller to peers. */
void tsr_exploration_flush(tsr_exploration_t *exploration);

/*
 * A loop whose passes the threads of the caller's coop share: the port makes
 * them several times, in parts, and looks at what they have changed in the
 * block's shared memory. The exploration says how they are divided, and is told
 * what was found. Nothing else is asked of it meanwhile.
 */

/** The loop begins. Returns one of `ways` to divide its passes; 0: as by default. */
int tsr_exploration_passes(tsr_exploration_t *exploration, const tsr_op_site_t *site, int ways);
void tsr_exploration_passes_end(tsr_exploration_t *exploration);

/**
 * The kernel goes on with locals of one thread, which has made some of the passes:
 * if the program fails, it may be for that.
 */
void tsr_exploration_passes_apart(tsr_exploration_t *exploration, const tsr_op_site_t *site);

/** Two passes touch the same bytes, and one of them writes. */
typedef struct tsr_passes_race {
	const unsigned char *at;
	size_t bytes;
	bool reads;  /* pass[1] reads what pass[0] writes; else both write */
	int pass[2]; /* -1: not known */
} tsr_passes_race_t;

void tsr_exploration_passes_race(tsr_exploration_t *exploration, const tsr_op_site_t *site,
				 const tsr_passes_race_t *race);

/** A pass computes with a local that another pass has changed. */
void tsr_exploration_passes_carry(tsr_exploration_t *exploration, const tsr_op_site_t *site);

/**
 * The i-th run of bytes that the caller's coop has written to its block's shared
 * memory since it last met; false: there is none. Then: the passes read what is
 * there.
 */
bool tsr_exploration_unmet(const tsr_exploration_t *exploration, int i, size_t *offset_out,
			   size_t *bytes_out);
void tsr_exploration_passes_read(tsr_exploration_t *exploration, const tsr_op_site_t *site, int i);

/** How a wait for flags ended. */
typedef enum tsr_flag_end { TSR_FLAG_OK, TSR_FLAG_EXPIRED } tsr_flag_end_t;

typedef struct tsr_flag_wait {
	const unsigned char *flags;
	int count, start;  /* looks at them in turn, beginning with `start` */
	size_t word_bytes; /* size of each flag: 4 or 8 */
	/* Bits of a word below those that are compared; not 0 for words that carry their own
	 * flag. */
	int shift;
	tsr_cmp_t cmp; /* one flag must compare with `value` in this way */
	uint64_t value;
	tsr_views_order_t order; /* order of the load that ends the wait */
	tsr_views_scope_t scope;
	int from;         /* the rank that is to signal; -1: any */
	const char *team; /* the team in which that rank is `team_from`; null: the world */
	int team_from;
	bool deadline;        /* it may expire */
	uint64_t deadline_ns; /* after which it does in a simulation; explorations choose */
} tsr_flag_wait_t;

/** Whether a flag that is `seen` satisfies the wait. */
static inline bool tsr_flag_holds(const tsr_flag_wait_t *wait, uint64_t seen)
{
	return tsr_cmp_holds(wait->cmp, seen >> wait->shift, wait->value);
}

/**
 * Waits. Acquires the value that ends the wait, or loads it with `order`.
 * Writes the flag's index to `*which_out` and its value to `*seen_out`.
 */
tsr_flag_end_t tsr_exploration_wait_flag(tsr_exploration_t *exploration, const tsr_op_site_t *site,
					 const tsr_flag_wait_t *wait, int *which_out,
					 uint64_t *seen_out);

enum { TSR_BLOCK_WORKERS = 64 }; /* largest value of TESSERA_CPUEMU_WORKERS */

/**
 * A meeting of a block's workers: what any of them did before happens before
 * what all do after. It is part of the block; zero at first.
 */
typedef struct tsr_block_meeting {
	tsr_edge_t *edge[2]; /* by the phase's parity */
	uint32_t arrived, phase;
	uint32_t came[TSR_BLOCK_WORKERS]; /* phases at which each worker has arrived, for reports */
	int first_task, second_task;      /* of the first two workers; others follow the second */
	tsr_op_site_t first;              /* the call in which the first of this phase has come */
} tsr_block_meeting_t;

/** Releases what a meeting holds, when its block has ended. */
void tsr_exploration_end_meeting(tsr_exploration_t *exploration, tsr_block_meeting_t *meeting);

void tsr_exploration_meet(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  tsr_block_meeting_t *meeting, int count);

/**
 * The program misuses memory outside what it may access. Reported once; ends
 * the schedule.
 */
typedef enum tsr_wrong { TSR_WRONG_BOUNDS, TSR_WRONG_MISUSE } tsr_wrong_t;
_Noreturn void tsr_exploration_wrong(tsr_exploration_t *exploration, tsr_wrong_t wrong,
				     const tsr_op_site_t *site, const char *sentence);

#endif

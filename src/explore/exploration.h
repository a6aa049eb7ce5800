/*
 * The exploring executor, as the emulator sees it: one process and one thread
 * of the operating system, in which every rank's program and every worker of
 * every block is a fibre, all memory goes through the model, and a strategy
 * decides whatever the model leaves open. README.md says how it is built. What
 * lies below it in the library sees src/base/executor.h alone.
 *
 * Where a function below says "the caller", it is the fibre that runs. Null for
 * `exploration` means that nothing is explored: ranks are processes or threads,
 * and none of these functions is called.
 */
#ifndef TESSERA_EXPLORE_EXPLORATION_H
#define TESSERA_EXPLORE_EXPLORATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/executor.h"
#include "src/views/views.h"
#include "tessera/status.h"
#include "tessera/types.h"

/* -------------------------------------------- for src/base/executor.h, which says what these do */

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
tsr_status_t tsr_exploration_allocated(tsr_exploration_t *exploration, int rank, size_t offset,
				       size_t bytes, const char *name);
void tsr_exploration_freed(tsr_exploration_t *exploration, int rank, size_t offset);
void tsr_exploration_mismatch(tsr_exploration_t *exploration, const tsr_made_call_t made[2],
			      const char *sentence);
void tsr_exploration_fails(tsr_exploration_t *exploration);
_Noreturn void tsr_exploration_abort(tsr_exploration_t *exploration, tsr_status_t status,
				     int exit_code, const char *sentence);

/* ------------------------------------------------------------------ devices */

/** What `from` holds is part of `into` too: what the host knows to be ordered. */
void tsr_exploration_join(tsr_exploration_t *exploration, tsr_edge_t *into, const tsr_edge_t *from);

/**
 * A heap of `bytes`, which nobody has written. Programs address it by `base`,
 * where nothing is accessible: who dereferences a pointer into it instead of
 * handing it to the API is told so. Its values are at `values`.
 */
tsr_status_t tsr_exploration_add_heap(tsr_exploration_t *exploration, int rank, unsigned char *base,
				      unsigned char *values, size_t bytes);

/* ------------------------------------------------------------------ blocks */

/** A worker of a block. The name of the kernel lives as long as the process. */
typedef struct tsr_worker_who {
	int rank, launch;
	const char *kernel;
	int block, worker;
	/* of tsr_exploration_name: whose ranks the kernel sees; null: the world's */
	const char *team;
	int team_rank; /* in that team */
} tsr_worker_who_t;

/**
 * The text in memory that lives as long as the exploration, for what reports
 * name when it may be gone. Null for "", or no memory.
 */
const char *tsr_exploration_name(tsr_exploration_t *exploration, const char *text);

/**
 * Begins a worker: a fibre that comes after what `after` holds, and not
 * otherwise after who begins it. With the first worker of the program the
 * schedules begin. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_exploration_begin(tsr_exploration_t *exploration, const tsr_worker_who_t *who,
				   void (*body)(void *ctx), void *ctx, const tsr_edge_t *after);

/** By the worker, last: its end is part of `end`. */
void tsr_exploration_end(tsr_exploration_t *exploration, tsr_edge_t *end);

/** Shared memory of a block, for as long as it runs. */
tsr_status_t tsr_exploration_add_shared(tsr_exploration_t *exploration, const tsr_worker_who_t *who,
					unsigned char *base, size_t bytes);
void tsr_exploration_end_shared(tsr_exploration_t *exploration, unsigned char *base);

/** How many blocks a device has room for, where `usual` is what its own settings say. */
int tsr_exploration_room(const tsr_exploration_t *exploration, int usual);

/**
 * How a device tells which of its blocks wait for room, and for the end of
 * which of its blocks they wait: of all that run.
 */
typedef void (*tsr_exploration_tell_fn)(void *argument, const tsr_worker_who_t *block);
typedef void (*tsr_exploration_unbegun_fn)(void *ctx, tsr_exploration_tell_fn tell, void *argument);
void tsr_exploration_residency(tsr_exploration_t *exploration, int rank,
			       tsr_exploration_unbegun_fn unbegun, void *ctx);

/* ------------------------------------------- accesses: by the caller, on the host or in a block */

/** A call of the API, as it stands in the source. Strings live as long as the process. */
typedef struct tsr_op_site {
	/* file: null where it is not known; of a host's call its place says it (base/place.h) */
	const char *call, *file;
	int line;
	bool tiled; /* row and col are known: of the tile, in elements */
	int64_t row, col;
	/* who calls, of a kernel: the same for all that one call does, as is the next */
	const void *coop;
	uint32_t number; /* of the call: another than that of the coop's call before */
	/* it reads for the coop what the coop is known to have read before it goes on: operands */
	bool apart;
	/* it is part of a call that the library makes of others, such as tsr_all_gather */
	bool composed;
	/* a fragment and its place: a load and a later store of one need no meeting; 0: none */
	uint32_t tile_place;
} tsr_op_site_t;

/** `count` rows of `bytes` bytes, `pitch` bytes from one to the next. */
typedef struct tsr_rows_of_bytes {
	size_t bytes, count, pitch;
} tsr_rows_of_bytes_t;

/**
 * The caller is about to touch `bytes` at `at`, by a pointer or a view that
 * begins at `owner`: they lie in the allocation that holds that one. Else it is
 * told, and the schedule ends.
 */
void tsr_exploration_inside(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			    const unsigned char *owner, const unsigned char *at, size_t bytes);

void tsr_exploration_read(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  void *private_to, size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows);
void tsr_exploration_write(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			   unsigned char *to, const void *private_from, size_t from_pitch,
			   const tsr_rows_of_bytes_t *rows);

/** From memory to memory, as memmove within a row; `rows` has the pitch of `from`. */
void tsr_exploration_copy(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  unsigned char *to, size_t to_pitch, const unsigned char *from,
			  const tsr_rows_of_bytes_t *rows);
void tsr_exploration_fill(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  unsigned char *to, int byte, size_t bytes);

/**
 * An ordered access of 2, 4 or 8 bytes: what the views call it, but for the
 * location. Returns the old value.
 */
uint64_t tsr_exploration_act(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			     const tsr_views_access_t *access, const unsigned char *at,
			     size_t bytes);

/**
 * The caller is about to SET a flag, by a release at `scope`: to a value that
 * it has already, the signal is lost or doubled.
 */
void tsr_exploration_signals(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			     const unsigned char *flag, uint64_t value, tsr_views_scope_t scope);

/** A call that all ranks make. Places are in the caller's own heap. */
typedef struct tsr_collective {
	const unsigned char *state; /* of the calls that belong together */
	/* u64 of that state: what it shows grows by this much in each round, for all ranks alike */
	const unsigned char *count;
	uint64_t count_per_round;
	uint64_t team;           /* that makes the call: a number that its members have in common */
	const unsigned char *to; /* what is written on all ranks; null: nothing is */
	uint64_t size_bytes;     /* of each rank's part */
} tsr_collective_t;

/**
 * The caller, one of those who make the call on its rank, is about to. Who
 * means something else than the first one is told.
 */
void tsr_exploration_collective(tsr_exploration_t *exploration, const tsr_op_site_t *site,
				const tsr_collective_t *call);

/** Of the allocation that holds these rows, the caller's rank writes these alone. */
void tsr_exploration_declare_writes(tsr_exploration_t *exploration, const tsr_op_site_t *site,
				    const unsigned char *at, const tsr_rows_of_bytes_t *rows);

/**
 * The caller's coop meets, as its contract promises: what any of its threads
 * did happens before what each does next.
 */
void tsr_exploration_met(tsr_exploration_t *exploration);

void tsr_exploration_fence(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			   tsr_views_order_t order, tsr_views_scope_t scope);

/** All earlier stores of the caller to peers are complete. */
void tsr_exploration_flush(tsr_exploration_t *exploration);

/** What a wait for flags ended with. */
typedef enum tsr_flag_end { TSR_FLAG_OK, TSR_FLAG_EXPIRED } tsr_flag_end_t;

typedef struct tsr_flag_wait {
	const unsigned char *flags;
	int count, start;  /* looked at from `start` on in turn */
	size_t word_bytes; /* of each: 4 or 8 */
	tsr_cmp_t cmp;     /* one of them compares so with this */
	uint64_t value;
	tsr_views_order_t order; /* of the load that sees it */
	tsr_views_scope_t scope;
	int from;         /* the rank that is to signal; -1: any */
	const char *team; /* and in which team it is `team_from`; null: the world */
	int team_from;
	bool deadline; /* it may expire */
} tsr_flag_wait_t;

/**
 * Waits, with an acquire of what it sees in the end, or as `order` says.
 * `*which_out` is the flag, `*seen_out` its value.
 */
tsr_flag_end_t tsr_exploration_wait_flag(tsr_exploration_t *exploration, const tsr_op_site_t *site,
					 const tsr_flag_wait_t *wait, int *which_out,
					 uint64_t *seen_out);

enum { TSR_BLOCK_WORKERS = 64 }; /* the most that TESSERA_CPUEMU_WORKERS may say */

/**
 * The meeting of a block's workers: what any did before happens before what all
 * do after. Lives in the block; zero at first.
 */
typedef struct tsr_block_meeting {
	tsr_edge_t *edge[2]; /* by the phase's parity */
	uint32_t arrived, phase;
	uint32_t came[TSR_BLOCK_WORKERS]; /* phases that a worker has come to, for reports */
	int first_task;
} tsr_block_meeting_t;

/** Gives back what a meeting holds, when its block has ended. */
void tsr_exploration_end_meeting(tsr_exploration_t *exploration, tsr_block_meeting_t *meeting);

void tsr_exploration_meet(tsr_exploration_t *exploration, const tsr_op_site_t *site,
			  tsr_block_meeting_t *meeting, int count);

/** Memory that is outside what the program may touch: said once, and the schedule ends. */
typedef enum tsr_wrong { TSR_WRONG_BOUNDS, TSR_WRONG_MISUSE } tsr_wrong_t;
_Noreturn void tsr_exploration_wrong(tsr_exploration_t *exploration, tsr_wrong_t wrong,
				     const tsr_op_site_t *site, const char *sentence);

#endif

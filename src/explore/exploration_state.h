/* The inside of an exploration: known to the files of this folder that make it one. */
#ifndef TESSERA_EXPLORE_EXPLORATION_STATE_H
#define TESSERA_EXPLORE_EXPLORATION_STATE_H

#include <setjmp.h>
#include <string.h>
#include <time.h>

#include "src/base/place.h"
#include "src/explore/exploration.h"
#include "src/explore/memory_mode.h"
#include "src/explore/process/rewind.h"
#include "src/explore/schedule/explorer.h"
#include "src/explore/shadow/shadow.h"
#include "src/explore/wire/options.h"
#include "src/explore/wire/protocol.h"
#include "tessera/types.h"

/* ------------------------------------------------------------------ memory */

/** A part of a heap as the program sees it: allocated, or given back. */
typedef struct tsr_piece {
	size_t begin, bytes;
	bool freed;
	char name[32];
} tsr_piece_t;

/** The part of an allocation that a rank writes, in any rank's copy: rows in the heap. */
typedef struct tsr_slab_rows {
	int rank;
	size_t begin; /* of the allocation */
	size_t offset;
	tsr_rows_of_bytes_t rows;
	tsr_op_site_t site;
} tsr_slab_rows_t;

/** The last signal of a flag, for reports: a table that forgets. */
enum { TSR_SIGNALS = 1024 };
typedef struct tsr_last_signal {
	uint64_t object;
	tsr_finding_access_t access;
} tsr_last_signal_t;

/** The last ordered write of a word, for the trace: a table that forgets. */
enum { TSR_WRITES = 1024 };
typedef struct tsr_last_write {
	uint64_t object, value;
	uint32_t operation;
} tsr_last_write_t;

/** A rank's heap, or a block's shared memory. */
typedef struct tsr_area {
	unsigned char *base; /* what programs address it by: of a heap nothing is there */
	size_t bytes;
	unsigned char *home;   /* where values are, those that are everywhere */
	unsigned char *newest; /* what was written last, wherever it is seen: the shadow's memory */
	int region;            /* of the shadow; -1: the area has ended */
	int cached;            /* of the cache machine, if there is one */
	int rank;
	uint64_t name; /* the same in every run: what objects are made of */
	bool shared;
	tsr_piece_t *pieces; /* of a heap, by `begin`; none that overlap */
	int piece_count, piece_room;
	int last_piece; /* where it was found last time */
} tsr_area_t;

/* ------------------------------------------------------------------ what fibres do */

/**
 * A call of the API by a fibre, as reports tell of it. Its number is the
 * shadow's operation, and the views' site.
 */
typedef struct tsr_operation {
	int task;
	tsr_op_site_t site;
	tsr_finding_kind_t kind;
	tsr_views_order_t order;
	tsr_views_scope_t scope;
	tsr_epoch_t epoch; /* of its thread */
	int area;          /* what it touched last; -1: nothing */
	size_t offset, bytes;
} tsr_operation_t;

/** A fibre's own things. */
enum { TSR_RECENT_LOADS = 16 };

/** How widely something acquires and releases: TSR_VIEWS_THREAD is not at all. */
typedef struct tsr_reach {
	tsr_views_scope_t acquires, releases;
} tsr_reach_t;

/**
 * Which values a load can have read, as the fibre went on as it did: of a
 * compare-and-swap, one or all but one.
 */
typedef struct tsr_readable {
	/* it succeeded, and has read `value`; it failed, and has not. Neither: any */
	bool only, but;
	uint64_t value;
} tsr_readable_t;

/** A load that a later store of the same fibre may overtake. */
typedef struct tsr_recent_load {
	uint64_t object;
	uint32_t operation;
	tsr_epoch_t epoch;
	tsr_reach_t reach; /* of the load, and of the fences since */
	tsr_readable_t readable;
} tsr_recent_load_t;

/** Such a load, and the store: buffering.c. */
typedef struct tsr_load_store {
	uint64_t loaded, stored; /* objects */
	uint32_t load, store;    /* operations */
	int thread;
	tsr_epoch_t epoch; /* of the load */
	tsr_reach_t reach; /* of the load, the store, and the fences between */
	tsr_readable_t readable;
	uint64_t value; /* that was stored */
	bool values;    /* or others, by equal pairs */
	size_t clock;   /* in tsr_buffering_t: the thread's at the store */
	int clock_count;
	int next, next_own, next_loading; /* of the same buckets; -1: none */
} tsr_load_store_t;

enum {
	TSR_PAIR_BUCKETS = 256,
	TSR_CIRCLE_BUCKETS = 4096,
	TSR_MOST_CIRCLE = TSR_FINDING_ACCESSES / 2
};
typedef struct tsr_buffering {
	tsr_load_store_t *pairs;
	int pair_count, pair_room;
	/* by what is loaded and what is stored: 1 + its first pair; 0: empty */
	int bucket[TSR_CIRCLE_BUCKETS];
	int own[TSR_CIRCLE_BUCKETS];   /* by these and the thread */
	int loading[TSR_PAIR_BUCKETS]; /* by the one that is loaded */
	bool weak;                     /* there is one that does not synchronise with all others */
	tsr_epoch_t *clocks;
	size_t clock_count, clock_room;
} tsr_buffering_t;

/** What hands on what was done before it: links.c. */
typedef enum tsr_step_kind {
	TSR_STEP_WRITE, /* ordered accesses */
	TSR_STEP_READ,
	TSR_STEP_GIVE, /* of edges that no access makes */
	TSR_STEP_TAKE,
	TSR_STEP_JOIN,
	TSR_STEP_DROP
} tsr_step_kind_t;

typedef struct tsr_step {
	tsr_step_kind_t kind;
	int task;
	/* the access; of an edge the last one that anybody has begun */
	uint32_t operation;
	uint32_t from;                  /* of a read: who wrote what it has read */
	const tsr_edge_t *edge, *other; /* a join: of the other into the edge */
} tsr_step_t;

typedef struct tsr_links {
	tsr_step_t *steps;
	int count, room;
	uint32_t latest; /* operation */
} tsr_links_t;

/**
 * A wait for flags that goes on, for plain writes of what it looks at: they are
 * races, and end it all the same.
 */
typedef struct tsr_flag_watch {
	struct tsr_flag_watch *next, **link; /* the link that leads here */
	uint64_t object;                     /* of the first flag */
	int area;
	size_t offset, bytes, word_bytes;
	uint64_t value;     /* that one of them is to reach */
	uint32_t operation; /* of the wait */
} tsr_flag_watch_t;

/** A call of a collective of kernels: offsets are of the caller's heap. A table of them forgets. */
enum { TSR_COLLECTIVES = 256 };
typedef struct tsr_collective_call {
	bool used;
	size_t state, to;
	uint64_t round, size_bytes;
	/* teams that meet at the same offset of their own ranks' heaps have nothing to do with each
	 * other */
	uint64_t team;
	tsr_finding_access_t access;
} tsr_collective_call_t;

/**
 * A load of a kernel that has seen an old value: the last one, with a name of
 * its own, as allocations may go.
 */
typedef struct tsr_stale_load {
	tsr_finding_access_t access;
	char allocation[32];
} tsr_stale_load_t;

/** A copy, or a piece of one: `rows` has the pitch of where it comes from. */
typedef struct tsr_move {
	int from_area, to_area;
	size_t from, to; /* offsets */
	tsr_rows_of_bytes_t rows;
	size_t to_pitch;
} tsr_move_t;

/** A piece that is still to be moved: pieces.c. */
typedef struct tsr_late {
	uint32_t operation;
	tsr_move_t move;
} tsr_late_t;

typedef struct tsr_actor {
	int thread; /* of the views */
	int cached; /* of the cache machine, if there is one */
	/* the running ones, that reads and that writes: reused while call and epoch are the same */
	uint32_t operation[2];
	bool acting[2];   /* they are valid */
	const void *coop; /* who made the running call, and its number */
	uint32_t call;
	bool apart;
	tsr_late_t *late; /* until the coop meets */
	int late_count, late_room;
	tsr_recent_load_t loads[TSR_RECENT_LOADS]; /* a ring of the last ones */
	uint32_t load_count;
	tsr_collective_call_t collective; /* the last one */
	void (*body)(void *ctx);
	void *ctx;
	sigjmp_buf *begin; /* of the body: guard.c */
	char *said;        /* of a host that has failed: its last words */
} tsr_actor_t;

typedef struct tsr_guard tsr_guard_t;

/** Watches for code that does not come back: hang.c. */
typedef struct tsr_hang {
	timer_t timer;
	bool watched;
	bool asked;     /* it has interrupted once */
	uint64_t steps; /* that there were then */
} tsr_hang_t;

typedef enum tsr_phase {
	TSR_PHASE_PREFIX,   /* before the first kernel: one run for all schedules */
	TSR_PHASE_SCHEDULE, /* in the process of a schedule */
	TSR_PHASE_SERVED    /* all schedules have been run */
} tsr_phase_t;

struct tsr_exploration {
	tsr_check_options_t options;
	int size;
	tsr_phase_t phase;
	uint64_t seed;
	tsr_report_t report;

	tsr_explorer_t *explorer;
	tsr_strategy_t *strategy; /* null: the default */
	tsr_views_t *views;
	tsr_shadow_t *shadow;
	const tsr_memory_mode_t *memory;
	struct tsr_cached *cached; /* null: values are the views' */

	tsr_actor_t *actors; /* by task */
	int actor_room;
	tsr_operation_t *operations; /* by number; 0 is none */
	uint32_t operation_room;
	tsr_area_t *areas; /* the heaps first, by rank */
	int area_count, area_room;
	int last_area;
	tsr_slab_rows_t *slabs;
	int slab_count, slab_room;
	tsr_last_signal_t *signals; /* TSR_SIGNALS, by object */
	/* TSR_COLLECTIVES, by state and round: who came first */
	tsr_collective_call_t *collectives;
	tsr_flag_watch_t *watches;           /* in the fibres that wait */
	size_t watched_begin, watched_end;   /* in whatever area: nothing outside is waited for */
	tsr_last_write_t writes[TSR_WRITES]; /* by object */
	tsr_buffering_t buffering;
	tsr_links_t links;
	char **names; /* tsr_exploration_name */
	int name_count, name_room;
	uint64_t *sent; /* keys of the findings that were sent */
	int sent_count, sent_room;
	bool failed; /* one of them is no warning */
	tsr_stale_load_t stale;

	tsr_exploration_rank_fn rank;
	void *rank_ctx;
	int *codes; /* of the ranks */
	/* of the hosts that do not run; who runs has it in tsr_place_here */
	tsr_place_t *places;
	int workers; /* that live */
	/* a worker has ended while blocks waited for room: who ends first says who begins when */
	bool crowded;
	bool inserted; /* a write has come before another one that was there */
	bool touched;  /* there have been accesses since the shadow was settled */
	/* the most that was allocated at one time, shared memory included */
	uint64_t heap_bytes;
	struct tsr_handback *handback; /* in a schedule's process: what the server reads */
	tsr_guard_t *guard;            /* while fibres run */
	tsr_hang_t hang;
	tsr_rewind_t *rewind; /* in a schedule's process: null where it is one schedule's alone */
	/* what the program of a schedule printed as an error; -1: nothing is kept */
	int said_fd;
	tsr_exploration_unbegun_fn unbegun[TSR_MAX_RANKS];
	void *unbegun_ctx[TSR_MAX_RANKS];
};

/** The caller's own things. */
tsr_actor_t *tsr_actor(tsr_exploration_t *x);

/** The place of `bytes` at `at`. False: no area holds them. */
bool tsr_area_find(tsr_exploration_t *x, const void *at, size_t bytes, int *area_out,
		   size_t *offset_out);

/** The piece that holds `offset`, or null. */
tsr_piece_t *tsr_area_piece(tsr_area_t *area, size_t offset);

/**
 * The same for bytes that the caller may touch at `site`: in shared memory, or
 * in one allocation. Else tells, and ends the schedule.
 */
void tsr_exploration_place(tsr_exploration_t *x, const tsr_op_site_t *site, const void *at,
			   size_t bytes, int *area_out, size_t *offset_out);

/** The object that choices and digests know the word as. */
static inline uint64_t tsr_area_object(const tsr_area_t *area, size_t offset)
{
	const uint64_t mixed = area->name * UINT64_C(0x9e3779b97f4a7c15) + offset / 4;
	return mixed & ~(UINT64_C(3) << 62); /* the highest bits are those of meetings and hosts */
}

/** The newest value of a word: the shadow's memory holds it. */
static inline uint64_t tsr_area_value(const tsr_area_t *area, size_t offset, size_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, area->newest + offset, bytes);
	return value;
}

/**
 * The object that the hosts' waits for what runs on a rank's device look at.
 * That of all ranks' rounds is before the first.
 */
static inline uint64_t tsr_device_object(int rank)
{
	return UINT64_C(1) << 63 | (uint64_t)(rank + 1);
}

/** A number for a block that is the same in every run. */
/** The same as findings have it. */
static inline tsr_finding_who_t tsr_who_found(const tsr_task_who_t *who)
{
	return (tsr_finding_who_t){.rank = who->rank,
				   .kernel = who->kernel,
				   .launch = who->launch,
				   .block = who->block,
				   .worker = who->worker,
				   .team = who->team,
				   .team_rank = who->team_rank};
}

static inline uint64_t tsr_block_number(const tsr_task_who_t *who)
{
	return ((uint64_t)(who->launch + 1) * TSR_MAX_RANKS + (uint64_t)who->rank) << 16 |
	       (uint64_t)(uint32_t)who->block;
}

/* ------------------------------------------------------------------ operations */

/**
 * The call of the program's that the host of a rank is in, and where it stands;
 * where that is not known, `call`.
 */
tsr_source_t tsr_place_of_host(const tsr_exploration_t *x, int rank, const char *call);

/**
 * `said`; where the caller is a host, in `room` with the call of the program's
 * that it is in, and where that stands.
 */
const tsr_op_site_t *tsr_placed(const tsr_exploration_t *x, const tsr_op_site_t *said,
				tsr_op_site_t *room);

/** The explorer switches from one task to another: what each host's place is goes with it. */
void tsr_places_switch(void *context, int from, int to);

/**
 * The number of what the caller does at `said`, placed: the running operation
 * where it is the same call in the same epoch.
 */
uint32_t tsr_operation_at(tsr_exploration_t *x, const tsr_op_site_t *said, tsr_finding_kind_t kind,
			  tsr_views_order_t order, tsr_views_scope_t scope);

/** Its epoch is another now: what it does next is a new operation. */
void tsr_actor_epoch(tsr_actor_t *actor);

/** What it touches now. */
void tsr_operation_touch(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
			 size_t bytes);

/** Fills in an access from what is known of an operation, which touched these bytes. */
void tsr_operation_tell(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
			size_t bytes, tsr_finding_access_t *out);

/** An ordered access that has been waited for, or has had its point. Returns the old value. */
uint64_t tsr_exploration_act_now(tsr_exploration_t *x, uint32_t operation,
				 const tsr_views_access_t *access, int area, size_t offset,
				 size_t bytes, int choice, uint64_t begin);

/** A plain write of these bytes: who waits for a flag among them looks again. */
void tsr_waits_wake(tsr_exploration_t *x, int area, size_t offset, const tsr_rows_of_bytes_t *rows);

/**
 * Moves for a coop, in pieces of which some are late; they are told of as one.
 * False: it is to be moved whole, and now.
 */
bool tsr_pieces_move(tsr_exploration_t *x, uint32_t operation, const tsr_move_t *move,
		     tsr_shadow_found_t found_out[2], tsr_status_t *status_out);

/** The caller's coop meets, or ends: moves what is late. */
tsr_status_t tsr_pieces_end(tsr_exploration_t *x);

/* ------------------------------------------------------------------ traces */

/** The time of events: steps of the schedule so far. */
uint64_t tsr_trace_now(const tsr_exploration_t *x);

/** An operation that began at `begin` is over: sends its event where a trace is wanted. */
void tsr_trace_operation(tsr_exploration_t *x, uint32_t operation, uint64_t begin, uint64_t value,
			 bool wrote, bool read);

/* ------------------------------------------------------------------ findings */

/** Sends a finding, once in a schedule. */
void tsr_exploration_found(tsr_exploration_t *x, tsr_finding_t *finding);

/**
 * Tells of an earlier access of the same coop, if there is one that nothing
 * orders with this one.
 */
void tsr_exploration_judge_unmet(tsr_exploration_t *x, uint32_t operation, int area, bool wrote,
				 const tsr_shadow_unmet_t *unmet);

/** Tells of what an access met. */
void tsr_exploration_judge(tsr_exploration_t *x, uint32_t operation, int area, bool wrote,
			   const tsr_shadow_found_t *found);

/** A write of the caller's: it keeps to what its rank has declared. */
void tsr_slab_check(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
		    const tsr_rows_of_bytes_t *rows);

/** The allocation at `begin` has ended, and with it what ranks have declared of it. */
void tsr_slabs_forget(tsr_exploration_t *x, size_t begin);

/** Two calls that ranks wait in where nobody can go on, and which the other rank does not make. */
bool tsr_collectives_apart(const tsr_exploration_t *x, const tsr_stuck_t *stuck,
			   const tsr_collective_call_t *pair_out[2]);

/** An access that has no number: the caller is at `said`, placed, and goes no further. */
tsr_finding_access_t tsr_access_at(tsr_exploration_t *x, const tsr_op_site_t *said);

/** Tells how a run ended, and how its ranks did. */
void tsr_exploration_finish(tsr_exploration_t *x, tsr_explorer_end_t end);

/**
 * Notes an ordered access, which was made in that epoch and has left `value`,
 * for the warning of load buffering; a fence; and that all so far is over.
 */
void tsr_buffering_note(tsr_exploration_t *x, uint32_t operation, const tsr_views_access_t *access,
			bool wrote, uint64_t object, tsr_epoch_t epoch, uint64_t value);
void tsr_buffering_fence(tsr_exploration_t *x, tsr_views_order_t order, tsr_views_scope_t scope);
void tsr_buffering_settle(tsr_exploration_t *x);
void tsr_buffering_free(tsr_buffering_t *buffering);

/* --------------------------------------------------------------- pointers that are dereferenced */

/**
 * From the one to the other, who dereferences an address of a heap is caught.
 * Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_guard_begin(tsr_exploration_t *x);
void tsr_guard_end(tsr_exploration_t *x);

/** Reports what the machine has refused, the last error, which is no fault of a schedule's. */
void tsr_exploration_refused(tsr_exploration_t *x);

/**
 * From the one to the other, the command is told of code that does not come
 * back in time. A forked process begins anew.
 */
void tsr_hang_watch(tsr_exploration_t *x);
void tsr_hang_unwatch(tsr_exploration_t *x);

/** A fibre's body. Where it is caught, that is reported, and the schedule ends. */
void tsr_guard_run(tsr_exploration_t *x, void (*body)(void *ctx), void *ctx);

/**
 * Notes an ordered access, which has read what `from` wrote (0: nobody); and
 * what is done to an edge, by a task if it is by one.
 */
void tsr_links_access(tsr_exploration_t *x, uint32_t operation, bool wrote, uint32_t from);
void tsr_links_edge(tsr_exploration_t *x, tsr_step_kind_t kind, int task, const tsr_edge_t *edge,
		    const tsr_edge_t *other);

/**
 * The link of a race between `before` and what its second task does now: 2 and
 * 3 of the finding's accesses, where there is one.
 */
void tsr_links_tell(tsr_exploration_t *x, uint32_t before, uint32_t now, tsr_finding_t *finding);
void tsr_links_settle(tsr_exploration_t *x);
void tsr_links_free(tsr_links_t *links);

/* ------------------------------------------------------------------ schedules */

/**
 * In a schedule's process: whether an earlier schedule was a livelock at the
 * sites of `key`; and that this one is.
 */
bool tsr_exploration_knows(const tsr_exploration_t *x, uint64_t key);
void tsr_exploration_learn(tsr_exploration_t *x, uint64_t key);

/**
 * Sets the allocator up for schedules; before the program allocates anything
 * that schedules give back.
 */
void tsr_exploration_keep_memory(void);

/** Ends a schedule that has been accounted for: its process goes on with the next, or ends. */
_Noreturn void tsr_exploration_leave(tsr_exploration_t *x);

/** In a schedule's process: says how it went, and which comes next. */
void tsr_exploration_account(tsr_exploration_t *x, tsr_explorer_end_t end);

/**
 * Runs all schedules from here on; called by each fibre that is about to begin
 * its rank's first worker, as long as none has begun. They wait for each other
 * first. Returns in each schedule's process.
 */
void tsr_exploration_serve(tsr_exploration_t *x);

#endif

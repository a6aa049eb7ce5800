/*
 * The inside of an exploration. Only the files of this folder that implement it
 * use this header.
 */
#ifndef TESSERA_EXPLORE_EXPLORATION_STATE_H
#define TESSERA_EXPLORE_EXPLORATION_STATE_H

#include <setjmp.h>
#include <string.h>
#include <time.h>

#include "src/base/place.h"
#include "src/explore/areas.h"
#include "src/explore/exploration.h"
#include "src/explore/memory_mode.h"
#include "src/explore/passes.h"
#include "src/explore/process/rewind.h"
#include "src/explore/schedule/explorer.h"
#include "src/explore/shadow/shadow.h"
#include "src/explore/wire/options.h"
#include "src/explore/wire/protocol.h"

/* ------------------------------------------------------------ memory */

/** Rows of a heap that a rank has declared to write, in any rank's copy. */
typedef struct tsr_slab_rows {
	int rank;
	size_t begin; /* beginning of the allocation */
	size_t offset;
	tsr_rows_of_bytes_t rows;
	tsr_op_site_t site;
} tsr_slab_rows_t;

/** The last signal of a flag, for reports. The table drops old entries. */
enum { TSR_SIGNALS = 1024 };
typedef struct tsr_last_signal {
	uint64_t object;
	tsr_finding_access_t access;
} tsr_last_signal_t;

/**
 * The last ordered write of a word, for the trace. The table drops old entries.
 */
enum { TSR_WRITES = 1024 };
typedef struct tsr_last_write {
	uint64_t object, value;
	uint32_t operation;
} tsr_last_write_t;

/* ----------------------------------------------------------- what fibres do */

/**
 * A fibre's call of the API, for reports. Its number is the shadow's operation
 * and the views' site.
 */
typedef struct tsr_operation {
	int task;
	tsr_op_site_t site;
	tsr_finding_kind_t kind;
	tsr_views_order_t order;
	tsr_views_scope_t scope;
	tsr_epoch_t epoch; /* epoch of its thread */
	int area;          /* the area that it accessed last; -1: none */
	size_t offset, bytes;
} tsr_operation_t;

/** The state of a fibre. */
enum { TSR_RECENT_LOADS = 16 };

/**
 * The scopes at which something acquires and releases; TSR_VIEWS_THREAD: not at
 * all.
 */
typedef struct tsr_reach {
	tsr_views_scope_t acquires, releases;
} tsr_reach_t;

/**
 * Values that a load can have read, given how the fibre continued. A
 * compare-and-swap has read one value, or any but one.
 */
typedef struct tsr_readable {
	/* only: it succeeded and has read `value`; but: it failed and has not read it; neither: any
	 * value */
	bool only, but;
	uint64_t value;
} tsr_readable_t;

/** A load that a later store of the same fibre may overtake. */
typedef struct tsr_recent_load {
	uint64_t object;
	uint32_t operation;
	tsr_epoch_t epoch;
	tsr_reach_t reach; /* of the load, and of the fences after it */
	tsr_readable_t readable;
	bool awaited; /* it ended a wait: all that the fibre does later hangs on it */
	bool unread;  /* it is an ADD that discards what it found */
} tsr_recent_load_t;

/** Such a load, and the store: buffering.c. */
typedef struct tsr_load_store {
	uint64_t loaded, stored; /* objects */
	uint32_t load, store;    /* operations */
	int thread;
	tsr_epoch_t epoch; /* epoch of the load */
	tsr_reach_t reach; /* of the load, of the store, and of the fences between them */
	tsr_readable_t readable;
	bool awaited;   /* the load ended a wait */
	bool unread;    /* the load is an ADD that discards what it found */
	uint64_t value; /* the stored value */
	bool values;    /* equal pairs have stored other values */
	size_t clock;   /* index in tsr_buffering_t of the thread's clock at the store */
	int clock_count;
	int next, next_own, next_loading; /* next pairs in the same buckets; -1: none */
} tsr_load_store_t;

enum {
	TSR_PAIR_BUCKETS = 256,
	TSR_CIRCLE_BUCKETS = 4096,
	TSR_MOST_CIRCLE = TSR_FINDING_ACCESSES / 2
};
typedef struct tsr_buffering {
	tsr_load_store_t *pairs;
	int pair_count, pair_room;
	/* by the loaded and the stored object: 1 + first pair; 0: empty */
	int bucket[TSR_CIRCLE_BUCKETS];
	int own[TSR_CIRCLE_BUCKETS];   /* by these and the thread */
	int loading[TSR_PAIR_BUCKETS]; /* by the loaded object */
	bool weak;                     /* at least one pair does not synchronise with all others */
	tsr_epoch_t *clocks;
	size_t clock_count, clock_room;
} tsr_buffering_t;

/** A step that can hand on what was done before it: links.c. */
typedef enum tsr_step_kind {
	TSR_STEP_WRITE, /* ordered accesses */
	TSR_STEP_READ,
	TSR_STEP_GIVE, /* order without accesses */
	TSR_STEP_TAKE,
	TSR_STEP_JOIN,
	TSR_STEP_DROP
} tsr_step_kind_t;

typedef struct tsr_step {
	tsr_step_kind_t kind;
	int task;
	/* the access; for an edge the last operation that any task has begun */
	uint32_t operation;
	uint32_t from; /* for a read: the operation that wrote the value */
	/* what was read or written, and was there before; what a wait wants at least, else 0 */
	uint64_t value, before, wanted;
	const tsr_edge_t *edge, *other; /* for a join: `other` is joined into `edge` */
} tsr_step_t;

typedef struct tsr_links {
	tsr_step_t *steps;
	int count, room;
	uint32_t latest; /* the latest operation */
} tsr_links_t;

/**
 * A wait for flags in progress. Plain writes to its flags are races, but they
 * can end it.
 */
typedef struct tsr_flag_watch {
	struct tsr_flag_watch *next, **link; /* the link that points here */
	uint64_t object;                     /* object of the first flag */
	int area;
	size_t offset, bytes;
	const tsr_flag_wait_t *wait; /* the caller's */
	uint32_t operation;          /* operation of the wait */
} tsr_flag_watch_t;

/** What the rank that a wait names did raise: raised.c. Operations; 0: none. */
enum { TSR_RAISED = 4 };
typedef struct tsr_raised {
	const tsr_flag_watch_t *watch;
	uint32_t operation[TSR_RAISED]; /* the last of each of the last words */
	int count;
	uint32_t same;   /* the last that raised this very flag */
	uint32_t astray; /* one that nobody waits for, and that may be meant for the wait */
} tsr_raised_t;

/** Room for the advice of a finding. */
typedef struct tsr_advice_text {
	char missing[2048], change[2048];
} tsr_advice_text_t;

/**
 * A kernel's call of a collective. Offsets are in the caller's heap. The table
 * drops old entries.
 */
enum { TSR_COLLECTIVES = 256 };
typedef struct tsr_collective_call {
	bool used;
	size_t state, to;
	uint64_t round, size_bytes, how;
	int root;
	/* teams may use the same offset in their own ranks' heaps, and have nothing to do with each
	 * other */
	uint64_t team;
	tsr_finding_access_t access;
} tsr_collective_call_t;

/**
 * The last load of a kernel that has seen an old value. It has its own copy of
 * the names, because the allocations may end. `stored`: what its thread has
 * stored just before; no call: it has done something else.
 */
typedef struct tsr_stale_load {
	tsr_finding_access_t access, stored;
	char allocation[TSR_PIECE_NAME], stored_allocation[TSR_PIECE_NAME];
} tsr_stale_load_t;

/** A copy, or a piece of one. `rows` has the pitch of the source. */
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
	int thread; /* number in the views */
	int cached; /* number in the cache machine, if there is one */
	/* the current read and the current write; reused while call and epoch stay the same */
	uint32_t operation[2];
	bool acting[2];   /* whether they are valid */
	const void *coop; /* the coop that makes the current call, and the call's number */
	uint32_t call;
	bool apart;
	tsr_late_t *late; /* pieces to be moved when the coop meets */
	int late_count, late_room;
	tsr_unmet_t *unmet;
	int unmet_count, unmet_room;
	tsr_op_site_t loop;                        /* whose passes it makes; without a call: none */
	tsr_recent_load_t loads[TSR_RECENT_LOADS]; /* ring of the last loads */
	uint32_t load_count;
	tsr_collective_call_t collective; /* the last one */
	void (*body)(void *ctx);
	void *ctx;
	sigjmp_buf *begin;              /* beginning of the body: guard.c */
	int first_worker, other_worker; /* of a worker: its block's first task, and second */
	char *said;                     /* last sentence of a host that has failed */
} tsr_actor_t;

typedef struct tsr_guard tsr_guard_t;

/** Watches for code that does not return: hang.c. */
typedef struct tsr_hang {
	timer_t timer;
	bool watched;
	bool asked;     /* it has interrupted once */
	uint64_t steps; /* number of steps at that time */
} tsr_hang_t;

typedef enum tsr_phase {
	TSR_PHASE_PREFIX,   /* before the first kernel; one run for all schedules */
	TSR_PHASE_SCHEDULE, /* in the process of a schedule */
	TSR_PHASE_SERVED    /* all schedules have run */
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
	struct tsr_cached *cached; /* null: values are those of the views */

	tsr_actor_t *actors; /* indexed by task */
	int actor_room;
	tsr_operation_t *operations; /* indexed by number; 0 is none */
	uint32_t operation_room;
	tsr_area_t *areas; /* the heaps first, by rank */
	int area_count, area_room;
	int last_area;
	struct tsr_shown *windows; /* list: guard.c */
	tsr_slab_rows_t *slabs;
	int slab_count, slab_room;
	tsr_last_signal_t *signals; /* TSR_SIGNALS entries, by object */
	/* TSR_COLLECTIVES entries, by state and round: the first caller */
	tsr_collective_call_t *collectives;
	tsr_flag_watch_t *watches; /* list; its elements are the waiting fibres' */
	/* range that contains all watched bytes, in whatever area */
	size_t watched_begin, watched_end;
	tsr_last_write_t writes[TSR_WRITES]; /* by object */
	tsr_buffering_t buffering;
	tsr_links_t links;
	char **names; /* texts of tsr_exploration_name */
	int name_count, name_room;
	uint64_t *sent; /* keys of the findings that were sent */
	int sent_count, sent_room;
	bool failed; /* at least one of them is no warning */
	tsr_stale_load_t stale;
	tsr_op_site_t loop_apart; /* the last loop that has left locals of one thread; or no call */

	tsr_exploration_rank_fn rank;
	void *rank_ctx;
	int *codes; /* exit codes of the ranks */
	/* places of the hosts that do not run; the running host's is in tsr_place_here */
	tsr_place_t *places;
	int workers; /* number of live workers */
	/* a worker ended while blocks waited for room: the order of ends decides when they begin */
	bool crowded;
	bool inserted;            /* a write was inserted before an existing one */
	bool split_asked, splits; /* whether it was chosen yet that blocks split, and what */
	bool touched;             /* there were accesses since the shadow was settled */
	/* largest number of bytes allocated at one time, including shared memory */
	uint64_t heap_bytes;
	struct tsr_handback *handback; /* in a schedule's process: results for the server */
	tsr_guard_t *guard;            /* while fibres run */
	tsr_hang_t hang;
	/* in a schedule's process; null if the process runs only one schedule */
	tsr_rewind_t *rewind;
	/* what a schedule's program printed to stderr; -1: not kept */
	int said_fd;
	tsr_exploration_unbegun_fn unbegun[TSR_MAX_RANKS];
	void *unbegun_ctx[TSR_MAX_RANKS];
};

/** The state of the running fibre. */
tsr_actor_t *tsr_actor(tsr_exploration_t *x);

/**
 * tsr_area_find for bytes that the caller accesses at `site`. They must be in shared
 * memory, or in one allocation; otherwise reports that and ends the schedule.
 */
void tsr_exploration_place(tsr_exploration_t *x, const tsr_op_site_t *site, const void *at,
			   size_t bytes, int *area_out, size_t *offset_out);

/**
 * The object of the hosts' waits for work on a rank's device. The object of all
 * ranks' rounds comes before the first.
 */
static inline uint64_t tsr_device_object(int rank)
{
	return UINT64_C(1) << 63 | (uint64_t)(rank + 1);
}

/** The identity of a task, as findings have it. */
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

/** A number for a block that is the same in every run. */
static inline uint64_t tsr_block_number(const tsr_task_who_t *who)
{
	return ((uint64_t)(who->launch + 1) * TSR_MAX_RANKS + (uint64_t)who->rank) << 16 |
	       (uint64_t)(uint32_t)who->block;
}

/* ------------------------------------------------------------ operations */

/**
 * The program's call that the host of a rank is in, and its place; if unknown,
 * `call`.
 */
tsr_source_t tsr_place_of_host(const tsr_exploration_t *x, int rank, const char *call);

/**
 * Returns `said`. If the caller is a host, fills `room` with the program's call
 * that it is in and its place, and returns that.
 */
const tsr_op_site_t *tsr_placed(const tsr_exploration_t *x, const tsr_op_site_t *said,
				tsr_op_site_t *room);

/** The explorer switches from one task to another: swaps the hosts' places. */
void tsr_places_switch(void *context, int from, int to);

/**
 * The number of the caller's operation at `said`: the current one if it is the
 * same call in the same epoch.
 */
uint32_t tsr_operation_at(tsr_exploration_t *x, const tsr_op_site_t *said, tsr_finding_kind_t kind,
			  tsr_views_order_t order, tsr_views_scope_t scope);

/** The fibre's epoch has changed: its next access is a new operation. */
void tsr_actor_epoch(tsr_actor_t *actor);

/** Notes the bytes that an operation accesses. */
void tsr_operation_touch(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
			 size_t bytes);

/** Fills in an access from an operation that accessed these bytes. */
void tsr_operation_tell(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
			size_t bytes, tsr_finding_access_t *out);

/**
 * Performs an ordered access after its wait or its scheduling point. Returns
 * the old value.
 */
uint64_t tsr_exploration_act_now(tsr_exploration_t *x, uint32_t operation,
				 const tsr_views_access_t *access, int area, size_t offset,
				 size_t bytes, int choice, uint64_t begin);

/**
 * After a plain write of these bytes: fibres that wait for a flag among them
 * look again.
 */
void tsr_waits_wake(tsr_exploration_t *x, int area, size_t offset, const tsr_rows_of_bytes_t *rows);

/**
 * Moves bytes for a coop in pieces, some of which are late; they are reported
 * as one access. Returns false if the caller must move everything at once.
 */
bool tsr_pieces_move(tsr_exploration_t *x, uint32_t operation, const tsr_move_t *move,
		     tsr_shadow_found_t found_out[2], tsr_status_t *status_out);

/** The caller's coop meets, or ends: moves the late pieces. */
tsr_status_t tsr_pieces_end(tsr_exploration_t *x);

/* ------------------------------------------------------------ traces */

/** The time of events: the number of steps of the schedule so far. */
uint64_t tsr_trace_now(const tsr_exploration_t *x);

/**
 * Ends an operation that began at `begin`: sends its event if a trace is
 * wanted.
 */
void tsr_trace_operation(tsr_exploration_t *x, uint32_t operation, uint64_t begin, uint64_t value,
			 bool wrote, bool read);

/* ------------------------------------------------------------ findings */

/** Sends a finding, at most once in a schedule. */
void tsr_exploration_found(tsr_exploration_t *x, tsr_finding_t *finding);

/**
 * Reports an earlier access of the same coop that nothing orders with this one,
 * if there is one.
 */
void tsr_exploration_judge_unmet(tsr_exploration_t *x, uint32_t operation, int area, bool wrote,
				 const tsr_shadow_unmet_t *unmet);

/** Reports what the shadow found about an access. */
void tsr_exploration_judge(tsr_exploration_t *x, uint32_t operation, int area, bool wrote,
			   const tsr_shadow_found_t *found);

/** Checks that the caller's write stays within what its rank has declared. */
void tsr_slab_check(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
		    const tsr_rows_of_bytes_t *rows);

/**
 * The allocation at `begin` has ended: forgets what ranks have declared for it.
 */
void tsr_slabs_forget(tsr_exploration_t *x, size_t begin);

/**
 * No task can run: finds two collective calls in which ranks wait, each of
 * which the other rank does not make.
 */
bool tsr_collectives_apart(const tsr_exploration_t *x, const tsr_stuck_t *stuck,
			   const tsr_collective_call_t *pair_out[2]);

/**
 * An access without a number: the caller is at `said` and does not continue.
 */
tsr_finding_access_t tsr_access_at(tsr_exploration_t *x, const tsr_op_site_t *said);

/** Reports how a run ended, and how its ranks did. */
void tsr_exploration_finish(tsr_exploration_t *x, tsr_explorer_end_t end);

/**
 * For the warning of load buffering: notes an ordered access, made in this
 * epoch, that has left `value`; a fence; and that all accesses so far are over.
 */
void tsr_buffering_note(tsr_exploration_t *x, uint32_t operation, const tsr_views_access_t *access,
			bool wrote, uint64_t object, tsr_epoch_t epoch, uint64_t value);
void tsr_buffering_fence(tsr_exploration_t *x, tsr_views_order_t order, tsr_views_scope_t scope);
void tsr_buffering_settle(tsr_exploration_t *x);
void tsr_buffering_free(tsr_buffering_t *buffering);

/* ---------------------------------------------------- dereferenced pointers */

/**
 * Between these two calls, code that dereferences an address of a heap is
 * caught. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_guard_begin(tsr_exploration_t *x);
void tsr_guard_end(tsr_exploration_t *x);

/**
 * Reports an error of the machine itself (the last error), which is no fault of
 * a schedule.
 */
void tsr_exploration_refused(tsr_exploration_t *x);

/**
 * Between these two calls, the command is told of code that does not return in
 * time. A forked process must begin anew.
 */
void tsr_hang_watch(tsr_exploration_t *x);
void tsr_hang_unwatch(tsr_exploration_t *x);

/**
 * Runs a fibre's body. If it dereferences a heap address or leaves its stack,
 * reports that and ends the schedule.
 */
void tsr_guard_run(tsr_exploration_t *x, void (*body)(void *ctx), void *ctx);

/**
 * Finds what the rank that a wait names has raised. Returns whether one of these
 * signals may be meant for the wait.
 */
bool tsr_raised_find(tsr_exploration_t *x, const tsr_flag_watch_t *watch, tsr_raised_t *out);

/** Lists it in the finding and, where one may be meant, says so in its advice, in `text`. */
void tsr_raised_tell(tsr_exploration_t *x, const tsr_raised_t *raised, tsr_advice_text_t *text,
		     tsr_finding_t *finding);

/**
 * Whether a write that races with a read is that of a later round: the reader
 * knows the write that its own round has.
 */
bool tsr_rounds_reused(const tsr_exploration_t *x, uint32_t write, uint32_t read);

/** The same access in the round before; 0: there is none. */
uint32_t tsr_rounds_previous(const tsr_exploration_t *x, uint32_t number);

/**
 * Whether the write waited for a counter that other blocks had raised for the
 * reader's; says so: accesses 2 and 3 of the finding, and its advice in `text`.
 */
bool tsr_rounds_tell(tsr_exploration_t *x, uint32_t write, uint32_t read, tsr_advice_text_t *text,
		     tsr_finding_t *finding);

/** The wait has ended: warns if the rank that it names has never raised its flag. */
void tsr_raised_by_another(tsr_exploration_t *x, const tsr_flag_watch_t *watch);

/* ------------------------------------------------------------ schedules */

/**
 * In a schedule's process: whether an earlier schedule was a livelock at the
 * sites of `key`, and a note that this one is.
 */
bool tsr_exploration_knows(const tsr_exploration_t *x, uint64_t key);
void tsr_exploration_learn(tsr_exploration_t *x, uint64_t key);

/**
 * Prepares the allocator for schedules. Call it before the program allocates
 * memory that schedules release.
 */
void tsr_exploration_keep_memory(void);

/**
 * Ends a schedule whose result was reported: its process continues with the
 * next one, or ends.
 */
_Noreturn void tsr_exploration_leave(tsr_exploration_t *x);

/** In a schedule's process: reports the result, and gets the next schedule. */
void tsr_exploration_account(tsr_exploration_t *x, tsr_explorer_end_t end);

/**
 * Runs all schedules from here on. Each fibre calls it before it starts its
 * rank's first worker, as long as none has started. The fibres wait for each
 * other first. Returns in each schedule's process.
 */
void tsr_exploration_serve(tsr_exploration_t *x);

#endif

/*
 * The explorer: runs tasks as fibres on one thread, one at a time, as a
 * strategy chooses. It knows which task waits, and for what. When no task can
 * run, it reports who waits for whom.
 *
 *   Task:       a rank's host program, or a worker of a block: a fibre with a
 *               number, from 0 in the order of tsr_explorer_spawn. Numbers are
 *               never reused.
 *   Point:      the place just before an ordered operation. Only there, in
 *               awaits and at its end does a task let another one run. What a
 *               task does between two points is one step.
 *   Await:      a task does not continue before a condition holds: the wait for
 *               a flag, a meeting, a collective, a stream, an event.
 *   Object:     what operations access and awaits wait for: a location, a
 *               meeting, a collective. The caller numbers them (strategy.h). A
 *               task that changes what an await looks at wakes its object.
 *
 * The caller's part, around each ordered operation of a task:
 *
 *     tsr_explorer_point(explorer, &pending);       // other tasks may run here
 *     choice = tsr_explorer_choose(explorer, TSR_CHOICE_MESSAGE,
 *                                  tsr_views_choices(...));
 *     tsr_views_act(..., choice, &event);
 *     tsr_explorer_acted(explorer, &acted);         // wakes, digest, spinning
 *
 * A wait for a flag is the same with tsr_explorer_await in place of the point.
 *
 * No choice depends on an address, a clock or the order of a hash table: the
 * same strategy gives the same run everywhere. A forked process has a copy of
 * all tasks, even if one of them forks (not under ThreadSanitizer, which treats
 * fibres as threads).
 *
 * Called by:  one thread for each explorer. "In a task" means on a task's
 *             fibre; "outside" means where tsr_explorer_run is called.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_EXPLORER_H
#define TESSERA_EXPLORE_SCHEDULE_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explore/schedule/strategy.h"
#include "tessera/status.h"

typedef struct tsr_explorer tsr_explorer_t;

/* ------------------------------------------------------------ tasks */

typedef enum tsr_task_kind { TSR_TASK_HOST, TSR_TASK_WORKER } tsr_task_kind_t;

/**
 * The identity of a task, for reports. The kernel's name lives as long as the
 * explorer.
 */
typedef struct tsr_task_who {
	int rank;
	tsr_task_kind_t kind;
	int launch;         /* launch of its rank, from 0; -1: a host */
	const char *kernel; /* null: a host */
	int block, worker;
	const char *team; /* the team whose ranks the kernel sees; null: the world */
	int team_rank;    /* rank in that team */
} tsr_task_who_t;

typedef void (*tsr_task_fn)(void *context);

enum { TSR_STACK_HOST_BYTES = 1 << 20, TSR_STACK_WORKER_BYTES = 256 << 10, TSR_NO_TASK = -1 };

/** A block that waits for room, as the code that makes launches reports it. */
typedef struct tsr_unbegun {
	tsr_task_who_t who;   /* the block's first worker */
	const int *waits_for; /* tasks whose end would make room */
	int count;
} tsr_unbegun_t;

typedef void (*tsr_unbegun_fn)(void *argument, const tsr_unbegun_t *block);

typedef struct tsr_explorer_config {
	tsr_strategy_t *strategy; /* not owned; null: always the default */
	uint64_t step_bound;      /* steps after which a run ends; 0: no limit */
	/* reads of the same value at one site that make a task a spinner; 0: 16 */
	int spin_bound;
	/* reports the blocks that wait for room; may be null */
	void (*unbegun)(void *context, tsr_unbegun_fn tell, void *argument);
	/* called before each switch; outside is TSR_NO_TASK; may be null */
	void (*switched)(void *context, int from, int to);
	/* called when only spinners can run: makes late writes visible to others. Returns true if
	 * there were any; awaits and spinners then look again. May be null: nothing is late */
	bool (*late)(void *context);
	/* whether a run with this tsr_explorer_livelock was seen before; this one then ends early.
	 * May be null: none was seen */
	bool (*known)(void *context, uint64_t key);
	void *context;
} tsr_explorer_config_t;

/** Creates an explorer. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_explorer_create(const tsr_explorer_config_t *config,
				 tsr_explorer_t **explorer_out);

/**
 * tsr_fibres_share for tasks with such stacks. Called outside, once, before the
 * first of them.
 */
void tsr_explorer_share(tsr_explorer_t *explorer, size_t stack_bytes, int count);

/**
 * Destroys the explorer. Called outside. Tasks that have not ended are
 * abandoned: their stacks are freed, but not what they hold. Null is allowed.
 */
void tsr_explorer_destroy(tsr_explorer_t *explorer);

/**
 * Uses another strategy from the next choice on; null is the default. In a task
 * or outside. A forked child starts its seed with it.
 */
void tsr_explorer_use(tsr_explorer_t *explorer, tsr_strategy_t *strategy);

/**
 * Adds a task, which can run from now on. In a task or outside; the caller
 * continues.
 * @param stack_bytes  0: the default of its kind.
 * Errors:     TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_explorer_spawn(tsr_explorer_t *explorer, const tsr_task_who_t *who,
				tsr_task_fn body, void *context, size_t stack_bytes, int *task_out);

/** tsr_fibres_fork. */
bool tsr_explorer_forks(void);

/**
 * Adds a task that goes on from here as the running one does, in a copy of its
 * frames (tsr_fibre_fork): nothing outside may have an address in these. Returns
 * twice: to the running task, with the new one in `*task_out`, and with
 * `*forked_out` set in the new one when it first runs. What awaits give as
 * context is in no frame of either from now on.
 * Errors:     as tsr_fibre_fork.
 */
tsr_status_t tsr_explorer_fork(tsr_explorer_t *explorer, const tsr_task_who_t *who, int *task_out,
			       bool *forked_out);

/** The running task, or TSR_NO_TASK outside; and its context, or null. */
int tsr_explorer_self(const tsr_explorer_t *explorer);
void *tsr_explorer_context(const tsr_explorer_t *explorer);

/** tsr_fibre_overflows for the running task. */
bool tsr_explorer_overflows(const tsr_explorer_t *explorer, const void *stack_pointer,
			    const void *touched);

/**
 * The last operation or await that the running task has announced; its call is
 * null if there is none. May be called in a signal handler.
 */
tsr_source_t tsr_explorer_last(const tsr_explorer_t *explorer);

/** Also for tasks that have ended. */
const tsr_task_who_t *tsr_explorer_who(const tsr_explorer_t *explorer, int task);
bool tsr_explorer_ended(const tsr_explorer_t *explorer, int task);
int tsr_explorer_tasks(const tsr_explorer_t *explorer); /* number of tasks so far */
int tsr_explorer_live(const tsr_explorer_t *explorer);  /* number of tasks that have not ended */

/* ------------------------------------------------------------ runs */

typedef enum tsr_explorer_end {
	TSR_EXPLORER_DONE,    /* all tasks have ended */
	TSR_EXPLORER_STUCK,   /* no task can run; see tsr_explorer_stuck */
	TSR_EXPLORER_BOUND,   /* step_bound is reached; see tsr_explorer_stuck */
	TSR_EXPLORER_PRUNED,  /* by the strategy */
	TSR_EXPLORER_STOPPED, /* by tsr_explorer_stop */
	TSR_EXPLORER_FAILED   /* no memory */
} tsr_explorer_end_t;

/**
 * Runs until all tasks have ended, or one of the other ends is reached. Called
 * outside. May be called again after tasks were added.
 */
tsr_explorer_end_t tsr_explorer_run(tsr_explorer_t *explorer);

/** Ends the run here; the task does not continue. In a task only. */
_Noreturn void tsr_explorer_stop(tsr_explorer_t *explorer);

/**
 * After a run with another end than DONE: lets the tasks end by themselves,
 * like a program whose world was aborted. Every await, including those in
 * progress, returns TSR_AWAIT_ENDED, and nothing is chosen. Runs at most
 * `steps` steps. Returns true if all tasks have ended. Called outside.
 */
bool tsr_explorer_unwind(tsr_explorer_t *explorer, uint64_t steps);

/* ---------------------------------------------------- in a task: operations */

/**
 * A scheduling point: the strategy may let other tasks run before it returns.
 * `pending` is not read after that. A task spins if it reads the same value at
 * the same line of `site` spin_bound times and changes nothing; it continues only
 * when no other task can, or when an object that it has read changes. It also
 * spins if it does 16 * spin_bound operations while memory has no new state, as
 * in a loop that locks, looks and unlocks; it then continues only when no other
 * task can, or when memory has a new state. If only spinners are left, they take
 * turns; after 2^16 steps without a new state they never will change anything.
 */
void tsr_explorer_point(tsr_explorer_t *explorer, const tsr_pending_t *pending);

/** The effect of the operation that the last point or await announced. */
typedef struct tsr_acted {
	/* the message of its object that it read, or else wrote; numbers are equal in equivalent
	 * runs */
	uint64_t message;
	bool wrote;
	/* the object's value differs from before; writing the same value again is no progress */
	bool changed;
} tsr_acted_t;

/**
 * The value of an object, before and after the running task's operation. Called
 * before tsr_explorer_acted, where that says that something has changed; else
 * memory counts as being in a new state.
 */
void tsr_explorer_value(tsr_explorer_t *explorer, uint64_t object, uint64_t before, uint64_t after);

/** Something has changed that is no object, as plain memory. In a task or outside. */
void tsr_explorer_news(tsr_explorer_t *explorer);

/**
 * Called after an operation has acted, before the next point; not after an
 * await that expired. Without this call, an operation whose kind writes counts
 * as a change of its objects.
 */
void tsr_explorer_acted(tsr_explorer_t *explorer, const tsr_acted_t *acted);

/**
 * Makes a choice below n that is part of the running task's step. For a
 * spinner, TSR_CHOICE_MESSAGE is always the newest and TSR_CHOICE_CACHE the
 * default, because the value that it waits for must arrive in the end.
 */
int tsr_explorer_choose(tsr_explorer_t *explorer, tsr_choice_t kind, int n);

/**
 * The condition of awaits on this object may have changed: they look again. In
 * a task or outside. Operations wake their own objects.
 */
void tsr_explorer_wake(tsr_explorer_t *explorer, uint64_t object);

/* ------------------------------------------------------- in a task: waiting */

typedef enum tsr_await_kind {
	TSR_AWAIT_FLAG,       /* a wait of the device API */
	TSR_AWAIT_MEETING,    /* the workers of a block, or a barrier of ranks in a kernel */
	TSR_AWAIT_COLLECTIVE, /* a call that all ranks make */
	TSR_AWAIT_STREAM,
	TSR_AWAIT_EVENT,
	TSR_AWAIT_RESIDENCY, /* room for a block */
	TSR_AWAIT_CUSTOM,
	TSR_AWAIT_SPIN /* only in reports: a polling loop of the program */
} tsr_await_kind_t;

/** Something for which a waiting task waits. */
typedef struct tsr_blocker {
	enum {
		TSR_BLOCKER_TASK, /* number: the task; the one that waits: it waits for nobody */
		TSR_BLOCKER_RANK, /* number: a rank; any of its live tasks */
		/* number: a rank; any of its live workers, and its blocks that have not begun */
		TSR_BLOCKER_WORKERS,
		/* any live worker, and blocks that have not begun; not hosts, because a waiting
		 * host signals nobody */
		TSR_BLOCKER_ANYBODY
	} kind;
	int number;
} tsr_blocker_t;

typedef void (*tsr_blocker_fn)(void *argument, tsr_blocker_t blocker);

typedef enum tsr_deadline {
	TSR_DEADLINE_NONE,
	TSR_DEADLINE_LAST, /* expires only when no other task can run */
	TSR_DEADLINE_ANY   /* may also expire by choice of the strategy (TSR_CHOICE_EXPIRE) */
} tsr_deadline_t;

typedef enum tsr_awaited { TSR_AWAIT_OK, TSR_AWAIT_EXPIRED, TSR_AWAIT_ENDED } tsr_awaited_t;

/**
 * A wait. Its callbacks may be called at any time until the await returns, on
 * any fibre. They must not change anything. The context of a task that may fork
 * is in none of its frames.
 */
typedef struct tsr_await {
	tsr_await_kind_t kind;
	/* the operation after the wait; its objects are those that `ready` looks at */
	tsr_pending_t pending;
	tsr_deadline_t deadline;
	bool (*ready)(const void *context);
	/* Whether it is ready because of the last write to its objects, and would not be without
	 * that. May be null, and may return false although it is so; a search then tries impossible
	 * orders. */
	bool (*forced)(const void *context);
	/* "flag 'ready'[3] >= 2, last seen 1" */
	void (*describe)(const void *context, char *sentence, size_t bytes);
	/* null, or reports nothing: unknown */
	void (*blockers)(const void *context, tsr_blocker_fn tell, void *argument);
	const void *context;
} tsr_await_t;

/**
 * Waits until `ready` holds. It is a scheduling point even if `ready` holds at
 * once. When it returns TSR_AWAIT_OK, `ready` holds, and no other task has run
 * since it was checked.
 */
tsr_awaited_t tsr_explorer_await(tsr_explorer_t *explorer, const tsr_await_t *await);

/* --------------------------------------------------------- results of a run */

typedef struct tsr_explorer_counts {
	uint64_t steps, switches, choices; /* of the strategy in use */
	int tasks, most_live;
	size_t stack_bytes; /* mapped, not necessarily touched */
} tsr_explorer_counts_t;

tsr_explorer_counts_t tsr_explorer_count(const tsr_explorer_t *explorer);

/**
 * The identity of a run: for each object the order of the operations on it,
 * with reads between two writes unordered; and the order of seq_cst operations.
 * Runs that differ only in the order of independent operations have the same
 * digest.
 */
void tsr_explorer_digest(const tsr_explorer_t *explorer, uint64_t digest_out[2]);

/**
 * For a run that has ended because only spinners were left, or at the limit of
 * steps: a key made from the sites of all tasks, some time before that end.
 * Digest and counts then describe that time. So a run that ends there early,
 * because its livelock is known, is described like one that continues to the
 * limit. Returns false for all other runs.
 */
bool tsr_explorer_livelock(const tsr_explorer_t *explorer, uint64_t *key_out);

/**
 * Resets the digest and the counts of steps and switches, because a forked
 * child's run begins at the fork.
 */
void tsr_explorer_begin(tsr_explorer_t *explorer);

/* ----------------------------------------------------- when no task can run */

typedef enum tsr_stuck_class {
	TSR_STUCK_DEADLOCK,    /* tasks wait for each other in a cycle */
	TSR_STUCK_LOST_SIGNAL, /* a task waits for something that no live task can give */
	/* a task waits for a block that has no room, because the waiting blocks occupy it */
	TSR_STUCK_RESIDENCY,
	TSR_STUCK_LIVELOCK /* a task runs for ever and changes nothing */
} tsr_stuck_class_t;

enum { TSR_STUCK_SENTENCE_BYTES = 200 };

typedef struct tsr_stuck_node {
	int task; /* TSR_NO_TASK: a block that has not begun */
	tsr_task_who_t who;
	tsr_await_kind_t kind;
	tsr_source_t site;
	char sentence[TSR_STUCK_SENTENCE_BYTES]; /* what it waits for; empty if unknown */
	bool root;                               /* no live task can end its wait */
} tsr_stuck_node_t;

typedef struct tsr_stuck_edge {
	int from, to; /* nodes: `from` waits for `to` */
} tsr_stuck_edge_t;

/** The wait-for graph. */
typedef struct tsr_stuck {
	tsr_stuck_class_t class;
	tsr_stuck_node_t *node;
	tsr_stuck_edge_t *edge; /* sorted by from and to */
	/* nodes, each waiting for the next and the last one for the first; or a path from the first
	 * to a root */
	int *cycle;
	int nodes, edges, cycle_count;
} tsr_stuck_t;

/**
 * The wait-for graph after a run that ended as STUCK or BOUND; allocated.
 * Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_explorer_stuck(const tsr_explorer_t *explorer, tsr_stuck_t **stuck_out);
void tsr_stuck_destroy(tsr_stuck_t *stuck);

/** "deadlock", "lost-signal", "residency", "livelock". */
const char *tsr_stuck_name(tsr_stuck_class_t stuck);

#endif

/*
 * The explorer: tasks as fibres on one thread, of which it runs one at a time,
 * as a strategy chooses. It knows when each waits and for what, and where
 * nobody can go on it says who waits for whom.
 *
 *   Task       a rank's host program, or a worker of a block: a fibre with a
 *              number, from 0 in the order of tsr_explorer_spawn. Numbers are
 *              never used again.
 *   Point      just before an ordered operation: the only place, beside awaits
 *              and ends, where another task may go on. What a task does between
 *              two points is one step.
 *   Await      a task does not go on before a condition holds: the wait for a
 *              flag, a meeting, a collective, a stream, an event.
 *   Object     what operations touch and awaits wait for: a location, a
 *              meeting, a collective, as a number of the caller's choice
 *              (strategy.h). Who changes what an await looks at wakes its
 *              object.
 *
 * The integrator's part, around each ordered operation of a task:
 *
 *     tsr_explorer_point(explorer, &pending);                          others
 *       may run here
 *     choice = tsr_explorer_choose(explorer, TSR_CHOICE_MESSAGE,
 *     tsr_views_choices(...));
 *     tsr_views_act(..., choice, &event);
 *     tsr_explorer_acted(explorer, &acted);                            what it
 *       did: wakes, digest, spinning
 *
 * and a wait for a flag is the same with tsr_explorer_await in the place of the
 * point.
 *
 * No choice depends on an address, a clock or the order of a hash table: the
 * same strategy gives the same run everywhere. A process that forks takes its
 * tasks along, also from within one of them (not under ThreadSanitizer, which
 * takes fibres for threads).
 *
 * Called by: one thread for each explorer. "In a task" means on the fibre of
 * one, "outside" where tsr_explorer_run was or could be called.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_EXPLORER_H
#define TESSERA_EXPLORE_SCHEDULE_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explore/schedule/strategy.h"
#include "tessera/status.h"

typedef struct tsr_explorer tsr_explorer_t;

/* ------------------------------------------------------------------ tasks */

typedef enum tsr_task_kind { TSR_TASK_HOST, TSR_TASK_WORKER } tsr_task_kind_t;

/** Who a task is, for reports. The name of the kernel lives as long as the explorer. */
typedef struct tsr_task_who {
	int rank;
	tsr_task_kind_t kind;
	int launch;         /* of its rank, from 0; -1: a host */
	const char *kernel; /* null: a host */
	int block, worker;
	const char *team; /* whose ranks the kernel sees; null: the world's */
	int team_rank;    /* in that team */
} tsr_task_who_t;

typedef void (*tsr_task_fn)(void *context);

enum { TSR_STACK_HOST_BYTES = 1 << 20, TSR_STACK_WORKER_BYTES = 256 << 10, TSR_NO_TASK = -1 };

/** What the explorer may ask whoever knows the launches. */
typedef struct tsr_unbegun {
	tsr_task_who_t who;   /* of the block's first worker */
	const int *waits_for; /* the tasks whose end would make room */
	int count;
} tsr_unbegun_t;

typedef void (*tsr_unbegun_fn)(void *argument, const tsr_unbegun_t *block);

typedef struct tsr_explorer_config {
	tsr_strategy_t *strategy; /* not owned; null: the default always */
	uint64_t step_bound;      /* steps after which a run ends; 0: no bound */
	/* reads of the same at one site that make a task a spinner; 0: 16 */
	int spin_bound;
	/* tells the blocks that wait for room; may be null */
	void (*unbegun)(void *context, tsr_unbegun_fn tell, void *argument);
	/* before each switch; outside is TSR_NO_TASK; may be null */
	void (*switched)(void *context, int from, int to);
	/* nobody can go on but who spins: what others have written and nobody sees yet becomes
	 * seen. True: some has, so that awaits and spinners look again. May be null: nothing is
	 * late */
	bool (*late)(void *context);
	/* whether a run with this tsr_explorer_livelock was one before: then this one ends early.
	 * May be null: none is known */
	bool (*known)(void *context, uint64_t key);
	void *context;
} tsr_explorer_config_t;

/** Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_explorer_create(const tsr_explorer_config_t *config,
				 tsr_explorer_t **explorer_out);

/** tsr_fibres_share for tasks with such stacks. Called outside, once, before the first of them. */
void tsr_explorer_share(tsr_explorer_t *explorer, size_t stack_bytes, int count);

/**
 * Called outside. Tasks that have not ended are abandoned: their stacks are
 * freed, what they hold is not. Null is no explorer.
 */
void tsr_explorer_destroy(tsr_explorer_t *explorer);

/**
 * Another strategy from the next choice on, and null for the default; in a task
 * or outside. A forked child begins its seed with it.
 */
void tsr_explorer_use(tsr_explorer_t *explorer, tsr_strategy_t *strategy);

/**
 * A new task, which can run from now on; in a task or outside. The caller goes
 * on.
 * @param stack_bytes  0: the default of its kind.
 * Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_explorer_spawn(tsr_explorer_t *explorer, const tsr_task_who_t *who,
				tsr_task_fn body, void *context, size_t stack_bytes, int *task_out);

/** The running task, or TSR_NO_TASK outside; its context, or null. */
int tsr_explorer_self(const tsr_explorer_t *explorer);
void *tsr_explorer_context(const tsr_explorer_t *explorer);

/** tsr_fibre_overflows for the running task. */
bool tsr_explorer_overflows(const tsr_explorer_t *explorer, const void *stack_pointer,
			    const void *touched);

/**
 * The last operation or await that the running task has announced; its call is
 * null where there is none. Also from a signal's handler.
 */
tsr_source_t tsr_explorer_last(const tsr_explorer_t *explorer);

/** Also of tasks that have ended. */
const tsr_task_who_t *tsr_explorer_who(const tsr_explorer_t *explorer, int task);
bool tsr_explorer_ended(const tsr_explorer_t *explorer, int task);
int tsr_explorer_tasks(const tsr_explorer_t *explorer); /* how many there have been */
int tsr_explorer_live(const tsr_explorer_t *explorer);  /* how many have not ended */

/* ------------------------------------------------------------------ runs */

typedef enum tsr_explorer_end {
	TSR_EXPLORER_DONE,    /* all tasks have ended */
	TSR_EXPLORER_STUCK,   /* nobody can go on: tsr_explorer_stuck says why */
	TSR_EXPLORER_BOUND,   /* step_bound is reached: tsr_explorer_stuck says who does what */
	TSR_EXPLORER_PRUNED,  /* by the strategy */
	TSR_EXPLORER_STOPPED, /* by tsr_explorer_stop */
	TSR_EXPLORER_FAILED   /* no memory */
} tsr_explorer_end_t;

/**
 * Runs until all tasks have ended, or one of the other ends. Called outside;
 * may be called again after tasks were added.
 */
tsr_explorer_end_t tsr_explorer_run(tsr_explorer_t *explorer);

/** Ends the run here; the task does not go on. In a task only. */
_Noreturn void tsr_explorer_stop(tsr_explorer_t *explorer);

/**
 * After a run that ended otherwise than DONE, where the tasks shall end by
 * themselves, as a program does whose world was aborted: every await, those
 * going on included, returns TSR_AWAIT_ENDED, and nothing is chosen. Runs
 * `steps` steps at most; true where all tasks have ended. Called outside.
 */
bool tsr_explorer_unwind(tsr_explorer_t *explorer, uint64_t steps);

/* ------------------------------------------------------------------ in a task: operations */

/**
 * A scheduling point: the strategy may have others run before it returns.
 * `pending` is read until then, never later.
 * A task that reads the same at the same line of `site` spin_bound times and
 * changes nothing spins: it goes on only when nobody else can, or an object
 * that it has read changes. Where spinners alone are left, they take turns;
 * once 2^16 of them have changed nothing, nothing will.
 */
void tsr_explorer_point(tsr_explorer_t *explorer, const tsr_pending_t *pending);

/** What the operation announced by the last point or await has done. */
typedef struct tsr_acted {
	/* which of its object's messages it read, or else wrote: the same number in equivalent
	 * runs */
	uint64_t message;
	bool wrote;
	/* the object's value is another than before: to write the same again is no progress */
	bool changed;
} tsr_acted_t;

/**
 * Called after an operation has acted, before the next point; an await that
 * expired has not. An operation that says nothing counts as a change of its
 * objects if its kind writes.
 */
void tsr_explorer_acted(tsr_explorer_t *explorer, const tsr_acted_t *acted);

/**
 * A choice that is part of the running task's step: below n. For a task that
 * spins, TSR_CHOICE_MESSAGE is the newest, and TSR_CHOICE_CACHE the default:
 * what it waits for must reach it in the end.
 */
int tsr_explorer_choose(tsr_explorer_t *explorer, tsr_choice_t kind, int n);

/**
 * What awaits look at under this object may have changed: they are looked at
 * again. Anywhere. Operations wake their own objects.
 */
void tsr_explorer_wake(tsr_explorer_t *explorer, uint64_t object);

/* ------------------------------------------------------------------ in a task: waiting */

typedef enum tsr_await_kind {
	TSR_AWAIT_FLAG,       /* a wait of the device API */
	TSR_AWAIT_MEETING,    /* the workers of a block, or a barrier of ranks within a kernel */
	TSR_AWAIT_COLLECTIVE, /* a call that all ranks make */
	TSR_AWAIT_STREAM,
	TSR_AWAIT_EVENT,
	TSR_AWAIT_RESIDENCY, /* room for a block */
	TSR_AWAIT_CUSTOM,
	TSR_AWAIT_SPIN /* only in reports: a loop of the program's own */
} tsr_await_kind_t;

/** Whom a waiting task waits for. */
typedef struct tsr_blocker {
	enum {
		TSR_BLOCKER_TASK, /* number: of the task */
		TSR_BLOCKER_RANK, /* number: any task of the rank that is alive */
		/* number: any worker of the rank that is alive, and blocks that have not begun */
		TSR_BLOCKER_WORKERS,
		/* any worker that is alive, and blocks that have not begun: hosts that wait signal
		 * nobody */
		TSR_BLOCKER_ANYBODY
	} kind;
	int number;
} tsr_blocker_t;

typedef void (*tsr_blocker_fn)(void *argument, tsr_blocker_t blocker);

typedef enum tsr_deadline {
	TSR_DEADLINE_NONE,
	TSR_DEADLINE_LAST, /* expires only where nobody else can go on */
	TSR_DEADLINE_ANY   /* the strategy may let it expire as well (TSR_CHOICE_EXPIRE) */
} tsr_deadline_t;

typedef enum tsr_awaited { TSR_AWAIT_OK, TSR_AWAIT_EXPIRED, TSR_AWAIT_ENDED } tsr_awaited_t;

/** Callbacks are called at any time until the await returns, on any fibre, and only look. */
typedef struct tsr_await {
	tsr_await_kind_t kind;
	/* what the task does once it goes on; its objects are those that `ready` looks at */
	tsr_pending_t pending;
	tsr_deadline_t deadline;
	bool (*ready)(const void *context);
	/* Whether it is ready by the last write of its objects, and would not be without that. May
	 * be null, and may say no though it is so: then a search tries what cannot be. */
	bool (*forced)(const void *context);
	/* "flag 'ready'[3] >= 2, last seen 1" */
	void (*describe)(const void *context, char *sentence, size_t bytes);
	/* null, or tells none: nobody is known */
	void (*blockers)(const void *context, tsr_blocker_fn tell, void *argument);
	const void *context;
} tsr_await_t;

/**
 * Waits until `ready`. Where it is ready at once it is still a point. `ready`
 * holds when it returns TSR_AWAIT_OK, and no other task has run since it was
 * looked at.
 */
tsr_awaited_t tsr_explorer_await(tsr_explorer_t *explorer, const tsr_await_t *await);

/* ------------------------------------------------------------------ what a run was */

typedef struct tsr_explorer_counts {
	uint64_t steps, switches, choices; /* of the strategy in use */
	int tasks, most_live;
	size_t stack_bytes; /* mapped, not touched */
} tsr_explorer_counts_t;

tsr_explorer_counts_t tsr_explorer_count(const tsr_explorer_t *explorer);

/**
 * Names what happened: for each object the order of what was done to it, reads
 * between two writes unordered; and the order of seq_cst operations. Runs that
 * differ only by the order of independent operations have the same digest.
 */
void tsr_explorer_digest(const tsr_explorer_t *explorer, uint64_t digest_out[2]);

/**
 * Where a run has ended because spinners alone went on, or by the bound on
 * steps: a number made of the sites of all tasks, some time before that end.
 * Digest and counts are then those of that time, so that a run which ends
 * there, because its livelock is known, is described as one that goes on to the
 * bound. False: it has not ended so.
 */
bool tsr_explorer_livelock(const tsr_explorer_t *explorer, uint64_t *key_out);

/**
 * The digest so far begins anew, and so do the counts of steps and switches: a
 * forked child's run begins where it was forked.
 */
void tsr_explorer_begin(tsr_explorer_t *explorer);

/* ------------------------------------------------------------------ nobody can go on */

typedef enum tsr_stuck_class {
	TSR_STUCK_DEADLOCK,    /* tasks wait for each other in a circle */
	TSR_STUCK_LOST_SIGNAL, /* somebody waits for what nobody alive can give */
	/* somebody waits for a block that has no room to begin, as those who wait have it */
	TSR_STUCK_RESIDENCY,
	TSR_STUCK_LIVELOCK /* somebody runs for ever and changes nothing */
} tsr_stuck_class_t;

enum { TSR_STUCK_SENTENCE_BYTES = 200 };

typedef struct tsr_stuck_node {
	int task; /* TSR_NO_TASK: a block that has not begun */
	tsr_task_who_t who;
	tsr_await_kind_t kind;
	tsr_source_t site;
	char sentence[TSR_STUCK_SENTENCE_BYTES]; /* for what; empty where nobody said */
	bool root;                               /* nobody alive can give it what it waits for */
} tsr_stuck_node_t;

typedef struct tsr_stuck_edge {
	int from, to; /* nodes: who waits, and for whom */
} tsr_stuck_edge_t;

/** The wait-for graph. */
typedef struct tsr_stuck {
	tsr_stuck_class_t class;
	tsr_stuck_node_t *node;
	tsr_stuck_edge_t *edge; /* by rising from and to */
	/* nodes, each waiting for the next, and the last for the first; or from the first to a
	 * root */
	int *cycle;
	int nodes, edges, cycle_count;
} tsr_stuck_t;

/**
 * Who waits for whom after a run that ended as STUCK or BOUND: allocated.
 * Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_explorer_stuck(const tsr_explorer_t *explorer, tsr_stuck_t **stuck_out);
void tsr_stuck_destroy(tsr_stuck_t *stuck);

/** "deadlock", "lost-signal", "residency", "livelock". */
const char *tsr_stuck_name(tsr_stuck_class_t stuck);

#endif

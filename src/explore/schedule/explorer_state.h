/*
 * The state of an explorer: known to explorer.c, schedule.c, operation.c,
 * objects.c and stuck*.c only.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_EXPLORER_STATE_H
#define TESSERA_EXPLORE_SCHEDULE_EXPLORER_STATE_H

#include "src/explore/process/fibre.h"
#include "src/explore/schedule/explorer.h"
#include "src/explore/schedule/taskset.h"

enum {
	TSR_TASKS_CHUNK = 256, /* tasks are kept in chunks, so that they stay where they are */
	/* sites at which a task is watched for spinning: more than a sane loop has */
	TSR_SEEN = 8,
	TSR_SPIN_BOUND = 16,
	/* steps of spinners alone, and no change: nothing will ever change */
	TSR_IDLE_BOUND = 1 << 16,
	/* the same where a run has gone on from these sites to the bound before */
	TSR_IDLE_EARLY = 1 << 12,
	TSR_STEPS_EARLY = 16 /* and for the bound on steps: this part of it */
};

typedef enum tsr_task_state {
	TSR_TASK_READY,   /* in explorer->ready; the running task as well */
	TSR_TASK_BLOCKED, /* in an await that is not ready */
	/* in explorer->back: goes on when nobody else can, or what it reads has changed */
	TSR_TASK_SPINS,
	TSR_TASK_ENDED
} tsr_task_state_t;

/** A task that is told when an object changes: in the list of the object. */
typedef struct tsr_waiter {
	struct tsr_waiter *next, **link; /* `link` points to what points here */
	int task;
} tsr_waiter_t;

typedef struct tsr_object {
	uint64_t number;
	uint64_t order[2]; /* of all that was done to it, up to the last write */
	uint64_t reads[2]; /* a sum over those since, as they have no order */
	tsr_waiter_t *waiters;
} tsr_object_t;

/** An open table of all objects that were ever touched. */
typedef struct tsr_objects {
	tsr_object_t **slot;
	size_t slots, count; /* slots: a power of two, or 0 */
} tsr_objects_t;

/** A read at one site that may be a turn of a loop that waits. */
typedef struct tsr_seen {
	uint64_t object, message;
	int line;
	uint32_t stamp; /* of the task's last change */
	/* how often in turn it was the same message: since that change, and at all */
	int streak, total;
} tsr_seen_t;

/** What is known of a task while it is alive. */
typedef struct tsr_live {
	tsr_explorer_t *explorer;
	int number;
	tsr_fibre_t *fibre;
	tsr_task_fn body;
	void *context;
	const tsr_pending_t *pending; /* of the point or await that it is in */
	const tsr_await_t *await;     /* that it is in, or null */
	bool expired;                 /* its deadline has */
	bool dirty;                   /* in explorer->dirty */
	bool newest;                  /* it spins: the operation that comes sees what is newest */

	bool said;          /* what its last operation did */
	tsr_pending_t last; /* that operation; `more` is a copy */
	uint64_t *more;
	int more_room;

	tsr_waiter_t *waiter; /* those that are in lists */
	int waiters, waiter_room;

	tsr_seen_t seen[TSR_SEEN];
	int seen_next; /* to be forgotten */
	/* of a spinner: what it is about to do, as whatever it looks at decides when */
	tsr_pending_t turn;
	uint64_t looked_at[TSR_SEEN];
	uint32_t stamp;
	uint64_t choices; /* that deviated */
	uint64_t asked;   /* choices about caches, whatever was chosen */
} tsr_live_t;

/**
 * A run as it was where it may be known for a livelock: so it is described,
 * whether it went on to the bound or not.
 */
typedef struct tsr_early {
	uint64_t key; /* of the sites of all tasks */
	uint64_t digest[2];
	uint64_t steps, choices;
} tsr_early_t;

typedef struct tsr_task {
	tsr_task_who_t who;
	tsr_task_state_t state;
	tsr_live_t *live; /* null once it has ended */
} tsr_task_t;

struct tsr_explorer {
	tsr_explorer_config_t config;
	tsr_fibres_t *fibres;
	tsr_task_t **chunk;
	int tasks, chunks, most_live;
	/* `chosen`: for choices among others than the ready */
	tsr_taskset_t alive, ready, back, chosen;
	tsr_live_t *running; /* null: outside */
	int back_at;         /* the spinner that had its turn */
	bool grown, failed, unwinding, ended;
	tsr_explorer_end_t end; /* where `ended` */
	int *dirty;             /* tasks whose awaits must be looked at again */
	int dirty_count, dirty_room;
	tsr_objects_t objects;
	/* of seq_cst operations; of choices other than of tasks */
	uint64_t order[2], chosen_sum[2];
	/* of an end by spinners alone, and by the bound on steps */
	tsr_early_t idled, stepped;
	/* which of them the run has ended with; null: none */
	const tsr_early_t *early;
	/* idle: of spinners alone, since anything changed; last_step: of an unwinding */
	uint64_t steps, switches, idle, last_step;
};

static inline tsr_task_t *tsr_task_of(const tsr_explorer_t *e, int task)
{
	return &e->chunk[task / TSR_TASKS_CHUNK][task % TSR_TASKS_CHUNK];
}

/* ------------------------------------------------------------------ schedule.c */

/**
 * Chooses who goes on and switches there; returns when the caller goes on,
 * outside when the run has ended.
 */
void tsr_explorer_go_on(tsr_explorer_t *e);

/** As tsr_explorer_go_on, for a running task that has ended. */
_Noreturn void tsr_explorer_leave(tsr_explorer_t *e);

/** Puts a task into the state, and so into the right set. */
void tsr_task_put(tsr_explorer_t *e, int task, tsr_task_state_t state);

/** Ends the run here, if nothing has ended it yet. */
void tsr_explorer_finish(tsr_explorer_t *e, tsr_explorer_end_t end);

/** The awaits of a task are looked at again before the next choice. */
void tsr_task_dirty(tsr_explorer_t *e, tsr_live_t *live);

/* ------------------------------------------------------------------ operation.c */

/**
 * The running task's last operation is over: if it has not said what it did,
 * that is taken from what it announced.
 */
void tsr_step_over(tsr_explorer_t *e, tsr_live_t *live);

/* ------------------------------------------------------------------ objects.c */

/** Null, and `failed`, where there is no memory. */
tsr_object_t *tsr_object_of(tsr_explorer_t *e, uint64_t number);

/** The task is told of changes of these objects, and of no others any more. */
void tsr_waiters_enter(tsr_explorer_t *e, tsr_live_t *live, const uint64_t *objects, int count);
void tsr_waiters_leave(tsr_live_t *live);

/** Who waits for the object is looked at again; spinners only where it has `changed`. */
void tsr_object_wake(tsr_explorer_t *e, tsr_object_t *object, bool changed);

/** Takes into the digest what the task's last operation did, and what it chose. */
void tsr_digest_step(tsr_explorer_t *e, const tsr_live_t *live, tsr_object_t *object,
		     const tsr_acted_t *acted);
void tsr_digest_seq_cst(tsr_explorer_t *e, const tsr_live_t *live);
void tsr_digest_choice(tsr_explorer_t *e, tsr_live_t *live, tsr_choice_t kind, int alternative);

#endif

/*
 * The state of an explorer. Only explorer.c, schedule.c, operation.c, spin.c,
 * objects.c and stuck*.c use it.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_EXPLORER_STATE_H
#define TESSERA_EXPLORE_SCHEDULE_EXPLORER_STATE_H

#include "src/explore/process/fibre.h"
#include "src/explore/schedule/explorer.h"
#include "src/explore/schedule/taskset.h"

enum {
	/* tasks are stored in chunks, so that their addresses do not change */
	TSR_TASKS_CHUNK = 256,
	/* sites at which a task is watched for spinning; more than a normal loop has */
	TSR_SEEN = 8,
	TSR_SPIN_BOUND = 16,
	TSR_STATES = 256, /* so many different states of memory are remembered */
	/* after this many steps of spinners alone without a new state, nothing will change */
	TSR_IDLE_BOUND = 1 << 16,
	/* counts as so many of these steps: a change back to a state that was before; the shadow
	 * keeps each message, so that changes cost more the more there were */
	TSR_IDLE_CHANGE = 8,
	/* the same if an earlier run has continued from these sites to that limit */
	TSR_IDLE_EARLY = 1 << 12,
	TSR_STEPS_EARLY = 16, /* and of the limit of steps this fraction */
	/* so many steps of a run are made by spinners that go on alone */
	TSR_INSIST_STEPS = 1 << 10
};

typedef enum tsr_task_state {
	TSR_TASK_READY,   /* in explorer->ready; the running task too */
	TSR_TASK_BLOCKED, /* in an await that is not ready */
	/* in explorer->back: continues when no other task can, or when what it reads has changed */
	TSR_TASK_SPINS,
	TSR_TASK_ENDED
} tsr_task_state_t;

/**
 * A task that is notified when an object changes: an entry in the object's
 * list.
 */
typedef struct tsr_waiter {
	struct tsr_waiter *next, **link; /* `link` points to the pointer to this entry */
	int task;
} tsr_waiter_t;

typedef struct tsr_object {
	uint64_t number;
	uint64_t order[2]; /* digest of the operations on it up to the last write */
	uint64_t reads[2]; /* a sum over the reads since then, because they are not ordered */
	tsr_waiter_t *waiters;
} tsr_object_t;

/** A hash table of all objects that were ever accessed. */
typedef struct tsr_objects {
	tsr_object_t **slot;
	size_t slots, count; /* slots: a power of two, or 0 */
} tsr_objects_t;

/** A read at one site that may be one turn of a polling loop. */
typedef struct tsr_seen {
	uint64_t object, message;
	tsr_source_t site;
	bool updates;   /* it is a read and a write in one */
	uint32_t stamp; /* of the task's last change */
	/* how often in a row it was the same message: since that change, and in total */
	int streak, total;
} tsr_seen_t;

/**
 * The latest states of memory: each a sum of hashes, of all objects and their
 * values. It finds that a loop has put back all that it changed.
 */
typedef struct tsr_states {
	uint64_t now, seen[TSR_STATES];
	uint32_t next; /* the entry to replace */
} tsr_states_t;

/** The state of a live task. */
typedef struct tsr_live {
	tsr_explorer_t *explorer;
	int number;
	tsr_fibre_t *fibre;
	tsr_task_fn body;
	void *context;
	const tsr_pending_t *pending; /* of its current point or await */
	const tsr_await_t *await;     /* its current await, or null */
	/* it has forked, or is a fork: then these are copies, because the other may be where they
	 * are on its stack */
	bool has_forked;
	tsr_pending_t point;
	tsr_await_t waits;
	bool expired; /* its deadline has expired */
	bool dirty;   /* it is in explorer->dirty */
	/* it spins by reads of the same, so its next operation sees the newest value */
	bool newest;
	/* it spins, because memory had no new state for long; nothing but a new state wakes it */
	bool weary;

	bool said;          /* its last operation has reported its effect */
	bool valued;        /* ... and before and after which value of the object */
	tsr_pending_t last; /* that operation; `more` is a copy */
	uint64_t *more;
	int more_room;

	tsr_waiter_t *waiter; /* those that are in lists */
	int waiters, waiter_room;

	tsr_seen_t seen[TSR_SEEN];
	int seen_next; /* the next entry to replace */
	/* for a spinner: its next operation, with all objects that decide when it continues */
	tsr_pending_t turn;
	uint64_t looked_at[TSR_SEEN];
	uint32_t stamp;
	uint64_t news;    /* explorer->news at its last operation */
	int barren;       /* how many operations it has done since that changed */
	uint64_t choices; /* number of choices that deviated */
	uint64_t asked;   /* choices about caches, whatever the answer */
} tsr_live_t;

/**
 * The state of a run at the point where a known livelock ends it early. A run
 * is described by it whether or not it continued to the limit.
 */
typedef struct tsr_early {
	uint64_t key; /* of the sites of all tasks */
	uint64_t digest[2];
	uint64_t steps, choices;
} tsr_early_t;

typedef struct tsr_task {
	tsr_task_who_t who;
	tsr_task_state_t state;
	tsr_live_t *live; /* null after it has ended */
} tsr_task_t;

struct tsr_explorer {
	tsr_explorer_config_t config;
	tsr_fibres_t *fibres;
	tsr_task_t **chunk;
	int tasks, chunks, most_live;
	/* `chosen`: for choices among tasks that are not ready */
	tsr_taskset_t alive, ready, back, chosen;
	tsr_live_t *running; /* null: outside */
	int back_at;         /* the spinner that ran last */
	bool grown, failed, unwinding, ended;
	tsr_explorer_end_t end; /* if `ended` */
	int *dirty;             /* tasks whose awaits must be checked again */
	int dirty_count, dirty_room;
	tsr_objects_t objects;
	/* of seq_cst operations; of choices other than of tasks */
	uint64_t order[2], chosen_sum[2];
	/* for an end by spinners alone, and by the limit of steps */
	tsr_early_t idled, stepped;
	/* the one with which the run has ended; null: neither */
	const tsr_early_t *early;
	tsr_states_t states;
	uint64_t news; /* how often memory came to a new state, or a task began or ended */
	/* idle: steps of spinners alone since the last news; last_step: limit of an unwinding */
	uint64_t steps, switches, idle, last_step;
	bool idle_early; /* `idled` describes these idle steps */
	/* the spinner that goes on alone, and for how many steps one may still do that */
	int insists, insist_left;
};

static inline tsr_task_t *tsr_task_of(const tsr_explorer_t *e, int task)
{
	return &e->chunk[task / TSR_TASKS_CHUNK][task % TSR_TASKS_CHUNK];
}

/* ------------------------------------------------------------ schedule.c */

/**
 * Chooses a task and switches to it. Returns when the caller continues, or
 * outside when the run has ended.
 */
void tsr_explorer_go_on(tsr_explorer_t *e);

/** As tsr_explorer_go_on, for a running task that has ended. */
_Noreturn void tsr_explorer_leave(tsr_explorer_t *e);

/** Changes the state of a task, and so its set. */
void tsr_task_put(tsr_explorer_t *e, int task, tsr_task_state_t state);

/** Ends the run here, unless it has ended already. */
void tsr_explorer_finish(tsr_explorer_t *e, tsr_explorer_end_t end);

/** The awaits of a task must be checked before the next choice. */
void tsr_task_dirty(tsr_explorer_t *e, tsr_live_t *live);

/* ------------------------------------------------------------ operation.c */

/**
 * Ends the running task's last operation. If the task has not reported its
 * effect, derives it from what the task announced.
 */
void tsr_step_over(tsr_explorer_t *e, tsr_live_t *live);

/* ------------------------------------------------------------ spin.c */

/** Something has happened that spinners may have waited for. */
static inline void tsr_idle_ends(tsr_explorer_t *e)
{
	e->idle = 0;
	e->idle_early = false;
}

/** Notes the effect of the task's last operation. */
void tsr_spin_acted(tsr_explorer_t *e, tsr_live_t *live, const tsr_acted_t *acted);

/** Whether the task only spins, before its next operation. */
bool tsr_spins(const tsr_explorer_t *e, tsr_live_t *live, const tsr_pending_t *pending);

/**
 * Whether a spinner goes on all the same, and alone: loops that give up after
 * some turns then do, while others have yet to come to what it looks for.
 */
bool tsr_spin_insists(tsr_explorer_t *e, const tsr_live_t *live);

/**
 * The place of the task's next operation; where it spins, of the read that has
 * seen the same most often.
 */
const tsr_source_t *tsr_spin_site(const tsr_explorer_t *e, const tsr_live_t *live);

/** The spinner stands back until nobody else can go on, or something changes. */
void tsr_spin_back(tsr_explorer_t *e, tsr_live_t *live);

/* ------------------------------------------------------------ objects.c */

/** A bijection that spreads: the finaliser of SplitMix64. */
static inline uint64_t tsr_spread(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/** Null, and `failed`, if there is no memory. */
tsr_object_t *tsr_object_of(tsr_explorer_t *e, uint64_t number);

/** Notify the task of changes of these objects, and of no others. */
void tsr_waiters_enter(tsr_explorer_t *e, tsr_live_t *live, const uint64_t *objects, int count);
void tsr_waiters_leave(tsr_live_t *live);

/**
 * Makes the tasks that wait for the object look again; spinners only if it has
 * `changed`.
 */
void tsr_object_wake(tsr_explorer_t *e, tsr_object_t *object, bool changed);

/**
 * Add to the digest the effect of the task's last operation, and its choices.
 */
void tsr_digest_step(tsr_explorer_t *e, const tsr_live_t *live, tsr_object_t *object,
		     const tsr_acted_t *acted);
void tsr_digest_seq_cst(tsr_explorer_t *e, const tsr_live_t *live);
void tsr_digest_choice(tsr_explorer_t *e, tsr_live_t *live, tsr_choice_t kind, int alternative);

#endif

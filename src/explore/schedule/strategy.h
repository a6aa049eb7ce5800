/*
 * Strategies: every choice of a run is one call of tsr_strategy_choose. The
 * same strategy with the same seed makes the same choices on every machine, if
 * the same choices are offered.
 *
 *   Choice:     a question with n >= 2 answers, 0 .. n-1. 0 is the default:
 *               continue with the same task, take the newest message. A
 *               question with fewer than two answers is no choice; it is not
 *               counted or logged.
 *   Index:      the number of a choice in its run, from 0.
 *   Deviation:  a choice whose answer is not 0: (index, alternative). The
 *               deviations of a run are its script, which replays it.
 *
 * Called by:  one thread at a time for each strategy.
 * Source:     PCT (Burckhardt et al., ASPLOS'10), sleep sets (Godefroid, 1996),
 *             source sets (reversals.h).
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_STRATEGY_H
#define TESSERA_EXPLORE_SCHEDULE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explore/schedule/taskset.h"
#include "tessera/status.h"

/* ------------------------------------------------------- pending operations */

typedef enum tsr_pending_kind {
	/* accesses nothing that is shared: a task that has not begun, a fence that is not
	 * seq_cst */
	TSR_PENDING_LOCAL,
	TSR_PENDING_READ,
	TSR_PENDING_WRITE,
	TSR_PENDING_UPDATE, /* a read and a write in one */
	/* arrives at a meeting, or leaves it when all have arrived; nobody can notice the order of
	 * arrivals */
	TSR_PENDING_MEET,
	TSR_PENDING_FENCE /* accesses no object */
} tsr_pending_kind_t;

/**
 * The place of an operation in the source. `call` is the operation's name.
 * Strings live as long as the run; null: unknown.
 */
typedef struct tsr_source {
	const char *call, *file;
	int line;
} tsr_source_t;

/**
 * The next operation of a task on shared objects. The caller numbers objects: a
 * location, a meeting, a host collective. A number is never derived from a
 * pointer, and is the same in each run. Everything that the task does before
 * its next point belongs to the operation; if it accesses several objects,
 * `more` has the others. Plain accesses are not included, because clocks find
 * their races.
 */
typedef struct tsr_pending {
	tsr_pending_kind_t kind;
	bool seq_cst;
	uint64_t object;      /* not for FENCE; for LOCAL the object it waits for */
	const uint64_t *more; /* further objects that are accessed in the same way */
	int more_count;
	tsr_source_t site;
} tsr_pending_t;

/**
 * Whether two operations of different tasks can be exchanged without any
 * difference: they have no object in common that one of them writes, and are
 * not both seq_cst.
 */
bool tsr_pending_independent(const tsr_pending_t *a, const tsr_pending_t *b);

/* ------------------------------------------------------------ choices */

typedef enum tsr_choice {
	/* which task runs: alternative 0 is the task that ran, if it can continue; the others
	 * follow by number */
	TSR_CHOICE_TASK,
	TSR_CHOICE_MESSAGE, /* what a load sees, or where a store goes; 0 is the newest */
	/* which of several satisfied flags a wait for any flag returns; 1: a wait misses a value
	 * that has gone */
	TSR_CHOICE_FLAG,
	/* 1: a deadline expires although other tasks can run; or, if none can, whose deadline */
	TSR_CHOICE_EXPIRE,
	/* what a cache does by itself: drain, evict, fill; 0 is the eager behaviour */
	TSR_CHOICE_CACHE,
	/* which pieces of a data movement are late, and their order later; 0 is none */
	TSR_CHOICE_PIECE,
	/* 1: a task that spins goes on alone for a while, as if the others were slow */
	TSR_CHOICE_INSIST,
	/* 1: a block that splits goes on as two workers */
	TSR_CHOICE_SPLIT,
	TSR_CHOICE_OTHER,
	TSR_CHOICES /* number of kinds */
} tsr_choice_t;

/** The alternatives of a choice of task. */
typedef struct tsr_runnable {
	const tsr_taskset_t *tasks; /* at least one */
	/* the task that ran, which is one of them; -1: it cannot continue */
	int current;
	/* others have become runnable since the last choice of a task, so the best one may have
	 * changed */
	bool grown;
	/* next operation of a task, in this set or not */
	const tsr_pending_t *(*pending)(const void *context, int task);
	bool (*forced)(
		const void *context,
		/* the task waits, and could not continue without the last write of the object that
		 * it waits for */
		int task);
	const void *context;
} tsr_runnable_t;

/** The task of an alternative, and the alternative of a task. */
int tsr_runnable_task(const tsr_runnable_t *runnable, int alternative);
int tsr_runnable_alternative(const tsr_runnable_t *runnable, int task);

typedef struct tsr_deviation {
	uint32_t index, alternative;
} tsr_deviation_t;

/** Deviations, sorted by index. */
typedef struct tsr_script {
	tsr_deviation_t *deviation;
	size_t count;
} tsr_script_t;

typedef struct tsr_strategy tsr_strategy_t;

/**
 * Returns an alternative below n. `runnable` is given with TSR_CHOICE_TASK,
 * which is asked at each step even if there is only one task; otherwise it is
 * null. A strategy that prunes its run returns -1, only for TSR_CHOICE_TASK:
 * the run is useless and ends.
 */
int tsr_strategy_choose(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			const tsr_runnable_t *runnable);

/**
 * The number of choices so far, and their script. The strategy owns the script;
 * it is valid until the next choice.
 */
uint64_t tsr_strategy_choices(const tsr_strategy_t *strategy);
tsr_script_t tsr_strategy_script(const tsr_strategy_t *strategy);

/**
 * True after an allocation has failed: the script is incomplete. Choices
 * continue.
 */
bool tsr_strategy_exhausted(const tsr_strategy_t *strategy);

/** Null is allowed. */
void tsr_strategy_destroy(tsr_strategy_t *strategy);

/* ------------------------------------------------------------ strategies */

/**
 * Random choices. The probabilities of leaving a task, and of taking another
 * message than the newest, are drawn from the seed, so that seeds differ in
 * character. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_random(uint64_t seed, tsr_strategy_t **strategy_out);

/**
 * Choices by priorities: each task has a random priority, and the highest one
 * runs. At depth - 1 random steps out of `steps`, the running task falls behind
 * all others. Finds a bug that needs `depth` orderings among n tasks with a
 * probability of at least 1 / (n * steps^(depth-1)) for each seed. Choices
 * other than of tasks are random.
 * @param steps  the approximate number of choices of task in a run.
 * Errors:     TSR_ERR_ARGUMENT (depth or steps below 1), TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_pct(uint64_t seed, int depth, uint64_t steps,
			      tsr_strategy_t **strategy_out);

/**
 * Always the default, except for the deviations in the script. Alternatives
 * that are out of range count as the default. The script is copied. Errors:
 * TSR_ERR_ARGUMENT (the script is not sorted), TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_scripted(const tsr_script_t *script, tsr_strategy_t **strategy_out);

/**
 * Which runs an exhaustive search leaves out because they are equivalent to
 * others.
 */
typedef enum tsr_reduction {
	TSR_REDUCE_NOTHING, /* none: every order is run */
	/* sleep sets: of schedules that differ in the order of independent operations, only one
	 * runs to its end */
	TSR_REDUCE_ASLEEP,
	/* in addition, another schedule is begun only if two dependent operations can come in the
	 * other order */
	TSR_REDUCE_REVERSALS
} tsr_reduction_t;

/** The limits of an exhaustive search. */
typedef struct tsr_exhaustive {
	/* assumes that nothing else is left out, so it is ignored if there is any limit */
	tsr_reduction_t reduction;
	/* most times that a run leaves a task that could have continued; negative: no limit */
	int preemptions;
	uint64_t depth; /* choices from this index on are the default; 0: no limit */
} tsr_exhaustive_t;

/**
 * The state of a search between two runs: the script of the next run, and what
 * is left. All 0: at the beginning.
 */
typedef struct tsr_frontier {
	uint32_t *word;
	size_t count;
} tsr_frontier_t;

/**
 * One run of an exhaustive search: follows the frontier, then always takes the
 * first alternative, and notes the others. The whole search is
 *
 *     tsr_frontier_t frontier = {0};
 *     bool more = true;
 *     while (more) {
 *             run with tsr_strategy_exhaustive(&bounds, &frontier, ...);
 *             tsr_exhaustive_next(strategy, whole, &frontier, &more);
 *     }
 *
 * Each run may be made in a process of its own, because the frontier is the
 * whole state of the search. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_exhaustive(const tsr_exhaustive_t *bounds, const tsr_frontier_t *from,
				     tsr_strategy_t **strategy_out);

/**
 * The state of the search after this run, depth first. `more_out` is false if
 * there is no other run: the search is complete. The caller frees the
 * frontier's words; there are none when the search is complete.
 * @param whole  the run continued until no task could run, or was pruned; and
 *               it did not depend on which of several tasks ended first whether
 *               a task could run. What would have followed a run that was cut
 *               short is unknown, so all orders of it are explored.
 * Errors:     TSR_ERR_UNSUPPORTED (the run did not reach its frontier),
 *             TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_exhaustive_next(tsr_strategy_t *strategy, bool whole, tsr_frontier_t *next_out,
				 bool *more_out);

/**
 * True if a run was cut short because all tasks that could run are asleep:
 * every continuation has been run already.
 */
bool tsr_exhaustive_pruned(const tsr_strategy_t *strategy);

#endif

/*
 * Who decides: every choice of a run that explores is one call of
 * tsr_strategy_choose, and nothing else chooses. The same strategy with the
 * same seed makes the same choices on every machine, as long as it is asked the
 * same questions.
 *
 *   Choice       a question with n >= 2 answers, 0 .. n-1. 0 is the default:
 *                go on with the same task, take the newest message. With fewer
 *                than two answers there is nothing to choose, and nothing is
 *                counted or logged.
 *   Index        the number of a choice in its run, from 0.
 *   Deviation    a choice that was answered otherwise than by 0: (index,
 *                alternative). The deviations of a run are its script, and
 *                replay it.
 *
 * Called by: one thread at a time for each strategy. Source: PCT (Burckhardt et
 * al., ASPLOS'10), sleep sets (Godefroid, 1996), source sets (reversals.h).
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_STRATEGY_H
#define TESSERA_EXPLORE_SCHEDULE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explore/schedule/taskset.h"
#include "tessera/status.h"

/* ------------------------------------------------------------------ pending operations */

typedef enum tsr_pending_kind {
	/* touches nothing that others touch: a task that has not begun, a fence that is not
	 * seq_cst */
	TSR_PENDING_LOCAL,
	TSR_PENDING_READ,
	TSR_PENDING_WRITE,
	TSR_PENDING_UPDATE, /* a read and a write in one */
	/* comes to a meeting, or leaves it when all have come: in which order they come nobody can
	 * tell */
	TSR_PENDING_MEET,
	TSR_PENDING_FENCE /* touches no object */
} tsr_pending_kind_t;

/**
 * Where an operation stands in the source. `call` is the operation's name.
 * Strings live as long as the run; null: not known.
 */
typedef struct tsr_source {
	const char *call, *file;
	int line;
} tsr_source_t;

/**
 * What a task will do next on what is shared. Objects are numbers that the
 * caller gives: a location, a meeting, a host collective; never a pointer's
 * value, and the same in each run. All that the task does before its next point
 * belongs to the operation, so that what touches more than one object names the
 * others in `more`; plain accesses are no part of it, since races are found by
 * clocks.
 */
typedef struct tsr_pending {
	tsr_pending_kind_t kind;
	bool seq_cst;
	uint64_t object;      /* not of FENCE; of LOCAL, what it waits for */
	const uint64_t *more; /* objects touched as well, in the same way */
	int more_count;
	tsr_source_t site;
} tsr_pending_t;

/**
 * Whether two operations of different tasks may swap without anybody's notice:
 * no object in common that one of them writes, and not both seq_cst.
 */
bool tsr_pending_independent(const tsr_pending_t *a, const tsr_pending_t *b);

/* ------------------------------------------------------------------ choices */

typedef enum tsr_choice {
	/* who goes on: alternative 0 is the task that ran, if it can; then, or else, by rising
	 * number */
	TSR_CHOICE_TASK,
	TSR_CHOICE_MESSAGE, /* what a load sees, or where a store goes; 0 is the newest */
	TSR_CHOICE_FLAG,    /* which of the satisfied flags a wait for any tells */
	/* 1: a deadline expires though others can go on; or, where nobody can, whose deadline */
	TSR_CHOICE_EXPIRE,
	/* what a cache does by itself: drain, evict, fill; 0 is the eager, plain behaviour */
	TSR_CHOICE_CACHE,
	/* which pieces of a call that moves data are late, and the order of those that were; 0 is
	 * none */
	TSR_CHOICE_PIECE,
	TSR_CHOICE_OTHER,
	TSR_CHOICES /* how many kinds there are */
} tsr_choice_t;

/** The alternatives of a choice of task. */
typedef struct tsr_runnable {
	const tsr_taskset_t *tasks; /* at least one */
	/* the task that ran, which is one of them; -1: it cannot go on */
	int current;
	/* others have become runnable since the last choice of a task: what was the best may not be
	 * any more */
	bool grown;
	/* what a task does next, one of these or another */
	const tsr_pending_t *(*pending)(const void *context, int task);
	bool (*forced)(
		const void *context,
		/* it waits, and could not go on but for the last write of what it waits for */
		int task);
	const void *context;
} tsr_runnable_t;

/** The task that an alternative stands for, and the alternative that stands for a task. */
int tsr_runnable_task(const tsr_runnable_t *runnable, int alternative);
int tsr_runnable_alternative(const tsr_runnable_t *runnable, int task);

typedef struct tsr_deviation {
	uint32_t index, alternative;
} tsr_deviation_t;

/** Deviations by rising index. */
typedef struct tsr_script {
	tsr_deviation_t *deviation;
	size_t count;
} tsr_script_t;

typedef struct tsr_strategy tsr_strategy_t;

/**
 * Answers with an alternative below n. `runnable` comes with TSR_CHOICE_TASK,
 * which is asked for each step though there be one task only, and is null
 * otherwise. A strategy that prunes its run answers -1, to TSR_CHOICE_TASK
 * only: the run is of no use and ends.
 */
int tsr_strategy_choose(tsr_strategy_t *strategy, tsr_choice_t kind, int n,
			const tsr_runnable_t *runnable);

/**
 * How many choices there have been, and the script of them. It is the
 * strategy's, until the next choice.
 */
uint64_t tsr_strategy_choices(const tsr_strategy_t *strategy);
tsr_script_t tsr_strategy_script(const tsr_strategy_t *strategy);

/** True once an allocation has failed: the script is not whole. Choices go on. */
bool tsr_strategy_exhausted(const tsr_strategy_t *strategy);

/** Null is no strategy. */
void tsr_strategy_destroy(tsr_strategy_t *strategy);

/* ------------------------------------------------------------------ strategies */

/**
 * By chance. How readily it leaves a task, and how readily it takes other than
 * the newest message, is drawn from the seed, so that seeds differ in
 * character. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_random(uint64_t seed, tsr_strategy_t **strategy_out);

/**
 * By priorities: each task has one by chance, the highest goes on, and at depth
 * - 1 steps, drawn by chance from `steps`, the running task falls behind all
 * others. Finds a bug that needs `depth` orderings among n tasks with a
 * probability of at least 1 / (n * steps^(depth-1)) a seed. Choices other than
 * of tasks are by chance.
 * @param steps  about how many choices of task a run has.
 * Errors: TSR_ERR_ARGUMENT for a depth or number of steps below 1.
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_pct(uint64_t seed, int depth, uint64_t steps,
			      tsr_strategy_t **strategy_out);

/**
 * The default always, but where the script says otherwise. Alternatives that
 * are out of range are the default. The script is copied. Errors:
 * TSR_ERR_ARGUMENT for a script that does not rise. TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_scripted(const tsr_script_t *script, tsr_strategy_t **strategy_out);

/** What an exhaustive search leaves out, since it is the same as something else. */
typedef enum tsr_reduction {
	TSR_REDUCE_NOTHING, /* every order */
	/* sleep sets: of schedules that differ by the order of independent operations only one is
	 * run to its end */
	TSR_REDUCE_ASLEEP,
	/* and others are begun only where two operations that depend on each other can come in the
	 * other order */
	TSR_REDUCE_REVERSALS
} tsr_reduction_t;

/** The bounds of an exhaustive search. */
typedef struct tsr_exhaustive {
	/* assumes that nothing is left out, so that it is ignored where anything is bounded */
	tsr_reduction_t reduction;
	/* the most times that a run leaves a task that could have gone on; negative: any number */
	int preemptions;
	uint64_t depth; /* choices from this index on are the default; 0: no bound */
} tsr_exhaustive_t;

/**
 * Where a search stands between two of its runs: what the next one does, and
 * what is left. All zero: at the beginning.
 */
typedef struct tsr_frontier {
	uint32_t *word;
	size_t count;
} tsr_frontier_t;

/**
 * One run of a search that leaves nothing out: does what the frontier says,
 * then takes the first alternative always, and notes what else there was. The
 * whole search is
 *
 *     tsr_frontier_t frontier = {0};
 *     bool more = true;
 *     while (more) {
 *             run with tsr_strategy_exhaustive(&bounds, &frontier, ...);
 *             tsr_exhaustive_next(strategy, whole, &frontier, &more);
 *     }
 *
 * and each may be run in a process of its own, as the whole state of the search
 * is in the frontier. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_strategy_exhaustive(const tsr_exhaustive_t *bounds, const tsr_frontier_t *from,
				     tsr_strategy_t **strategy_out);

/**
 * Where the search stands after this run, depth first; `more_out` is false
 * where there is no other run, and the search is done. The frontier's words are
 * allocated: free them; there are none where the search is done.
 * @param whole  the run went on until nobody could, or was pruned; and what
 *               could go on when did not hang on which of several tasks ended
 *               first. What would have come after a run that was cut short is
 *               not known, so all orders of it are explored.
 * Errors: TSR_ERR_UNSUPPORTED where the run did not come to where its frontier
 * was. TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_exhaustive_next(tsr_strategy_t *strategy, bool whole, tsr_frontier_t *next_out,
				 bool *more_out);

/**
 * True where a run was cut short because all tasks that could go on sleep:
 * every continuation has been run already.
 */
bool tsr_exhaustive_pruned(const tsr_strategy_t *strategy);

#endif

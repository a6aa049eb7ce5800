/*
 * Reversals: the part of a search that finds which orders of a run could have
 * been different.
 *
 * An event is a step of a task, with the objects that it announced.
 *
 * "Before" is the order that is common to all runs which differ only in the
 * order of independent steps: the order of a task's own events, of two events
 * of which one writes what the other accesses, and of an event and the events
 * that it made possible.
 *
 * A reversal is a pair of events of different tasks that depend on each other,
 * with no event between them in this order. There is a run in which the second
 * comes first, unless the first made it possible.
 *
 * For each reversal, one of several tasks has to be tried at the choice of the
 * first event, no matter which: those that can begin what follows without the
 * first event. Events that no reversal names need not be tried in another
 * order.
 *
 * Called by:  the search, for one run (exhaustive.c).
 * Source:     Abdulla, Aronsson, Jonsson, Sagonas, Optimal Dynamic Partial
 *             Order Reduction, POPL'14: source sets.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_REVERSALS_H
#define TESSERA_EXPLORE_SCHEDULE_REVERSALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/explore/schedule/strategy.h"

enum { TSR_NO_EVENT = -1, TSR_NO_NODE = -1 };

typedef struct tsr_event {
	int task;
	/* the caller's number of the choice that led to it; TSR_NO_NODE: there was none */
	int node;
	int previous; /* of the same task, or TSR_NO_EVENT */
	/* the event whose end or launch made it possible, if no object shows that; or
	 * TSR_NO_EVENT */
	int enabler;
	size_t touch; /* index of its first object */
	int touches;
	bool forced; /* it could not have happened without the last write before it */
} tsr_event_t;

typedef struct tsr_touch {
	uint64_t object;
	bool writes;
} tsr_touch_t;

/** A task that could have continued before an event, and could not after it. */
typedef struct tsr_disabled {
	int event, task;
} tsr_disabled_t;

/** The state of a task. */
typedef struct tsr_doer {
	int last;  /* its last event */
	int since; /* the event since which it can continue; TSR_NO_EVENT: always */
} tsr_doer_t;

/** The events of a run. All 0: none. */
typedef struct tsr_reversals {
	tsr_event_t *event;
	tsr_touch_t *touch;
	tsr_disabled_t *disabled;
	tsr_doer_t *doer;
	int events, event_room, tasks, disabled_count, disabled_room;
	size_t touches, touch_room;
	tsr_taskset_t able; /* tasks that could continue at the last look */
	int looked;         /* number of events at that time */
} tsr_reversals_t;

/**
 * Notes which tasks can continue, at each choice of task. Returns false if
 * there is no memory.
 */
bool tsr_reversals_look(tsr_reversals_t *run, const tsr_taskset_t *able);

/**
 * Notes the next step of `task`, which can continue. Returns false if there is
 * no memory.
 */
bool tsr_reversals_step(tsr_reversals_t *run, const tsr_runnable_t *runnable, int task, int node);

/**
 * One of these tasks must be tried at that node. `count` is at least 1. Some of
 * them may not be able to continue there.
 */
typedef void (*tsr_reversal_fn)(void *context, int node, const int *tasks, int count);

/**
 * After the run: reports the reversals whose second event is `from` or later.
 * Returns false if there is no memory.
 */
bool tsr_reversals_tell(tsr_reversals_t *run, int from, tsr_reversal_fn fn, void *context);

void tsr_reversals_free(tsr_reversals_t *run);

#endif

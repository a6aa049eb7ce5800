/*
 * Which orders of a run could have been otherwise: the part of a search that
 * knows what depends on what.
 *
 * An event is a step that a task has taken, with the objects that it announced.
 *
 * Before is the order that all runs have which differ only by the order of
 * independent steps: that of a task's own events, that of events of which one
 * writes what the other touches, and that of an event and what it made
 * possible.
 *
 * A reversal is two events of different tasks that depend on each other with
 * nothing between them: there is a run in which the second comes first, unless
 * it only became possible by the first.
 *
 * For each reversal one of several tasks has to be tried where the first event
 * was chosen, and it does not matter which: those that can begin what comes
 * without the first event. What nobody reverses need not be tried in another
 * order.
 *
 * Called by: the search of one run (exhaustive.c). Source: Abdulla, Aronsson,
 * Jonsson, Sagonas, Optimal Dynamic Partial Order Reduction, POPL'14: source
 * sets.
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
	/* of the choice by which it came, as the caller counts; TSR_NO_NODE: there was none */
	int node;
	int previous; /* of the same task, or TSR_NO_EVENT */
	/* whose end or launch made it possible, where no object says so; or TSR_NO_EVENT */
	int enabler;
	size_t touch; /* the first of its objects */
	int touches;
	bool forced; /* it could not have come but for the last write before it */
} tsr_event_t;

typedef struct tsr_touch {
	uint64_t object;
	bool writes;
} tsr_touch_t;

/** A task that could have gone on before an event, and could not after it. */
typedef struct tsr_disabled {
	int event, task;
} tsr_disabled_t;

/** What is known of a task. */
typedef struct tsr_doer {
	int last;  /* event */
	int since; /* the event after which it could go on; TSR_NO_EVENT: always */
} tsr_doer_t;

/** A run's events. All zero is none. */
typedef struct tsr_reversals {
	tsr_event_t *event;
	tsr_touch_t *touch;
	tsr_disabled_t *disabled;
	tsr_doer_t *doer;
	int events, event_room, tasks, disabled_count, disabled_room;
	size_t touches, touch_room;
	tsr_taskset_t able; /* who could go on when it was last looked */
	int looked;         /* how many events there were then */
} tsr_reversals_t;

/** Notes who can go on, at each choice of task. False: no memory. */
bool tsr_reversals_look(tsr_reversals_t *run, const tsr_taskset_t *able);

/** Notes the step that `task`, one of those that can go on, is about to take. False: no memory. */
bool tsr_reversals_step(tsr_reversals_t *run, const tsr_runnable_t *runnable, int task, int node);

/**
 * One of these tasks has to be tried at that node; `count` is at least 1. Some
 * may not be able to go on there.
 */
typedef void (*tsr_reversal_fn)(void *context, int node, const int *tasks, int count);

/**
 * After the run: tells the reversals whose second event is `from` or a later
 * one. False: no memory.
 */
bool tsr_reversals_tell(tsr_reversals_t *run, int from, tsr_reversal_fn fn, void *context);

void tsr_reversals_free(tsr_reversals_t *run);

#endif

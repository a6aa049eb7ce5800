/*
 * The choice of a pattern: each that could be the fastest is configured as it
 * would run, and priced. The cheapest one is taken.
 */
#ifndef KERNELS_CHOICES_PATTERN_H
#define KERNELS_CHOICES_PATTERN_H

#include "kernels/choices/explain.h"

/** The time of a run by what it consists of, in nanoseconds. */
typedef struct pattern_time {
	double computing; /* until the blocks that compute have finished */
	double sending;   /* until what is sent beside that has arrived */
	double last;      /* what is sent after both */
	double starting; /* launches but the first, starts of copies, and signals that are awaited */
} pattern_time_t;

/** Why a pattern is not compared: its configuration was refused. */
#define PATTERN_CANNOT_RUN "the problem cannot run in it here"

/** Its parts in words, as explain_formula takes them. */
#define PATTERN_FORMULA "max(compute, send) + last sends + launches"

/** A search for the pattern that takes least time. */
typedef struct pattern_search {
	unsigned compared; /* bit p: pattern p is a candidate */
	/* The time of a run in this pattern. Returns why it is not compared; null: it is. */
	const char *(*time)(const void *ctx, int64_t pattern, pattern_time_t *time_out);
	const void *ctx;
	explain_t *explain; /* where the choice is recorded; null: nowhere */
} pattern_search_t;

/**
 * The pattern of least time; of equal ones, that with the smaller number. If the
 * problem runs in none of them, the first one: checking it then says why. Any
 * thread.
 */
int64_t pattern_cheapest(const pattern_search_t *search);

#endif

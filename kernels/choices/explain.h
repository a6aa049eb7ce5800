/*
 * Why a workload chose: a record that the choosing code itself writes while it
 * prices candidates. A caller that wants to know puts a record into
 * workload_place_t. Without one (null), each call here returns at once.
 *
 * A choice is of one parameter, or of the pattern. It is written in this order:
 * explain_begin; for each candidate explain_try, what its cost consists of, and
 * explain_cost or explain_skip; then explain_end. A choice without candidates is
 * one call of explain_rule.
 *
 * A record belongs to one rank and is written by one thread. All names that are
 * passed must live as long as the record: they are not copied. Where the host
 * has no memory for the record, it misses candidates and says so; the choice
 * goes on.
 */
#ifndef KERNELS_CHOICES_EXPLAIN_H
#define KERNELS_CHOICES_EXPLAIN_H

#include "kernels/workload.h"

typedef struct explain explain_t;

/* ------------------------------------------------------------ what is recorded */

enum {
	EXPLAIN_PARTS = 12, /* parts of a choice's costs, at most */
	EXPLAIN_WORDS = 320 /* length of a rule */
};

/** Something that candidates are compared in: a part of the cost, or a number. */
typedef struct explain_part {
	const char *name;
	bool is_count; /* a number, such as rounds; false: in the unit of the cost */
} explain_part_t;

typedef struct explain_candidate {
	workload_value_t value;
	double cost;                /* negative: it has none */
	double part[EXPLAIN_PARTS]; /* as in the choice's list; NAN: it has no such part */
	const char *bound;          /* what takes longest; null: not said */
	const char *left_out;       /* why it was not compared; null: it was */
} explain_candidate_t;

typedef struct explain_choice {
	const char *param; /* the name of a parameter, or "pattern" */
	workload_value_t chosen;
	/* nanoseconds that a cost of 1 stands for; 0: not known, costs can only be compared */
	double unit_ns;
	/* The chosen cost may exceed the least one by this part of it, for the reason that the rule
	 * gives. */
	double margin;
	char rule[EXPLAIN_WORDS]; /* how it was chosen: the end of a sentence */
	const char *formula;      /* a cost in terms of its parts; null: there are none */
	explain_part_t part[EXPLAIN_PARTS];
	int parts;
	explain_candidate_t *candidate; /* in the order in which they were priced */
	int count, room;
	bool misses; /* the host had no memory for all candidates */
} explain_choice_t;

/** The parameter whose values are numbers of patterns. */
#define EXPLAIN_PATTERN "pattern"

/* ------------------------------------------------------------ the record */

/** An empty record; null if the host has no memory. Released by explain_free; null is fine. */
explain_t *explain_new(void);
void explain_free(explain_t *explain);

/** The last choice of this parameter; null: there is none. */
const explain_choice_t *explain_find(const explain_t *explain, const char *param);

/** The compared candidate of least cost; null: none was priced. */
const explain_candidate_t *explain_least(const explain_choice_t *choice);

/** The candidate that was chosen; null: it is not among them. */
const explain_candidate_t *explain_chosen(const explain_choice_t *choice);

/* ------------------------------------------------------------ for choosing code */

/** The place without its record: for choices within the price of a candidate. */
workload_place_t explain_unheard(const workload_place_t *place);

void explain_begin(explain_t *explain, const char *param);

/** What a cost of 1 stands for, in nanoseconds: of the choice that has begun. */
void explain_unit(explain_t *explain, double unit_ns);

/**
 * What a cost is in terms of its parts, such as "max(multiply + load, send)". A
 * part that a candidate does not have is 0.
 */
void explain_formula(explain_t *explain, const char *formula);

/** The next candidate. What follows is said of it. */
void explain_try(explain_t *explain, workload_value_t value);
void explain_part(explain_t *explain, const char *name, double cost);
void explain_count(explain_t *explain, const char *name, double number);
void explain_bound(explain_t *explain, const char *what);
void explain_cost(explain_t *explain, double cost);

/** The candidate is not compared. */
void explain_skip(explain_t *explain, const char *why);

/** The candidates before this one are not compared with it. */
void explain_skip_former(explain_t *explain, const char *why);

/** Ends the choice. `margin`: see explain_choice_t. */
void explain_end(explain_t *explain, workload_value_t chosen, double margin, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));

/** A choice without candidates. */
void explain_rule(explain_t *explain, const char *param, workload_value_t chosen,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * The choice of a pattern by a rule, of those in `compared` (bit p: pattern p),
 * which are not priced.
 */
void explain_pattern_rule(explain_t *explain, unsigned compared, int64_t chosen, const char *format,
			  ...) __attribute__((format(printf, 4, 5)));

/** The rule of all workloads for blocks that communicate; its argument: the number of blocks. */
#define EXPLAIN_SIXTH                                                                            \
	"the machine's file has no figures of links: a sixth of %d blocks, as 48 of 304 in the " \
	"Iris paper"

/** No such blocks. */
#define EXPLAIN_NO_SENDERS "in this pattern no block only communicates"

/**
 * The choice of a number of blocks: one for each of `tasks`, and `more`, as far
 * as the device holds them at one time: `most`.
 */
void explain_blocks(explain_t *explain, int64_t blocks, int64_t tasks, int more, int most);

/** The value of a parameter that is a number. */
static inline workload_value_t explain_number(int64_t number)
{
	return (workload_value_t){{number}};
}

#endif

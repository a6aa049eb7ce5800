/*
 * Why a litmus test's question is answered as it is: an execution that the
 * axioms allow, or the cycle that they forbid.
 */
#ifndef MODEL_MEMORY_WHY_WHY_H
#define MODEL_MEMORY_WHY_WHY_H

#include <stdio.h>

#include "model/memory/axioms/axioms.h"
#include "model/memory/witness.h"

/** A step of a cycle, or a race: an edge of the drawing. */
typedef struct why_step {
	int from, to;
	const char *name; /* po, rf, co, fr, sw, init, dep or race */
} why_step_t;

enum { WHY_MAX_STEPS = 4 * MAX_EVENTS };

typedef struct why {
	bool found;     /* there is an execution, allowed or not, that ends as the question asks */
	bool asked_not; /* the question is forall: explained is what breaks it */
	bool racy;      /* the execution is allowed and has a race, which is its only step */
	axiom_t axiom;  /* that forbids the execution; AXIOM_NONE: it is allowed */
	execution_t x;
	derived_t derived;
	int steps; /* of the shortest cycle that was found; 0 where it is allowed and has no race */
	why_step_t step[WHY_MAX_STEPS];
} why_t;

/**
 * Explains the question of a test: where executions that the axioms allow
 * satisfy it, one of them (one that races, if there is); else one that
 * satisfies it, with the shortest cycle that forbids one. Errors as
 * candidates_visit.
 */
tsr_status_t why_explain(const litmus_test_t *test, const litmus_options_t *options,
			 why_t *why_out);

/** As text: a sentence, the events and the cycle. */
void why_print(const why_t *why, FILE *file);

/**
 * As a graph for dot, or drawn: threads are columns, program order runs
 * downwards, the cycle is red.
 */
void why_draw_dot(const why_t *why, FILE *file);
void why_draw_svg(const why_t *why, FILE *file);

/** "P1: r[acq,agent] r0 y reads 1", "initially y is 0". */
int why_print_event(const execution_t *x, int event, char *text, size_t size);

enum { WHY_LETTER = 16 }; /* characters of an event's name, with room to spare */

/** The letter that stands for an event: a, b, ... z, a2, ... */
int why_print_letter(int event, char *text, size_t size);

/**
 * The edges of a drawing, without those that others imply: po, rf, co, fr and
 * sw. Returns their number.
 */
int why_edges(const why_t *why, why_step_t *edges, int room);

#endif

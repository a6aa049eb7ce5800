/*
 * The memory model: tessera.cat in C. axioms.c reads like that file, and there
 * is no other place that says what is allowed.
 */
#ifndef MODEL_MEMORY_AXIOMS_AXIOMS_H
#define MODEL_MEMORY_AXIOMS_AXIOMS_H

#include "model/memory/axioms/execution.h"
#include "model/memory/axioms/relation.h"

/** The seq_cst order is promised between operations of: */
typedef enum axioms_sc { SC_NOBODY, SC_SAME_SCOPE, SC_INCLUSIVE_SCOPES } axioms_sc_t;

/**
 * The model, its stronger relatives, and models with a mistake each, which the
 * tests must tell from it.
 */
typedef struct axioms {
	const char *name, *summary;
	/* two accesses synchronise only if each names a scope that includes the other's thread */
	bool inclusion;
	bool release_sequences; /* read-modify-writes hand on what they read from a release */
	axioms_sc_t sc;
	/* acyclic (po | rf), which the view machine has and the model has not */
	bool no_load_buffering;
} axioms_t;

extern const axioms_t axioms_variants[]; /* the model itself first; ends with a null name */

/**
 * The variant of that name; null: the model itself. TSR_ERR_NOT_FOUND names
 * those that there are.
 */
tsr_status_t axioms_find(const char *name, const axioms_t **axioms_out);

/** What follows from an execution, by the names of the cat file. */
typedef struct derived {
	relation_t incl, rs, sw, hb; /* from who reads from whom alone */
	relation_t fr, eco, psc;     /* from the orders of writes too */
} derived_t;

typedef enum axiom {
	AXIOM_NONE,
	AXIOM_COHERENCE,
	AXIOM_ATOMICITY,
	AXIOM_SEQ_CST,
	AXIOM_NO_THIN_AIR,
	AXIOM_NO_LOAD_BUFFERING
} axiom_t;

/** "Coherence" and the like, as the cat file calls it. */
const char *axiom_name(axiom_t axiom);

/** incl, which hangs on the events alone: once for all executions that have the same ones. */
void axioms_include(const axioms_t *axioms, const execution_t *x, derived_t *d);

/**
 * rs, sw and hb, given axioms_include. They only grow with x->rf: what forbids
 * a part of it forbids the whole.
 */
void axioms_order(const axioms_t *axioms, const execution_t *x, derived_t *d);

/**
 * Whether any order of writes could make the execution allowed, given
 * axioms_order; of a part of it, any whole.
 */
bool axioms_may_allow(const axioms_t *axioms, const execution_t *x, const derived_t *d);

/**
 * Judges a complete execution, given axioms_order: fills in the rest of `d` and
 * returns the first axiom that forbids it.
 */
axiom_t axioms_judge(const axioms_t *axioms, const execution_t *x, derived_t *d);

/**
 * Whether seq_cst accesses or fences are in the execution: else orders of
 * writes matter within each location only.
 */
bool axioms_have_sc(const execution_t *x);

/** The steps between seq_cst accesses: po, what hb has of it, co and fr. Given axioms_judge. */
void axioms_scb(const execution_t *x, const derived_t *d, relation_t *scb_out);

/** The pairs of accesses that race: both kinds, and those of them that are scope races. */
void axioms_races(const execution_t *x, const derived_t *d, relation_t *data_out,
		  relation_t *scope_out);

#endif

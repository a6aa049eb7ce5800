/*
 * tessera.cat, line by line. An event's order and scope are what the test says;
 * the initial values have neither.
 * What a reader of the cat file needs to know: r;s is rel_then, r+ rel_closure,
 * r? rel_maybe, [S];r;[T] rel_within(S, r, T).
 */
#include "model/memory/axioms/axioms.h"

#include <string.h>

#include "tessera/program.h"

const axioms_t axioms_variants[] = {
	{"tessera", "the model", true, true, SC_SAME_SCOPE, false},
	{"incl", "seq_cst ordered between inclusive scopes too, as tessera-incl.cat", true, true,
	 SC_INCLUSIVE_SCOPES, false},
	{"porf", "the model and acyclic (po | rf): no load buffering", true, true, SC_SAME_SCOPE,
	 true},
	{"wrong-inclusion", "a mistake: scopes do not matter", false, true, SC_SAME_SCOPE, false},
	{"wrong-release-sequences", "a mistake: a read-modify-write ends a release", true, false,
	 SC_SAME_SCOPE, false},
	{"wrong-seq-cst", "a mistake: seq_cst is release and acquire, no more", true, true,
	 SC_NOBODY, false},
	{NULL, NULL, false, false, SC_NOBODY, false},
};

tsr_status_t axioms_find(const char *name, const axioms_t **axioms_out)
{
	const char *names[sizeof axioms_variants / sizeof *axioms_variants] = {NULL};

	for (int i = 0; axioms_variants[i].name; i++) {
		names[i] = axioms_variants[i].name;
		if (!name || strcmp(name, names[i]) == 0) {
			*axioms_out = &axioms_variants[i];
			return TSR_OK;
		}
	}
	const char *near = tsr_nearest_name(name, names);
	return tsr_error(TSR_ERR_NOT_FOUND, "there are no axioms '%s'; %s '%s'", name,
			 near ? "did you mean" : "the model's own are", near ? near : names[0]);
}

const char *axiom_name(axiom_t axiom)
{
	static const char *const names[] = {"none",   "Coherence", "Atomicity",
					    "SeqCst", "NoThinAir", "NoLoadBuffering"};
	return names[axiom];
}

/* The sets of the cat file. */

static set_t with_order(const execution_t *x, unsigned orders)
{
	set_t set = 0;

	for (int i = 0; i < x->n; i++) {
		if (x->event[i].thread >= 0 && (orders & 1u << x->event[i].order))
			set |= set_of(i);
	}
	return set;
}

enum {
	RLX = 1u << LITMUS_RLX,
	ACQ = 1u << LITMUS_ACQ,
	REL = 1u << LITMUS_REL,
	ACQREL = 1u << LITMUS_ACQREL,
	SC = 1u << LITMUS_SC
};

static set_t atomic(const execution_t *x)
{
	return with_order(x, RLX | ACQ | REL | ACQREL | SC) & ~x->fences;
}

/**
 * Pairs of events whose scopes each include the other's thread. An initial
 * value is in nobody's scope.
 */
static relation_t inclusive(const axioms_t *axioms, const execution_t *x)
{
	relation_t incl = rel_none(x->n);

	for (int a = 0; a < x->n; a++) {
		for (int b = 0; b < x->n; b++) {
			const event_t *e = &x->event[a], *f = &x->event[b];
			if (e->thread < 0 || f->thread < 0)
				continue;
			if (!axioms->inclusion ||
			    litmus_inclusive(x->test, e->thread, e->scope, f->thread, f->scope))
				relate(&incl, a, b);
		}
	}
	return incl;
}

static relation_t same_scope(const execution_t *x)
{
	relation_t same = rel_none(x->n);

	for (int a = 0; a < x->n; a++) {
		for (int b = 0; b < x->n; b++) {
			if (x->event[a].scope == x->event[b].scope &&
			    x->event[a].scope != LITMUS_WI)
				relate(&same, a, b);
		}
	}
	return same;
}

static relation_t same_location(const execution_t *x)
{
	relation_t loc = rel_none(x->n);

	for (int l = 0; l < x->test->locations; l++)
		loc = rel_union(loc, rel_product(x->n, x->at[l], x->at[l]));
	return loc;
}

void axioms_include(const axioms_t *axioms, const execution_t *x, derived_t *d)
{
	d->incl = inclusive(axioms, x);
}

void axioms_order(const axioms_t *axioms, const execution_t *x, derived_t *d)
{
	int n = x->n;
	set_t Atomic = atomic(x), R = x->reads, W = x->writes, F = x->fences;
	set_t Rel = with_order(x, REL | ACQREL | SC) & (W | F);
	set_t Acq = with_order(x, ACQ | ACQREL | SC) & (R | F);

	relation_t rfs = rel_within(Atomic, rel_meet(x->rf, d->incl), Atomic);

	/* release sequence: C++20, a chain of read-modify-writes only */
	d->rs = rel_identity(n, W & Atomic);
	if (axioms->release_sequences)
		d->rs = rel_then(d->rs, rel_maybe(rel_closure(rel_then(rfs, x->rmw))));

	/* sw = incl & ((W that releases | F that releases; po; W); rs; rfs; (R that acquires | R;
	 * po; F that acquires)) */
	relation_t head =
		rel_union(rel_identity(n, Rel & W), rel_within(Rel & F, x->po, W & Atomic));
	relation_t tail =
		rel_union(rel_identity(n, Acq & R), rel_within(R & Atomic, x->po, Acq & F));
	d->sw = rel_meet(d->incl, rel_then(rel_then(rel_then(head, d->rs), rfs), tail));

	relation_t first = rel_product(n, x->initial, (R | W) & ~x->initial);
	d->hb = rel_closure(rel_union(rel_union(x->po, d->sw), first));
}

bool axioms_may_allow(const axioms_t *axioms, const execution_t *x, const derived_t *d)
{
	return rel_is_irreflexive(d->hb) && rel_is_irreflexive(rel_then(d->hb, x->rf)) &&
	       rel_is_acyclic(rel_union(x->rf, x->dep)) &&
	       !(axioms->no_load_buffering && !rel_is_acyclic(rel_union(x->po, x->rf)));
}

bool axioms_have_sc(const execution_t *x)
{
	return with_order(x, SC) != 0;
}

void axioms_scb(const execution_t *x, const derived_t *d, relation_t *scb_out)
{
	relation_t loc = same_location(x), sbnl = rel_minus(x->po, loc);
	relation_t by_hb = rel_union(rel_then(rel_then(sbnl, d->hb), sbnl), rel_meet(d->hb, loc));

	*scb_out = rel_union(rel_union(x->po, by_hb), rel_union(x->co, d->fr));
}

/** The partial order of seq_cst events, as RC11's. */
static relation_t sc_order(const execution_t *x, const derived_t *d)
{
	int n = x->n;
	set_t Sc = with_order(x, SC), MSC = Sc & ~x->fences, FSC = Sc & x->fences;
	relation_t scb;

	axioms_scb(x, d, &scb);
	relation_t msc = rel_identity(n, MSC), fsc = rel_identity(n, FSC);
	relation_t from = rel_union(msc, rel_then(fsc, rel_maybe(d->hb))),
		   to = rel_union(msc, rel_then(rel_maybe(d->hb), fsc));
	relation_t between = rel_union(d->hb, rel_then(rel_then(d->hb, d->eco), d->hb));

	return rel_union(rel_then(rel_then(from, scb), to), rel_within(FSC, between, FSC));
}

axiom_t axioms_judge(const axioms_t *axioms, const execution_t *x, derived_t *d)
{
	d->fr = rel_then(rel_inverse(x->rf), x->co);
	d->eco = rel_closure(rel_union(x->rf, rel_union(x->co, d->fr)));
	d->psc = rel_none(x->n);

	if (!rel_is_irreflexive(d->hb) || !rel_is_irreflexive(rel_then(d->hb, d->eco)))
		return AXIOM_COHERENCE;
	if (!rel_is_empty(rel_meet(x->rmw, rel_then(d->fr, x->co))))
		return AXIOM_ATOMICITY;
	if (axioms->sc != SC_NOBODY && axioms_have_sc(x)) {
		d->psc = rel_meet(sc_order(x, d), axioms->sc == SC_SAME_SCOPE
							  ? rel_meet(d->incl, same_scope(x))
							  : rel_union(d->incl, x->po));
		if (!rel_is_acyclic(d->psc))
			return AXIOM_SEQ_CST;
	}
	if (!rel_is_acyclic(rel_union(x->rf, x->dep)))
		return AXIOM_NO_THIN_AIR;
	if (axioms->no_load_buffering && !rel_is_acyclic(rel_union(x->po, x->rf)))
		return AXIOM_NO_LOAD_BUFFERING;
	return AXIOM_NONE;
}

/**
 * Pairs of accesses of different threads to one location, one of them a write.
 * Initial values are nobody's.
 */
static relation_t conflict(const execution_t *x)
{
	relation_t all = rel_none(x->n);
	set_t accesses = (x->reads | x->writes) & ~x->initial, writes = x->writes & ~x->initial;

	for (int a = 0; a < x->n; a++) {
		for (set_t left = set_has(accesses, a) ? x->at[x->event[a].location] & accesses : 0;
		     left; left &= left - 1) {
			int b = set_first(left);
			if (x->event[a].thread != x->event[b].thread &&
			    (set_has(writes, a) || set_has(writes, b)))
				relate(&all, a, b);
		}
	}
	return all;
}

void axioms_races(const execution_t *x, const derived_t *d, relation_t *data_out,
		  relation_t *scope_out)
{
	relation_t both_atomic = rel_product(x->n, atomic(x), atomic(x));
	relation_t race = rel_minus(rel_minus(conflict(x), rel_meet(d->incl, both_atomic)),
				    rel_union(d->hb, rel_inverse(d->hb)));

	*scope_out = rel_meet(race, both_atomic);
	*data_out = rel_minus(race, *scope_out);
}

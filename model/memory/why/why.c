#include "model/memory/why/why.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory/axioms/candidates.h"
#include "tessera/program.h"

/* ------------------------------------------------------------------ ways through a graph */

/** A relation with a name, of which several make a graph. */
typedef struct named {
	const char *name;
	const relation_t *relation;
} named_t;

enum { GRAPH = 4 };

/** The name of an edge, or null. */
static const char *edge_name(const named_t *graph, int from, int to)
{
	for (int i = 0; i < GRAPH && graph[i].name; i++) {
		if (related(graph[i].relation, from, to))
			return graph[i].name;
	}
	return NULL;
}

/**
 * Appends a shortest way from one event to another, at least one step long, to
 * the steps. False: there is none.
 */
static bool append_way(why_t *why, const named_t *graph, int from, int to)
{
	int n = why->x.n, queue[MAX_EVENTS], head = 0, tail = 0, next[MAX_EVENTS];

	/* Backwards from the goal, so that the steps come out in order. */
	for (int i = 0; i < MAX_EVENTS; i++)
		next[i] = -1;
	queue[tail++] = to;
	while (head < tail && next[from] < 0) {
		int at = queue[head++];
		for (int i = 0; i < n; i++) {
			if (next[i] >= 0 || !edge_name(graph, i, at))
				continue;
			next[i] = at;
			if (i != to)
				queue[tail++] = i;
		}
	}
	if (next[from] < 0)
		return false;
	int at = from;
	do {
		if (why->steps == WHY_MAX_STEPS)
			return false;
		why->step[why->steps++] =
			(why_step_t){at, next[at], edge_name(graph, at, next[at])};
		at = next[at];
	} while (at != to);
	return true;
}

/* ------------------------------------------------------------------ the cycle of each axiom */

static relation_t initial_before(const execution_t *x)
{
	return rel_product(x->n, x->initial, (x->reads | x->writes) & ~x->initial);
}

/** hb, step by step. */
static bool append_hb(why_t *why, int from, int to)
{
	relation_t init = initial_before(&why->x);
	named_t graph[GRAPH] = {{"po", &why->x.po}, {"sw", &why->derived.sw}, {"init", &init}};
	return append_way(why, graph, from, to);
}

static bool append_eco(why_t *why, int from, int to)
{
	named_t graph[GRAPH] = {{"rf", &why->x.rf}, {"co", &why->x.co}, {"fr", &why->derived.fr}};
	return append_way(why, graph, from, to);
}

static void keep_shorter(why_t *best, const why_t *found)
{
	if (found->steps > 0 && (best->steps == 0 || found->steps < best->steps)) {
		best->steps = found->steps;
		memcpy(best->step, found->step, (size_t)found->steps * sizeof *found->step);
	}
}

/** hb; eco?, closed. */
static void explain_coherence(why_t *why)
{
	why_t trial = *why;
	int n = why->x.n;

	for (int a = 0; a < n; a++) {
		for (int b = 0; b < n; b++) {
			trial.steps = 0;
			bool closed = a == b ? related(&why->derived.hb, a, a)
					     : related(&why->derived.hb, a, b) &&
						       related(&why->derived.eco, b, a);
			if (closed && append_hb(&trial, a, b) &&
			    (a == b || append_eco(&trial, b, a)))
				keep_shorter(why, &trial);
		}
	}
}

/** A read-modify-write whose halves another write stands between. */
static void explain_atomicity(why_t *why)
{
	const execution_t *x = &why->x;

	for (int r = 0; r < x->n; r++) {
		for (int w = 0; x->rmw.row[r] && w < x->n; w++) {
			int mine = set_first(x->rmw.row[r]);
			if (related(&why->derived.fr, r, w) && related(&x->co, w, mine)) {
				why->steps = 3;
				why->step[0] = (why_step_t){r, w, "fr"};
				why->step[1] = (why_step_t){w, mine, "co"};
				why->step[2] = (why_step_t){mine, r, "rmw"};
				return;
			}
		}
	}
}

/** The part of a step of psc that is not hb around it: co, fr, or what scb has of hb. */
static bool append_scb(why_t *why, int from, int to)
{
	named_t graph[GRAPH] = {{"co", &why->x.co}, {"fr", &why->derived.fr}};
	const char *name = edge_name(graph, from, to);

	if (!name)
		return append_hb(why, from, to);
	why->step[why->steps++] = (why_step_t){from, to, name};
	return true;
}

/**
 * "hb; scb or eco; hb", where either hb may be missing. False: the middle does
 * not relate its ends.
 */
static bool append_around(why_t *why, int from, int first, int second, int to,
			  bool (*middle)(why_t *, int, int))
{
	return (from == first || append_hb(why, from, first)) && middle(why, first, second) &&
	       (second == to || append_hb(why, second, to));
}

/**
 * A step of psc: between accesses scb; where a fence is at an end, hb may lie
 * between; and fences are ordered by hb; eco; hb.
 */
static void append_psc(why_t *why, int from, int to)
{
	const execution_t *x = &why->x;
	relation_t hb = why->derived.hb, scb, maybe = rel_maybe(hb);
	why_t best = *why, trial = *why;
	int before = why->steps;

	axioms_scb(x, &why->derived, &scb);
	best.steps = 0;
	for (int a = 0; a < x->n; a++) {
		bool starts = a == from || (set_has(x->fences, from) && related(&hb, from, a));
		for (int b = 0; b < x->n && starts; b++) {
			bool ends = b == to || (set_has(x->fences, to) && related(&hb, b, to));
			bool by_eco = set_has(x->fences, from) && set_has(x->fences, to) &&
				      related(&maybe, from, a) &&
				      related(&why->derived.eco, a, b) && related(&maybe, b, to);
			trial.steps = 0;
			if (ends && related(&scb, a, b) &&
			    append_around(&trial, from, a, b, to, append_scb))
				keep_shorter(&best, &trial);
			trial.steps = 0;
			if (by_eco && append_around(&trial, from, a, b, to, append_eco))
				keep_shorter(&best, &trial);
		}
	}
	if (best.steps == 0) {
		append_hb(why, from, to);
	} else if (before + best.steps <= WHY_MAX_STEPS) {
		memcpy(&why->step[before], best.step, (size_t)best.steps * sizeof *best.step);
		why->steps = before + best.steps;
	}
}

/** A shortest cycle of a graph. */
static void explain_cycle(why_t *why, const named_t *graph)
{
	why_t trial = *why;

	for (int i = 0; i < why->x.n; i++) {
		trial.steps = 0;
		if (append_way(&trial, graph, i, i))
			keep_shorter(why, &trial);
	}
}

static void explain_seq_cst(why_t *why)
{
	named_t graph[GRAPH] = {{"psc", &why->derived.psc}};
	why_step_t coarse[WHY_MAX_STEPS];

	explain_cycle(why, graph);
	int count = why->steps;
	memcpy(coarse, why->step, sizeof coarse);
	why->steps = 0;
	for (int i = 0; i < count; i++)
		append_psc(why, coarse[i].from, coarse[i].to);
}

static void explain_axiom(why_t *why)
{
	named_t thin_air[GRAPH] = {{"rf", &why->x.rf}, {"dep", &why->x.dep}};
	named_t buffering[GRAPH] = {{"rf", &why->x.rf}, {"po", &why->x.po}};

	why->steps = 0;
	switch (why->axiom) {
	case AXIOM_COHERENCE:
		explain_coherence(why);
		break;
	case AXIOM_ATOMICITY:
		explain_atomicity(why);
		break;
	case AXIOM_SEQ_CST:
		explain_seq_cst(why);
		break;
	case AXIOM_NO_THIN_AIR:
		explain_cycle(why, thin_air);
		break;
	case AXIOM_NO_LOAD_BUFFERING:
		explain_cycle(why, buffering);
		break;
	case AXIOM_NONE:
		break;
	}
}

/* ----------------------------------------------------------------- the search for the execution */

/**
 * Candidates looked at for the shortest cycle, at most: a short one is soon
 * found, and the rest are its like.
 */
enum { ENOUGH = 20000 };

typedef struct asking {
	const axioms_t *axioms;
	why_t *best, trial;
	int seen;
} asking_t;

static bool ends_as_asked(const why_t *why, const execution_t *x)
{
	const litmus_test_t *test = x->test;

	return (test->filter < 0 || litmus_holds(test, test->filter, x->values)) &&
	       litmus_holds(test, test->question, x->values) != why->asked_not;
}

/** The first pair that races, as the only step. */
static bool find_race(why_t *why)
{
	relation_t data, scope;

	axioms_races(&why->x, &why->derived, &data, &scope);
	relation_t any = rel_union(data, scope);
	for (int i = 0; i < why->x.n; i++) {
		if (any.row[i]) {
			int other = set_first(any.row[i]);
			why->step[0] = (why_step_t){
				i, other, related(&data, i, other) ? "data race" : "scope race"};
			why->steps = 1;
			return true;
		}
	}
	return false;
}

/** Keeps an execution that is allowed; one that races ends the search. */
static bool look_for_allowed(const execution_t *x, derived_t *derived, void *context)
{
	asking_t *asking = context;

	if (!ends_as_asked(asking->best, x))
		return true;
	asking->trial = *asking->best;
	asking->trial.found = true;
	asking->trial.axiom = AXIOM_NONE;
	asking->trial.x = *x;
	asking->trial.derived = *derived;
	asking->trial.racy = find_race(&asking->trial);
	if (!asking->best->found || asking->trial.racy)
		*asking->best = asking->trial;
	return !asking->best->racy;
}

/** Keeps the forbidden execution with the shortest cycle. */
static bool look_for_cycle(const execution_t *x, derived_t *derived, void *context)
{
	asking_t *asking = context;
	why_t *trial = &asking->trial;

	if (!ends_as_asked(asking->best, x))
		return true;
	trial->asked_not = asking->best->asked_not;
	trial->found = true;
	trial->racy = false;
	trial->axiom = axioms_judge(asking->axioms, x, derived);
	trial->x = *x;
	trial->derived = *derived;
	explain_axiom(trial);
	if (!asking->best->found || (trial->steps > 0 && trial->steps < asking->best->steps))
		*asking->best = *trial;
	return ++asking->seen < ENOUGH;
}

tsr_status_t why_explain(const litmus_test_t *test, const litmus_options_t *options, why_t *why_out)
{
	const axioms_t *axioms;
	tsr_status_t status = axioms_find(options->axioms, &axioms);
	bool cut;

	if (status != TSR_OK)
		return status;
	asking_t *asking = calloc(1, sizeof *asking);
	if (!asking)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory to explain %s", test->name);
	memset(why_out, 0, sizeof *why_out);
	why_out->x.test = test;
	why_out->asked_not = test->quantifier == LITMUS_FORALL;
	asking->axioms = axioms;
	asking->best = why_out;
	budget_t budget = budget_begin(test, options);
	candidates_t what = {.test = test,
			     .axioms = axioms,
			     .unroll = options->unroll,
			     .visit = look_for_allowed,
			     .context = asking,
			     .budget = &budget};
	status = candidates_visit(&what, &cut);
	if (status == TSR_OK && !why_out->found) {
		what.all = true;
		what.visit = look_for_cycle;
		status = candidates_visit(&what, &cut);
	}
	free(asking);
	return status;
}

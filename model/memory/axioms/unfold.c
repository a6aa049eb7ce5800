#include "model/memory/axioms/unfold.h"

#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"

/*
 * A way on which the walk stands: where it is, what its registers hold, and
 * what decided the branches behind it.
 */
typedef struct walk {
	const litmus_test_t *test;
	const litmus_thread_t *thread;
	int number, unroll;
	paths_t *paths;
	path_t path;
	int at;                            /* the next instruction */
	int reg[LITMUS_MAX_REGISTERS];     /* terms */
	set_t control;                     /* the reads that decided a branch so far */
	int back[LITMUS_MAX_INSTRUCTIONS]; /* how often the branch here has jumped back */
	int desired, equal;                /* terms of the compare-and-swap that is being decided */
	/* an access whose address is a number, and no location's */
	bool astray;
	/* the path has no room for the next event, term or check */
	bool full;
} walk_t;

enum { LEFT_OUT = -1 }; /* walk.at: this way goes round a loop once too often */

static int add_term(walk_t *walk, term_t term)
{
	path_t *path = &walk->path;

	if (path->terms == MAX_PATH_TERMS) {
		walk->full = true;
		return 0;
	}
	path->term[path->terms] = term;
	return path->terms++;
}

static int number_term(walk_t *walk, int64_t number)
{
	return add_term(walk, (term_t){.kind = TERM_NUMBER, .number = number});
}

static int operand_term(walk_t *walk, litmus_operand_t operand)
{
	return operand.reg >= 0 ? walk->reg[operand.reg] : number_term(walk, operand.number);
}

static int apply_term(walk_t *walk, litmus_function_t function, int a, int b)
{
	const term_t *x = &walk->path.term[a], *y = &walk->path.term[b];

	if (x->kind == TERM_NUMBER && y->kind == TERM_NUMBER)
		return number_term(walk, litmus_apply(function, x->number, y->number));
	return add_term(walk, (term_t){.kind = TERM_APPLY,
				       .function = function,
				       .a = a,
				       .b = b,
				       .reads = x->reads | y->reads});
}

static int value_term(walk_t *walk, litmus_value_t value)
{
	int a = operand_term(walk, value.a);
	return value.function == LITMUS_COPY
		       ? a
		       : apply_term(walk, value.function, a, operand_term(walk, value.b));
}

static bool compares(const term_t *term)
{
	return term->kind == TERM_APPLY &&
	       (term->function == LITMUS_EQ || term->function == LITMUS_NEQ);
}

static bool same_term(const path_t *path, int a, int b)
{
	const term_t *x = &path->term[a], *y = &path->term[b];

	return a == b ||
	       (x->kind == TERM_NUMBER && y->kind == TERM_NUMBER && x->number == y->number);
}

/**
 * A comparison's result that is compared with 0 is that comparison, or its
 * opposite: which of its results decides is wanted.
 */
static int strip_comparisons(const path_t *path, int term, bool *wanted)
{
	for (;;) {
		const term_t *outer = &path->term[term];
		if (!compares(outer) || !compares(&path->term[outer->a]) ||
		    path->term[outer->b].kind != TERM_NUMBER || path->term[outer->b].number != 0)
			return term;
		*wanted ^= outer->function == LITMUS_EQ;
		term = outer->a;
	}
}

/** What the way's checks so far make of a comparison: 1 or 0, or -1 where they leave it open. */
static int decided(const path_t *path, int term)
{
	const term_t *asked = &path->term[term];

	for (int i = 0; i < path->checks && compares(asked); i++) {
		const term_t *known = &path->term[path->check[i].term];
		if (compares(known) &&
		    ((same_term(path, asked->a, known->a) && same_term(path, asked->b, known->b)) ||
		     (same_term(path, asked->a, known->b) && same_term(path, asked->b, known->a))))
			return path->check[i].wanted == (asked->function == known->function);
	}
	return -1;
}

/** The path is only taken where this term is not zero, or is. False: that can never be. */
static bool add_check(walk_t *walk, int term, bool wanted)
{
	path_t *path = &walk->path;

	if (path->term[term].kind == TERM_NUMBER)
		return (path->term[term].number != 0) == wanted;
	term = strip_comparisons(path, term, &wanted);
	const int before = decided(path, term);
	if (before >= 0)
		return before == wanted;
	if (path->checks == MAX_PATH_CHECKS) {
		walk->full = true;
		return false;
	}
	path->check[path->checks].term = term;
	path->check[path->checks++].wanted = wanted;
	return true;
}

static int add_event(walk_t *walk, event_kind_t kind, litmus_order_t order, int address, int value)
{
	const litmus_instruction_t *in = &walk->thread->code[walk->at];
	path_t *path = &walk->path;

	if (path->events == MAX_PATH_EVENTS) {
		walk->full = true;
		return 0;
	}
	path_event_t *event = &path->event[path->events];
	*event = (path_event_t){.kind = kind,
				.order = order,
				.scope = in->scope,
				.instruction = walk->at,
				.address = address,
				.value = value,
				.pair = -1};
	if (kind != EVENT_FENCE) {
		const term_t *where = &path->term[address];
		walk->astray |= where->kind == TERM_NUMBER &&
				litmus_location(walk->test, where->number) < 0;
		event->depends = where->reads;
	}
	if (kind == EVENT_WRITE)
		event->depends |= path->term[value].reads | walk->control;
	return path->events++;
}

/** A read and the term of what it returns. */
static int add_read(walk_t *walk, litmus_order_t order, int address, int *value_out)
{
	int event = walk->path.events;

	*value_out =
		add_term(walk, (term_t){.kind = TERM_READ, .a = event, .reads = set_of(event)});
	return add_event(walk, EVENT_READ, order, address, *value_out);
}

static void add_pair(walk_t *walk, int read, int address, int value)
{
	int write =
		add_event(walk, EVENT_WRITE, walk->thread->code[walk->at].order, address, value);

	walk->path.event[read].pair = write;
	walk->path.event[write].pair = read;
}

static tsr_status_t too_long(const walk_t *walk)
{
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "%s: thread P%d does more along one way than %d accesses and fences and "
			 "%d decisions; "
			 "shorten it, or go round its loops less often (--unroll)",
			 walk->test->name, walk->number, MAX_PATH_EVENTS, MAX_PATH_CHECKS);
}

/** The instruction at which the walk stands accesses what is not there. */
static tsr_status_t gone_astray(const walk_t *walk, int instruction)
{
	char text[128];

	litmus_print_instruction(walk->test, walk->number, instruction, text, sizeof text);
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "%s: thread P%d accesses an address that is no location's by '%s'; set "
			 "its register to a location",
			 walk->test->name, walk->number, text);
}

/** Keeps the path at whose end the walk stands. */
static tsr_status_t keep_path(walk_t *walk)
{
	paths_t *paths = walk->paths;

	if (paths->count == MAX_PATHS)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "%s: thread P%d has more than %d ways through its branches; "
				 "remove some, or go round "
				 "its loops less often (--unroll)",
				 walk->test->name, walk->number, MAX_PATHS);
	if (paths->count == paths->room) {
		int room = paths->room ? 2 * paths->room : 4;
		path_t *grown = realloc(paths->path, (size_t)room * sizeof *grown);
		if (!grown)
			return tsr_error(TSR_ERR_NO_MEMORY,
					 "no memory for %d ways through thread P%d of %s", room,
					 walk->number, walk->test->name);
		paths->path = grown;
		paths->room = room;
	}
	memcpy(walk->path.final, walk->reg, sizeof walk->reg);
	paths->path[paths->count++] = walk->path;
	return TSR_OK;
}

static tsr_status_t walk_on(walk_t *walk);

/**
 * Follows the way on which a decision's term is not zero, from a copy of the
 * walk; `act` is what that decides.
 */
static tsr_status_t follow(const walk_t *walk, int term,
			   void (*act)(walk_t *, const litmus_instruction_t *))
{
	walk_t other = *walk;

	if (!add_check(&other, term, true))
		return other.full ? too_long(walk) : TSR_OK;
	act(&other, &walk->thread->code[walk->at]);
	return walk_on(&other);
}

static void jump(walk_t *walk, const litmus_instruction_t *in)
{
	bool back = in->target <= walk->at;

	if (back && ++walk->back[walk->at] > walk->unroll) {
		walk->paths->cut = true;
		walk->at = LEFT_OUT;
	} else {
		walk->at = in->target;
	}
}

/** True where the walk goes on behind the branch (or has jumped). */
static tsr_status_t step_branch(walk_t *walk, const litmus_instruction_t *in, bool *goes_on_out)
{
	int decides = value_term(walk, in->value);
	const term_t *term = &walk->path.term[decides];
	tsr_status_t status = TSR_OK;

	*goes_on_out = true;
	if (term->kind == TERM_NUMBER) {
		if (term->number != 0)
			jump(walk, in);
		else
			walk->at++;
		return TSR_OK;
	}
	walk->control |= term->reads;
	status = follow(walk, decides, jump);
	*goes_on_out = add_check(walk, decides, false);
	walk->at++;
	return status;
}

static void step_rmw(walk_t *walk, const litmus_instruction_t *in)
{
	int address = value_term(walk, in->address), old;
	int read = add_read(walk, in->order, address, &old);

	/* before the new value is computed, which sees it under this name */
	walk->reg[in->reg] = old;
	add_pair(walk, read, address, value_term(walk, in->value));
	walk->at++;
}

/** The write of a compare-and-swap that succeeds. It depends on what its own read returned. */
static void succeed(walk_t *walk, const litmus_instruction_t *in)
{
	path_t *path = &walk->path;
	int read = path->events - 1;

	add_pair(walk, read, path->event[read].address, walk->desired);
	path->event[read].order = in->order;
	path->event[path->events - 1].depends |= path->term[walk->equal].reads;
	walk->at++;
}

/** A compare-and-swap succeeds, or is a load with its failure order. */
static tsr_status_t step_cas(walk_t *walk, const litmus_instruction_t *in, bool *goes_on_out)
{
	int address = value_term(walk, in->address), expected = operand_term(walk, in->expected),
	    old;

	walk->desired = value_term(walk, in->value);
	add_read(walk, in->failure, address, &old);
	walk->equal = apply_term(walk, LITMUS_EQ, old, expected);
	walk->reg[in->reg] = old;
	tsr_status_t status = follow(walk, walk->equal, succeed);
	*goes_on_out = add_check(walk, walk->equal, false);
	walk->at++;
	return status;
}

static tsr_status_t step(walk_t *walk, bool *goes_on_out)
{
	const litmus_instruction_t *in = &walk->thread->code[walk->at];

	*goes_on_out = true;
	switch (in->op) {
	case LITMUS_LOAD:
		add_read(walk, in->order, value_term(walk, in->address), &walk->reg[in->reg]);
		break;
	case LITMUS_STORE:
		add_event(walk, EVENT_WRITE, in->order, value_term(walk, in->address),
			  value_term(walk, in->value));
		break;
	case LITMUS_FENCE:
		add_event(walk, EVENT_FENCE, in->order, 0, 0);
		break;
	case LITMUS_MOV:
		walk->reg[in->reg] = value_term(walk, in->value);
		break;
	case LITMUS_RMW:
		step_rmw(walk, in);
		return TSR_OK;
	case LITMUS_CAS:
		return step_cas(walk, in, goes_on_out);
	case LITMUS_BRANCH:
		return step_branch(walk, in, goes_on_out);
	}
	walk->at++;
	return TSR_OK;
}

static tsr_status_t walk_on(walk_t *walk)
{
	while (walk->at != LEFT_OUT && walk->at < walk->thread->count) {
		bool goes_on;
		int at = walk->at;
		tsr_status_t status = step(walk, &goes_on);
		if (walk->full)
			return too_long(walk);
		if (walk->astray)
			return gone_astray(walk, at);
		if (status != TSR_OK || !goes_on)
			return status;
	}
	return walk->at == LEFT_OUT ? TSR_OK : keep_path(walk);
}

tsr_status_t unfold(const litmus_test_t *test, int thread, int unroll, paths_t *paths)
{
	const litmus_thread_t *t = &test->thread[thread];
	walk_t walk;

	paths->count = 0;
	paths->cut = false;
	walk.test = test;
	walk.thread = t;
	walk.number = thread;
	walk.unroll = unroll;
	walk.paths = paths;
	/* the rest of a path is written before it is read */
	walk.path.events = walk.path.terms = walk.path.checks = 0;
	walk.at = 0;
	walk.control = 0;
	walk.full = walk.astray = false;
	walk.desired = walk.equal = 0;
	memset(walk.back, 0, sizeof walk.back);
	memset(walk.reg, 0, sizeof walk.reg);
	for (int i = 0; i < t->registers; i++)
		walk.reg[i] = number_term(&walk, t->initial[i]);
	return walk_on(&walk);
}

void unfold_free(paths_t *paths)
{
	free(paths->path);
	*paths = (paths_t){0};
}

#include "model/memory/language/weaken.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ weaker by one step */

static bool is_ordered(const litmus_instruction_t *i)
{
	return i->op == LITMUS_LOAD || i->op == LITMUS_STORE || i->op == LITMUS_RMW ||
	       i->op == LITMUS_CAS || i->op == LITMUS_FENCE;
}

/** The orders one step below, -1 where there are fewer than two. */
static void orders_below(const litmus_instruction_t *i, int below[2])
{
	const bool single = i->op == LITMUS_LOAD || i->op == LITMUS_STORE;

	below[0] = below[1] = -1;
	switch (i->order) {
	case LITMUS_SC:
		below[0] = i->op == LITMUS_LOAD    ? LITMUS_ACQ
			   : i->op == LITMUS_STORE ? LITMUS_REL
						   : LITMUS_ACQREL;
		break;
	case LITMUS_ACQREL:
		below[0] = LITMUS_ACQ;
		below[1] = LITMUS_REL;
		break;
	case LITMUS_ACQ:
	case LITMUS_REL:
		below[0] = LITMUS_RLX;
		break;
	case LITMUS_RLX:
		below[0] = single ? LITMUS_NA : -1;
		break;
	default:
		break;
	}
}

/** A fence that orders nothing is none: a move to a register that nobody reads takes its place. */
static void remove_fence(litmus_thread_t *thread, litmus_instruction_t *fence)
{
	fence->op = LITMUS_MOV;
	fence->reg = thread->registers < LITMUS_MAX_REGISTERS ? thread->registers++ : 0;
	fence->value = (litmus_value_t){LITMUS_COPY, {-1, 0}, {-1, 0}};
}

/**
 * Takes the `step`-th step of one instruction; false, with `step` less by those
 * it has, where it has not so many.
 */
static bool weaken_instruction(litmus_thread_t *thread, litmus_instruction_t *i, int *step,
			       char *what)
{
	static const litmus_order_t failures[] = {
		[LITMUS_ACQ] = LITMUS_RLX, [LITMUS_SC] = LITMUS_ACQ};
	int below[2];

	if (!is_ordered(i))
		return false;
	orders_below(i, below);
	for (int k = 0; k < 2; k++) {
		if (below[k] < 0 || (*step)-- != 0)
			continue;
		snprintf(what, LITMUS_MAX_TEXT, "line %d: %s to %s", i->line,
			 litmus_order_name(i->order), litmus_order_name((litmus_order_t)below[k]));
		i->order = (litmus_order_t)below[k];
		if (i->order == LITMUS_NA)
			i->scope = LITMUS_WI;
		if (i->order == LITMUS_RLX && i->op == LITMUS_FENCE)
			remove_fence(thread, i);
		return true;
	}
	if (i->op == LITMUS_CAS && (i->failure == LITMUS_ACQ || i->failure == LITMUS_SC) &&
	    (*step)-- == 0) {
		snprintf(what, LITMUS_MAX_TEXT, "line %d: failure %s to %s", i->line,
			 litmus_order_name(i->failure), litmus_order_name(failures[i->failure]));
		i->failure = failures[i->failure];
		return true;
	}
	if (i->order != LITMUS_NA && i->scope > LITMUS_WAVE && (*step)-- == 0) {
		snprintf(what, LITMUS_MAX_TEXT, "line %d: %s to %s", i->line,
			 litmus_scope_name(i->scope), litmus_scope_name(i->scope - 1));
		i->scope--;
		return true;
	}
	return false;
}

/** Takes a step of `test` itself. */
static bool weaken_in_place(litmus_test_t *test, int *step, char *what)
{
	for (int t = 0; t < test->threads; t++)
		for (int n = 0; n < test->thread[t].count; n++)
			if (weaken_instruction(&test->thread[t], &test->thread[t].code[n], step,
					       what))
				return true;
	return false;
}

int litmus_weakenings(const litmus_test_t *test)
{
	char what[LITMUS_MAX_TEXT];
	litmus_test_t copy = *test;
	const int many = 1 << 20;
	int step = many;

	weaken_in_place(&copy, &step, what);
	return many - step;
}

void litmus_weaken(const litmus_test_t *test, int step, litmus_test_t *weaker_out, char *what)
{
	*weaker_out = *test;
	weaken_in_place(weaker_out, &step, what);
}

/* ------------------------------------------------------------------ printing without names */

/** Where text is written, and the names that were given so far, in the order of their first use. */
typedef struct writer {
	char *text;
	size_t size, used;
	const litmus_test_t *test;
	const int *order; /* the threads */
	bool shape;       /* locations read and written, no more */
	int locations, location[LITMUS_MAX_LOCATIONS];
	int registers, reg[LITMUS_MAX_REGISTERS];
} writer_t;

static void put(writer_t *w, const char *word, int64_t number)
{
	if (w->used < w->size)
		w->used += (size_t)snprintf(w->text + w->used, w->size - w->used, "%s%lld ", word,
					    (long long)number);
}

static int name_of(int *names, int *count, int what)
{
	for (int i = 0; i < *count; i++)
		if (names[i] == what)
			return i;
	names[*count] = what;
	return (*count)++;
}

static void put_register(writer_t *w, int reg)
{
	put(w, "r", name_of(w->reg, &w->registers, reg));
}

static void put_operand(writer_t *w, litmus_operand_t operand)
{
	int location = operand.reg < 0 ? litmus_location(w->test, operand.number) : -1;

	if (operand.reg >= 0)
		put_register(w, operand.reg);
	else if (location >= 0)
		put(w, "x", name_of(w->location, &w->locations, location));
	else
		put(w, "#", operand.number);
}

static void put_value(writer_t *w, const litmus_value_t *value)
{
	put(w, "f", value->function);
	put_operand(w, value->a);
	if (value->function != LITMUS_COPY)
		put_operand(w, value->b);
}

static bool reads(const litmus_instruction_t *i)
{
	return i->op == LITMUS_LOAD || i->op == LITMUS_RMW || i->op == LITMUS_CAS;
}

static bool writes(const litmus_instruction_t *i)
{
	return i->op == LITMUS_STORE || i->op == LITMUS_RMW || i->op == LITMUS_CAS;
}

static void put_shape(writer_t *w, const litmus_instruction_t *i)
{
	if (reads(i)) {
		put(w, "R", 0);
		put_operand(w, i->address.a);
	}
	if (writes(i)) {
		put(w, "W", 0);
		put_operand(w, i->address.a);
	}
}

static void put_instruction(writer_t *w, const litmus_instruction_t *i)
{
	put(w, "op", i->op);
	if (is_ordered(i)) {
		put(w, "o", i->order);
		put(w, "s", i->scope);
	}
	if (i->op == LITMUS_CAS) {
		put(w, "e", i->failure);
		put_operand(w, i->expected);
	}
	if (i->op == LITMUS_BRANCH)
		put(w, "to", i->target);
	if (reads(i) || writes(i))
		put_value(w, &i->address);
	if (i->op != LITMUS_LOAD && i->op != LITMUS_FENCE)
		put_value(w, &i->value);
	if (reads(i) || i->op == LITMUS_MOV)
		put_register(w, i->reg);
}

/** Which earlier thread shares an instance of each scope. */
static void put_place(writer_t *w, int position)
{
	const litmus_thread_t *thread = &w->test->thread[w->order[position]];

	for (int s = LITMUS_WAVE; s < LITMUS_SCOPES; s++) {
		int other = 0;
		while (w->test->thread[w->order[other]].instance[s] != thread->instance[s])
			other++;
		put(w, "@", other);
	}
}

static void put_threads(writer_t *w)
{
	for (int p = 0; p < w->test->threads; p++) {
		const litmus_thread_t *thread = &w->test->thread[w->order[p]];
		w->registers = 0;
		put(w, "P", p);
		if (!w->shape)
			put_place(w, p);
		for (int n = 0; n < thread->count; n++)
			w->shape ? put_shape(w, &thread->code[n])
				 : put_instruction(w, &thread->code[n]);
		for (int r = 0; r < w->registers && !w->shape; r++)
			put(w, "=", thread->initial[w->reg[r]]);
	}
	for (int x = 0; x < w->locations && !w->shape; x++)
		put(w, "[]", w->test->initial[w->location[x]]);
}

/** Tries every order of the threads from `from` on, and keeps the smallest text. */
static void try_orders(writer_t *w, int *order, int from, char *smallest)
{
	if (from == w->test->threads) {
		w->used = 0;
		w->locations = 0;
		put_threads(w);
		if (smallest[0] == '\0' || strcmp(w->text, smallest) < 0)
			memcpy(smallest, w->text, w->used < w->size ? w->used + 1 : w->size);
		return;
	}
	for (int i = from; i < w->test->threads; i++) {
		int kept = order[from];
		order[from] = order[i];
		order[i] = kept;
		try_orders(w, order, from + 1, smallest);
		order[i] = order[from];
		order[from] = kept;
	}
}

static void print(const litmus_test_t *test, bool shape, char *text, size_t size)
{
	char attempt[1 << 14];
	int order[LITMUS_MAX_THREADS];
	writer_t w = {.text = attempt,
		      .size = sizeof attempt < size ? sizeof attempt : size,
		      .test = test,
		      .order = order,
		      .shape = shape};

	for (int t = 0; t < test->threads; t++)
		order[t] = t;
	text[0] = '\0';
	try_orders(&w, order, 0, text);
}

void litmus_print_shape(const litmus_test_t *test, char *text, size_t size)
{
	print(test, true, text, size);
}

void litmus_print_canonical(const litmus_test_t *test, char *text, size_t size)
{
	print(test, false, text, size);
}

#include "model/memory/language/canonical.h"

#include <stdio.h>
#include <string.h>

enum { FORM_BYTES = 1 << 14 }; /* of a text, with its end */

/** Where text is written, and the names that were given so far, in the order of their first use. */
typedef struct writer {
	char *text;
	size_t size, used;
	const litmus_test_t *test;
	bool shape;                    /* locations read and written, no more */
	int order[LITMUS_MAX_THREADS]; /* the threads */
	int twin[LITMUS_MAX_THREADS];  /* of each thread, the first that is equal to it */
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

/** A number that something holds at the start: it may be the address of a location. */
static void put_number(writer_t *w, int64_t number)
{
	put_operand(w, (litmus_operand_t){.reg = -1, .number = number});
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
	if (litmus_is_ordered(i)) {
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

/** Writes the code of a thread, and what its registers hold at the start. */
static void put_code(writer_t *w, const litmus_thread_t *thread)
{
	w->registers = 0;
	for (int n = 0; n < thread->count; n++)
		w->shape ? put_shape(w, &thread->code[n]) : put_instruction(w, &thread->code[n]);
	for (int r = 0; r < w->registers && !w->shape; r++)
		put_number(w, thread->initial[w->reg[r]]);
}

static void put_thread(writer_t *w, int position)
{
	put(w, "P", position);
	if (!w->shape)
		put_place(w, position);
	put_code(w, &w->test->thread[w->order[position]]);
}

static void put_initial(writer_t *w)
{
	for (int x = 0; x < w->locations && !w->shape; x++)
		put_number(w, w->test->initial[w->location[x]]);
}

static bool uses(const litmus_test_t *test, const litmus_thread_t *thread, int location)
{
	for (int n = 0; n < thread->count; n++) {
		const litmus_instruction_t *i = &thread->code[n];
		const litmus_operand_t operands[] = {i->address.a, i->address.b, i->value.a,
						     i->value.b, i->expected};
		for (size_t o = 0; o < sizeof operands / sizeof operands[0]; o++)
			if (operands[o].reg < 0 &&
			    litmus_location(test, operands[o].number) == location)
				return true;
	}
	for (int r = 0; r < thread->registers; r++)
		if (litmus_location(test, thread->initial[r]) == location)
			return true;
	return false;
}

static bool only_one_uses(const litmus_test_t *test, int location)
{
	int users = 0;

	for (int x = 0; x < test->locations; x++)
		if (litmus_location(test, test->initial[x]) == location)
			return false;
	for (int t = 0; t < test->threads; t++)
		users += uses(test, &test->thread[t], location);
	return users == 1;
}

/**
 * Writes the code of one thread: a location that others use too has a name
 * that is the same in all texts, others are named as they are met.
 */
static void put_alone(const writer_t *like, int thread, char *text, size_t size)
{
	writer_t w = {.text = text, .size = size, .test = like->test, .shape = like->shape};

	for (int x = 0; x < LITMUS_MAX_LOCATIONS; x++)
		if (!only_one_uses(w.test, x))
			w.location[w.locations++] = x;
	text[0] = '\0';
	put_code(&w, &like->test->thread[thread]);
	put_initial(&w);
}

/** Whether a and b share the same instances of scopes with all other threads. */
static bool same_places(const litmus_test_t *test, int a, int b)
{
	for (int other = 0; other < test->threads; other++) {
		const int *theirs = test->thread[other].instance;
		for (int s = LITMUS_WAVE; s < LITMUS_SCOPES && other != a && other != b; s++)
			if ((test->thread[a].instance[s] == theirs[s]) !=
			    (test->thread[b].instance[s] == theirs[s]))
				return false;
	}
	return true;
}

/** Finds the threads that can change places with an earlier one, and nothing changes. */
static void find_twins(writer_t *w)
{
	static _Thread_local char mine[FORM_BYTES], others[FORM_BYTES];

	for (int t = 0; t < w->test->threads; t++) {
		w->twin[t] = t;
		put_alone(w, t, mine, sizeof mine);
		for (int earlier = 0; earlier < t && w->twin[t] == t; earlier++) {
			put_alone(w, earlier, others, sizeof others);
			if (strcmp(mine, others) == 0 &&
			    (w->shape || same_places(w->test, t, earlier)))
				w->twin[t] = w->twin[earlier];
		}
	}
}

/** Whether a twin of the thread at `position` stands between `from` and it. */
static bool tried_a_twin(const writer_t *w, int from, int position)
{
	for (int i = from; i < position; i++)
		if (w->twin[w->order[i]] == w->twin[w->order[position]])
			return true;
	return false;
}

static void swap(int *order, int a, int b)
{
	int kept = order[a];

	order[a] = order[b];
	order[b] = kept;
}

/**
 * Tries the orders of the threads from `from` on, and keeps the smallest text.
 * Of eight threads there are 40320 orders: an order is left as soon as its text
 * is larger, and threads that are equal are tried in one order.
 */
static void try_orders(writer_t *w, int from, char *smallest)
{
	if (from == w->test->threads) {
		put_initial(w);
		if (smallest[0] == '\0' || strcmp(w->text, smallest) < 0)
			memcpy(smallest, w->text, w->used < w->size ? w->used + 1 : w->size);
		return;
	}
	for (int i = from; i < w->test->threads; i++) {
		const size_t used = w->used;
		const int locations = w->locations;
		if (tried_a_twin(w, from, i))
			continue;
		swap(w->order, from, i);
		put_thread(w, from);
		if (smallest[0] == '\0' || strncmp(w->text, smallest, w->used) <= 0)
			try_orders(w, from + 1, smallest);
		swap(w->order, from, i);
		w->used = used;
		w->locations = locations;
	}
}

static void print(const litmus_test_t *test, bool shape, char *text, size_t size)
{
	static _Thread_local char attempt[FORM_BYTES];
	writer_t w = {.text = attempt,
		      .size = sizeof attempt < size ? sizeof attempt : size,
		      .test = test,
		      .shape = shape};

	for (int t = 0; t < test->threads; t++)
		w.order[t] = t;
	find_twins(&w);
	attempt[0] = text[0] = '\0';
	try_orders(&w, 0, text);
}

void litmus_print_shape(const litmus_test_t *test, char *text, size_t size)
{
	print(test, true, text, size);
}

void litmus_print_canonical(const litmus_test_t *test, char *text, size_t size)
{
	print(test, false, text, size);
}

/* How parts of a litmus test are written: as herd writes them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/language/litmus.h"

/** What is written so far, and how long it would be if there were room. */
typedef struct writer {
	char *text;
	size_t size, length;
} writer_t;

static writer_t start(char *text, size_t size)
{
	if (size)
		text[0] = '\0';
	return (writer_t){text, size, 0};
}

static void put(writer_t *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(writer_t *writer, const char *format, ...)
{
	bool room = writer->length < writer->size;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(room ? writer->text + writer->length : NULL,
			       room ? writer->size - writer->length : 0, format, arguments);
	va_end(arguments);
	writer->length += (size_t)length;
}

static void put_number(writer_t *writer, const litmus_test_t *test, int64_t number)
{
	int location = litmus_location(test, number);

	if (location >= 0)
		put(writer, "%s", test->location[location]);
	else
		put(writer, "%" PRId64, number);
}

static void put_register(writer_t *writer, const litmus_test_t *test, int thread, int index)
{
	const int number = test->thread[thread].names[index];

	if (number >= LITMUS_NAMED)
		put(writer, "%s", test->name_of[number - LITMUS_NAMED]);
	else
		put(writer, "r%d", number);
}

static void put_observed(writer_t *writer, const litmus_test_t *test, int i)
{
	litmus_observed_t what = test->observed[i];

	if (what.thread >= 0) {
		put(writer, "%d:", what.thread);
		put_register(writer, test, what.thread, what.index);
	} else if (strchr(test->location[what.index], '[')) {
		put(writer, "%s", test->location[what.index]);
	} else {
		put(writer, "[%s]", test->location[what.index]);
	}
}

/**
 * `inside` is the connective of the term around it: no parentheses are needed
 * where it is the same.
 */
static void put_term(writer_t *writer, const litmus_test_t *test, int term,
		     litmus_connective_t inside)
{
	const litmus_term_t *t = &test->term[term];

	switch (t->connective) {
	case LITMUS_TRUE:
		put(writer, "true");
		break;
	case LITMUS_NOT:
		put(writer, "~(");
		put_term(writer, test, t->left, LITMUS_TRUE);
		put(writer, ")");
		break;
	case LITMUS_BOTH:
	case LITMUS_EITHER:
		put(writer, "%s", inside != t->connective && inside != LITMUS_TRUE ? "(" : "");
		put_term(writer, test, t->left, t->connective);
		put(writer, "%s", t->connective == LITMUS_BOTH ? " /\\ " : " \\/ ");
		put_term(writer, test, t->right, t->connective);
		put(writer, "%s", inside != t->connective && inside != LITMUS_TRUE ? ")" : "");
		break;
	case LITMUS_IS:
	case LITMUS_SAME:
		put_observed(writer, test, t->left);
		put(writer, "=");
		if (t->connective == LITMUS_IS)
			put_number(writer, test, t->number);
		else
			put_observed(writer, test, t->right);
		break;
	}
}

static void put_operand(writer_t *writer, const litmus_test_t *test, int thread,
			litmus_operand_t operand)
{
	if (operand.reg >= 0)
		put_register(writer, test, thread, operand.reg);
	else
		put_number(writer, test, operand.number);
}

static void put_value(writer_t *writer, const litmus_test_t *test, int thread,
		      const litmus_value_t *value)
{
	static const char *const names[] = {"",   "add", "xor", "and", "or",
					    "eq", "neq", "min", "max"};

	if (value->function != LITMUS_COPY)
		put(writer, "(%s ", names[value->function]);
	put_operand(writer, test, thread, value->a);
	if (value->function == LITMUS_COPY)
		return;
	put(writer, " ");
	put_operand(writer, test, thread, value->b);
	put(writer, ")");
}

static void put_address(writer_t *writer, const litmus_test_t *test, int thread,
			const litmus_value_t *address)
{
	put(writer, " ");
	put_operand(writer, test, thread, address->a);
	if (address->function == LITMUS_ADD) {
		put(writer, "+");
		put_operand(writer, test, thread, address->b);
	}
}

static void put_instruction(writer_t *writer, const litmus_test_t *test, int thread,
			    const litmus_instruction_t *in)
{
	static const char *const words[] = {"r", "w", "rmw", "cas", "f", "mov", "b"};

	put(writer, "%s", words[in->op]);
	if (in->op == LITMUS_CAS)
		put(writer, "[%s,%s,%s]", litmus_order_name(in->order),
		    litmus_order_name(in->failure), litmus_scope_name(in->scope));
	else if (in->op == LITMUS_BRANCH)
		put(writer, "[]");
	else if (in->op != LITMUS_MOV)
		put(writer, "[%s,%s]", litmus_order_name(in->order), litmus_scope_name(in->scope));
	if (in->op == LITMUS_LOAD || in->op == LITMUS_RMW || in->op == LITMUS_CAS ||
	    in->op == LITMUS_MOV) {
		put(writer, " ");
		put_register(writer, test, thread, in->reg);
	}
	if (in->op == LITMUS_CAS) {
		put(writer, " ");
		put_operand(writer, test, thread, in->expected);
	}
	if (in->op == LITMUS_RMW || in->op == LITMUS_CAS || in->op == LITMUS_MOV ||
	    in->op == LITMUS_BRANCH) {
		put(writer, " ");
		put_value(writer, test, thread, &in->value);
	}
	if (in->op == LITMUS_LOAD || in->op == LITMUS_STORE || in->op == LITMUS_RMW ||
	    in->op == LITMUS_CAS)
		put_address(writer, test, thread, &in->address);
	if (in->op == LITMUS_STORE) {
		put(writer, " ");
		put_value(writer, test, thread, &in->value);
	}
}

int litmus_print_number(const litmus_test_t *test, int64_t number, char *text, size_t size)
{
	writer_t writer = start(text, size);
	put_number(&writer, test, number);
	return (int)writer.length;
}

int litmus_print_observed(const litmus_test_t *test, int i, char *text, size_t size)
{
	writer_t writer = start(text, size);
	put_observed(&writer, test, i);
	return (int)writer.length;
}

int litmus_print_state(const litmus_test_t *test, const int64_t *values, char *text, size_t size)
{
	writer_t writer = start(text, size);

	for (int i = 0; i < test->observed_count; i++) {
		put(&writer, "%s", i ? " " : "");
		put_observed(&writer, test, i);
		put(&writer, "=");
		put_number(&writer, test, values[i]);
		put(&writer, ";");
	}
	return (int)writer.length;
}

int litmus_print_term(const litmus_test_t *test, int term, char *text, size_t size)
{
	writer_t writer = start(text, size);
	put_term(&writer, test, term, LITMUS_TRUE);
	return (int)writer.length;
}

int litmus_print_instruction(const litmus_test_t *test, int thread, int instruction, char *text,
			     size_t size)
{
	writer_t writer = start(text, size);
	put_instruction(&writer, test, thread, &test->thread[thread].code[instruction]);
	return (int)writer.length;
}

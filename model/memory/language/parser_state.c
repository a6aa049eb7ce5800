/*
 * The initial state of a litmus test: values, with types as herd's C has them,
 * pointers, and arrays, whose elements are locations.
 */
#include <stdio.h>
#include <string.h>

#include "model/memory/language/parser.h"

/* What a number of the type may be. All memory has 64 bits and a sign here. */
static const struct {
	const char *name;
	int bits;
	bool has_sign;
} types[] = {
	{"int", 32, true},       {"long", 64, true},      {"int8_t", 8, true},
	{"int16_t", 16, true},   {"int32_t", 32, true},   {"int64_t", 64, true},
	{"uint8_t", 8, false},   {"uint16_t", 16, false}, {"uint32_t", 32, false},
	{"uint64_t", 64, false}, {"intptr_t", 64, true},  {"uintptr_t", 64, false},
};
enum { TYPES = sizeof types / sizeof *types };

/** Whether a type stands here: a name and, behind it, what it is the type of. */
static bool at_type(const parser_t *parser)
{
	const token_t after = parser_after(parser);
	lexer_t ahead = parser->lexer;
	token_t token;

	if (parser->token.kind != TOKEN_NAME)
		return false;
	if (!token_is(&after, "["))
		return after.kind == TOKEN_NAME || after.kind == TOKEN_NUMBER ||
		       token_is(&after, "*");
	return lexer_next(&ahead, &token) && lexer_next(&ahead, &token) && token.kind == TOKEN_NAME;
}

/** Keeps the narrowest type of integers. */
static void note_type(parser_t *parser, int type)
{
	const int kept = parser->type;
	if (kept >= 0 && (types[kept].bits < types[type].bits ||
			  (types[kept].bits == types[type].bits && !types[kept].has_sign)))
		return;
	parser->type = type;
	parser->typed = parser->token;
}

/** "int", "_Atomic int", "int *" or "*", where one stands here. */
static bool read_type(parser_t *parser)
{
	int type = 0;

	if (parser_at(parser, "_Atomic") && !parser_take(parser))
		return false;
	if (parser_at(parser, "*"))
		return parser_take(parser);
	if (!at_type(parser))
		return true;
	const token_t after = parser_after(parser);
	while (type < TYPES && !parser_at(parser, types[type].name))
		type++;
	if (type == TYPES && !token_is(&after, "*"))
		return parser_fail(parser,
				   "the type '%.*s' is not known: int, long, intN_t and uintN_t "
				   "are, with 8, 16, 32 or 64 for N, and pointers",
				   parser->token.length, parser->token.text);
	if (!token_is(&after, "*"))
		note_type(parser, type);
	return parser_take(parser) && (!parser_at(parser, "*") || parser_take(parser));
}

bool parser_value(parser_t *parser, int64_t *number_out)
{
	const token_t value = parser->token, after = parser_after(parser);
	int location;

	if (!parser_native_value(parser))
		return false;
	if (token_is(&after, ":"))
		return parser_fail(
			parser, "a value with ':', such as a label, a tag or a capability, is not "
				"known: write a number, or a location for its address");
	if (value.kind == TOKEN_NUMBER) {
		*number_out = value.number;
		return parser_take(parser);
	}
	if (parser_at(parser, "&") && !parser_take(parser))
		return false;
	if (!parser_location(parser, &location))
		return false;
	*number_out = LITMUS_ADDRESS(location);
	return true;
}

/** A value, or "ATOMIC_INIT(1)". */
static bool read_value(parser_t *parser, int64_t *number_out)
{
	if (!parser_at(parser, "ATOMIC_INIT"))
		return parser_value(parser, number_out);
	return parser_take(parser) && parser_expect(parser, "(", "ATOMIC_INIT") &&
	       parser_value(parser, number_out) && parser_expect(parser, ")", "a value");
}

/** Whether "NAME[NUMBER]" stands here, and no array has the name. */
static bool at_new_array(const parser_t *parser)
{
	const token_t after = parser_after(parser);
	int unused;

	return parser->token.kind == TOKEN_NAME && !parser_at_register(parser, &unused) &&
	       parser_at_array(parser) < 0 && token_is(&after, "[");
}

/** Makes the elements, which follow one another: "a[0]", "a[1]" and so on. */
static bool make_elements(parser_t *parser, const token_t *name, int64_t count)
{
	litmus_test_t *test = parser->test;

	if (parser->token.kind != TOKEN_NUMBER || count < 1 ||
	    count > LITMUS_MAX_LOCATIONS - test->locations)
		return parser_fail(parser,
				   "expected the number of elements of an array; a test may use at "
				   "most %d locations, and each element is one",
				   LITMUS_MAX_LOCATIONS);
	for (int i = 0; i < test->locations; i++)
		if (token_is(name, test->location[i]))
			return lexer_fail(&parser->lexer, name,
					  "%s is a location already: arrays are declared first",
					  test->location[i]);
	if (name->length + 5 > LITMUS_MAX_NAME)
		return lexer_fail(&parser->lexer, name, "a name of an array has at most %d letters",
				  LITMUS_MAX_NAME - 5);
	parser->array[parser->arrays].name = *name;
	parser->array[parser->arrays].first = test->locations;
	parser->array[parser->arrays++].count = (int)count;
	for (int i = 0; i < count; i++)
		snprintf(test->location[test->locations++], LITMUS_MAX_NAME, "%.*s[%d]",
			 name->length, name->text, i);
	return true;
}

/** "a[2]" or "a[2]={1,x}". */
static bool read_array(parser_t *parser)
{
	const int array = parser->arrays, first = parser->test->locations;
	const token_t name = parser->token;

	if (!parser_take(parser) || !parser_take(parser) ||
	    !make_elements(parser, &name, parser->token.number) || !parser_take(parser) ||
	    !parser_expect(parser, "]", "the number of elements"))
		return false;
	if (!parser_at(parser, "="))
		return true;
	if (!parser_take(parser))
		return false;
	if (!parser_at(parser, "{"))
		return parser_fail(parser,
				   "the values of an array stand in braces, as in int x[2]={1,2}, "
				   "not '%.*s'",
				   parser->token.length, parser->token.text);
	if (!parser_take(parser))
		return false;
	for (int i = 0; i < parser->array[array].count; i++) {
		if ((i > 0 && !parser_expect(parser, ",", "an element")) ||
		    !parser_value(parser, &parser->test->initial[first + i]))
			return false;
	}
	return parser_expect(parser, "}", "as many values as the array has elements");
}

/** "x", "x=1", "1:r0=x" and so on, behind their type. */
static bool read_one(parser_t *parser)
{
	litmus_test_t *test = parser->test;
	litmus_observed_t what;
	int64_t number = 0;

	if (!parser_observed(parser, &what))
		return false;
	if (parser_at(parser, "=") && (!parser_take(parser) || !read_value(parser, &number)))
		return false;
	*(what.thread < 0 ? &test->initial[what.index]
			  : &test->thread[what.thread].initial[what.index]) = number;
	return true;
}

/* Nobody knows yet how many threads there are: the table comes later, and checks it. */
bool parser_state(parser_t *parser)
{
	parser->test->threads = LITMUS_MAX_THREADS;
	parser->type = -1;
	while (!parser_at(parser, "}")) {
		if (parser_at(parser, ";")) {
			if (!parser_take(parser))
				return false;
			continue;
		}
		if (!read_type(parser) ||
		    !(at_new_array(parser) ? read_array(parser) : read_one(parser)))
			return false;
		if (!parser_at(parser, "}") && !parser_expect(parser, ";", "an initial value"))
			return false;
	}
	return parser_take(parser);
}

bool parser_type(parser_t *parser)
{
	int type = 0;

	while (type < TYPES && !parser_at(parser, types[type].name))
		type++;
	if (type < TYPES && !parser_take(parser))
		return false;
	return !parser_at(parser, "*") || parser_take(parser);
}

/* ------------------------------------------------------------------ numbers and types */

/** What of a test's numbers matters to types. */
typedef struct extent {
	int64_t least, most;
	bool sums, compares; /* it adds; it looks for the least or the most */
} extent_t;

static void add_number(extent_t *extent, int64_t number)
{
	if (litmus_is_address(number))
		return;
	extent->least = number < extent->least ? number : extent->least;
	extent->most = number > extent->most ? number : extent->most;
}

static void add_operand(extent_t *extent, litmus_operand_t operand)
{
	if (operand.reg < 0)
		add_number(extent, operand.number);
}

static void add_value(extent_t *extent, const litmus_value_t *value)
{
	add_operand(extent, value->a);
	if (value->function == LITMUS_COPY)
		return;
	add_operand(extent, value->b);
	extent->sums |= value->function == LITMUS_ADD;
	extent->compares |= value->function == LITMUS_MIN || value->function == LITMUS_MAX;
}

static extent_t extent_of(const litmus_test_t *test)
{
	extent_t extent = {.least = 0};

	for (int i = 0; i < test->locations; i++)
		add_number(&extent, test->initial[i]);
	for (int t = 0; t < test->threads; t++) {
		const litmus_thread_t *thread = &test->thread[t];
		for (int i = 0; i < thread->registers; i++)
			add_number(&extent, thread->initial[i]);
		for (int i = 0; i < thread->count; i++) {
			const litmus_instruction_t *in = &thread->code[i];
			if (in->op != LITMUS_LOAD && in->op != LITMUS_FENCE)
				add_value(&extent, &in->value);
			if (in->op == LITMUS_CAS)
				add_operand(&extent, in->expected);
		}
	}
	return extent;
}

bool parser_types_hold(parser_t *parser)
{
	enum { MOST_SUMS_BITS = 9 }; /* all instructions of all threads add at most 2^9 times */
	const extent_t extent = extent_of(parser->test);

	if (parser->type < 0)
		return true;
	const int bits = types[parser->type].bits;
	const bool has_sign = types[parser->type].has_sign;
	if (bits == 64 && (has_sign || !extent.compares))
		return true;
	int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + (has_sign || bits == 64)));
	int64_t least = has_sign ? -most - 1 : 0;
	if (extent.sums) {
		most >>= MOST_SUMS_BITS;
		least /= 1 << MOST_SUMS_BITS;
	}
	if (extent.least >= least && extent.most <= most)
		return true;
	return lexer_fail(&parser->lexer, &parser->typed,
			  "numbers of this test, or what they add up to, may not fit '%s', and "
			  "would wrap there: memory has 64 bits and a sign here, so use int64_t",
			  types[parser->type].name);
}

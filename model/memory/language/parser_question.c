/* What a litmus test asks: the state it shows, the filter, and the question with its quantifier. */
#include <stdlib.h>
#include <string.h>

#include "model/memory/language/parser.h"

/** Adds what a final state shows, once. */
static bool observe(parser_t *parser, litmus_observed_t what, int *index_out)
{
	litmus_test_t *test = parser->test;
	int i = 0;

	while (i < test->observed_count &&
	       (test->observed[i].thread != what.thread || test->observed[i].index != what.index))
		i++;
	if (i == LITMUS_MAX_OBSERVED)
		return parser_fail(parser, "a test may show at most %d registers and locations",
				   LITMUS_MAX_OBSERVED);
	if (i == test->observed_count)
		test->observed[test->observed_count++] = what;
	*index_out = i;
	return true;
}

static bool add_term(parser_t *parser, litmus_term_t term, int *index_out)
{
	litmus_test_t *test = parser->test;

	if (test->terms == LITMUS_MAX_TERMS)
		return parser_fail(parser, "a question may have at most %d terms",
				   LITMUS_MAX_TERMS);
	*index_out = test->terms;
	test->term[test->terms++] = term;
	return true;
}

static bool negate(parser_t *parser, int *index)
{
	return add_term(parser, (litmus_term_t){.connective = LITMUS_NOT, .left = *index}, index);
}

/** The array that stands here without an element's number, or -1. */
static int at_whole_array(const parser_t *parser)
{
	const int array = parser_at_array(parser);
	const token_t after = array >= 0 ? parser_after(parser) : parser->token;
	return token_is(&after, "[") ? -1 : array;
}

/** "{1,2}" behind an array and '=': all its elements are these. */
static bool compare_array(parser_t *parser, int array, int *index_out)
{
	if (array < 0)
		return parser_fail(parser, "values in braces are those of an array, which the "
					   "initial state declares, such as int x[2]");
	for (int i = 0; i < parser->array[array].count; i++) {
		const litmus_observed_t element = {.thread = -1,
						   .index = parser->array[array].first + i};
		litmus_term_t is = {.connective = LITMUS_IS};
		litmus_term_t both = {.connective = LITMUS_BOTH, .left = *index_out};
		if (!(i == 0 ? parser_take(parser) : parser_expect(parser, ",", "an element")) ||
		    !observe(parser, element, &is.left) || !parser_value(parser, &is.number) ||
		    !add_term(parser, is, index_out))
			return false;
		both.right = *index_out;
		if (i > 0 && !add_term(parser, both, index_out))
			return false;
	}
	return parser_expect(parser, "}", "as many values as the array has elements");
}

/** What stands behind '=': a number, an address, or what a register or a location holds. */
static bool read_right(parser_t *parser, litmus_term_t *term)
{
	const token_t value = parser->token, after = parser_after(parser);
	const bool address = parser_at(parser, "&"), star = parser_at(parser, "*");
	const bool held = star || parser_at(parser, "[");
	litmus_observed_t right;

	if (value.kind == TOKEN_NUMBER && !token_is(&after, ":")) {
		term->number = value.number;
		return parser_take(parser);
	}
	if (!parser_native_value(parser))
		return false;
	if (((address || star) && !parser_take(parser)) || !parser_observed(parser, &right))
		return false;
	if (right.thread < 0 && !held) {
		term->number = LITMUS_ADDRESS(right.index);
		return true;
	}
	term->connective = LITMUS_SAME;
	return observe(parser, right, &term->right);
}

/** "1:r0=1", "x!=2", "[x]=[y]", "0:r0=1:r0", "0:r0=*x", "1:r0=x" (an address), "a={1,2}". */
static bool read_comparison(parser_t *parser, int *index_out)
{
	litmus_term_t term = {.connective = LITMUS_IS};
	const int array = at_whole_array(parser);
	litmus_observed_t left;

	if (!parser_observed(parser, &left) || !observe(parser, left, &term.left))
		return false;
	bool differs = parser_at(parser, "!=") || parser_at(parser, "<>");
	if (!differs && !parser_at(parser, "=") && !parser_at(parser, "=="))
		return parser_expect(parser, "=", "a register or location");
	if (!parser_take(parser))
		return false;
	if (!(parser_at(parser, "{")
		      ? compare_array(parser, array, index_out)
		      : read_right(parser, &term) && add_term(parser, term, index_out)))
		return false;
	return !differs || negate(parser, index_out);
}

enum { DEEPEST = 64 };

static bool read_either(parser_t *parser, int depth, int *index_out);

static bool read_factor(parser_t *parser, int depth, int *index_out)
{
	if (depth == DEEPEST)
		return parser_fail(parser, "a question may nest at most %d deep", DEEPEST);
	if (parser_at(parser, "~") || parser_at(parser, "not")) {
		return parser_take(parser) && read_factor(parser, depth + 1, index_out) &&
		       negate(parser, index_out);
	}
	if (parser_at(parser, "("))
		return parser_take(parser) && read_either(parser, depth + 1, index_out) &&
		       parser_expect(parser, ")", "a term");
	const bool not_true = parser_at(parser, "false");
	if (parser_at(parser, "true") || not_true)
		return parser_take(parser) &&
		       add_term(parser, (litmus_term_t){.connective = LITMUS_TRUE}, index_out) &&
		       (!not_true || negate(parser, index_out));
	return read_comparison(parser, index_out);
}

/** Factors joined by =>, which binds to the right, and closer than the others, as in herd. */
static bool read_implied(parser_t *parser, int depth, int *index_out)
{
	litmus_term_t term = {.connective = LITMUS_EITHER};

	if (depth == DEEPEST)
		return parser_fail(parser, "a question may nest at most %d deep", DEEPEST);
	if (!read_factor(parser, depth, index_out))
		return false;
	if (!parser_at(parser, "=>"))
		return true;
	if (!parser_take(parser) || !negate(parser, index_out))
		return false;
	term.left = *index_out;
	return read_implied(parser, depth + 1, &term.right) && add_term(parser, term, index_out);
}

/** Factors joined by /\, or those joined by \/: the former bind closer. */
static bool read_joined(parser_t *parser, int depth, litmus_connective_t connective, int *index_out)
{
	litmus_term_t term = {.connective = connective};
	bool both = connective == LITMUS_BOTH;

	if (!(both ? read_implied(parser, depth, &term.left)
		   : read_joined(parser, depth, LITMUS_BOTH, &term.left)))
		return false;
	while (parser_at(parser, both ? "/\\" : "\\/")) {
		if (!parser_take(parser))
			return false;
		if (!(both ? read_implied(parser, depth, &term.right)
			   : read_joined(parser, depth, LITMUS_BOTH, &term.right)))
			return false;
		if (!add_term(parser, term, &term.left))
			return false;
	}
	*index_out = term.left;
	return true;
}

static bool read_either(parser_t *parser, int depth, int *index_out)
{
	return read_joined(parser, depth, LITMUS_EITHER, index_out);
}

/** "exists" and the like; "final", or nothing before a parenthesis, is what exists was once. */
static bool read_quantifier(parser_t *parser)
{
	litmus_test_t *test = parser->test;

	test->quantifier = LITMUS_EXISTS;
	if (parser_at(parser, "~")) {
		test->quantifier = LITMUS_NOT_EXISTS;
		return parser_take(parser) && parser_expect(parser, "exists", "'~'");
	}
	if (parser_at(parser, "("))
		return true;
	if (parser_at(parser, "observed") || parser_at(parser, "Observed"))
		return parser_fail(parser,
				   "lists of what was observed are not known: ask 'exists (...)'");
	if (parser_at(parser, "forall"))
		test->quantifier = LITMUS_FORALL;
	else if (!parser_at(parser, "exists") && !parser_at(parser, "final"))
		return parser_fail(parser, "the test asks nothing: 'exists (...)', '~exists (...)' "
					   "or 'forall (...)' is missing");
	return parser_take(parser);
}

static bool read_locations(parser_t *parser)
{
	int unused;

	if (!parser_take(parser) || !parser_expect(parser, "[", "locations"))
		return false;
	while (!parser_at(parser, "]")) {
		litmus_observed_t what;
		if (!parser_observed(parser, &what) || !observe(parser, what, &unused) ||
		    !parser_type(parser))
			return false;
		if (parser->token.kind == TOKEN_NAME)
			return parser_fail(parser,
					   "'%.*s' is no type that is known; what is shown is "
					   "parted by ';'",
					   parser->token.length, parser->token.text);
		if (!parser_at(parser, "]") &&
		    !parser_expect(parser, ";", "a register or location"))
			return false;
	}
	return parser_take(parser);
}

static int compare_observed(const litmus_test_t *test, litmus_observed_t a, litmus_observed_t b)
{
	if ((a.thread < 0) != (b.thread < 0))
		return a.thread < 0 ? 1 : -1;
	if (a.thread < 0)
		return strcmp(test->location[a.index], test->location[b.index]);
	if (a.thread != b.thread)
		return a.thread - b.thread;
	return test->thread[a.thread].names[a.index] - test->thread[b.thread].names[b.index];
}

/** Registers by thread and number, then locations by name. */
static void sort_observed(litmus_test_t *test)
{
	int moved_to[LITMUS_MAX_OBSERVED];
	litmus_observed_t sorted[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		moved_to[i] = 0;
		for (int j = 0; j < test->observed_count; j++)
			moved_to[i] +=
				compare_observed(test, test->observed[j], test->observed[i]) < 0;
		sorted[moved_to[i]] = test->observed[i];
	}
	memcpy(test->observed, sorted, (size_t)test->observed_count * sizeof *sorted);
	for (int i = 0; i < test->terms; i++) {
		litmus_term_t *term = &test->term[i];
		if (term->connective == LITMUS_IS || term->connective == LITMUS_SAME)
			term->left = moved_to[term->left];
		if (term->connective == LITMUS_SAME)
			term->right = moved_to[term->right];
	}
}

bool parser_question(parser_t *parser)
{
	litmus_test_t *test = parser->test;

	if (parser_at(parser, "locations") && !read_locations(parser))
		return false;
	if (parser_at(parser, "filter") &&
	    (!parser_take(parser) || !read_either(parser, 0, &test->filter)))
		return false;
	if (!read_quantifier(parser) || !read_either(parser, 0, &test->question))
		return false;
	if (parser_at(parser, ";") && !parser_take(parser))
		return false;
	if (parser_at(parser, "with"))
		return parser_fail(parser, "answers behind 'with' are not known: write "
					   "Expect=Never, Sometimes or Always before '{'");
	if (parser->token.kind != TOKEN_END)
		return parser_fail(parser, "nothing may follow the question, but '%.*s' does",
				   parser->token.length, parser->token.text);
	sort_observed(test);
	return true;
}

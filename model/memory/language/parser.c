/*
 * The frame of a litmus test: its name, the lines after it, its initial state,
 * and the words that the other parts are made of.
 */
#include "model/memory/language/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tessera/program.h"

bool parser_fail(parser_t *parser, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	return lexer_fail(&parser->lexer, &parser->token, "%s", sentence);
}

bool parser_take(parser_t *parser)
{
	return lexer_next(&parser->lexer, &parser->token);
}

bool parser_at(const parser_t *parser, const char *text)
{
	return token_is(&parser->token, text);
}

token_t parser_after(const parser_t *parser)
{
	lexer_t ahead = parser->lexer;
	token_t token = {.kind = TOKEN_END};
	return lexer_next(&ahead, &token) ? token : (token_t){.kind = TOKEN_END};
}

bool parser_expect(parser_t *parser, const char *mark, const char *after)
{
	if (parser_at(parser, mark))
		return parser_take(parser);
	if (parser->token.kind == TOKEN_END)
		return parser_fail(parser, "the test ends where '%s' is missing after %s", mark,
				   after);
	return parser_fail(parser, "expected '%s' after %s, not '%.*s'", mark, after,
			   parser->token.length, parser->token.text);
}

bool parser_at_register(const parser_t *parser, int *number_out)
{
	const token_t *token = &parser->token;
	int number = 0;

	if (token->kind == TOKEN_NAME && token->text[0] == '%') {
		*number_out = LITMUS_NAMED;
		return true;
	}
	if (token->kind != TOKEN_NAME || token->text[0] != 'r' || token->length < 2 ||
	    token->length > 7)
		return false;
	for (int i = 1; i < token->length; i++) {
		if (token->text[i] < '0' || token->text[i] > '9')
			return false;
		number = number * 10 + (token->text[i] - '0');
	}
	*number_out = number;
	return true;
}

/** The number of a register with a name, such as %a: LITMUS_NAMED and above. */
static bool number_of_named(parser_t *parser, int *number_out)
{
	litmus_test_t *test = parser->test;
	int i = 0;

	while (i < test->named && !parser_at(parser, test->name_of[i]))
		i++;
	if (i == LITMUS_MAX_NAMED)
		return parser_fail(parser, "a test may use at most %d registers with names",
				   LITMUS_MAX_NAMED);
	if (i == test->named && !token_copy(&parser->token, test->name_of[i], LITMUS_MAX_NAME))
		return parser_fail(parser, "a name has at most %d letters", LITMUS_MAX_NAME - 1);
	test->named += i == test->named;
	*number_out = LITMUS_NAMED + i;
	return true;
}

bool parser_register(parser_t *parser, int thread, int *index_out)
{
	litmus_thread_t *t = &parser->test->thread[thread];
	int number, i = 0;

	if (!parser_at_register(parser, &number))
		return parser_fail(parser, "expected a register, such as r0, not '%.*s'",
				   parser->token.length, parser->token.text);
	if (number == LITMUS_NAMED && !number_of_named(parser, &number))
		return false;
	while (i < t->registers && t->names[i] != number)
		i++;
	if (i == LITMUS_MAX_REGISTERS)
		return parser_fail(parser, "a thread may use at most %d registers",
				   LITMUS_MAX_REGISTERS);
	if (i == t->registers) {
		t->names[i] = number;
		t->registers++;
	}
	*index_out = i;
	return parser_take(parser);
}

/** The array that the next token names, or -1. */
int parser_at_array(const parser_t *parser)
{
	for (int i = 0; i < parser->arrays; i++)
		if (parser->token.length == parser->array[i].name.length &&
		    memcmp(parser->token.text, parser->array[i].name.text,
			   (size_t)parser->token.length) == 0)
			return i;
	return -1;
}

/** An element, such as a[1]; the array alone is its first one. */
static bool read_element(parser_t *parser, int array, int *index_out)
{
	const int count = parser->array[array].count;
	int64_t element = 0;

	if (!parser_take(parser))
		return false;
	if (parser_at(parser, "[")) {
		if (!parser_take(parser))
			return false;
		element = parser->token.number;
		if (parser->token.kind != TOKEN_NUMBER || element < 0 || element >= count)
			return parser_fail(parser, "expected an element of the array, 0 to %d",
					   count - 1);
		if (!parser_take(parser) || !parser_expect(parser, "]", "an element's number"))
			return false;
	}
	*index_out = parser->array[array].first + (int)element;
	return true;
}

bool parser_location(parser_t *parser, int *index_out)
{
	litmus_test_t *test = parser->test;
	const int array = parser_at_array(parser);
	const token_t name = parser->token;
	int unused, i = 0;

	if (array >= 0)
		return read_element(parser, array, index_out);
	if (parser->token.kind != TOKEN_NAME || parser_at_register(parser, &unused))
		return parser_fail(parser, "expected a location, such as x, not '%.*s'",
				   parser->token.length, parser->token.text);
	while (i < test->locations && !parser_at(parser, test->location[i]))
		i++;
	if (i == LITMUS_MAX_LOCATIONS)
		return parser_fail(parser, "a test may use at most %d locations",
				   LITMUS_MAX_LOCATIONS);
	if (i == test->locations) {
		if (!token_copy(&parser->token, test->location[i], LITMUS_MAX_NAME))
			return parser_fail(parser, "a name has at most %d letters",
					   LITMUS_MAX_NAME - 1);
		test->locations++;
	}
	*index_out = i;
	if (!parser_take(parser))
		return false;
	return parser_native_location(parser, &name);
}

bool parser_thread(parser_t *parser, int *thread_out)
{
	const token_t *token = &parser->token;
	bool named = token->kind == TOKEN_NAME && token->text[0] == 'P' && token->length > 1 &&
		     token->length < 5;
	int64_t thread = token->number;

	if (token->kind != TOKEN_NUMBER && !named)
		return parser_fail(parser, "expected a thread's number, not '%.*s'", token->length,
				   token->text);
	for (int i = 1; named && i < token->length; i++) {
		if (token->text[i] < '0' || token->text[i] > '9')
			return parser_fail(parser, "expected a thread's number, not '%.*s'",
					   token->length, token->text);
		thread = thread * 10 + (token->text[i] - '0');
	}
	if (thread < 0 || thread >= parser->test->threads)
		return parser_fail(parser, "there is no thread %lld; the last is %d",
				   (long long)thread, parser->test->threads - 1);
	*thread_out = (int)thread;
	return parser_take(parser);
}

/** "1:r0", which has its ':'. */
static bool observed_register(parser_t *parser, litmus_observed_t *observed)
{
	const bool number = parser->token.kind == TOKEN_NUMBER || parser->token.text[0] == 'P';
	int unused;

	if (!number)
		return parser_fail(parser,
				   "expected a thread's number before ':', not '%.*s': memory tags "
				   "are not known",
				   parser->token.length, parser->token.text);
	if (!parser_thread(parser, &observed->thread) || !parser_take(parser))
		return false;
	if (parser->token.kind == TOKEN_NAME && !parser_at_register(parser, &unused))
		return parser_fail(parser,
				   "expected a register, such as r0, not '%.*s'; labels have no "
				   "values here",
				   parser->token.length, parser->token.text);
	return parser_register(parser, observed->thread, &observed->index);
}

static bool observed_location(parser_t *parser, litmus_observed_t *observed)
{
	int unused;

	if (parser_at_register(parser, &unused))
		return parser_fail(parser,
				   "a register belongs to a thread, which stands before it, as in "
				   "0:%.*s",
				   parser->token.length, parser->token.text);
	return parser_location(parser, &observed->index);
}

bool parser_observed(parser_t *parser, litmus_observed_t *observed_out)
{
	litmus_observed_t observed = {.thread = -1};

	if (parser_at(parser, "[")) {
		if (!parser_take(parser) || !parser_location(parser, &observed.index) ||
		    !parser_expect(parser, "]", "a location"))
			return false;
	} else {
		lexer_t ahead = parser->lexer;
		token_t colon;
		if (!lexer_next(&ahead, &colon))
			return false;
		if (!(token_is(&colon, ":") ? observed_register(parser, &observed)
					    : observed_location(parser, &observed)))
			return false;
	}
	*observed_out = observed;
	return true;
}

/** "a sentence" on one line, behind its first quote. */
static bool read_sentence(parser_t *parser)
{
	const lexer_t start = parser->lexer;
	token_t line = lexer_rest_of_line(&parser->lexer);
	const char *closing = line.text + line.length;

	while (closing > line.text && *--closing != '"') {
	}
	if (line.length == 0 || *closing != '"')
		return parser_fail(parser, "a sentence ends with '\"' on the line where it begins");
	line.length = (int)(closing - line.text);
	if (!token_copy(&line, parser->test->sentence, LITMUS_MAX_TEXT))
		return parser_fail(parser, "a sentence has at most %d letters",
				   LITMUS_MAX_TEXT - 1);
	parser->lexer = start;
	parser->lexer.at = closing + 1;
	return parser_take(parser);
}

/** "Key=value". */
static bool read_key(parser_t *parser)
{
	litmus_test_t *test = parser->test;
	const token_t key = parser->token;

	if (test->keys == LITMUS_MAX_KEYS)
		return parser_fail(parser, "a test has at most %d lines of the form Key=value",
				   LITMUS_MAX_KEYS);
	if (!token_copy(&key, test->info[test->keys].key, LITMUS_MAX_NAME))
		return parser_fail(parser, "a name has at most %d letters", LITMUS_MAX_NAME - 1);
	const token_t mark = parser_after(parser);
	if (!token_is(&mark, "="))
		return parser_fail(parser, "this line is no Key=value, no sentence in quotes and "
					   "not '{': make it a comment, (* ... *)");
	if (!parser_take(parser))
		return false;
	const token_t value = lexer_rest_of_line(&parser->lexer);
	if (!token_copy(&value, test->info[test->keys].value, LITMUS_MAX_TEXT))
		return parser_fail(parser, "a value has at most %d letters", LITMUS_MAX_TEXT - 1);
	test->keys++;
	return parser_take(parser);
}

/** What stands between the name and '{': one sentence in quotes, and lines Key=value. */
static bool read_info(parser_t *parser)
{
	while (!parser_at(parser, "{")) {
		if (parser_at(parser, "\"")) {
			if (!read_sentence(parser) ||
			    (parser_at(parser, ";") && !parser_take(parser)))
				return false;
			continue;
		}
		if (parser->token.kind != TOKEN_NAME)
			return parser_fail(
				parser, "expected '{' and the initial state after the test's name");
		if (!read_key(parser))
			return false;
	}
	return parser_take(parser);
}

/** "--" stands for the name of the file, without its folder and what is behind its last dot. */
static void name_by_source(parser_t *parser)
{
	const char *source = parser->lexer.source, *slash = strrchr(source, '/');
	const char *name = slash ? slash + 1 : source, *dot = strrchr(name, '.');
	const token_t file = {
		.text = name,
		.length = (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name))};

	if (file.length > 0)
		(void)token_copy(&file, parser->test->name, LITMUS_MAX_NAME);
}

/** The name, and what stands behind it on its line that is no sentence: herd has a name for TeX. */
static bool read_name(parser_t *parser)
{
	if (!parser_at(parser, "LISA"))
		return parser_foreign_language(parser);
	const lexer_t start = parser->lexer;
	token_t name = lexer_rest_of_line(&parser->lexer);
	for (int i = 0; i < name.length; i++) {
		if (name.text[i] == ' ' || name.text[i] == '\t')
			name.length = i;
	}
	if (name.length == 0)
		return lexer_fail(&parser->lexer, &name, "the test has no name after 'LISA'");
	if (!token_copy(&name, parser->test->name, LITMUS_MAX_NAME))
		return lexer_fail(&parser->lexer, &name, "a name has at most %d letters",
				  LITMUS_MAX_NAME - 1);
	if (token_is(&name, "--"))
		name_by_source(parser);
	parser->lexer = start;
	parser->lexer.at = name.text + name.length;
	do {
		if (!parser_take(parser))
			return false;
	} while (parser->token.line == name.line && parser->token.kind != TOKEN_END &&
		 !parser_at(parser, "\"") && !parser_at(parser, "{"));
	return true;
}

static bool read_test(parser_t *parser)
{
	return parser_take(parser) && read_name(parser) && read_info(parser) &&
	       parser_state(parser) && parser_threads(parser) && parser_scopes(parser) &&
	       parser_question(parser) && parser_types_hold(parser);
}

tsr_status_t litmus_parse(const char *source, const char *text, litmus_test_t *test_out)
{
	parser_t parser = {.lexer = lexer_start(source, text), .test = test_out};

	memset(test_out, 0, sizeof *test_out);
	test_out->filter = -1;
	return read_test(&parser) ? TSR_OK : TSR_ERR_ARGUMENT;
}

#include "model/memory/language/lexer.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/language/litmus.h"
#include "tessera/program.h"

lexer_t lexer_start(const char *source, const char *text)
{
	return (lexer_t){.source = source, .at = text, .line_start = text, .line = 1};
}

bool lexer_fail(const lexer_t *lexer, const token_t *where, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	(void)tsr_error(TSR_ERR_ARGUMENT, "%s:%d:%d: %s", lexer->source, where->line, where->column,
			sentence);
	return false;
}

bool token_is(const token_t *token, const char *text)
{
	return (int)strlen(text) == token->length && memcmp(token->text, text, strlen(text)) == 0;
}

bool token_copy(const token_t *token, char *text, int size)
{
	if (token->length >= size)
		return false;
	memcpy(text, token->text, (size_t)token->length);
	text[token->length] = '\0';
	return true;
}

static token_t token_here(const lexer_t *lexer, token_kind_t kind)
{
	return (token_t){.kind = kind,
			 .text = lexer->at,
			 .line = lexer->line,
			 .column = (int)(lexer->at - lexer->line_start) + 1};
}

static void skip_char(lexer_t *lexer)
{
	if (*lexer->at++ == '\n') {
		lexer->line++;
		lexer->line_start = lexer->at;
	}
}

static bool skip_comment(lexer_t *lexer)
{
	token_t opening = token_here(lexer, TOKEN_MARK);
	int depth = 0;

	do {
		bool opens = strncmp(lexer->at, "(*", 2) == 0,
		     closes = strncmp(lexer->at, "*)", 2) == 0;
		if (*lexer->at == '\0')
			return lexer_fail(lexer, &opening, "this comment is never closed by '*)'");
		depth += opens - closes;
		if (opens || closes)
			skip_char(lexer);
		skip_char(lexer);
	} while (depth > 0);
	return true;
}

static bool skip_blanks(lexer_t *lexer)
{
	for (;;) {
		if (lexer->at[0] == '(' && lexer->at[1] == '*') {
			if (!skip_comment(lexer))
				return false;
		} else if (isspace((unsigned char)*lexer->at)) {
			skip_char(lexer);
		} else {
			return true;
		}
	}
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/** Whether a name that has begun goes on: x-1 is a name, as is x.y or x/y, but x/\y has a mark. */
static bool name_goes_on(const char *at)
{
	return is_name_char(*at) ||
	       ((*at == '-' || *at == '.' || *at == '/') && is_name_char(at[1]));
}

static int digit_of(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : 16;
}

/** The digits of a number, without its sign. *fits_out: they fit into 64 bits. */
static uint64_t lex_digits(lexer_t *lexer, unsigned base, bool *fits_out)
{
	uint64_t magnitude = 0;

	*fits_out = true;
	for (unsigned digit; (digit = (unsigned)digit_of(*lexer->at)) < base; lexer->at++) {
		*fits_out = *fits_out && magnitude <= (UINT64_MAX - digit) / base;
		magnitude = magnitude * base + digit;
	}
	return magnitude;
}

/**
 * Decimal, -2^63 to 2^63 - 1; or hexadecimal, of which 0x8000000000000000 to
 * 0xffffffffffffffff are negative.
 */
static bool lex_number(lexer_t *lexer, token_t *token)
{
	const bool negative = *lexer->at == '-';
	bool fits;

	lexer->at += negative;
	const bool hexadecimal =
		lexer->at[0] == '0' && (lexer->at[1] == 'x' || lexer->at[1] == 'X');
	lexer->at += hexadecimal ? 2 : 0;
	if (hexadecimal && digit_of(*lexer->at) == 16)
		return lexer_fail(lexer, token,
				  "0x is followed by no digit: a hexadecimal number is like 0x1f");
	const uint64_t magnitude = lex_digits(lexer, hexadecimal ? 16 : 10, &fits);
	if (is_name_char(*lexer->at))
		return lexer_fail(lexer, token,
				  "a name begins with a letter, and a number has digits only");
	const uint64_t most = negative ? UINT64_C(1) << 63 : hexadecimal ? UINT64_MAX : INT64_MAX;
	if (!fits || magnitude > most)
		return lexer_fail(lexer, token,
				  "this number does not fit into 64 bits with a sign: use one from "
				  "-2^63 to 2^63 - 1");
	token->number = (int64_t)(negative ? -magnitude : magnitude);
	if (litmus_is_address(token->number))
		return lexer_fail(lexer, token,
				  "this number stands for an address here: use another");
	return true;
}

static bool refuse_byte(const lexer_t *lexer, const token_t *token, unsigned char c)
{
	if (c == '`')
		return lexer_fail(lexer, token,
				  "values in backquotes are not known: write a number");
	if ((c == '$' || c == '.') && isalnum((unsigned char)lexer->at[1]))
		return lexer_fail(lexer, token,
				  "'%c' begins no name here: a register is called r0 or %%a, and a "
				  "location x",
				  c);
	if (isprint(c))
		return lexer_fail(lexer, token, "'%c' has no meaning in a litmus test", c);
	return lexer_fail(lexer, token, "the byte 0x%02x has no meaning in a litmus test", c);
}

bool lexer_next(lexer_t *lexer, token_t *token_out)
{
	static const char *const marks[] = {"/\\", "\\/", "!=", "<>", "==", "=>", NULL};

	if (!skip_blanks(lexer))
		return false;
	token_t token = token_here(lexer, TOKEN_MARK);
	unsigned char c = (unsigned char)*lexer->at;
	if (c == '\0') {
		token.kind = TOKEN_END;
	} else if (isdigit(c) || (c == '-' && isdigit((unsigned char)lexer->at[1]))) {
		token.kind = TOKEN_NUMBER;
		if (!lex_number(lexer, &token))
			return false;
	} else if (is_name_char((char)c) || (c == '%' && is_name_char(lexer->at[1]))) {
		token.kind = TOKEN_NAME;
		lexer->at++;
		while (name_goes_on(lexer->at))
			lexer->at++;
	} else {
		int length = 0;
		const bool two = lexer->at[1] != '\0' && strchr("\\/=>", lexer->at[1]);
		for (int i = 0; two && marks[i] && length == 0; i++)
			length = strncmp(lexer->at, marks[i], 2) == 0 ? 2 : 0;
		if (length == 0 && !strchr("{}()[]|;:,=~+&*\"", c))
			return refuse_byte(lexer, &token, c);
		lexer->at += length ? length : 1;
	}
	token.length = (int)(lexer->at - token.text);
	*token_out = token;
	return true;
}

token_t lexer_rest_of_line(lexer_t *lexer)
{
	while (*lexer->at == ' ' || *lexer->at == '\t')
		lexer->at++;
	token_t token = token_here(lexer, TOKEN_NAME);
	while (*lexer->at != '\0' && *lexer->at != '\n')
		lexer->at++;
	token.length = (int)(lexer->at - token.text);
	while (token.length > 0 && isspace((unsigned char)token.text[token.length - 1]))
		token.length--;
	return token;
}

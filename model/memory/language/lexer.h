/* Words of a litmus test, each with the place where it stands. */
#ifndef MODEL_MEMORY_LANGUAGE_LEXER_H
#define MODEL_MEMORY_LANGUAGE_LEXER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_MARK } token_kind_t;

typedef struct token {
	token_kind_t kind;
	const char *text; /* length bytes of the test's text */
	int length, line, column;
	int64_t number;
} token_t;

typedef struct lexer {
	const char *source; /* how errors call the text */
	const char *at, *line_start;
	int line;
} lexer_t;

lexer_t lexer_start(const char *source, const char *text);

/**
 * The next word, after blanks and (* comments *). False: there is none that
 * could be, and tsr_last_error() says where and why.
 */
bool lexer_next(lexer_t *lexer, token_t *token_out);

/**
 * What stands from here to the end of the line, without blanks at its ends.
 * Never fails; the token may be empty.
 */
token_t lexer_rest_of_line(lexer_t *lexer);

/** Says "SOURCE:LINE:COLUMN: sentence" by tsr_error and returns false. */
bool lexer_fail(const lexer_t *lexer, const token_t *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool token_is(const token_t *token, const char *text);

/** Copies the token's text; false where it has no room, with its end, in `size`. */
bool token_copy(const token_t *token, char *text, int size);

#endif

/* A text of C in tokens, and its tokens in declarations. */
#ifndef TESSERA_TOOLS_DEVICE_HALF_SCAN_H
#define TESSERA_TOOLS_DEVICE_HALF_SCAN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum half_kind {
	HALF_WORD,      /* an identifier or keyword */
	HALF_VALUE,     /* a number, string or character */
	HALF_MARK,      /* one character of punctuation */
	HALF_DIRECTIVE, /* of the preprocessor, with all its lines */
	HALF_END
} half_kind_t;

typedef struct half_token {
	half_kind_t kind;
	const char *text;
	size_t length;
	int word; /* number of a word: the same for the same word */
} half_token_t;

typedef enum half_form {
	HALF_DECLARATION,
	HALF_FUNCTION, /* has a body */
	HALF_CALL,     /* of a macro */
	HALF_ASSERTION,
	HALF_BRACKET /* `extern "C" {` and what closes it */
} half_form_t;

/** What stands between two semicolons or bodies at file scope. */
typedef struct half_chunk {
	half_form_t form;
	int first, end; /* its tokens */
	int body;       /* of a function: the token that opens its body */
	bool kept;
} half_chunk_t;

/** What a #define says. */
typedef struct half_macro {
	int word;
	int first, end; /* tokens of its text, in the scan's `inner` */
} half_macro_t;

typedef struct half_tokens {
	half_token_t *token;
	int count, room;
} half_tokens_t;

typedef struct half_scan {
	half_tokens_t outer, inner; /* of the text, directives being one each; of the macros */
	half_chunk_t *chunk;
	int chunk_count, chunk_room;
	half_macro_t *macro;
	int macro_count, macro_room;
	int word_count;
	const char *wrong; /* why it did not come apart; null while all is well */
} half_scan_t;

/**
 * Takes `text` apart, which stays the caller's and must outlive `*scan`, which
 * is zero. False where `scan->wrong` says why.
 */
bool half_scan_text(half_scan_t *scan, const char *text);

void half_scan_free(half_scan_t *scan);

/** Whether the token is this word or mark. */
bool half_token_is(const half_token_t *token, const char *text);

/** The first word of a directive, such as "include"; "" where it has none. */
void half_directive_name(const half_token_t *token, char name_out[16]);

#endif

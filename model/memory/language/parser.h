/*
 * What the parts of the parser share: parser.c reads the frame, parser_state.c
 * the initial state, parser_code.c the threads, parser_question.c what is asked
 * of them.
 */
#ifndef MODEL_MEMORY_LANGUAGE_PARSER_H
#define MODEL_MEMORY_LANGUAGE_PARSER_H

#include "model/memory/language/lexer.h"
#include "model/memory/language/litmus.h"

/* Every function below returns false where the text is no test, after lexer_fail has said why. */

typedef struct parser {
	lexer_t lexer;
	token_t token; /* the next one, not yet taken */
	litmus_test_t *test;
	int label_count[LITMUS_MAX_THREADS];
	struct {
		token_t name;
		int target;
	} labels[LITMUS_MAX_THREADS][LITMUS_MAX_INSTRUCTIONS];
	int arrays; /* of the initial state */
	struct {
		token_t name;
		int first, count; /* its elements are the locations from `first` on */
	} array[LITMUS_MAX_LOCATIONS];
	int type; /* the narrowest type of integers that stands there, at `typed`; -1: none */
	token_t typed;
	/* the label that a branch names */
	token_t wanted[LITMUS_MAX_THREADS][LITMUS_MAX_INSTRUCTIONS];
} parser_t;

/* at the next token */
bool parser_fail(parser_t *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* goes on to the token after */
bool parser_take(parser_t *parser);
bool parser_expect(parser_t *parser, const char *mark, const char *after);
bool parser_at(const parser_t *parser, const char *text);

/** Whether the next token is a register's name, such as r0; its number. */
bool parser_at_register(const parser_t *parser, int *number_out);

/**
 * The index of a thread's register, or of a location, which is made where it is
 * new. The next token names it, and is taken.
 */
bool parser_register(parser_t *parser, int thread, int *index_out);
bool parser_location(parser_t *parser, int *index_out);

/*
 * What herd knows and a test here does not have (parser_foreign.c), by its name.
 * The first two fail at the next token. A location is native unless what stands
 * at the next token, behind its name, makes it another thing; so is a value,
 * which the next token begins.
 */
bool parser_foreign_language(parser_t *parser);
bool parser_foreign_instruction(parser_t *parser);
bool parser_native_location(parser_t *parser, const token_t *name);
bool parser_native_value(parser_t *parser);

/** What another model's order or scope is called here, or null. */
const char *parser_called_here(const token_t *word);

/** A thread of the test, "1" or "P1". */
bool parser_thread(parser_t *parser, int *thread_out);

/** "1:r0", "x" or "[x]". The thread must be one of the test. */
bool parser_observed(parser_t *parser, litmus_observed_t *observed_out);

/** The array that the next token names, or -1. */
int parser_at_array(const parser_t *parser);

/** The token behind the next one; TOKEN_END where none can be. */
token_t parser_after(const parser_t *parser);

/** A number, or a location for its address, with or without an ampersand. */
bool parser_value(parser_t *parser, int64_t *number_out);

/** A type behind what it is the type of; there may be none. */
bool parser_type(parser_t *parser);

bool parser_state(parser_t *parser); /* the initial state, behind '{' */
/* Whether 64 bits with a sign are as good as the types that stand there; asked at the end. */
bool parser_types_hold(parser_t *parser);
bool parser_threads(parser_t *parser); /* the table, from its row of names to its last ';' */
bool parser_scopes(parser_t *parser);  /* "scopes:" and the tree */
/* locations, filter and the question, to the end of the text */
bool parser_question(parser_t *parser);

#endif

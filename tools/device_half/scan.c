#include "tools/device_half/scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool half_token_is(const half_token_t *token, const char *text)
{
	return token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}

/** Makes room for one more of an array's items. */
static void *room_for(half_scan_t *scan, void *items, int count, int *room, size_t item_bytes)
{
	if (items && count < *room)
		return items;
	int wanted = *room ? 2 * *room : 256;
	void *grown = realloc(items, (size_t)wanted * item_bytes);
	if (!grown) {
		scan->wrong = "there is no memory for it";
		return items;
	}
	*room = wanted;
	return grown;
}

/* ------------------------------------------------------------------ tokens */

static bool starts_word(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/** Past blanks, comments and joined lines; `*new_line` says whether a line has begun. */
static const char *skip_blanks(const char *at, bool *new_line)
{
	for (;;) {
		if (*at == '\n')
			*new_line = true;
		if (isspace((unsigned char)*at)) {
			at++;
		} else if (at[0] == '\\' && at[1] == '\n') {
			at += 2;
		} else if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

/**
 * The end of a directive: of its line, with those that are joined to it, and
 * comments that go on.
 */
static const char *directive_end(const char *at)
{
	while (*at && *at != '\n') {
		if (at[0] == '\\' && at[1] == '\n') {
			at += 2;
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			at++;
		}
	}
	return at;
}

static const char *quoted_end(const char *at)
{
	const char quote = *at++;

	while (*at && *at != quote && *at != '\n')
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return *at == quote ? at + 1 : at;
}

/** Numbers as the preprocessor sees them: 1e+5, 0x1p-3, 10u. */
static const char *number_end(const char *at)
{
	while (isalnum((unsigned char)*at) || *at == '.' || *at == '_' ||
	       ((*at == '+' || *at == '-') && strchr("eEpP", at[-1])))
		at++;
	return at;
}

/** The token that begins at `at`, which is no blank. */
static half_token_t token_at(const char *at, bool new_line)
{
	half_token_t token = {.kind = HALF_MARK, .text = at};
	const char *end = at + 1;

	if (!*at) {
		token.kind = HALF_END;
		end = at;
	} else if (*at == '#' && new_line) {
		token.kind = HALF_DIRECTIVE;
		end = directive_end(at);
	} else if (starts_word(*at)) {
		token.kind = HALF_WORD;
		while (starts_word(*end) || isdigit((unsigned char)*end))
			end++;
	} else if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]))) {
		token.kind = HALF_VALUE;
		end = number_end(at + 1);
	} else if (*at == '"' || *at == '\'') {
		token.kind = HALF_VALUE;
		end = quoted_end(at);
	}
	token.length = (size_t)(end - at);
	return token;
}

static void add_token(half_scan_t *scan, half_tokens_t *tokens, half_token_t token)
{
	tokens->token = room_for(scan, tokens->token, tokens->count, &tokens->room, sizeof token);
	if (!scan->wrong)
		tokens->token[tokens->count++] = token;
}

void half_directive_name(const half_token_t *token, char name_out[16])
{
	size_t length = 0;
	const char *at = token->text + 1;

	at += strspn(at, " \t");
	for (; islower((unsigned char)at[length]) && length < 15; length++)
		name_out[length] = at[length];
	name_out[length] = '\0';
}

/** A macro's name and the tokens of its text, its parameters among them. */
static void add_macro(half_scan_t *scan, const half_token_t *directive)
{
	const char *at = strstr(directive->text, "define") + strlen("define"),
		   *end = directive->text + directive->length;
	half_macro_t macro = {.first = scan->inner.count};
	bool new_line = false;

	for (at = skip_blanks(at, &new_line); at < end && !scan->wrong;
	     at = skip_blanks(at, &new_line)) {
		half_token_t token = token_at(at, false);
		add_token(scan, &scan->inner, token);
		at += token.length;
	}
	macro.end = scan->inner.count;
	if (scan->wrong || macro.end == macro.first)
		return;
	scan->macro =
		room_for(scan, scan->macro, scan->macro_count, &scan->macro_room, sizeof macro);
	if (!scan->wrong)
		scan->macro[scan->macro_count++] = macro;
}

static void read_tokens(half_scan_t *scan, const char *text)
{
	half_token_t token = {.kind = HALF_MARK};
	char name[16];

	for (const char *at = text; token.kind != HALF_END && !scan->wrong; at += token.length) {
		bool new_line = at == text;
		at = skip_blanks(at, &new_line);
		token = token_at(at, new_line);
		add_token(scan, &scan->outer, token);
		if (token.kind != HALF_DIRECTIVE)
			continue;
		half_directive_name(&token, name);
		if (strcmp(name, "define") == 0)
			add_macro(scan, &token);
	}
}

/* ------------------------------------------------------------------ words */

static int compare_words(const void *a, const void *b)
{
	const half_token_t *x = *(half_token_t *const *)a, *y = *(half_token_t *const *)b;
	size_t common = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->text, y->text, common);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int list_words(half_tokens_t *tokens, half_token_t **list)
{
	int count = 0;

	for (int i = 0; i < tokens->count; i++) {
		if (tokens->token[i].kind == HALF_WORD)
			list[count++] = &tokens->token[i];
	}
	return count;
}

/** Gives equal words equal numbers. */
static void number_words(half_scan_t *scan)
{
	half_token_t **list =
		malloc(((size_t)scan->outer.count + (size_t)scan->inner.count + 1) * sizeof *list);

	if (!list) {
		scan->wrong = "there is no memory for it";
		return;
	}
	int count = list_words(&scan->outer, list);
	count += list_words(&scan->inner, list + count);
	qsort(list, (size_t)count, sizeof *list, compare_words);
	for (int i = 0; i < count; i++) {
		scan->word_count += i == 0 || compare_words(&list[i - 1], &list[i]) != 0;
		list[i]->word = scan->word_count - 1;
	}
	free(list);
	for (int i = 0; i < scan->macro_count; i++)
		scan->macro[i].word = scan->inner.token[scan->macro[i].first].word;
}

/* ------------------------------------------------------------------ the whole */

bool half_scan_chunks(half_scan_t *scan);

bool half_scan_text(half_scan_t *scan, const char *text)
{
	read_tokens(scan, text);
	if (!scan->wrong)
		number_words(scan);
	return !scan->wrong && half_scan_chunks(scan);
}

void half_scan_free(half_scan_t *scan)
{
	free(scan->outer.token);
	free(scan->inner.token);
	free(scan->chunk);
	free(scan->macro);
	*scan = (half_scan_t){.wrong = NULL};
}

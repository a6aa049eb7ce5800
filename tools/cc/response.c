#include "tools/cc/response.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILE_BYTES = 1 << 20, DEEPEST = 16 };

static bool fail(cc_line_t *line, const char *why)
{
	line->why = why;
	return false;
}

static bool add(cc_line_t *line, const char *text, size_t length)
{
	if (line->count == CC_MOST_LINE)
		return fail(line, "more than 4096 words");
	char *word = strndup(text, length);
	if (!word)
		return fail(line, "no host memory");
	line->word[line->count++] = word;
	return true;
}

/** The file's text, to be freed; null: there is none, or it is too long. */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? calloc(1, MOST_FILE_BYTES + 1) : NULL;
	const size_t size = text ? fread(text, 1, MOST_FILE_BYTES + 1, file) : 0;

	if (text && (size > MOST_FILE_BYTES || ferror(file))) {
		free(text);
		text = NULL;
	}
	if (file)
		(void)fclose(file);
	return text;
}

/**
 * Takes the word at `*at`, which is not blank, without its quotes and
 * backslashes: it is no longer than it stands there, and goes to `word`.
 */
static size_t take_word(const char **at, char *word)
{
	const char *text = *at;
	char quote = '\0';
	size_t length = 0;

	for (; *text && (quote || !isspace((unsigned char)*text)); text++) {
		if (*text == '\\' && text[1])
			word[length++] = *++text;
		else if (quote ? *text == quote : *text == '\'' || *text == '"')
			quote = quote ? '\0' : *text;
		else
			word[length++] = *text;
	}
	*at = text;
	return length;
}

static bool take(cc_line_t *line, const char *word, size_t length, int depth);

static bool take_text(cc_line_t *line, const char *text, int depth)
{
	char *word = malloc(strlen(text) + 1);
	bool good = word != NULL || fail(line, "no host memory");

	while (good) {
		text += strspn(text, " \t\r\n\v\f");
		if (!*text)
			break;
		const size_t length = take_word(&text, word);
		word[length] = '\0';
		good = take(line, word, length, depth);
	}
	free(word);
	return good;
}

/** A word as it is, or what the file that it names holds. */
static bool take(cc_line_t *line, const char *word, size_t length, int depth)
{
	char *text = word[0] == '@' ? read_text(word + 1) : NULL;

	if (!text)
		return add(line, word, length);
	const bool good = depth < DEEPEST
				  ? take_text(line, text, depth + 1)
				  : fail(line, "response files name each other in a circle");
	free(text);
	return good;
}

bool cc_line_read(cc_line_t *line, int argc, char *const *argv)
{
	for (int i = 0; i < argc; i++)
		if (!take(line, argv[i], strlen(argv[i]), 0))
			return false;
	return true;
}

void cc_line_clear(cc_line_t *line)
{
	for (int i = 0; i < line->count; i++)
		free(line->word[i]);
	line->count = 0;
}

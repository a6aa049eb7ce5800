/* Response files: a word @FILE of the command line stands for the words in FILE. */
#ifndef TESSERA_TOOLS_CC_RESPONSE_H
#define TESSERA_TOOLS_CC_RESPONSE_H

#include <stdbool.h>

enum { CC_MOST_LINE = 4096 };

/** A command line in which response files are replaced; zero at first. */
typedef struct cc_line {
	char *word[CC_MOST_LINE + 1]; /* each allocated; null-terminated */
	int count;
	const char *why; /* null: it is whole */
} cc_line_t;

/**
 * Copies the words of argv. A word @FILE becomes the words of that file, as the
 * compilers read it: words are apart by blanks, quotes of both kinds hold a word
 * together, a backslash takes the next byte as it is, and a word @OTHER in there
 * is another file. Where there is no such file, the word stays. False: line->why
 * says what is wrong.
 */
bool cc_line_read(cc_line_t *line, int argc, char *const *argv);
void cc_line_clear(cc_line_t *line);

#endif

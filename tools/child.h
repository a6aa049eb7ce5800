/* Commands that a command starts, and whose JSON it reads. */
#ifndef TESSERA_TOOLS_CHILD_H
#define TESSERA_TOOLS_CHILD_H

#include <jansson.h>
#include <stdbool.h>

enum { TOOL_CHILD_MOST_WORDS = 128, TOOL_CHILD_WORD_BYTES = 256 };

/** A command line. Begin with {.argc = 0}. What is too much is left out. */
typedef struct tool_child {
	char *argv[TOOL_CHILD_MOST_WORDS];
	int argc;
	char text[TOOL_CHILD_MOST_WORDS][TOOL_CHILD_WORD_BYTES];
} tool_child_t;

/** Adds a word. */
void tool_child_add(tool_child_t *child, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Runs the program at `path` with these words and "--json FILE", for `seconds` at
 * most, without output. Returns what it wrote, or null: it failed. If `why_out` is
 * not null, it gets the program's last line of errors, or what else went wrong.
 */
json_t *tool_child_json(tool_child_t *child, const char *path, int seconds, char *why_out,
			size_t why_bytes);

#endif

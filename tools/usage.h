/* What commands have in common: how they say that they were misused, and their help. */
#ifndef TESSERA_TOOLS_USAGE_H
#define TESSERA_TOOLS_USAGE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "tessera/launcher.h"

enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_MISUSED = 2 };

/**
 * Prints "tessera COMMAND: SENTENCE (tessera COMMAND --help says more)" and
 * returns TOOL_MISUSED.
 */
int tool_misuse(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** tool_misuse with the sentence of the library's last error. */
int tool_misuse_last_error(const char *command);

/**
 * getopt_long, but for one thing: it refuses ('?') an option that is written
 * with its first letters alone. Such a word would change its meaning with the
 * next option that begins like it, and --rank is read as a single number. The
 * option string begins with ':', behind '+' if there is one.
 */
int tool_next_option(int argc, char **argv, const char *letters, const struct option *options);

/**
 * What tool_next_option refused, with the nearest option that there is. Called
 * right after it returned `code`, '?' or ':'. Returns TOOL_MISUSED.
 */
int tool_bad_option(const char *command, int code, char **argv, const struct option *options);

/**
 * Options that say which world: -n, --nodes, --backend, --placement. Each prints
 * its sentence and returns TOOL_MISUSED, or TOOL_OK.
 */
int tool_parse_ranks(const char *command, const char *text, int *ranks_out);
int tool_parse_nodes(const char *command, const char *text, int *nodes_out);
int tool_parse_backend(const char *command, const char *text, const char **backend_out);
int tool_parse_placement(const char *command, const char *text, tsr_placement_t *placement_out);

/** Refuses numbers of ranks and nodes, and a placement, that do not fit together. */
int tool_check_nodes(const char *command, const tsr_launcher_t *launcher);

/**
 * Prints a help. A line of more than 80 columns goes on below where its text
 * begins, together with the lines that go on there.
 */
void tool_print_help(const char *text);

/** The same for a help that is made of parts. */
typedef struct tool_help {
	FILE *out;
	char *text;
	size_t size;
} tool_help_t;

void tool_help_begin(tool_help_t *help);
void tool_help_add(tool_help_t *help, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tool_help_end(tool_help_t *help);

/** Whether execvp would find the program. */
bool tool_is_program(const char *name);

/** Refuses a program that is not there: better said once, here, than by every rank. */
int tool_check_program(const char *command, const char *name);

#endif

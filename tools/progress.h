/*
 * A line that says how far long work has come: on a terminal only, on stderr,
 * gone when the work is done.
 */
#ifndef TESSERA_TOOLS_PROGRESS_H
#define TESSERA_TOOLS_PROGRESS_H

#include <stdbool.h>

/** One per piece of work, held by the one rank that shows it. */
typedef struct tool_progress {
	bool shown; /* stderr is a terminal */
	int done, steps;
} tool_progress_t;

/** Begins work of `steps` steps. Shows nothing yet. */
tool_progress_t tool_progress_begin(int steps);

/** Says what is being done now, and counts it. */
void tool_progress_step(tool_progress_t *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Takes the line away, so that results can be printed. tool_progress_step may follow. */
void tool_progress_clear(const tool_progress_t *progress);

#endif

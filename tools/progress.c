#include "tools/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

tool_progress_t tool_progress_begin(int steps)
{
	tool_progress_t progress = {.shown = isatty(STDERR_FILENO) == 1, .done = 0, .steps = steps};
	return progress;
}

void tool_progress_step(tool_progress_t *progress, const char *format, ...)
{
	va_list arguments;
	char what[128];

	progress->done++;
	if (!progress->shown)
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\r\033[K[%d/%d] %s", progress->done, progress->steps, what);
	fflush(stderr);
}

void tool_progress_clear(const tool_progress_t *progress)
{
	if (!progress->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

/* Lines of the log: who says what, and when. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/os/descriptor.h"

enum { LINE_BYTES = TSR_ERROR_BYTES + 128 };

static const char *const level_names[] = {"quiet", "error", "info", "debug"};
enum { LEVELS = sizeof level_names / sizeof *level_names };

/** Whether each % of a file's name is one that is known. */
static bool is_pattern(const char *file)
{
	for (const char *at = strchr(file, '%'); at != NULL; at = strchr(at + 2, '%'))
		if (at[1] != 'r' && at[1] != 'p')
			return false;
	return *file != '\0' && strlen(file) < PATH_MAX / 8;
}

tsr_status_t tsr_log_read(const char *name, const char *text, tsr_log_wish_t *wish_out)
{
	const size_t length = strcspn(text, ":");
	const char *file = text[length] == ':' ? text + length + 1 : NULL;
	int level = 0;
	while (level < LEVELS && (strncmp(level_names[level], text, length) != 0 ||
				  level_names[level][length] != '\0'))
		level++;
	if (length == 0 || level == LEVELS)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%s'; it must be quiet, error, info or debug, and :FILE "
				 "may follow, such as info:log-%%r.txt",
				 name, text);
	if (file != NULL && !is_pattern(file))
		return tsr_error(
			TSR_ERR_CONFIG,
			"%s is '%s'; behind the ':' it must have the name of a file, of at "
			"most %d letters, in which %%r stands for the rank and %%p for "
			"the process, and no other %% is",
			name, text, PATH_MAX / 8 - 1);
	*wish_out = (tsr_log_wish_t){.level = (tsr_log_level_t)level, .file = file};
	return TSR_OK;
}

/** The file's name with numbers in the place of %r and %p. */
static void expand(const char *file, int rank, char path[PATH_MAX])
{
	size_t used = 0;
	for (; *file != '\0' && used + 16 < PATH_MAX; file++) {
		if (*file != '%') {
			path[used++] = *file;
			continue;
		}
		used += (size_t)snprintf(path + used, 16, "%d", *++file == 'r' ? rank : getpid());
	}
	path[used] = '\0';
}

tsr_status_t tsr_log_open(const tsr_log_wish_t *wish, int rank, int size, tsr_log_t **log_out)
{
	char path[PATH_MAX];
	*log_out = NULL;
	if (wish->level == TSR_LOG_QUIET)
		return TSR_OK;
	tsr_log_t *log = malloc(sizeof *log);
	if (log == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a log; free some");
	*log = (tsr_log_t){.level = wish->level,
			   .fd = STDERR_FILENO,
			   .rank = rank,
			   .size = size,
			   .file = wish->file};
	if (wish->file != NULL) {
		expand(wish->file, rank, path);
		/* non-blocking: a pipe that nobody reads fails at once, and one that nobody empties
		 * loses lines */
		log->fd = tsr_fd_keep(open(path,
					   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
					   0666));
	}
	if (log->fd < 0) {
		const int error = errno;
		free(log);
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_LOG: '%s' cannot be written: %s; name a file in a folder "
				 "that is there",
				 path, strerror(error));
	}
	tsr_error_here()->log = log;
	*log_out = log;
	return TSR_OK;
}

void tsr_log_close(tsr_log_t *log)
{
	if (log == NULL)
		return;
	if (log->fd > STDERR_FILENO)
		(void)close(log->fd);
	log->level = TSR_LOG_QUIET;
	if (tsr_error_here()->log == log) {
		tsr_error_here()->log = NULL;
		free(log);
	}
}

/** "2026-11-24T03:33:10.123456Z ", in a file. */
static int put_time(const tsr_log_t *log, char *line, size_t room)
{
	struct timespec now;
	struct tm utc;
	char date[32];
	if (log->fd == STDERR_FILENO)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
	return snprintf(line, room, "%s.%06ldZ ", date, now.tv_nsec / 1000);
}

/** Tells standard error, once, that lines of this rank are lost. */
static void tell_loss(tsr_log_t *log, int error)
{
	char line[PATH_MAX / 8 + 256];
	/* Relaxed: it hands nothing over. */
	if (log->file == NULL ||
	    atomic_exchange_explicit(&log->told_loss, true, memory_order_relaxed))
		return;
	const int length = snprintf(line, sizeof line,
				    "tessera: rank %d of %d: lines of its log are lost, because "
				    "'%s' cannot be written: %s; make room, or name another file "
				    "in TESSERA_LOG\n",
				    log->rank, log->size, log->file, strerror(error));
	(void)!write(STDERR_FILENO, line, (size_t)length);
}

static void put_line(tsr_log_t *log, tsr_log_level_t level, const char *format, va_list arguments)
{
	const int error = errno;
	char line[LINE_BYTES];
	int used = put_time(log, line, sizeof line);
	used += snprintf(line + used, sizeof line - (size_t)used,
			 "tessera: rank %d of %d: %s: ", log->rank, log->size, level_names[level]);
	const int most = (int)sizeof line - used - 2;
	const int length = vsnprintf(line + used, (size_t)most + 1, format, arguments);
	used += length < 0 ? 0 : length < most ? length : most;
	line[used++] = '\n';
	const ssize_t written = write(log->fd, line, (size_t)used);
	if (written != used)
		tell_loss(log, written < 0 ? errno : ENOSPC);
	errno = error;
}

void tsr_log(tsr_log_level_t level, const char *format, ...)
{
	tsr_log_t *log = tsr_error_here()->log;
	va_list arguments;
	if (log == NULL || level > log->level)
		return;
	va_start(arguments, format);
	put_line(log, level, format, arguments);
	va_end(arguments);
}

void tsr_log_to(tsr_log_t *log, tsr_log_level_t level, const char *format, ...)
{
	va_list arguments;
	if (log == NULL || level > log->level)
		return;
	va_start(arguments, format);
	put_line(log, level, format, arguments);
	va_end(arguments);
}

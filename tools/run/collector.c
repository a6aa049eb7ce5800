/* The process that prints what ranks print, a line at a time, each with its rank. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run/run.h"
#include "tools/usage.h"

enum {
	LONGEST_LINE = 1 << 20, /* a longer one is printed in pieces */
	LINGER_MS = 200,        /* what ranks have left behind may print so long */
	UNREAD = 128 + SIGPIPE
};

/** What one rank prints on one descriptor. */
typedef struct stream {
	int rank, from, to;
	char *line; /* its beginning, until the rest comes */
	size_t length, room;
} stream_t;

typedef struct printer {
	stream_t *streams;
	struct pollfd *polls; /* of the streams, and the command's lifeline */
	int *files;           /* a rank's file; -1: none */
	int count;
	int code;
} printer_t;

/* ------------------------------------------------------------------ printing */

static void write_all(printer_t *printer, int fd, const char *bytes, size_t size_bytes)
{
	while (size_bytes > 0 && printer->code == 0) {
		const ssize_t written = write(fd, bytes, size_bytes);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			const int error = errno;
			printer->code = error == EPIPE ? UNREAD : TOOL_FAILED;
			if (error != EPIPE)
				fprintf(stderr,
					"tessera run: what ranks print cannot be written: %s; "
					"write to where there is room\n",
					strerror(error));
			return;
		}
		bytes += written;
		size_bytes -= (size_t)written;
	}
}

/** Prints what has come of a line, as one line. */
static void print_line(printer_t *printer, stream_t *stream, size_t length)
{
	char *whole = NULL;
	const int size = asprintf(&whole, "[%d] %.*s\n", stream->rank, (int)length, stream->line);

	if (size > 0 && memchr(stream->line, '\0', length) == NULL)
		write_all(printer, stream->to, whole, (size_t)size);
	else { /* what is no text, in its parts */
		write_all(printer, stream->to, stream->line, length);
		write_all(printer, stream->to, "\n", 1);
	}
	free(whole);
}

static void print_lines(printer_t *printer, stream_t *stream)
{
	size_t done = 0;
	char *end;

	while ((end = memchr(stream->line, '\n', stream->length)) != NULL) {
		done = (size_t)(end - stream->line);
		print_line(printer, stream, done);
		stream->length -= done + 1;
		memmove(stream->line, end + 1, stream->length);
	}
	if (stream->length >= LONGEST_LINE) {
		print_line(printer, stream, stream->length);
		stream->length = 0;
	}
}

/* ------------------------------------------------------------------ reading */

static bool grow(stream_t *stream)
{
	if (stream->length < stream->room)
		return true;
	const size_t room = stream->room ? 2 * stream->room : 4096;
	char *line = realloc(stream->line, room);

	if (!line)
		return false;
	stream->line = line;
	stream->room = room;
	return true;
}

/** Reads what is there. False: nothing more will come. */
static bool read_stream(printer_t *printer, stream_t *stream)
{
	if (!grow(stream)) {
		fprintf(stderr, "tessera run: no host memory for a line of rank %d\n",
			stream->rank);
		printer->code = TOOL_FAILED;
		return false;
	}
	const ssize_t got =
		read(stream->from, stream->line + stream->length, stream->room - stream->length);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (got > 0) {
		if (printer->files[stream->rank] >= 0)
			write_all(printer, printer->files[stream->rank],
				  stream->line + stream->length, (size_t)got);
		stream->length += (size_t)got;
		print_lines(printer, stream);
		return printer->code == 0;
	}
	if (stream->length > 0)
		print_line(printer, stream, stream->length);
	stream->length = 0;
	return false;
}

/** Until all streams have ended, or the command has and nothing comes any more. */
static int print_streams(printer_t *printer)
{
	struct pollfd *lifeline = &printer->polls[printer->count];
	int open = printer->count;

	while (open > 0 && printer->code == 0) {
		const bool alive = lifeline->fd >= 0;
		const int ready =
			poll(printer->polls, (nfds_t)printer->count + 1, alive ? -1 : LINGER_MS);
		if (ready == 0)
			break;
		for (int i = 0; ready > 0 && i < printer->count; i++) {
			if (printer->polls[i].fd < 0 || printer->polls[i].revents == 0 ||
			    read_stream(printer, &printer->streams[i]))
				continue;
			printer->polls[i].fd = -1;
			open--;
		}
		if (ready > 0 && alive && lifeline->revents != 0)
			lifeline->fd = -1;
	}
	for (int i = 0; i < printer->count && printer->code == 0; i++) {
		if (printer->streams[i].length > 0)
			print_line(printer, &printer->streams[i], printer->streams[i].length);
	}
	return printer->code;
}

/* ------------------------------------------------------------------ beginning and end */

static int open_file(const run_wishes_t *wishes, int rank)
{
	char name[PATH_MAX];

	if (!wishes->folder)
		return -1;
	run_file_name(wishes->folder, rank, name, sizeof name);
	return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

/** The collector's life. `from` are the ends that it reads. */
static int collect(const run_wishes_t *wishes, const int *from, int lifeline)
{
	printer_t printer = {.count = 2 * wishes->ranks};

	/* it ends when the ranks do, whatever ends them */
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		signal(ending[i], SIG_IGN);
	printer.streams = calloc((size_t)printer.count, sizeof *printer.streams);
	printer.polls = calloc((size_t)printer.count + 1, sizeof *printer.polls);
	printer.files = calloc((size_t)wishes->ranks, sizeof *printer.files);
	if (!printer.streams || !printer.polls || !printer.files)
		return TOOL_FAILED;
	for (int i = 0; i < printer.count; i++) {
		printer.streams[i] = (stream_t){.rank = i / 2,
						.from = from[i],
						.to = i % 2 ? STDERR_FILENO : STDOUT_FILENO};
		printer.polls[i] = (struct pollfd){.fd = from[i], .events = POLLIN};
	}
	for (int rank = 0; rank < wishes->ranks; rank++) {
		printer.files[rank] = open_file(wishes, rank);
		if (wishes->folder && printer.files[rank] < 0) {
			fprintf(stderr,
				"tessera run: cannot write the file of rank %d in '%s': %s\n", rank,
				wishes->folder, strerror(errno));
			printer.code = TOOL_FAILED;
		}
	}
	printer.polls[printer.count] = (struct pollfd){.fd = lifeline, .events = POLLIN};
	return print_streams(&printer);
}

/** Makes a pipe for each stream: ends to write in collector->fds, which ranks inherit. */
static bool make_pipes(int count, int *from, run_collector_t *collector)
{
	for (int i = 0; i < count; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) != 0)
			return false;
		from[i] = ends[0];
		collector->fds[i] = ends[1];
		(void)fcntl(ends[1], F_SETFD, 0);
	}
	return true;
}

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

int run_collector_begin(const run_wishes_t *wishes, run_collector_t *collector)
{
	int from[TSR_MAX_RANKS * 2], lifeline[2];
	const int count = 2 * wishes->ranks;

	*collector = (run_collector_t){.process = 0};
	if (!wishes->tag)
		return TOOL_OK;
	if (pipe2(lifeline, O_CLOEXEC) != 0 || !make_pipes(count, from, collector)) {
		fprintf(stderr,
			"tessera run: --tag needs %d descriptors for %d ranks: %s; raise their "
			"number with ulimit -n %d\n",
			2 * count + 2, wishes->ranks, strerror(errno), 2 * count + 64);
		return TOOL_FAILED;
	}
	fflush(NULL);
	collector->process = fork();
	if (collector->process == 0) {
		close_all(collector->fds, count);
		close(lifeline[1]);
		_exit(collect(wishes, from, lifeline[0]));
	}
	close_all(from, count);
	close(lifeline[0]);
	collector->lifeline = lifeline[1];
	if (collector->process > 0)
		return TOOL_OK;
	fprintf(stderr, "tessera run: cannot start the process that tags lines: %s\n",
		strerror(errno));
	return TOOL_FAILED;
}

int run_collector_end(run_collector_t *collector, int code)
{
	int status = 0;

	if (collector->process <= 0)
		return code;
	for (int i = 0; i < 2 * TSR_MAX_RANKS && collector->fds[i] > 0; i++)
		close(collector->fds[i]);
	close(collector->lifeline);
	while (waitpid(collector->process, &status, 0) < 0 && errno == EINTR)
		continue;
	if (code != 0)
		return code;
	return WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_FAILED;
}

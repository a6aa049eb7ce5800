/* Executing the program and hearing it: processes, pipes, deadlines, and the end of it all. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/crew.h"
#include "tessera/program.h"
#include "tools/check/check.h"

enum { LONGEST_LINE = 64 << 20, READ_BYTES = 1 << 16 };

/*
 * The program says by itself where it hangs, once the limit is reached. Where
 * it cannot, it is ended so much later.
 */
enum { LAST_WORD_NS = 500000000 };

/** One process of the program, and what it is saying. */
typedef struct job {
	int lines, words; /* reading ends: reports, stderr; -1: closed */
	bool reaped;
	uint64_t heard_ns; /* when it last said something */
	char *text;        /* a line that is not whole yet */
	size_t used, room;
	bool skipping; /* the line is too long, and is dropped up to its end */
} job_t;

typedef struct runner {
	const check_run_t *run;
	check_outcome_t *outcome;
	tsr_crew_t crew;
	int signals;   /* signalfd */
	int failures;  /* errno of an execution that failed */
	int script_fd; /* -1: none */
	job_t job[CHECK_MOST_JOBS];
	bool over;
} runner_t;

/* ---------------------------------------------------------------- starting */

static void keep_open(int fd)
{
	(void)fcntl(fd, F_SETFD, 0);
}

/**
 * In the program's process: the world that a library without this command would
 * see too, and what the command asks.
 */
static void set_environment(const tsr_check_options_t *options)
{
	char text[512], number[16];
	tsr_check_options_write(options, text, sizeof text);
	setenv(TSR_CHECK_VARIABLE, text, 1);
	snprintf(number, sizeof number, "%d", options->ranks);
	setenv("TESSERA_SIZE", number, 1);
	setenv("TESSERA_PLACEMENT", "thread", 1);
	setenv("TESSERA_BACKEND", "cpuemu", 1);
	unsetenv("TESSERA_RANK");
	unsetenv("TESSERA_JOB");
}

/** The seeds of a job: one of each `jobs`. */
static tsr_check_options_t options_of(const runner_t *r, int job, int report_fd)
{
	tsr_check_options_t options = r->run->subject->options;
	const uint64_t jobs = (uint64_t)r->run->jobs, number = (uint64_t)job;
	options.first += number;
	options.stride = jobs;
	if (options.seeds > 0)
		options.seeds = (options.seeds - number + jobs - 1) / jobs;
	options.report_fd = report_fd;
	options.quiet_ms = (r->run->quiet_limit_ns + 999999u) / 1000000u;
	options.script_fd = r->script_fd;
	return options;
}

static void become_program(runner_t *r, int job, int lines, int words)
{
	const tsr_check_options_t options = options_of(r, job, lines);
	char **argv = r->run->subject->program;
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* a schedule must not depend on what another one has read */
	(void)dup2(nothing, STDIN_FILENO);
	if (!r->run->shown) {
		(void)dup2(nothing, STDOUT_FILENO);
		(void)dup2(words, STDERR_FILENO);
	}
	keep_open(lines);
	if (r->script_fd >= 0)
		keep_open(r->script_fd);
	set_environment(&options);
	execvp(argv[0], argv);
	const int error = errno;
	(void)!write(r->failures, &error, sizeof error);
	_exit(error == ENOENT ? 127 : 126);
}

static bool start_job(runner_t *r, int job)
{
	int lines[2], words[2];
	if (pipe2(lines, O_CLOEXEC) != 0)
		return false;
	if (pipe2(words, O_CLOEXEC) != 0) {
		close(lines[0]);
		close(lines[1]);
		return false;
	}
	const pid_t pid = tsr_crew_fork(&r->crew);
	if (pid == 0)
		become_program(r, job, lines[1], words[1]);
	close(lines[1]);
	close(words[1]);
	(void)fcntl(lines[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(words[0], F_SETFL, O_NONBLOCK);
	if (pid < 0) {
		close(lines[0]);
		close(words[0]);
		return false;
	}
	r->job[job] = (job_t){.lines = lines[0], .words = words[0], .heard_ns = tsr_now_ns()};
	return true;
}

/** The script in a file without a name, which each job reads by its descriptor. */
static bool open_script(runner_t *r)
{
	r->script_fd = -1;
	if (!r->run->subject->scripted)
		return true;
	char *text = tsr_check_script_text(&r->run->subject->script);
	const size_t length = text != NULL ? strlen(text) : 0;
	r->script_fd = text != NULL ? memfd_create("tessera-script", MFD_CLOEXEC) : -1;
	size_t done = 0;
	for (ssize_t got = 1; r->script_fd >= 0 && done < length && got > 0;
	     done += got > 0 ? (size_t)got : 0)
		got = write(r->script_fd, text + done, length - done);
	free(text);
	return r->script_fd >= 0 && done == length;
}

/* ---------------------------------------------------------------- hearing */

static void end_with(runner_t *r, check_end_t end)
{
	if (!r->over)
		r->outcome->end = end;
	r->over = true;
}

static void hear_line(runner_t *r, int job, const char *text, size_t length)
{
	if (length == 0)
		return;
	json_t *object = json_loadb(text, length, 0, NULL);
	if (!json_is_object(object)) {
		r->outcome->damaged++;
	} else if (!r->over) {
		r->job[job].heard_ns = tsr_now_ns();
		const char *type = json_string_value(json_object_get(object, "type"));
		const bool hangs = type != NULL && strcmp(type, "hang") == 0;
		if (!r->run->listener.line(r->run->listener.context, job, object) || hangs)
			end_with(r, hangs ? CHECK_SILENT : CHECK_STOPPED);
	}
	json_decref(object);
}

/** Adds to the line that is not whole; what is too long to be one is dropped. */
static void keep_part(runner_t *r, job_t *job, const char *text, size_t length)
{
	if (job->skipping || length == 0)
		return;
	if (job->used + length > job->room) {
		size_t room = job->room > 0 ? job->room : READ_BYTES;
		while (room < job->used + length)
			room *= 2;
		char *grown = room <= LONGEST_LINE ? realloc(job->text, room) : NULL;
		if (grown == NULL) {
			job->skipping = true;
			job->used = 0;
			r->outcome->damaged++;
			return;
		}
		job->text = grown;
		job->room = room;
	}
	memcpy(job->text + job->used, text, length);
	job->used += length;
}

static void hear_text(runner_t *r, int index, const char *text, size_t length)
{
	job_t *job = &r->job[index];
	while (length > 0) {
		const char *end = memchr(text, '\n', length);
		const size_t part = end != NULL ? (size_t)(end - text) : length;
		if (end != NULL && job->used == 0 && !job->skipping) {
			hear_line(r, index, text, part);
		} else {
			keep_part(r, job, text, part);
			if (end != NULL && !job->skipping)
				hear_line(r, index, job->text, job->used);
			if (end != NULL) {
				job->used = 0;
				job->skipping = false;
			}
		}
		text += part + (end != NULL);
		length -= part + (end != NULL);
	}
}

/** Keeps the end of what the program complains about. */
static void hear_words(runner_t *r, const char *text, size_t length)
{
	char *words = r->outcome->words;
	const size_t most = sizeof r->outcome->words - 1;
	size_t used = strlen(words);
	for (size_t i = 0; i < length; i++) {
		if (used == most) {
			memmove(words, words + most / 2, most - most / 2);
			used = most - most / 2;
		}
		if (text[i] != '\0')
			words[used++] = text[i];
	}
	words[used] = '\0';
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/** Reads what there is; closes at the end of it. */
static void drain(runner_t *r, int index, int *fd, bool lines)
{
	char text[READ_BYTES];
	while (*fd >= 0) {
		const ssize_t got = read(*fd, text, sizeof text);
		if (got > 0 && lines)
			hear_text(r, index, text, (size_t)got);
		else if (got > 0)
			hear_words(r, text, (size_t)got);
		else if (got < 0 && errno == EINTR)
			continue;
		else if (got < 0 && errno == EAGAIN)
			return;
		else
			close_end(fd);
		if (r->over || (size_t)got < sizeof text)
			return; /* others, and the clock, have their turn */
	}
}

/* ---------------------------------------------------------------- waiting */

static int code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/**
 * Reaps programs that have ended. What they wrote is read; who else may hold
 * their pipes is not waited for.
 */
static void reap(runner_t *r)
{
	for (int j = 0; j < r->crew.count; j++) {
		int status;
		job_t *job = &r->job[j];
		if (job->reaped || waitpid(r->crew.ranks[j], &status, WNOHANG) <= 0)
			continue;
		job->reaped = true;
		r->crew.ranks[j] = 0;
		for (int last = -1; job->lines >= 0 && !r->over && last != 0;) {
			struct pollfd ready = {.fd = job->lines, .events = POLLIN};
			last = tsr_fd_poll(&ready, 1, 0);
			if (last > 0)
				drain(r, j, &job->lines, true);
		}
		drain(r, j, &job->words, false);
		close_end(&job->lines);
		close_end(&job->words);
		if (!r->over) { /* a program that was ended has said all that counts */
			if (r->outcome->code == 0)
				r->outcome->code = code_of(status);
			r->run->listener.ended(r->run->listener.context, j);
		}
	}
}

static bool all_reaped(const runner_t *r)
{
	for (int j = 0; j < r->crew.count; j++)
		if (!r->job[j].reaped)
			return false;
	return true;
}

/** Looks at the clock. Returns when it has to be looked at again. */
static uint64_t look_at_clock(runner_t *r)
{
	const uint64_t now = tsr_now_ns();
	uint64_t next = now + 500000000u;
	if (r->run->deadline_ns != 0 && now >= r->run->deadline_ns)
		end_with(r, CHECK_TIME_IS_UP);
	else if (r->run->deadline_ns != 0 && r->run->deadline_ns < next)
		next = r->run->deadline_ns;
	for (int j = 0; j < r->crew.count; j++) {
		const uint64_t end = r->job[j].heard_ns + r->run->quiet_limit_ns + LAST_WORD_NS;
		if (!r->job[j].reaped && now >= end)
			end_with(r, CHECK_SILENT);
		else if (!r->job[j].reaped && end < next)
			next = end;
	}
	return next;
}

static void hear_signals(runner_t *r)
{
	struct signalfd_siginfo info;
	while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		r->outcome->code = (int)info.ssi_signo;
		end_with(r, CHECK_INTERRUPTED);
	}
}

static void hear_all(runner_t *r)
{
	struct pollfd ready[1 + 2 * CHECK_MOST_JOBS];
	while (!r->over && !all_reaped(r)) {
		const uint64_t look_ns = look_at_clock(r);
		nfds_t count = 0;
		ready[count++] = (struct pollfd){.fd = r->signals, .events = POLLIN};
		for (int j = 0; j < r->crew.count; j++) {
			ready[count++] = (struct pollfd){.fd = r->job[j].lines, .events = POLLIN};
			ready[count++] = (struct pollfd){.fd = r->job[j].words, .events = POLLIN};
		}
		if (r->over)
			break;
		(void)tsr_fd_poll(ready, count, look_ns);
		for (int j = 0; j < r->crew.count; j++) {
			if (ready[1 + 2 * j].revents != 0)
				drain(r, j, &r->job[j].lines, true);
			if (ready[2 + 2 * j].revents != 0)
				drain(r, j, &r->job[j].words, false);
		}
		hear_signals(r);
		reap(r);
	}
}

/** The signals that the crew has blocked, as a descriptor. */
static int open_signals(void)
{
	static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&set, numbers[i]);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void start_all(runner_t *r)
{
	int failures[2] = {-1, -1}, error;
	bool started = open_script(r) && pipe2(failures, O_CLOEXEC | O_NONBLOCK) == 0;
	r->failures = failures[1];
	r->signals = open_signals();
	for (int j = 0; j < r->run->jobs && started; j++)
		started = start_job(r, j);
	if (!started || r->signals < 0) {
		(void)tsr_error(TSR_ERR_SYSTEM, "cannot start '%s': %s",
				r->run->subject->program[0], strerror(errno));
		end_with(r, CHECK_NOT_STARTED);
	}
	hear_all(r);
	if (failures[0] >= 0 && read(failures[0], &error, sizeof error) == (ssize_t)sizeof error) {
		(void)tsr_error(TSR_ERR_SYSTEM, "cannot execute '%s': %s",
				r->run->subject->program[0], strerror(error));
		r->outcome->end = CHECK_NOT_STARTED;
	}
	close_end(&failures[0]);
	close_end(&failures[1]);
	close_end(&r->signals);
	close_end(&r->script_fd);
}

void check_run(const check_run_t *run, check_outcome_t *outcome)
{
	*outcome = (check_outcome_t){.end = CHECK_ENDED};
	runner_t *r = calloc(1, sizeof *r);
	if (r == NULL) {
		(void)tsr_error(TSR_ERR_NO_MEMORY,
				"the host has no memory to run a program; free some");
		outcome->end = CHECK_NOT_STARTED;
		return;
	}
	r->run = run;
	r->outcome = outcome;
	(void)fflush(stdout); /* or each child would write what is still in there */
	(void)fflush(stderr);
	if (!tsr_crew_begin(&r->crew, 0)) {
		(void)tsr_error(TSR_ERR_SYSTEM, "cannot start '%s': %s", run->subject->program[0],
				strerror(errno));
		outcome->end = CHECK_NOT_STARTED;
	} else {
		start_all(r);
		tsr_crew_end(&r->crew);
	}
	for (int j = 0; j < CHECK_MOST_JOBS; j++) {
		job_t *job = &r->job[j];
		if (j < r->crew.count) {
			close_end(&job->lines);
			close_end(&job->words);
		}
		free(job->text);
	}
	free(r);
}

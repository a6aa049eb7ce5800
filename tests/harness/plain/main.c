/*
 * The plain runner: one forked child a test, a deadline for each, TAP lines,
 * and a count that cannot be mistaken for success.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criterion/criterion.h"

enum { EXIT_SKIPPED = 77, REASON_BYTES = 256 };

typedef struct settings {
	const char *filter; /* glob over suite/name, @(a|b) too; null: all */
	double timeout;     /* seconds a test may take that does not say */
	FILE *tap;
	int list;
} settings_t;

typedef struct counts {
	int passed, failed, skipped;
} counts_t;

static plain_test_t *first_test, **last_link = &first_test;

/* Of the child that runs a test. */
static int failures;
static int reason_pipe = -1;

void plain_register(plain_test_t *test)
{
	*last_link = test;
	last_link = &test->next;
}

void plain_failed(int fatal, const char *file, int line, const char *what, const char *format, ...)
{
	fprintf(stderr, "%s:%d: not so: %s", file, line, what);
	if (format) {
		va_list args;
		va_start(args, format);
		fputs(": ", stderr);
		vfprintf(stderr, format, args);
		va_end(args);
	}
	fputc('\n', stderr);
	failures++;
	if (fatal) {
		fflush(NULL);
		_exit(EXIT_FAILURE); /* other threads of the test may still run: no exit handlers */
	}
}

void plain_skip(const char *format, ...)
{
	char reason[REASON_BYTES] = "no reason given";
	if (format) {
		va_list args;
		va_start(args, format);
		vsnprintf(reason, sizeof reason, format, args);
		va_end(args);
	}
	fflush(NULL);
	if (write(reason_pipe, reason, strlen(reason)) < 0)
		perror("cannot pass on why the test is skipped");
	_exit(EXIT_SKIPPED);
}

static _Noreturn void child_run(const plain_test_t *test, double timeout)
{
	alarm((unsigned)ceil(timeout));
	if (test->options.init)
		test->options.init();
	test->body();
	if (test->options.fini)
		test->options.fini();
	exit(failures ? EXIT_FAILURE : EXIT_SUCCESS); /* not _exit: the sanitizers report at exit */
}

static int ended_as_expected(const plain_test_t *test, int status)
{
	if (test->options.signal)
		return WIFSIGNALED(status) && WTERMSIG(status) == test->options.signal;
	return WIFEXITED(status) && WEXITSTATUS(status) == test->options.exit_code;
}

static void tell_end(FILE *tap, int status, double timeout)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fprintf(tap, "  # did not end within %.0f s\n", timeout);
	else if (WIFSIGNALED(status))
		fprintf(tap, "  # ended by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		fprintf(tap, "  # exit code %d\n", WEXITSTATUS(status));
}

/** Starts the child; its reason for a skip, if any, comes through `*reason_fd`. */
static pid_t child_start(const plain_test_t *test, double timeout, int *reason_fd)
{
	int ends[2];
	if (pipe(ends) != 0) {
		perror("pipe");
		exit(EXIT_FAILURE);
	}
	fflush(NULL);
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		exit(EXIT_FAILURE);
	}
	if (child == 0) {
		close(ends[0]);
		reason_pipe = ends[1];
		child_run(test, timeout);
	}
	close(ends[1]);
	*reason_fd = ends[0];
	return child;
}

static void test_run(const plain_test_t *test, const settings_t *settings, counts_t *counts)
{
	double timeout = test->options.timeout > 0 ? test->options.timeout : settings->timeout;
	int reason_fd, status = 0;
	pid_t child = child_start(test, timeout, &reason_fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
		char reason[REASON_BYTES] = "";
		ssize_t got = read(reason_fd, reason, sizeof reason - 1);
		fprintf(settings->tap, "ok - %s::%s # SKIP %s\n", test->suite, test->name,
			got > 0 ? reason : "exit code 77");
		counts->skipped++;
	} else if (ended_as_expected(test, status)) {
		fprintf(settings->tap, "ok - %s::%s\n", test->suite, test->name);
		counts->passed++;
	} else {
		fprintf(settings->tap, "not ok - %s::%s\n", test->suite, test->name);
		tell_end(settings->tap, status, timeout);
		counts->failed++;
	}
	close(reason_fd);
}

static int selected(const plain_test_t *test, const char *filter)
{
	char id[REASON_BYTES];
	snprintf(id, sizeof id, "%s/%s", test->suite, test->name);
	return !filter || fnmatch(filter, id, FNM_EXTMATCH) == 0;
}

/** `--name=value` or `--name value`; null where argv[*i] is another option. */
static const char *option_value(int argc, char **argv, int *i, const char *name)
{
	size_t length = strlen(name);
	if (strncmp(argv[*i], name, length) != 0)
		return NULL;
	if (argv[*i][length] == '=')
		return argv[*i] + length + 1;
	return argv[*i][length] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

/**
 * Options are read in a loop over Criterion's own names, so that one command
 * line serves both runners.
 */
static int settings_read(int argc, char **argv, settings_t *settings)
{
	for (int i = 1; i < argc; i++) {
		const char *value;
		if (strcmp(argv[i], "--list") == 0) {
			settings->list = 1;
		} else if ((value = option_value(argc, argv, &i, "--filter"))) {
			settings->filter = value;
		} else if ((value = option_value(argc, argv, &i, "--timeout"))) {
			settings->timeout = strtod(value, NULL);
		} else if ((value = option_value(argc, argv, &i, "--tap"))) {
			settings->tap = fopen(value, "w");
			if (!settings->tap) {
				perror(value);
				return EXIT_FAILURE;
			}
		} else {
			fprintf(stderr,
				"usage: %s [--list] [--filter SUITE/NAME] [--timeout SECONDS] "
				"[--tap FILE]\n",
				argv[0]);
			return EXIT_FAILURE;
		}
	}
	return EXIT_SUCCESS;
}

/** What is left over of the tests as a whole counts as one of them, where it is wrong. */
static void after_all(const settings_t *settings, counts_t *counts)
{
	const char *wrong = plain_after_all ? plain_after_all() : NULL;
	if (!wrong)
		return;
	fprintf(settings->tap, "not ok - after all tests\n  # %s\n", wrong);
	fflush(settings->tap);
	counts->failed++;
}

int main(int argc, char **argv)
{
	settings_t settings = {.timeout = 1200, .tap = stdout};
	counts_t counts = {0, 0, 0};
	if (settings_read(argc, argv, &settings) != EXIT_SUCCESS)
		return EXIT_FAILURE;
	if (plain_before_all && !settings.list)
		plain_before_all();
	for (const plain_test_t *test = first_test; test; test = test->next) {
		if (!selected(test, settings.filter) || test->options.disabled)
			continue;
		if (settings.list)
			printf("%s/%s\n", test->suite, test->name);
		else
			test_run(test, &settings, &counts);
		fflush(settings.tap);
	}
	if (settings.list)
		return EXIT_SUCCESS;
	after_all(&settings, &counts);
	printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
	if (counts.passed + counts.failed + counts.skipped == 0) {
		fprintf(stderr, "%s: no test ran\n", argv[0]);
		return EXIT_FAILURE;
	}
	return counts.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

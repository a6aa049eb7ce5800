#include "tools/cc_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/usage.h"

extern char **environ;

/* Set by the handler alone: that an interrupt came. The tool is one thread and runs one command at a time. */
static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
	interrupted = number;
}

void cc_words_add(cc_words_t *words, const char *format, ...)
{
	va_list arguments;
	char *word = NULL;

	va_start(arguments, format);
	if (vasprintf(&word, format, arguments) < 0)
		word = NULL;
	va_end(arguments);
	if (words->count < CC_MOST_WORDS && word)
		words->word[words->count++] = word;
	else {
		free(word);
		words->count = CC_MOST_WORDS + 1; /* cc_run refuses */
	}
}

void cc_words_add_all(cc_words_t *words, char *const *word, int count)
{
	for (int i = 0; i < count; i++)
		cc_words_add(words, "%s", word[i]);
}

void cc_words_add_string(cc_words_t *words, const char *name, const char *text)
{
	char escaped[8192];
	size_t length = 0;

	for (; *text && length + 2 < sizeof escaped; text++) {
		if (*text == '"' || *text == '\\')
			escaped[length++] = '\\';
		escaped[length++] = *text;
	}
	escaped[length] = '\0';
	cc_words_add(words, "-D%s=\"%s\"", name, escaped);
}

void cc_words_add_unit(cc_words_t *words, const char *name, const char *source)
{
	char unit[PATH_MAX];

	snprintf(unit, sizeof unit, "%.*s", (int)(strlen(source) - 2), source);
	cc_words_add_string(words, name, unit);
}

void cc_words_clear(cc_words_t *words)
{
	for (int i = 0; i < words->count && i < CC_MOST_WORDS; i++)
		free(words->word[i]);
	memset(words, 0, sizeof *words);
}

static void print_command(const cc_words_t *words)
{
	for (int i = 0; i < words->count; i++)
		fprintf(stderr, "%s%s", i ? " " : "+ ", words->word[i]);
	fprintf(stderr, "\n");
}

/** Waits for the command; hands an interrupt on to it. */
static int wait_for(pid_t process)
{
	int status;

	while (waitpid(process, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
		if (interrupted)
			kill(process, SIGTERM);
	}
	return status;
}

static int start_and_wait(const cc_words_t *words, const char *messages)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
	sigset_t caught;
	pid_t process;
	char *arguments[CC_MOST_WORDS + 1];

	for (int i = 0; i < words->count; i++)
		arguments[i] = words->word[i];
	arguments[words->count] = NULL;
	sigemptyset(&caught);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGTERM);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &caught);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	if (messages)
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int error = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error) {
		fprintf(stderr, "tessera cc: cannot start '%s': %s\n", arguments[0], strerror(error));
		return TOOL_FAILED;
	}
	int status = wait_for(process);
	if (status >= 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "tessera cc: '%s' was ended by a signal; nothing was made\n", arguments[0]);
	return TOOL_FAILED;
}

bool cc_interrupted(void)
{
	return interrupted != 0;
}

int cc_run(const cc_words_t *words, bool verbose)
{
	return cc_run_into(words, verbose, NULL);
}

int cc_run_into(const cc_words_t *words, bool verbose, const char *messages)
{
	const struct sigaction note = {.sa_handler = note_interrupt};
	struct sigaction int_before, term_before;

	if (words->count > CC_MOST_WORDS) {
		fprintf(stderr, "tessera cc: a command line of more than %d words; name fewer files at a time\n", CC_MOST_WORDS);
		return TOOL_FAILED;
	}
	if (verbose)
		print_command(words);
	if (interrupted)
		return TOOL_FAILED;
	sigaction(SIGINT, &note, &int_before);
	sigaction(SIGTERM, &note, &term_before);
	int code = start_and_wait(words, messages);
	sigaction(SIGINT, &int_before, NULL);
	sigaction(SIGTERM, &term_before, NULL);
	return interrupted ? TOOL_FAILED : code;
}

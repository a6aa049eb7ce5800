#include "tools/cc/command.h"

#include <errno.h>
#include <fcntl.h>
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

void cc_words_clear(cc_words_t *words)
{
	for (int i = 0; i < words->count && i < CC_MOST_WORDS; i++)
		free(words->word[i]);
	memset(words, 0, sizeof *words);
}

/** Prints a word as a shell reads it: in quotes where it has more than plain letters. */
static void print_word(const char *word, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%+=:,./_-";

	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

static void print_command(const cc_words_t *words, const char *before, FILE *out)
{
	fputs(before, out);
	for (int i = 0; i < words->count; i++) {
		if (i)
			fputc(' ', out);
		print_word(words->word[i], out);
	}
	fputc('\n', out);
}

/** Returns an error number, or 0 and how the command has ended, as waitpid says it. */
static int spawn_and_wait(const cc_words_t *words, pid_t group, const char *messages,
			  int *status_out)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
	pid_t process, ended;
	char *arguments[CC_MOST_WORDS + 1];

	for (int i = 0; i < words->count; i++)
		arguments[i] = words->word[i];
	arguments[words->count] = NULL;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setpgroup(&attributes, group);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	if (messages)
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages,
						 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int error = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error)
		return error;
	do
		ended = waitpid(process, status_out, 0);
	while (ended < 0 && errno == EINTR);
	return ended == process ? 0 : errno;
}

static int start_and_wait(const cc_words_t *words, pid_t group, const char *messages)
{
	int status = 0;
	const int error = spawn_and_wait(words, group, messages, &status);

	if (error) {
		fprintf(stderr, "tessera cc: cannot start '%s': %s\n", words->word[0],
			strerror(error));
		return TOOL_FAILED;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "tessera cc: '%s' was ended by a signal; nothing was made\n",
		words->word[0]);
	return TOOL_FAILED;
}

bool cc_takes(const cc_words_t *compiler, const char *language, const char *flag, pid_t group)
{
	cc_words_t words = {.count = 0};
	int status = 0;

	cc_words_add_all(&words, compiler->word, compiler->count);
	cc_words_add(&words, "-Werror"); /* clang warns of a flag that it does not use */
	cc_words_add(&words, "%s", flag);
	cc_words_add(&words, "-fsyntax-only");
	cc_words_add(&words, "-x");
	cc_words_add(&words, "%s", language);
	cc_words_add(&words, "/dev/null");
	const int error = spawn_and_wait(&words, group, "/dev/null", &status);
	cc_words_clear(&words);
	return !error && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int cc_run(const cc_words_t *words, pid_t group, cc_say_t say)
{
	return cc_run_into(words, group, say, NULL);
}

int cc_run_into(const cc_words_t *words, pid_t group, cc_say_t say, const char *messages)
{
	if (words->count > CC_MOST_WORDS) {
		fprintf(stderr,
			"tessera cc: a command line of more than %d words; name fewer files at a "
			"time\n",
			CC_MOST_WORDS);
		return TOOL_FAILED;
	}
	if (say == CC_SHOW) {
		print_command(words, "", stdout);
		return TOOL_OK;
	}
	if (say == CC_SAY)
		print_command(words, "+ ", stderr);
	return start_and_wait(words, group, messages);
}

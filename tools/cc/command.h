/* Running compilers for `tessera cc`: command lines as words, never through a shell. */
#ifndef TESSERA_TOOLS_CC_COMMAND_H
#define TESSERA_TOOLS_CC_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

enum { CC_MOST_WORDS = 512 };

/** A command line. Zero at first; words past the most are counted, and cc_run refuses. */
typedef struct cc_words {
	char *word[CC_MOST_WORDS + 1]; /* each allocated; null-terminated */
	int count;
} cc_words_t;

void cc_words_add(cc_words_t *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cc_words_add_all(cc_words_t *words, char *const *word, int count);

/** Adds -DNAME="text", with what C would read as something else in `text` escaped. */
void cc_words_add_string(cc_words_t *words, const char *name, const char *text);

void cc_words_clear(cc_words_t *words);

/** What happens to a command besides that it runs. */
typedef enum cc_say {
	CC_QUIET,
	CC_SAY, /* it is printed on stderr before it runs */
	CC_SHOW /* it is printed on stdout, and does not run */
} cc_say_t;

/**
 * Runs the command in process group `group` and waits for it. What is printed
 * of it is quoted, so that a shell reads the same words. Returns its exit code;
 * 1 where it could not be started or was killed, with a sentence on stderr.
 */
int cc_run(const cc_words_t *words, pid_t group, cc_say_t say);

/** The same; what the command says on stderr goes to the file `messages`. */
int cc_run_into(const cc_words_t *words, pid_t group, cc_say_t say, const char *messages);

/** Asks a compiler whether it has a flag, for sources in `language` (-x). Prints nothing. */
bool cc_takes(const cc_words_t *compiler, const char *language, const char *flag, pid_t group);

#endif

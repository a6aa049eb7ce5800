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

/**
 * Adds -DNAME="unit": the unit's name, which ties a kernel to its device
 * images, is the path of its source without the suffix.
 */
void cc_words_add_unit(cc_words_t *words, const char *name, const char *source);

void cc_words_clear(cc_words_t *words);

/**
 * Runs the command in process group `group` and waits for it; `verbose` prints
 * it first. Returns its exit code; 1 where it could not be started or was
 * killed, with a sentence on stderr.
 */
int cc_run(const cc_words_t *words, pid_t group, bool verbose);

/** The same; what the command says on stderr goes to the file `messages`. */
int cc_run_into(const cc_words_t *words, pid_t group, bool verbose, const char *messages);

#endif

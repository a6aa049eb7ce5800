/* One `tessera cc`: what its command line asks for. */
#ifndef TESSERA_TOOLS_CC_CC_H
#define TESSERA_TOOLS_CC_CC_H

#include <stdbool.h>

#include "tools/cc/command.h"
#include "tools/cc/temp.h"
#include "tools/cc/toolkit.h"

/**
 * Has each page of a frame touched in order. Without it a kernel whose locals
 * are larger than its stack may write beyond the page that guards the stack.
 */
#define CC_PROBES_STACK "-fstack-clash-protection"

/** How a file of the command line is compiled; CC_LINKED: the linker gets it as it is. */
typedef enum cc_language { CC_LINKED, CC_C, CC_CXX, CC_ASSEMBLY } cc_language_t;

/** What is made. CC_TEXT: what the compiler prints or writes for -E, -S, -M, -fsyntax-only. */
typedef enum cc_goal { CC_PROGRAM, CC_OBJECTS, CC_TEXT, CC_HALF } cc_goal_t;

/**
 * A word that has a place among what is linked: a file, or a flag of the linker
 * such as -l, which looks for what the files before it lack.
 */
typedef struct cc_item {
	const char *word;
	cc_language_t language;
	bool file;
} cc_item_t;

typedef struct cc_job {
	cc_item_t items[CC_MOST_WORDS];
	int item_count;
	cc_words_t flags; /* for the compiler; it gets them when it links too */
	cc_goal_t goal;
	cc_say_t say;
	bool shared;  /* -shared: a library is made */
	bool dynamic; /* links libtessera.so */
	bool nodes;   /* device code for worlds over several nodes is made, too */
	bool help;
	const char *output, *root; /* null: not said */
	cc_toolkit_t toolkits[CC_MOST_TOOLKITS];
	int toolkit_count;
	cc_place_t place;
	cc_temp_t temp;                /* for the objects */
	bool probes_stack[CC_CXX + 1]; /* the compiler of this language has CC_PROBES_STACK */
	cc_words_t objects;            /* what is linked, in order */
} cc_job_t;

/** Reads the command line. TOOL_OK, or an exit code after a sentence on stderr. */
int cc_options_read(int argc, char **argv, cc_job_t *job);

/**
 * Adds the compiler of a language: $CC, $CXX, or else cc and c++. One of these
 * may be several words, such as "ccache gcc"; but a program whose name has
 * blanks is one.
 */
void cc_add_compiler(cc_language_t language, cc_words_t *words);

/** How many files there are that are compiled; `language` CC_LINKED: of any language. */
int cc_count_sources(const cc_job_t *job, cc_language_t language);

/**
 * Compiles the file `item` to the object `object`, with device code inside
 * where it defines kernels. `number` names its files in between. Returns an
 * exit code. An object that was not finished is not left.
 */
int cc_compile(cc_job_t *job, const cc_item_t *item, int number, const char *object);

/** The same for what is linked at once: also adds the objects to job->objects. */
int cc_compile_to_link(cc_job_t *job, const cc_item_t *item, int number);

/** Has the compiler of a file print or write what -E, -S, -M and their like ask for. */
int cc_compile_text(cc_job_t *job, const cc_item_t *item);

#endif

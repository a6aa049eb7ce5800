/* The command line of `tessera cc`: its own options, the compiler's, files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/program.h"
#include "tools/cc/cc.h"
#include "tools/usage.h"

/* ------------------------------------------------------------------ backends */

/** Finds the toolkits of a list such as "cpuemu,cuda,hip". */
static int read_backends(cc_job_t *job, const char *text)
{
	static const char *const names[] = {"cpuemu", "cuda", "hip", NULL};
	char list[256], *rest = NULL;

	snprintf(list, sizeof list, "%s", text);
	job->toolkit_count = 0;
	for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		bool found = false;
		for (int i = 0; i < job->toolkit_count; i++)
			found = found || strcmp(job->toolkits[i].backend, name) == 0;
		if (found || strcmp(name, "cpuemu") == 0)
			continue;
		if (strcmp(name, "cuda") != 0 && strcmp(name, "hip") != 0) {
			const char *near = tsr_nearest_name(name, names);
			return near ? tool_misuse("cc", "unknown backend '%s'; did you mean '%s'?",
						  name, near)
				    : tool_misuse("cc",
						  "unknown backend '%s'; there are cpuemu, cuda "
						  "and hip",
						  name);
		}
		int code = cc_toolkits_find(name, job->toolkits, &job->toolkit_count);
		if (code)
			return code;
	}
	return TOOL_OK;
}

/* ------------------------------------------------------------------ the compiler's flags */

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++) {
		if (strcmp(word, *list) == 0)
			return true;
	}
	return false;
}

static bool begins(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

/** Flags of gcc and clang whose value is the next word. */
static bool has_value_behind(const char *flag)
{
	static const char *const list[] = {"-I",
					   "-D",
					   "-U",
					   "-L",
					   "-l",
					   "-T",
					   "-u",
					   "-z",
					   "-e",
					   "-A",
					   "-B",
					   "-include",
					   "-imacros",
					   "-isystem",
					   "-iquote",
					   "-iprefix",
					   "-idirafter",
					   "-isysroot",
					   "-iwithprefix",
					   "-Xlinker",
					   "-MF",
					   "-MT",
					   "-MQ",
					   "-Xassembler",
					   "-Xpreprocessor",
					   "-Xclang",
					   "-mllvm",
					   "-target",
					   "--param",
					   "-aux-info",
					   "-wrapper",
					   "-dumpbase",
					   "-dumpdir",
					   NULL};

	return is_one_of(flag, list);
}

/** Flags that only a linker reads. Those of -l, -L and -Wl have a place among the files. */
static bool is_for_linker(const char *flag)
{
	static const char *const list[] = {
		"-Xlinker",  "-shared", "-s", "-rdynamic", "-pie",          "-no-pie",
		"-T",        "-u",      "-z", "-nostdlib", "-nostartfiles", "-nodefaultlibs",
		"-symbolic", NULL};

	return begins(flag, "-l") || begins(flag, "-L") || begins(flag, "-Wl,") ||
	       begins(flag, "-static") || begins(flag, "-fuse-ld=") || is_one_of(flag, list);
}

/** Flags with which a compiler makes no object. */
static bool makes_text(const char *flag)
{
	static const char *const list[] = {"-E", "-S", "-M", "-MM", "-fsyntax-only", NULL};

	return is_one_of(flag, list);
}

static int add_item(cc_job_t *job, cc_item_t item)
{
	if (job->item_count == CC_MOST_WORDS || job->flags.count >= CC_MOST_WORDS)
		return tool_misuse("cc", "more than %d files and flags; name fewer at a time",
				   CC_MOST_WORDS);
	job->items[job->item_count++] = item;
	return TOOL_OK;
}

static int add_flag_word(cc_job_t *job, const char *word, bool for_linker)
{
	if (for_linker)
		return add_item(job, (cc_item_t){.word = word});
	cc_words_add(&job->flags, "%s", word);
	return job->flags.count > CC_MOST_WORDS
		       ? tool_misuse("cc", "more than %d files and flags; name fewer at a time",
				     CC_MOST_WORDS)
		       : TOOL_OK;
}

/** A flag of the compiler, with its value where that is the next word. */
static int add_flag(cc_job_t *job, char **argv, int *index)
{
	const char *flag = argv[*index];
	const bool for_linker = is_for_linker(flag);

	job->shared = job->shared || strcmp(flag, "-shared") == 0;
	if (makes_text(flag))
		job->goal = CC_TEXT;
	int code = add_flag_word(job, flag, for_linker);
	if (code || !has_value_behind(flag))
		return code;
	if (!argv[*index + 1])
		return tool_misuse("cc", "flag '%s' needs a value", flag);
	return add_flag_word(job, argv[++*index], for_linker);
}

/* ------------------------------------------------------------------ files */

static cc_language_t language_of(const char *file)
{
	static const char *const cxx[] = {".cpp", ".cc", ".cxx", ".c++", ".C", NULL};
	const char *suffix = strrchr(file, '.');

	if (!suffix || strchr(suffix, '/'))
		return CC_LINKED;
	if (strcmp(suffix, ".c") == 0)
		return CC_C;
	if (strcmp(suffix, ".s") == 0 || strcmp(suffix, ".S") == 0)
		return CC_ASSEMBLY;
	return is_one_of(suffix, cxx) ? CC_CXX : CC_LINKED;
}

static int check_file(const cc_item_t *item, const char *output)
{
	if (access(item->word, R_OK) != 0)
		return tool_misuse("cc", "cannot read '%s': %s", item->word, strerror(errno));
	if (output && strcmp(item->word, output) == 0)
		return tool_misuse("cc", "'%s' is both a source and the output", output);
	return TOOL_OK;
}

int cc_count_sources(const cc_job_t *job, cc_language_t language)
{
	int count = 0;

	for (int i = 0; i < job->item_count; i++)
		count += job->items[i].language != CC_LINKED &&
			 (language == CC_LINKED || job->items[i].language == language);
	return count;
}

static int check(const cc_job_t *job)
{
	int files = 0, code = TOOL_OK;
	const int sources = cc_count_sources(job, CC_LINKED);

	for (int i = 0; i < job->item_count && !code; i++) {
		if (job->items[i].file)
			code = check_file(&job->items[i], job->output);
		files += job->items[i].file;
	}
	if (code)
		return code;
	if (files == 0)
		return tool_misuse("cc", "which files?");
	if (job->goal != CC_PROGRAM && sources == 0)
		return tool_misuse("cc", "none of the files is a source that could be compiled");
	if (job->goal != CC_PROGRAM && job->output && sources > 1)
		return tool_misuse("cc",
				   "-o '%s' is one file, and %d sources are compiled to one "
				   "each: leave -o out",
				   job->output, sources);
	return TOOL_OK;
}

/* ------------------------------------------------------------------ the command's own options */

enum own {
	OWN_BACKENDS,
	OWN_OUTPUT,
	OWN_ROOT,
	OWN_SHOW,
	OWN_DYNAMIC,
	OWN_NODES,
	OWN_HALF,
	OWN_VERBOSE,
	OWN_HELP
};

static const char *const own_names[] = {"backends", "output",      "root",    "show", "dynamic",
					"nodes",    "device-half", "verbose", "help", NULL};

/** The option that a word of this length is; -1: none. */
static int find_own(const char *name, size_t length)
{
	for (int i = 0; own_names[i]; i++)
		if (strlen(own_names[i]) == length && strncmp(own_names[i], name, length) == 0)
			return i;
	return -1;
}

static int take_own(cc_job_t *job, enum own option, const char *value)
{
	switch (option) {
	case OWN_BACKENDS:
		return read_backends(job, value);
	case OWN_OUTPUT:
		job->output = value;
		break;
	case OWN_ROOT:
		job->root = value;
		break;
	case OWN_SHOW:
		job->say = CC_SHOW;
		break;
	case OWN_DYNAMIC:
		job->dynamic = true;
		break;
	case OWN_NODES:
		job->nodes = true;
		break;
	case OWN_HALF:
		job->goal = CC_HALF;
		break;
	case OWN_VERBOSE:
		job->say = job->say == CC_SHOW ? CC_SHOW : CC_SAY;
		break;
	case OWN_HELP:
		job->help = true;
		break;
	}
	return TOOL_OK;
}

/** Words of two dashes that are a compiler's. */
static bool is_long_flag(const char *word)
{
	return strcmp(word, "--param") == 0 || strcmp(word, "--coverage") == 0 ||
	       begins(word, "--sysroot=") || begins(word, "--param=") || begins(word, "--std=") ||
	       begins(word, "--target=") || begins(word, "--gcc-toolchain=") ||
	       begins(word, "--rtlib=") || begins(word, "--unwindlib=");
}

static int read_long(cc_job_t *job, char **argv, int *index)
{
	const char *name = argv[*index] + 2;
	const size_t length = strcspn(name, "=");
	const int option = find_own(name, length);
	const char *value = name[length] ? name + length + 1 : NULL;

	if (is_long_flag(argv[*index]))
		return add_flag(job, argv, index);
	if (option < 0) {
		char word[64];
		snprintf(word, sizeof word, "%.*s", (int)length, name);
		const char *near = tsr_nearest_name(word, own_names);
		return near ? tool_misuse("cc", "unknown option '--%s'; did you mean '--%s'?", word,
					  near)
			    : tool_misuse("cc",
					  "unknown option '--%s'; the compiler's own stand "
					  "behind '--'",
					  word);
	}
	const bool valued = option <= OWN_ROOT;
	if (!valued && value)
		return tool_misuse("cc", "option '--%s' takes no value", own_names[option]);
	if (valued && !value && !(value = argv[++*index]))
		return tool_misuse("cc", "option '--%s' needs a value", own_names[option]);
	return take_own(job, (enum own)option, value);
}

/* ------------------------------------------------------------------ the whole line */

/** The language that -x names for the files behind it; CC_LINKED: by their suffixes. */
static int read_language(const char *text, cc_language_t *language_out)
{
	static const char *const names[] = {"none", "c", "c++", "assembler-with-cpp", NULL};

	for (int i = 0; text && names[i]; i++) {
		*language_out = (cc_language_t)i;
		if (strcmp(text, names[i]) == 0)
			return TOOL_OK;
	}
	return tool_misuse("cc", "-x is c, c++, assembler-with-cpp or none, not '%s'",
			   text ? text : "");
}

/** A word of one dash: some are the command's, all others the compiler's. */
static int read_short(cc_job_t *job, char **argv, int *index, cc_language_t *language)
{
	const char *word = argv[*index];

	if (word[1] == 'o') {
		job->output = word[2] ? word + 2 : argv[++*index];
		return job->output ? TOOL_OK : tool_misuse("cc", "option '-o' needs a value");
	}
	if (word[1] == 'x')
		return read_language(word[2] ? word + 2 : argv[++*index], language);
	if (strcmp(word, "-c") == 0) {
		job->goal = job->goal == CC_PROGRAM ? CC_OBJECTS : job->goal;
		return TOOL_OK;
	}
	if (strcmp(word, "-show") == 0) /* as MPICH's mpicc has it */
		return take_own(job, OWN_SHOW, NULL);
	if (strcmp(word, "-v") == 0)
		return take_own(job, OWN_VERBOSE, NULL);
	if (strcmp(word, "-h") == 0)
		return take_own(job, OWN_HELP, NULL);
	if (strcmp(word, "-b") == 0)
		return tool_misuse("cc", "unknown option '-b'; did you mean '--backends'?");
	return add_flag(job, argv, index);
}

static int read_word(cc_job_t *job, char **argv, int *index, cc_language_t *language)
{
	char *word = argv[*index];

	if (word[0] == '-' && word[1] == '-')
		return read_long(job, argv, index);
	if (word[0] == '-' && word[1])
		return read_short(job, argv, index, language);
	const cc_item_t item = {.word = word,
				.file = true,
				.language = *language == CC_LINKED ? language_of(word) : *language};
	return add_item(job, item);
}

int cc_options_read(int argc, char **argv, cc_job_t *job)
{
	cc_language_t language = CC_LINKED;
	bool rest = false; /* behind "--": all is the compiler's */
	int code = TOOL_OK;

	for (int i = 1; i < argc && !code && !job->help; i++) {
		if (!rest && strcmp(argv[i], "--") == 0)
			rest = true;
		else if (!rest)
			code = read_word(job, argv, &i, &language);
		else if (argv[i][0] == '-')
			code = add_flag(job, argv, &i);
		else
			code = add_flag_word(job, argv[i], false);
	}
	return code || job->help ? code : check(job);
}

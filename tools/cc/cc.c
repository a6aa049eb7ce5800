/*
 * tessera cc: compiles programs and kernels for the CPU and for GPUs, and links
 * them into one executable.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cc/cc.h"
#include "tools/cc/device.h"
#include "tools/cc/response.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera cc [OPTIONS] [COMPILER-FLAGS] FILE... [-o OUTPUT]\n"
	"\n"
	"Compiles and links as the C compiler does, with Tessera's headers and library,\n"
	"as mpicc does it for MPI. A FILE is a source in C (.c), C++ (.cpp .cc .cxx .C)\n"
	"or assembly (.s .S); all others, such as objects and archives, are linked. A\n"
	"source that defines kernels is also compiled by the toolkits of the backends\n"
	"that are named, and its object holds the device code.\n"
	"\n"
	"All that is not listed here is the compiler's: -O3 -g -I -D -l -L -c -shared\n"
	"-fPIC -std= -W -Wl, and so on, in any place. C gets -std=c11 and C++ -std=c++17\n"
	"unless you say another, and both get -O2, -g and, if their compiler has it,\n"
	"-fstack-clash-protection, so that a kernel with more locals than fit ends with\n"
	"a fault. -D -U -I -isystem -include also reach the device compilers.\n"
	"\n"
	"Of C, device compilers see only kernels, TSR_FN functions and the declarations\n"
	"that these name; of C++ they see all. The program always runs on the CPU too.\n"
	"It needs no vendor's runtime to start, and picks its backend when it starts.\n"
	"\n"
	"      --backends B,...    cpuemu (default), cuda (needs nvcc 13), hip (needs\n"
	"                          clang-19 and lld-19)\n"
	"      --nodes             compile kernels for GPUs a second time, for worlds of\n"
	"                          GPUs over several nodes\n"
	"  -o, --output FILE       the file to make (default: a.out; with -c NAME.o)\n"
	"      --dynamic           link with libtessera.so; -shared always does\n"
	"      --show              print the commands, as a shell reads them, and run none\n"
	"      --device-half       print what device compilers see of one FILE (or write\n"
	"                          it to -o)\n"
	"      --root FOLDER       the folder that holds Tessera's include/ and backends/\n"
	"                          (default: above this executable)\n"
	"  -v, --verbose           print each command before it runs\n"
	"  -h, --help              this text\n"
	"  -- COMPILER-FLAGS       all words behind are the compiler's\n"
	"\n"
	"The compilers are $CC and $CXX, or else cc and c++; these may be several words,\n"
	"such as CC='ccache gcc'. A word @FILE stands for the words in FILE.\n"
	"\n"
	"examples:\n"
	"  tessera cc examples/hello.c -o hello\n"
	"  tessera cc --backends cpuemu,cuda,hip -g -Wall -c kernel.c\n"
	"  tessera cc --show -O3 app.cpp kernel.o -lm -o app\n";

/* ------------------------------------------------------------------ a program or a library */

/**
 * Objects and libraries. -ltessera-kernels is the archive where the library is:
 * its shared library would bring a second libtessera.
 */
static void add_objects(const cc_job_t *job, bool dynamic, cc_words_t *words)
{
	for (int i = 0; i < job->objects.count; i++) {
		const bool kernels = strcmp(job->objects.word[i], "-ltessera-kernels") == 0;
		cc_words_add(words, "%s",
			     kernels && !dynamic ? "-l:libtessera-kernels.a"
						 : job->objects.word[i]);
	}
}

static int link_all(const cc_job_t *job)
{
	const bool dynamic = job->shared || job->dynamic;
	cc_words_t words = {.count = 0};

	cc_add_compiler(cc_count_sources(job, CC_CXX) ? CC_CXX : CC_C, &words);
	cc_words_add(&words, "-pthread");
	cc_words_add_all(&words, job->flags.word, job->flags.count);
	add_objects(job, dynamic, &words);
	cc_place_add_library(&job->place, dynamic, &words);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", job->output ? job->output : "a.out");
	int code = cc_run(&words, job->temp.keeper, job->say);
	cc_words_clear(&words);
	return code;
}

static int make_program(cc_job_t *job)
{
	int code = TOOL_OK;

	for (int i = 0; i < job->item_count && !code; i++) {
		if (job->items[i].language != CC_LINKED)
			code = cc_compile_to_link(job, &job->items[i], i);
		else
			cc_words_add(&job->objects, "%s", job->items[i].word);
	}
	if (!code)
		code = link_all(job);
	cc_words_clear(&job->objects);
	return code;
}

/* ------------------------------------------------------------------ objects */

/** The object that -c makes of a source where -o says none: in the current folder. */
static void name_object(const cc_job_t *job, const char *source, char object[PATH_MAX])
{
	const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source,
		   *suffix = strrchr(base, '.');

	if (job->output)
		snprintf(object, PATH_MAX, "%s", job->output);
	else
		snprintf(object, PATH_MAX, "%.*s.o",
			 suffix ? (int)(suffix - base) : (int)strlen(base), base);
}

static int make_objects(cc_job_t *job)
{
	char object[PATH_MAX];
	int code = TOOL_OK;

	for (int i = 0; i < job->item_count && !code; i++) {
		if (job->items[i].language == CC_LINKED)
			continue;
		if (job->goal == CC_TEXT) {
			code = cc_compile_text(job, &job->items[i]);
		} else {
			name_object(job, job->items[i].word, object);
			code = cc_compile(job, &job->items[i], i, object);
		}
	}
	return code;
}

/* ------------------------------------------------------------------ what device compilers see */

static int print_half(const cc_job_t *job)
{
	const char *why = NULL;
	int code = TOOL_OK;

	for (int i = 0; i < job->item_count && !code; i++) {
		if (job->items[i].language == CC_LINKED)
			continue;
		FILE *out = job->output ? fopen(job->output, "w") : stdout;
		const cc_device_t device = {.source = job->items[i].word,
					    .flags = job->flags.word,
					    .flag_count = job->flags.count};
		if (!out || !cc_device_write_half(&device, out, &why)) {
			fprintf(stderr, "tessera cc: %s has no device half: %s\n",
				job->items[i].word, out ? why : "its file cannot be written");
			code = TOOL_FAILED;
		}
		if (out && out != stdout && fclose(out) != 0)
			code = TOOL_FAILED;
	}
	return code;
}

/* ------------------------------------------------------------------ the whole */

/** Where the objects are while they are made; with --show beside the output, to stay. */
static int make_temp(cc_job_t *job)
{
	cc_words_t words = {.count = 0};

	if (job->say != CC_SHOW)
		return cc_temp_make(&job->temp);
	snprintf(job->temp.path, sizeof job->temp.path, "tessera-objects");
	if (job->goal == CC_PROGRAM || job->toolkit_count > 0) {
		cc_words_add(&words, "mkdir");
		cc_words_add(&words, "-p");
		cc_words_add(&words, "%s", job->temp.path);
		(void)cc_run(&words, 0, CC_SHOW);
		cc_words_clear(&words);
	}
	return TOOL_OK;
}

static void ask_compilers(cc_job_t *job)
{
	static const char *const names[] = {[CC_C] = "c", [CC_CXX] = "c++"};

	for (cc_language_t language = CC_C; language <= CC_CXX; language++) {
		cc_words_t compiler = {.count = 0};
		cc_add_compiler(language, &compiler);
		job->probes_stack[language] =
			cc_count_sources(job, language) > 0 &&
			cc_takes(&compiler, names[language], CC_PROBES_STACK, job->temp.keeper);
		cc_words_clear(&compiler);
	}
}

static int build(cc_job_t *job)
{
	int code = cc_place_find(job->root, job->shared || job->dynamic, &job->place);

	if (!code)
		code = make_temp(job);
	if (code)
		return code;
	ask_compilers(job);
	code = job->goal == CC_PROGRAM ? make_program(job) : make_objects(job);
	if (job->say != CC_SHOW)
		cc_temp_remove(&job->temp);
	return code;
}

int tsr_cmd_cc(int argc, char **argv)
{
	cc_job_t *job = calloc(1, sizeof *job);

	if (!job) {
		fprintf(stderr, "tessera cc: no host memory: end other programs\n");
		return TOOL_FAILED;
	}
	cc_line_t *line = calloc(1, sizeof *line);
	int code = TOOL_FAILED;
	if (!line)
		fprintf(stderr, "tessera cc: no host memory: end other programs\n");
	else if (!cc_line_read(line, argc, argv))
		code = tool_misuse("cc", "the command line cannot be read: %s", line->why);
	else
		code = cc_options_read(line->count, line->word, job);
	if (!code && job->help)
		tool_print_help(help);
	else if (!code)
		code = job->goal == CC_HALF ? print_half(job) : build(job);
	cc_words_clear(&job->flags);
	free(job);
	if (line)
		cc_line_clear(line);
	free(line);
	return code;
}

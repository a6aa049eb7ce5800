/*
 * tessera cc: compiles programs and kernels for the CPU and for GPUs, and links
 * them into one executable.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/program.h"
#include "tools/cc/command.h"
#include "tools/cc/device.h"
#include "tools/cc/temp.h"
#include "tools/cc/toolkit.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera cc [--backends B[,B...]] FILE... [-o PROGRAM] [-- COMPILER-FLAGS]\n"
	"\n"
	"Compiles each FILE.c with the C compiler. A file that defines kernels is also\n"
	"compiled by the toolkits of the backends that are named, and the device code is\n"
	"embedded. Everything is linked with the library. FILEs that do not end in .c are\n"
	"passed to the linker.\n"
	"\n"
	"Device compilers see only kernels, TSR_FN functions and the declarations that\n"
	"these name; the rest of a FILE is C. The program always runs on the CPU too. It\n"
	"needs no vendor's runtime to start, and picks its backend when it starts.\n"
	"\n"
	"  -b, --backends B,...    cpuemu (default), cuda (needs nvcc 13), hip (needs\n"
	"                          clang-19 and lld-19)\n"
	"  -o, --output PROGRAM    the program to make (default: a.out)\n"
	"      --root FOLDER       the folder that holds Tessera's include/ and backends/\n"
	"                          (default: above this executable)\n"
	"  -v, --verbose           print each command before it runs\n"
	"  -h, --help              this text\n"
	"  -- COMPILER-FLAGS       flags for the C compiler ($CC, or else cc), both to\n"
	"                          compile and to link; those that begin with -D, -U or\n"
	"                          -I also reach the device compilers\n"
	"\n"
	"examples:\n"
	"  tessera cc examples/hello.c -o hello\n"
	"  tessera cc --backends cpuemu,cuda,hip app.c kernel.c -o app -- -g -Wall\n";

/** One run of the command. */
typedef struct cc_job {
	char **files, **flags;
	int file_count, flag_count;
	const char *output, *root;
	bool verbose;
	cc_place_t place;
	cc_toolkit_t toolkits[CC_MOST_TOOLKITS];
	int toolkit_count;
	cc_temp_t temp;     /* for the objects */
	cc_words_t objects; /* to be linked */
} cc_job_t;

static const char *c_compiler(void)
{
	const char *named = getenv("CC");
	return named && *named ? named : "cc";
}

static bool is_c_source(const char *file)
{
	size_t length = strlen(file);
	return length > 2 && strcmp(file + length - 2, ".c") == 0;
}

/* ------------------------------------------------------------------ compiling */

static int compile_host(const cc_job_t *job, const char *source, const char *object)
{
	cc_words_t words = {.count = 0};

	cc_words_add(&words, "%s", c_compiler());
	cc_words_add(&words, "-std=c11");
	cc_words_add(&words, "-D_GNU_SOURCE");
	cc_words_add(&words, "-O2");
	cc_words_add(&words, "-pthread");
	cc_words_add_unit(&words, "TSR_UNIT", source);
	cc_words_add_all(&words, job->flags, job->flag_count);
	cc_place_add_includes(&job->place, &words);
	cc_words_add(&words, "-c");
	cc_words_add(&words, "%s", source);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", object);
	int code = cc_run(&words, job->temp.keeper, job->verbose);
	cc_words_clear(&words);
	return code;
}

static int embed(const cc_job_t *job, const cc_toolkit_t *toolkit, const char *source,
		 const char *image, const char *object)
{
	cc_words_t words = {.count = 0};

	cc_words_add(&words, "%s", c_compiler());
	cc_words_add(&words, "-c");
	cc_words_add_string(&words, "TSR_IMAGE_FILE", image);
	cc_words_add_unit(&words, "TSR_IMAGE_UNIT", source);
	cc_words_add_string(&words, "TSR_IMAGE_BACKEND", toolkit->backend);
	cc_words_add_string(&words, "TSR_IMAGE_ARCH", toolkit->arch);
	cc_words_add(&words, "%s/tools/embed.S", job->place.root);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", object);
	int code = cc_run(&words, job->temp.keeper, job->verbose);
	cc_words_clear(&words);
	return code;
}

/** One source: the host's object, and an object for each device image where it defines kernels. */
static int compile(cc_job_t *job, int index)
{
	const char *source = job->files[index];
	char object[128], image[128], embedded[sizeof image + 2];

	snprintf(object, sizeof object, "%s/%d.o", job->temp.path, index);
	int code = compile_host(job, source, object);
	if (code)
		return code;
	cc_words_add(&job->objects, "%s", object);
	if (!cc_object_has_kernels(object))
		return TOOL_OK;
	const cc_device_t device = {.place = &job->place,
				    .source = source,
				    .temp = job->temp.path,
				    .group = job->temp.keeper,
				    .flags = job->flags,
				    .flag_count = job->flag_count,
				    .verbose = job->verbose};
	for (int i = 0; i < job->toolkit_count && !code; i++) {
		const cc_toolkit_t *toolkit = &job->toolkits[i];
		snprintf(image, sizeof image, "%s/%d.%s", job->temp.path, index, toolkit->arch);
		snprintf(embedded, sizeof embedded, "%s.o", image);
		code = cc_device_compile(&device, toolkit, image);
		if (!code)
			code = embed(job, toolkit, source, image, embedded);
		cc_words_add(&job->objects, "%s", embedded);
	}
	return code;
}

static int link_program(const cc_job_t *job)
{
	/* What the library stands on: the same as in SConstruct. */
	static const char *const libraries[] = {"-lsodium", "-lm", "-ldl", "-pthread"};
	cc_words_t words = {.count = 0};

	cc_words_add(&words, "%s", c_compiler());
	cc_words_add_all(&words, job->objects.word, job->objects.count);
	cc_words_add_all(&words, job->flags, job->flag_count);
	cc_words_add(&words, "%s", job->place.library);
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		cc_words_add(&words, "%s", libraries[i]);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", job->output);
	int code = cc_run(&words, job->temp.keeper, job->verbose);
	cc_words_clear(&words);
	return code;
}

/* ------------------------------------------------------------------ the whole */

static int build(cc_job_t *job)
{
	int code = cc_place_find(job->root, &job->place);

	if (!code)
		code = cc_temp_make(&job->temp);
	if (code)
		return code;
	for (int i = 0; i < job->file_count && !code; i++) {
		if (is_c_source(job->files[i]))
			code = compile(job, i);
		else
			cc_words_add(&job->objects, "%s", job->files[i]);
	}
	if (!code)
		code = link_program(job);
	cc_words_clear(&job->objects);
	cc_temp_remove(&job->temp);
	return code;
}

/* ------------------------------------------------------------------ the command line */

/** Finds the toolkits of a list such as "cpuemu,cuda,hip". */
static int parse_backends(cc_job_t *job, char *list)
{
	static const char *const names[] = {"cpuemu", "cuda", "hip", NULL};
	char *rest = NULL;

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

static int check_files(const cc_job_t *job)
{
	if (job->file_count == 0)
		return tool_misuse("cc", "which files?");
	for (int i = 0; i < job->file_count; i++) {
		if (access(job->files[i], R_OK) != 0)
			return tool_misuse("cc", "cannot read '%s': %s", job->files[i],
					   strerror(errno));
		if (strcmp(job->files[i], job->output) == 0)
			return tool_misuse("cc", "'%s' is both a source and the output",
					   job->output);
	}
	return TOOL_OK;
}

/**
 * What stands behind "--" is the compiler's: cut off before getopt_long, which
 * would mix it with the files.
 */
static int split_flags(cc_job_t *job, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			job->flags = argv + i + 1;
			job->flag_count = argc - i - 1;
			return i;
		}
	}
	return argc;
}

int tsr_cmd_cc(int argc, char **argv)
{
	static const struct option options[] = {
		{"backends", required_argument, NULL, 'b'},
		{"output", required_argument, NULL, 'o'},
		{"root", required_argument, NULL, 'r'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	cc_job_t job = {.output = "a.out"};
	int code = TOOL_OK, own = split_flags(&job, argc, argv);

	for (int o; !code && (o = getopt_long(own, argv, ":b:o:vh", options, NULL)) != -1;) {
		switch (o) {
		case 'b':
			code = parse_backends(&job, optarg);
			break;
		case 'o':
			job.output = optarg;
			break;
		case 'r':
			job.root = optarg;
			break;
		case 'v':
			job.verbose = true;
			break;
		case 'h':
			fputs(help, stdout);
			return TOOL_OK;
		default:
			code = tool_bad_option("cc", o, argv, options);
		}
	}
	if (code)
		return code;
	job.files = argv + optind;
	job.file_count = own - optind;
	code = check_files(&job);
	return code ? code : build(&job);
}

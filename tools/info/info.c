/* tessera info: what this build and this machine offer, in sections. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tessera/version.h"
#include "tools/commands.h"
#include "tools/document.h"
#include "tools/info/info.h"
#include "tools/json_rows.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera info [SECTION...] [OPTIONS]\n"
	"\n"
	"Shows what this build and this machine offer.\n"
	"\n"
	"sections (without one: all but kernels and settings):\n"
	"  build      version, commit, compiler, and where headers and libraries are\n"
	"  backends   the backends with their devices, or why they have none; which one\n"
	"             programs take, and why; the properties of a device, and the machine\n"
	"             by whose figures workloads choose tiles and blocks\n"
	"  plugins    the same for libtessera.so, which loads backends of GPUs when a\n"
	"             program runs: which it found, and why one was not\n"
	"  network    what carries messages between nodes, its version, transports and\n"
	"             types of memory; or why there is none\n"
	"  kernels    the kernels in this executable with their variants and device code\n"
	"  settings   the environment variables that the library reads, with values,\n"
	"             defaults and meanings\n"
	"\n"
	"      --filter WORD       only rows that have WORD in them, in letters of any case\n"
	"      --json FILE         write the sections as JSON; '-' is standard output, and\n"
	"                          then nothing else is printed\n"
	"      --csv FILE          the same for one section, as a table with commas\n"
	"  -h, --help              this text\n"
	"\n"
	"examples:\n"
	"  tessera info backends\n"
	"  tessera info kernels --filter f32\n"
	"  tessera info settings --json -\n";

typedef struct section {
	const char *name;
	json_t *(*rows)(bool *failed);
	void (*print)(const json_t *rows);
	bool asked, unasked; /* whether it is shown where no section is named */
	json_t *found;
} section_t;

typedef struct job {
	section_t sections[7]; /* the last one has no name */
	const char *filter, *json, *csv;
	int asked;
} job_t;

/* ------------------------------------------------------------------ rows */

static bool has_word(const json_t *value, const char *word)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_string(value))
		return strcasestr(json_string_value(value), word) != NULL;
	json_array_foreach(value, i, part)
	{
		if (has_word(part, word))
			return true;
	}
	json_object_foreach((json_t *)value, key, part)
	{
		if (has_word(part, word))
			return true;
	}
	return false;
}

static void keep_rows(json_t *rows, const char *word)
{
	for (size_t i = json_array_size(rows); i > 0; i--) {
		if (!has_word(json_array_get(rows, i - 1), word))
			(void)json_array_remove(rows, i - 1);
	}
}

static bool find_rows(job_t *job)
{
	bool failed = false;

	for (section_t *section = job->sections; section->name; section++) {
		if (!section->asked)
			continue;
		section->found = section->rows(&failed);
		if (!section->found) {
			fprintf(stderr, "tessera info: no host memory: end other programs\n");
			failed = true;
		}
		if (job->filter)
			keep_rows(section->found, job->filter);
	}
	return !failed;
}

/* ------------------------------------------------------------------ files */

static const char *path_of(const char *file)
{
	return strcmp(file, "-") == 0 ? "/dev/stdout" : file;
}

static int fail_to_write(const char *option, const char *file)
{
	fprintf(stderr, "tessera info: %s '%s' cannot be written: %s\n", option, file,
		errno ? strerror(errno) : "unknown error");
	return TOOL_FAILED;
}

static int write_files(const job_t *job)
{
	json_t *all = json_object();
	const json_t *last = NULL;
	int code = TOOL_OK;

	for (const section_t *section = job->sections; section->name; section++) {
		if (!section->asked)
			continue;
		(void)json_object_set(all, section->name, section->found);
		last = section->found;
	}
	json_t *document = json_document("tessera-info/1", all);
	errno = 0;
	if (job->json && json_rows_dump_file(document, path_of(job->json), 0) != 0)
		code = fail_to_write("--json", job->json);
	if (!code && job->csv && csv_rows_dump_file(last, NULL, path_of(job->csv)) != 0)
		code = fail_to_write("--csv", job->csv);
	json_decref(document);
	json_decref(all);
	return code;
}

/** On standard error, so that files of no rows stay what they are. */
static void say_nothing_found(const job_t *job)
{
	const char *only = "";
	size_t rows = 0;

	for (const section_t *section = job->sections; section->name; section++) {
		if (!section->asked)
			continue;
		rows += json_is_object(section->found) ? json_object_size(section->found)
						       : json_array_size(section->found);
		only = section->name;
	}
	if (job->filter && rows == 0)
		fprintf(stderr,
			"tessera info: nothing has '%s' in it; 'tessera info%s%s' shows all\n",
			job->filter, job->asked == 1 ? " " : "", job->asked == 1 ? only : "");
}

static bool is_stdout(const char *file)
{
	return file && strcmp(file, "-") == 0;
}

static int show(job_t *job)
{
	const bool good = find_rows(job), alone = is_stdout(job->json) || is_stdout(job->csv);

	if (!alone && job->sections[0].asked && !job->filter)
		printf("tessera %s\n", tsr_version_text());
	for (section_t *section = job->sections; !alone && section->name; section++) {
		if (section->asked)
			section->print(section->found);
	}
	fflush(stdout);
	say_nothing_found(job);
	const int code = write_files(job);
	for (section_t *section = job->sections; section->name; section++)
		json_decref(section->found);
	return code || !good ? TOOL_FAILED : TOOL_OK;
}

/* ------------------------------------------------------------------ the command line */

static int ask(job_t *job, const char *name)
{
	const char *names[sizeof job->sections / sizeof *job->sections] = {NULL};

	for (int i = 0; job->sections[i].name; i++) {
		names[i] = job->sections[i].name;
		if (strcmp(name, names[i]) != 0)
			continue;
		job->asked += !job->sections[i].asked;
		job->sections[i].asked = true;
		return TOOL_OK;
	}
	const char *near = tsr_nearest_name(name, names);
	return near ? tool_misuse("info", "unknown section '%s'; did you mean '%s'?", name, near)
		    : tool_misuse("info",
				  "unknown section '%s'; there are build, backends, plugins, "
				  "network, kernels and settings",
				  name);
}

static int run(job_t *job, char **names, int count)
{
	int misused = TOOL_OK;

	for (int i = 0; i < count && !misused; i++)
		misused = ask(job, names[i]);
	if (misused)
		return misused;
	if (job->csv && job->asked != 1)
		return tool_misuse("info", "--csv is one table: name one section, such as kernels");
	for (section_t *section = job->sections; job->asked == 0 && section->name; section++)
		section->asked = section->unasked;
	return show(job);
}

enum { FILTER = 256, JSON, CSV };

int tsr_cmd_info(int argc, char **argv)
{
	static const struct option options[] = {
		{"filter", required_argument, NULL, FILTER},
		{"json", required_argument, NULL, JSON},
		{"csv", required_argument, NULL, CSV},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	job_t job = {.sections = {
			     {"build", info_build, info_print_build, .unasked = true},
			     {"backends", info_backends, info_print_backends, .unasked = true},
			     {"plugins", info_plugins, info_print_plugins, .unasked = true},
			     {"network", info_network, info_print_network, .unasked = true},
			     {"kernels", info_kernels, info_print_kernels, .unasked = false},
			     {"settings", info_settings, info_print_settings, .unasked = false},
		     }};

	for (int o; (o = tool_next_option(argc, argv, ":h", options)) != -1;) {
		switch (o) {
		case FILTER:
			job.filter = optarg;
			break;
		case JSON:
			job.json = optarg;
			break;
		case CSV:
			job.csv = optarg;
			break;
		case 'h':
			tool_print_help(help);
			return TOOL_OK;
		default:
			return tool_bad_option("info", o, argv, options);
		}
	}
	return run(&job, argv + optind, argc - optind);
}

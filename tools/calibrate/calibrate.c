/* tessera calibrate: measures a machine's figures, and writes its file. */
#include "tools/calibrate/calibrate.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/program.h"
#include "tools/beside.h"
#include "tools/child.h"
#include "tools/commands.h"
#include "tools/input.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera calibrate --output FILE [OPTIONS]\n"
	"\n"
	"Measures what this machine's devices and links can do, and writes it as a file\n"
	"that 'tessera sim --machine FILE,N' takes. Links, signals, copies and launches are\n"
	"measured by 'tessera perf' and 'tessera bench'. Rates of computing are chosen so\n"
	"that the simulation of one product, of one that sends beside itself, and of one\n"
	"attention takes as long as the device. Other figures are those of the nearest kind\n"
	"of machine; the file says of each where it comes from. Measure an idle machine.\n"
	"\n"
	"  -o, --output FILE     the machine's file\n"
	"      --name NAME       of the kind of machine (default: the file's, without .json)\n"
	"  -n, --ranks N         devices that there are, 1 or 2 (default 2); with one,\n"
	"                        figures of links are not measured\n"
	"      --backend B       backend (default: TESSERA_BACKEND, or else the best one that\n"
	"                        has a device)\n"
	"      --like KIND       the nearest kind (default: that of the device, or the first\n"
	"                        of the backend whose links are known)\n"
	"      --base FILE       the file of a machine: what is not measured is as there\n"
	"      --tessera FILE    the command to measure with (default: this one)\n"
	"      --verbose         print each command\n"
	"  -h, --help            this text\n"
	"\n"
	"example:\n"
	"  tessera calibrate -o laptop.json\n"
	"  tessera sim gemm-all-scatter --machine laptop.json,2 --shape 1024x1024x1024\n";

/* ------------------------------------------------------------------ figures */

const char *calibrate_name(calibrate_figure_t figure)
{
	return machine_figures[figure].name;
}

const char *calibrate_unit(calibrate_figure_t figure)
{
	return machine_figures[figure].unit;
}

double calibrate_value(const calibration_t *c, calibrate_figure_t figure)
{
	machine_t kind = *c->kind;
	if (c->found[figure].is_found)
		return c->found[figure].value;
	return *machine_value(&kind, &machine_figures[figure]);
}

void calibrate_keep(calibration_t *c, calibrate_figure_t figure, double value, const char *format,
		    ...)
{
	calibrate_found_t *found = &c->found[figure];
	char text[32];
	va_list values;
	(void)snprintf(text, sizeof text, "%.4g", value);
	*found = (calibrate_found_t){.is_found = true, .value = strtod(text, NULL)};
	va_start(values, format);
	(void)vsnprintf(found->what, sizeof found->what, format, values);
	va_end(values);
	(void)printf("%-18s %10s %-8s %s\n", calibrate_name(figure), text, calibrate_unit(figure),
		     found->what);
	(void)fflush(stdout);
}

/* ------------------------------------------------------------------ the nearest kind */

enum { INFO_SECONDS = 60 };

static const machine_t *kind_called(const char *name)
{
	for (int i = 0; i < machine_count; i++)
		if (strcmp(machine_table[i].name, name) == 0)
			return &machine_table[i];
	return NULL;
}

/** What "tessera info" says of the backend that is measured. Null: it has no device. */
static const json_t *device_in(const calibration_t *c, const json_t *told)
{
	const char *set = getenv("TESSERA_BACKEND"), *wanted = c->backend    ? c->backend
							       : set && *set ? set
									     : NULL;
	const json_t *rows = json_object_get(told, "backends");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = json_string_value(json_object_get(row, "name"));
		if (json_object_get(row, "device") &&
		    (!wanted || (name && strcmp(name, wanted) == 0)))
			return row;
	}
	return NULL;
}

/** The kind of the device that is there, or another one of its backend whose links are known. */
static const machine_t *find_kind(calibration_t *c)
{
	tool_child_t words = {.argc = 0};
	tool_child_add(&words, "tessera");
	tool_child_add(&words, "info");
	tool_child_add(&words, "backends");
	json_t *told = tool_child_json(&words, c->command, INFO_SECONDS, NULL, 0);
	const json_t *row = device_in(c, told);
	const char *figures = json_string_value(json_object_get(row, "figures")),
		   *device = json_string_value(json_object_get(row, "device"));
	const machine_t *found = figures ? kind_called(figures) : NULL;
	const char *backend = found ? found->backend : "";
	if (device)
		(void)snprintf(c->device, sizeof c->device, "%s", device);
	for (int i = 0; found && i < machine_count && !(found->link_pair > 0); i++)
		if (strcmp(machine_table[i].backend, backend) == 0)
			found = &machine_table[i];
	json_decref(told);
	return found;
}

/* ------------------------------------------------------------------ the command line */

typedef struct line {
	const char *output, *like, *base;
	char name[64], own[PATH_MAX];
} line_t;

enum { OPT_NAME = 256, OPT_BACKEND, OPT_LIKE, OPT_BASE, OPT_TESSERA, OPT_VERBOSE };

static const struct option long_options[] = {{"output", required_argument, NULL, 'o'},
					     {"name", required_argument, NULL, OPT_NAME},
					     {"ranks", required_argument, NULL, 'n'},
					     {"backend", required_argument, NULL, OPT_BACKEND},
					     {"like", required_argument, NULL, OPT_LIKE},
					     {"base", required_argument, NULL, OPT_BASE},
					     {"tessera", required_argument, NULL, OPT_TESSERA},
					     {"verbose", no_argument, NULL, OPT_VERBOSE},
					     {"help", no_argument, NULL, 'h'},
					     {NULL, 0, NULL, 0}};

static int take(int option, calibration_t *c, line_t *line)
{
	switch (option) {
	case 'o':
		line->output = optarg;
		return TOOL_OK;
	case 'n':
		if (tool_parse_ranks("calibrate", optarg, &c->ranks) != TOOL_OK)
			return TOOL_MISUSED;
		return c->ranks <= 2 ? TOOL_OK
				     : tool_misuse("calibrate", "-n %d: give 1 or 2", c->ranks);
	case OPT_NAME:
		(void)snprintf(line->name, sizeof line->name, "%s", optarg);
		return TOOL_OK;
	case OPT_BACKEND:
		return tool_parse_backend("calibrate", optarg, &c->backend);
	case OPT_LIKE:
		line->like = optarg;
		return TOOL_OK;
	case OPT_BASE:
		line->base = optarg;
		return TOOL_OK;
	case OPT_TESSERA:
		c->command = optarg;
		return TOOL_OK;
	default:
		c->verbose = true;
		return TOOL_OK;
	}
}

/** The file's name without folders and ".json". */
static void name_by_file(line_t *line)
{
	const char *slash = strrchr(line->output, '/'), *file = slash ? slash + 1 : line->output;
	const char *dot = strrchr(file, '.');
	const int length = dot && dot > file ? (int)(dot - file) : (int)strlen(file);
	if (!line->name[0])
		(void)snprintf(line->name, sizeof line->name, "%.*s", length, file);
}

/** The file of --base, which is a machine's. */
static int read_base(calibration_t *c, const char *path)
{
	json_error_t error;
	FILE *file = path ? tool_fopen_input(path) : NULL;
	if (!path)
		return TOOL_OK;
	if (!file)
		return tool_misuse("calibrate", "cannot read '%s': %s", path, strerror(errno));
	c->base = json_loadf(file, 0, &error);
	(void)fclose(file);
	if (!json_is_object(json_object_get(c->base, "figures")))
		return tool_misuse("calibrate",
				   "'%s' is no machine's file: give one of model/perf/machines, or "
				   "what calibrate wrote",
				   path);
	return TOOL_OK;
}

static int check(calibration_t *c, line_t *line)
{
	if (!line->output)
		return tool_misuse("calibrate", "into which file? Give --output FILE");
	name_by_file(line);
	if (!c->command) {
		tool_path_beside("tessera", line->own);
		c->command = line->own;
	}
	if (access(c->command, X_OK) != 0)
		return tool_misuse("calibrate", "cannot run '%s': %s", c->command, strerror(errno));
	c->kind = line->like ? kind_called(line->like) : find_kind(c);
	if (!c->kind && line->like)
		return tool_misuse("calibrate",
				   "--like '%s': no such kind of machine; model/perf/machines has "
				   "them",
				   line->like);
	if (!c->kind || !(c->kind->link_pair > 0))
		return tool_misuse("calibrate",
				   "no kind of machine is like this device: give --like KIND, and "
				   "see 'tessera info backends'");
	return read_base(c, line->base);
}

/** Before anything is measured; leaves no file that was not there. */
static int check_output(const char *path)
{
	const bool is_new = access(path, F_OK) != 0;
	FILE *file = fopen(path, "a");
	if (!file)
		return tool_misuse("calibrate", "cannot write '%s': %s", path, strerror(errno));
	(void)fclose(file);
	if (is_new)
		(void)unlink(path);
	return TOOL_OK;
}

int tsr_cmd_calibrate(int argc, char **argv)
{
	calibration_t c = {.ranks = 2};
	line_t line = {.output = NULL};
	for (int o; (o = tool_next_option(argc, argv, ":o:n:h", long_options)) != -1;) {
		if (o == 'h') {
			tool_print_help(help);
			return TOOL_OK;
		}
		const int misused = o == '?' || o == ':'
					    ? tool_bad_option("calibrate", o, argv, long_options)
					    : take(o, &c, &line);
		if (misused)
			return misused;
	}
	if (optind < argc)
		return tool_misuse("calibrate", "unexpected argument '%s'", argv[optind]);
	int code = check(&c, &line);
	if (code == TOOL_OK)
		code = check_output(line.output);
	if (code == TOOL_OK && calibrate_measure(&c) == 0) {
		(void)fprintf(stderr, "tessera calibrate: nothing could be measured\n");
		code = TOOL_FAILED;
	}
	if (code == TOOL_OK && !calibrate_write(&c, line.name, line.output)) {
		(void)fprintf(stderr, "tessera calibrate: cannot write '%s': %s\n", line.output,
			      strerror(errno));
		code = TOOL_FAILED;
	}
	json_decref(c.base);
	return code;
}

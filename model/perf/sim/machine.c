#include "model/perf/sim/machine.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "tessera/world.h"
#include "tools/input.h"

/** What a simulation divides by, or cannot do without. */
static const char *const needed[] = {
	"multiprocessors", "clock",        "tensor_width",  "memory_rate", "block_memory_rate",
	"link_pair",       "link_all",     "block_rate",    "block_copy",  "launch",
	"memory_latency",  "link_latency", "shared_memory", "load_rate",   "add_rate"};

static const machine_figure_t *find_figure(const char *name, size_t length)
{
	for (int i = 0; i < machine_figure_count; i++)
		if (strlen(machine_figures[i].name) == length &&
		    strncmp(machine_figures[i].name, name, length) == 0)
			return &machine_figures[i];
	return NULL;
}

static tsr_status_t check_known(sim_machine_t *machine)
{
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		const machine_figure_t *figure = find_figure(needed[i], strlen(needed[i]));
		if (!(*machine_value(&machine->kind, figure) > 0))
			return tsr_error(TSR_ERR_CONFIG,
					 "machine %s: %s (%s) is not known; give it, as with --set "
					 "%s=VALUE, or take another machine",
					 machine->name, figure->name, figure->meaning,
					 figure->name);
	}
	return TSR_OK;
}

/** "h200, h100, mi300x" */
static void list_kinds(char *text, size_t bytes)
{
	size_t used = 0;
	*text = '\0';
	for (int i = 0; i < machine_count && used < bytes; i++)
		if (machine_table[i].link_pair > 0)
			used += (size_t)snprintf(text + used, bytes - used, "%s%s",
						 used ? ", " : "", machine_table[i].name);
}

/** Behind the kind in a machine's name: "8" of "h200x8" and of "mi300x8". Null: another kind. */
static const char *number_behind(const char *name, const char *kind)
{
	const size_t length = strlen(kind);
	if (strncmp(name, kind, length) != 0)
		return NULL;
	if (name[length] == 'x')
		return name + length + 1;
	return kind[length - 1] == 'x' ? name + length : NULL;
}

/** The figures of a machine's file; what it does not know is 0. */
static tsr_status_t read_figures(const char *path, json_t *told, machine_t *kind)
{
	for (int i = 0; i < machine_figure_count; i++) {
		const json_t *figure = json_object_get(told, machine_figures[i].name),
			     *value = json_object_get(figure, "value");
		if (value && !json_is_null(value) &&
		    !(json_is_number(value) && json_number_value(value) >= 0))
			return tsr_error(TSR_ERR_CONFIG, "%s: %s is no number of %s from 0 on",
					 path, machine_figures[i].name, machine_figures[i].unit);
		*machine_value(kind, &machine_figures[i]) = json_number_value(value);
	}
	return TSR_OK;
}

/** A backend's name as long as the program runs: that of a kind. Null: there is no such backend. */
static const char *backend_called(const char *name)
{
	for (int i = 0; i < machine_count && name; i++)
		if (strcmp(machine_table[i].backend, name) == 0)
			return machine_table[i].backend;
	return NULL;
}

/* The name in the last file that was read. */
static char kind_of_file[48];

/** `path` up to its comma: a file that tessera calibrate wrote. */
static tsr_status_t read_file(const char *path, int devices, sim_machine_t *machine_out)
{
	json_error_t error;
	FILE *file = tool_fopen_input(path);
	json_t *root = file ? json_loadf(file, 0, &error) : NULL;
	const char *name = json_string_value(json_object_get(root, "name")),
		   *backend = backend_called(json_string_value(json_object_get(root, "backend")));
	tsr_status_t status;
	if (file)
		(void)fclose(file);
	if (!file)
		status = tsr_error(TSR_ERR_CONFIG, "cannot read %s: %s", path, strerror(errno));
	else if (!name || !backend)
		status = tsr_error(TSR_ERR_CONFIG,
				   "%s is no machine's file: tessera calibrate writes one", path);
	else {
		snprintf(kind_of_file, sizeof kind_of_file, "%s", name);
		*machine_out = (sim_machine_t){.kind = {.name = kind_of_file, .backend = backend},
					       .devices = devices};
		snprintf(machine_out->name, sizeof machine_out->name, "%.32s,%d", name, devices);
		status = read_figures(path, json_object_get(root, "figures"), &machine_out->kind);
	}
	json_decref(root);
	return status;
}

/** "FILE.json,N". False: it is none. */
static bool is_file(const char *name, char *path_out, size_t bytes, int *devices_out)
{
	const char *comma = strrchr(name, ',');
	char *end = NULL;
	const long devices = comma ? strtol(comma + 1, &end, 10) : 0;
	if (!end || end == comma + 1 || *end || devices < 1 || devices > TSR_MAX_RANKS ||
	    (size_t)(comma - name) >= bytes)
		return false;
	snprintf(path_out, bytes, "%.*s", (int)(comma - name), name);
	*devices_out = (int)devices;
	return true;
}

tsr_status_t sim_machine_find(const char *name, sim_machine_t *machine_out)
{
	char kinds[256], path[PATH_MAX];
	int count;
	if (is_file(name, path, sizeof path, &count))
		return read_file(path, count, machine_out);
	list_kinds(kinds, sizeof kinds);
	for (int i = 0; i < machine_count; i++) {
		const char *number = number_behind(name, machine_table[i].name);
		char *end = NULL;
		if (!number || !isdigit((unsigned char)*number))
			continue;
		const long devices = strtol(number, &end, 10);
		if (*end != '\0' || devices < 1 || devices > TSR_MAX_RANKS)
			continue;
		*machine_out = (sim_machine_t){.kind = machine_table[i], .devices = (int)devices};
		snprintf(machine_out->name, sizeof machine_out->name, "%s", name);
		return TSR_OK;
	}
	return tsr_error(TSR_ERR_CONFIG,
			 "no machine %s: name a kind (%s), an x, and 1 to %d devices, as in h200x8 "
			 "and mi300x8; or a file, a comma, and how many: box.json,8",
			 name, kinds, TSR_MAX_RANKS);
}

tsr_status_t sim_machine_set(sim_machine_t *machine, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	const machine_figure_t *figure =
		equals ? find_figure(assignment, (size_t)(equals - assignment)) : NULL;
	char *end = NULL;
	if (!figure)
		return tsr_error(TSR_ERR_CONFIG,
				 "--set %s: write FIGURE=VALUE; tessera sim --figures lists them",
				 assignment);
	const double value = strtod(equals + 1, &end);
	while (isspace((unsigned char)*end))
		end++;
	if (end == equals + 1 || !isfinite(value) || value < 0)
		return tsr_error(TSR_ERR_CONFIG, "--set %s: %s is a number of %s", assignment,
				 figure->name, figure->unit);
	if (*end && strcmp(end, figure->unit) != 0)
		return tsr_error(TSR_ERR_CONFIG, "--set %s: %s is given in %s", assignment,
				 figure->name, figure->unit);
	*machine_value(&machine->kind, figure) = value;
	return TSR_OK;
}

tsr_status_t sim_machine_check(sim_machine_t *machine)
{
	return check_known(machine);
}

void sim_machine_print(const sim_machine_t *machine)
{
	machine_t kind = machine->kind;
	for (int i = 0; i < machine_figure_count; i++) {
		const double value = *machine_value(&kind, &machine_figures[i]);
		char text[32] = "-";
		if (value > 0)
			(void)snprintf(text, sizeof text, "%g", value);
		(void)printf("%-18s %10s %-9s %s\n", machine_figures[i].name, text,
			     machine_figures[i].unit, machine_figures[i].meaning);
	}
}

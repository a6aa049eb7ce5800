#include "tools/usage.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/backends.h"
#include "tessera/program.h"
#include "tessera/types.h"

int tool_misuse(const char *command, const char *format, ...)
{
	va_list arguments;
	char sentence[1024];

	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	/* which may quote what is not of one line */
	(void)tsr_error(TSR_ERR_ARGUMENT, "%s", sentence);
	fprintf(stderr, "tessera %s: %s ('tessera %s --help' says more)\n", command,
		tsr_last_error(), command);
	return TOOL_MISUSED;
}

int tool_misuse_last_error(const char *command)
{
	return tool_misuse(command, "%s", tsr_last_error());
}

int tool_next_option(int argc, char **argv, const char *letters, const struct option *options)
{
	int index = -1;
	const int code = getopt_long(argc, argv, letters, options, &index);

	if (index < 0 || code == '?' || code == ':')
		return code;
	/* the word before its value, if that is a word of its own */
	const int at = optarg && optarg == argv[optind - 1] ? optind - 2 : optind - 1;
	const char *name = argv[at] + 2;
	if (strcspn(name, "=") == strlen(options[index].name))
		return code;
	optind = at + 1; /* where tool_bad_option finds it */
	return '?';
}

/** The option that the text begins, if it is one alone; else the one that is spelt like it. */
static const char *nearest_option(const char *text, const struct option *options)
{
	enum { MOST = 64 };
	const char *names[MOST + 1], *begun = NULL;
	int count = 0, begins = 0;

	for (const struct option *o = options; o->name && count < MOST; o++) {
		names[count++] = o->name;
		if (strncmp(o->name, text, strlen(text)) != 0)
			continue;
		begun = o->name;
		begins++;
	}
	if (begins == 1)
		return begun;
	names[count] = NULL;
	return tsr_nearest_name(text, names);
}

/** A letter that is no option: an option of several letters that begins with it may be meant. */
static int misused_letter(const char *command, const struct option *options)
{
	for (const struct option *o = options; o->name; o++) {
		if (o->name[0] == optopt)
			return tool_misuse(command, "unknown option '-%c'; did you mean '--%s'?",
					   optopt, o->name);
	}
	return tool_misuse(command, "unknown option '-%c'", optopt);
}

int tool_bad_option(const char *command, int code, char **argv, const struct option *options)
{
	const char *word = argv[optind - 1];

	if (code == ':')
		return tool_misuse(command, "option '%s' needs a value", word);
	if (strncmp(word, "--", 2) != 0)
		return misused_letter(command, options);

	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (const struct option *o = options; o->name; o++) {
		if (strcmp(o->name, name) == 0)
			return tool_misuse(command, "option '--%s' takes no value", name);
	}
	const char *near = nearest_option(name, options);
	if (near)
		return tool_misuse(command, "unknown option '--%s'; did you mean '--%s'?", name,
				   near);
	return tool_misuse(command, "unknown option '--%s'", name);
}

int tool_parse_ranks(const char *command, const char *text, int *ranks_out)
{
	long ranks;

	if (tsr_parse_int("-n", text, 1, TSR_MAX_RANKS, &ranks) != TSR_OK)
		return tool_misuse_last_error(command);
	*ranks_out = (int)ranks;
	return TOOL_OK;
}

int tool_parse_nodes(const char *command, const char *text, int *nodes_out)
{
	long nodes;

	if (tsr_parse_int("--nodes", text, 1, TSR_MAX_RANKS, &nodes) != TSR_OK)
		return tool_misuse_last_error(command);
	*nodes_out = (int)nodes;
	return TOOL_OK;
}

int tool_check_nodes(const char *command, const tsr_launcher_t *launcher)
{
	if (launcher->nodes > launcher->ranks)
		return tool_misuse(command,
				   "--nodes %d with -n %d: every node has at least one rank",
				   launcher->nodes, launcher->ranks);
	return TOOL_OK;
}

int tool_parse_backend(const char *command, const char *text, const char **backend_out)
{
	enum { MOST = 16 };
	const char *names[MOST + 1];
	char all[256] = "";
	int count = 0;
	tsr_backend_info_t info = {.size = sizeof info};

	while (count < MOST && tsr_backend_at(count, &info) == TSR_OK) {
		if (strcmp(info.name, text) == 0) {
			*backend_out = info.name;
			return TOOL_OK;
		}
		size_t used = strlen(all);
		snprintf(all + used, sizeof all - used, "%s%s", count ? ", " : "", info.name);
		names[count++] = info.name;
	}
	names[count] = NULL;
	const char *near = tsr_nearest_name(text, names);
	if (near)
		return tool_misuse(command, "unknown backend '%s'; did you mean '%s'?", text, near);
	return tool_misuse(command, "unknown backend '%s'; there are: %s", text, all);
}

int tool_parse_placement(const char *command, const char *text, tsr_placement_t *placement_out)
{
	if (strcmp(text, "process") == 0)
		*placement_out = TSR_PLACE_PROCESS;
	else if (strcmp(text, "thread") == 0)
		*placement_out = TSR_PLACE_THREAD;
	else
		return tool_misuse(command, "--placement is 'process' or 'thread', not '%s'", text);
	return TOOL_OK;
}

bool tool_is_program(const char *name)
{
	if (strchr(name, '/'))
		return access(name, X_OK) == 0;

	const char *path = getenv("PATH");
	for (const char *part = path ? path : ""; *part;) {
		size_t length = strcspn(part, ":");
		char file[4096];
		snprintf(file, sizeof file, "%.*s/%s", length ? (int)length : 1,
			 length ? part : ".", name);
		if (access(file, X_OK) == 0)
			return true;
		part += length;
		part += *part == ':';
	}
	return false;
}

int tool_check_program(const char *command, const char *name)
{
	if (tool_is_program(name))
		return TOOL_OK;
	if (!strchr(name, '/') && access(name, X_OK) == 0)
		return tool_misuse(command, "'%s' is not on PATH; did you mean './%s'?", name,
				   name);
	return tool_misuse(command, "cannot execute '%s': no such program, or not executable",
			   name);
}

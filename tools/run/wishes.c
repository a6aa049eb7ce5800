/* Which ranks are debugged, and where output goes: reading and judging what is asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/run/run.h"
#include "tools/usage.h"

bool run_wishes_something(const run_wishes_t *wishes)
{
	return wishes->tag || wishes->folder || wishes->debug_count > 0;
}

/** Reads a number of a list; what follows it is in `*rest_out`. -1: there is none. */
static long read_rank(const char *text, const char **rest_out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	const long rank = strtol(text, &end, 10);
	*rest_out = end;
	return rank < TSR_MAX_RANKS ? rank : TSR_MAX_RANKS;
}

int run_read_debugged(const char *list, run_wishes_t *wishes)
{
	for (const char *at = list;;) {
		const long first = read_rank(at, &at);
		long last = first;
		if (first >= 0 && *at == '-')
			last = read_rank(at + 1, &at);
		if (first < 0 || last < first || (*at != ',' && *at != '\0'))
			return tool_misuse("run",
					   "--gdb is a list of ranks such as 0 or 0,2-3, not '%s'",
					   list);
		if (last >= TSR_MAX_RANKS)
			return tool_misuse("run",
					   "--gdb '%s': ranks are numbered from 0 to %d at most",
					   list, TSR_MAX_RANKS - 1);
		for (long rank = first; rank <= last; rank++) {
			wishes->debug_count += !wishes->debug[rank];
			wishes->debug[rank] = true;
		}
		if (*at++ == '\0')
			return TOOL_OK;
	}
}

static int check_debugged(const run_wishes_t *wishes)
{
	for (int rank = wishes->ranks; rank < TSR_MAX_RANKS; rank++) {
		if (wishes->debug[rank])
			return tool_misuse("run", "--gdb names rank %d; the ranks are 0 to %d",
					   rank, wishes->ranks - 1);
	}
	if (wishes->debug_count == 0 || tool_is_program("gdb"))
		return TOOL_OK;
	fprintf(stderr, "tessera run: there is no gdb on PATH: install it (package gdb), or run "
			"without --gdb\n");
	return TOOL_FAILED;
}

static int make_folder(const char *folder)
{
	struct stat info;

	if (mkdir(folder, 0777) == 0 || (errno == EEXIST && stat(folder, &info) == 0 &&
					 S_ISDIR(info.st_mode) && access(folder, W_OK) == 0))
		return TOOL_OK;
	fprintf(stderr, "tessera run: cannot write files into --output '%s': %s\n", folder,
		errno == EEXIST ? "it is no folder" : strerror(errno));
	return TOOL_FAILED;
}

int run_check_wishes(run_wishes_t *wishes, bool threads)
{
	if (!run_wishes_something(wishes))
		return TOOL_OK;
	if (threads)
		return tool_misuse("run",
				   "--tag, --output and --gdb need ranks that are processes: "
				   "leave out --placement thread, and TESSERA_PLACEMENT");
	const int code = check_debugged(wishes);
	return code || !wishes->folder ? code : make_folder(wishes->folder);
}

void run_file_name(const char *folder, int rank, char *name_out, size_t room)
{
	snprintf(name_out, room, "%s/rank-%d.txt", folder, rank);
}

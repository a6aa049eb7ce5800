/*
 * `tessera sim`: becomes the program tessera-sim, which is linked with the
 * simulating executor (model/perf/sim/).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/beside.h"
#include "tools/commands.h"
#include "tools/usage.h"

int tsr_cmd_sim(int argc, char **argv)
{
	char path[PATH_MAX];
	(void)argc;
	tool_path_beside("tessera-sim", path);
	execv(path, argv);
	fprintf(stderr,
		"tessera sim: cannot start %s: %s; `scons command` builds it, and what installs "
		"this command puts it there\n",
		path, strerror(errno));
	return TOOL_FAILED;
}

/*
 * `tessera sim`: becomes the program tessera-sim, which is linked with the
 * simulating executor (model/perf/sim/).
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "tessera/program.h"
#include "tools/beside.h"
#include "tools/commands.h"
#include "tools/usage.h"

int tsr_cmd_sim(int argc, char **argv)
{
	char path[PATH_MAX];
	(void)argc;
	tool_path_beside("tessera-sim", path);
	execv(path, argv);
	(void)tsr_error(TSR_ERR_NOT_FOUND,
			"cannot start %s: %s; build or install it with this command", path,
			strerror(errno));
	(void)tool_misuse_last_error("sim");
	return TOOL_FAILED;
}

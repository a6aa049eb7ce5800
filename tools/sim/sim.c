/*
 * `tessera sim`: becomes the program tessera-sim, which is linked with the
 * simulating executor (model/perf/sim/).
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/base/os/beside.h"
#include "tessera/program.h"
#include "tools/commands.h"
#include "tools/usage.h"

int tsr_cmd_sim(int argc, char **argv)
{
	/* beside the command of a build, and where an installation has it */
	static const char *const folders[] = {".", "../lib/tessera"};
	char path[PATH_MAX];
	(void)argc;
	(void)tsr_find_beside("tessera-sim", folders, 2, path);
	execv(path, argv);
	(void)tsr_error(TSR_ERR_NOT_FOUND,
			"cannot start %s: %s; build or install it with this command", path,
			strerror(errno));
	(void)tool_misuse_last_error("sim");
	return TOOL_FAILED;
}

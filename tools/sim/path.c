#include "tools/sim/path.h"

#include "src/base/os/beside.h"

void tool_sim_path(char path[PATH_MAX])
{
	/* beside the command of a build, and where an installation has it */
	static const char *const folders[] = {".", "../lib/tessera"};
	(void)tsr_find_beside("tessera-sim", folders, 2, path);
}

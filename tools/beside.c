#include "tools/beside.h"

#include "src/base/os/beside.h"

void tool_path_beside(const char *program, char path[PATH_MAX])
{
	static const char *const folders[] = {".", "../lib/tessera"};
	(void)tsr_find_beside(program, folders, 2, path);
}

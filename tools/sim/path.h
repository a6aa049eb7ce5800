/* Where the program of `tessera sim` is. */
#ifndef TESSERA_TOOLS_SIM_PATH_H
#define TESSERA_TOOLS_SIM_PATH_H

#include <limits.h>

/** The program's path; where it was not found, where an installation would have it. */
void tool_sim_path(char path[PATH_MAX]);

#endif

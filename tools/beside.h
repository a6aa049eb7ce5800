/* Where the programs are that belong to the command. */
#ifndef TESSERA_TOOLS_BESIDE_H
#define TESSERA_TOOLS_BESIDE_H

#include <limits.h>

/**
 * The path of a program, such as "tessera-sim": beside the command in a build, or
 * where an installation has it. Where it was not found, that of an installation.
 */
void tool_path_beside(const char *program, char path[PATH_MAX]);

#endif

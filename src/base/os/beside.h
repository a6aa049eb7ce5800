/* Files that are installed beside this library. */
#ifndef TESSERA_BASE_BESIDE_H
#define TESSERA_BASE_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/**
 * Looks for `file` in `count` folders, one after the other, each seen from the
 * folder of this library, or of the program that has it in itself. False: it is in
 * none of them; then `path` is where the second one, an installation's, would have
 * it, or the name alone.
 */
bool tsr_find_beside(const char *file, const char *const *folders, int count, char path[PATH_MAX]);

#endif

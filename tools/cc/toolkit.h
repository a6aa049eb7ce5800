/* What `tessera cc` builds with: the installation, and the device compilers that are here. */
#ifndef TESSERA_TOOLS_CC_TOOLKIT_H
#define TESSERA_TOOLS_CC_TOOLKIT_H

#include <limits.h>
#include <stdbool.h>

#include "tools/cc/command.h"

/** Where headers and library are. */
typedef struct cc_place {
	char root[PATH_MAX];    /* has include/, backends/ and tools/embed.S */
	char library[PATH_MAX]; /* the folder of libtessera.a and libtessera.so */
} cc_place_t;

/**
 * Finds them: `root` where that is not null, else where this executable was
 * installed with them, else upwards from it. The library is in the installed
 * folder of libraries, or else beside the executable; it is the shared one
 * where `dynamic` is true. Prints its sentence and returns TOOL_FAILED where
 * they are not there.
 */
int cc_place_find(const char *root, bool dynamic, cc_place_t *place_out);

/** The same in silence, of any library, for who only wants to say where it is. */
bool cc_place_look(cc_place_t *place_out);

/** Adds where headers are looked for. */
void cc_place_add_includes(const cc_place_t *place, cc_words_t *words);

/** Adds the library, shared or as an archive, and what that stands on. */
void cc_place_add_library(const cc_place_t *place, bool dynamic, cc_words_t *words);

/** One device compiler and what it compiles for. */
typedef struct cc_toolkit {
	const char *backend, *arch;
	char compiler[PATH_MAX];
} cc_toolkit_t;

enum { CC_MOST_TOOLKITS = 3 };

/**
 * The toolkits of `backend` ("cuda", "hip"), added behind `*count`. Prints its
 * sentence and returns TOOL_FAILED where it is missing.
 */
int cc_toolkits_find(const char *backend, cc_toolkit_t *toolkits, int *count);

/** Begins the command that makes an image of a source, up to its own flags, files and unit. */
void cc_toolkit_compile(const cc_toolkit_t *toolkit, cc_words_t *words);

/**
 * Whether an object defines kernels: has pointers to their descriptors
 * (include/tessera/kernel.h). False where it cannot be read.
 */
bool cc_object_has_kernels(const char *path);

#endif

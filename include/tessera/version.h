/* The library's version: which one a program was compiled for, and which one it runs with. */
#ifndef TESSERA_VERSION_H
#define TESSERA_VERSION_H

#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It stands here alone: the build, the command and the shared library's name read it. */
#define TSR_VERSION_MAJOR 0
#define TSR_VERSION_MINOR 1
#define TSR_VERSION_PATCH 0

/**
 * The version of these headers as one number that grows: major * 1000000 +
 * minor * 1000 + patch. A constant expression, for `#if` too:
 * `#if TSR_VERSION >= 1002000`.
 */
#define TSR_VERSION (TSR_VERSION_MAJOR * 1000000 + TSR_VERSION_MINOR * 1000 + TSR_VERSION_PATCH)

/**
 * TSR_VERSION of the library that the program runs with, which may be another
 * than that of its headers where the library is shared. Any thread. Versions of
 * one major number, and before 1.0.0 of one minor number, serve the same
 * programs.
 */
TSR_API int tsr_version(void);

/** The same as people write it: "0.1.0". Any thread; lives as long as the program. */
TSR_API const char *tsr_version_text(void);

#ifdef __cplusplus
}
#endif
#endif

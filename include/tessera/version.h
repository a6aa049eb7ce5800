/* The version of the library: at compile time, and at run time. */
#ifndef TESSERA_VERSION_H
#define TESSERA_VERSION_H

#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The one place of the version: the build, the command and the shared library's
 * name read it.
 */
#define TSR_VERSION_MAJOR 0
#define TSR_VERSION_MINOR 1
#define TSR_VERSION_PATCH 0

/**
 * The version of these headers as one number that grows: major * 1000000 +
 * minor * 1000 + patch. A constant expression, also for `#if`:
 * `#if TSR_VERSION >= 1002000`.
 */
#define TSR_VERSION (TSR_VERSION_MAJOR * 1000000 + TSR_VERSION_MINOR * 1000 + TSR_VERSION_PATCH)

/**
 * The version of the library that the program runs with. It may differ from
 * TSR_VERSION if the library is shared. Versions with the same major number are
 * compatible; before 1.0.0, those with the same minor number. Any thread.
 */
TSR_API int tsr_version(void);

/** The same as text: "0.1.0". It lives as long as the program. Any thread. */
TSR_API const char *tsr_version_text(void);

#ifdef __cplusplus
}
#endif
#endif

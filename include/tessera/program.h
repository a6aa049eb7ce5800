/*
 * Helpers for programs and libraries that use this one: error sentences, and
 * reading and writing numbers as the library does.
 */
#ifndef TESSERA_PROGRAM_H
#define TESSERA_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Keeps a sentence for tsr_last_error on this thread and returns `status`:
 * `return tsr_error(TSR_ERR_ARGUMENT, "...", ...);`. The function that first
 * detects an error calls it; its callers return the status unchanged. The
 * sentence names cause and cure.
 */
TSR_API tsr_status_t tsr_error(tsr_status_t status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Reads a size such as "64", "32K", "1.5M" or "2G" (powers of 1024), and a
 * duration such as "500ms", "30s" or "2m". `what` names the value in the
 * sentence of an error. Any thread.
 *
 * Errors:     TSR_ERR_CONFIG (the text cannot be read).
 */
TSR_API tsr_status_t tsr_parse_size(const char *what, const char *text, size_t *size_out);
TSR_API tsr_status_t tsr_parse_duration(const char *what, const char *text, uint64_t *ns_out);

/**
 * Writes a size for people: "64 MiB", "1.5 KiB", "12 bytes". A size that is not
 * a round number is followed by its bytes: "4.8 MiB (5000000 bytes)". Returns
 * `text`; TSR_SIZE_ROOM bytes are enough. Any thread.
 */
TSR_API const char *tsr_size_text(size_t size_bytes, char *text, size_t text_bytes);
#define TSR_SIZE_ROOM 64

/**
 * The same as an argument of printf, in C. The text lives until the end of the
 * enclosing block.
 */
#define TSR_SIZE(size_bytes_) tsr_size_text((size_bytes_), (char[TSR_SIZE_ROOM]){""}, TSR_SIZE_ROOM)

/**
 * Reads a decimal integer from low to high. `what` names the value in the
 * sentence of an error. Any thread.
 *
 * Errors:     TSR_ERR_CONFIG (no integer, or outside the range).
 */
TSR_API tsr_status_t tsr_parse_int(const char *what, const char *text, long low, long high,
				   long *value_out);

/**
 * Writes what is still buffered for standard output, and returns `code`. If any
 * output was lost (because the disk is full, for example), prints one sentence
 * to standard error, once, and returns 1 in place of 0. Called at a program's
 * end; TSR_MAIN calls it.
 */
TSR_API int tsr_flush_output(int code);

/**
 * The entry of `names` (null-terminated) that is nearest to `text`, or null if
 * none is near. For "did you mean". Any thread.
 */
TSR_API const char *tsr_nearest_name(const char *text, const char *const *names);

#ifdef __cplusplus
}
#endif
#endif

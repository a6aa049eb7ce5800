/*
 * For programs and libraries that stand on this one: to say why, and to read
 * what people write, with the library's own voice.
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
 * `return tsr_error(TSR_ERR_ARGUMENT, "...", ...);`. Called by whoever first
 * decides the error; callers hand the status on unchanged. The sentence names
 * cause and cure.
 */
TSR_API tsr_status_t tsr_error(tsr_status_t status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Reads "64", "32K", "1.5M", "2G" (powers of 1024) and "500ms", "30s", "2m".
 * TSR_ERR_CONFIG names `what`. Any thread.
 */
TSR_API tsr_status_t tsr_parse_size(const char *what, const char *text, size_t *size_out);
TSR_API tsr_status_t tsr_parse_duration(const char *what, const char *text, uint64_t *ns_out);

/**
 * Writes a size as people say it: "64 MiB", "1.5 KiB", "12 bytes", and what is
 * not even with its bytes: "4.8 MiB (5000000 bytes)". Returns `text`, of which
 * TSR_SIZE_ROOM bytes are enough. Any thread.
 */
TSR_API const char *tsr_size_text(size_t size_bytes, char *text, size_t text_bytes);
#define TSR_SIZE_ROOM 64

/**
 * The same for an argument of printf, in C: a text that lasts until the end of
 * the block around it.
 */
#define TSR_SIZE(size_bytes_) tsr_size_text((size_bytes_), (char[TSR_SIZE_ROOM]){""}, TSR_SIZE_ROOM)

/** Reads a whole decimal number in low .. high. Any thread. */
TSR_API tsr_status_t tsr_parse_int(const char *what, const char *text, long low, long high,
				   long *value_out);

/**
 * At a program's end: writes what is still buffered of standard output. Where
 * any of it is lost (a full disk, say) prints one sentence on standard error,
 * once, and returns 1 in place of an exit code of 0; else returns `code`.
 * TSR_MAIN does it by itself.
 */
TSR_API int tsr_flush_output(int code);

/**
 * The entry of `names` (null-terminated) nearest to `text`, or null where none
 * is near. For "did you mean". Any thread.
 */
TSR_API const char *tsr_nearest_name(const char *text, const char *const *names);

#ifdef __cplusplus
}
#endif
#endif

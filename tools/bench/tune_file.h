/*
 * The file in which `tessera bench --tune` remembers: JSON, read whole, and
 * replaced whole by rename. Writers take turns by a lock on the folder; readers
 * need none, since they see the file before or after. A file that is damaged,
 * or of another version, is left alone.
 */
#ifndef TESSERA_TOOLS_BENCH_TUNE_FILE_H
#define TESSERA_TOOLS_BENCH_TUNE_FILE_H

#include <jansson.h>
#include <limits.h>

#include "tessera/status.h"

/**
 * $TESSERA_TUNE_FILE, else tessera/tune.json below $XDG_CACHE_HOME or ~/.cache.
 * Errors: TSR_ERR_CONFIG (no home; too long).
 */
tsr_status_t tune_file_path(char path_out[PATH_MAX]);

/**
 * Whether the file can be read, or is not there, which is the same. Errors:
 * TSR_ERR_CONFIG (damaged), TSR_ERR_SYSTEM.
 */
tsr_status_t tune_file_check(const char *path);

/**
 * Looks for the entry that has each of the key's members with the same value.
 * `*entry_out`: it, to be released by json_decref; null where there is none.
 * Errors: those of tune_file_check.
 */
tsr_status_t tune_file_find(const char *path, const json_t *key, json_t **entry_out);

/**
 * Writes an entry with the members of `key` and of `choice` in the place of an
 * earlier one for the key; makes the folder where it is not there. Errors:
 * those of tune_file_check; TSR_ERR_TIMEOUT where another writer keeps the
 * lock; TSR_ERR_SYSTEM.
 */
tsr_status_t tune_file_remember(const char *path, const json_t *key, const json_t *choice);

#endif

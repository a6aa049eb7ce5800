/*
 * The file in which `tessera bench --tune` remembers: JSON, read whole, and replaced whole by rename. Writers take turns by a lock
 * on the folder; readers need none, since they see the file before or after. A file that is damaged, or of another version, is left
 * alone.
 */
#ifndef TESSERA_TOOLS_TUNE_FILE_H
#define TESSERA_TOOLS_TUNE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "tessera/status.h"

/** What a choice is for. Equal in all, or another entry. */
typedef struct tune_key {
	const char *backend, *device, *workload, *pattern, *dtype;
	int ranks;
	int64_t m, n, k;
} tune_key_t;

/** The fastest that was found. */
typedef struct tune_choice {
	int tile[3]; /* M, N, K */
	int blocks, comm_blocks;
	int parts; /* of the last tiles; 0: of a search that knew none */
	int64_t median_ns;
	char date[24]; /* of the search, UTC, such as 2026-11-21T12:00:00Z */
} tune_choice_t;

/** $TESSERA_TUNE_FILE, else tessera/tune.json below $XDG_CACHE_HOME or ~/.cache. Errors: TSR_ERR_CONFIG (no home; too long). */
tsr_status_t tune_file_path(char path_out[PATH_MAX]);

/** Whether the file can be read, or is not there, which is the same. Errors: TSR_ERR_CONFIG (damaged), TSR_ERR_SYSTEM. */
tsr_status_t tune_file_check(const char *path);

/** Looks a choice up. Errors: those of tune_file_check. */
tsr_status_t tune_file_find(const char *path, const tune_key_t *key, tune_choice_t *choice_out, bool *found_out);

/**
 * Writes a choice in the place of an earlier one for the same key; makes the folder where it is not there.
 * Errors: those of tune_file_check; TSR_ERR_TIMEOUT where another writer keeps the lock; TSR_ERR_SYSTEM.
 */
tsr_status_t tune_file_remember(const char *path, const tune_key_t *key, const tune_choice_t *choice);

#endif

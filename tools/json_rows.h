/* JSON files that people read too: a row of measurements is a line. */
#ifndef TESSERA_TOOLS_JSON_ROWS_H
#define TESSERA_TOOLS_JSON_ROWS_H

#include <jansson.h>

/**
 * Writes `root` to the file at `path`. An object that nests at most two levels
 * deep, such as a trial or a pattern with its samples, is one line. A deeper
 * one has a line for each member, and so has an array of objects. `flags` are
 * jansson's for numbers and strings. bench/python/json_rows.py writes the same form.
 *
 * Returns 0, or -1 with errno set where the system gave a cause.
 */
int json_rows_dump_file(const json_t *root, const char *path, size_t flags);

#endif

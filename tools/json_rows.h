/* Tables as files: JSON that people read too, where a row is a line, and CSV. */
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

/**
 * Writes a table as CSV (RFC 4180, lines end in a line feed). Its rows are the
 * objects of the array `root`, or with `rows` of that member of it; then each
 * row begins with the other members of `root`. Columns are the members of all
 * rows, in the order in which they come. A member of an object has a column of
 * its own, called "traffic.launches"; an array of plain values is one value,
 * joined by ";". Arrays of objects and what nests deeper have no column, and
 * null is empty.
 *
 * Returns as json_rows_dump_file does.
 */
int csv_rows_dump_file(const json_t *root, const char *rows, const char *path);

#endif

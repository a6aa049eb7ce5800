/* The sections of `tessera info`: each a table, which is printed as text, CSV or JSON. */
#ifndef TESSERA_TOOLS_INFO_INFO_H
#define TESSERA_TOOLS_INFO_INFO_H

#include <jansson.h>
#include <stdbool.h>

/**
 * The rows of a section: an array of objects, to be released by json_decref;
 * null without host memory. `*failed` becomes true where something that should
 * be there could not be asked.
 */
json_t *info_build(bool *failed);
json_t *info_backends(bool *failed);
json_t *info_plugins(bool *failed);
json_t *info_network(bool *failed);
json_t *info_kernels(bool *failed);
json_t *info_settings(bool *failed);

/** Print rows as text, as people read them. */
void info_print_build(const json_t *rows);
void info_print_backends(const json_t *rows);
void info_print_plugins(const json_t *rows);
void info_print_network(const json_t *rows);
void info_print_kernels(const json_t *rows);
void info_print_settings(const json_t *rows);

/** A member as text; "" where it is not there. */
const char *info_text(const json_t *row, const char *key);

#endif

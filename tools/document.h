/* What every JSON document of a command begins with. */
#ifndef TESSERA_TOOLS_DOCUMENT_H
#define TESSERA_TOOLS_DOCUMENT_H

#include <jansson.h>

/** What was built, from which commit: commit.c, which the build compiles with their values. */
extern const char tsr_build_commit[], tsr_build_name[];

/**
 * A document: an object with `schema`, "version" and "commit", and behind them
 * the members of `members`, which stays the caller's. `schema` is the name of
 * the document's form, a slash and its number, such as "tessera-perf/1": the
 * number rises where a member that was there gets another meaning or goes. New
 * members leave it. Null without host memory.
 */
json_t *json_document(const char *schema, const json_t *members);

#endif

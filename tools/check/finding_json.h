/* Findings as JSON: read from a line of the protocol, and written for people's tools. */
#ifndef TESSERA_TOOLS_CHECK_FINDING_JSON_H
#define TESSERA_TOOLS_CHECK_FINDING_JSON_H

#include <jansson.h>

#include "src/explore/wire/finding.h"

/**
 * Reads a finding from the object of a line, which it keeps: the strings are
 * the object's. Given back by tsr_finding_free.
 * Errors: TSR_ERR_CONFIG says what is wrong with it; TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_finding_parse(json_t *object, tsr_finding_t **finding_out);

/** Null is no finding. */
void tsr_finding_free(tsr_finding_t *finding);

/**
 * What was read, with the advice, the seed and the script of it as they are
 * now. A new reference; null where there is no memory.
 * @param finding  from tsr_finding_parse
 */
json_t *tsr_finding_json(const tsr_finding_t *finding);

/** Reads [[choice,alternative],...]. Errors: TSR_ERR_CONFIG, TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_finding_parse_script(const json_t *array, tsr_check_script_t *script_out);

#endif

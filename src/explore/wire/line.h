/*
 * Writes lines of JSON to a descriptor from a static buffer: no allocation, no
 * lock, no stdio stream.
 */
#ifndef TESSERA_EXPLORE_WIRE_LINE_H
#define TESSERA_EXPLORE_WIRE_LINE_H

#include "src/explore/wire/protocol.h"

/*
 * A value with a name is a member of the open object; without a name it is an
 * entry of the array.
 */

/**
 * Begins a line, after an empty one: a line that a dead process left unfinished
 * is then a line of its own.
 */
void tsr_line_begin(tsr_report_t *report, const char *type);
/** Ends the line and sends it. */
void tsr_line_end(tsr_report_t *report);

void tsr_line_open(tsr_report_t *report, const char *name, char bracket);
void tsr_line_close(tsr_report_t *report, char bracket);

/** Null: the member is left out. Bytes that are not UTF-8 become '?'. */
void tsr_line_text(tsr_report_t *report, const char *name, const char *text);
void tsr_line_int(tsr_report_t *report, const char *name, int64_t value);
/**
 * Values from 2^63 on are written as the negative number with the same bits,
 * because readers have signed 64-bit numbers.
 */
void tsr_line_uint(tsr_report_t *report, const char *name, uint64_t value);
void tsr_line_bool(tsr_report_t *report, const char *name, bool value);

#endif

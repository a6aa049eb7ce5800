/*
 * Writing lines of JSON to a descriptor from a buffer that is already there: no
 * allocation, no lock, no stream.
 */
#ifndef TESSERA_EXPLORE_WIRE_LINE_H
#define TESSERA_EXPLORE_WIRE_LINE_H

#include "src/explore/wire/protocol.h"

/*
 * Values that follow a name are members of the object that is open; without a
 * name they are entries of the array.
 */

/**
 * An empty line goes before it: what somebody who died left unfinished is then
 * a line of its own.
 */
void tsr_line_begin(tsr_report_t *report, const char *type);
/** Ends the line and sends it. */
void tsr_line_end(tsr_report_t *report);

void tsr_line_open(tsr_report_t *report, const char *name, char bracket);
void tsr_line_close(tsr_report_t *report, char bracket);

/** Null: the member is left out. What is not UTF-8 comes out as '?'. */
void tsr_line_text(tsr_report_t *report, const char *name, const char *text);
void tsr_line_int(tsr_report_t *report, const char *name, int64_t value);
/**
 * From 2^63 on as the negative number with the same bits, since readers have 64
 * bits with a sign.
 */
void tsr_line_uint(tsr_report_t *report, const char *name, uint64_t value);
void tsr_line_bool(tsr_report_t *report, const char *name, bool value);

#endif

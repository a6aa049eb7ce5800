#include "src/explore/wire/line.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void flush(tsr_report_t *report)
{
	for (size_t sent = 0; sent < report->used && !report->broken;) {
		const ssize_t got = write(report->fd, report->text + sent, report->used - sent);
		if (got >= 0)
			sent += (size_t)got;
		else if (errno != EINTR)
			report->broken = true; /* nobody is there to be told */
	}
	report->used = 0;
}

static void put(tsr_report_t *report, char c)
{
	if (report->used == sizeof report->text)
		flush(report);
	report->text[report->used++] = c;
}

static void put_all(tsr_report_t *report, const char *text)
{
	for (; *text != '\0'; text++)
		put(report, *text);
}

/** How many bytes the UTF-8 character at `text` has; 0 where it is none. */
static int character_bytes(const unsigned char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const int bytes = *text < 0x80       ? 1
			  : *text >> 5 == 6  ? 2
			  : *text >> 4 == 14 ? 3
			  : *text >> 3 == 30 ? 4
					     : 0;
	if (bytes < 2)
		return bytes;
	uint32_t code = *text & (0x7fu >> bytes);
	for (int i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0u) != 0x80) /* the end of the text too */
			return 0;
		code = code << 6 | (text[i] & 0x3fu);
	}
	return code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0
											    : bytes;
}

static void put_quoted(tsr_report_t *report, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	put(report, '"');
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
		const int bytes = character_bytes(c);
		if (*c < 0x20) {
			put_all(report, "\\u00");
			put(report, digits[*c >> 4]);
			put(report, digits[*c & 15]);
		} else if (*c == '"' || *c == '\\') {
			put(report, '\\');
			put(report, (char)*c);
		} else if (bytes == 0) {
			put(report, '?');
		} else {
			for (int i = 0; i < bytes; i++)
				put(report, (char)c[i]);
		}
		c += bytes > 0 ? bytes : 1;
	}
	put(report, '"');
}

/** What stands before a value: a comma unless it is the first, and its name. */
static void begin_value(tsr_report_t *report, const char *name)
{
	if (!report->first)
		put(report, ',');
	report->first = false;
	if (name == NULL)
		return;
	put_quoted(report, name);
	put(report, ':');
}

void tsr_line_begin(tsr_report_t *report, const char *type)
{
	put(report, '\n');
	put(report, '{');
	report->first = true;
	tsr_line_text(report, "type", type);
}

void tsr_line_end(tsr_report_t *report)
{
	put_all(report, "}\n");
	flush(report);
}

void tsr_line_open(tsr_report_t *report, const char *name, char bracket)
{
	begin_value(report, name);
	put(report, bracket);
	report->first = true;
}

void tsr_line_close(tsr_report_t *report, char bracket)
{
	put(report, bracket);
	report->first = false;
}

void tsr_line_text(tsr_report_t *report, const char *name, const char *text)
{
	if (text == NULL)
		return;
	begin_value(report, name);
	put_quoted(report, text);
}

static void put_number(tsr_report_t *report, uint64_t value)
{
	char digits[20];
	int count = 0;
	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	while (count > 0)
		put(report, digits[--count]);
}

void tsr_line_int(tsr_report_t *report, const char *name, int64_t value)
{
	begin_value(report, name);
	if (value < 0)
		put(report, '-');
	put_number(report, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void tsr_line_uint(tsr_report_t *report, const char *name, uint64_t value)
{
	tsr_line_int(report, name, (int64_t)value);
}

void tsr_line_bool(tsr_report_t *report, const char *name, bool value)
{
	begin_value(report, name);
	put_all(report, value ? "true" : "false");
}

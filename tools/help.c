/* Help on 80 columns: what is longer goes on below the text that it belongs to. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/usage.h"

enum { COLUMNS = 80, LONGEST = 1024 };

/**
 * The column where a line's text begins: behind two blanks or more that follow
 * a name, or else where the line does.
 */
static int text_column(const char *line)
{
	const int begin = (int)strspn(line, " ");

	for (const char *at = line + begin; *at; at++) {
		if (at[0] == ' ' && at[1] == ' ')
			return (int)(at - line) + (int)strspn(at, " ");
	}
	return begin;
}

/** Where a line of too many columns is broken: its last blank that is no part of the margin. */
static int break_column(const char *line, int margin)
{
	int last = 0;

	for (int i = margin; line[i] && i <= COLUMNS; i++) {
		if (line[i] == ' ')
			last = i;
	}
	return last;
}

/** Takes the next line of the text, or null. */
static const char *next_line(const char *text, char line[LONGEST])
{
	const size_t length = strcspn(text, "\n");

	if (!*text)
		return NULL;
	snprintf(line, LONGEST, "%.*s", (int)length, text);
	return text + length + (text[length] == '\n');
}

/** Whether the next line of the text goes on with what stands from `margin` on. */
static bool goes_on(const char *text, int margin)
{
	return (int)strspn(text, " ") == margin && text[margin] && text[margin] != '\n';
}

void tool_print_help(const char *text)
{
	char line[LONGEST], rest[LONGEST], next[LONGEST];

	while ((text = next_line(text, line)) != NULL) {
		const int margin = text_column(line);
		int end;
		while (strlen(line) > COLUMNS && (end = break_column(line, margin)) > 0) {
			snprintf(rest, sizeof rest, "%s", line + end + 1);
			printf("%.*s\n", end, line);
			/* what goes on with it follows in the same line */
			if (goes_on(text, margin)) {
				text = next_line(text, next);
				snprintf(line, sizeof line, "%*s%.900s %s", margin, "", rest,
					 next + margin);
			} else {
				snprintf(line, sizeof line, "%*s%.900s", margin, "", rest);
			}
		}
		printf("%s\n", line);
	}
}

void tool_help_begin(tool_help_t *help)
{
	*help = (tool_help_t){.text = NULL};
	help->out = open_memstream(&help->text, &help->size);
}

void tool_help_add(tool_help_t *help, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (help->out)
		vfprintf(help->out, format, arguments);
	va_end(arguments);
}

void tool_help_end(tool_help_t *help)
{
	if (help->out && fclose(help->out) == 0)
		tool_print_help(help->text);
	free(help->text);
}

/* Where the call of the host API that a thread is in stands in the program. */
#include "src/base/place.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tessera/site.h"

static _Thread_local tsr_place_t here;

tsr_place_t *tsr_place_here(void)
{
	return &here;
}

void tsr_site_begin(const char *call, const char *file, int line)
{
	here = (tsr_place_t){call, file, line, NULL};
}

void tsr_site_made(const char *arguments)
{
	here.made = arguments;
}

/** The last of the arguments, without the blanks and the & before it. */
static const char *last_argument(const char *arguments)
{
	const char *last = arguments;
	int depth = 0;
	for (const char *at = arguments; *at; at++) {
		depth += strchr("([{", *at) != NULL;
		depth -= strchr(")]}", *at) != NULL;
		if (*at == ',' && depth == 0)
			last = at + 1;
	}
	return last + strspn(last, " \t\n&");
}

/** Whether it is a variable, an element or a member, such as "parts[i].out" or "a->box". */
static bool is_variable(const char *text, size_t length)
{
	static const char within[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				     "0123456789.->[]+* ";
	return length > 0 && length < TSR_PLACE_NAME && strspn(text, within) >= length &&
	       !strchr("0123456789.->[]+* ", *text) && strncmp(text, "NULL", 4) != 0;
}

const char *tsr_place_name(char name[TSR_PLACE_NAME])
{
	const char *last = here.made ? last_argument(here.made) : "";
	size_t length = strlen(last);
	while (length > 0 && last[length - 1] == ' ')
		length--;
	if (is_variable(last, length)) {
		snprintf(name, TSR_PLACE_NAME, "%.*s", (int)length, last);
		return name;
	}
	if (!here.file)
		return NULL;
	const char *slash = strrchr(here.file, '/');
	snprintf(name, TSR_PLACE_NAME, "%s:%d", slash ? slash + 1 : here.file, here.line);
	return name;
}

tsr_status_t tsr_site_end(tsr_status_t status)
{
	here = (tsr_place_t){.line = 0};
	return status;
}

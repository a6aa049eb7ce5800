/* Reading a list of visible devices. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "src/base/settings/visible.h"

bool tsr_visible_refused(const char *list, int count, char entry_out[TSR_VISIBLE_ENTRY_BYTES])
{
	for (int i = 0; list != NULL && *list != '\0'; i++) {
		size_t length = strcspn(list, ",");
		const char *entry = list;
		list += length + (list[length] == ',');
		while (length > 0 && isspace((unsigned char)*entry)) {
			entry++;
			length--;
		}
		while (length > 0 && isspace((unsigned char)entry[length - 1]))
			length--;
		if (length > 1 && entry[0] == '-' && isdigit((unsigned char)entry[1]))
			return false;
		if (i < count)
			continue;
		snprintf(entry_out, TSR_VISIBLE_ENTRY_BYTES, "%.*s", (int)length, entry);
		return length > 0 || *list != '\0'; /* a comma at the end adds nothing */
	}
	return false;
}

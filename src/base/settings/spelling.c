/* "Did you mean": the nearest of some names. */
#include <ctype.h>
#include <string.h>

#include "src/base/settings/options.h"

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/** Levenshtein distance, upper and lower case alike, of texts no longer than LONGEST. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[LONGEST + 1];
	const size_t width = strlen(b);
	for (size_t j = 0; j <= width; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= width; j++) {
			const size_t replaced = diagonal + (toupper((unsigned char)a[i - 1]) !=
							    toupper((unsigned char)b[j - 1]));
			diagonal = row[j];
			row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[width];
}

const char *tsr_nearest_name(const char *text, const char *const *names)
{
	const size_t length = strlen(text);
	if (length == 0 || length > LONGEST)
		return NULL;
	const char *nearest = NULL;
	/* with more than a third of the letters wrong it is another word; one may be always */
	size_t nearest_distance = (length + 2) / 3;
	for (; *names != NULL; names++) {
		if (strlen(*names) > LONGEST)
			continue;
		const size_t distance = edit_distance(text, *names);
		if (distance <= nearest_distance &&
		    (nearest == NULL || distance < nearest_distance)) {
			nearest = *names;
			nearest_distance = distance;
		}
	}
	return nearest;
}

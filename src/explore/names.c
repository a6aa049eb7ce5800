/* Names that reports use when those who gave them may be gone. */
#include "src/explore/exploration_state.h"

#include <stdlib.h>
#include <string.h>

const char *tsr_exploration_name(tsr_exploration_t *x, const char *text)
{
	if (*text == '\0')
		return NULL;
	for (int i = 0; i < x->name_count; i++)
		if (strcmp(x->names[i], text) == 0)
			return x->names[i];
	if (x->name_count == x->name_room) {
		const int room = x->name_room > 0 ? 2 * x->name_room : 8;
		char **names = realloc(x->names, (size_t)room * sizeof *names);
		if (!names)
			return NULL;
		x->names = names;
		x->name_room = room;
	}
	char *name = strdup(text);
	if (name)
		x->names[x->name_count++] = name;
	return name;
}

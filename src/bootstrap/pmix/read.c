/* Reading what PMIx's server and rank 0 say. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/bootstrap/pmix/pmix.h"

/** A rank at the begin of a text, or -1. */
static int read_rank(const char **text)
{
	char *end;
	if (!isdigit((unsigned char)**text))
		return -1;
	const unsigned long value = strtoul(*text, &end, 10);
	*text = end;
	return value < TSR_MAX_RANKS ? (int)value : -1;
}

bool tsr_pmix_read_peers(const char *list, int rank, int *lowest_out, int *local_rank_out,
			 int *local_size_out)
{
	bool here[TSR_MAX_RANKS] = {false};
	int lowest = -1, below = 0, count = 0;
	for (const char *at = list;; at++) {
		const int first = read_rank(&at);
		const int last = *at == '-' ? (at++, read_rank(&at)) : first;
		if (first < 0 || last < first || (*at != ',' && *at != '\0'))
			return false;
		for (int r = first; r <= last; r++)
			here[r] = true;
		if (*at == '\0')
			break;
	}
	for (int r = 0; r < TSR_MAX_RANKS; r++) {
		lowest = here[r] && lowest < 0 ? r : lowest;
		below += here[r] && r < rank;
		count += here[r];
	}
	if (rank < 0 || rank >= TSR_MAX_RANKS || !here[rank])
		return false;
	*lowest_out = lowest;
	*local_rank_out = below;
	*local_size_out = count;
	return true;
}

bool tsr_pmix_read_published(const char *text, char secret[40], char root[256], char *sentence,
			     size_t size)
{
	const char *space = strchr(text, ' ');
	sentence[0] = '\0';
	if (space == NULL || space == text || space[1] == '\0')
		return false;
	if (space == text + 1 && text[0] == '!') {
		snprintf(sentence, size, "%s", space + 1);
		return false;
	}
	if (space - text >= 40 || strlen(space + 1) >= 256)
		return false;
	snprintf(secret, 40, "%.*s", (int)(space - text), text);
	snprintf(root, 256, "%s", strcmp(space + 1, "-") == 0 ? "" : space + 1);
	return true;
}

#include "model/memory/witnesses/visited.h"

#include <stdlib.h>

#include "tessera/program.h"

enum { FIRST_ROOM = 1024 };

static tsr_status_t no_memory(const visited_t *visited)
{
	return tsr_error(
		TSR_ERR_NO_MEMORY,
		"no memory for more than %zu states: a smaller test, or fewer rounds of its loops",
		visited->count);
}

tsr_status_t visited_create(visited_t *visited)
{
	*visited = (visited_t){calloc(FIRST_ROOM, sizeof visited->slots[0]), 0, FIRST_ROOM};
	return visited->slots ? TSR_OK : no_memory(visited);
}

void visited_destroy(visited_t *visited)
{
	free(visited->slots);
	*visited = (visited_t){NULL, 0, 0};
}

/**
 * The slot that holds the digest, or the free one where it belongs. A free slot
 * is zero, and no digest is taken to be.
 */
static uint64_t *find(const visited_t *visited, const uint64_t digest[2])
{
	size_t at = digest[0] & (visited->room - 1);

	while ((visited->slots[at][0] | visited->slots[at][1]) &&
	       !(visited->slots[at][0] == digest[0] && visited->slots[at][1] == digest[1]))
		at = (at + 1) & (visited->room - 1);
	return visited->slots[at];
}

static tsr_status_t grow(visited_t *visited)
{
	visited_t larger = {calloc(2 * visited->room, sizeof larger.slots[0]), visited->count,
			    2 * visited->room};

	if (!larger.slots)
		return no_memory(visited);
	for (size_t i = 0; i < visited->room; i++) {
		const uint64_t *digest = visited->slots[i];
		if (!(digest[0] | digest[1]))
			continue;
		uint64_t *slot = find(&larger, digest);
		slot[0] = digest[0];
		slot[1] = digest[1];
	}
	free(visited->slots);
	*visited = larger;
	return TSR_OK;
}

tsr_status_t visited_add(visited_t *visited, const uint64_t digest[2], bool *fresh_out)
{
	if (2 * visited->count >= visited->room) {
		tsr_status_t status = grow(visited);
		if (status != TSR_OK)
			return status;
	}
	uint64_t *slot = find(visited, digest);
	*fresh_out = !(slot[0] | slot[1]);
	if (*fresh_out) {
		slot[0] = digest[0];
		slot[1] = digest[1];
		visited->count++;
	}
	return TSR_OK;
}

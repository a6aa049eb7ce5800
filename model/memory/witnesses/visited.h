/* The states that a search has been in, by their digests of 128 bits. */
#ifndef MODEL_MEMORY_WITNESSES_VISITED_H
#define MODEL_MEMORY_WITNESSES_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

typedef struct visited {
	uint64_t (*slots)[2];
	size_t count, room; /* room: a power of two */
} visited_t;

/** An empty set, to be destroyed in any case. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t visited_create(visited_t *visited);
void visited_destroy(visited_t *visited);

/** Adds a digest; says whether it was not there before. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t visited_add(visited_t *visited, const uint64_t digest[2], bool *fresh_out);

#endif

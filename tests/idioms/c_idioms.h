/* A header of the user's own, with kernels' needs and C's idioms beside each other. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { WORDS = 64 };

typedef struct box {
	int64_t sent[WORDS], got[WORDS];
	uint64_t ready;
} box_t;

typedef struct idioms_args {
	TSR_HEAP box_t *box;
	int64_t words;
} idioms_args_t;

TSR_FN int next_rank(const tsr_coop_t *block)
{
	return (tsr_rank(block) + 1) % tsr_size(block);
}

/*
 * Host code: a list whose node has a member and a parameter that C++ reserves,
 * and memory that nobody casts.
 */
typedef struct node node_t;
struct node {
	node_t *next;
	int class;
	int64_t values[];
};

static inline node_t *new_node(node_t *this, int class, size_t count)
{
	node_t *new = malloc(sizeof *new + count * sizeof *new->values);
	if (new) {
		*new = (node_t){.next = this, .class = class};
		memset(new->values, 0, count * sizeof *new->values);
	}
	return new;
}

/* A program outside the tree: what its host half and its kernels both know. */
#ifndef SQUARES_H
#define SQUARES_H

#include "tessera/kernel.h"
#include "tessera/types.h"

enum { SQUARES_MOST_RANKS = 8 };

/** A rank's part of the heap. */
typedef struct squares {
	int64_t from[SQUARES_MOST_RANKS];   /* what each rank has sent */
	uint64_t ready[SQUARES_MOST_RANKS]; /* 1: it is there */
	int64_t sum;
} squares_t;

typedef struct squares_args {
	TSR_HEAP squares_t *mine;
} squares_args_t;

TSR_KERNEL_DECLARE(add_squares);

#endif

/*
 * Additional memory of kernels with a main loop: places in device memory for
 * tensor maps. Used by both halves; C11 and C++17.
 */
#ifndef TESSERA_CUDA_SHARED_H
#define TESSERA_CUDA_SHARED_H

#include <stdint.h>

#define TSR_CUDA_MAP_BYTES 128

/* The sums of the largest tile, 128 x 256, in f32. */
#define TSR_CUDA_STAGED_BYTES (128 * 256 * 4)

/** A tensor map, and the matrix for which it was made. */
typedef struct tsr_cuda_place {
	unsigned char map[TSR_CUDA_MAP_BYTES];
	uint64_t data; /* 0: no map yet */
	uint64_t rows, cols, ld;
	unsigned char unused[TSR_CUDA_MAP_BYTES - 4 * sizeof(uint64_t)];
} tsr_cuda_place_t;

/**
 * tsr_gpu_context_t.workspace: device memory, cleared when it is made. Blocks
 * make their maps by changing the first, which is the host's; each
 * multiprocessor keeps what its blocks have made (one block with a main loop
 * fills it), for every rank's A and B, and for the stack of B that grouped
 * products choose from. Behind all places each multiprocessor has
 * TSR_CUDA_STAGED_BYTES, in which its block keeps partial sums while they are
 * sent.
 */
enum {
	TSR_CUDA_PLACE_A,
	TSR_CUDA_PLACE_B,
	TSR_CUDA_PLACE_STACK,
	/* stacks too: Q, K and V of attention */
	TSR_CUDA_PLACE_Q,
	TSR_CUDA_PLACE_K,
	TSR_CUDA_PLACE_V,
	TSR_CUDA_PLACES_EACH
};

typedef struct tsr_cuda_workspace {
	/* a matrix of 16-bit elements, in boxes of 64 by 64 with the 128-byte swizzle */
	tsr_cuda_place_t first;
	tsr_cuda_place_t stack; /* the same for several such matrices; a box is in one of them */
	/* TSR_CUDA_PLACES_EACH for every multiprocessor and rank */
	tsr_cuda_place_t place[];
} tsr_cuda_workspace_t;

#endif

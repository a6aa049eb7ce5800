/*
 * What a kernel with a main loop has besides its own: places in device memory
 * for tensor maps. For both halves; C11 and C++17.
 */
#ifndef TESSERA_CUDA_SHARED_H
#define TESSERA_CUDA_SHARED_H

#include <stdint.h>

#define TSR_CUDA_MAP_BYTES 128

/** A tensor map, and the matrix that it was made for. */
typedef struct tsr_cuda_place {
	unsigned char map[TSR_CUDA_MAP_BYTES];
	uint64_t data; /* 0: none yet */
	uint64_t rows, cols, ld;
	unsigned char unused[TSR_CUDA_MAP_BYTES - 4 * sizeof(uint64_t)];
} tsr_cuda_place_t;

/**
 * tsr_gpu_context_t.workspace: device memory, cleared when it is made. Blocks
 * make their maps by changing the first, which is the host's; each
 * multiprocessor keeps what its blocks have made (one block with a main loop
 * fills it), for every rank's A and B, and for the stack of B that grouped
 * products choose from.
 */
enum { TSR_CUDA_PLACE_A, TSR_CUDA_PLACE_B, TSR_CUDA_PLACE_STACK, TSR_CUDA_PLACES_EACH };

typedef struct tsr_cuda_workspace {
	/* a matrix of 16-bit elements, in boxes of 64 by 64 with the 128-byte swizzle */
	tsr_cuda_place_t first;
	tsr_cuda_place_t stack; /* the same of several such matrices: boxes of one */
	/* TSR_CUDA_PLACES_EACH of them for every multiprocessor and rank */
	tsr_cuda_place_t place[];
} tsr_cuda_workspace_t;

#endif

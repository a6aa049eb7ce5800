/* The kernels that work for ranks of other nodes, as the host launches them. C11 and C++17. */
#ifndef TESSERA_GPU_FAR_KERNELS_H
#define TESSERA_GPU_FAR_KERNELS_H

#include <stdint.h>

enum { TSR_GPU_SERVE_THREADS = 128, TSR_GPU_CARRY_THREADS = 256 };

/** Most local memory of a thread of a kernel in a world over several nodes. */
enum { TSR_GPU_STACK_BYTES = 4096 };

/** Rows to be put to a far heap. */
typedef struct tsr_gpu_carried {
	char *dst; /* this rank's address of the place */
	const char *src;
	int64_t dst_pitch, src_pitch, row_bytes, rows;
	int32_t peer; /* a member of the team, on another node */
} tsr_gpu_carried_t;

#endif

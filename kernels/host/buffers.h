/* The symmetric allocations of a plan: matrices, flags and what ranks or blocks exchange. */
#ifndef KERNELS_HOST_BUFFERS_H
#define KERNELS_HOST_BUFFERS_H

#include <stdbool.h>

#include "tessera/tessera.h"

/** One allocation. A plan has a table of them, the same on every rank. */
typedef struct buffer {
	const char *name;    /* in reports: "gemm_all_scatter.sync" */
	size_t size_bytes;   /* 0: the plan does not need it */
	bool is_cleared;     /* set to 0 after its allocation */
	TSR_HEAP void *data; /* null: not allocated */
} buffer_t;

/**
 * Checks that the heap has room for all buffers, before any is allocated. `what`
 * begins the sentence: "shape 64x64x64 in bf16". Errors: TSR_ERR_NO_MEMORY; those
 * of tsr_heap_usage.
 */
tsr_status_t buffers_check(tsr_world_t *world, const buffer_t *buffers, int count,
			   const char *what);

/**
 * Allocates the buffers in their order, and sets flags to 0. A barrier must
 * follow before the first run, so that the flags of all ranks are 0. After an
 * error none of them is allocated.
 *
 * Called by: collective, one thread a rank. Errors: those of tsr_heap_alloc and
 *            tsr_memset_heap.
 */
tsr_status_t buffers_allocate(tsr_world_t *world, buffer_t *buffers, int count);

/**
 * Frees those that are allocated, and makes them null. It waits for the runs that
 * use them, and for every rank. Collective. Returns the first error; frees all
 * the same.
 */
tsr_status_t buffers_free(tsr_world_t *world, buffer_t *buffers, int count);

#endif

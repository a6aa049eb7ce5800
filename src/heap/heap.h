/* The inside of the symmetric heap: what tensors need of it beyond include/tessera/heap.h. */
#ifndef TESSERA_HEAP_INSIDE_H
#define TESSERA_HEAP_INSIDE_H

#include "src/world/world.h"
#include "tessera/heap.h"

/** Fresh memory is filled with this byte: NaN in every floating dtype, -1 or 255 in the others. */
#define TSR_HEAP_POISON 0xFF
/**
 * Of a larger allocation the begin alone is poisoned: heap memory is used when
 * touched, and a large allocation may stay sparse.
 */
#define TSR_HEAP_POISON_BYTES ((size_t)16 << 20)

/** Writes the first values of fresh memory, on this rank alone. */
typedef tsr_status_t (*tsr_heap_fill_fn)(tsr_world_t *world, TSR_HEAP void *memory,
					 const void *ctx);

/** An allocation as a collective call asks for it. */
typedef struct tsr_heap_request {
	const char *call;      /* the public call, for the sentence of a mismatch */
	const char *arguments; /* its arguments as text, equal on all ranks */
	const char *name;
	size_t size_bytes, align_bytes;
	/* of the caller's own checks; not TSR_OK: the call fails on all ranks, but as one call */
	tsr_status_t verdict;
	tsr_heap_fill_fn fill; /* null: poison */
	const void *fill_ctx;
} tsr_heap_request_t;

/**
 * Takes memory on every rank, or on none: a rank that fails (bad arguments, no
 * memory, a fill that fails) fails the call everywhere. When it returns, every
 * rank's copy is filled. Called by: collective. Errors: those of
 * tsr_heap_alloc; on the ranks that have no failure of their own, that of the
 * first that has.
 */
tsr_status_t tsr_heap_take(tsr_world_t *world, const tsr_heap_request_t *request,
			   TSR_HEAP void **pointer_out);

/**
 * TSR_ERR_ARGUMENT where `size_bytes` from `heap` on do not lie in one
 * allocation of this rank; `call` is for the sentence.
 */
tsr_status_t tsr_heap_check_range(const tsr_world_t *world, const char *call,
				  const TSR_HEAP void *heap, size_t size_bytes);

/** The address as the backend takes it: the mark is for those who might dereference it. */
static inline void *tsr_heap_raw(const TSR_HEAP void *heap)
{
	return (void *)(uintptr_t)heap;
}

#endif

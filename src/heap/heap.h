/*
 * The inside of the symmetric heap: what tensors need beyond
 * include/tessera/heap.h.
 */
#ifndef TESSERA_HEAP_INSIDE_H
#define TESSERA_HEAP_INSIDE_H

#include "src/base/executor.h"
#include "src/world/world.h"
#include "tessera/heap.h"

/**
 * New memory is filled with this byte: NaN in every floating dtype, -1 or 255
 * in the others.
 */
#define TSR_HEAP_POISON 0xFF
/**
 * Only this many bytes of an allocation are poisoned: pages are allocated when
 * they are touched, and a large allocation may stay sparse.
 */
#define TSR_HEAP_POISON_BYTES ((size_t)16 << 20)

/** Writes the first values of new memory, on this rank only. */
typedef tsr_status_t (*tsr_heap_fill_fn)(tsr_world_t *world, TSR_HEAP void *memory,
					 const void *ctx);

/** The arguments of a collective allocation. */
typedef struct tsr_heap_request {
	const char *call;      /* the public call, named in the sentence of a mismatch */
	const char *arguments; /* its arguments as text, equal on all ranks */
	const char *name;
	const char *shown; /* the name in reports, where ranks need not agree on it; null: `name` */
	tsr_form_t form;
	size_t size_bytes, align_bytes;
	/* not 0: of a window, which takes so many bytes where windows have their room */
	size_t window_bytes;
	/* result of the caller's own checks; if not TSR_OK, the call fails on all ranks alike */
	tsr_status_t verdict;
	tsr_heap_fill_fn fill; /* null: poison */
	const void *fill_ctx;
} tsr_heap_request_t;

/**
 * Allocates memory on all ranks or on none: a rank that fails (invalid
 * arguments, no memory, a fill that fails) fails the call on every rank. When
 * it returns, every rank's copy is filled. Called by: collective. Errors: those
 * of tsr_heap_alloc; ranks without a failure of their own return that of the
 * first rank that has one.
 */
tsr_status_t tsr_heap_take(tsr_world_t *world, const tsr_heap_request_t *request,
			   TSR_HEAP void **pointer_out);

/** tsr_heap_free, in the name of `call`. */
tsr_status_t tsr_heap_release(tsr_world_t *world, const char *call, TSR_HEAP void *pointer);

/**
 * The name that all ranks have given to the allocation that holds `pointer`,
 * for what they compare. Returns false if there is none.
 */
bool tsr_heap_agreed(const tsr_world_t *world, const TSR_HEAP void *pointer, const char **name_out);

/**
 * Names the allocation that holds `pointer` in reports, on this rank. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND, TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_heap_name(tsr_world_t *world, const char *call, const TSR_HEAP void *pointer,
			   const char *name);

/**
 * Releases an allocation on this rank. All ranks do so, because they have agreed
 * on it, and nobody uses it any more.
 */
void tsr_heap_give(tsr_world_t *world, TSR_HEAP void *pointer);

/**
 * Checks that `size_bytes` from `heap` on are in one allocation of this rank.
 * `call` is for the sentence. Errors: TSR_ERR_ARGUMENT.
 */
tsr_status_t tsr_heap_check_range(const tsr_world_t *world, const char *call,
				  const TSR_HEAP void *heap, size_t size_bytes);

/**
 * The address without its mark, for the backend. The mark is for code that
 * might dereference it.
 */
static inline void *tsr_heap_raw(const TSR_HEAP void *heap)
{
	return (void *)(uintptr_t)heap;
}

#endif

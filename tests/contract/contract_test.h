/*
 * What the contract tests of the device API share: heap arrays with poisoned
 * contents, and one launch at a time.
 */
#ifndef TESSERA_CONTRACT_TEST_H
#define TESSERA_CONTRACT_TEST_H

#include "tessera/dev.h"
#include "world_test.h"

enum { POISON = 0x5b };

/*
 * Heap memory of any type. The compilers of device code read a test's host half
 * as C++, which converts no void pointer by itself.
 */
#if defined(__cplusplus)
struct any_heap_t {
	void *heap;
	any_heap_t(void *pointer) : heap(pointer)
	{
	}
	template <typename T> operator T *() const
	{
		return (T *)heap;
	}
};
#else
typedef TSR_HEAP void *any_heap_t;
#endif

/** Heap memory that holds POISON. Collective. Null on failure. */
static inline any_heap_t poisoned(tsr_world_t *world, size_t bytes, const char *name)
{
	TSR_HEAP void *heap;
	if (tsr_heap_alloc(world, bytes, 0, name, &heap) != TSR_OK ||
	    tsr_memset_heap(world, heap, POISON, bytes) != TSR_OK)
		return NULL;
	return heap;
}

/** The same, holding zeros. */
static inline any_heap_t zeroed(tsr_world_t *world, size_t bytes, const char *name)
{
	TSR_HEAP void *heap;
	if (tsr_heap_alloc(world, bytes, 0, name, &heap) != TSR_OK ||
	    tsr_memset_heap(world, heap, 0, bytes) != TSR_OK)
		return NULL;
	return heap;
}

/** Runs one kernel to its end on a stream of its own. */
static inline tsr_status_t run_kernel(tsr_world_t *world, const tsr_kernel_t *kernel, int blocks,
				      const void *args)
{
	tsr_stream_t *stream;
	tsr_status_t status = tsr_stream_create(tsr_world_team(world), &stream);
	if (status != TSR_OK)
		return status;
	status = tsr_launch(stream, kernel, blocks, args);
	if (status == TSR_OK)
		status = tsr_stream_sync(stream);
	(void)tsr_stream_destroy(stream);
	return status;
}

/** A value that depends on whose it is and where: never the poison for long. */
static inline unsigned char mark_of(int rank, size_t index)
{
	return (unsigned char)((size_t)rank * 41 + index * 7 + 1);
}

#endif

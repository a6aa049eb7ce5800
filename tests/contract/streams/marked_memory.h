/*
 * What tests of copies on streams share: heap memory in which each byte shows
 * which rank filled it, and views of it.
 */
#ifndef TESSERA_CONTRACT_MARKED_MEMORY_H
#define TESSERA_CONTRACT_MARKED_MEMORY_H

#include "tests/contract/contract_test.h"

static inline tsr_view_t view_of(TSR_HEAP unsigned char *data, int64_t rows, int64_t cols,
				 int64_t ld, tsr_dtype_t dtype)
{
	const tsr_view_t view = {data, rows, cols, ld, (int32_t)dtype, TSR_SPACE_HEAP};
	return view;
}

/** Heap memory that holds mark_of(my rank, i). */
static inline any_heap_t marked(tsr_world_t *world, size_t bytes, const char *name)
{
	TSR_HEAP unsigned char *heap = poisoned(world, bytes, name);
	unsigned char *host = (unsigned char *)malloc(bytes);
	bool good = host && heap;
	for (size_t i = 0; good && i < bytes; i++)
		host[i] = mark_of(tsr_world_rank(world), i);
	good = good && tsr_memcpy_to_heap(world, heap, host, bytes) == TSR_OK;
	free(host);
	return good ? heap : NULL;
}

#endif

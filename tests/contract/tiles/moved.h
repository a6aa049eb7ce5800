/*
 * One launch that takes elements from memory of one type through fragments of
 * another into memory of a third: what the tests of tiles and of row values
 * share.
 */
#ifndef TESSERA_CONTRACT_TILES_MOVED_H
#define TESSERA_CONTRACT_TILES_MOVED_H

#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

typedef struct moved_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t held, from, to;
} moved_case_t;

/** The memories of a launch, on each rank. */
typedef struct moved {
	TSR_HEAP void *to, *from;
	size_t to_bytes, from_bytes;
} moved_t;

/**
 * Allocates `to_count` poisoned elements, and `from_count` that hold value(rank,
 * index). `host` is scratch memory for either. Collective.
 */
static inline int moved_open(tsr_world_t *world, const moved_case_t *c, size_t to_count,
			     size_t from_count, double (*value)(int, int), unsigned char *host,
			     moved_t *m)
{
	m->to_bytes = to_count * tsr_dtype_bytes(c->to);
	m->from_bytes = from_count * tsr_dtype_bytes(c->from);
	m->to = poisoned(world, m->to_bytes, "to");
	m->from = poisoned(world, m->from_bytes, "from");
	CHECK(m->to && m->from);
	for (size_t i = 0; i < from_count; i++)
		tsr_dtype_set(c->from, host, i, value(tsr_world_rank(world), (int)i));
	CHECK(tsr_memcpy_to_heap(world, m->from, host, m->from_bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

/** Rank 0 launches the kernel. Then `host` holds what is in `to`, and both are free. Collective. */
static inline int moved_run(tsr_world_t *world, const moved_case_t *c, int blocks, const void *args,
			    const moved_t *m, unsigned char *host)
{
	if (tsr_world_rank(world) == 0)
		CHECK(run_kernel(world, c->kernel, blocks, args) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, m->to, m->to_bytes) == TSR_OK);
	CHECK(tsr_heap_free(world, m->to) == TSR_OK && tsr_heap_free(world, m->from) == TSR_OK);
	return 0;
}

#endif

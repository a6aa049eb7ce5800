/*
 * What the programs of this folder share: sizes from the command line, heap
 * memory that holds zeros, the verdict.
 */
#ifndef TESTS_MUTANTS_PROGRAM_H
#define TESTS_MUTANTS_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { MOST_WORDS = 1 << 16 };

/**
 * The `index`-th argument, a number in 1 .. MOST_WORDS, or `fallback` where
 * there is none. TSR_ERR_CONFIG names `what`.
 */
static inline tsr_status_t size_argument(int argc, char **argv, int index, const char *what,
					 long fallback, int64_t *size_out)
{
	long size = fallback;
	tsr_status_t status =
		index < argc ? tsr_parse_int(what, argv[index], 1, MOST_WORDS, &size) : TSR_OK;
	if (status == TSR_OK)
		*size_out = size;
	return status;
}

/** Heap memory that holds zeros on this rank; on the others, after the next barrier. Collective. */
static inline tsr_status_t zeroed(tsr_world_t *world, size_t size_bytes, const char *name,
				  TSR_HEAP void **heap_out)
{
	TSR_HEAP void *heap = NULL;
	tsr_status_t status = tsr_heap_alloc(world, size_bytes, 0, name, &heap);
	if (status == TSR_OK)
		status = tsr_memset_heap(world, heap, 0, size_bytes);
	if (status == TSR_OK)
		*heap_out = heap;
	return status;
}

/**
 * A word of a message: depends on who sent it, on the round, and on its place.
 * Never 0, and exact in f32.
 */
static inline uint64_t word_of(int rank, int64_t round, int64_t index)
{
	return 1 + (uint64_t)rank * 64 + (uint64_t)round * 1024 + (uint64_t)index % 61;
}

/**
 * Heap memory for `count` words, which holds word_of(this rank, i / words, i %
 * words). Collective.
 */
static inline tsr_status_t filled(tsr_world_t *world, int64_t count, int64_t words,
				  const char *name, TSR_HEAP void **heap_out)
{
	TSR_HEAP void *heap = NULL;
	const size_t size_bytes = (size_t)count * sizeof(uint64_t);
	uint64_t *host = (uint64_t *)malloc(size_bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for %zu bytes: use smaller sizes", size_bytes);
	for (int64_t i = 0; i < count; i++)
		host[i] = word_of(tsr_world_rank(world), i / words, i % words);
	tsr_status_t status = tsr_heap_alloc(world, size_bytes, 0, name, &heap);
	if (status == TSR_OK)
		status = tsr_memcpy_to_heap(world, heap, host, size_bytes);
	free(host);
	if (status == TSR_OK)
		*heap_out = heap;
	return status;
}

/** What `count` words of the heap must be, from their index on. */
typedef uint64_t (*expected_fn)(const tsr_world_t *world, int64_t index, int64_t words);

/** Compares; says the first word that is wrong, in one sentence. Returns the rank's exit code. */
static inline int judge(tsr_world_t *world, const TSR_HEAP void *heap, int64_t count, int64_t words,
			expected_fn expected)
{
	const size_t size_bytes = (size_t)count * sizeof(uint64_t);
	uint64_t *host = (uint64_t *)malloc(size_bytes);
	int64_t first = -1, wrong = 0;
	if (!host)
		return 1;
	if (tsr_memcpy_from_heap(world, host, heap, size_bytes) != TSR_OK) {
		free(host);
		return tsr_fail(world);
	}
	for (int64_t i = 0; i < count; i++) {
		if (host[i] == expected(world, i, words))
			continue;
		first = wrong++ ? first : i;
	}
	if (wrong)
		fprintf(stderr,
			"rank %d: %lld of %lld words are wrong: word %lld is %llu, not %llu\n",
			tsr_world_rank(world), (long long)wrong, (long long)count, (long long)first,
			(unsigned long long)host[first],
			(unsigned long long)expected(world, first, words));
	free(host);
	return wrong ? 1 : 0;
}

/** Launches on `blocks` blocks of a stream of its own, and waits for the end. */
static inline tsr_status_t run_to_end(tsr_world_t *world, const tsr_kernel_t *kernel, int blocks,
				      int launches, const void *args)
{
	tsr_stream_t *stream;
	tsr_status_t status = tsr_stream_create(tsr_world_team(world), &stream);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < launches && status == TSR_OK; i++)
		status = tsr_launch(stream, kernel, blocks, args);
	if (status == TSR_OK)
		status = tsr_stream_sync(stream);
	tsr_status_t end = tsr_stream_destroy(stream);
	return status == TSR_OK ? end : status;
}

#endif

/*
 * A CUDA driver without a GPU: its memory is the host's, and each object of
 * virtual memory management is a file without a name, so that other processes
 * map it by its descriptor. What a test sets and sees of it.
 */
#ifndef TESSERA_TESTS_FAKE_CUDA_H
#define TESSERA_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_UNIT = 2 << 20, FAKE_TOTAL = 64 << 20, FAKE_GPUS = 4 };

typedef struct fake_cuda {
	/* what it is told; numbers count down to the call that fails, 0: none does */
	int imports_until_failure, maps_until_failure, accesses_until_failure;
	int imports_until_death; /* of the process */
	size_t most_reserved;    /* of one reservation; 0: as many as there are */
	bool has_no_descriptors; /* of objects that the test makes */
	/* what it has seen */
	int objects, mappings, reservations; /* that there are in this process */
} fake_cuda_t;

/* Memory of other kinds than VMM gives: 'd', device; 'm', managed; 'h', host. */
void *fake_cuda_memory(fake_cuda_t *fake, char kind);

/** As many bytes, of GPU `id`, in `parts` objects that are mapped one behind the other. */
void *fake_cuda_parts(fake_cuda_t *fake, int id, size_t bytes, int parts);

#endif

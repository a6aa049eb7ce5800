/* The cache machine as a witness, and machines with a mistake, which tests must tell from it. */
#ifndef MODEL_MEMORY_WITNESSES_WITNESS_OF_CACHES_H
#define MODEL_MEMORY_WITNESSES_WITNESS_OF_CACHES_H

#include "model/memory/witness.h"
#include "src/caches/caches.h"

/** The machine that a test is run on. */
typedef struct cache_variant {
	/* locations share lines, so that to read one caches others; else each has a line of its
	 * own */
	bool packed;
	bool at_devices; /* locations are homed at the devices in turn; else at none */
	bool fills;      /* lines may be cached that nobody has asked for: many more states */
	bool unbuffered; /* threads have no store buffers */
	bool eager;      /* it always goes the default way: only threads take turns */
	/* on how many nodes the test's devices are, in blocks; 0 or 1: on one. On several each
	 * location is at each device in turn, and at one more that is on a node by itself and runs
	 * nothing: all such placements are explored */
	int nodes;
	tsr_cache_mistake_t mistake;
} cache_variant_t;

/** Adds what the test shows on that machine. Errors: as a witness's run. */
tsr_status_t cache_explore(const litmus_test_t *test, const litmus_options_t *options,
			   const cache_variant_t *variant, litmus_result_t *result);

#endif

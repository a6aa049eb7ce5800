/*
 * A HIP runtime without a GPU: its memory is the host's, its kernels do what
 * the test says. What a test sets and sees of it.
 */
#ifndef TESSERA_TESTS_FAKE_HIP_H
#define TESSERA_TESTS_FAKE_HIP_H

#include <stdbool.h>

#include "gpu/dev/context.h"
#include "hip/runtime.h"

enum { FAKE_SMS = 4, FAKE_BLOCKS_PER_SM = 2, FAKE_THREADS = 256, FAKE_CLOCK_KHZ = 100000 };

typedef struct fake_hip {
	/* what it is told */
	int devices;
	const char *arch;      /* of all of them, as a driver says it */
	bool old_ipc;          /* as in HIP 5, where the one flag of hipIpcOpenMemHandle is 0 */
	bool loses_stores;     /* of the kernel that checks mappings */
	bool loses_atomics;    /* the same */
	tsr_hip_code_t stream; /* what a stream says when it is asked */
	/* kernels leave the note of a wait for rank 1 at the heap's offset 64 */
	bool wait_expires;
	bool clock_stands_still; /* the kernel that tells the time does not answer */
	/* what a kernel does that keeps a record; null: nothing */
	void (*recorded)(const tsr_gpu_context_t *context);
	/* what it has seen */
	int current;         /* device */
	unsigned heap_flags; /* of the last hipExtMallocWithFlags */
	int opened;          /* mappings that have not been closed */
	int launches;        /* but those of the library's own kernels */
	char name[128];      /* the last launch's: entry, shape, first parameter */
	unsigned blocks, threads, shared_bytes;
	tsr_hip_stream_t launched_on;
	int destroyed; /* streams */
	tsr_gpu_context_t context;
} fake_hip_t;

#endif

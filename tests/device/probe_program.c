/*
 * A kernel and its host program in one file, as users write them: device
 * compilers must read past the host half.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

typedef struct probe_args {
	TSR_HEAP uint64_t *flag;
} probe_args_t;

TSR_KERNEL(probe_program, probe_args_t, a)
{
	tsr_signal(block, a->flag, 1, TSR_SIGNAL_ADD, tsr_peer(block, 1));
	tsr_wait(block, a->flag, 1, TSR_ANY_RANK);
}

TSR_MAIN(world, argc, argv)
{
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	(void)argc;
	(void)argv;
	TSR_TRY(tsr_heap_alloc(world, sizeof(uint64_t), 0, "flag", &heap));
	TSR_TRY(tsr_memset_heap(world, heap, 0, sizeof(uint64_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	probe_args_t args = {(TSR_HEAP uint64_t *)heap};
	TSR_TRY(tsr_launch(stream, &probe_program, 1, &args));
	TSR_TRY(tsr_stream_destroy(stream));
	printf("rank %d: %s\n", tsr_world_rank(world), probe_program.name);
	return tsr_heap_free(world, heap) == TSR_OK ? EXIT_SUCCESS : tsr_fail(world);
}

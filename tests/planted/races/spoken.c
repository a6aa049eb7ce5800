/*
 * spoken KIND: the workers of a block on rank 0 put a part each to rank 1 and
 * raise one flag for all parts. Rank 1 sums what it has got.
 *
 *     first    wrong: each worker adds 1 to the flag, and rank 1 waits for 1
 *     one      wrong: worker 0 raises the flag, and the others may still put
 *     all      right: each worker adds 1, and rank 1 waits for as many as there
 *              are
 *     met      right: the block meets, and worker 0 raises the flag
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { FIRST, ONE, ALL, MET, KINDS };
static const char *const kinds[KINDS] = {"first", "one", "all", "met"};

enum { WORKERS = 3, PART = 16, VALUES = WORKERS * PART };

typedef struct spoken_pad {
	int32_t values[VALUES];
} spoken_pad_t;

typedef struct spoken_memory {
	int32_t numbers[VALUES], got[VALUES], kept[VALUES];
	uint64_t flag;
} spoken_memory_t;

/** Partner: receive on rank 1. Litmus: MP.count.diffGPU-sss, MP.rel.acq.diffGPU-ss. */
TSR_FN void send(tsr_coop_t *block, tsr_coop_t *worker, TSR_HEAP spoken_memory_t *m, int kind)
{
	const int me = tsr_worker_index(worker);
	tsr_put(worker, m->got + me * PART, m->numbers + me * PART, PART * sizeof(int32_t), 1);
	if (kind == MET)
		tsr_sync(block);
	if (kind == FIRST || kind == ALL)
		tsr_signal(worker, &m->flag, 1, TSR_SIGNAL_ADD, 1);
	else if (me == 0)
		tsr_signal(worker, &m->flag, 1, TSR_SIGNAL_SET, 1);
}

TSR_KERNEL_SPLIT(pass_parts, WORKERS, spoken_pad_t, planted_args_t, a)
{
	TSR_HEAP spoken_memory_t *m = (TSR_HEAP spoken_memory_t *)a->memory;
	(void)shared;
	if (tsr_rank(block) == 0) {
		send(block, worker, m, a->kind);
	} else if (tsr_rank(block) == 1 && tsr_worker_index(worker) == 0) {
		tsr_wait(worker, &m->flag, a->kind == ALL ? WORKERS : 1, 0);
		tsr_get(worker, m->kept, m->got, sizeof m->got, 1);
	}
}

TSR_MAIN(world, argc, argv)
{
	planted_args_t args = {NULL, planted_kind(argc, argv, kinds, KINDS), 0};
	TSR_HEAP void *memory;
	tsr_stream_t *stream;
	if (args.kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "usage: spoken first|one|all|met, on at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(spoken_memory_t), 0, "memory", &memory));
	TSR_TRY(tsr_memset_heap(world, memory, 0, sizeof(spoken_memory_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.memory = memory;
	TSR_TRY(tsr_launch(stream, &pass_parts, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}

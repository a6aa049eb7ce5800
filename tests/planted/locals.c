/*
 * locals: a kernel with 1 MiB of locals, which emulated workers have. It writes all of them, and looks at them again behind a call.
 * Not for GPUs, whose threads have less.
 */
#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { COUNT = (1 << 20) / sizeof(uint32_t) };

typedef struct locals_args {
	TSR_HEAP uint64_t *wrong;
} locals_args_t;

TSR_KERNEL(keep_much, locals_args_t, a)
{
	volatile uint32_t local[COUNT];
	uint64_t wrong = 0;
	for (uint32_t i = 0; i < COUNT; i++)
		local[i] = i * 2654435761u;
	tsr_signal(block, a->wrong + 1, 1, TSR_SIGNAL_ADD, tsr_rank(block));
	for (uint32_t i = 0; i < COUNT; i++)
		wrong += local[i] != i * 2654435761u;
	tsr_atomic_add(block, a->wrong, wrong, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

TSR_MAIN(world, argc, argv)
{
	enum { BLOCKS = 5 };
	uint64_t words[2] = {0, 0};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	TSR_TRY(tsr_heap_alloc(world, sizeof words, 0, "words", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, words, sizeof words));
	const locals_args_t args = {(TSR_HEAP uint64_t *)heap};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &keep_much, BLOCKS, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, words, heap, sizeof words));
	return words[0] == 0 && words[1] == BLOCKS ? 0 : 1;
}

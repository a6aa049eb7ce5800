/*
 * locals: a kernel with 1 MiB of locals, which emulated workers have. It writes
 * all of them, and looks at them again behind a call. Not for GPUs, whose
 * threads have less. `locals deep` has more than fit: it calls itself with 2
 * KiB a time.
 */
#include <stdbool.h>
#include <string.h>

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

/** Not a TSR_FN: no device could put it into its caller. */
static uint64_t go_deep(int left)
{
	volatile uint32_t local[512];
	local[left % 512] = (uint32_t)left;
	const uint64_t sum = left > 0 ? go_deep(left - 1) : 0;
	return sum + local[left % 512];
}

TSR_KERNEL(keep_too_much, locals_args_t, a)
{
	tsr_atomic_add(block, a->wrong, go_deep(2000), tsr_rank(block), TSR_RELAXED,
		       TSR_SCOPE_DEVICE);
}

TSR_MAIN(world, argc, argv)
{
	enum { BLOCKS = 5 };
	uint64_t words[2] = {0, 0};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	const bool deep = argc > 1 && strcmp(argv[1], "deep") == 0;
	TSR_TRY(tsr_heap_alloc(world, sizeof words, 0, "words", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, words, sizeof words));
	const locals_args_t args = {(TSR_HEAP uint64_t *)heap};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, deep ? &keep_too_much : &keep_much, BLOCKS, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, words, heap, sizeof words));
	return words[0] == 0 && words[1] == BLOCKS ? 0 : 1;
}

/*
 * mistaken host|local|right: a kernel writes numbers in a TSR_EACH, and the host
 * looks at the last.
 *
 *     host   wrong: the host looks for another number than there is to be
 *     local  wrong: the kernel keeps the last number in a local of the block,
 *            which only the thread that makes the last pass has
 *     right
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { HOST, LOCAL, RIGHT, KINDS, NUMBERS = 8, TURNS = 20 };
static const char *const kinds[KINDS] = {"host", "local", "right"};

typedef struct mistaken_shared {
	int32_t number[NUMBERS];
} mistaken_shared_t;

typedef struct mistaken_memory {
	int32_t number[NUMBERS], last;
} mistaken_memory_t;

TSR_KERNEL_SHARED(count, mistaken_shared_t, planted_args_t, a)
{
	TSR_HEAP mistaken_memory_t *memory = (TSR_HEAP mistaken_memory_t *)a->memory;
	const int me = tsr_rank(block);
	int32_t last = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		last = a->kind == LOCAL ? 0 : NUMBERS - 1;
		TSR_EACH(block, i, NUMBERS) {
			shared->number[i] = i;
			if (a->kind == LOCAL && i == NUMBERS - 1)
				last = i;
		}
		tsr_sync(block);
	}
	tsr_put_2d(block, tsr_view(memory->number, TSR_I32, 1, NUMBERS, NUMBERS),
		   tsr_view_shared(shared->number, TSR_I32, 1, NUMBERS, NUMBERS), me);
	tsr_put_value(block, &memory->last, last, me);
}

TSR_MAIN(world, argc, argv)
{
	mistaken_memory_t memory = {.last = 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "mistaken: say which kind\n");
		return 2;
	}
	if (planted_play(world, &count, kind, &memory, sizeof memory) != 0)
		return 1;
	const int32_t wanted = kind == HOST ? NUMBERS : NUMBERS - 1;
	if (memory.last == wanted)
		return 0;
	fprintf(stderr, "the last is %d, not %d\n", memory.last, wanted);
	return 1;
}

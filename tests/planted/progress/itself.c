/*
 * itself others|right: each block of each rank waits for its like on all ranks,
 * itself included. There are two blocks a rank.
 *
 *     others  wrong: it signals all others, and not its own rank
 *     right
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { OTHERS, RIGHT, KINDS, MOST = 16, BLOCKS = 2 };
static const char *const kinds[KINDS] = {"others", "right"};

typedef struct itself_memory {
	uint64_t ready[BLOCKS][MOST];
} itself_memory_t;

TSR_KERNEL(meet, planted_args_t, a)
{
	TSR_HEAP itself_memory_t *memory = (TSR_HEAP itself_memory_t *)a->memory;
	TSR_HEAP uint64_t *ready = memory->ready[tsr_block_index(block)];
	const int me = tsr_rank(block), ranks = tsr_size(block);
	for (int i = a->kind == OTHERS ? 1 : 0; i < ranks; i++)
		tsr_signal(block, ready + me, 1, TSR_SIGNAL_SET, tsr_peer(block, i));
	for (int rank = 0; rank < ranks; rank++)
		tsr_wait(block, ready + rank, 1, rank);
}

TSR_MAIN(world, argc, argv)
{
	itself_memory_t memory = {.ready = {{0}}};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS || tsr_world_size(world) > MOST) {
		fprintf(stderr, "itself: say which kind, and start %d ranks at most\n", MOST);
		return 2;
	}
	return planted_play_in(world, &meet, BLOCKS, kind, &memory, sizeof memory);
}

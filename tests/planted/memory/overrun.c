/*
 * overrun KIND: a kernel's plain writes of C leave the shared memory of its
 * block, which has 100 bytes.
 *
 *     next     the byte behind its last
 *     far      1000 bytes behind its last
 *     before   the byte before its first
 *     second   the byte behind its last, by the second of two workers
 *     right    its first byte and its last one
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { NEXT, FAR, BEFORE, SECOND, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"next", "far", "before", "second", "right"};

enum { BYTES = 100, BLOCKS = 5, LATE = 3 /* the block that is wrong */ };

typedef struct pad {
	unsigned char byte[BYTES];
} pad_t;

/** Writes a byte of the struct, or one beside it. */
TSR_FN void write_at(pad_t *shared, int offset)
{
	volatile unsigned char *first = (volatile unsigned char *)shared;
	first[offset] = 7;
}

TSR_KERNEL_SHARED(overrun, pad_t, planted_args_t, a)
{
	write_at(shared, 0);
	write_at(shared, BYTES - 1);
	tsr_sync(block);
	if (tsr_block_index(block) != LATE)
		return;
	if (a->kind == NEXT)
		write_at(shared, BYTES);
	else if (a->kind == FAR)
		write_at(shared, BYTES - 1 + 1000);
	else if (a->kind == BEFORE)
		write_at(shared, -1);
}

TSR_KERNEL_SPLIT(overrun_split, 2, pad_t, planted_args_t, a)
{
	(void)a;
	if (tsr_worker_index(worker) == 1 && tsr_block_index(block) == LATE)
		write_at(shared, BYTES);
}

TSR_MAIN(world, argc, argv)
{
	int memory = 0;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "overrun: say one of the kinds\n");
		return 2;
	}
	return planted_play_in(world, kind == SECOND ? &overrun_split : &overrun, BLOCKS, kind,
			       &memory, sizeof memory);
}

/*
 * dereference KIND: pointers into the heap that are used without a call of Tessera, which the emulator's parallel executor lets
 * pass and nothing orders or checks.
 *
 *     read    a kernel reads its rank's number through a cast
 *     write   block 1 of it writes there
 *     library a kernel hands such a pointer to memcpy
 *     host    the host program reads it while the kernel runs
 *     early   the host program does so before any kernel
 *     none    all by calls
 */
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { CONTENT = 7 };
enum { READ, WRITE, LIBRARY, HOST, EARLY, NONE, KINDS };
static const char *const kinds[KINDS] = {"read", "write", "library", "host", "early", "none"};

typedef struct cell {
	uint64_t unused[5], number, copy;
} cell_t;

typedef struct cell_args {
	TSR_HEAP cell_t *cell;
	int32_t kind, reserved;
} cell_args_t;

/** What a program should not do: the pointer without its mark. */
TSR_FN cell_t *stripped(TSR_HEAP cell_t *cell)
{
	return (cell_t *)(uintptr_t)cell;
}

TSR_KERNEL(use_cell, cell_args_t, a)
{
	uint64_t number = 0;
	if (a->kind == READ)
		number = *(volatile uint64_t *)&stripped(a->cell)->number;
	else if (a->kind == LIBRARY)
		memcpy(&number, &stripped(a->cell)->number, sizeof number);
	else if (a->kind == WRITE && tsr_block_index(block) == 1)
		*(volatile uint64_t *)&stripped(a->cell)->number = 2;
	if (tsr_block_index(block) == 0)
		tsr_put(block, &a->cell->copy, &a->cell->number, sizeof number, tsr_rank(block));
	if (number > CONTENT) /* it is looked at, so that no compiler leaves it out */
		tsr_put(block, &a->cell->number, &a->cell->copy, sizeof number, tsr_rank(block));
}

TSR_MAIN(world, argc, argv)
{
	int kind = 0;
	while (kind < KINDS && (argc != 2 || strcmp(argv[1], kinds[kind]) != 0))
		kind++;
	if (kind == KINDS) {
		fprintf(stderr, "usage: dereference read|write|library|host|early|none\n");
		return 2;
	}
	const cell_t content = {.number = CONTENT};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	uint64_t seen = content.number;
	TSR_TRY(tsr_heap_alloc(world, sizeof content, 0, "cell", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &content, sizeof content));
	const cell_args_t args = {(TSR_HEAP cell_t *)heap, kind, 0};
	if (kind == EARLY)
		seen = *(volatile uint64_t *)&stripped(args.cell)->number;
	TSR_TRY(tsr_stream_create(world, &stream));
	TSR_TRY(tsr_launch(stream, &use_cell, 2, &args));
	if (kind == HOST)
		seen = *(volatile uint64_t *)&stripped(args.cell)->number;
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_heap_free(world, heap));
	return seen == content.number ? 0 : 1;
}

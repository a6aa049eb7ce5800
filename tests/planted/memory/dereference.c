/*
 * dereference KIND: pointers into the heap that are used without a call of
 * Tessera, which the emulator's parallel executor lets pass and nothing orders
 * or checks; and others, with which a program just fails.
 *
 *     read    a kernel reads its rank's number through a cast
 *     write   block 1 of it writes there
 *     library a kernel hands such a pointer to memcpy
 *     host    the host program reads it while the kernel runs
 *     early   the host program does so before any kernel
 *     null    a kernel reads through a null pointer
 *     wild    a kernel reads memory of the program's own that may not be read,
 *             outside of every heap
 *     lost    the host program does so while the kernel runs
 *     thread  a thread that the host program has started reads its rank's
 *             number, where nobody knows whose fibre that is
 *     none    all by calls
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { CONTENT = 7 };
enum { READ, WRITE, LIBRARY, HOST, EARLY, NULL_POINTER, WILD, LOST, THREAD, NONE, KINDS };
static const char *const kinds[KINDS] = {"read", "write", "library", "host",   "early",
					 "null", "wild",  "lost",    "thread", "none"};

typedef struct cell {
	uint64_t unused[5], number, copy;
} cell_t;

typedef struct cell_args {
	TSR_HEAP cell_t *cell;
	const volatile uint64_t *elsewhere; /* no memory that may be read */
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
	else if (a->kind == NULL_POINTER || a->kind == WILD)
		number = *a->elsewhere;
	if (tsr_block_index(block) == 0)
		tsr_put(block, &a->cell->copy, &a->cell->number, sizeof number, tsr_rank(block));
	if (number > CONTENT) /* it is looked at, so that no compiler leaves it out */
		tsr_put(block, &a->cell->number, &a->cell->copy, sizeof number, tsr_rank(block));
}

static void *read_number(void *cell)
{
	(void)((volatile cell_t *)cell)->number;
	return NULL;
}

/** What the host does beside the kernel. Returns the number that it has seen. */
static uint64_t use_on_host(const cell_args_t *args)
{
	pthread_t thread;
	if (args->kind == HOST)
		return *(volatile uint64_t *)&stripped(args->cell)->number;
	if (args->kind == LOST)
		return *args->elsewhere;
	if (args->kind == THREAD &&
	    pthread_create(&thread, NULL, read_number, stripped(args->cell)) == 0)
		(void)pthread_join(thread, NULL);
	return CONTENT;
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: dereference "
				"read|write|library|host|early|null|wild|lost|thread|none\n");
		return 2;
	}
	const cell_t content = {.number = CONTENT};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	uint64_t seen = content.number;
	TSR_TRY(tsr_heap_alloc(world, sizeof content, 0, "cell", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &content, sizeof content));
	void *page = kind == NULL_POINTER
			     ? NULL
			     : mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const cell_args_t args = {(TSR_HEAP cell_t *)heap, page, kind, 0};
	if (kind == EARLY)
		seen = *(volatile uint64_t *)&stripped(args.cell)->number;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &use_cell, 2, &args));
	if (kind != EARLY)
		seen = use_on_host(&args);
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_heap_free(world, heap));
	return seen == content.number ? 0 : 1;
}

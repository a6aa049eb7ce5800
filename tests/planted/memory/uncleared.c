/*
 * uncleared KIND: a word that nobody has cleared, and a wait for it.
 *
 *     flag    a wait for a flag, which fresh memory may end at once
 *     any     for one of two flags
 *     word    for any change of a word
 *     marked  for a word that carries its own flag
 *     right   for a flag that was cleared
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { FLAG, ANY, WORD, MARKED, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"flag", "any", "word", "marked", "right"};

enum { BOX = 16, BOX_BYTES = BOX * 8 };

typedef struct uncleared_args {
	TSR_HEAP uint64_t *box, *data;
	int64_t kind;
} uncleared_args_t;

TSR_KERNEL(pass_on, uncleared_args_t, a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block), next = (me + 1) % ranks,
		  last = (me + ranks - 1) % ranks;
	int which = 0;
	if (a->kind == MARKED) {
		tsr_put_marked(block, a->box, a->data, sizeof(uint64_t), 1, next);
		tsr_take_marked(block, a->data + 1, a->box, sizeof(uint64_t), 1, last);
		return;
	}
	tsr_signal(block, a->box, 1, TSR_SIGNAL_SET, next);
	if (a->kind == ANY)
		tsr_wait_any(block, a->box, 2, 0, 1, &which);
	else if (a->kind == WORD)
		tsr_wait_word(block, a->box, TSR_CMP_EQ, 1, me, TSR_ACQUIRE, TSR_SCOPE_SYSTEM, last,
			      NULL);
	else
		tsr_wait(block, a->box, 1, last);
}

TSR_MAIN(world, argc, argv)
{
	uncleared_args_t args = {NULL, NULL, 0};
	TSR_HEAP void *box, *data;
	tsr_stream_t *stream;
	args.kind = planted_kind(argc, argv, kinds, KINDS);
	if (args.kind == KINDS) {
		fprintf(stderr, "uncleared: say one of the kinds\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, BOX_BYTES, 0, "box", &box));
	TSR_TRY(tsr_heap_alloc(world, BOX_BYTES, 0, "data", &data));
	TSR_TRY(tsr_memset_heap(world, data, 0, BOX_BYTES));
	if (args.kind == RIGHT)
		TSR_TRY(tsr_memset_heap(world, box, 0, BOX_BYTES));
	TSR_TRY(tsr_barrier(world));
	args.box = (TSR_HEAP uint64_t *)box;
	args.data = (TSR_HEAP uint64_t *)data;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &pass_on, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}

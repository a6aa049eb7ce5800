/*
 * scattered KIND: every rank puts its rows to all ranks and raises a flag there;
 * all sum what they have got when all flags are up.
 *
 *     right    each rank's rows are at that rank's place
 *     peers    wrong: they are put to the place of the rank that gets them, so
 *              that all ranks write the same rows there, and none the others
 *     others   wrong: the same, and each rank leaves itself out
 *     fresh    wrong: the same, in memory that the host has not cleared
 *     words    wrong: as peers, word by word (tsr_put_scattered)
 *     signals  wrong: as peers, by puts with a signal
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, PEERS, OTHERS, FRESH, WORDS, SIGNALS, KINDS };
static const char *const kinds[KINDS] = {"right", "peers", "others", "fresh", "words", "signals"};

enum { ROW = 16, MOST = 8 };

typedef struct scattered_pad {
	int32_t index[ROW], value[ROW];
} scattered_pad_t;

typedef struct scattered_memory {
	int32_t mine[ROW], rows[MOST * ROW], kept[MOST * ROW], sum;
	uint64_t flags[MOST];
} scattered_memory_t;

TSR_FN int leaves_itself_out(int kind)
{
	return kind == OTHERS || kind == FRESH;
}

TSR_FN void put_words(tsr_coop_t *block, TSR_HEAP scattered_memory_t *m, scattered_pad_t *shared,
		      int place, int peer)
{
	tsr_sync(block);
	TSR_EACH(block, i, ROW) {
		shared->index[i] = place * ROW + i;
		shared->value[i] = 1 + tsr_rank(block);
	}
	tsr_sync(block);
	tsr_put_scattered(block, m->rows, shared->index, shared->value, ROW, peer);
}

/** Partner of each signal: the waits below on that rank. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL_SHARED(scatter_rows, scattered_pad_t, planted_args_t, a)
{
	TSR_HEAP scattered_memory_t *m = (TSR_HEAP scattered_memory_t *)a->memory;
	const int me = tsr_rank(block);
	for (int i = leaves_itself_out(a->kind); i < tsr_size(block); i++) {
		const int peer = tsr_peer(block, i), place = a->kind == RIGHT ? me : peer;
		if (a->kind == WORDS)
			put_words(block, m, shared, place, peer);
		else if (a->kind != SIGNALS)
			tsr_put(block, m->rows + place * ROW, m->mine, sizeof m->mine, peer);
		if (a->kind == SIGNALS)
			tsr_put_signal(block, m->rows + place * ROW, m->mine, sizeof m->mine,
				       &m->flags[me], 1, TSR_SIGNAL_SET, peer);
		else
			tsr_signal(block, &m->flags[me], 1, TSR_SIGNAL_SET, peer);
	}
	for (int i = leaves_itself_out(a->kind); i < tsr_size(block); i++)
		tsr_wait(block, &m->flags[tsr_peer(block, i)], 1, tsr_peer(block, i));
	tsr_get(block, m->kept, m->rows, (size_t)tsr_size(block) * sizeof m->mine, me);
	tsr_sync(block);
	int32_t sum = 0;
	for (int i = leaves_itself_out(a->kind); i < tsr_size(block); i++)
		sum += tsr_get_value(block, &m->kept[tsr_peer(block, i) * ROW], me);
	tsr_put_value(block, &m->sum, sum, me);
}

TSR_MAIN(world, argc, argv)
{
	planted_args_t args = {NULL, planted_kind(argc, argv, kinds, KINDS), 0};
	TSR_HEAP void *memory;
	tsr_stream_t *stream;
	if (args.kind == KINDS || tsr_world_size(world) > MOST) {
		fprintf(stderr,
			"usage: scattered right|peers|others|fresh|words|signals, on at most %d "
			"ranks\n",
			MOST);
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(scattered_memory_t), 0, "memory", &memory));
	TSR_HEAP scattered_memory_t *m = (TSR_HEAP scattered_memory_t *)memory;
	TSR_TRY(tsr_memset_heap(world, m->mine, 0, sizeof m->mine));
	TSR_TRY(tsr_memset_heap(world, m->flags, 0, sizeof m->flags));
	if (args.kind != FRESH)
		TSR_TRY(tsr_memset_heap(world, m->rows, 0, sizeof m->rows));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.memory = memory;
	TSR_TRY(tsr_launch(stream, &scatter_rows, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}

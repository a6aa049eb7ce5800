/*
 * merged right|unmet|unsignalled|value|record: ranks lay the maxima of their
 * rows into the next rank's memory, which merges them with its own and moves
 * them down by a row. It goes on with what its threads may not have stored yet
 * (unmet), or does not wait for those of the rank before (unsignalled), or
 * moves a value that one of its threads may not have put yet (value), or reads
 * such a record.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { ROWS = 16, RIGHT = 0, UNMET, UNSIGNALLED, VALUE, RECORD, KINDS };
static const char *const kinds[KINDS] = {"right", "unmet", "unsignalled", "value", "record"};

typedef struct merged_range {
	uint32_t first, rows;
} merged_range_t;

typedef struct merged_memory {
	float own[ROWS], came[ROWS], merged[ROWS], down[ROWS];
	uint64_t ready, count, counted, last;
	merged_range_t range;
} merged_memory_t;

TSR_TILE(tile, f32, ROWS, 16, 16);

TSR_FN float larger(float x, float y, const void *ctx)
{
	(void)ctx;
	return x > y ? x : y;
}

/* Signal and wait are partners. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(merge_rows, planted_args_t, a)
{
	TSR_HEAP merged_memory_t *m = (TSR_HEAP merged_memory_t *)a->memory;
	const int me = tsr_rank(block), next = (me + 1) % tsr_size(block),
		  before = (me + tsr_size(block) - 1) % tsr_size(block);
	const tsr_pos_t at = {0, 0}, below = {1, 0};
	TSR_FRAG_ROWS(tile, x, block);
	TSR_FRAG_ROWS(tile, y, block);
	tsr_rows_load(block, x, tsr_view(m->own, TSR_F32, ROWS, 1, 1), at, me);
	tsr_rows_store(block, tsr_view(m->came, TSR_F32, ROWS, 1, 1), at, x, next);
	tsr_signal(block, &m->ready, 1, TSR_SIGNAL_SET, next);
	if (a->kind != UNSIGNALLED)
		tsr_wait(block, &m->ready, 1, before);
	tsr_rows_load(block, y, tsr_view(m->came, TSR_F32, ROWS, 1, 1), at, me);
	tsr_rows_zip(block, x, y, larger, a);
	tsr_rows_store(block, tsr_view(m->merged, TSR_F32, ROWS, 1, 1), at, x, me);
	if (a->kind != UNMET)
		tsr_sync(block);
	tsr_rows_load(block, y, tsr_view(m->merged, TSR_F32, ROWS, 1, 1), below, me);
	tsr_rows_store(block, tsr_view(m->down, TSR_F32, ROWS, 1, 1), at, y, me);
	tsr_put_value(block, &m->count, (uint64_t)ROWS, me);
	if (a->kind != VALUE)
		tsr_sync(block);
	tsr_put(block, &m->counted, &m->count, sizeof m->count, me);
	merged_range_t range = {1, ROWS - 1};
	tsr_put_record(block, &m->range, &range, me);
	if (a->kind != RECORD)
		tsr_sync(block);
	tsr_get_record(block, &range, &m->range, me);
	tsr_put_value(block, &m->last, (uint64_t)range.first + range.rows - 1, me);
}

static int judge(const tsr_world_t *world, const merged_memory_t *m)
{
	const int size = tsr_world_size(world), me = tsr_world_rank(world),
		  before = (me + size - 1) % size;
	int wrong = (m->counted != ROWS) + (m->last != ROWS - 1);
	for (int i = 0; i < ROWS; i++) {
		const float largest = (float)(i * ((me > before ? me : before) + 1));
		wrong += m->merged[i] != largest;
		wrong += i > 0 && m->down[i - 1] != m->merged[i];
	}
	if (wrong > 0)
		fprintf(stderr, "wrong: %d rows\n", wrong);
	return wrong > 0;
}

TSR_MAIN(world, argc, argv)
{
	merged_memory_t memory = {.ready = 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: merged right|unmet|unsignalled|value|record\n");
		return 2;
	}
	for (int i = 0; i < ROWS; i++)
		memory.own[i] = (float)(i * (tsr_world_rank(world) + 1));
	const int failed = planted_play(world, &merge_rows, kind, &memory, sizeof memory);
	return failed ? failed : judge(world, &memory);
}

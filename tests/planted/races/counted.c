/*
 * counted sum|none|each: rank 1 puts tables into two slots of rank 0, round
 * after round, and each of three blocks there reads every table. Before a slot
 * is used again the blocks say that they have read it.
 *
 *     sum   wrong: all of them raise one counter, which two fast blocks bring
 *           to what is waited for while the third has yet to read
 *     none  wrong: nobody waits for them
 *     each  right: each block raises a counter of its own
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { SUM, NONE, EACH, KINDS, BLOCKS = 3, SLOTS = 2, ROUNDS = 5 };
static const char *const kinds[KINDS] = {"sum", "none", "each"};

typedef struct counted_table {
	int32_t round, rest[3];
} counted_table_t;

typedef struct counted_args {
	TSR_HEAP counted_table_t *tables;
	TSR_HEAP uint64_t *posted, *taken;
	int64_t kind;
} counted_args_t;

TSR_FN void read_tables(tsr_coop_t *block, const counted_args_t *a)
{
	counted_table_t table;
	const int mine = a->kind == EACH ? tsr_block_index(block) : 0;
	for (int round = 0; round < ROUNDS; round++) {
		tsr_wait(block, a->posted, (uint64_t)round + 1, 1);
		tsr_get_record(block, &table, a->tables + round % SLOTS, 0);
		tsr_signal(block, a->taken + mine, 1, TSR_SIGNAL_ADD, 1);
	}
}

TSR_FN void wait_for_readers(tsr_coop_t *block, const counted_args_t *a, uint64_t rounds)
{
	if (a->kind == SUM)
		tsr_wait(block, a->taken, rounds * BLOCKS, 0);
	for (int i = 0; i < BLOCKS && a->kind == EACH; i++)
		tsr_wait(block, a->taken + i, rounds, 0);
}

TSR_FN void put_tables(tsr_coop_t *block, const counted_args_t *a)
{
	counted_table_t table = {0, {0, 0, 0}};
	for (int round = 0; round < ROUNDS; round++) {
		table.round = round;
		if (round >= SLOTS)
			wait_for_readers(block, a, (uint64_t)(round - SLOTS + 1));
		tsr_put_record(block, a->tables + round % SLOTS, &table, 0);
		tsr_signal(block, a->posted, (uint64_t)round + 1, TSR_SIGNAL_SET, 0);
	}
}

TSR_KERNEL(pass_tables, counted_args_t, a)
{
	if (tsr_rank(block) == 0)
		read_tables(block, a);
	else if (tsr_rank(block) == 1 && tsr_block_index(block) == 0)
		put_tables(block, a);
}

TSR_MAIN(world, argc, argv)
{
	static const int64_t one[] = {1}, each[] = {BLOCKS};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	tsr_tensor_t posted, taken;
	TSR_HEAP void *tables;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "counted: say sum, none or each, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, SLOTS * sizeof(counted_table_t), 0, NULL, &tables));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, one, &posted));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, each, &taken));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const counted_args_t args = {(TSR_HEAP counted_table_t *)tables,
				     (TSR_HEAP uint64_t *)posted.data,
				     (TSR_HEAP uint64_t *)taken.data, kind};
	TSR_TRY(tsr_launch(stream, &pass_tables, BLOCKS, &args));
	TSR_TRY(tsr_stream_sync(stream));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}

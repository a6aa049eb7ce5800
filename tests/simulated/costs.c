/*
 * Kernels on a simulated machine, whose times follow from the machine's figures
 * by hand: tests/cli/sim/costs.py. Prints the nanoseconds of rank 0.
 *
 *     costs MACHINE put BLOCKS BYTES | ping ROUNDS | product K | stuck | until |
 *                   beside DEADLINE_NS BYTES | spin
 *     costs MACHINE table ROWS 0 | 1: how many words are right behind a put, or one to all
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/perf/sim/machine.h"
#include "model/perf/sim/sim.h"
#include "tessera/dev.h"
#include "tessera/main.h"
#include "tessera/tessera.h"

TSR_TILE(costs, bf16, 128, 256, 64);

typedef struct costs_args {
	TSR_HEAP unsigned char *from, *to;
	TSR_HEAP uint64_t *flags; /* one a rank */
	tsr_view_t a, b, c;
	int64_t bytes, rounds;
} costs_args_t;

/** Each block puts as many bytes to the next rank. */
TSR_KERNEL(costs_put, costs_args_t, a)
{
	const int next = (tsr_rank(block) + 1) % tsr_size(block);
	const int64_t at = tsr_block_index(block) * a->bytes;
	tsr_put(block, a->to + at, a->from + at, (size_t)a->bytes, next);
}

/** Two ranks signal each other in turn. */
TSR_KERNEL(costs_ping, costs_args_t, a)
{
	const int me = tsr_rank(block), other = 1 - me;
	for (int64_t i = 1; me < 2 && i <= a->rounds; i++) {
		if (me == 1)
			tsr_wait(block, &a->flags[other], (uint64_t)i, other);
		tsr_signal(block, &a->flags[me], (uint64_t)i, TSR_SIGNAL_SET, other);
		if (me == 0)
			tsr_wait(block, &a->flags[other], (uint64_t)i, other);
	}
}

TSR_FN tsr_part_t costs_order(int64_t task, const void *ctx)
{
	(void)ctx;
	return tsr_whole((tsr_pos_t){128 * task, 0});
}

TSR_FN void costs_store(tsr_coop_t *me, costs_frag_t *sums, tsr_pos_t at, void *ctx)
{
	tsr_tile_store(me, ((const costs_args_t *)ctx)->c, at, sums);
}

/** Each block multiplies one tile. */
TSR_KERNEL(costs_product, costs_args_t, a)
{
	const tsr_tasks_t mine = {tsr_block_index(block), 1, tsr_block_index(block) + 1};
	costs_args_t args = *a;
	tsr_gemm(costs, block, a->a, a->b, mine, costs_order, TSR_NO_GATE, costs_store, &args);
}

/** Rank 0 waits for what nobody signals. */
TSR_KERNEL(costs_stuck, costs_args_t, a)
{
	if (tsr_rank(block) == 0)
		tsr_wait(block, &a->flags[1], 7, 1);
}

/** Rank 0 does so with a deadline, and the other one goes on. */
TSR_KERNEL(costs_until, costs_args_t, a)
{
	if (tsr_rank(block) == 0 &&
	    tsr_wait_until(block, &a->flags[1], 7, 1, 1000) != TSR_WAIT_EXPIRED)
		tsr_wait(block, &a->flags[1], 7, 1);
}

/** Rank 0 waits so for the other one, which puts before it signals. */
TSR_KERNEL(costs_beside, costs_args_t, a)
{
	if (tsr_rank(block) == 1) {
		tsr_put(block, a->to, a->from, (size_t)a->bytes, 0);
		tsr_signal(block, &a->flags[1], 7, TSR_SIGNAL_SET, 0);
	} else {
		(void)tsr_wait_until(block, &a->flags[1], 7, 1, (uint64_t)a->rounds);
	}
}

/** Rank 0 polls for what nobody stores. */
TSR_KERNEL(costs_spin, costs_args_t, a)
{
	while (tsr_rank(block) == 0 &&
	       tsr_atomic_load(block, &a->flags[1], 0, TSR_RELAXED, TSR_SCOPE_SYSTEM) != 7)
		;
}

/** Copies a table of 32-bit words. */
enum { TABLE_COLS = 64, TABLE_MOST = 4096 };

TSR_KERNEL(costs_table, costs_args_t, a)
{
	const tsr_view_t to = tsr_view(a->to, TSR_I32, a->rounds, TABLE_COLS, TABLE_COLS),
			 from = tsr_view(a->from, TSR_I32, a->rounds, TABLE_COLS, TABLE_COLS);
	if (a->bytes == 0)
		tsr_put_2d(block, to, from, tsr_rank(block));
	else
		tsr_put_all_2d(block, to, from);
}

static int run_table(tsr_world_t *world, costs_args_t *args)
{
	static int32_t words[TABLE_MOST * TABLE_COLS];
	const size_t bytes = sizeof(int32_t) * TABLE_COLS * (size_t)args->rounds;
	int right = 0;
	tsr_stream_t *stream;
	void *from, *to;
	TSR_TRY(tsr_heap_alloc(world, bytes, 0, "from", &from));
	TSR_TRY(tsr_heap_alloc(world, bytes, 0, "to", &to));
	args->from = (TSR_HEAP unsigned char *)from;
	args->to = (TSR_HEAP unsigned char *)to;
	for (int i = 0; i < args->rounds * TABLE_COLS; i++)
		words[i] = 3 * i + 1;
	TSR_TRY(tsr_memcpy_to_heap(world, from, words, bytes));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &costs_table, 1, args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, words, to, bytes));
	for (int i = 0; i < args->rounds * TABLE_COLS; i++)
		right += words[i] == 3 * i + 1;
	if (tsr_world_rank(world) == 0)
		printf("%d\n", right);
	return 0;
}

static int run(tsr_world_t *world, const tsr_kernel_t *kernel, int blocks, costs_args_t *args,
	       int64_t k)
{
	const size_t heap_bytes = (size_t)3 << 30;
	tsr_stream_t *stream;
	tsr_event_t *begin, *end;
	uint64_t ns;
	void *from, *to, *flags;
	TSR_TRY(tsr_heap_alloc(world, heap_bytes, 0, "from", &from));
	TSR_TRY(tsr_heap_alloc(world, heap_bytes, 0, "to", &to));
	TSR_TRY(tsr_heap_alloc(world, sizeof(uint64_t) * TSR_MAX_RANKS, 0, "flags", &flags));
	TSR_TRY(tsr_memset_heap(world, flags, 0, sizeof(uint64_t) * TSR_MAX_RANKS));
	args->from = (TSR_HEAP unsigned char *)from;
	args->to = (TSR_HEAP unsigned char *)to;
	args->flags = (TSR_HEAP uint64_t *)flags;
	args->a = (tsr_view_t){args->from, 128 * blocks, k, k, TSR_BF16, TSR_SPACE_HEAP};
	args->b = (tsr_view_t){args->from, k, 256, 256, TSR_BF16, TSR_SPACE_HEAP};
	args->c = (tsr_view_t){args->to, 128 * blocks, 256, 256, TSR_BF16, TSR_SPACE_HEAP};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_event_create(world, &begin));
	TSR_TRY(tsr_event_create(world, &end));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_event_record(begin, stream));
	TSR_TRY(tsr_launch(stream, kernel, blocks, args));
	TSR_TRY(tsr_event_record(end, stream));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_event_elapsed_ns(begin, end, &ns));
	if (tsr_world_rank(world) == 0)
		printf("%" PRIu64 "\n", ns);
	return 0;
}

static int entry(tsr_world_t *world, int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const int64_t x = argc > 2 ? atoll(argv[2]) : 1, y = argc > 3 ? atoll(argv[3]) : 1;
	costs_args_t args = {.bytes = y, .rounds = x};
	if (strcmp(what, "put") == 0)
		return run(world, &costs_put, (int)x, &args, 64);
	if (strcmp(what, "ping") == 0)
		return run(world, &costs_ping, 1, &args, 64);
	if (strcmp(what, "product") == 0)
		return run(world, &costs_product, 132, &args, x);
	if (strcmp(what, "until") == 0)
		return run(world, &costs_until, 1, &args, 64);
	if (strcmp(what, "table") == 0)
		return run_table(world, &args);
	if (strcmp(what, "beside") == 0)
		return run(world, &costs_beside, 1, &args, 64);
	if (strcmp(what, "spin") == 0)
		return run(world, &costs_spin, 1, &args, 64);
	return run(world, &costs_stuck, 1, &args, 64);
}

int main(int argc, char **argv)
{
	if (argc < 2 || sim_machine_find(argv[1], &sim_machine) != TSR_OK)
		return 2;
	setenv("TESSERA_CHECK", "simulated", 1);
	setenv("TESSERA_BACKEND", "cpuemu", 1);
	setenv("TESSERA_HEAP_SIZE", "8G", 1);
	return tsr_main(argc - 1, argv + 1, entry);
}

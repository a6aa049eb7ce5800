/*
 * Blocks split into workers: shared memory, meetings, calls of the whole block,
 * and workers that hand tiles to each other.
 */
#include "tests/contract/contract_test.h"

enum { WORKERS = 3, BLOCKS = 7, ROUNDS = 40 };

typedef struct pad {
	uint64_t turn[WORKERS];
	uint64_t ready, retired, sum;
	uint32_t words[16];
} pad_t;

typedef struct split_args {
	TSR_HEAP uint64_t *verdict; /* one a block: how often something was not as promised */
	TSR_HEAP uint64_t *counter;
	tsr_view_t from, to;
	int32_t poisons; /* the backend fills shared memory before a block begins: the emulator */
	int32_t reserved;
} split_args_t;

#define EXPECT(cond_)                                                                            \
	do {                                                                                     \
		if (!(cond_))                                                                    \
			tsr_atomic_add(worker, a->verdict + tsr_block_index(block), (uint64_t)1, \
				       tsr_rank(worker), TSR_RELAXED, TSR_SCOPE_DEVICE);         \
	} while (0)

TSR_KERNEL_SPLIT(meet_in_block, WORKERS, pad_t, split_args_t, a)
{
	int me = tsr_worker_index(worker), rank = tsr_rank(block);
	EXPECT(tsr_worker_count(block) == WORKERS && tsr_worker_index(block) == 0);
	/* Undefined; where it is poisoned, never what the block before has left there. */
	EXPECT(!a->poisons || tsr_atomic_load(worker, &shared->turn[me], rank, TSR_RELAXED,
					      TSR_SCOPE_BLOCK) > ROUNDS);
	tsr_shared_clear(block, shared, sizeof *shared);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		tsr_atomic_store(worker, &shared->turn[me], round, rank, TSR_RELAXED,
				 TSR_SCOPE_BLOCK);
		tsr_sync(block);
		for (int i = 0; i < WORKERS; i++)
			EXPECT(tsr_atomic_load(worker, &shared->turn[i], rank, TSR_RELAXED,
					       TSR_SCOPE_BLOCK) == round);
		tsr_sync(block);
		/* By the block: once, and all workers learn the same old value. */
		uint64_t before = tsr_atomic_add(block, &shared->sum, (uint64_t)3, rank,
						 TSR_ACQ_REL, TSR_SCOPE_BLOCK);
		EXPECT(before == 3 * (round - 1));
		tsr_atomic_add(block, a->counter, (uint64_t)1, rank, TSR_RELAXED, TSR_SCOPE_DEVICE);
		tsr_signal_local(block, &shared->ready, round, TSR_SCOPE_BLOCK);
		EXPECT(tsr_wait_local(block, &shared->ready, round, TSR_SCOPE_BLOCK) ==
		       TSR_WAIT_OK);
		EXPECT(tsr_wait(block, a->counter, round, rank) == TSR_WAIT_OK);
		int which = 7;
		EXPECT(tsr_wait_any(block, a->counter, 1, 0, round, &which) == TSR_WAIT_OK &&
		       which == 0);
	}
}

static int meet_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t seen[BLOCKS + 1];
	(void)argc, (void)argv;
	split_args_t a = {.verdict = zeroed(world, sizeof seen, "verdict")};
	CHECK(a.verdict);
	a.counter = a.verdict + BLOCKS;
	a.poisons = world_has_threads();
	CHECK(run_kernel(world, &meet_in_block, BLOCKS, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a.verdict, sizeof seen) == TSR_OK);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(seen[i] == 0, "block %d", i);
	CHECK(seen[BLOCKS] == BLOCKS * ROUNDS, "a call of the block acts once");
	return 0;
}

Test(split, workers_meet_and_share)
{
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "2", 1);
	cr_expect(world_run(1, TSR_PLACE_THREAD, meet_body, NULL) == 0);
	cr_expect(world_run(3, TSR_PLACE_THREAD, meet_body, NULL) == 0);
#ifndef WORLD_THREADS_ONLY
	cr_expect(world_run(2, TSR_PLACE_PROCESS, meet_body, NULL) == 0);
#endif
}

/* -------------------------------------------------------- tiles through stages of shared memory */

TSR_TILE(tile, bf16, 16, 16, 16);

typedef struct stages {
	uint64_t ready[2], retired[2];
	TSR_SHARED_TILES(tile, stage, 2);
} stages_t;

enum { ROWS = 73, COLS = 37 };

TSR_FN tsr_view_t stage_of(stages_t *shared, int i)
{
	return tsr_view_shared(shared->stage[i], TSR_TILE_DTYPE(tile), TSR_TILE_M(tile),
			       TSR_TILE_N(tile), TSR_TILE_N(tile));
}

/*
 * Worker 0 loads tiles into two stages, worker 1 puts them to the next rank.
 * Partners: ready and retired with their waits.
 */
TSR_KERNEL_SPLIT(pass_on, 2, stages_t, split_args_t, a)
{
	int64_t tiles_n = tsr_tiles(COLS, TSR_TILE_N(tile)),
		tiles = tsr_tiles(ROWS, TSR_TILE_M(tile)) * tiles_n, turn = 0;
	tsr_pos_t origin = {0, 0};
	tsr_shared_clear(block, shared, sizeof *shared);
	for (int64_t t = tsr_block_index(block); t < tiles; t += tsr_block_count(block), turn++) {
		tsr_pos_t at = {t / tiles_n * TSR_TILE_M(tile), t % tiles_n * TSR_TILE_N(tile)};
		int s = (int)(turn % 2);
		uint64_t use = (uint64_t)turn / 2;
		if (tsr_worker_index(worker) == 0) {
			TSR_FRAG(tile, frag, worker);
			tsr_tile_load(worker, frag, a->from, at);
			tsr_wait_local(worker, &shared->retired[s], use, TSR_SCOPE_BLOCK);
			tsr_tile_store(worker, stage_of(shared, s), origin, frag);
			tsr_signal_local(worker, &shared->ready[s], use + 1, TSR_SCOPE_BLOCK);
		} else {
			tsr_wait_local(worker, &shared->ready[s], use + 1, TSR_SCOPE_BLOCK);
			tsr_put_2d(worker,
				   tsr_view_part(a->to, at, TSR_TILE_M(tile), TSR_TILE_N(tile)),
				   stage_of(shared, s), (tsr_rank(worker) + 1) % tsr_size(worker));
			tsr_signal_local(worker, &shared->retired[s], use + 1, TSR_SCOPE_BLOCK);
		}
	}
}

static int pass_body(tsr_world_t *world, int argc, char **argv)
{
	int size = tsr_world_size(world), me = tsr_world_rank(world);
	uint16_t host[ROWS * COLS];
	(void)argc, (void)argv;
	TSR_HEAP void *from = poisoned(world, sizeof host, "from"),
		      *to = poisoned(world, sizeof host, "to");
	CHECK(from && to);
	for (int i = 0; i < ROWS * COLS; i++)
		host[i] = (uint16_t)(0x3f80 + (i + me * 31) % 999); /* bf16 numbers */
	CHECK(tsr_memcpy_to_heap(world, from, host, sizeof host) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	split_args_t a = {.from = {from, ROWS, COLS, COLS, TSR_BF16, TSR_SPACE_HEAP},
			  .to = {to, ROWS, COLS, COLS, TSR_BF16, TSR_SPACE_HEAP}};
	CHECK(run_kernel(world, &pass_on, 3, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, to, sizeof host) == TSR_OK);
	for (int i = 0; i < ROWS * COLS; i++)
		CHECK(host[i] == (uint16_t)(0x3f80 + (i + (me + size - 1) % size * 31) % 999),
		      "element %d", i);
	return 0;
}

Test(split, tiles_pass_through_shared_memory)
{
	world_each(pass_body, NULL);
}

/* -------------------------------------------------- the whole block's bytes, tiles and products */

TSR_KERNEL_SPLIT(whole_block, WORKERS, pad_t, split_args_t, a)
{
	tsr_pos_t origin = {0, 0};
	TSR_FRAG(tile, acc, block);
	TSR_FRAG(tile, dot, block);
	TSR_FRAG_A(tile, x, block);
	TSR_FRAG_B(tile, y, block);
	tsr_frag_zero(block, acc);
	tsr_gemm_mainloop(block, acc, a->from, a->from, tsr_whole(origin), TSR_NO_GATE,
			  (const void *)0);
	tsr_load(block, x, a->from, origin, 0);
	tsr_tile_load(block, y, a->from, origin);
	tsr_frag_zero(block, dot);
	tsr_tile_dot(block, dot, x, y);
	tsr_tile_store(block, a->to, origin, acc);
	origin.row = 16;
	tsr_tile_store(block, a->to, origin, dot);
	tsr_put(block, (TSR_HEAP unsigned char *)a->to.data + 2 * 16 * 16 * 4, a->from.data,
		11 * 11 * 2, tsr_rank(block));
	tsr_sync(block);
}

static int whole_body(tsr_world_t *world, int argc, char **argv)
{
	uint16_t from[11 * 11];
	unsigned char to[2 * 16 * 16 * 4 + sizeof from];
	float sums[2 * 16 * 16];
	(void)argc, (void)argv;
	split_args_t a = {
		.from = {poisoned(world, sizeof from, "from"), 11, 11, 11, TSR_BF16,
			 TSR_SPACE_HEAP},
		.to = {poisoned(world, sizeof to, "to"), 32, 16, 16, TSR_F32, TSR_SPACE_HEAP}};
	CHECK(a.from.data && a.to.data);
	for (int i = 0; i < 121; i++)
		from[i] = tsr_f32_to_bf16((float)(i % 9 - 4));
	CHECK(tsr_memcpy_to_heap(world, a.from.data, from, sizeof from) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &whole_block, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, to, a.to.data, sizeof to) == TSR_OK);
	memcpy(sums, to, sizeof sums);
	for (int i = 0; i < 2 * 16 * 16; i++) {
		float want = 0;
		for (int k = 0; k < 11 && i / 16 % 16 < 11 && i % 16 < 11; k++)
			want += (float)((i / 16 % 16 * 11 + k) % 9 - 4) *
				(float)((k * 11 + i % 16) % 9 - 4);
		CHECK(sums[i] == want, "element %d: %g for %g", i, (double)sums[i], (double)want);
	}
	CHECK(memcmp(to + 2 * 16 * 16 * 4, from, sizeof from) == 0);
	return 0;
}

Test(split, the_whole_block_shares_the_work)
{
	cr_expect(world_run(1, TSR_PLACE_THREAD, whole_body, NULL) == 0);
	cr_expect(world_run(2, TSR_PLACE_THREAD, whole_body, NULL) == 0);
}

/* ------------------------------------------------------------ a block that is split at run time */

enum { PART_WORDS = 8 };

typedef struct divided_args {
	/* of each block: mistakes; the turn that each worker has had */
	TSR_HEAP uint64_t *verdict, *turn;
	/* of each block and worker: what it puts, what has come for it */
	TSR_HEAP uint64_t *from, *to;
	TSR_HEAP uint64_t *arrived, *retired; /* of each block: READY and RETIRED, by round */
	/* of each block: workers that have counted themselves */
	TSR_HEAP uint64_t *parts;
} divided_args_t;

/** What worker `w` of a block of the rank puts in a round. */
TSR_FN uint64_t divided_mark(int rank, int block, int w, uint64_t round)
{
	return round << 32 | (uint64_t)(rank * 1000000 + block * 1000 + w);
}

/*
 * Workers take turns through flags, each puts what it has written, and the
 * block's signal covers all of them. Partners: turn with the wait on the worker
 * before; arrived and retired with the waits of the block on the next rank and
 * on the one before. Litmus: MP.rel.acq.sameGPU-aa, MP.rel.acq.diffGPU-ss.
 */
TSR_KERNEL(divided, divided_args_t, a)
{
	const int rank = tsr_rank(block), size = tsr_size(block), index = tsr_block_index(block);
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		tsr_wait(block, a->retired + index, round - 1, next);
		tsr_coop_t part = tsr_split(block), *worker = &part;
		const int me = tsr_worker_index(worker), parts = tsr_worker_count(worker);
		TSR_HEAP uint64_t *from = a->from + (index * TSR_MAX_SPLIT + me) * PART_WORDS;
		TSR_HEAP uint64_t *to = a->to + (index * TSR_MAX_SPLIT + me) * PART_WORDS;
		EXPECT(parts >= 1 && parts <= TSR_MAX_SPLIT && me >= 0 && me < parts);
		EXPECT(tsr_block_index(worker) == index && tsr_rank(worker) == rank);
		if (me > 0)
			EXPECT(tsr_wait_local(worker, a->turn + index * TSR_MAX_SPLIT + me - 1,
					      round, TSR_SCOPE_DEVICE) == TSR_WAIT_OK);
		EXPECT(tsr_atomic_add(worker, a->parts + index, (uint64_t)1, rank, TSR_RELAXED,
				      TSR_SCOPE_DEVICE) ==
		       (round - 1) * (uint64_t)parts + (uint64_t)me);
		for (int i = 0; i < PART_WORDS; i++)
			tsr_atomic_store(worker, from + i, divided_mark(rank, index, me, round),
					 rank, TSR_RELAXED, TSR_SCOPE_DEVICE);
		tsr_sync(worker);
		tsr_put(worker, to, from, PART_WORDS * sizeof *to, next);
		tsr_signal_local(worker, a->turn + index * TSR_MAX_SPLIT + me, round,
				 TSR_SCOPE_DEVICE);
		tsr_signal(block, a->arrived + index, round, TSR_SIGNAL_SET, next);
		tsr_wait(block, a->arrived + index, round, before);
		for (int i = 0; i < PART_WORDS; i++)
			EXPECT(tsr_atomic_load(worker, to + i, rank, TSR_RELAXED,
					       TSR_SCOPE_DEVICE) ==
			       divided_mark(before, index, me, round));
		tsr_signal(block, a->retired + index, round, TSR_SIGNAL_SET, before);
	}
}

static int divided_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t words = BLOCKS * TSR_MAX_SPLIT;
	uint64_t seen[BLOCKS], parts[BLOCKS];
	(void)argc, (void)argv;
	divided_args_t a = {.verdict = zeroed(world, sizeof seen, "verdict"),
			    .turn = zeroed(world, words * sizeof(uint64_t), "turn"),
			    .from = zeroed(world, words * PART_WORDS * sizeof(uint64_t), "from"),
			    .to = zeroed(world, words * PART_WORDS * sizeof(uint64_t), "to"),
			    .arrived = zeroed(world, sizeof seen, "arrived"),
			    .retired = zeroed(world, sizeof seen, "retired"),
			    .parts = zeroed(world, sizeof parts, "parts")};
	CHECK(a.verdict && a.turn && a.from && a.to && a.arrived && a.retired && a.parts);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &divided, BLOCKS, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a.verdict, sizeof seen) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, parts, a.parts, sizeof parts) == TSR_OK);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(seen[i] == 0 && parts[i] % ROUNDS == 0 && parts[i] > 0,
		      "block %d: %d mistakes", i, (int)seen[i]);
	return 0;
}

Test(split, a_block_is_split_at_run_time)
{
	world_each(divided_body, NULL);
}

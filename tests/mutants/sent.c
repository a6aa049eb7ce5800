/*
 * sent [ROUNDS [COLUMNS]]: in each round every rank sends its tile to rank 0,
 * which adds them up in rank order. There is one inbox for each source.
 */
#include "program.h"

typedef struct sent_args {
	TSR_HEAP unsigned char *inbox;
	TSR_HEAP uint64_t *came;  /* rounds that each source has sent */
	TSR_HEAP uint64_t *added; /* rounds that rank 0 has added up */
	TSR_HEAP float *sums;     /* of all rounds, on rank 0 */
	int64_t rounds, columns;
} sent_args_t;

enum { SENT_MOST = 32 };
TSR_TILE(sent_tile, f32, 1, SENT_MOST, 4);
enum { SENT_BYTES = TSR_FRAG_SENT_BYTES(sent_tile, TSR_F32) };

TSR_FN float sent_value(float x, int64_t round, int64_t column, const void *ctx)
{
	(void)x;
	return (float)word_of(*(const int32_t *)ctx, round, column);
}

/**
 * Partners: the wait and the signal of sent_add_up. Litmus:
 * MP.rel.acq.diffGPU-ss, LB.retired.diffGPU-ss.
 */
TSR_FN void sent_send(tsr_coop_t *block, const sent_args_t *a, int64_t round)
{
	const tsr_pos_t at = {round, 0};
	const int32_t me = tsr_rank(block);
	TSR_FRAG(sent_tile, tile, block);
	tsr_frag_map(block, tile, at, sent_value, &me);
	tsr_wait(block, a->added, (uint64_t)round, 0);
	tsr_frag_send(block, a->inbox + (int64_t)me * SENT_BYTES, tile, TSR_F32, 0);
	tsr_signal(block, a->came + me, (uint64_t)round + 1, TSR_SIGNAL_SET, 0);
}

TSR_FN void sent_add_up(tsr_coop_t *block, const sent_args_t *a, int64_t round)
{
	const tsr_pos_t at = {round, 0};
	const int me = tsr_rank(block);
	TSR_FRAG(sent_tile, sum, block);
	tsr_frag_zero(block, sum);
	for (int source = 0; source < tsr_size(block); source++) {
		tsr_wait(block, a->came + source, (uint64_t)round + 1, source);
		tsr_frag_add_sent(block, sum, a->inbox + (int64_t)source * SENT_BYTES, TSR_F32);
	}
	for (int i = 0; i < tsr_size(block); i++)
		tsr_signal(block, a->added, (uint64_t)round + 1, TSR_SIGNAL_SET,
			   tsr_peer(block, i));
	tsr_store(block, tsr_view(a->sums, TSR_F32, a->rounds, a->columns, a->columns), at, sum,
		  me);
}

TSR_KERNEL(sent, sent_args_t, a)
{
	for (int64_t round = 0; round < a->rounds; round++) {
		sent_send(block, a, round);
		if (tsr_rank(block) == 0)
			sent_add_up(block, a, round);
	}
}

/** Says the first sum that is wrong. Returns the rank's exit code. */
static int sent_judge(tsr_world_t *world, const sent_args_t *a)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	float *sums = (float *)malloc((size_t)(a->rounds * a->columns) * sizeof *sums);
	int wrong = !sums ||
		    tsr_memcpy_from_heap(world, sums, a->sums,
					 (size_t)(a->rounds * a->columns) * sizeof *sums) != TSR_OK;
	for (int64_t i = 0; !wrong && i < a->rounds * a->columns; i++) {
		uint64_t sum = 0;
		for (int r = 0; r < size && me == 0; r++)
			sum += word_of(r, i / a->columns, i % a->columns);
		wrong = sums[i] != (float)sum;
		if (wrong)
			fprintf(stderr, "rank %d: sum %lld is %g, not %llu\n", me, (long long)i,
				(double)sums[i], (unsigned long long)sum);
	}
	free(sums);
	return wrong;
}

TSR_MAIN(world, argc, argv)
{
	sent_args_t args = {NULL, NULL, NULL, NULL, 0, 0};
	const size_t words = (size_t)tsr_world_size(world) * sizeof(uint64_t);
	TSR_HEAP void *heap;
	TSR_TRY(size_argument(argc, argv, 1, "ROUNDS", 5, &args.rounds));
	TSR_TRY(size_argument(argc, argv, 2, "COLUMNS", 5, &args.columns));
	args.columns = args.columns < SENT_MOST ? args.columns : SENT_MOST;
	TSR_TRY(zeroed(world, (size_t)tsr_world_size(world) * SENT_BYTES, "inbox", &heap));
	args.inbox = (TSR_HEAP unsigned char *)heap;
	TSR_TRY(zeroed(world, words, "came", &heap));
	args.came = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(zeroed(world, words, "added", &heap));
	args.added = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(zeroed(world, (size_t)(args.rounds * args.columns) * sizeof(float), "sums", &heap));
	args.sums = (TSR_HEAP float *)heap;
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are cleared */
	TSR_TRY(run_to_end(world, &sent, 1, 1, &args));
	return sent_judge(world, &args);
}

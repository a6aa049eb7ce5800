/*
 * The exchange of sequence and heads: a tensor [batch, sequence, heads, depth]
 * of which each rank has a part of the sequence and all heads becomes one of
 * which it has the whole sequence and a part of the heads, and back. A matrix a
 * batch: its rows are the sequence, its columns heads and depth.
 */
#include "tests/contract/contract_test.h"

enum { BATCH = 2, DEPTH = 3, MOST_RANKS = 8, BLOCKS = 3 };

typedef struct heads_args {
	TSR_HEAP float *given, *exchanged, *back;
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
	int32_t sequence, heads; /* of the whole tensor */
} heads_args_t;

/** The elements of a batch on a rank that has all heads; the same on all ranks. */
TSR_FN int64_t batch_elements(const heads_args_t *a, int ranks)
{
	return (int64_t)((a->sequence + ranks - 1) / ranks) * a->heads * DEPTH;
}

/** A batch as a rank has it that has some of the sequence and all heads. */
TSR_FN tsr_view_t by_sequence(tsr_coop_t *block, const heads_args_t *a, TSR_HEAP float *data,
			      int batch)
{
	const int64_t cols = (int64_t)a->heads * DEPTH;
	const tsr_view_t whole = tsr_view(data + batch * batch_elements(a, tsr_size(block)),
					  TSR_F32, a->sequence, cols, cols);
	tsr_view_t mine = tsr_view_cut(whole, TSR_DIM_ROWS, tsr_rank(block), tsr_size(block));
	mine.data = whole.data;
	return mine;
}

/** A batch as a rank has it that has all of the sequence and some heads. */
TSR_FN tsr_view_t by_heads(tsr_coop_t *block, const heads_args_t *a, int batch)
{
	const int64_t cols = (int64_t)a->heads / tsr_size(block) * DEPTH;
	return tsr_view(a->exchanged + batch * a->sequence * cols, TSR_F32, a->sequence, cols,
			cols);
}

TSR_KERNEL(exchange_heads, heads_args_t, a)
{
	uint64_t bad = 0;
	for (int batch = 0; batch < BATCH; batch++)
		bad += tsr_all_to_all(block, by_heads(block, a, batch),
				      by_sequence(block, a, a->given, batch), TSR_DIM_COLS,
				      TSR_DIM_ROWS, a->state) != TSR_WAIT_OK;
	for (int batch = 0; batch < BATCH; batch++)
		bad += tsr_all_to_all(block, by_sequence(block, a, a->back, batch),
				      by_heads(block, a, batch), TSR_DIM_ROWS, TSR_DIM_COLS,
				      a->state) != TSR_WAIT_OK;
	tsr_atomic_add(block, a->bad, bad, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** Another number for each element of the whole tensor. */
static float element(const heads_args_t *a, int batch, int64_t at, int64_t col)
{
	return (float)((batch * a->sequence + at) * a->heads * DEPTH + col);
}

static int verify(tsr_world_t *world, const heads_args_t *a, int64_t first, int64_t rows)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	const int64_t all = (int64_t)a->heads * DEPTH, some = all / ranks,
		      each = batch_elements(a, ranks);
	const size_t count = (size_t)(BATCH * (all + some) * (a->sequence + 1));
	float *seen = (float *)malloc(count * sizeof *seen);
	uint64_t bad;
	CHECK(seen);
	CHECK(tsr_memcpy_from_heap(world, &bad, a->bad, sizeof bad) == TSR_OK && bad == 0);
	CHECK(tsr_memcpy_from_heap(world, seen, a->exchanged,
				   (size_t)(BATCH * a->sequence * some) * sizeof *seen) == TSR_OK);
	for (int64_t i = 0; i < BATCH * a->sequence * some; i++)
		CHECK(seen[i] == element(a, (int)(i / some / a->sequence), i / some % a->sequence,
					 me * some + i % some),
		      "element %d of what rank %d has of the heads", (int)i, me);
	CHECK(tsr_memcpy_from_heap(world, seen, a->back, (size_t)(BATCH * each) * sizeof *seen) ==
	      TSR_OK);
	for (int64_t i = 0; i < BATCH * each; i++)
		if (i % each < rows * all)
			CHECK(seen[i] ==
				      element(a, (int)(i / each), first + i % each / all, i % all),
			      "element %d of what rank %d has back", (int)i, me);
	free(seen);
	return 0;
}

static int heads_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	heads_args_t a;
	memset(&a, 0, sizeof a);
	(void)argc, (void)argv;
	a.sequence = 3 * ranks - 1; /* which the ranks do not divide */
	a.heads = 2 * ranks;
	const int64_t all = (int64_t)a.heads * DEPTH, each = batch_elements(&a, ranks),
		      first = (int64_t)a.sequence * me / ranks,
		      rows = (int64_t)a.sequence * (me + 1) / ranks - first;
	const size_t bytes = (size_t)(BATCH * (each + all)) * sizeof(float);
	float *host = (float *)calloc(1, bytes);
	a.given = (TSR_HEAP float *)poisoned(world, bytes, "given");
	a.exchanged = (TSR_HEAP float *)poisoned(world, bytes, "exchanged");
	a.back = (TSR_HEAP float *)poisoned(world, bytes, "back");
	a.state = zeroed(world, tsr_collective_state_bytes(ranks), "state");
	a.bad = zeroed(world, sizeof(uint64_t), "bad");
	CHECK(host && a.given && a.exchanged && a.back && a.state && a.bad);
	for (int batch = 0; batch < BATCH; batch++)
		for (int64_t i = 0; i < rows * all; i++)
			host[batch * each + i] = element(&a, batch, first + i / all, i % all);
	CHECK(tsr_memcpy_to_heap(world, a.given, host, bytes) == TSR_OK);
	free(host);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &exchange_heads, 1 + me % BLOCKS, &a) == TSR_OK);
	return verify(world, &a, first, rows);
}

Test(heads, are_exchanged_for_the_sequence_and_back)
{
	world_each(heads_body, NULL);
}

/*
 * Scattered puts: words go to places of a peer that indices name, by blocks and
 * by workers, and nothing goes elsewhere.
 */
#include "tests/contract/contract_test.h"

enum { WORKERS = 2, MOST = 2053, PLACES = 2 * MOST + 1, BLOCKS = 2 };

typedef struct scatter_pad {
	int32_t index[WORKERS][MOST], value[WORKERS][MOST];
} scatter_pad_t;

typedef struct scatter_args {
	TSR_HEAP int32_t *dst;           /* PLACES of each rank, block and worker that puts */
	TSR_HEAP int32_t *index, *value; /* MOST of each block and worker */
	int32_t count, by_block;
} scatter_args_t;

/** From heap to shared memory, and to every rank: to its part of what is mine there. */
TSR_FN void scatter_part(tsr_coop_t *coop, const scatter_args_t *a, int worker, int32_t *index,
			 int32_t *value)
{
	const int me = tsr_rank(coop), place = tsr_block_index(coop) * WORKERS + worker;
	const tsr_view_t indices = tsr_view_shared(index, TSR_I32, 1, MOST, MOST),
			 values = tsr_view_shared(value, TSR_I32, 1, MOST, MOST);
	tsr_get_2d(coop, indices, tsr_view(a->index + place * MOST, TSR_I32, 1, MOST, MOST), me);
	tsr_get_2d(coop, values, tsr_view(a->value + place * MOST, TSR_I32, 1, MOST, MOST), me);
	tsr_sync(coop);
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_put_scattered(coop, a->dst + (me * BLOCKS * WORKERS + place) * PLACES, index,
				  value, a->count, tsr_peer(coop, i));
}

TSR_KERNEL_SPLIT(scatter_words, WORKERS, scatter_pad_t, scatter_args_t, a)
{
	const int me = tsr_worker_index(worker);
	if (a->by_block)
		scatter_part(block, a, 0, shared->index[0], shared->value[0]);
	else
		scatter_part(worker, a, me, shared->index[me], shared->value[me]);
}

/* ------------------------------------------------------------------ what must come out */

/** A permutation of the even places, without about an eighth of them. */
static int32_t index_of(int rank, int place, int i)
{
	const int mixed = (int)(((uint32_t)(rank * 13 + place * 7 + i) * 2246822519u) >> 13);
	return mixed % 8 == 0 ? -1 - i : 2 * ((i * 1021 + rank * 31 + place) % MOST);
}

static int32_t value_of(int rank, int place, int i)
{
	return rank * 100003 - place * 1009 + i * 17 - 5000;
}

static int scatter_check(tsr_world_t *world, const scatter_args_t *a, int from, int place)
{
	int32_t seen[PLACES], want[PLACES];
	const bool puts = !a->by_block || place % WORKERS == 0;
	memset(want, POISON, sizeof want);
	for (int i = 0; puts && i < a->count; i++)
		if (index_of(from, place, i) >= 0)
			want[index_of(from, place, i)] = value_of(from, place, i);
	CHECK(tsr_memcpy_from_heap(world, seen, a->dst + (from * BLOCKS * WORKERS + place) * PLACES,
				   sizeof seen) == TSR_OK);
	for (int i = 0; i < PLACES; i++)
		CHECK(seen[i] == want[i], "%d words of rank %d, coop %d: word %d is %d, not %d",
		      a->count, from, place, i, seen[i], want[i]);
	return 0;
}

static int scatter_inputs(tsr_world_t *world, const scatter_args_t *a)
{
	const int rank = tsr_world_rank(world);
	int32_t index[MOST], value[MOST];
	for (int place = 0; place < BLOCKS * WORKERS; place++) {
		for (int i = 0; i < MOST; i++) {
			index[i] = index_of(rank, place, i);
			value[i] = value_of(rank, place, i);
		}
		CHECK(tsr_memcpy_to_heap(world, a->index + place * MOST, index, sizeof index) ==
		      TSR_OK);
		CHECK(tsr_memcpy_to_heap(world, a->value + place * MOST, value, sizeof value) ==
		      TSR_OK);
	}
	return 0;
}

static int scatter_body(tsr_world_t *world, int argc, char **argv)
{
	static const int counts[] = {-3, 0, 1, 31, 33, 1000, 2047};
	const int size = tsr_world_size(world);
	const size_t bytes = sizeof(int32_t) * (size_t)size * BLOCKS * WORKERS * PLACES;
	(void)argc, (void)argv;
	scatter_args_t a = {
		.dst = (TSR_HEAP int32_t *)poisoned(world, bytes, "dst"),
		.index = (TSR_HEAP int32_t *)poisoned(world,
						      sizeof(int32_t) * BLOCKS * WORKERS * MOST,
						      "index"),
		.value = (TSR_HEAP int32_t *)poisoned(world,
						      sizeof(int32_t) * BLOCKS * WORKERS * MOST,
						      "value")};
	CHECK(a.dst && a.index && a.value);
	if (scatter_inputs(world, &a) != 0)
		return 1;
	for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
		a.count = counts[i];
		a.by_block = i % 2;
		CHECK(tsr_memset_heap(world, a.dst, POISON, bytes) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(run_kernel(world, &scatter_words, BLOCKS, &a) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		for (int from = 0; from < size; from++)
			for (int place = 0; place < BLOCKS * WORKERS; place++)
				if (scatter_check(world, &a, from, place) != 0)
					return 1;
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return 0;
}

Test(scattered, words_go_to_their_places)
{
	world_each(scatter_body, NULL);
}

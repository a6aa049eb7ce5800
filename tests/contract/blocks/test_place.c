/*
 * Stable counting placement in shared memory: by blocks, by workers and by the
 * parts of a split block, with places of their own, in place of the keys, and
 * without places.
 */
#include "tests/contract/contract_test.h"

enum { WORKERS = 3, COOPS = 1 + WORKERS, BLOCKS = 2, MOST_KEYS = 2053, MOST_BINS = 257 };
enum { WORKER_KEYS = 641 };
enum { APART, IN_PLACE, COUNTS, KINDS };

/* Either the block's or the workers': each coop has its keys, its places, its totals. */
typedef union place_pad {
	struct {
		int32_t keys[MOST_KEYS], places[MOST_KEYS], totals[MOST_BINS];
	} block;
	struct {
		int32_t keys[WORKER_KEYS], places[WORKER_KEYS], totals[MOST_BINS];
	} worker[WORKERS];
} place_pad_t;

/** What a coop leaves: the keys' places, and the totals, of two placements. */
typedef struct placed {
	int32_t once[MOST_KEYS], twice[MOST_KEYS];
	int32_t totals_once[MOST_BINS], totals_twice[MOST_BINS];
} placed_t;

typedef struct place_args {
	TSR_HEAP int32_t *keys;   /* MOST_KEYS of each block's coops: the block, then its workers */
	TSR_HEAP int32_t *totals; /* MOST_BINS of each */
	TSR_HEAP placed_t *placed;
	int32_t count, bins, kind, reserved;
} place_args_t;

TSR_FN tsr_view_t words_of(TSR_HEAP int32_t *words, int count)
{
	return tsr_view(words, TSR_I32, 1, count, count);
}

TSR_FN tsr_view_t shared_words(int32_t *words, int count)
{
	return tsr_view_shared(words, TSR_I32, 1, count, count);
}

/**
 * Keys and totals come from the next rank; what the coop's threads lay down and
 * take up is apart by the meetings of the placements alone.
 */
TSR_FN void place_twice(tsr_coop_t *coop, const place_args_t *a, int which, int32_t *keys,
			int32_t *places, int32_t *totals, int count)
{
	const int rank = tsr_rank(coop), next = (rank + 1) % tsr_size(coop),
		  at = tsr_block_index(coop) * COOPS + which;
	int32_t *to = a->kind == APART ? places : a->kind == IN_PLACE ? keys : 0;
	TSR_HEAP placed_t *out = a->placed + at;
	if (count > 0)
		tsr_get_2d(coop, shared_words(keys, count),
			   words_of(a->keys + at * MOST_KEYS, count), next);
	tsr_get_2d(coop, shared_words(totals, a->bins),
		   words_of(a->totals + at * MOST_BINS, a->bins), next);
	tsr_coop_place(coop, to, keys, count, totals, a->bins);
	if (count > 0 && to)
		tsr_put_2d(coop, words_of(out->once, count), shared_words(to, count), rank);
	tsr_put_2d(coop, words_of(out->totals_once, a->bins), shared_words(totals, a->bins), rank);
	tsr_coop_place(coop, to, keys, a->kind == IN_PLACE ? 0 : count, totals, a->bins);
	if (count > 0 && to)
		tsr_put_2d(coop, words_of(out->twice, count), shared_words(to, count), rank);
	tsr_put_2d(coop, words_of(out->totals_twice, a->bins), shared_words(totals, a->bins), rank);
}

TSR_FN int fewer(int count, int worker)
{
	return (count > WORKER_KEYS - WORKERS ? count % 509 : count) + worker;
}

TSR_FN void place_in_workers(tsr_coop_t *worker, place_pad_t *shared, const place_args_t *a)
{
	const int me = tsr_worker_index(worker);
	if (me < WORKERS)
		place_twice(worker, a, 1 + me, shared->worker[me].keys, shared->worker[me].places,
			    shared->worker[me].totals, fewer(a->count, me));
}

TSR_KERNEL_SPLIT(place_shared, WORKERS, place_pad_t, place_args_t, a)
{
	place_twice(block, a, 0, shared->block.keys, shared->block.places, shared->block.totals,
		    a->count);
	tsr_sync(block); /* the workers use the same memory */
	place_in_workers(worker, shared, a);
}

TSR_KERNEL_SHARED(place_shared_alone, place_pad_t, place_args_t, a)
{
	place_twice(block, a, 0, shared->block.keys, shared->block.places, shared->block.totals,
		    a->count);
	tsr_coop_t part = tsr_split(block);
	place_in_workers(&part, shared, a);
}

/* ------------------------------------------------------------------ what must come out */

/** Long runs of one key, every key, and about a tenth below 0. */
static int32_t key_of(int rank, int place, int bins, int i)
{
	const uint32_t mixed = ((uint32_t)rank * 7919u + (uint32_t)place * 104729u +
				(uint32_t)(i % 5 == 0 ? i / 64 : i) + 1) *
			       2654435761u;
	return mixed >> 8 & 7 ? (int32_t)(mixed >> 11) % bins : -1 - (int32_t)(mixed >> 16);
}

/** Of every size, so that some wrap around. */
static int32_t first_of(int rank, int place, int bin)
{
	return bin % 11 == 3 ? 0x7ffffff0 : rank * 1000 + place * 100 + bin * 3 - 50;
}

static void place_all(const int32_t *keys, int count, int32_t *totals, int32_t *places)
{
	for (int i = 0; i < count; i++) {
		places[i] = keys[i] < 0 ? -1 : totals[keys[i]];
		if (keys[i] >= 0)
			totals[keys[i]] = (int32_t)((uint32_t)totals[keys[i]] + 1);
	}
}

static int same(tsr_world_t *world, const char *what, const int32_t *seen, const int32_t *want,
		int count, int most)
{
	for (int i = 0; i < most; i++) {
		const int32_t value = i < count ? want[i] : POISON * 0x01010101;
		CHECK(seen[i] == value, "%s %d of %d is %d, not %d", what, i, count, seen[i],
		      value);
	}
	return 0;
}

/** One coop's results. */
static int place_check(tsr_world_t *world, const place_args_t *a, int next, int place, int count,
		       const placed_t *seen)
{
	int32_t keys[MOST_KEYS], once[MOST_KEYS], twice[MOST_KEYS], totals[MOST_BINS];
	const int stored = a->kind == COUNTS ? 0 : count;
	for (int i = 0; i < count; i++)
		keys[i] = key_of(next, place, a->bins, i);
	for (int i = 0; i < a->bins; i++)
		totals[i] = first_of(next, place, i);
	place_all(keys, count, totals, once);
	if (same(world, "place", seen->once, once, stored, MOST_KEYS) ||
	    same(world, "total", seen->totals_once, totals, a->bins, MOST_BINS))
		return 1;
	if (a->kind == IN_PLACE)
		memcpy(twice, once, sizeof twice);
	else
		place_all(keys, count, totals, twice);
	return same(world, "second place", seen->twice, twice, stored, MOST_KEYS) ||
	       same(world, "second total", seen->totals_twice, totals, a->bins, MOST_BINS);
}

static int place_case(tsr_world_t *world, const place_args_t *a)
{
	placed_t seen;
	const int next = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	for (int place = 0; place < BLOCKS * COOPS; place++) {
		const int which = place % COOPS;
		const int32_t poison = POISON * 0x01010101;
		CHECK(tsr_memcpy_from_heap(world, &seen, a->placed + place, sizeof seen) == TSR_OK);
		/* a block may have fewer parts than that */
		if (which > 1 && seen.totals_once[0] == poison && seen.totals_twice[0] == poison)
			continue;
		CHECK(place_check(world, a, next, place,
				  which ? fewer(a->count, which - 1) : a->count, &seen) == 0,
		      "coop %d, %d keys in %d bins, kind %d", which, a->count, a->bins, a->kind);
	}
	return 0;
}

static int place_inputs(tsr_world_t *world, const place_args_t *a)
{
	const int rank = tsr_world_rank(world);
	int32_t keys[MOST_KEYS], totals[MOST_BINS];
	for (int place = 0; place < BLOCKS * COOPS; place++) {
		for (int i = 0; i < MOST_KEYS; i++)
			keys[i] = key_of(rank, place, a->bins, i);
		for (int i = 0; i < MOST_BINS; i++)
			totals[i] = first_of(rank, place, i);
		CHECK(tsr_memcpy_to_heap(world, a->keys + place * MOST_KEYS, keys, sizeof keys) ==
		      TSR_OK);
		CHECK(tsr_memcpy_to_heap(world, a->totals + place * MOST_BINS, totals,
					 sizeof totals) == TSR_OK);
	}
	CHECK(tsr_memset_heap(world, a->placed, POISON, BLOCKS * COOPS * sizeof(placed_t)) ==
	      TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

static int place_body(tsr_world_t *world, int argc, char **argv)
{
	static const int counts[] = {0, 1, 31, 33, 127, 385, 1000, 1537, 2047};
	static const int bins[] = {1, 2, 31, 256, 257};
	(void)argc, (void)argv;
	place_args_t a = {
		.keys = (TSR_HEAP int32_t *)poisoned(world,
						     sizeof(int32_t) * BLOCKS * COOPS * MOST_KEYS,
						     "keys"),
		.totals = (TSR_HEAP int32_t *)poisoned(world,
						       sizeof(int32_t) * BLOCKS * COOPS * MOST_BINS,
						       "totals"),
		.placed = (TSR_HEAP placed_t *)poisoned(world, BLOCKS * COOPS * sizeof(placed_t),
							"placed")};
	CHECK(a.keys && a.totals && a.placed);
	for (int i = 0; i < 2 * (int)(sizeof counts / sizeof *counts); i++) {
		a.count = counts[i / 2];
		a.bins = bins[i % 5];
		a.kind = (i / 2 + i) % KINDS;
		if (place_inputs(world, &a) != 0)
			return 1;
		CHECK(run_kernel(world, i % 2 ? &place_shared : &place_shared_alone, BLOCKS, &a) ==
		      TSR_OK);
		if (place_case(world, &a) != 0)
			return 1;
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return 0;
}

Test(place, keys_take_places_in_their_order)
{
	world_each(place_body, NULL);
}

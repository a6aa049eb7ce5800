/*
 * pairs fresh|words|peer|shared [met]: a block makes each of its calls on some
 * memory behind each other one, all pairs in turn, without a meeting between the
 * two; with `met` it meets. The memory is fresh for each pair, or its words have
 * been accessed by atomics before (words), or it is another rank's (peer), or
 * the block's shared memory (shared).
 *
 * Who runs it knows from docs/order-in-a-block.md which pairs are a race, and
 * calls by their lines: each is made in one place, which its function names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { FRESH, WORDS, PEER, SHARED, KINDS };
static const char *const kinds[KINDS] = {"fresh", "words", "peer", "shared"};

enum { UNMET, MET, BETWEEN, AGAIN, HOWS };

enum { SIDE = 16, ELEMENTS = SIDE * SIDE, BYTES = 4 * ELEMENTS };

TSR_TILE(tile, f32, SIDE, SIDE, SIDE);

typedef struct pairs_args {
	TSR_HEAP int32_t *x, *other; /* BYTES for each pair; and what calls move to and from */
	TSR_HEAP uint64_t *flags;
	int32_t kind, how, call, second;
} pairs_args_t;

typedef struct pairs_shared {
	_Alignas(16) int32_t x[ELEMENTS], index[4], value[4];
} pairs_shared_t;

typedef struct record {
	int32_t number[4];
} record_t;

/** What a call is made on. */
typedef struct place {
	TSR_HEAP int32_t *x, *other;
	TSR_HEAP uint64_t *flag;
	tsr_view_t whole; /* of x */
	pairs_shared_t *shared;
	int rank; /* whose */
} place_t;

static const tsr_pos_t at = {0, 0};

TSR_FN tsr_view_t others(const place_t *p)
{
	return tsr_view(p->other, TSR_F32, SIDE, SIDE, SIDE);
}

/* ------------------------------------------------------------------ calls that write */

TSR_FN void get(tsr_coop_t *c, const place_t *p)
{
	tsr_get(c, p->x, p->other, BYTES, p->rank);
}

TSR_FN void get_2d(tsr_coop_t *c, const place_t *p)
{
	tsr_get_2d(c, p->whole, others(p), p->rank);
}

TSR_FN void put(tsr_coop_t *c, const place_t *p)
{
	tsr_put(c, p->x, p->other, BYTES, p->rank);
}

TSR_FN void put_2d(tsr_coop_t *c, const place_t *p)
{
	tsr_put_2d(c, p->whole, others(p), p->rank);
}

TSR_FN void put_all(tsr_coop_t *c, const place_t *p)
{
	tsr_put_all(c, p->x, p->other, BYTES);
}

TSR_FN void copy(tsr_coop_t *c, const place_t *p)
{
	tsr_copy(c, p->x, p->rank, p->other, tsr_rank(c), BYTES);
}

TSR_FN void put_value(tsr_coop_t *c, const place_t *p)
{
	tsr_put_value(c, p->x, (int32_t)1, p->rank);
}

TSR_FN void put_record(tsr_coop_t *c, const place_t *p)
{
	const record_t record = {{1, 2, 3, 4}};
	tsr_put_record(c, (TSR_HEAP record_t *)(TSR_HEAP void *)p->x, &record, p->rank);
}

TSR_FN void put_scattered(tsr_coop_t *c, const place_t *p)
{
	tsr_put_scattered(c, p->x, p->shared->index, p->shared->value, 4, p->rank);
}

TSR_FN void tile_store(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_frag_zero(c, frag);
	tsr_tile_store(c, p->whole, at, frag);
}

TSR_FN void store(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_frag_zero(c, frag);
	tsr_store(c, p->whole, at, frag, p->rank);
}

TSR_FN void store_add(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_frag_zero(c, frag);
	tsr_store_add(c, p->whole, at, frag, p->rank);
}

TSR_FN void frag_save(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_frag_zero(c, frag);
	tsr_frag_save(c, p->x, frag);
}

TSR_FN void rows_store(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG_ROWS(tile, rows, c);
	tsr_rows_fill(c, rows, 0);
	tsr_rows_store(c, p->whole, at, rows, p->rank);
}

TSR_FN void atomic_store(tsr_coop_t *c, const place_t *p)
{
	tsr_atomic_store(c, p->x, (int32_t)1, p->rank, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_FN void atomic_release(tsr_coop_t *c, const place_t *p)
{
	tsr_atomic_store(c, p->x, (int32_t)1, p->rank, TSR_RELEASE, TSR_SCOPE_SYSTEM);
}

TSR_FN void atomic_add(tsr_coop_t *c, const place_t *p)
{
	(void)tsr_atomic_add(c, p->x, (int32_t)1, p->rank, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_FN void atomic_cas(tsr_coop_t *c, const place_t *p)
{
	(void)tsr_atomic_cas(c, p->x, (int32_t)77, (int32_t)1, p->rank, TSR_RELAXED, TSR_RELAXED,
			     TSR_SCOPE_SYSTEM);
}

TSR_FN void signal(tsr_coop_t *c, const place_t *p)
{
	tsr_signal(c, (TSR_HEAP uint64_t *)(TSR_HEAP void *)p->x, 1, TSR_SIGNAL_ADD, p->rank);
}

/* ------------------------------------------------------------------ calls that read */

TSR_FN void put_from(tsr_coop_t *c, const place_t *p)
{
	tsr_put(c, p->other, p->x, BYTES, tsr_rank(c));
}

TSR_FN void put_2d_from(tsr_coop_t *c, const place_t *p)
{
	tsr_put_2d(c, others(p), p->whole, tsr_rank(c));
}

TSR_FN void put_all_from(tsr_coop_t *c, const place_t *p)
{
	tsr_put_all(c, p->other, p->x, BYTES);
}

TSR_FN void put_signal_from(tsr_coop_t *c, const place_t *p)
{
	tsr_put_signal(c, p->other, p->x, BYTES, p->flag, 1, TSR_SIGNAL_ADD, tsr_rank(c));
}

TSR_FN void get_from(tsr_coop_t *c, const place_t *p)
{
	tsr_get(c, p->other, p->x, BYTES, p->rank);
}

TSR_FN void copy_from(tsr_coop_t *c, const place_t *p)
{
	tsr_copy(c, p->other, tsr_rank(c), p->x, p->rank, BYTES);
}

TSR_FN void get_value(tsr_coop_t *c, const place_t *p)
{
	(void)tsr_get_value(c, p->x, p->rank);
}

TSR_FN void get_record(tsr_coop_t *c, const place_t *p)
{
	record_t record;
	tsr_get_record(c, &record, (TSR_HEAP record_t *)(TSR_HEAP void *)p->x, p->rank);
}

TSR_FN void tile_load(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_tile_load(c, frag, p->whole, at);
}

TSR_FN void load(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_load(c, frag, p->whole, at, p->rank);
}

TSR_FN void rows_load(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG_ROWS(tile, rows, c);
	tsr_rows_load(c, rows, p->whole, at, p->rank);
}

TSR_FN void sum_rows(tsr_coop_t *c, const place_t *p)
{
	const int32_t rows[1] = {0};
	const float weights[1] = {1};
	tsr_sum_rows(c, tsr_view(p->other, TSR_F32, 1, SIDE, SIDE), p->whole, rows, weights, 1,
		     tsr_rank(c));
}

TSR_FN void put_marked_from(tsr_coop_t *c, const place_t *p)
{
	tsr_put_marked(c, (TSR_HEAP uint64_t *)(TSR_HEAP void *)p->other, p->x, BYTES / 2, 1,
		       tsr_rank(c));
}

TSR_FN void frag_add(tsr_coop_t *c, const place_t *p)
{
	TSR_FRAG(tile, frag, c);
	tsr_frag_zero(c, frag);
	tsr_frag_add(c, frag, p->x);
}

TSR_FN void atomic_load(tsr_coop_t *c, const place_t *p)
{
	(void)tsr_atomic_load(c, p->x, p->rank, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_FN void atomic_acquire(tsr_coop_t *c, const place_t *p)
{
	(void)tsr_atomic_load(c, p->x, p->rank, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
}

TSR_FN void atomic_half(tsr_coop_t *c, const place_t *p)
{
	(void)tsr_atomic_load(c, (TSR_HEAP uint64_t *)(TSR_HEAP void *)p->x, p->rank, TSR_RELAXED,
			      TSR_SCOPE_BLOCK);
}

TSR_FN void wait_word(tsr_coop_t *c, const place_t *p)
{
	tsr_wait_word(c, (TSR_HEAP uint32_t *)(TSR_HEAP void *)p->x, TSR_CMP_GE, 0, p->rank,
		      TSR_RELAXED, TSR_SCOPE_SYSTEM, TSR_ANY_RANK, (uint64_t *)0);
}

TSR_FN void wait(tsr_coop_t *c, const place_t *p)
{
	tsr_wait_word(c, (TSR_HEAP uint32_t *)(TSR_HEAP void *)p->x, TSR_CMP_GE, 0, p->rank,
		      TSR_ACQUIRE, TSR_SCOPE_SYSTEM, TSR_ANY_RANK, (uint64_t *)0);
}

/* ------------------------------------------------------------------ all of them */

enum { CALLS = 38 };

/** The `n`-th call; 0: there is none that works on such memory. */
TSR_FN int make(tsr_coop_t *c, const place_t *p, int kind, int n)
{
	const int own = kind == FRESH || kind == WORDS, heap = kind != SHARED;
#define CALL(n_, if_, call_)         \
	case n_:                     \
		if (!(if_))          \
			return 0;    \
		if (p)               \
			call_(c, p); \
		return 1
	switch (n) {
		CALL(0, own, get);
		CALL(1, own || !heap, get_2d);
		CALL(2, heap, put);
		CALL(3, heap, put_2d);
		CALL(4, own, put_all);
		CALL(5, heap, copy);
		CALL(6, 1, put_value);
		CALL(7, 1, put_record);
		CALL(8, heap, put_scattered);
		CALL(9, own || !heap, tile_store);
		CALL(10, heap, store);
		CALL(11, heap, store_add);
		CALL(12, own, frag_save);
		CALL(13, heap, rows_store);
		CALL(14, 1, atomic_store);
		CALL(15, 1, atomic_release);
		CALL(16, 1, atomic_add);
		CALL(17, 1, atomic_cas);
		CALL(18, heap, signal);
		CALL(19, own, put_from);
		CALL(20, own || !heap, put_2d_from);
		CALL(21, own, put_all_from);
		CALL(22, own, put_signal_from);
		CALL(23, heap, get_from);
		CALL(24, heap, copy_from);
		CALL(25, 1, get_value);
		CALL(26, 1, get_record);
		CALL(27, own || !heap, tile_load);
		CALL(28, heap, load);
		CALL(29, heap, rows_load);
		CALL(30, own, sum_rows);
		CALL(31, own, put_marked_from);
		CALL(32, own, frag_add);
		CALL(33, 1, atomic_load);
		CALL(34, 1, atomic_acquire);
		CALL(35, 1, atomic_half);
		CALL(36, 1, wait_word);
		CALL(37, 1, wait);
	default:
		return 0;
	}
#undef CALL
}

/** The words are accessed by atomics, as a flag or a counter is. */
TSR_FN void touch_words(tsr_coop_t *block, const place_t *p)
{
	for (int i = 0; i < 8; i++) /* relaxed: hands nothing over */
		tsr_atomic_store(block, p->x + i, (int32_t)0, p->rank, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
}

TSR_FN place_t place_of(tsr_coop_t *block, const pairs_args_t *a, pairs_shared_t *shared,
			int64_t nth)
{
	const int me = tsr_rank(block), peer = (me + 1) % tsr_size(block);
	place_t p = {.x = a->x + nth * ELEMENTS,
		     .other = a->other + nth * ELEMENTS,
		     .flag = a->flags,
		     .shared = shared,
		     .rank = a->kind == PEER ? peer : me};
	p.whole = tsr_view(p.x, TSR_F32, SIDE, SIDE, SIDE);
	if (a->kind == SHARED) {
		p.x = shared->x;
		p.whole = tsr_view_shared(shared->x, TSR_F32, SIDE, SIDE, SIDE);
	}
	return p;
}

/** Makes two calls, and others between; they move to and from different memory. */
TSR_FN void make_pair(tsr_coop_t *block, const pairs_args_t *a, place_t p, int first, int second)
{
	if (a->kind == WORDS)
		touch_words(block, &p);
	tsr_sync(block);
	(void)make(block, &p, a->kind, first);
	if (a->how == MET)
		tsr_sync(block);
	p.other += (int64_t)ELEMENTS * CALLS * CALLS;
	if (a->how == BETWEEN) {
		place_t elsewhere = p;
		elsewhere.x += ELEMENTS;
		elsewhere.whole = tsr_view(elsewhere.x, TSR_F32, SIDE, SIDE, SIDE);
		(void)make(block, &elsewhere, a->kind, a->call);
		p.other += ELEMENTS;
	}
	if (a->how == AGAIN)
		(void)make(block, &p, a->kind, a->call);
	(void)make(block, &p, a->kind, second);
	tsr_sync(block);
}

TSR_KERNEL_SHARED(make_all, pairs_shared_t, pairs_args_t, a)
{
	tsr_shared_clear(block, shared, sizeof *shared);
	TSR_EACH(block, i, 4)
		shared->index[i] = i;
	tsr_sync(block);
	for (int first = 0; first < CALLS; first++)
		for (int second = 0; second < CALLS; second++) {
			const place_t p =
				place_of(block, a, shared, (int64_t)first * CALLS + second);
			if (make(block, (const place_t *)0, a->kind, first) &&
			    make(block, (const place_t *)0, a->kind, second) &&
			    (a->second < 0 || a->second == second))
				make_pair(block, a, p, first, second);
		}
}

/** The number of a call, which its name in an argument says; -1: there is none. */
static int number_of(const char *text)
{
	return text ? atoi(text) : -1;
}

TSR_MAIN(world, argc, argv)
{
	static const char *const hows[HOWS] = {"unmet", "met", "between", "again"};
	pairs_args_t args = {.call = number_of(argc > 3 ? argv[3] : NULL),
			     .second = number_of(argc > 4 ? argv[4] : NULL)};
	TSR_HEAP void *x, *other, *flags;
	tsr_stream_t *stream;
	while (argc > 2 && args.kind < KINDS && strcmp(argv[1], kinds[args.kind]) != 0)
		args.kind++;
	while (argc > 2 && args.how < HOWS && strcmp(argv[2], hows[args.how]) != 0)
		args.how++;
	if (argc < 3 || args.kind == KINDS || args.how == HOWS) {
		fprintf(stderr, "usage: pairs fresh|words|peer|shared unmet|met|between|again "
				"[CALL [SECOND]]\n");
		return 2;
	}
	const size_t bytes = (size_t)BYTES * CALLS * CALLS;
	TSR_TRY(tsr_heap_alloc(world, bytes + BYTES, 0, "x", &x));
	TSR_TRY(tsr_heap_alloc(world, 2 * bytes + BYTES, 0, "other", &other));
	TSR_TRY(tsr_heap_alloc(world, 64, 0, "flags", &flags));
	TSR_TRY(tsr_memset_heap(world, x, 0, bytes + BYTES));
	TSR_TRY(tsr_memset_heap(world, other, 0, 2 * bytes + BYTES));
	TSR_TRY(tsr_memset_heap(world, flags, 0, 64));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.x = (TSR_HEAP int32_t *)x;
	args.other = (TSR_HEAP int32_t *)other;
	args.flags = (TSR_HEAP uint64_t *)flags;
	TSR_TRY(tsr_launch(stream, &make_all, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}

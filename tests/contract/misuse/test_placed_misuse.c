/*
 * Shared loops, placements, scattered puts and sums of rows that a kernel asks
 * for wrongly: the launch fails, and one sentence says what, where and why.
 */
#include "tests/contract/ended_world.h"

typedef enum misuse {
	KEYS_IN_HEAP,
	TOTALS_IN_HEAP,
	PLACES_IN_HEAP,
	KEYS_NOWHERE,
	KEY_OUTSIDE,
	NO_BINS,
	PLACE_IN_GATE,
	EACH_IN_GATE,
	INDEX_IN_HEAP,
	VALUE_IN_HEAP,
	SCATTER_RANK,
	SCATTER_OUTSIDE,
	SCATTER_ALIGNMENT,
	SUM_OF_INTEGERS,
	SUM_TO_DOUBLES,
	SUM_TO_ROWS,
	SUM_OF_MANY,
	ROW_OUTSIDE,
	ROW_BEHIND,
	ROWS_IN_HEAP,
	WEIGHTS_IN_HEAP,
	SUM_RANK,
	SUM_SPACE,
	SUM_TO_SHARED,
	MISUSES
} misuse_t;

/* In the order of misuse_t, for C++ has no designators in arrays. */
static const char *const said[MISUSES] = {
	"tsr_coop_place of keys that are not in shared memory",       /* KEYS_IN_HEAP */
	"tsr_coop_place of totals that are not in shared memory",     /* TOTALS_IN_HEAP */
	"tsr_coop_place of places that are not in shared memory",     /* PLACES_IN_HEAP */
	"tsr_coop_place of 28 bytes outside this rank's heap",        /* KEYS_NOWHERE */
	"tsr_coop_place of key 6 to 6 bins",                          /* KEY_OUTSIDE */
	"tsr_coop_place of key 0 to 0 bins",                          /* NO_BINS */
	"tsr_coop_place in a gate",                                   /* PLACE_IN_GATE */
	"TSR_EACH in a gate",                                         /* EACH_IN_GATE */
	"tsr_put_scattered of indices that are not in shared memory", /* INDEX_IN_HEAP */
	"tsr_put_scattered of values that are not in shared memory",  /* VALUE_IN_HEAP */
	"tsr_put_scattered to rank 2 of a world of 2",                /* SCATTER_RANK */
	"from offset",                                                /* SCATTER_OUTSIDE */
	"tsr_put_scattered of an address that is not aligned to 4",   /* SCATTER_ALIGNMENT */
	"tsr_sum_rows of i32 to f32",                                 /* SUM_OF_INTEGERS */
	"tsr_sum_rows of f32 to f64",                                 /* SUM_TO_DOUBLES */
	"tsr_sum_rows to a view of 2 rows",                           /* SUM_TO_ROWS */
	"tsr_sum_rows of 257 rows; at most 256",                      /* SUM_OF_MANY */
	"tsr_sum_rows of row 6 of a view of 4",                       /* ROW_OUTSIDE */
	"tsr_sum_rows of row 4 of a view of 4",                       /* ROW_BEHIND */
	"tsr_sum_rows of rows in the heap",                           /* ROWS_IN_HEAP */
	"tsr_sum_rows of weights in the heap",                        /* WEIGHTS_IN_HEAP */
	"tsr_sum_rows to rank -1 of a world of 2",                    /* SUM_RANK */
	"the wrong kind of memory",                                   /* SUM_SPACE */
	"tsr_sum_rows of shared memory to rank 1",                    /* SUM_TO_SHARED */
};

enum { KEYS = 7 };

typedef struct misuse_pad {
	int32_t keys[KEYS], totals[KEYS], places[KEYS];
	float row[4];
} misuse_pad_t;

typedef struct misuse_args {
	TSR_HEAP int32_t *heap;
	uint64_t heap_left; /* from `heap` to the heap's end */
	int32_t misuse, reserved;
} misuse_args_t;

typedef struct misuse_ctx {
	const misuse_args_t *a;
	misuse_pad_t *shared;
} misuse_ctx_t;

TSR_TILE(tile, f32, 16, 16, 16);

TSR_FN tsr_part_t any_order(int64_t task, const void *ctx)
{
	const tsr_pos_t at = {0, 0};
	(void)task, (void)ctx;
	return tsr_whole(at);
}

TSR_FN tsr_from_t bad_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const misuse_ctx_t *x = (const misuse_ctx_t *)ctx;
	(void)chunk;
	if (x->a->misuse == EACH_IN_GATE) {
		TSR_EACH(loader, i, KEYS)
			x->shared->places[i] = i;
	} else {
		tsr_coop_place(loader, 0, x->shared->keys, KEYS, x->shared->totals, KEYS);
	}
	return tsr_from(0, 0);
}

TSR_FN void no_epilogue(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	(void)me, (void)acc, (void)at, (void)ctx;
}

TSR_FN void misuse_place(tsr_coop_t *block, const misuse_args_t *a, misuse_pad_t *shared)
{
	const tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 4, 4);
	const tsr_tasks_t one = {0, 1, 1};
	int32_t *heap = (int32_t *)(uintptr_t)a->heap;
	misuse_ctx_t ctx = {a, shared};
	if (a->misuse == KEYS_IN_HEAP)
		tsr_coop_place(block, shared->places, heap, KEYS, shared->totals, KEYS);
	else if (a->misuse == TOTALS_IN_HEAP)
		tsr_coop_place(block, shared->places, shared->keys, KEYS, heap, KEYS);
	else if (a->misuse == PLACES_IN_HEAP)
		tsr_coop_place(block, heap, shared->keys, KEYS, shared->totals, KEYS);
	else if (a->misuse == KEYS_NOWHERE)
		tsr_coop_place(block, 0, (const int32_t *)(uintptr_t)64, KEYS, shared->totals,
			       KEYS);
	else if (a->misuse == KEY_OUTSIDE)
		tsr_coop_place(block, 0, shared->keys, KEYS, shared->totals, KEYS - 1);
	else if (a->misuse == NO_BINS)
		tsr_coop_place(block, 0, shared->keys, KEYS, 0, 0);
	else
		tsr_gemm(tile, block, f32, f32, one, any_order, bad_gate, no_epilogue, &ctx);
}

TSR_FN void misuse_scatter(tsr_coop_t *block, const misuse_args_t *a, misuse_pad_t *shared)
{
	const int32_t *heap = (const int32_t *)(uintptr_t)a->heap;
	TSR_HEAP unsigned char *bytes = (TSR_HEAP unsigned char *)a->heap;
	TSR_HEAP int32_t *last = a->heap + a->heap_left / sizeof(int32_t) - 2;
	if (a->misuse == INDEX_IN_HEAP)
		tsr_put_scattered(block, a->heap, heap, shared->keys, KEYS, 0);
	else if (a->misuse == VALUE_IN_HEAP)
		tsr_put_scattered(block, a->heap, shared->keys, heap, KEYS, 0);
	else if (a->misuse == SCATTER_RANK)
		tsr_put_scattered(block, a->heap, shared->keys, shared->keys, KEYS, 2);
	else if (a->misuse == SCATTER_OUTSIDE)
		tsr_put_scattered(block, last, shared->keys, shared->keys, KEYS, 0);
	else
		tsr_put_scattered(block, (TSR_HEAP int32_t *)(bytes + 2), shared->keys,
				  shared->keys, KEYS, 0);
}

/** The rows are the keys: 0 to 6. */
TSR_FN void misuse_sum(tsr_coop_t *block, const misuse_args_t *a, misuse_pad_t *shared)
{
	const tsr_view_t src = tsr_view(a->heap, TSR_F32, 4, 4, 4),
			 whole = tsr_view(a->heap, TSR_I32, 4, 4, 4),
			 wide = tsr_view(a->heap + 16, TSR_F64, 1, 4, 4),
			 two = tsr_view(a->heap + 16, TSR_F32, 2, 4, 4),
			 dst = tsr_view(a->heap + 16, TSR_F32, 1, 4, 4),
			 not_shared = tsr_view_shared((void *)(uintptr_t)a->heap, TSR_F32, 1, 4, 4),
			 held = tsr_view_shared(shared->row, TSR_F32, 1, 4, 4);
	const int32_t *rows = shared->keys, *heap = (const int32_t *)(uintptr_t)a->heap;
	const int32_t behind[3] = {3, -1, 4};
	if (a->misuse == SUM_OF_INTEGERS)
		tsr_sum_rows(block, dst, whole, rows, 0, 2, 0);
	else if (a->misuse == SUM_TO_DOUBLES)
		tsr_sum_rows(block, wide, src, rows, 0, 2, 0);
	else if (a->misuse == SUM_TO_ROWS)
		tsr_sum_rows(block, two, src, rows, 0, 2, 0);
	else if (a->misuse == SUM_OF_MANY)
		tsr_sum_rows(block, dst, src, rows, 0, TSR_SUM_ROWS_MOST + 1, 0);
	else if (a->misuse == ROW_OUTSIDE)
		tsr_sum_rows(block, dst, src, rows + 6, 0, 1, 0);
	else if (a->misuse == ROW_BEHIND)
		tsr_sum_rows(block, dst, src, behind, 0, 3, 0);
	else if (a->misuse == ROWS_IN_HEAP)
		tsr_sum_rows(block, dst, src, heap, 0, 2, 0);
	else if (a->misuse == WEIGHTS_IN_HEAP)
		tsr_sum_rows(block, dst, src, rows, (const float *)heap, 2, 0);
	else if (a->misuse == SUM_RANK)
		tsr_sum_rows(block, dst, src, rows, 0, 2, -1);
	else if (a->misuse == SUM_SPACE)
		tsr_sum_rows(block, not_shared, src, rows, 0, 2, 0);
	else
		tsr_sum_rows(block, held, src, rows, 0, 2, 1);
}

TSR_KERNEL_SHARED(place_wrongly, misuse_pad_t, misuse_args_t, a)
{
	if (tsr_block_index(block) != 1)
		return;
	TSR_EACH(block, i, KEYS) {
		shared->keys[i] = i;
		shared->totals[i] = 0;
	}
	tsr_sync(block);
	if (a->misuse <= EACH_IN_GATE)
		misuse_place(block, a, shared);
	else if (a->misuse <= SCATTER_ALIGNMENT)
		misuse_scatter(block, a, shared);
	else
		misuse_sum(block, a, shared);
}

static int misuse_body(tsr_world_t *world, int argc, char **argv)
{
	misuse_args_t a = {.misuse = argc > 1 ? atoi(argv[1]) : 0};
	unsigned char seen[256];
	tsr_heap_usage_t usage = {.size = sizeof usage};
	a.heap = poisoned(world, sizeof seen, "target");
	CHECK(a.heap);
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	a.heap_left = usage.heap_bytes -
		      (uint64_t)((uintptr_t)a.heap -
				 (uintptr_t)tsr_heap_base(world, tsr_world_rank(world)));
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0) {
		CHECK(run_kernel(world, &place_wrongly, 2, &a) == TSR_ERR_KERNEL);
		CHECK(strstr(tsr_last_error(),
			     "kernel place_wrongly, block 1, worker 0 of rank 0: "));
		CHECK(strstr(tsr_last_error(), "test_placed_misuse.c:"));
		CHECK(strstr(tsr_last_error(), said[a.misuse]), "not '%s'", said[a.misuse]);
	} else {
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	CHECK(tsr_memcpy_from_heap(world, seen, a.heap, sizeof seen) == TSR_OK);
	for (size_t i = 0; i < sizeof seen; i++)
		CHECK(seen[i] == POISON, "the operation is skipped");
	return witness();
}

Test(placed_misuse, every_kind_is_named)
{
	char number[16];
	for (int i = 0; i < MISUSES; i++) {
		snprintf(number, sizeof number, "%d", i);
		ended_both(2, misuse_body, number, said[i]);
	}
}

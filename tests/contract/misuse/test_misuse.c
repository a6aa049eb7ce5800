/*
 * Wrong use of the API by a kernel: the operation is skipped, the launch fails,
 * and one sentence says what, where and why.
 */
#include "tests/contract/ended_world.h"

typedef enum misuse {
	PUT_TO_RANK,
	PUT_OUTSIDE,
	PUT_PAST_THE_HEAP,
	PUT_ALL_OUTSIDE,
	LOAD_OUTSIDE,
	STORE_ALL_OUTSIDE,
	MIXED_DTYPES,
	BAD_VIEW,
	WRONG_SPACE,
	ATOMIC_RANK,
	ATOMIC_ALIGNMENT,
	SIGNAL_RANK,
	SIGNAL_OP,
	WAIT_OUTSIDE,
	WAIT_FOR_RANK,
	WAIT_FOR_NONE,
	FLUSH_RANK,
	PUT_MARKED_RANK,
	TAKE_MARKED_ALIGNMENT,
	TAKE_MARKED_RANK,
	TAKE_MARKED_OUTSIDE,
	SYNC_IN_GATE,
	SPLIT_IN_GATE,
	WRITE_IN_GATE,
	TAKE_IN_GATE,
	GATE_TO_RANK,
	GATE_B_TO_RANK,
	GEMM_DTYPE,
	GEMM_RANGE,
	GEMM_STEP,
	GEMM_PART,
	GEMM_GROUP,
	GEMM_PLACE,
	SAVE_ALIGNMENT,
	ADD_OUTSIDE,
	UNSET_STORE,
	UNSET_SAVE,
	UNSET_ADD,
	UNSET_DOT,
	UNSET_DOT_BT,
	DOT_BT_KIND,
	UNSET_MAP,
	UNSET_REDUCE,
	UNSET_PRODUCT,
	SCAN_IN_HEAP,
	SPLIT_AGAIN,
	CLEAR_BY_WORKER,
	UNSET_ZIP,
	UNSET_ROWS_MAP,
	ZIP_KINDS,
	FILL_KIND,
	ROWS_STORE_RANK,
	RESERVED_DTYPE,
	STORE_ADD_DTYPE,
	STORE_ADD_RANK,
	UNSET_STORE_ADD,
	SEND_AS,
	SEND_ALIGNMENT,
	SEND_RANK,
	ADD_NEVER_SENT,
	REDUCE_OUTSIDE,
	REDUCE_ROWS,
	MISUSES
} misuse_t;

/*
 * What the sentence must hold, beside kernel, block and place: in the order of
 * misuse_t, for C++ has no designators in arrays.
 */
static const char *const said[MISUSES] = {
	"tsr_put to rank 9 of a world of 2",                           /* PUT_TO_RANK */
	"tsr_put of 16 bytes outside this rank's heap",                /* PUT_OUTSIDE */
	"from offset",                                                 /* PUT_PAST_THE_HEAP */
	"tsr_put_all of 16 bytes outside this rank's heap",            /* PUT_ALL_OUTSIDE */
	"tsr_load of",                                                 /* LOAD_OUTSIDE */
	"tsr_store_all of",                                            /* STORE_ALL_OUTSIDE */
	"tsr_put_2d between views of f16 and f32",                     /* MIXED_DTYPES */
	"rows 3 apart",                                                /* BAD_VIEW */
	"the wrong kind of memory",                                    /* WRONG_SPACE */
	"tsr_atomic_add to rank -1",                                   /* ATOMIC_RANK */
	"tsr_atomic_max of an address that is not aligned to 8",       /* ATOMIC_ALIGNMENT */
	"tsr_signal to rank 2 of a world of 2",                        /* SIGNAL_RANK */
	"tsr_signal by an operation that does not exist, 7",           /* SIGNAL_OP */
	"tsr_wait of 8 bytes outside",                                 /* WAIT_OUTSIDE */
	"tsr_wait for rank 64",                                        /* WAIT_FOR_RANK */
	"tsr_wait_any for 0 flags",                                    /* WAIT_FOR_NONE */
	"tsr_flush of rank -3",                                        /* FLUSH_RANK */
	"tsr_put_marked to rank 2 of a world of 2",                    /* PUT_MARKED_RANK */
	"tsr_take_marked of an address that is not aligned to 8",      /* TAKE_MARKED_ALIGNMENT */
	"tsr_take_marked for rank 64",                                 /* TAKE_MARKED_RANK */
	"tsr_take_marked of 16 bytes outside",                         /* TAKE_MARKED_OUTSIDE */
	"tsr_sync in a gate",                                          /* SYNC_IN_GATE */
	"tsr_split in a gate",                                         /* SPLIT_IN_GATE */
	"tsr_signal in a gate",                                        /* WRITE_IN_GATE */
	"tsr_take_marked in a gate",                                   /* TAKE_IN_GATE */
	"to rank 7 of a world of 2",                                   /* GATE_TO_RANK */
	"to rank 7 of a world of 2",                                   /* GATE_B_TO_RANK */
	"operands of f16 and f16 with tiles of f32",                   /* GEMM_DTYPE */
	"tsr_gemm_mainloop of the range -1 to 4",                      /* GEMM_RANGE */
	"a step of 0",                                                 /* GEMM_STEP */
	"tsr_gemm of columns 3 to 4 of A in tiles 16 deep",            /* GEMM_PART */
	"tsr_gemm of a B that begins at row -16",                      /* GEMM_GROUP */
	"tsr_gemm_mainloop of the tile at 0, 4 with operands of f16",  /* GEMM_PLACE */
	"tsr_frag_save of memory at",                                  /* SAVE_ALIGNMENT */
	"tsr_frag_add of 1 KiB",                                       /* ADD_OUTSIDE */
	"tsr_tile_store of a fragment of 16 x 16 elements",            /* UNSET_STORE */
	"tsr_frag_save of a fragment of 16 x 16 elements",             /* UNSET_SAVE */
	"tsr_frag_add of a fragment of 16 x 16 elements",              /* UNSET_ADD */
	"tsr_tile_dot of a fragment of 16 x 16 elements",              /* UNSET_DOT */
	"tsr_tile_dot_bt of a fragment of 16 x 16 elements",           /* UNSET_DOT_BT */
	"tsr_tile_dot_bt of fragments of different configurations",    /* DOT_BT_KIND */
	"tsr_frag_map of a fragment of 16 x 16 elements",              /* UNSET_MAP */
	"tsr_frag_map_rows of a fragment of 16 x 1 elements",          /* UNSET_REDUCE */
	"tsr_gemm_mainloop of a fragment of 16 x 16 elements",         /* UNSET_PRODUCT */
	"tsr_coop_scan of values that are not in shared memory",       /* SCAN_IN_HEAP */
	"tsr_split by a worker at",                                    /* SPLIT_AGAIN */
	"tsr_shared_clear by one worker at",                           /* CLEAR_BY_WORKER */
	"tsr_frag_zip of a fragment of 16 x 16 elements",              /* UNSET_ZIP */
	"tsr_rows_map of a fragment of 16 x 1 elements",               /* UNSET_ROWS_MAP */
	"tsr_frag_zip of different fragments, 16 x 16 and 16 x 1",     /* ZIP_KINDS */
	"tsr_rows_fill of a fragment of 16 x 16 elements",             /* FILL_KIND */
	"tsr_rows_store to rank 2 of a world of 2",                    /* ROWS_STORE_RANK */
	"tsr_tile_store of a view of f8_e4m3_fnuz, which is reserved", /* RESERVED_DTYPE */
	"tsr_store_add to a view of f64",                              /* STORE_ADD_DTYPE */
	"tsr_store_add to rank 2 of a world of 2",                     /* STORE_ADD_RANK */
	"tsr_store_add of a fragment of 16 x 16 elements",             /* UNSET_STORE_ADD */
	"tsr_frag_send as elements of i32",                            /* SEND_AS */
	"tsr_frag_send of memory at",                                  /* SEND_ALIGNMENT */
	"tsr_frag_send to rank 2 of a world of 2",                     /* SEND_RANK */
	"tsr_frag_add_sent of memory in which nothing stands that was sent", /* ADD_NEVER_SENT */
	"tsr_reduce of",                                                     /* REDUCE_OUTSIDE */
	"tsr_all_reduce into an operand or rows, 16 x 1",                    /* REDUCE_ROWS */
};

typedef struct misuse_args {
	TSR_HEAP uint64_t *heap;
	uint64_t heap_left; /* from `heap` to the heap's end */
	int32_t misuse, reserved;
} misuse_args_t;

TSR_TILE(tile, f32, 16, 16, 16);
TSR_TILE(half_tile, f16, 16, 16, 16);

TSR_FN tsr_part_t any_order(int64_t task, const void *ctx)
{
	const misuse_args_t *a = (const misuse_args_t *)ctx;
	tsr_pos_t at = {0, 0};
	tsr_part_t part = tsr_whole(at);
	(void)task;
	if (a->misuse == GEMM_PART)
		part.k0 = 3;
	if (a->misuse == GEMM_GROUP)
		part.b0 = -16;
	return part;
}

TSR_FN tsr_from_t bad_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const misuse_args_t *a = (const misuse_args_t *)ctx;
	(void)chunk;
	if (a->misuse == SYNC_IN_GATE)
		tsr_sync(loader);
	if (a->misuse == SPLIT_IN_GATE)
		(void)tsr_split(loader);
	if (a->misuse == WRITE_IN_GATE)
		tsr_signal(loader, a->heap, 1, TSR_SIGNAL_SET, 0);
	if (a->misuse == TAKE_IN_GATE)
		tsr_take_marked(loader, a->heap, a->heap + 2, 4, 7, 0);
	return tsr_from(a->misuse == GATE_TO_RANK ? 7 : 0, a->misuse == GATE_B_TO_RANK ? 7 : 0);
}

TSR_FN void no_epilogue(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	(void)me, (void)acc, (void)at, (void)ctx;
}

TSR_FN void misuse_products(tsr_coop_t *block, const misuse_args_t *a)
{
	tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 4, 4),
		   f16 = tsr_view(a->heap, TSR_F16, 4, 4, 4);
	tsr_tasks_t one = {0, a->misuse == GEMM_STEP ? 0 : 1, 1};
	tsr_pos_t origin = {0, 0};
	tsr_pos_t aside = {0, 4};
	tsr_part_t whole = tsr_whole(origin), before = {origin, -1, 4, 0};
	misuse_args_t copy = *a;
	TSR_FRAG(tile, acc, block);
	TSR_FRAG(half_tile, half, block);
	tsr_frag_zero(block, acc);
	tsr_frag_zero(block, half);
	if (a->misuse == GEMM_DTYPE)
		tsr_gemm_mainloop(block, acc, f16, f16, whole, TSR_NO_GATE, a);
	else if (a->misuse == GEMM_PLACE)
		tsr_gemm_mainloop(block, half, f16, f16, tsr_whole(aside), TSR_NO_GATE, a);
	else if (a->misuse == GEMM_RANGE)
		tsr_gemm_mainloop(block, acc, f32, f32, before, TSR_NO_GATE, a);
	else
		tsr_gemm(tile, block, f32, f32, one, any_order, bad_gate, no_epilogue, &copy);
}

TSR_FN void misuse_views(tsr_coop_t *block, const misuse_args_t *a)
{
	tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 4, 4),
		   f16 = tsr_view(a->heap, TSR_F16, 4, 4, 4);
	tsr_view_t narrow = tsr_view(a->heap, TSR_F32, 4, 4, 3),
		   shared = tsr_view_shared((void *)(uintptr_t)a->heap, TSR_F32, 4, 4, 4);
	tsr_view_t far = tsr_view(a->heap + a->heap_left, TSR_F32, 4, 4, 4);
	tsr_pos_t origin = {0, 0};
	TSR_FRAG(tile, frag, block);
	tsr_frag_zero(block, frag);
	if (a->misuse == LOAD_OUTSIDE)
		tsr_load(block, frag, far, origin, 0);
	else if (a->misuse == SAVE_ALIGNMENT)
		tsr_frag_save(block, a->heap + 1, frag);
	else if (a->misuse == ADD_OUTSIDE)
		tsr_frag_add(block, frag, a->heap + a->heap_left / sizeof *a->heap / 16 * 16);
	else if (a->misuse == STORE_ALL_OUTSIDE)
		tsr_store_all(block, far, origin, frag);
	else if (a->misuse == MIXED_DTYPES)
		tsr_put_2d(block, f32, f16, 0);
	else if (a->misuse == BAD_VIEW)
		tsr_tile_store(block, narrow, origin, frag);
	else
		tsr_tile_store(block, shared, origin, frag);
}

TSR_FN float place_of(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)x, (void)ctx;
	return (float)(row + col);
}

TSR_FN float twice(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)col, (void)ctx;
	return 2 * x;
}

TSR_FN float row_only(float x, float row_value, const void *ctx)
{
	(void)x, (void)ctx;
	return row_value;
}

TSR_FN float sum_of(float x, float y, const void *ctx)
{
	(void)ctx;
	return x + y;
}

TSR_FN float row_twice(float x, int64_t row, const void *ctx)
{
	(void)row, (void)ctx;
	return 2 * x;
}

TSR_FN void misuse_reduce(tsr_coop_t *block, const misuse_args_t *a)
{
	const tsr_pos_t origin = {0, 0};
	TSR_FRAG(tile, frag, block);
	TSR_FRAG_ROWS(tile, rows, block);
	if (a->misuse == REDUCE_OUTSIDE)
		tsr_reduce(block, frag,
			   tsr_view(a->heap + a->heap_left / sizeof(uint64_t), TSR_F32, 4, 4, 4),
			   origin, TSR_REDUCE_SUM);
#if !defined(__cplusplus) /* where this does not compile */
	else
		tsr_all_reduce(block, rows, tsr_view(a->heap, TSR_F32, 4, 4, 4), origin,
			       TSR_REDUCE_MAX);
#endif
	(void)rows;
}

TSR_FN void misuse_sent(tsr_coop_t *block, const misuse_args_t *a, tile_frag_t *zero)
{
	if (a->misuse == SEND_AS) {
		tsr_frag_send(block, a->heap, zero, TSR_I32, 0);
	} else if (a->misuse == SEND_ALIGNMENT) {
		tsr_frag_send(block, a->heap + 1, zero, TSR_F16, 0);
	} else if (a->misuse == SEND_RANK) {
		tsr_frag_send(block, a->heap, zero, TSR_F16, 2);
	} else {
		tsr_frag_add_sent(block, zero, a->heap, TSR_F32);
	}
}

TSR_FN void misuse_two(tsr_coop_t *block, const misuse_args_t *a)
{
	const tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 4, 4);
	const tsr_pos_t origin = {0, 0};
	TSR_FRAG(tile, zero, block);
	TSR_FRAG(tile, unset, block);
	TSR_FRAG_ROWS(tile, rows, block);
	TSR_FRAG_ROWS(tile, filled, block);
	tsr_frag_zero(block, zero);
	tsr_rows_fill(block, filled, 1);
	if (a->misuse == UNSET_ZIP)
		tsr_frag_zip(block, zero, unset, sum_of, a);
	else if (a->misuse == UNSET_ROWS_MAP)
		tsr_rows_map(block, rows, row_twice, a);
#if !defined(__cplusplus) /* where these do not compile */
	else if (a->misuse == ZIP_KINDS)
		tsr_frag_zip(block, zero, filled, sum_of, a);
	else if (a->misuse == FILL_KIND)
		tsr_rows_fill(block, zero, 1);
#endif
	else if (a->misuse == RESERVED_DTYPE)
		tsr_tile_store(block, tsr_view(a->heap, TSR_F8_E4M3_FNUZ, 4, 4, 4), origin, zero);
	else if (a->misuse == STORE_ADD_DTYPE)
		tsr_store_add(block, tsr_view(a->heap, TSR_F64, 4, 4, 4), origin, zero, 0);
	else if (a->misuse >= REDUCE_OUTSIDE)
		misuse_reduce(block, a);
	else if (a->misuse >= SEND_AS)
		misuse_sent(block, a, zero);
	else if (a->misuse == STORE_ADD_RANK)
		tsr_store_add(block, f32, origin, zero, 2);
	else
		tsr_rows_store(block, f32, origin, filled, 2);
}

/**
 * Fragments that nothing has given values, but for those that a map or a
 * reduction does give some.
 */
TSR_FN void misuse_unset(tsr_coop_t *block, const misuse_args_t *a)
{
	const tsr_view_t f32 = tsr_view(a->heap, TSR_F32, 4, 4, 4);
	const tsr_pos_t origin = {0, 0};
	TSR_FRAG(tile, frag, block);
	TSR_FRAG(tile, mapped, block);
	TSR_FRAG_ROWS(tile, rows, block);
	TSR_FRAG_A(tile, left, block);
	TSR_FRAG_B(tile, right, block);
	TSR_FRAG_BT(tile, transposed, block);
	tsr_frag_map(block, mapped, origin, place_of, a);
	tsr_load(block, left, f32, origin, tsr_rank(block));
	if (a->misuse == UNSET_STORE)
		tsr_tile_store(block, f32, origin, frag);
	else if (a->misuse == UNSET_SAVE)
		tsr_frag_save(block, a->heap, frag);
	else if (a->misuse == UNSET_STORE_ADD)
		tsr_store_add(block, f32, origin, frag, 0);
	else if (a->misuse == UNSET_ADD)
		tsr_frag_add(block, frag, a->heap);
	else if (a->misuse == UNSET_DOT)
		tsr_tile_dot(block, mapped, left, right);
	else if (a->misuse == UNSET_DOT_BT)
		tsr_tile_dot_bt(block, mapped, left, transposed);
	else if (a->misuse == DOT_BT_KIND)
		tsr_tile_dot_bt(block, mapped, left, (tile_bt_t *)right);
	else if (a->misuse == UNSET_MAP)
		tsr_frag_map(block, frag, origin, twice, a);
	else if (a->misuse == UNSET_PRODUCT)
		tsr_gemm_mainloop(block, frag, f32, f32, tsr_whole(origin), TSR_NO_GATE, a);
	else
		tsr_frag_map_rows(block, mapped, rows, row_only, a);
	tsr_frag_reduce_rows(block, rows, mapped, 16, TSR_REDUCE_SUM);
	tsr_frag_map_rows(block, frag, rows, row_only, a);
}

TSR_FN void misuse_marked(tsr_coop_t *block, const misuse_args_t *a)
{
	TSR_HEAP unsigned char *bytes = (TSR_HEAP unsigned char *)a->heap;
	if (a->misuse == PUT_MARKED_RANK)
		tsr_put_marked(block, a->heap, a->heap + 2, 4, 1, 2);
	else if (a->misuse == TAKE_MARKED_ALIGNMENT)
		tsr_take_marked(block, a->heap, (TSR_HEAP uint64_t *)(bytes + 4), 4, 1, 0);
	else if (a->misuse == TAKE_MARKED_RANK)
		tsr_take_marked(block, a->heap, a->heap + 2, 4, 1, 64);
	else
		tsr_take_marked(block, a->heap, (TSR_HEAP uint64_t *)(uintptr_t)64, 8, 1, 0);
}

/** A block's own calls, and those that its worker must not make. */
TSR_FN void misuse_coop(tsr_coop_t *block, const misuse_args_t *a)
{
	tsr_coop_t worker = tsr_split(block);
	if (a->misuse == FLUSH_RANK)
		tsr_flush(block, -3);
	else if (a->misuse == SCAN_IN_HEAP)
		tsr_coop_scan(block, (int32_t *)(uintptr_t)a->heap, 4);
	else if (a->misuse == SPLIT_AGAIN)
		(void)tsr_split(&worker);
	else
		tsr_shared_clear(&worker, (void *)0, 0);
}

TSR_KERNEL(do_wrong, misuse_args_t, a)
{
	TSR_HEAP unsigned char *bytes = (TSR_HEAP unsigned char *)a->heap;
	int which;
	if (tsr_block_index(block) != 1)
		return;
	switch ((misuse_t)a->misuse) {
	case PUT_TO_RANK:
		tsr_put(block, a->heap, a->heap, 16, 9);
		break;
	case PUT_OUTSIDE:
		tsr_put(block, (TSR_HEAP void *)(uintptr_t)64, a->heap, 16, 0);
		break;
	case PUT_PAST_THE_HEAP:
		tsr_put(block, a->heap, a->heap, a->heap_left + 1, 0);
		break;
	case PUT_ALL_OUTSIDE:
		tsr_put_all(block, (TSR_HEAP void *)(uintptr_t)64, a->heap, 16);
		break;
	case ATOMIC_RANK:
		tsr_atomic_add(block, a->heap, (uint64_t)1, -1, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		break;
	case ATOMIC_ALIGNMENT:
		tsr_atomic_max(block, (TSR_HEAP uint64_t *)(bytes + 4), (uint64_t)1, 0, TSR_RELAXED,
			       TSR_SCOPE_SYSTEM);
		break;
	case SIGNAL_RANK:
		tsr_signal(block, a->heap, 1, TSR_SIGNAL_SET, 2);
		break;
	case SIGNAL_OP:
		tsr_signal(block, a->heap, 1, (tsr_signal_op_t)7, 0);
		break;
	case WAIT_OUTSIDE:
		tsr_wait(block, (TSR_HEAP uint64_t *)(uintptr_t)64, 1, 0);
		break;
	case WAIT_FOR_RANK:
		tsr_wait(block, a->heap, 1, 64);
		break;
	case WAIT_FOR_NONE:
		tsr_wait_any(block, a->heap, 0, 0, 1, &which);
		break;
	case FLUSH_RANK:
	case SCAN_IN_HEAP:
	case SPLIT_AGAIN:
	case CLEAR_BY_WORKER:
		misuse_coop(block, a);
		break;
	case UNSET_STORE:
	case UNSET_SAVE:
	case UNSET_ADD:
	case UNSET_DOT:
	case UNSET_DOT_BT:
	case DOT_BT_KIND:
	case UNSET_MAP:
	case UNSET_REDUCE:
	case UNSET_PRODUCT:
	case UNSET_STORE_ADD:
		misuse_unset(block, a);
		break;
	default:
		if (a->misuse >= SYNC_IN_GATE && a->misuse <= GEMM_PLACE)
			misuse_products(block, a);
		else if (a->misuse >= UNSET_ZIP)
			misuse_two(block, a);
		else if (a->misuse >= PUT_MARKED_RANK && a->misuse <= TAKE_MARKED_OUTSIDE)
			misuse_marked(block, a);
		else
			misuse_views(block, a);
		break;
	}
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
		CHECK(run_kernel(world, &do_wrong, 2, &a) == TSR_ERR_KERNEL);
		CHECK(strstr(tsr_last_error(), "kernel do_wrong, block 1, worker 0 of rank 0: "));
		CHECK(strstr(tsr_last_error(), "test_misuse.c:"));
		CHECK(strstr(tsr_last_error(), said[a.misuse]));
	} else {
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	CHECK(tsr_memcpy_from_heap(world, seen, a.heap, sizeof seen) == TSR_OK);
	for (size_t i = 0; i < sizeof seen; i++)
		CHECK(seen[i] == POISON, "the operation is skipped");
	return witness();
}

Test(misuse, every_kind_is_named)
{
	char number[16];
	for (int i = 0; i < MISUSES; i++) {
		snprintf(number, sizeof number, "%d", i);
		ended_both(2, misuse_body, number, said[i]);
	}
}

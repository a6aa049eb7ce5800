/*
 * bounds KIND: a call that leaves the allocation that it was given, for another
 * one or for none. The tensor has ROWS rows; behind it lies one of the same
 * size. A view of more rows than the tensor has is what goes wrong.
 *
 *     store load masked  tiles, the last of which begins inside
 *     load-16            tiles of f16 from the end on
 *     far                a tile as far behind the end as the tensor is long, in
 *                        the neighbour
 *     put_2d get_2d copy_2d
 *     put                by pointers
 *     gemm               an operand
 *     atomic signal      of the word behind the last one
 *     slab               that is declared
 *     right              the last row alone is the tensor's, and a mask keeps
 *                        to it; a part of a view; the neighbour itself
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum {
	STORE,
	LOAD,
	MASKED,
	LOAD_16,
	FAR,
	PUT_2D,
	GET_2D,
	COPY_2D,
	PUT,
	GEMM,
	ATOMIC,
	SIGNAL,
	SLAB,
	RIGHT,
	KINDS
};
static const char *const kinds[KINDS] = {"store",  "load",   "masked",  "load-16", "far",
					 "put_2d", "get_2d", "copy_2d", "put",     "gemm",
					 "atomic", "signal", "slab",    "right"};

enum { ROWS = 40, COLS = 64, TILE = 16 };
TSR_TILE(f32_tile, f32, 16, 16, 16);
TSR_TILE(f16_tile, f16, 16, 16, 16);

typedef struct bounds_args {
	TSR_HEAP float *tensor, *other, *behind;
	int32_t kind, reserved;
} bounds_args_t;

TSR_FN int first_rows(int64_t row, int64_t col, const void *ctx)
{
	(void)col, (void)ctx;
	return row < ROWS;
}

TSR_FN int all_rows(int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)col, (void)ctx;
	return 1;
}

TSR_FN void move_tiles(tsr_coop_t *block, int kind, tsr_view_t wide, int next)
{
	TSR_FRAG(f32_tile, tile, block);
	TSR_FRAG_A(f16_tile, half, block);
	const tsr_pos_t last = {ROWS - TILE / 2, 0}, end = {ROWS, 0};
	tsr_frag_zero(block, tile);
	if (kind == STORE)
		tsr_store(block, wide, last, tile, next);
	else if (kind == MASKED)
		tsr_store_masked(block, wide, last, tile, all_rows, (const void *)0, next);
	else if (kind == RIGHT)
		tsr_store_masked(block, wide, last, tile, first_rows, (const void *)0, next);
	else if (kind == LOAD)
		tsr_load(block, tile, wide, last, next);
	else if (kind == FAR)
		tsr_store(block, tsr_view(wide.data, TSR_F32, 3 * ROWS, COLS, COLS),
			  (tsr_pos_t){2 * ROWS, 0}, tile, next);
	else if (kind == LOAD_16)
		tsr_load(block, half, tsr_view(wide.data, TSR_F16, 2 * ROWS, 2 * COLS, 2 * COLS),
			 end, next);
}

TSR_FN void multiply(tsr_coop_t *block, tsr_view_t wide, tsr_view_t whole)
{
	TSR_FRAG(f32_tile, acc, block);
	const tsr_pos_t last = {ROWS - TILE / 2, 0};
	tsr_frag_zero(block, acc);
	tsr_gemm_mainloop(block, acc, wide, tsr_view_part(whole, (tsr_pos_t){0, 0}, TILE, TILE),
			  (tsr_part_t){last, 0, TILE, 0}, TSR_NO_GATE, NULL);
}

TSR_KERNEL(leave_bounds, bounds_args_t, a)
{
	const int kind = a->kind, next = (tsr_rank(block) + 1) % tsr_size(block);
	const tsr_view_t whole = tsr_view(a->tensor, TSR_F32, ROWS, COLS, COLS),
			 other = tsr_view(a->other, TSR_F32, 2 * ROWS, COLS, COLS);
	const tsr_view_t wide = tsr_view(a->tensor, TSR_F32, ROWS + 1, COLS, COLS);
	TSR_HEAP float *end = a->tensor + (int64_t)ROWS * COLS;
	move_tiles(block, kind, wide, next);
	if (kind == PUT_2D)
		tsr_put_2d(block, wide, other, next);
	else if (kind == GET_2D)
		tsr_get_2d(block, other, wide, next);
	else if (kind == COPY_2D)
		tsr_copy_2d(block, other, next, wide, next);
	else if (kind == PUT)
		tsr_put(block, a->tensor, a->other, (ROWS + 1) * COLS * sizeof(float), next);
	else if (kind == GEMM)
		multiply(block, tsr_view(a->tensor, TSR_F32, ROWS + 1, TILE, COLS), whole);
	else if (kind == ATOMIC)
		tsr_atomic_add(block, (TSR_HEAP uint32_t *)end, 1u, next, TSR_RELAXED,
			       TSR_SCOPE_SYSTEM);
	else if (kind == SIGNAL)
		tsr_signal(block, (TSR_HEAP uint64_t *)end, 1, TSR_SIGNAL_SET, next);
	else if (kind == SLAB)
		tsr_declare_writes(block, wide);
	else if (kind == RIGHT)
		tsr_put_2d(block, tsr_view(a->behind, TSR_F32, ROWS, COLS, COLS),
			   tsr_view_part(other, (tsr_pos_t){ROWS / 2, 0}, ROWS, COLS), next);
	tsr_flush(block, next);
}

/** A tensor of zeros. */
static tsr_status_t zeros(tsr_world_t *world, int64_t rows, const char *name, TSR_HEAP float **out)
{
	const size_t bytes = (size_t)(rows * COLS) * sizeof(float);
	TSR_HEAP void *memory;
	TSR_TRY(tsr_heap_alloc(world, bytes, 0, name, &memory));
	*out = (TSR_HEAP float *)memory;
	return tsr_memset_heap(world, memory, 0, bytes);
}

TSR_MAIN(world, argc, argv)
{
	bounds_args_t args = {NULL, NULL, NULL, 0, 0};
	tsr_stream_t *stream;
	args.kind = planted_kind(argc, argv, kinds, KINDS);
	if (args.kind == KINDS) {
		fprintf(stderr, "bounds: say one of the kinds\n");
		return 2;
	}
	TSR_TRY(zeros(world, 2 * ROWS, "other", &args.other));
	TSR_TRY(zeros(world, ROWS, "tensor", &args.tensor));
	TSR_TRY(zeros(world, ROWS, "behind", &args.behind));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_launch(stream, &leave_bounds, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}

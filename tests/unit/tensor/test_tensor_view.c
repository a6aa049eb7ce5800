/* Views of tensors, of their matrices, and of raw memory. */
#include "world_test.h"

static int view_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t matrix, row, cube;
	tsr_view_t view = {0};
	CHECK(tsr_tensor_empty(world, TSR_BF16, 2, (int64_t[]){91, 73}, &matrix) == TSR_OK);
	CHECK(tsr_tensor_empty(world, TSR_U8, 1, (int64_t[]){37}, &row) == TSR_OK);
	CHECK(tsr_tensor_empty(world, TSR_F32, 3, (int64_t[]){3, 5, 7}, &cube) == TSR_OK);
	CHECK(tsr_tensor_view(&matrix, &view) == TSR_OK);
	CHECK(view.data == matrix.data && view.rows == 91 && view.cols == 73 && view.ld == 73 &&
	      view.dtype == TSR_BF16 && view.space == TSR_SPACE_HEAP);
	CHECK(tsr_tensor_view(&row, &view) == TSR_OK);
	CHECK(view.rows == 1 && view.cols == 37 && view.ld >= 37 && view.dtype == TSR_U8);
	matrix.shape[1] = 10; /* the first ten columns */
	CHECK(tsr_tensor_view(&matrix, &view) == TSR_OK);
	CHECK(view.cols == 10 && view.ld == 73);
	CHECK(tsr_tensor_view(&cube, &view) == TSR_ERR_ARGUMENT);
	matrix.stride[1] = 2;
	CHECK(tsr_tensor_view(&matrix, &view) == TSR_ERR_ARGUMENT);
	matrix.stride[1] = 1;
	matrix.stride[0] = 9;
	CHECK(tsr_tensor_view(&matrix, &view) == TSR_ERR_ARGUMENT);
	CHECK(strstr(tsr_last_error(), "overlap") != NULL);
	CHECK(view.cols == 10, "written on failure");
	CHECK(tsr_tensor_view(NULL, &view) == TSR_ERR_ARGUMENT);
	return 0;
}

/** The part of a rank that has no rows, or no columns: nowhere, and of the shape that it has. */
static int empty_part_body(tsr_world_t *world, int argc, char **argv)
{
	const int64_t shapes[][2] = {{0, 5}, {5, 0}, {0, 0}};
	(void)argc, (void)argv;
	for (int i = 0; i < 3; i++) {
		const int64_t *shape = shapes[i];
		tsr_tensor_t part = {.dtype = TSR_F32,
				     .dims = 2,
				     .shape = {shape[0], shape[1]},
				     .stride = {9, 1}};
		tsr_view_t view = {0};
		float host = 7;
		CHECK(tsr_tensor_view(&part, &view) == TSR_OK);
		CHECK(view.rows == shape[0] && view.cols == shape[1] && view.dtype == TSR_F32);
		CHECK(tsr_tensor_read(world, &part, &host) == TSR_OK && host == 7);
		CHECK(tsr_tensor_write(world, &part, &host) == TSR_OK);
		part.shape[0] = -1;
		CHECK(tsr_tensor_view(&part, &view) == TSR_ERR_ARGUMENT);
		CHECK(strstr(tsr_last_error(), "must be 0 or more") != NULL, "%s",
		      tsr_last_error());
		CHECK(tsr_tensor_read(world, &part, &host) == TSR_ERR_ARGUMENT);
	}
	return 0;
}

Test(tensor_view, parts_may_be_empty)
{
	cr_expect_eq(world_run(1, TSR_PLACE_THREAD, empty_part_body, NULL), 0);
}

Test(tensor_view, views)
{
	cr_expect_eq(world_run(1, TSR_PLACE_THREAD, view_body, NULL), 0);
}

static int view_at_body(tsr_world_t *world, int argc, char **argv)
{
	const int64_t shape[TSR_MAX_DIMS] = {2, 1, 3, 2, 1, 2, 5, 7}, plain[] = {5, 7};
	int64_t at[TSR_MAX_DIMS - 2], index = 0;
	float values[24 * 35], seen[35];
	tsr_tensor_t tensor, matrix;
	tsr_view_t view;
	(void)argc, (void)argv;
	CHECK(tsr_tensor_empty(world, TSR_F32, TSR_MAX_DIMS, shape, &tensor) == TSR_OK);
	CHECK(tsr_tensor_empty(world, TSR_F32, 2, plain, &matrix) == TSR_OK);
	for (int i = 0; i < 24 * 35; i++)
		values[i] = (float)(i + tsr_world_rank(world));
	CHECK(tsr_tensor_write(world, &tensor, values) == TSR_OK);
	for (int64_t i = 0; i < 24; i++) {
		const int64_t next[] = {i / 12, 0, i / 4 % 3, i / 2 % 2, 0, i % 2};
		memcpy(at, next, sizeof at);
		CHECK(tsr_tensor_view_at(&tensor, at, &view) == TSR_OK);
		CHECK(view.rows == 5 && view.cols == 7 && view.ld == 7 && view.dtype == TSR_F32 &&
		      view.space == TSR_SPACE_HEAP);
		CHECK(tsr_memcpy_from_heap(world, seen, view.data, sizeof seen) == TSR_OK);
		CHECK(memcmp(seen, values + index, sizeof seen) == 0, "matrix %d", (int)i);
		index += 35;
	}
	CHECK(tsr_tensor_view_at(&matrix, NULL, &view) == TSR_OK && view.data == matrix.data);
	for (int i = 0; i < TSR_MAX_DIMS - 2; i++) {
		memset(at, 0, sizeof at);
		at[i] = shape[i];
		CHECK(tsr_tensor_view_at(&tensor, at, &view) == TSR_ERR_ARGUMENT);
		at[i] = -1;
		CHECK(tsr_tensor_view_at(&tensor, at, &view) == TSR_ERR_ARGUMENT);
	}
	CHECK(tsr_tensor_view_at(&tensor, NULL, &view) == TSR_ERR_ARGUMENT &&
		      view.data == matrix.data,
	      "written on failure");
	CHECK(strstr(tsr_last_error(), "Give 6 coordinates"));
	CHECK(tsr_tensor_view(&tensor, &view) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "tsr_tensor_view_at"));
	tensor.stride[0] = INT64_MAX;
	at[5] = 1;
	at[0] = 1;
	CHECK(tsr_tensor_view_at(&tensor, at, &view) == TSR_ERR_ARGUMENT);
	return 0;
}

Test(tensor_view, views_of_matrices)
{
	world_each(view_at_body, NULL);
}

static int heap_view_body(tsr_world_t *world, int argc, char **argv)
{
	TSR_HEAP void *heap, *other;
	tsr_view_t view = {0};
	(void)argc, (void)argv;
	CHECK(tsr_heap_alloc(world, 1000, 0, "raw", &heap) == TSR_OK &&
	      tsr_heap_alloc(world, 4000, 0, "behind", &other) == TSR_OK);
	TSR_HEAP unsigned char *raw = (TSR_HEAP unsigned char *)heap;
	/* 6 rows of 35 elements, 41 apart: 240 elements; 10 before them */
	CHECK(tsr_heap_view(world, raw + 40, TSR_F32, 6, 35, 41, &view) == TSR_OK);
	CHECK(view.data == raw + 40 && view.rows == 6 && view.cols == 35 && view.ld == 41 &&
	      view.dtype == TSR_F32 && view.space == TSR_SPACE_HEAP);
	CHECK(tsr_heap_view(world, raw + 40, TSR_F32, 1, 240, 240, &view) == TSR_OK,
	      "to the last byte");
	CHECK(tsr_heap_view(world, raw + 44, TSR_F32, 6, 35, 41, &view) == TSR_ERR_ARGUMENT,
	      "4 bytes behind the end");
	CHECK(tsr_heap_view(world, raw + 40, TSR_F32, 1, 241, 241, &view) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_view(world, raw + 42, TSR_F32, 1, 1, 1, &view) == TSR_ERR_ARGUMENT);
	CHECK(strstr(tsr_last_error(), "behind the begin of its allocation") &&
		      strstr(tsr_last_error(), "f32"),
	      "%s", tsr_last_error());
	CHECK(tsr_heap_view(world, raw + 42, TSR_BF16, 1, 1, 1, &view) == TSR_OK);
	CHECK(tsr_heap_view(world, raw, TSR_U8, 2, 8, 7, &view) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "overlap"));
	CHECK(tsr_heap_view(world, raw, TSR_U8, 0, 8, 8, &view) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_view(world, raw, TSR_U8, 2, 8, INT64_MAX, &view) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_view(world, raw, TSR_F64, 2, 8, INT64_MAX / 4, &view) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_view(world, NULL, TSR_U8, 1, 1, 1, &view) == TSR_ERR_ARGUMENT);
	CHECK(tsr_heap_view(NULL, raw, TSR_U8, 1, 1, 1, &view) == TSR_ERR_ARGUMENT);
	CHECK(view.dtype == TSR_BF16, "written on failure");
	return 0;
}

Test(tensor_view, views_of_raw_memory)
{
	world_each(heap_view_body, NULL);
}

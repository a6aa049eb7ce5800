/*
 * Shapes and values that cannot be: one sentence that names what is wrong, on
 * every rank, and a world that goes on.
 */
#include <math.h>

#include "world_test.h"

static bool says(const char *text)
{
	return strstr(tsr_last_error(), text) != NULL;
}

/* ------------------------------------------------------------------ shapes */

static const struct {
	tsr_dtype_t dtype;
	int dims;
	int64_t shape[TSR_MAX_DIMS];
	const char *sentence;
} bad_shapes[] = {
	{TSR_F32, 2, {0, 8}, "extent 0 of f32 [0, 8] is 0"},
	{TSR_F32, 3, {8, 8, -3}, "extent 2 of f32 [8, 8, -3] is -3"},
	{TSR_F32, 2, {8, INT64_MIN}, "extent 1"},
	{TSR_F32,
	 2,
	 {INT64_C(1) << 32, INT64_C(1) << 31},
	 "extent 1 (2147483648) its size overflows"},
	{TSR_BF16, 3, {1, INT64_MAX / 2, 3}, "extent 2 (3) its size overflows"},
	{TSR_F64, 1, {INT64_MAX / 4}, "extent 0"},
	{TSR_F32, 0, {1}, "0 dimensions"},
	{TSR_F32, 9, {1}, "9 dimensions"},
	{TSR_F32, -1, {1}, "-1 dimensions"},
	{(tsr_dtype_t)12, 1, {1}, "element type 12"},
	{TSR_F8_E4M3, 1, {1}, "element type f8_e4m3, which is reserved"},
};

static int shapes_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t tensor = {.dims = 77};
	for (size_t i = 0; i < sizeof bad_shapes / sizeof *bad_shapes; i++) {
		const tsr_dtype_t dtype = bad_shapes[i].dtype;
		const int dims = bad_shapes[i].dims;
		const int64_t *shape = bad_shapes[i].shape;
		CHECK(tsr_tensor_zeros(world, dtype, dims, shape, &tensor) == TSR_ERR_ARGUMENT);
		CHECK(says(bad_shapes[i].sentence) && says("tsr_tensor_zeros"), "expected: %s",
		      bad_shapes[i].sentence);
		CHECK(tsr_tensor_empty(world, dtype, dims, shape, &tensor) == TSR_ERR_ARGUMENT);
		CHECK(tsr_tensor_full(world, dtype, dims, shape, 3, &tensor) == TSR_ERR_ARGUMENT);
		CHECK(tsr_tensor_randn(world, dtype, dims, shape, 1, &tensor) == TSR_ERR_ARGUMENT);
		CHECK(says(bad_shapes[i].sentence) && says("tsr_tensor_randn"), "expected: %s",
		      bad_shapes[i].sentence);
		CHECK(tsr_tensor_randint(world, dtype, dims, shape, 0, 2, 1, &tensor) ==
		      TSR_ERR_ARGUMENT);
		CHECK(tsr_tensor_uniform(world, dtype, dims, shape, 0, 2, 1, &tensor) ==
		      TSR_ERR_ARGUMENT);
	}
	CHECK(tsr_tensor_zeros(world, TSR_F32, 2, NULL, &tensor) == TSR_ERR_ARGUMENT &&
	      says("null for the shape"));
	CHECK(tsr_tensor_zeros_like(world, NULL, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_zeros(world, TSR_F32, 1, (int64_t[]){1}, NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_zeros(NULL, TSR_F32, 1, (int64_t[]){1}, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_linspace(world, TSR_F32, 0, 1, 0, &tensor) == TSR_ERR_ARGUMENT &&
	      says("extent 0"));
	CHECK(tensor.dims == 77, "written on failure");
	CHECK(tsr_tensor_zeros(world, TSR_F32, 1, (int64_t[]){1}, &tensor) == TSR_OK,
	      "the world goes on");
	tsr_heap_usage_t usage = {.size = sizeof usage};
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK && usage.allocations == 1);
	return 0;
}

Test(tensor_errors, shapes_that_are_none)
{
	world_each(shapes_body, NULL);
}

/* ------------------------------------------------------------------ values */

static int values_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int64_t n = 4;
	tsr_tensor_t tensor = {.dims = 77};
	CHECK(tsr_tensor_full(world, TSR_U8, 1, &n, 256, &tensor) == TSR_ERR_ARGUMENT &&
	      says("u8 cannot hold 256"));
	CHECK(tsr_tensor_full(world, TSR_I8, 1, &n, 2.5, &tensor) == TSR_ERR_ARGUMENT &&
	      says("i8 cannot hold 2.5"));
	CHECK(tsr_tensor_full(world, TSR_I64, 1, &n, 0x1p63, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_full(world, TSR_I32, 1, &n, NAN, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_full(world, TSR_F16, 1, &n, 65520, &tensor) == TSR_ERR_ARGUMENT &&
	      says("f16 cannot hold 65520"));
	CHECK(tsr_tensor_arange(world, TSR_I8, 0, 200, 1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("i8 cannot hold 199"));
	CHECK(tsr_tensor_arange(world, TSR_I32, 0, 2, 0.5, &tensor) == TSR_ERR_ARGUMENT &&
	      says("steps of 0.5"));
	CHECK(tsr_tensor_arange(world, TSR_F32, 0, 1, 0, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_arange(world, TSR_F32, 0, 1, -1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("no elements"));
	CHECK(tsr_tensor_arange(world, TSR_F32, 0, INFINITY, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_arange(world, TSR_F32, 0, NAN, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_arange(world, TSR_F64, 1e300, 1.1e300, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_arange(world, TSR_I64, 0, 1, 1e300, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_linspace(world, TSR_U8, 0, 256, 5, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_linspace(world, TSR_F64, -1e308, 1e308, 5, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_rand(world, TSR_I32, 1, &n, 1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("i32"));
	CHECK(tsr_tensor_randn(world, TSR_U8, 1, &n, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_uniform(world, TSR_I64, 1, &n, 0, 9, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_uniform(world, TSR_F32, 1, &n, 1, 1, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_uniform(world, TSR_F32, 1, &n, NAN, 1, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_uniform(world, TSR_F16, 1, &n, 0, 1e6, 1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("f16 cannot hold"));
	CHECK(tsr_tensor_uniform(world, TSR_BF16, 1, &n, 1001, 1003, 1, &tensor) ==
		      TSR_ERR_ARGUMENT &&
	      says("there is no bf16"));
	CHECK(tsr_tensor_randint(world, TSR_I32, 1, &n, 5, 5, 1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("below high"));
	CHECK(tsr_tensor_randint(world, TSR_U8, 1, &n, 0, 257, 1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("u8"));
	CHECK(tsr_tensor_randint(world, TSR_BF16, 1, &n, 0, 258, 1, &tensor) == TSR_ERR_ARGUMENT &&
	      says("bf16"));
	CHECK(tsr_tensor_randint(world, TSR_F16, 1, &n, -2049, 0, 1, &tensor) == TSR_ERR_ARGUMENT);
	CHECK(tensor.dims == 77, "written on failure");
	CHECK(tsr_tensor_full(world, TSR_F16, 1, &n, INFINITY, &tensor) == TSR_OK,
	      "infinity is a value, where it is meant");
	CHECK(tsr_tensor_full(world, TSR_F16, 1, &n, 65519, &tensor) == TSR_OK);
	return 0;
}

Test(tensor_errors, values_that_the_dtype_cannot_hold)
{
	world_each(values_body, NULL);
}

/* ------------------------------------------------------------------ ranks that differ */

static int differ_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int last = tsr_world_size(world) - 1;
	const bool odd = tsr_world_rank(world) == last;
	const int64_t n = 4, mine = odd ? 5 : 4, bad = odd ? 0 : 4;
	tsr_tensor_t tensor = {.dims = 77};
	if (last == 0)
		return 0;
	CHECK(tsr_tensor_zeros(world, TSR_F32, 1, &mine, &tensor) == TSR_ERR_MISMATCH &&
	      says("f32 [4]") && says("f32 [5]"));
	CHECK(tsr_tensor_zeros(world, odd ? TSR_I32 : TSR_F32, 1, &n, &tensor) ==
		      TSR_ERR_MISMATCH &&
	      says("i32 [4]"));
	CHECK(tsr_tensor_zeros(world, TSR_F32, 1, &bad, &tensor) == TSR_ERR_MISMATCH &&
	      says("f32 [0]"));
	CHECK(tsr_tensor_arange(world, TSR_F32, 0, odd ? -4 : 4, 1, &tensor) == TSR_ERR_MISMATCH);
	/* Values may differ, so one that is wrong is no mismatch: each rank hears whose fault it
	 * is. */
	CHECK(tsr_tensor_full(world, TSR_U8, 1, &n, odd ? 300 : 3, &tensor) == TSR_ERR_ARGUMENT);
	char rank[24];
	snprintf(rank, sizeof rank, "rank %d failed", last);
	CHECK(says(odd ? "u8 cannot hold 300" : rank));
	CHECK(tensor.dims == 77, "written on failure");
	tsr_heap_usage_t usage = {.size = sizeof usage};
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK && usage.allocations == 0,
	      "nothing is left of what failed");
	CHECK(tsr_tensor_full(world, TSR_U8, 1, &n, odd ? 255 : 3, &tensor) == TSR_OK,
	      "the world goes on");
	tsr_tensor_t outside = tensor;
	outside.data = (TSR_HEAP void *)(uintptr_t)64;
	CHECK(tsr_tensor_free(world, &outside) == TSR_ERR_NOT_FOUND && says("tsr_tensor_free"),
	      "%s", tsr_last_error());
	CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
	return 0;
}

Test(tensor_errors, ranks_that_differ)
{
	world_each(differ_body, NULL);
}

static int no_room_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t tensor = {.dims = 77};
	CHECK(tsr_tensor_rand(world, TSR_F64, 2, (int64_t[]){1000, 1000}, 1, &tensor) ==
	      TSR_ERR_NO_MEMORY);
	CHECK(says("8000000") && says("f64 [1000, 1000]") && says("TESSERA_HEAP_SIZE") &&
	      tensor.dims == 77);
	CHECK(tsr_tensor_rand(world, TSR_F64, 2, (int64_t[]){100, 100}, 1, &tensor) == TSR_OK);
	return 0;
}

Test(tensor_errors, no_room)
{
	setenv("TESSERA_HEAP_SIZE", "1M", 1);
	world_each(no_room_body, NULL);
	unsetenv("TESSERA_HEAP_SIZE");
}

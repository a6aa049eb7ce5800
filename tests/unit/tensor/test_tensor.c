/* Tensors: every constructor in every dtype, at every world size, to the last bit. */
#include <inttypes.h>
#include <math.h>

#include "world_test.h"

static const tsr_dtype_t all_dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16,
					 TSR_I64, TSR_I32, TSR_I8,  TSR_U8};
enum { DTYPES = sizeof all_dtypes / sizeof *all_dtypes };
static const int64_t odd_shape[] = {3, 7, 11};

static bool is_float(tsr_dtype_t dtype)
{
	return dtype <= TSR_BF16;
}

/* The tensor's elements on the host, for the caller to free; null where they cannot be read. */
static void *elements_of(tsr_world_t *world, const tsr_tensor_t *tensor)
{
	const size_t bytes = (size_t)tsr_tensor_count(tensor) * tsr_dtype_bytes(tensor->dtype);
	void *host = malloc(bytes);
	memset(host, 0xA5, bytes);
	if (tsr_tensor_read(world, tensor, host) == TSR_OK)
		return host;
	free(host);
	return NULL;
}

/*
 * Reads, frees, and compares each element with `expected(i)`; -1 where all
 * agree, else the first that does not.
 */
static int64_t first_wrong(tsr_world_t *world, tsr_tensor_t *tensor,
			   double (*expected)(tsr_dtype_t, int64_t))
{
	void *host = elements_of(world, tensor);
	const int64_t count = tsr_tensor_count(tensor);
	int64_t wrong = host ? -1 : 0;
	for (int64_t i = 0; i < count && wrong < 0; i++)
		if (tsr_dtype_get(tensor->dtype, host, (size_t)i) != expected(tensor->dtype, i))
			wrong = i;
	free(host);
	return tsr_tensor_free(world, tensor) == TSR_OK ? wrong : 0;
}

/* `value` as the dtype holds it. */
static double rounded(tsr_dtype_t dtype, double value)
{
	uint64_t element;
	tsr_dtype_set(dtype, &element, 0, value);
	return tsr_dtype_get(dtype, &element, 0);
}

/* ------------------------------------------------------------------ constants and shapes */

static double zero(tsr_dtype_t dtype, int64_t i)
{
	(void)dtype, (void)i;
	return 0;
}

static double one(tsr_dtype_t dtype, int64_t i)
{
	(void)dtype, (void)i;
	return 1;
}

static double hundred_and_a_bit(tsr_dtype_t dtype, int64_t i)
{
	(void)i;
	return rounded(dtype, is_float(dtype) ? 100.1 : 100);
}

static int constants_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int d = 0; d < DTYPES; d++) {
		const tsr_dtype_t dtype = all_dtypes[d];
		tsr_tensor_t tensor, like;
		CHECK(tsr_tensor_zeros(world, dtype, 3, odd_shape, &tensor) == TSR_OK);
		CHECK(tensor.dims == 3 && tensor.dtype == dtype &&
		      tsr_tensor_count(&tensor) == 231);
		CHECK(tensor.stride[0] == 77 && tensor.stride[1] == 11 && tensor.stride[2] == 1);
		CHECK(memcmp(tensor.shape, odd_shape, sizeof odd_shape) == 0);
		CHECK(tsr_tensor_zeros_like(world, &tensor, &like) == TSR_OK);
		CHECK(like.data != tensor.data &&
		      memcmp(like.shape, tensor.shape, sizeof like.shape) == 0);
		CHECK(first_wrong(world, &like, zero) < 0);
		CHECK(first_wrong(world, &tensor, zero) < 0);
		CHECK(tensor.data == NULL && tensor.dims == 0, "freed and cleared");
		CHECK(tsr_tensor_free(world, &tensor) == TSR_OK, "and may be freed again");
		CHECK(tsr_tensor_ones(world, dtype, 3, odd_shape, &tensor) == TSR_OK);
		CHECK(first_wrong(world, &tensor, one) < 0, "%s", tsr_dtype_name(dtype));
		CHECK(tsr_tensor_full(world, dtype, 3, odd_shape, is_float(dtype) ? 100.1 : 100,
				      &tensor) == TSR_OK);
		CHECK(first_wrong(world, &tensor, hundred_and_a_bit) < 0, "%s",
		      tsr_dtype_name(dtype));
	}
	return 0;
}

Test(tensor, zeros_ones_full)
{
	world_each(constants_body, NULL);
}

static int empty_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int64_t deep[] = {1, 2, 1, 3, 1, 1, 5, 1};
	tsr_tensor_t tensor;
	const char *name;
	size_t offset;
	CHECK(tsr_tensor_empty(world, TSR_F16, 8, deep, &tensor) == TSR_OK);
	CHECK(tsr_tensor_count(&tensor) == 30 && tensor.stride[0] == 30 && tensor.stride[7] == 1);
	uint16_t *host = elements_of(world, &tensor);
	for (int i = 0; i < 30; i++)
		CHECK(isnan(tsr_f16_to_f32(host[i])), "nobody has written it, so it is poisoned");
	free(host);
	CHECK(tsr_heap_find(world, tensor.data, &name, &offset) == TSR_OK);
	CHECK(strcmp(name, "tensor") == 0, "%s", name);
	/* the names differ between ranks, and they release it all the same */
	const bool first = tsr_world_rank(world) == 0;
	CHECK(tsr_tensor_name(world, &tensor, first ? "deep" : "deeper") == TSR_OK);
	CHECK(tsr_heap_find(world, tensor.data, &name, &offset) == TSR_OK);
	CHECK(strcmp(name, first ? "deep" : "deeper") == 0, "%s", name);
	CHECK(tsr_tensor_name(world, &tensor, "") == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_name(world, NULL, "none") == TSR_ERR_ARGUMENT);
	tsr_tensor_t elsewhere = {.data = (TSR_HEAP void *)&tensor};
	CHECK(tsr_tensor_name(world, &elsewhere, "none") == TSR_ERR_NOT_FOUND);
	return tsr_tensor_free(world, &tensor) == TSR_OK ? 0 : 1;
}

Test(tensor, empty_of_eight_dimensions)
{
	world_each(empty_body, NULL);
}

/*
 * Values may differ between ranks, and those of all ranks are there when the
 * constructor returns.
 */
static int own_values_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t tensor;
	CHECK(tsr_tensor_full(world, TSR_I32, 1, (int64_t[]){4}, tsr_world_rank(world) + 10,
			      &tensor) == TSR_OK);
	for (int r = 0;
	     r < tsr_world_size(world) && strcmp(tsr_world_backend(world), "cpuemu") == 0; r++) {
		TSR_HEAP void *peer;
		int32_t found[4];
		CHECK(tsr_heap_translate(world, tensor.data, r, &peer) == TSR_OK);
		memcpy(found, (const void *)(uintptr_t)peer, sizeof found);
		CHECK(found[0] == r + 10 && found[3] == r + 10, "%d in the copy of rank %d",
		      found[0], r);
	}
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}

Test(tensor, each_rank_its_own_values)
{
	world_each(own_values_body, NULL);
}

/* ------------------------------------------------------------------ sequences */

static double counting(tsr_dtype_t dtype, int64_t i)
{
	(void)dtype;
	return (double)(3 + 4 * i);
}

/*
 * 64 bits hold i * 0.1 exactly: of the two elements around it the nearer is the
 * one that was rounded once.
 */
static double tenths(tsr_dtype_t dtype, int64_t i)
{
	const long double exact = (long double)0.1 * (long double)i;
	if (dtype == TSR_F64)
		return (double)exact;
	const double below = rounded(dtype, nextafter((double)exact, -INFINITY)),
		     above = rounded(dtype, nextafter((double)exact, INFINITY));
	return fabsl(below - exact) < fabsl(above - exact) ? below : above;
}

static int arange_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t tensor;
	for (int d = 0; d < DTYPES; d++) {
		const tsr_dtype_t dtype = all_dtypes[d];
		CHECK(tsr_tensor_arange(world, dtype, 3, 127, 4, &tensor) == TSR_OK);
		CHECK(tsr_tensor_count(&tensor) == 31, "3 to 123: 127 is the end and not included");
		CHECK(first_wrong(world, &tensor, counting) < 0, "%s", tsr_dtype_name(dtype));
		CHECK(tsr_tensor_arange(world, dtype, 100, 0, -7, &tensor) == TSR_OK);
		CHECK(tsr_tensor_count(&tensor) == 15);
		void *host = elements_of(world, &tensor);
		CHECK(tsr_dtype_get(dtype, host, 0) == 100 && tsr_dtype_get(dtype, host, 14) == 2);
		free(host);
		CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
		if (!is_float(dtype))
			continue;
		CHECK(tsr_tensor_arange(world, dtype, 0, 150, 0.1, &tensor) == TSR_OK);
		CHECK(tsr_tensor_count(&tensor) == 1500);
		const int64_t wrong = first_wrong(world, &tensor, tenths);
		CHECK(wrong < 0, "%s: element %" PRId64, tsr_dtype_name(dtype), wrong);
	}
	return 0;
}

Test(tensor, arange)
{
	world_each(arange_body, NULL);
}

static int arange_edges_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t tensor;
	/* 3 * step is 2^54 + 2^30 + 1: a little above the middle between two floats, which the
	 * nearest double hits. */
	const double step = (double)((((INT64_C(1) << 24) + 1) * (INT64_C(1) << 30) + 1) / 3);
	CHECK(tsr_tensor_arange(world, TSR_F32, 0, 3.5 * step, step, &tensor) == TSR_OK);
	float *floats = elements_of(world, &tensor);
	CHECK(tsr_tensor_count(&tensor) == 4 && floats[3] == 0x1p54f + 0x1p31f,
	      "%a was rounded twice", (double)floats[3]);
	free(floats);
	/* Below 2^63 not every integer is a double; the elements are exact all the same. */
	CHECK(tsr_tensor_arange(world, TSR_I64, -0x1p62, -0x1p62 + 4096, 1, &tensor) == TSR_OK);
	int64_t *integers = elements_of(world, &tensor);
	for (int64_t i = 0; i < tsr_tensor_count(&tensor); i++)
		CHECK(integers[i] == -(INT64_C(1) << 62) + i);
	free(integers);
	/* A quotient would say 2^43: the step is far below the distance of neighbouring doubles. */
	CHECK(tsr_tensor_arange(world, TSR_F64, 0x1p53, 0x1p53 + 2, 0x1p-18, &tensor) == TSR_OK);
	CHECK(tsr_tensor_count(&tensor) == (1 << 18) + 1, "%" PRId64, tsr_tensor_count(&tensor));
	CHECK(tsr_tensor_arange(world, TSR_F64, 1, 1.3, 0.1, &tensor) == TSR_OK);
	CHECK(tsr_tensor_count(&tensor) == 3,
	      "1 + 3 * 0.1 is 1.3, though a quotient says 3.0000000000000004");
	return 0;
}

Test(tensor, arange_rounds_once_and_counts_exactly)
{
	world_each(arange_edges_body, NULL);
}

static int linspace_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t tensor;
	for (int d = 0; d < DTYPES; d++) {
		const tsr_dtype_t dtype = all_dtypes[d];
		const double begin = dtype == TSR_U8 ? 255 : -100,
			     end = is_float(dtype) ? 27.3 : 27;
		for (int64_t count = 1; count <= 1000; count = count * 3 + 1) {
			CHECK(tsr_tensor_linspace(world, dtype, begin, end, count, &tensor) ==
			      TSR_OK);
			void *host = elements_of(world, &tensor);
			const double first = tsr_dtype_get(dtype, host, 0),
				     last = tsr_dtype_get(dtype, host, (size_t)count - 1);
			CHECK(first == begin && (count == 1 || last == rounded(dtype, end)),
			      "%s: %g to %g", tsr_dtype_name(dtype), first, last);
			for (int64_t i = 0; i < count; i++) {
				const double exact = count == 1
							     ? begin
							     : begin + (end - begin) * (double)i /
									       (double)(count - 1);
				const double allowed =
					is_float(dtype) ? fabs(exact) * 0x1p-8 + 1e-9 : 0.51;
				CHECK(fabs(tsr_dtype_get(dtype, host, (size_t)i) - exact) <=
				      allowed);
			}
			free(host);
			CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
		}
	}
	return 0;
}

Test(tensor, linspace_has_both_ends)
{
	world_each(linspace_body, NULL);
}

/* ------------------------------------------------------------------ random numbers */

static uint64_t hash_of(const void *data, size_t bytes)
{
	const unsigned char *byte = data;
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ byte[i]) * 1099511628211u;
	return hash;
}

/* Reads, frees and hashes. */
static uint64_t hash_and_free(tsr_world_t *world, tsr_tensor_t *tensor)
{
	void *host = elements_of(world, tensor);
	const uint64_t hash = host ? hash_of(host, (size_t)tsr_tensor_count(tensor) *
							   tsr_dtype_bytes(tensor->dtype))
				   : 0;
	free(host);
	return tsr_tensor_free(world, tensor) == TSR_OK ? hash : 0;
}

/* The same bits in every world, at every placement, from every compiler, for ever. */
static int golden_body(tsr_world_t *world, int argc, char **argv)
{
	static const uint64_t golden[4][3] = {
		{0x564003432b0b7833u, 0x66119d0784e35518u, 0x5b4f5ed0bc8f6fefu},
		{0x16e53b6e14d84de2u, 0x6bef1fbe500c5a85u, 0xd7a88909e34f0e9bu},
		{0xc559c0d6e41413d5u, 0x992520b64b3c88aau, 0x99014ac8fac16d7bu},
		{0x776175c63e789c92u, 0xa70875c6da6f0c4au, 0x8168b46c18a9e937u}};
	static const uint64_t golden_integers[DTYPES] = {
		0x2a6f37100d91c4eau, 0xeb2619f83c1fbedcu, 0xf0c6e65f8e348b15u, 0x06ffdef6e8d75714u,
		0xcd0e64bb4e2265ebu, 0x16181062d26bd2dbu, 0x5607032f7bfeb8b9u, 0x5607032f7bfeb8b9u};
	(void)argc, (void)argv;
	tsr_tensor_t tensor;
	for (int d = 0; d < 4; d++) {
		uint64_t hash[3];
		CHECK(tsr_tensor_rand(world, all_dtypes[d], 3, odd_shape, 42, &tensor) == TSR_OK);
		hash[0] = hash_and_free(world, &tensor);
		CHECK(tsr_tensor_randn(world, all_dtypes[d], 3, odd_shape, 42, &tensor) == TSR_OK);
		hash[1] = hash_and_free(world, &tensor);
		CHECK(tsr_tensor_uniform(world, all_dtypes[d], 3, odd_shape, -3, 0.7, 42,
					 &tensor) == TSR_OK);
		hash[2] = hash_and_free(world, &tensor);
		for (int i = 0; i < 3; i++)
			CHECK(hash[i] == golden[d][i], "%s, constructor %d: 0x%016" PRIx64,
			      tsr_dtype_name(all_dtypes[d]), i, hash[i]);
	}
	for (int d = 0; d < DTYPES; d++) {
		CHECK(tsr_tensor_randint(world, all_dtypes[d], 3, odd_shape, 0, 100, 42, &tensor) ==
		      TSR_OK);
		const uint64_t hash = hash_and_free(world, &tensor);
		CHECK(hash == golden_integers[d], "%s: 0x%016" PRIx64,
		      tsr_dtype_name(all_dtypes[d]), hash);
	}
	return 0;
}

Test(tensor, random_bits_do_not_depend_on_the_world)
{
	world_each(golden_body, NULL);
}

/*
 * Chunks of the host's buffer join without a seam: the tensor is longer than
 * one, and element i is that of (seed, i).
 */
static int long_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int64_t count = 300007;
	tsr_tensor_t tensor;
	CHECK(tsr_tensor_rand(world, TSR_F64, 1, &count, 9, &tensor) == TSR_OK);
	double *host = elements_of(world, &tensor);
	for (int64_t i = 0; i < count; i++)
		CHECK(host[i] == tsr_random_f64(9, (uint64_t)i), "element %" PRId64, i);
	free(host);
	return tsr_tensor_free(world, &tensor) == TSR_OK ? 0 : 1;
}

Test(tensor, long_tensors_have_no_seams)
{
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, long_body, NULL), 0);
}

static int rounding_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int64_t count = 50000;
	tsr_tensor_t tensor;
	for (int d = 1; d < 4; d++) {
		const tsr_dtype_t dtype = all_dtypes[d];
		CHECK(tsr_tensor_rand(world, dtype, 1, &count, 3, &tensor) == TSR_OK);
		void *host = elements_of(world, &tensor);
		for (uint64_t i = 0; i < (uint64_t)count; i++) {
			const double exact = tsr_random_f32(3, i),
				     value = tsr_dtype_get(dtype, host, i);
			CHECK(value <= exact && value < 1, "%a was rounded up to %a", exact, value);
			CHECK(exact - value <= exact * 0x1p-7);
		}
		free(host);
		CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
		CHECK(tsr_tensor_randn(world, dtype, 1, &count, 3, &tensor) == TSR_OK);
		host = elements_of(world, &tensor);
		for (uint64_t i = 0; i < (uint64_t)count; i++)
			CHECK(tsr_dtype_get(dtype, host, i) ==
			      rounded(dtype, tsr_random_normal(3, i)));
		free(host);
		CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
	}
	return 0;
}

Test(tensor, rand_is_rounded_down_and_randn_to_nearest)
{
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, rounding_body, NULL), 0);
}

/*
 * Never below low, never high; where the range holds few values of the dtype,
 * each of them occurs.
 */
static int uniform_body(tsr_world_t *world, int argc, char **argv)
{
	static const double ranges[][2] = {
		{0, 1},       {-1, 0},       {0.9, 1},       {1, 1.0078125}, {-3, 5},
		{0.1, 0.101}, {-0.2, -0.19}, {1000, 1003.3}, {-1e-6, 1e-6},  {-60000, 60000}};
	(void)argc, (void)argv;
	const int64_t count = 20000;
	tsr_tensor_t tensor;
	for (int d = 0; d < 4; d++)
		for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
			const tsr_dtype_t dtype = all_dtypes[d];
			const double low = ranges[r][0], high = ranges[r][1];
			if (dtype == TSR_BF16 && low == 1000)
				continue; /* 1000 is the only one: see below */
			CHECK(tsr_tensor_uniform(world, dtype, 1, &count, low, high, r, &tensor) ==
			      TSR_OK);
			void *host = elements_of(world, &tensor);
			double sum = 0, smallest = INFINITY, largest = -INFINITY;
			for (size_t i = 0; i < (size_t)count; i++) {
				const double value = tsr_dtype_get(dtype, host, i);
				CHECK(value >= low && value < high, "%s in [%g, %g): %a",
				      tsr_dtype_name(dtype), low, high, value);
				sum += value;
				smallest = fmin(smallest, value);
				largest = fmax(largest, value);
			}
			/* rounded down by at most one place: of bf16 2^-7 of the value, of a
			 * subnormal f16 2^-24 */
			const double place = (fabs(low) + fabs(high)) * 0x1p-7 + 0x1p-24;
			CHECK(fabs(sum / (double)count - (low + high) / 2) <
			      (high - low) * 0.02 + place);
			CHECK(smallest - low < (high - low) * 0.01 + place &&
			      high - largest < (high - low) * 0.01 + place);
			free(host);
			CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
		}
	return 0;
}

Test(tensor, uniform_never_reaches_high)
{
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, uniform_body, NULL), 0);
}

/* The whole range of each dtype, ends included, in equal shares. */
static int randint_body(tsr_world_t *world, int argc, char **argv)
{
	static const struct {
		tsr_dtype_t dtype;
		int64_t low, high;
	} ranges[] = {{TSR_U8, 0, 256},       {TSR_I8, -128, 128}, {TSR_BF16, -256, 257},
		      {TSR_F16, -2048, 2049}, {TSR_I32, -5, 6},    {TSR_F32, 100, 200},
		      {TSR_F64, -1, 2},       {TSR_I64, -3, 4}};
	(void)argc, (void)argv;
	const int64_t count = 100000;
	tsr_tensor_t tensor;
	for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
		const int64_t low = ranges[r].low, high = ranges[r].high, values = high - low;
		int counts[5000] = {0};
		CHECK(tsr_tensor_randint(world, ranges[r].dtype, 1, &count, low, high, 1,
					 &tensor) == TSR_OK);
		void *host = elements_of(world, &tensor);
		for (size_t i = 0; i < (size_t)count; i++) {
			const double value = tsr_dtype_get(ranges[r].dtype, host, i);
			CHECK(value >= (double)low && value < (double)high &&
			      value == (double)tsr_random_int(1, i, low, high));
			counts[(int64_t)value - low]++;
		}
		double chi = 0;
		const double expected = (double)count / (double)values;
		for (int64_t i = 0; i < values; i++)
			chi += (counts[i] - expected) * (counts[i] - expected) / expected;
		CHECK(fabs(chi - (double)(values - 1)) < 5 * sqrt(2.0 * (double)(values - 1)),
		      "%s: chi square %g", tsr_dtype_name(ranges[r].dtype), chi);
		free(host);
		CHECK(tsr_tensor_free(world, &tensor) == TSR_OK);
	}
	CHECK(tsr_tensor_randint(world, TSR_I64, 1, &count, INT64_MIN, INT64_MAX, 1, &tensor) ==
	      TSR_OK);
	int64_t *wide = elements_of(world, &tensor);
	for (uint64_t i = 0; i < (uint64_t)count; i++)
		CHECK(wide[i] == tsr_random_int(1, i, INT64_MIN, INT64_MAX),
		      "no bit is lost on the way");
	free(wide);
	return 0;
}

Test(tensor, randint_fills_its_range_evenly)
{
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, randint_body, NULL), 0);
}

/* ------------------------------------------------------------------ strides */

/* Columns 1, 3, 5 of a 6 by 7 tensor, transposed and with the rows from last to first. */
static int strides_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	tsr_tensor_t whole;
	int32_t host[42], part[18], back[42];
	CHECK(tsr_tensor_empty(world, TSR_I32, 2, (int64_t[]){6, 7}, &whole) == TSR_OK);
	for (int i = 0; i < 42; i++)
		host[i] = i + 100 * tsr_world_rank(world);
	CHECK(tsr_tensor_write(world, &whole, host) == TSR_OK);
	tsr_tensor_t slice = {.data = (TSR_HEAP int32_t *)whole.data + 5 * 7 + 1,
			      .dtype = TSR_I32,
			      .dims = 2,
			      .shape = {3, 6},
			      .stride = {2, -7}};
	CHECK(tsr_tensor_read(world, &slice, part) == TSR_OK);
	for (int i = 0; i < 18; i++)
		CHECK(part[i] == host[(5 - i % 6) * 7 + 1 + i / 6 * 2], "element %d is %d", i,
		      part[i]);
	for (int i = 0; i < 18; i++)
		part[i] = -i;
	CHECK(tsr_tensor_write(world, &slice, part) == TSR_OK);
	CHECK(tsr_tensor_read(world, &whole, back) == TSR_OK);
	for (int i = 0; i < 42; i++) {
		const int row = i / 7, col = i % 7;
		CHECK(back[i] == (col % 2 ? -(col / 2 * 6 + 5 - row) : host[i]), "element %d is %d",
		      i, back[i]);
	}
	/* Rows 1 to 4, columns 2 to 4: rows that lie together are copied at once. */
	tsr_tensor_t block = {.data = (TSR_HEAP int32_t *)whole.data + 9,
			      .dtype = TSR_I32,
			      .dims = 2,
			      .shape = {4, 3},
			      .stride = {7, 1}};
	CHECK(tsr_tensor_read(world, &block, part) == TSR_OK);
	for (int i = 0; i < 12; i++)
		CHECK(part[i] == back[(1 + i / 3) * 7 + 2 + i % 3]);
	tsr_tensor_t like;
	CHECK(tsr_tensor_zeros_like(world, &slice, &like) == TSR_OK);
	CHECK(like.stride[0] == 6 && like.stride[1] == 1, "fresh tensors are dense");
	/* One row more leaves the allocation. */
	block.shape[0] = 6;
	CHECK(tsr_tensor_read(world, &block, back) == TSR_ERR_ARGUMENT);
	slice.shape[1] = 7;
	CHECK(tsr_tensor_read(world, &slice, back) == TSR_ERR_ARGUMENT);
	slice.stride[1] = INT64_MIN / 2;
	CHECK(tsr_tensor_read(world, &slice, back) == TSR_ERR_ARGUMENT);
	CHECK(tsr_tensor_read(world, &whole, NULL) == TSR_ERR_ARGUMENT);
	return 0;
}

Test(tensor, strided_copies)
{
	world_each(strides_body, NULL);
}

/*
 * GEMM + all-scatter: what the host half decides and refuses, how C is judged,
 * and what the record of each pattern shows.
 */
#include <math.h>

#include "kernels/choices/cost.h"
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/inputs.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"
#include "tests/multi/each_world.h"
#include "tests/multi/gas_reference.h"

/* ---------------------------------------------------------------- without a world */

/**
 * The tile that is chosen on a device of 132 blocks, and of a depth that it is
 * fast at; 0: none.
 */
static tile_size_t chosen(int64_t m, int64_t n, int64_t k, tsr_dtype_t dtype, int ranks,
			  int tile_depth)
{
	const tsr_device_props_t device = {.size = sizeof device,
					   .name = "made up",
					   .resident_blocks = 132,
					   .workers_per_block = 4,
					   .shared_bytes = 227 << 10,
					   .tile_depth = tile_depth};
	const workload_place_t place = {ranks, &device, machine_find("cpuemu", "made up"), 1, NULL};
	gas_config_t config = {
		.m = m, .n = n, .k = k, .dtype = dtype, .pattern = GAS_FUSED_SEQUENTIAL};
	cr_assert_eq(gas_tile_choose(&config, &place), TSR_OK);
	return config.tile;
}

static bool depth_matters(int64_t m, int64_t n, int64_t k, tsr_dtype_t dtype)
{
	const tile_size_t with = chosen(m, n, k, dtype, 4, 64),
			  without = chosen(m, n, k, dtype, 4, 0);
	return with.m != without.m || with.n != without.n || with.k != without.k;
}

Test(gas_plan, a_tile_that_the_device_is_fast_at_is_chosen_first)
{
	cr_expect(chosen(2048, 1024, 2048, TSR_BF16, 4, 0).k < 64,
		  "else the cheapest tile by area would do");
	cr_expect_eq(chosen(2048, 1024, 2048, TSR_BF16, 4, 64).k, 64);
	cr_expect_eq(chosen(64, 64, 64, TSR_F16, 2, 64).k, 64, "also where nothing fills it");
	/* Odd extents, whose rows the plan pads; and elements that no matrix unit takes. */
	cr_expect(depth_matters(2048, 1024, 2048, TSR_BF16));
	cr_expect(depth_matters(2048, 1024, 2047, TSR_BF16));
	cr_expect(depth_matters(2047, 1023, 2048, TSR_BF16));
	cr_expect(!depth_matters(2048, 1024, 2048, TSR_F32));
	/* 8192 x 1152 a rank: 320 tiles of 256 columns are three rounds of 132, and so are 384 of
	 * 192. */
	cr_expect_eq(chosen(8192, 4608, 36864, TSR_BF16, 4, 64).n, 192);
}

/**
 * Blocks and senders that are chosen for a product in tiles of 128 x 256 on a
 * device like the one above, of 132 blocks.
 */
static gas_config_t split_reading(int64_t n, int64_t k, int ranks, int link_blocks, int send_depth,
				  int read_depth)
{
	const tsr_device_props_t device = {
		.size = sizeof device, .name = "made up", .resident_blocks = 132};
	machine_t machine = *machine_find("cuda", "NVIDIA H200");
	const workload_place_t place = {ranks, &device, &machine, 1, NULL};
	gas_config_t config = {.m = 8192,
			       .n = n,
			       .k = k,
			       .dtype = TSR_BF16,
			       .pattern = GAS_FUSED_WORKGROUP,
			       .tile = {128, 256, 64}};
	machine.link_blocks = link_blocks;
	machine.send_depth = send_depth;
	machine.read_depth = read_depth;
	cr_assert_eq(gas_blocks_choose(&config, &place), TSR_OK);
	return config;
}

static gas_config_t split_of(int64_t n, int64_t k, int ranks, int link_blocks, int send_depth)
{
	return split_reading(n, k, ranks, link_blocks, send_depth, 0);
}

/** Whether as many blocks send as fill links that `enough` of them could fill. */
static bool fills_links(gas_config_t config, int enough)
{
	return config.comm_blocks >= 2 * enough && config.comm_blocks <= 4 * enough;
}

Test(gas_plan, as_many_blocks_send_as_keep_up)
{
	/* 1024 tiles a rank are eight rounds of 132 blocks, and of 128: four blocks are free to
	 * send, where three would do. */
	cr_expect_eq(split_of(8192, 8192, 2, 9, 136).comm_blocks, 4);
	/* 4608 tiles are 35 rounds of 132 blocks, and 36 of 128: one more is better than a
	 * backlog. */
	cr_expect_eq(split_of(36864, 4608, 2, 9, 136).comm_blocks, 4);
	/* Shallow products are bound by the links, and have time to spare: two to four times as
	 * many blocks as could fill them. */
	cr_expect(fills_links(split_of(8 * 36864, 64, 2, 9, 136), 9));
	cr_expect(fills_links(split_of(8 * 36864, 64, 8, 9, 136), 9));
	/* What is read once for all ranks: fewer blocks fill the links to many. */
	cr_expect(fills_links(split_reading(8 * 36864, 64, 2, 9, 136, 68), 9));
	cr_expect(fills_links(split_reading(8 * 36864, 64, 5, 9, 136, 68), 6));
	cr_expect(split_reading(8 * 36864, 64, 5, 9, 136, 68).comm_blocks <
		  split_of(8 * 36864, 64, 5, 9, 136).comm_blocks);
	/* The more peers, the more is sent; one rank alone sends nothing, and those send who would
	 * be idle: 17 rounds. */
	cr_expect(split_of(36864, 4608, 4, 32, 136).comm_blocks >
		  split_of(18432, 4608, 2, 32, 136).comm_blocks);
	cr_expect_eq(split_of(64 * 131, 64, 1, 9, 136).comm_blocks, 7);
	cr_expect_eq(split_reading(64 * 131, 64, 1, 9, 136, 68).comm_blocks, 7, "nor does it read");
	/* Blocks enough for every tile and for the senders, where the device has them. */
	cr_expect_eq(split_of(256, 512, 1, 9, 136).blocks, 64 + 9);
	cr_expect_eq(split_of(256, 512, 1, 9, 136).comm_blocks, 9);
	/* And for every half, where K is deep: of 132 blocks 64 tiles leave the half idle. */
	cr_expect_eq(split_of(256, 8192, 1, 9, 136).parts, 2);
	cr_expect_eq(split_of(256, 8192, 1, 9, 136).blocks, 132);
	cr_expect_eq(split_of(256, 8192, 1, 9, 136).comm_blocks, 4);
	/* 20 tiles come all last: there is nothing that blocks could send before. */
	cr_expect_eq(split_of(4 * 80, 4096, 4, 9, 136).comm_blocks,
		     split_of(4 * 80, 4096, 4, 9, 136).blocks - 2 * 64);
	cr_expect_eq(split_of(8192, 8192, 2, 0, 0).comm_blocks, 22,
		     "a sixth where nothing is known");
}

Test(gas_plan, halves_where_rounds_do_not_come_out)
{
	/* 64 x 18 tiles are nine rounds of 128 blocks: halves save none. 64 x 5 are three, of which
	 * half of the blocks have the last. */
	cr_expect_eq(split_of(4 * 4608, 4608, 4, 9, 136).parts, 1);
	cr_expect_eq(split_of(4 * 1152, 36864, 4, 9, 136).parts, 2);
	cr_expect_eq(split_of(4 * 1152, 36864, 4, 0, 0).parts, 1, "nothing is known");
}

Test(gas_plan, rows_begin_where_copy_engines_take_them)
{
	static const struct {
		tsr_dtype_t dtype;
		int64_t cols, pitch;
	} rows[] = {{TSR_BF16, 0, 1},     {TSR_BF16, 1, 8},      {TSR_BF16, 8, 8},
		    {TSR_BF16, 9, 16},    {TSR_F16, 511, 512},   {TSR_BF16, 513, 576},
		    {TSR_BF16, 576, 576}, {TSR_F32, 5, 8},       {TSR_F32, 255, 256},
		    {TSR_F32, 257, 288},  {TSR_BF16, 8191, 8192}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(matrix_pitch(rows[i].dtype, rows[i].cols), rows[i].pitch, "%d columns",
			     (int)rows[i].cols);
}

/** Of fused-sequential on four H200s, by their figures. */
static gas_config_t chosen_on_h200s(int64_t n, int64_t k)
{
	const tsr_device_props_t device = {.size = sizeof device,
					   .name = "an H200",
					   .resident_blocks = 132,
					   .workers_per_block = 4,
					   .shared_bytes = 227 << 10,
					   .tile_depth = 64};
	const workload_place_t place = {4, &device, machine_find("cuda", "NVIDIA H200"), 1, NULL};
	gas_config_t config = {
		.m = 8192, .n = n, .k = k, .dtype = TSR_BF16, .pattern = GAS_FUSED_SEQUENTIAL};
	cr_assert_eq(gas_tile_choose(&config, &place), TSR_OK);
	cr_assert_eq(gas_blocks_choose(&config, &place), TSR_OK);
	return config;
}

Test(gas_plan, chooses_what_was_fastest_on_h200s)
{
	/* Of what --tune has tried of fused-sequential the fastest, or within 1.2 % of it:
	 * bench/results/gemm_all_scatter-tuned-cuda-4-bf16-2026-11-22.json. */
	static const struct {
		int64_t n, k;
		int tile_n, parts;
	} fastest[] = {{4608, 36864, 192, 1},
		       {3584, 14336, 128, 2},
		       {8192, 8192, 256, 2},
		       {28672, 8192, 256, 1},
		       {36864, 4608, 256, 1}};
	for (size_t i = 0; i < sizeof fastest / sizeof *fastest; i++) {
		const gas_config_t config = chosen_on_h200s(fastest[i].n, fastest[i].k);
		cr_expect(config.tile.n == fastest[i].tile_n && config.parts == fastest[i].parts,
			  "8192x%dx%d: %d columns in %d parts", (int)fastest[i].n,
			  (int)fastest[i].k, config.tile.n, config.parts);
	}
}

Test(gas_plan, shares_cover_every_column_once)
{
	static const int64_t columns[] = {1, 2, 7, 64, 73, 4096, INT64_MAX};
	for (int ranks = 1; ranks <= TSR_MAX_RANKS; ranks++)
		for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
			int64_t next = 0;
			for (int r = 0; r < ranks; r++) {
				share_t share = share_of(columns[c], r, ranks);
				cr_assert_eq(share.first, next);
				cr_assert(share.count == columns[c] / ranks ||
					  share.count == columns[c] / ranks + 1);
				if (columns[c] <= INT64_MAX / ranks)
					cr_assert_eq(share.first, r * columns[c] / ranks);
				next += share.count;
			}
			cr_assert_eq(next, columns[c]);
		}
}

Test(gas_plan, patterns_have_names)
{
	gas_pattern_t pattern;
	for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
		cr_assert_eq(gas_pattern_parse(gas_pattern_name((gas_pattern_t)p), &pattern),
			     TSR_OK);
		cr_assert_eq((int)pattern, p);
	}
	cr_assert_eq(gas_pattern_parse("unfused-producer-consumer", &pattern), TSR_OK);
	cr_assert_eq((int)pattern, GAS_PRODUCER_CONSUMER);
	cr_assert_eq(gas_pattern_parse("fused-wave-specialised", &pattern), TSR_OK);
	cr_assert_eq((int)pattern, GAS_FUSED_WAVE);
	cr_assert_eq(gas_pattern_parse("fused-sequentail", &pattern), TSR_ERR_NOT_FOUND);
	cr_assert(strstr(tsr_last_error(), "did you mean 'fused-sequential'"), "%s",
		  tsr_last_error());
	cr_assert_eq(gas_pattern_parse("unfused-fused-sequential", &pattern), TSR_ERR_NOT_FOUND);
	cr_assert_eq(gas_pattern_parse("", &pattern), TSR_ERR_NOT_FOUND);
	cr_assert_eq((int)pattern, GAS_FUSED_WAVE, "written on an error");
}

/** A config that passes, for tests that spoil it. */
static gas_config_t good(void)
{
	return (gas_config_t){
		.m = 64, .n = 64, .k = 64, .dtype = TSR_BF16, .pattern = GAS_PRODUCER_CONSUMER};
}

static void expect_refused(gas_config_t config, tsr_status_t status, const char *words)
{
	tsr_status_t got = gas_config_check(&config, 4);
	cr_expect_eq(got, status, "%s instead of %s", tsr_status_name(got),
		     tsr_status_name(status));
	cr_expect(strstr(tsr_last_error(), words), "no '%s' in: %s", words, tsr_last_error());
}

Test(gas_plan, configs_are_checked)
{
	gas_config_t c = good();
	cr_assert_eq(gas_config_check(&c, 4), TSR_OK);
	c.m = 0;
	expect_refused(c, TSR_ERR_ARGUMENT, "at least 1");
	c = good(), c.k = -3;
	expect_refused(c, TSR_ERR_ARGUMENT, "64x64x-3");
	c = good(), c.m = c.n = (int64_t)1 << 31;
	expect_refused(c, TSR_ERR_ARGUMENT, "overflows");
	c = good(), c.dtype = TSR_I8;
	expect_refused(c, TSR_ERR_NOT_FOUND, "i8");
	c = good(), c.tile = (tile_size_t){48, 48, 16};
	expect_refused(c, TSR_ERR_NOT_FOUND, "64x64x32");
	c = good(), c.blocks = 1;
	expect_refused(c, TSR_ERR_ARGUMENT, "at least 2 blocks");
	c = good(), c.parts = TILING_PARTS + 1;
	expect_refused(c, TSR_ERR_ARGUMENT, "give 1 to 8");
	c = good(), c.m = 1, c.n = (int64_t)1 << 60, c.k = 4;
	expect_refused(c, TSR_ERR_ARGUMENT, "overflows");
	c = good(), c.m = (int64_t)1 << 60, c.n = 1, c.k = 1;
	expect_refused(c, TSR_ERR_ARGUMENT, "overflows");
	c = good(), c.blocks = 4, c.comm_blocks = 4;
	expect_refused(c, TSR_ERR_ARGUMENT, "at most 3");
	c = good(), c.pattern = (gas_pattern_t)GAS_PATTERN_COUNT;
	expect_refused(c, TSR_ERR_ARGUMENT, "0 .. 6");
}

/* ---------------------------------------------------------- what the device and the heap decide */

/** Tries a config that must fail; nothing may be left of it. */
static int try_refused(tsr_world_t *world, const gas_config_t *config, tsr_status_t wanted,
		       const char *words)
{
	gas_plan_t *plan = NULL;
	tsr_heap_usage_t before = {.size = sizeof before}, after = {.size = sizeof after};
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	tsr_status_t status = gas_plan_create(world, config, &plan);
	CHECK(status == wanted, "%s instead of %s", tsr_status_name(status),
	      tsr_status_name(wanted));
	CHECK(strstr(tsr_last_error(), words), "no '%s'", words);
	CHECK(plan == NULL);
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(before.allocations == after.allocations && before.free_bytes == after.free_bytes);
	return 0;
}

static int refusals(tsr_world_t *world, int argc, char **argv)
{
	gas_config_t c = good();
	gas_plan_t *plan;
	tsr_device_props_t device = {.size = sizeof device};
	tsr_heap_usage_t heap = {.size = sizeof heap};
	(void)argc;
	(void)argv;
	CHECK(tsr_world_device(world, &device) == TSR_OK && tsr_heap_usage(world, &heap) == TSR_OK);
	c.blocks = device.resident_blocks + 1;
	if (try_refused(world, &c, TSR_ERR_RESIDENCY, "at one time"))
		return 1;
	c = good();
	c.m = (int64_t)heap.heap_bytes;
	if (try_refused(world, &c, TSR_ERR_NO_MEMORY, "TESSERA_HEAP_SIZE"))
		return 1;
	/* The world goes on, up to the very last block. */
	c = good();
	c.blocks = device.resident_blocks;
	CHECK(gas_plan_create(world, &c, &plan) == TSR_OK);
	CHECK(gas_plan_run(plan) == TSR_OK && gas_plan_sync(plan) == TSR_OK);
	CHECK(gas_plan_destroy(plan) == TSR_OK);
	return 0;
}

Test(gas_plan, refuses_what_does_not_fit_and_goes_on)
{
	/* All resident blocks of 8 ranks run at one time: no more threads than valgrind can
	 * follow. */
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "12", 1);
	each_world(refusals, NULL);
	unsetenv("TESSERA_CPUEMU_RESIDENT_BLOCKS");
}

static int no_room(tsr_world_t *world, int argc, char **argv)
{
	/* 2 resident blocks, 1 worker a block, and 1K of shared memory: see the test. */
	gas_config_t c = good();
	gas_plan_t *plan;
	(void)argc;
	(void)argv;
	c.pattern = GAS_FUSED_WAVE;
	if (try_refused(world, &c, TSR_ERR_UNSUPPORTED, "fits a block"))
		return 1;
	c.tile = (tile_size_t){16, 16, 16};
	if (try_refused(world, &c, TSR_ERR_UNSUPPORTED, "use a smaller tile"))
		return 1;
	c.pattern = GAS_FUSED_WORKGROUP;
	c.comm_blocks = 2;
	if (try_refused(world, &c, TSR_ERR_RESIDENCY, "holds 2"))
		return 1;
	c.comm_blocks = 0;
	CHECK(gas_plan_create(world, &c, &plan) == TSR_OK);
	CHECK(gas_plan_config(plan)->blocks == 2 && gas_plan_config(plan)->comm_blocks == 1);
	CHECK(gas_plan_run(plan) == TSR_OK && gas_plan_sync(plan) == TSR_OK);
	CHECK(gas_plan_destroy(plan) == TSR_OK);
	return 0;
}

Test(gas_plan, respects_a_small_device)
{
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "2", 1);
	setenv("TESSERA_CPUEMU_WORKERS", "1", 1);
	setenv("TESSERA_CPUEMU_SHARED_SIZE", "1K", 1);
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, no_room, NULL), 0);
	unsetenv("TESSERA_CPUEMU_RESIDENT_BLOCKS");
	unsetenv("TESSERA_CPUEMU_WORKERS");
	unsetenv("TESSERA_CPUEMU_SHARED_SIZE");
}

/* ---------------------------------------------------------------- judging */

/** Fills `c` with the product, in double precision and rounded once. */
static void multiply(const gas_config_t *config, const void *a, const void *b, void *c)
{
	for (int64_t row = 0; row < config->m; row++)
		for (int64_t col = 0; col < config->n; col++) {
			double sum = 0.0;
			for (int64_t k = 0; k < config->k; k++)
				sum += tsr_dtype_get(config->dtype, a,
						     (size_t)(row * config->k + k)) *
				       tsr_dtype_get(config->dtype, b,
						     (size_t)(k * config->n + col));
			tsr_dtype_set(config->dtype, c, (size_t)(row * config->n + col), sum);
		}
}

/**
 * Sets one element, and expects the judge to find it and no other; then puts
 * the right one back.
 */
static int try_wrong(tsr_world_t *world, const gas_reference_t *reference,
		     const gas_config_t *config, void *c, int64_t row, int64_t col, double value)
{
	size_t index = (size_t)(row * config->n + col);
	double right = tsr_dtype_get(config->dtype, c, index);
	verdict_t v;
	tsr_dtype_set(config->dtype, c, index, value);
	gas_reference_judge(reference, c, &v);
	tsr_dtype_set(config->dtype, c, index, right);
	CHECK(v.wrong == 1 && v.row == row && v.col == col,
	      "%s: %d wrong, (%d, %d): %g for %g within %g", tsr_dtype_name(config->dtype),
	      (int)v.wrong, (int)v.row, (int)v.col, v.got, v.expected, v.bound);
	return 0;
}

/**
 * A rank that left one of K products out, or stored one element's neighbour, is
 * found; rounding is not.
 */
static int try_judge(tsr_world_t *world, const gas_config_t *config,
		     const workload_inputs_t *inputs)
{
	size_t element = tsr_dtype_bytes(config->dtype), m = (size_t)config->m,
	       n = (size_t)config->n, k = (size_t)config->k;
	void *a = malloc(m * k * element), *b = malloc(k * n * element),
	     *c = malloc(m * n * element);
	gas_reference_t *reference = NULL;
	verdict_t v;
	CHECK(a && b && c);
	const workload_matrix_t whole_a = gas_matrix(config, GAS_A, 0, 1),
				whole_b = gas_matrix(config, GAS_B, 0, 1);
	inputs_make(inputs, &whole_a, a);
	inputs_make(inputs, &whole_b, b);
	multiply(config, a, b, c);
	CHECK(gas_reference_create(world, config, inputs, &reference) == TSR_OK);
	gas_reference_judge(reference, c, &v);
	CHECK(v.wrong == 0, "(%d, %d): %g for %g within %g", (int)v.row, (int)v.col, v.got,
	      v.expected, v.bound);
	double last = tsr_dtype_get(config->dtype, c, m * n - 1),
	       ulp = config->dtype == TSR_BF16 ? 0x1p-7 : 0x1p-10;
	double off = inputs->integers           ? 1.0
		     : config->dtype == TSR_F32 ? 1e-3
						: 2.0 * ulp * fabs(last);
	if (try_wrong(world, reference, config, c, config->m - 1, config->n - 1, last + off) ||
	    try_wrong(world, reference, config, c, 0, 0, NAN) ||
	    try_wrong(world, reference, config, c, 1, 2, INFINITY))
		return 1;
	gas_reference_destroy(reference);
	free(a);
	free(b);
	free(c);
	return 0;
}

static int judging(tsr_world_t *world, int argc, char **argv)
{
	static const tsr_dtype_t dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};
	(void)argc;
	(void)argv;
	for (int d = 0; d < 3; d++) {
		/* more rows than one panel */
		gas_config_t config = {.m = 300, .n = 11, .k = 37, .dtype = dtypes[d]};
		for (int integers = 0; integers < 2; integers++)
			if (try_judge(world, &config,
				      &(workload_inputs_t){.seed = 5, .integers = integers}))
				return 1;
	}
	return 0;
}

Test(gas_plan, judge_finds_one_wrong_element)
{
	each_world(judging, NULL);
}

/* ------------------------------------------------------- the record: the patterns really differ */

typedef struct totals {
	int launches, streams, sending_workers;
	uint64_t products, local_written, local_read, remote_written, first_remote_ns,
		last_product_ns;
} totals_t;

static totals_t total(const tsr_world_t *world)
{
	totals_t t = {.first_remote_ns = UINT64_MAX};
	uint64_t streams = 0; /* a bit each; no rank of these tests makes more than 64 */
	tsr_record_entry_t e = {.size = sizeof e};
	for (int i = 0; tsr_record_entry(world, i, &e) == TSR_OK; i++) {
		streams |= UINT64_C(1) << e.stream % 64;
		t.launches = e.launch + 1 > t.launches ? e.launch + 1 : t.launches;
		t.sending_workers += strcmp(e.role, "send") == 0;
		t.products += e.products;
		t.local_written += e.local_written_bytes;
		t.local_read += e.local_read_bytes;
		t.remote_written += e.remote_written_bytes;
		if (e.first_remote_ns && e.first_remote_ns < t.first_remote_ns)
			t.first_remote_ns = e.first_remote_ns;
		if (e.last_product_ns > t.last_product_ns)
			t.last_product_ns = e.last_product_ns;
	}
	t.streams = __builtin_popcountll(streams);
	return t;
}

/**
 * What each pattern is known by: launches and streams without peers, and how
 * many times a tile is written and read on its own rank.
 */
enum { RECORDED_BANDS = 3 };
static const struct {
	int launches, streams, written, read;
	bool has_senders;
} marks[GAS_PATTERN_COUNT] = {
	[GAS_BULK_SYNCHRONOUS] = {2, 1, 1, 1, true},
	[GAS_PRODUCER_CONSUMER] = {2, 2, 1, 1, true},
	[GAS_FUSED_SEQUENTIAL] = {1, 1, 1, 0, false},
	[GAS_FUSED_WORKGROUP] = {1, 1, 1, 1, true},
	[GAS_FUSED_WAVE] = {1, 1, 1, 0, true},
	[GAS_BANDED] = {1 + RECORDED_BANDS, 2, 1, 1, false},
	[GAS_WORK_QUEUE] = {1, 1, 1, 1, false},
};

static int record_of(tsr_world_t *world, gas_pattern_t pattern)
{
	/* Two tiles a block and more on every rank: a fused block sends one before it computes the
	 * next. */
	gas_config_t config = {.m = 96,
			       .n = 160,
			       .k = 32,
			       .dtype = TSR_F32,
			       .pattern = pattern,
			       .tile = {16, 16, 16},
			       .blocks = 3,
			       .bands = pattern == GAS_BANDED ? RECORDED_BANDS : 0};
	gas_plan_t *plan;
	int others = tsr_world_size(world) - 1;
	share_t share = share_of(config.n, tsr_world_rank(world), others + 1);
	uint64_t tiles = 6 * (uint64_t)((share.count + 15) / 16),
		 part = (uint64_t)(config.m * share.count) * sizeof(float);
	CHECK(gas_plan_create(world, &config, &plan) == TSR_OK);
	CHECK(gas_plan_fill(plan, world, &(workload_inputs_t){.seed = 3}) == TSR_OK);
	CHECK(tsr_record_start(world) == TSR_OK);
	CHECK(gas_plan_run(plan) == TSR_OK && gas_plan_sync(plan) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	totals_t t = total(world);
	const char *name = gas_pattern_name(pattern);
	/* Each band is one copy to each peer, and each peer has a stream of copies. */
	const int copies = pattern == GAS_BANDED ? others * RECORDED_BANDS : 0,
		  copiers = pattern == GAS_BANDED ? others : 0;
	/* A rank alone has nobody to send to, and does not launch what would. */
	const bool skips = others == 0 && pattern == GAS_BULK_SYNCHRONOUS;
	CHECK(t.launches == marks[pattern].launches + copies - skips, "%s: %d", name, t.launches);
	CHECK(t.streams == marks[pattern].streams + copiers, "%s: %d", name, t.streams);
	CHECK((t.sending_workers > 0) == (marks[pattern].has_senders && !skips), "%s: %d", name,
	      t.sending_workers);
	CHECK(t.products == tiles, "%s: %d of %d", name, (int)t.products, (int)tiles);
	CHECK(t.local_written == part * (uint64_t)marks[pattern].written, "%s: %d of %d", name,
	      (int)t.local_written, (int)part);
	CHECK(t.remote_written == part * (uint64_t)others, "%s: %d of %d", name,
	      (int)t.remote_written, (int)part * others);
	/* Where it is read at all: once for all peers, or, by copies, for each. */
	const int reads = marks[pattern].read * (pattern == GAS_BANDED ? others : others > 0);
	CHECK(t.local_read == part * (uint64_t)reads, "%s: %d of %d", name, (int)t.local_read,
	      (int)part);
	if (others && pattern == GAS_BULK_SYNCHRONOUS)
		CHECK(t.first_remote_ns >= t.last_product_ns,
		      "%s sends before the last product has ended", name);
	if (others && (pattern == GAS_FUSED_SEQUENTIAL || pattern == GAS_FUSED_WAVE))
		CHECK(t.first_remote_ns < t.last_product_ns, "%s sends after the last product",
		      name);
	CHECK(gas_plan_destroy(plan) == TSR_OK);
	return 0;
}

static int records(tsr_world_t *world, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int p = 0; p < GAS_PATTERN_COUNT; p++)
		if (record_of(world, (gas_pattern_t)p))
			return 1;
	return 0;
}

Test(gas_plan, records_tell_the_patterns_apart)
{
	each_world(records, NULL);
}

/*
 * GEMM + all-scatter: every pattern, dtype and tile, in worlds of several
 * sizes, proved right on every rank.
 */
#include "tests/multi/each_world.h"
#include "tests/multi/gas_reference.h"

static const tsr_dtype_t dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};
static const tile_size_t tiles[] = {{16, 16, 16}, {32, 32, 16}, {64, 64, 32}};

#define COUNT(array_) ((int)(sizeof(array_) / sizeof *(array_)))

/* A shape that no tile and no world divides. */
static const gas_config_t odd = {.m = 91, .n = 73, .k = 37};

/** What a failed CHECK says about the case. */
#define CASE "%s %s %dx%dx%d blocks %d (%d send), %d parts, shape %dx%dx%d"
#define CASE_OF(c_)                                                                               \
	gas_pattern_name((c_)->pattern), tsr_dtype_name((c_)->dtype), (c_)->tile.m, (c_)->tile.n, \
		(c_)->tile.k, (c_)->blocks, (c_)->comm_blocks, (c_)->parts, (int)(c_)->m,         \
		(int)(c_)->n, (int)(c_)->k

/** Poisons C, runs the plan `times` times without a pause, and judges every element. */
static int run_and_judge(tsr_world_t *world, gas_plan_t *plan, const gas_reference_t *reference,
			 int times)
{
	const gas_config_t *config = gas_plan_config(plan);
	verdict_t v;
	CHECK(gas_plan_poison(plan, world) == TSR_OK, CASE, CASE_OF(config));
	for (int i = 0; i < times; i++)
		CHECK(gas_plan_run(plan) == TSR_OK, CASE, CASE_OF(config));
	CHECK(gas_plan_sync(plan) == TSR_OK, CASE, CASE_OF(config));
	CHECK(gas_reference_check(reference, world, plan, &v) == TSR_OK, CASE, CASE_OF(config));
	CHECK(v.wrong == 0, CASE ": %d wrong, first (%d, %d): %g, expected %g within %g",
	      CASE_OF(config), (int)v.wrong, (int)v.row, (int)v.col, v.got, v.expected, v.bound);
	return 0;
}

/**
 * One plan: a first run, a second one behind nothing but the first one's end,
 * and three in a row. Nothing is ever reset.
 */
static int try_plan(tsr_world_t *world, const gas_config_t *config, const workload_inputs_t *inputs,
		    const gas_reference_t *reference)
{
	gas_plan_t *plan;
	CHECK(gas_plan_create(world, config, &plan) == TSR_OK, CASE, CASE_OF(config));
	CHECK(gas_plan_fill(plan, world, inputs) == TSR_OK, CASE, CASE_OF(config));
	for (int times = 1; times <= 3; times++)
		if (run_and_judge(world, plan, reference, times))
			return 1;
	CHECK(gas_plan_destroy(plan) == TSR_OK, CASE, CASE_OF(config));
	return 0;
}

/** Every pattern with this config. */
static int try_patterns(tsr_world_t *world, gas_config_t config, const workload_inputs_t *inputs)
{
	gas_reference_t *reference = NULL;
	CHECK(gas_reference_create(world, &config, inputs, &reference) == TSR_OK, CASE,
	      CASE_OF(&config));
	for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
		config.pattern = (gas_pattern_t)p;
		/* small shapes are one, where nobody asks */
		config.bands = p == GAS_BANDED ? 3 : 0;
		if (try_plan(world, &config, inputs, reference))
			return 1;
	}
	gas_reference_destroy(reference);
	return 0;
}

/* ---------------------------------------------------------------- dtypes and tiles */

/** `argv[1]`: the dtype. */
static int integers(tsr_world_t *world, int argc, char **argv)
{
	gas_config_t config = odd;
	workload_inputs_t inputs = {.seed = 11, .integers = true};
	CHECK(argc == 2 && tsr_dtype_parse(argv[1], &config.dtype) == TSR_OK);
	for (int t = 0; t < COUNT(tiles); t++) {
		config.tile = tiles[t];
		if (try_patterns(world, config, &inputs))
			return 1;
	}
	return 0;
}

Test(gemm_all_scatter, integers_are_exact_in_bf16)
{
	each_world(integers, "bf16");
}

Test(gemm_all_scatter, integers_are_exact_in_f16)
{
	each_world(integers, "f16");
}

Test(gemm_all_scatter, integers_are_exact_in_f32)
{
	each_world(integers, "f32");
}

static int random_inputs(tsr_world_t *world, int argc, char **argv)
{
	workload_inputs_t inputs = {.seed = 12};
	(void)argc;
	(void)argv;
	for (int d = 0; d < COUNT(dtypes); d++) {
		gas_config_t config = odd;
		config.dtype = dtypes[d];
		if (try_patterns(world, config, &inputs))
			return 1;
	}
	return 0;
}

Test(gemm_all_scatter, random_inputs_stay_within_the_bound)
{
	each_world(random_inputs, NULL);
}

/* ---------------------------------------------------------------- shapes */

static int slender_shapes(tsr_world_t *world, int argc, char **argv)
{
	/* N below the world's size leaves ranks without columns; 1 is the edge of every extent. */
	static const int64_t shapes[][3] = {
		{91, 3, 37}, {17, 1, 5}, {1, 73, 37}, {1, 1, 1}, {33, 40, 1}};
	workload_inputs_t inputs = {.seed = 13, .integers = true};
	(void)argc;
	(void)argv;
	for (int s = 0; s < COUNT(shapes); s++) {
		gas_config_t config = {.m = shapes[s][0],
				       .n = shapes[s][1],
				       .k = shapes[s][2],
				       .dtype = dtypes[s % COUNT(dtypes)]};
		if (try_patterns(world, config, &inputs))
			return 1;
	}
	return 0;
}

Test(gemm_all_scatter, slender_shapes)
{
	each_world(slender_shapes, NULL);
}

static int block_counts(tsr_world_t *world, int argc, char **argv)
{
	/* One tile a block and idle blocks; few blocks with many tiles; one sender for all, and one
	 * that computes for all. */
	static const int blocks[][2] = {{2, 1}, {3, 2}, {5, 1}, {12, 5}, {16, 15}};
	static const int parts[] = {1, 2, 3, TILING_PARTS};
	workload_inputs_t inputs = {.seed = 14, .integers = true};
	(void)argc;
	(void)argv;
	for (int b = 0; b < COUNT(blocks); b++) {
		gas_config_t config = odd;
		config.dtype = TSR_F32;
		config.tile = tiles[0];
		config.blocks = blocks[b][0];
		config.comm_blocks = blocks[b][1];
		for (int p = 0; p < COUNT(parts); p++) {
			config.parts = parts[p];
			if (try_patterns(world, config, &inputs))
				return 1;
		}
	}
	return 0;
}

Test(gemm_all_scatter, block_counts)
{
	each_world(block_counts, NULL);
}

/* ---------------------------------------------------------------- one run after another */

/**
 * Each run has other inputs and a poisoned C, and nothing but the kernels' own
 * handshake keeps a fast rank's next run from the C that a slow rank still
 * judges, or a slow one's last tiles from the next C.
 */
static int changing_inputs(tsr_world_t *world, int argc, char **argv)
{
	enum { SEEDS = 3, ROUNDS = 9 };
	gas_reference_t *references[SEEDS];
	gas_config_t config = odd;
	(void)argc;
	(void)argv;
	config.dtype = TSR_F16;
	config.tile = tiles[0];
	config.parts = 2;
	for (int s = 0; s < SEEDS; s++)
		CHECK(gas_reference_create(world, &config,
					   &(workload_inputs_t){.seed = 20 + (uint64_t)s},
					   &references[s]) == TSR_OK);
	for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
		gas_plan_t *plan;
		config.pattern = (gas_pattern_t)p;
		CHECK(gas_plan_create(world, &config, &plan) == TSR_OK, CASE, CASE_OF(&config));
		for (int round = 0; round < ROUNDS; round++) {
			CHECK(gas_plan_fill(plan, world,
					    &(workload_inputs_t){
						    .seed = 20 + (uint64_t)(round % SEEDS)}) ==
			      TSR_OK);
			if (run_and_judge(world, plan, references[round % SEEDS], 1))
				return 1;
		}
		CHECK(gas_plan_destroy(plan) == TSR_OK, CASE, CASE_OF(&config));
	}
	for (int s = 0; s < SEEDS; s++)
		gas_reference_destroy(references[s]);
	return 0;
}

Test(gemm_all_scatter, changing_inputs_without_a_barrier)
{
	each_world(changing_inputs, NULL);
}

/*
 * One plan through all patterns and tiles: A and B stay, C is right each time,
 * and nothing is left over.
 */
#include "kernels/gemm_all_scatter/config.h"
#include "tests/multi/each_world.h"
#include "tests/multi/gas_reference.h"

static const workload_inputs_t inputs = {.seed = 11, .integers = true};

static int run_twice(tsr_world_t *world, gas_plan_t *plan, const gas_reference_t *reference)
{
	verdict_t verdict;
	CHECK(gas_plan_poison(plan, world) == TSR_OK);
	CHECK(gas_plan_run(plan) == TSR_OK && gas_plan_run(plan) == TSR_OK &&
	      gas_plan_sync(plan) == TSR_OK);
	CHECK(gas_reference_check(reference, world, plan, &verdict) == TSR_OK);
	CHECK(verdict.wrong == 0, "%s: %d elements are wrong",
	      gas_pattern_name(gas_plan_config(plan)->pattern), (int)verdict.wrong);
	return 0;
}

/** What is refused leaves the plan as it was. */
static int refuse(tsr_world_t *world, gas_plan_t *plan)
{
	gas_config_t before = *gas_plan_config(plan), config = before;
	config.m++;
	CHECK(gas_plan_adapt(plan, &config) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "another plan"));
	config = before;
	config.blocks = 1 << 20;
	CHECK(gas_plan_adapt(plan, &config) == TSR_ERR_RESIDENCY);
	config = before;
	config.tile = (tile_size_t){48, 48, 16};
	CHECK(gas_plan_adapt(plan, &config) == TSR_ERR_NOT_FOUND);
	CHECK(memcmp(&before, gas_plan_config(plan), sizeof before) == 0);
	return 0;
}

static int adapt(tsr_world_t *world, int argc, char **argv)
{
	gas_config_t config = {
		.m = 70, .n = 73, .k = 37, .dtype = TSR_BF16, .pattern = GAS_FUSED_WAVE};
	gas_plan_t *plan;
	gas_reference_t *reference = NULL;
	tsr_heap_usage_t before = {.size = sizeof before}, after = {.size = sizeof after};
	(void)argc;
	(void)argv;
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	CHECK(gas_plan_create(world, &config, &plan) == TSR_OK &&
	      gas_plan_fill(plan, world, &inputs) == TSR_OK);
	CHECK(gas_plan_run_product(plan) == TSR_ERR_UNSUPPORTED);
	CHECK(gas_reference_create(world, &config, &inputs, &reference) == TSR_OK);
	for (int round = 0; round < 2; round++)
		for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
			config.pattern = (gas_pattern_t)p;
			for (int index = 0;
			     variant_at(&index, gas_pattern_kernels(config.pattern)->kernels[0],
					config.dtype, &config.tile);) {
				CHECK(gas_plan_adapt(plan, &config) == TSR_OK);
				if (run_twice(world, plan, reference) || refuse(world, plan))
					return 1;
			}
		}
	if (run_twice(world, plan, reference))
		return 1;
	CHECK(gas_plan_destroy(plan) == TSR_OK);
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(before.allocations == after.allocations && before.free_bytes == after.free_bytes);
	gas_reference_destroy(reference);
	return 0;
}

Test(gas_plan, adapts_to_every_pattern_and_tile)
{
	each_world(adapt, NULL);
}

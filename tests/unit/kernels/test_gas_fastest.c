/* The pattern of GEMM + all-scatter that is called the fastest, beside what was measured. */
#include <criterion/criterion.h>

#include "kernels/choices/machine.h"
#include "kernels/gemm_all_scatter/plan.h"

static const tsr_device_props_t h200 = {.size = sizeof h200,
					.name = "an H200",
					.resident_blocks = 132,
					.workers_per_block = 4,
					.shared_bytes = 227 << 10,
					.tile_depth = 64};

Test(gas_fastest, is_the_pattern_that_was_fastest_on_h200s)
{
	/* The fastest, or within 3 % of it: bench/results/gemm_all_scatter-*cuda-[124]-*.json. */
	static const struct {
		int ranks;
		int64_t m, n, k;
		unsigned good; /* bit p: pattern p */
	} measured[] = {
		{1, 4096, 4096, 4096, 1U << GAS_BULK_SYNCHRONOUS},
		{1, 64, 8192, 8192, 1U << GAS_BULK_SYNCHRONOUS},
		{1, 8192, 8192, 1, 1U << GAS_BULK_SYNCHRONOUS},
		{2, 8192, 14336, 4096, 1U << GAS_FUSED_WORKGROUP},
		{2, 8192, 28672, 8192, 1U << GAS_FUSED_WORKGROUP | 1U << GAS_BANDED},
		{2, 8192, 36864, 4608, 1U << GAS_FUSED_WORKGROUP | 1U << GAS_BANDED},
		{4, 8192, 14336, 4096, 1U << GAS_FUSED_WORKGROUP | 1U << GAS_FUSED_SEQUENTIAL},
		{4, 8192, 28672, 8192, 1U << GAS_FUSED_WORKGROUP},
	};
	for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
		const workload_place_t place = {measured[i].ranks, &h200,
						machine_find("cuda", "NVIDIA H200"), 1, NULL};
		const gas_config_t config = {.m = measured[i].m,
					     .n = measured[i].n,
					     .k = measured[i].k,
					     .dtype = TSR_BF16};
		const gas_pattern_t pattern = gas_fastest(&config, &place);
		cr_expect(measured[i].good >> pattern & 1, "%dx%dx%d on %d: %s", (int)config.m,
			  (int)config.n, (int)config.k, place.ranks, gas_pattern_name(pattern));
	}
}

Test(gas_fastest, can_run)
{
	/* One block cannot send beside another that computes. */
	const workload_place_t unknown = {3, &h200, machine_find("none", "none"), 1, NULL};
	const gas_config_t alone = {.m = 64, .n = 64, .k = 64, .dtype = TSR_BF16, .blocks = 1};
	cr_expect_eq(gas_fastest(&alone, &unknown), GAS_FUSED_SEQUENTIAL);
	const workload_place_t known = {3, &h200, machine_find("cuda", "NVIDIA H200"), 1, NULL};
	cr_expect(gas_fastest(&alone, &known) != GAS_FUSED_WORKGROUP);
}

/*
 * The cost of products: rounds and parts of tiles, what sending takes, and
 * whose figures are taken on a device.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/choices/cost.h"

static const char *machine_of(const char *backend, const char *device)
{
	return machine_find(backend, device)->name;
}

Test(machine, is_found_by_its_device_and_else_by_its_backend)
{
	cr_expect_str_eq(machine_of("cuda", "NVIDIA H200"), "h200");
	cr_expect_str_eq(machine_of("cuda", "NVIDIA B200"), "h200", "the backend's default");
	cr_expect_str_eq(machine_of("hip", "AMD Instinct MI300X (gfx942:sramecc+:xnack-)"),
			 "mi300x");
	cr_expect_str_eq(machine_of("hip", "NVIDIA H200 (sm_90)"), "mi300x", "another backend's");
	cr_expect_str_eq(machine_of("cpuemu", "CPU emulator"), "cpuemu");
	cr_expect_str_eq(machine_of("level-zero", "a device of tomorrow"), "cpuemu");
}

Test(machine, has_figures_where_they_are_known)
{
	for (int i = 0; i < machine_count; i++) {
		const machine_t *machine = &machine_table[i];
		cr_expect(machine->multiprocessors > 0 && machine->load_edge > 0, "%s",
			  machine->name);
		/* Choices divide by it, and compare with it. */
		cr_expect(machine->load_box >= 1 && machine->spare_ratio >= 1 &&
				  machine->last_sends >= 1 && machine->tight_loss >= 1,
			  "%s", machine->name);
		cr_expect(machine->divide_gain < 1 && machine->tight_ratio < 1, "%s",
			  machine->name);
		cr_expect_eq(cost_knows_links(machine), strcmp(machine->backend, "cuda") == 0, "%s",
			     machine->name);
	}
}

Test(cost, whole_tiles_are_rounds_of_all_blocks)
{
	for (int64_t tiles = 0; tiles <= 20; tiles++)
		for (int64_t blocks = 1; blocks <= 9; blocks++) {
			const int64_t whole = cost_whole_tiles(tiles, blocks, 2),
				      rest = tiles - whole;
			cr_assert_eq(cost_whole_tiles(tiles, blocks, 1), tiles);
			if (blocks > 1)
				cr_assert(whole % blocks == 0 && rest <= blocks &&
						  rest >= (tiles > 0),
					  "%d of %d for %d", (int)whole, (int)tiles, (int)blocks);
			else
				cr_assert_eq(whole, tiles, "nobody to halve with");
		}
}

static cost_product_t product_of(int64_t tiles, int parts)
{
	return (cost_product_t){
		.m = 8192, .k = 4096, .tile = {128, 256, 64}, .tiles = tiles, .parts = parts};
}

Test(cost, rounds_take_their_time)
{
	const machine_t *h200 = machine_find("cuda", "NVIDIA H200");
	const cost_product_t one = product_of(132, 1), two = product_of(133, 1),
			     halves = product_of(132 + 66, 2);
	const double tile = cost_whole_tile(h200, &one);
	/* In a tile of 128 x 256 an element takes 1. */
	cr_expect_float_eq(tile, 128.0 * 256 * 4096, 1e-6 * tile);
	cr_expect_float_eq(cost_compute(h200, &one, 132).time, tile, 1e-6 * tile);
	cr_expect_float_eq(cost_compute(h200, &two, 132).time, 2 * tile, 1e-6 * tile);
	cr_expect_float_eq(cost_compute(h200, &halves, 132).rounds, 1.5, 1e-9);
	cr_expect(cost_compute(h200, &halves, 132).time > 1.5 * tile, "sums are handed over");
	cr_expect_eq(cost_last_tiles(&one, 132), 132);
	cr_expect_eq(cost_last_tiles(&two, 132), 132, "the last of each block");
	cr_expect_eq(cost_last_tiles(&halves, 132), 66);
	/* Few rows read their columns of B at the rate of memory. */
	cost_product_t few = one;
	few.m = 1;
	cr_expect(cost_compute(h200, &few, 132).time > cost_compute(h200, &one, 132).time);
}

Test(cost, time_of_computing_is_the_sum_of_its_parts)
{
	const machine_t *h200 = machine_find("cuda", "NVIDIA H200");
	for (int parts = 1; parts <= 2; parts++)
		for (int few = 0; few <= 1; few++) {
			cost_product_t product = product_of(200, parts);
			product.m = few ? 1 : product.m;
			const cost_computing_t c = cost_compute(h200, &product, 132);
			const double sum = c.multiplying + c.loading + c.handing_over + c.reading;
			cr_expect_float_eq(sum, c.time, 1e-9 * c.time);
			cr_expect(c.multiplying > c.loading && c.loading > 0);
			cr_expect_eq(c.handing_over > 0, parts > 1);
			cr_expect_eq(c.reading > 0, few);
			cr_expect_str_eq(cost_bound(&c), few ? "reading B" : "multiplying");
		}
	const cost_computing_t loading = {.multiplying = 1, .loading = 3, .reading = 2};
	cr_expect_str_eq(cost_bound(&loading), "loads of operands");
}

Test(cost, is_a_time_where_matrix_units_and_clock_are_known)
{
	const tsr_device_props_t matrices = {.tile_depth = 64}, none = {.tile_depth = 0};
	const machine_t *h200 = machine_find("cuda", "NVIDIA H200");
	machine_t unknown = *h200;
	unknown.clock = 0;
	/* an element is two operations, of which a multiprocessor makes 4096 in a cycle */
	cr_expect_float_eq(cost_unit_ns(h200, &matrices, TSR_BF16), 1 / (2048 * h200->clock),
			   1e-12);
	cr_expect(cost_unit_ns(h200, &matrices, TSR_F32) == 0);
	cr_expect(cost_unit_ns(h200, &none, TSR_BF16) == 0);
	cr_expect(cost_unit_ns(&unknown, &matrices, TSR_BF16) == 0);
}

Test(cost, sending_takes_longer_to_more_peers)
{
	const machine_t *h200 = machine_find("cuda", "NVIDIA H200");
	const cost_sending_t alone = cost_send(h200, 0), one = cost_send(h200, 1),
			     three = cost_send(h200, 3);
	cr_expect(alone.block == 0 && alone.links == 0);
	cr_expect_float_eq(one.block, 240, 1e-9);
	cr_expect_float_eq(one.links, 240.0 / 15, 1e-9);
	cr_expect_eq(one.lanes, 15);
	cr_expect_float_eq(three.links, 3 * one.links, 1e-9);
	cr_expect_float_eq(three.block, 3 * 240 - 2 * 114, 1e-9, "it is read once");
	cr_expect_eq(three.lanes, 11);
}

/* Pure functions of the device API, which are the same everywhere: called here as the CPU's code that they are. */
#include <criterion/criterion.h>

#include "tessera/dev.h"

Test(pure, grouped_order_is_a_bijection)
{
	for (int64_t m = 1; m <= 7; m++)
		for (int64_t n = 1; n <= 6; n++)
			for (int64_t group = -1; group <= 9; group++) {
				char seen[7][6] = {{0}};
				for (int64_t i = 0; i < m * n; i++) {
					tsr_pos_t at = tsr_grouped_order(i, m, n, group);
					cr_assert(at.row >= 0 && at.row < m && at.col >= 0 && at.col < n);
					cr_assert_eq(tsr_grouped_index(at, m, n, group), i, "tile %d of %d x %d in groups of %d",
						     (int)i, (int)m, (int)n, (int)group);
					cr_expect(seen[at.row][at.col]++ == 0, "%d x %d tiles in groups of %d: tile twice", (int)m,
						  (int)n, (int)group);
				}
			}
	cr_expect_eq(tsr_grouped_order(1, 4, 4, 2).row, 1, "a group is walked column by column");
	cr_expect_eq(tsr_grouped_order(2, 4, 4, 2).col, 1, "then its next column follows");
}

Test(pure, a_whole_part_has_all_of_k)
{
	const tsr_pos_t at = {3, 5};
	const tsr_part_t part = tsr_whole(at);
	cr_expect(part.at.row == 3 && part.at.col == 5 && part.k0 == 0 && part.k1 == INT64_MAX);
}

Test(pure, tiles_cover)
{
	cr_expect_eq(tsr_tiles(0, 16), 0);
	cr_expect_eq(tsr_tiles(1, 16), 1);
	cr_expect_eq(tsr_tiles(16, 16), 1);
	cr_expect_eq(tsr_tiles(17, 16), 2);
	cr_expect_eq(tsr_tiles(INT64_MAX, 1), INT64_MAX);
}

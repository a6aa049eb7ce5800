/* Bands: which tiles are complete when so many tasks are. */
#include "kernels/gemm_all_scatter/plan.h"

/** Tasks 0 .. tasks-1 complete the groups below `group` and `cols` columns of that one. */
typedef struct progress {
	int64_t group, cols;
} progress_t;

/** The last group may have fewer rows. */
static int64_t group_rows(int64_t tiles_m, int64_t height, int64_t group)
{
	const int64_t left = tiles_m - group * height;
	return left < height ? left : height;
}

static progress_t progress(int64_t tiles_m, int64_t tiles_n, int64_t height, int64_t tasks)
{
	const int64_t group = tasks / (height * tiles_n), rows = group_rows(tiles_m, height, group);
	return (progress_t){group, rows > 0 ? tasks % (height * tiles_n) / rows : 0};
}

int gas_band_parts(int64_t tiles_m, int64_t tiles_n, int64_t group, int64_t first, int64_t end, gas_part_t parts[GAS_BAND_PARTS])
{
	if (tiles_m < 1 || tiles_n < 1)
		return 0;
	const int64_t height = group < 1 ? 1 : group > tiles_m ? tiles_m : group;
	const progress_t from = progress(tiles_m, tiles_n, height, first), to = progress(tiles_m, tiles_n, height, end);
	const gas_part_t candidates[GAS_BAND_PARTS] = {
		/* the rest of the group that was begun, or as much of it as is new */
		{{from.group * height, from.cols},
		 group_rows(tiles_m, height, from.group),
		 (from.group == to.group ? to.cols : tiles_n) - from.cols},
		/* whole groups */
		{{(from.group + 1) * height, 0}, (to.group - from.group - 1) * height, tiles_n},
		/* the beginning of the next */
		{{to.group * height, 0}, group_rows(tiles_m, height, to.group), from.group == to.group ? 0 : to.cols},
	};
	int count = 0;
	for (int i = 0; i < GAS_BAND_PARTS; i++)
		if (candidates[i].rows > 0 && candidates[i].cols > 0)
			parts[count++] = candidates[i];
	return count;
}

/*
 * The bodies that are the same on every port: arithmetic on views and indices, no memory.
 * Read by a port's bodies, after the contracts (on the CPU: by one file of the library).
 */
#ifndef TESSERA_COMMON_DEV_PURE_H
#define TESSERA_COMMON_DEV_PURE_H

#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/view.h"

TSR_DEV int tsr_peer(const tsr_coop_t *coop, int i)
{
	return (tsr_rank(coop) + i) % tsr_size(coop);
}

TSR_DEV tsr_view_t tsr_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols, int64_t ld)
{
	tsr_view_t view = {data, rows, cols, ld, (int32_t)dtype, (int32_t)TSR_SPACE_HEAP};
	return view;
}

TSR_DEV tsr_view_t tsr_view_shared(void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols, int64_t ld)
{
	tsr_view_t view = {data, rows, cols, ld, (int32_t)dtype, (int32_t)TSR_SPACE_SHARED};
	return view;
}

TSR_DEV tsr_view_t tsr_view_part(tsr_view_t view, tsr_pos_t at, int64_t rows, int64_t cols)
{
	int64_t bytes = view.dtype == TSR_F64 || view.dtype == TSR_I64    ? 8
			: view.dtype == TSR_F32 || view.dtype == TSR_I32  ? 4
			: view.dtype == TSR_F16 || view.dtype == TSR_BF16 ? 2
									  : 1;
	if (at.row < 0) { /* the part of the tile that lies before the view is cut off too */
		rows += at.row;
		at.row = 0;
	}
	if (at.col < 0) {
		cols += at.col;
		at.col = 0;
	}
	rows = rows < view.rows - at.row ? rows : view.rows - at.row;
	cols = cols < view.cols - at.col ? cols : view.cols - at.col;
	if (rows <= 0 || cols <= 0) { /* nothing: keep the pointer inside */
		view.rows = view.cols = 0;
		return view;
	}
	view.data = (TSR_HEAP unsigned char *)view.data + (at.row * view.ld + at.col) * bytes;
	view.rows = rows;
	view.cols = cols;
	return view;
}

TSR_DEV tsr_part_t tsr_whole(tsr_pos_t at)
{
	tsr_part_t part = {at, 0, INT64_MAX};
	return part;
}

TSR_DEV int64_t tsr_tiles(int64_t extent, int64_t size)
{
	return extent <= 0 ? 0 : (extent - 1) / size + 1;
}

/** n / d. GPUs divide words of 32 bits many times faster than words of 64. */
TSR_FN int64_t tsr_quotient(int64_t n, int64_t d)
{
	return (n | d) >> 32 ? n / d : (int64_t)((uint32_t)n / (uint32_t)d);
}

TSR_DEV tsr_pos_t tsr_grouped_order(int64_t index, int64_t tiles_m, int64_t tiles_n, int64_t group)
{
	tsr_pos_t at = {0, 0};
	if (tiles_m < 1 || tiles_n < 1)
		return at;
	group = group < 1 ? 1 : group > tiles_m ? tiles_m : group;
	int64_t before = tsr_quotient(index, group * tiles_n), first = before * group; /* the group's first row of tiles */
	int64_t within = index - first * tiles_n;
	int64_t rows = group < tiles_m - first ? group : tiles_m - first; /* the last group may be lower */
	at.col = tsr_quotient(within, rows);
	at.row = first + within - at.col * rows;
	return at;
}

TSR_DEV int64_t tsr_grouped_index(tsr_pos_t at, int64_t tiles_m, int64_t tiles_n, int64_t group)
{
	if (tiles_m < 1 || tiles_n < 1)
		return 0;
	group = group < 1 ? 1 : group > tiles_m ? tiles_m : group;
	int64_t first = tsr_quotient(at.row, group) * group, rest = tiles_m - first;
	return first * tiles_n + at.col * (group < rest ? group : rest) + at.row - first;
}

#endif

/*
 * Arithmetic on views that several bodies need, equal in every port. No memory
 * accesses.
 */
#ifndef TESSERA_COMMON_DEV_VIEWS_H
#define TESSERA_COMMON_DEV_VIEWS_H

#include "tessera/dev/orders.h"
#include "tessera/dev/view.h"

/** n / d. GPUs divide 32-bit words many times faster than 64-bit words. */
TSR_FN int64_t tsr_quotient(int64_t n, int64_t d)
{
	return (n | d) >> 32 ? n / d : (int64_t)((uint32_t)n / (uint32_t)d);
}

TSR_FN int64_t tsr_element_bytes(int32_t dtype)
{
	return dtype == TSR_F64 || dtype == TSR_I64    ? 8
	       : dtype == TSR_F32 || dtype == TSR_I32  ? 4
	       : dtype == TSR_F16 || dtype == TSR_BF16 ? 2
						       : 1;
}

TSR_FN int tsr_view_is_empty(tsr_view_t view)
{
	return view.rows < 1 || view.cols < 1;
}

/** The bytes from the first element to behind the last. */
TSR_FN int64_t tsr_view_span(tsr_view_t view)
{
	return ((view.rows - 1) * view.ld + view.cols) * tsr_element_bytes(view.dtype);
}

TSR_FN int tsr_views_are_alike(tsr_view_t a, tsr_view_t b)
{
	return a.rows == b.rows && a.cols == b.cols;
}

/** Whether they are the same memory. One row has no distance to the next. */
TSR_FN int tsr_views_are_one(tsr_view_t a, tsr_view_t b)
{
	return a.data == b.data && tsr_views_are_alike(a, b) && (a.rows == 1 || a.ld == b.ld);
}

/**
 * Whether they share memory. Views with rows equally far apart share none if
 * they have other columns. Of other views that lie within each other it says
 * that they do.
 */
TSR_FN int tsr_views_share_memory(tsr_view_t a, tsr_view_t b)
{
	const int64_t bytes = tsr_element_bytes(a.dtype), pitch = a.ld * bytes;
	const int64_t ahead = (int64_t)((intptr_t)a.data - (intptr_t)b.data);
	if (tsr_view_is_empty(a) || tsr_view_is_empty(b) || ahead >= tsr_view_span(b) ||
	    -ahead >= tsr_view_span(a))
		return 0;
	if (a.ld != b.ld || pitch <= 0)
		return 1;
	const int64_t column = (ahead % pitch + pitch) % pitch; /* of a, counted from b's first */
	return column < b.cols * bytes || column + a.cols * bytes > pitch;
}

/**
 * The part of `view` that is one of `count` equal shares, in whole rows, or in
 * columns if there are fewer rows than shares.
 */
TSR_FN tsr_view_t tsr_view_share(tsr_view_t view, int index, int count)
{
	return tsr_view_cut(view, view.rows >= count ? TSR_DIM_ROWS : TSR_DIM_COLS, index, count);
}

TSR_FN int tsr_view_has_no_gaps(tsr_view_t view)
{
	return view.rows <= 1 || view.ld == view.cols;
}

/** The elements of a view without gaps, `count` from `first` on, as rows of `cols`. */
TSR_FN tsr_view_t tsr_view_flat(tsr_view_t view, int64_t first, int64_t count, int64_t cols)
{
	view.data = (TSR_HEAP unsigned char *)view.data + first * tsr_element_bytes(view.dtype);
	view.rows = cols > 0 ? count / cols : 0;
	view.cols = view.ld = cols;
	return view;
}

enum { TSR_COMBINE_LINE = 64 };

/**
 * Part `index` of `count`: whole rows, or if there are fewer, whole lines of
 * columns, so that parts begin at multiples of sixteen bytes if the view does.
 */
TSR_FN tsr_view_t tsr_combine_part(tsr_view_t view, int index, int count)
{
	if (view.rows >= count)
		return tsr_view_cut(view, TSR_DIM_ROWS, index, count);
	const int64_t lines = tsr_tiles(view.cols, TSR_COMBINE_LINE),
		      first = tsr_quotient(lines * index, count) * TSR_COMBINE_LINE,
		      end = tsr_quotient(lines * (index + 1), count) * TSR_COMBINE_LINE;
	const tsr_pos_t at = {0, first};
	return tsr_view_part(view, at, view.rows, end - first);
}

#endif

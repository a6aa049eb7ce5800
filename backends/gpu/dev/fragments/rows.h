/*
 * Row values: bodies of tsr_rows_* (dev/tile.h, dev/value.h). The thread that
 * holds a row's value loads and stores it.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_ROWS_H
#define TESSERA_GPU_DEV_FRAGMENTS_ROWS_H

#include "gpu/dev/fragments/tile.h"

template <typename F> constexpr bool tsr_gpu_is_rows = (int)F::role == (int)TSR_GPU_ROWS;

TSR_DEV_ROWS void tsr_rows_fill(tsr_coop_t *coop, tsr_rows_t *rows, float v)
{
	static_assert(tsr_gpu_is_rows<tsr_rows_t>, "declare it with TSR_FRAG_ROWS");
	tsr_gpu_frag_changes(coop, rows);
	TSR_GPU_EACH(tsr_rows_t, coop, i, row)
	{
		rows->v[i] = tsr_gpu_mapped<tsr_rows_t>(v);
	}
}

TSR_DEV_ROWS void tsr_rows_map(tsr_coop_t *coop, tsr_rows_t *rows, tsr_rows_fn fn, const void *ctx)
{
	static_assert(tsr_gpu_is_rows<tsr_rows_t>, "declare it with TSR_FRAG_ROWS");
	tsr_gpu_frag_changes(coop, rows);
	TSR_GPU_EACH(tsr_rows_t, coop, i, row)
	{
		rows->v[i] = tsr_gpu_mapped<tsr_rows_t>(fn((float)rows->v[i], row, ctx));
	}
}

TSR_DEV_ROWS void tsr_rows_zip(tsr_coop_t *coop, tsr_rows_t *x, const tsr_rows_t *y, tsr_zip_fn fn,
			       const void *ctx)
{
	static_assert(tsr_gpu_is_rows<tsr_rows_t>, "declare it with TSR_FRAG_ROWS");
	tsr_frag_zip(coop, x, y, fn, ctx);
}

/** The address of the value of the tile's row `row`; null: outside the view. */
template <typename S> TSR_DEV S *tsr_gpu_row_at(const tsr_gpu_target_t &target, int row)
{
	const int64_t in_view = target.at.row + row;
	return tsr_gpu_touches(target, in_view, target.at.col)
		       ? (S *)target.data + (in_view * target.ld + target.at.col)
		       : (S *)0;
}

template <typename D, typename F>
TSR_DEV void tsr_gpu_rows_load(const tsr_coop_t *coop, const tsr_gpu_target_t &target, F *rows)
{
	typedef typename F::value_t value_t;
	TSR_GPU_EACH(F, coop, i, row)
	{
		const typename D::stored_t *from =
			tsr_gpu_row_at<const typename D::stored_t>(target, row);
		rows->v[i] = from ? tsr_gpu_decode<value_t, D>(*from) : (value_t)0;
	}
}

template <typename D, typename F>
TSR_DEV void tsr_gpu_rows_store(const tsr_coop_t *coop, const tsr_gpu_target_t &target,
				const F *rows)
{
	TSR_GPU_EACH(F, coop, i, row)
	{
		typename D::stored_t *to = tsr_gpu_row_at<typename D::stored_t>(target, row);
		if (to)
			*to = tsr_gpu_encode<D>(rows->v[i]);
	}
}

TSR_DEV_ROWS void tsr_rows_load(tsr_coop_t *coop, tsr_rows_t *rows, tsr_view_t view, tsr_pos_t at,
				int peer)
{
	static_assert(tsr_gpu_is_rows<tsr_rows_t>, "declare it with TSR_FRAG_ROWS");
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return;
	const tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	tsr_gpu_asking_t a = {-1, 0};
	tsr_port_settle(coop);
	tsr_gpu_frag_changes(coop, rows);
	const tsr_gpu_target_t here = tsr_gpu_far_load<tsr_rows_t>(coop, target, &a);
	if (!target.far || a.room)
		TSR_GPU_BY_DTYPE(here.dtype, D, (tsr_gpu_rows_load<D>(coop, here, rows)))
	if (target.far)
		tsr_gpu_far_end(coop, a);
}

TSR_DEV_ROWS void tsr_rows_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_rows_t *rows, int peer)
{
	static_assert(tsr_gpu_is_rows<tsr_rows_t>, "declare it with TSR_FRAG_ROWS");
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return;
	const tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	tsr_gpu_asking_t a = {-1, 0};
	tsr_port_settle(coop);
	const tsr_gpu_target_t here = tsr_gpu_far_store<tsr_rows_t>(coop, target, &a);
	if (!target.far || a.room)
		TSR_GPU_BY_DTYPE(here.dtype, D, (tsr_gpu_rows_store<D>(coop, here, rows)))
	if (target.far)
		tsr_gpu_far_stored<tsr_rows_t>(coop, target, &a);
}

#endif

/*
 * Bodies of dev/value.h. A fragment moves to and from memory through the
 * scratch memory, a band of rows at a time, unless its layout lets threads move
 * their own elements (fragments/direct.h).
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_VALUE_H
#define TESSERA_GPU_DEV_FRAGMENTS_VALUE_H

#include "gpu/dev/fragments/direct.h"
#include "gpu/dev/pointer.h"

/**
 * Stores the scratch memory's band of `rows` rows as elements of type D,
 * beginning with the tile's row `first`.
 */
template <typename D, int COLS, int HINT, typename V>
TSR_DEV void tsr_gpu_band_store(const tsr_coop_t *coop, const tsr_gpu_target_t &target,
				const V *scratch, int first, int rows)
{
	typedef typename D::stored_t stored_t;
	constexpr int group = tsr_gpu_group<stored_t, COLS>::size;
	bool packs = group > 1 && tsr_gpu_packs<stored_t>(target);
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread * group; e < rows * COLS; e += coop->threads * group) {
		int64_t row = target.at.row + first + e / COLS, col = target.at.col + e % COLS;
		stored_t *at = (stored_t *)target.data + (row * target.ld + col);
		if (packs && row >= 0 && row < target.rows && col >= 0 &&
		    col + group <= target.cols) {
			tsr_gpu_pack<stored_t> pack;
			for (int j = 0; j < group; j++)
				pack.element[j] = tsr_gpu_encode<D>(scratch[e + j]);
			tsr_gpu_write<HINT>((tsr_gpu_pack<stored_t> *)at, pack);
			continue;
		}
		TSR_GPU_NO_UNROLL
		for (int j = 0; j < group; j++)
			if (tsr_gpu_touches(target, row, col + j))
				at[j] = tsr_gpu_encode<D>(scratch[e + j]);
	}
}

/** Loads that band into the scratch memory. */
template <typename D, int COLS, int HINT, typename V>
TSR_DEV void tsr_gpu_band_load(const tsr_coop_t *coop, const tsr_gpu_target_t &target, V *scratch,
			       int first, int rows)
{
	typedef typename D::stored_t stored_t;
	constexpr int group = tsr_gpu_group<stored_t, COLS>::size;
	bool packs = group > 1 && tsr_gpu_packs<stored_t>(target);
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread * group; e < rows * COLS; e += coop->threads * group) {
		int64_t row = target.at.row + first + e / COLS, col = target.at.col + e % COLS;
		const stored_t *at = (const stored_t *)target.data + (row * target.ld + col);
		if (packs && row >= 0 && row < target.rows && col >= 0 &&
		    col + group <= target.cols) {
			tsr_gpu_pack<stored_t> pack =
				tsr_gpu_read<HINT>((const tsr_gpu_pack<stored_t> *)at);
			for (int j = 0; j < group; j++)
				scratch[e + j] = tsr_gpu_decode<V, D>(pack.element[j]);
			continue;
		}
		TSR_GPU_NO_UNROLL
		for (int j = 0; j < group; j++)
			scratch[e + j] = tsr_gpu_touches(target, row, col + j)
						 ? tsr_gpu_decode<V, D>(at[j])
						 : tsr_gpu_decode<V, tsr_gpu_f64>(target.other);
	}
}

#include TSR_PORT_OUTGOING

/** Stores the tile by the threads' own stores. */
template <int HINT, typename F>
TSR_DEV void tsr_gpu_store_here(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	typedef typename F::value_t value_t;
	tsr_port_settle(coop);
	/* A link carries whole lines twice as fast as the few bytes of a row that neighbouring
	 * threads have: a block's tile passes through the scratch memory. A worker stores its own
	 * elements, because others compute meanwhile, and meetings cost it more. */
	if ((target.remote == 0 || !coop->whole) && tsr_gpu_store_directly(coop, target, frag)) {
		tsr_gpu_meet(coop); /* as below */
		return;
	}
	if (F::operand && tsr_gpu_by_port<F>(coop))
		/* several threads hold an element and one of them stores it, so all must have
		 * finished their earlier loads of it */
		tsr_gpu_meet(coop);
	const value_t *scratch = tsr_gpu_scratch<value_t>(coop);
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < F::rows; first += F::band) {
		const tsr_coop_t seldom = tsr_gpu_seldom(coop);
		int rows = F::rows - first < F::band ? F::rows - first : (int)F::band;
		tsr_gpu_frag_lay(&seldom, frag, first);
		tsr_gpu_meet_shared(coop);
		TSR_GPU_BY_DTYPE(target.dtype, D,
				 (tsr_gpu_band_store<D, F::cols, HINT>(&seldom, target, scratch,
								       first, rows)))
		tsr_gpu_meet_shared(coop);
	}
	tsr_gpu_meet(coop); /* the coop's next call finds everything stored */
}

template <int HINT, typename F>
TSR_DEV void tsr_gpu_load_here(tsr_coop_t *coop, const tsr_gpu_target_t &target, F *frag)
{
	typedef typename F::value_t value_t;
	value_t *scratch = tsr_gpu_scratch<value_t>(coop);
	tsr_gpu_frag_changes(coop, frag);
	if (tsr_gpu_load_directly(coop, target, frag))
		return;
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < F::rows; first += F::band) {
		int rows = F::rows - first < F::band ? F::rows - first : (int)F::band;
		TSR_GPU_BY_DTYPE(target.dtype, D,
				 (tsr_gpu_band_load<D, F::cols, HINT>(coop, target, scratch, first,
								      rows)))
		tsr_gpu_meet_shared(coop);
		tsr_gpu_frag_take(coop, frag, first);
		tsr_gpu_meet_shared(coop);
	}
}

#include "gpu/dev/fragments/far.h"

template <int HINT, typename F>
TSR_DEV void tsr_gpu_store_tile(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	tsr_gpu_asking_t a = {-1, 0};
	if (HINT == TSR_HINT_NONE && !target.far && tsr_port_store_frag(coop, target, frag))
		return;
	const tsr_gpu_target_t here = tsr_gpu_far_store<F>(coop, target, &a);
	if (!target.far || a.room)
		tsr_gpu_store_here<HINT>(coop, here, frag);
	if (target.far)
		tsr_gpu_far_stored<F>(coop, target, &a);
}

/** What others send is recorded by them. */
template <int HINT, typename F>
TSR_DEV void tsr_gpu_store_to(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	const uint64_t begun = tsr_gpu_record_now();
	const uint32_t posted = coop->posted;
	tsr_gpu_store_tile<HINT>(coop, target, frag);
	tsr_gpu_record_stored<F>(coop, begun, posted, target);
}

template <int HINT, typename F>
TSR_DEV void tsr_gpu_load_from(tsr_coop_t *coop, const tsr_gpu_target_t &target, F *frag)
{
	tsr_port_settle(coop);
	tsr_gpu_record_loaded<F>(coop, target);
	tsr_gpu_asking_t a = {-1, 0};
	const tsr_gpu_target_t here = tsr_gpu_far_load<F>(coop, target, &a);
	if (!target.far || a.room)
		tsr_gpu_load_here<HINT>(coop, here, frag);
	if (target.far)
		tsr_gpu_far_end(coop, a);
}

/* ---- dev/value.h */

TSR_DEV_FRAG void tsr_load_masked(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				  tsr_mask_fn mask, const void *ctx, double other, int peer)
{
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return;
	tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	target.mask = mask;
	target.ctx = ctx;
	target.other = other;
	tsr_gpu_load_from<TSR_HINT_NONE>(coop, target, frag);
}

TSR_DEV_FRAG void tsr_store_masked(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				   const tsr_frag_t *frag, tsr_mask_fn mask, const void *ctx,
				   int peer)
{
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return;
	tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	target.mask = mask;
	target.ctx = ctx;
	tsr_gpu_store_to<TSR_HINT_NONE>(coop, target, frag);
}

TSR_DEV_FRAG void tsr_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			   int peer)
{
	tsr_load_masked(coop, frag, view, at, (tsr_mask_fn)0, (const void *)0, 0.0, peer);
}

TSR_DEV_FRAG void tsr_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
			    int peer)
{
	tsr_store_masked(coop, view, at, frag, (tsr_mask_fn)0, (const void *)0, peer);
}

TSR_DEV_FRAG void tsr_load_hint(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				int peer, tsr_hint_t hint)
{
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return;
	const tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	hint = view.space == TSR_SPACE_SHARED ? TSR_HINT_NONE : hint;
	TSR_GPU_BY_HINT(hint, HINT, (tsr_gpu_load_from<HINT>(coop, target, frag)))
}

TSR_DEV_FRAG void tsr_store_hint(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_frag_t *frag, int peer, tsr_hint_t hint)
{
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return;
	const tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	hint = view.space == TSR_SPACE_SHARED ? TSR_HINT_NONE : hint;
	TSR_GPU_BY_HINT(hint, HINT, (tsr_gpu_store_to<HINT>(coop, target, frag)))
}

/**
 * Puts the tile at `at` of my view to all other ranks. The values for this are
 * computed only here; earlier, they would take registers from a main loop's
 * accumulator.
 */
TSR_DEV void tsr_gpu_put_tile(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, int64_t rows,
			      int64_t cols)
{
	tsr_port_forget(&view.data);
	tsr_port_forget(&view.ld);
	tsr_port_forget(&view.rows);
	tsr_port_forget(&view.cols);
	tsr_port_forget(&at.row);
	tsr_port_forget(&at.col);
	const tsr_pos_t first = {at.row > 0 ? at.row : 0, at.col > 0 ? at.col : 0};
	const tsr_view_t tile = tsr_view_part(view, first, rows - (first.row - at.row),
					      cols - (first.col - at.col));
	const tsr_gpu_rows_of_bytes_t job =
		tsr_gpu_overlap(coop, tile, tsr_rank(coop), tile, tsr_rank(coop));
	const tsr_coop_t seldom = tsr_gpu_seldom(coop);
	tsr_port_settle(coop);
	const uint64_t begun = tsr_gpu_record_now();
	if (tsr_gpu_spans_nodes(coop))
		tsr_gpu_put_to_each(coop, job);
	else if (job.rows > 0 && job.row_bytes > 0)
		tsr_gpu_copy_rows<true>(&seldom, tsr_gpu_every_rank(coop, job), job);
	tsr_gpu_record_written_all(coop, begun, 1, (uint64_t)(job.rows * job.row_bytes));
	tsr_gpu_meet(coop); /* the coop's next call finds everything stored */
}

TSR_DEV_FRAG void tsr_store_all(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				const tsr_frag_t *frag)
{
	if (!tsr_gpu_accepts_view(coop, view, tsr_rank(coop)))
		return;
	tsr_store(coop, view, at, frag, tsr_rank(coop));
	if (tsr_size(coop) > 1 && (tsr_gpu_spans_nodes(coop) || !tsr_port_send_stored(coop)))
		tsr_gpu_put_tile(coop, view, at, tsr_frag_t::rows, tsr_frag_t::cols);
}

#endif

/*
 * Tiles of ranks on other nodes: what a tile covers of a view passes through the
 * room of a request (gpu/dev/far.h), without gaps.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_FAR_H
#define TESSERA_GPU_DEV_FRAGMENTS_FAR_H

#include "gpu/dev/fragments/direct.h"

/** The view of a target. */
TSR_DEV tsr_view_t tsr_gpu_target_view(const tsr_gpu_target_t &target)
{
	const tsr_view_t view = {target.mine, target.rows,  target.cols,
				 target.ld,   target.dtype, target.space};
	return view;
}

/** The same target with its elements in a view of my own. */
TSR_DEV tsr_gpu_target_t tsr_gpu_target_in(const tsr_gpu_target_t &target, const tsr_view_t &view)
{
	tsr_gpu_target_t here = target;
	here.data = here.mine = (char *)view.data;
	here.ld = view.ld;
	here.remote = 0;
	here.far = false;
	return here;
}

/**
 * The target that a load reads: itself, or of a rank of another node what it has
 * in the room of `a`, which tsr_gpu_far_loaded gives back.
 */
template <typename F>
TSR_DEV tsr_gpu_target_t tsr_gpu_far_load(tsr_coop_t *coop, const tsr_gpu_target_t &target,
					  tsr_gpu_asking_t *a)
{
	static_assert((int64_t)F::rows * F::cols * 8 <= TSR_GPU_ROOM_BYTES || !TSR_PORT_NODES,
		      "a tile of a rank on another node does not fit a request's room");
	if (!target.far)
		return target;
	*a = tsr_gpu_far_begin(coop);
	return tsr_gpu_target_in(target,
				 tsr_gpu_far_get_tile(coop, a, 0, tsr_gpu_target_view(target),
						      target.at, F::rows, F::cols,
						      tsr_peer(coop, target.remote)));
}

/** Where a part of a tile lies at the peer, as rows of a request. */
TSR_DEV tsr_gpu_request_t tsr_gpu_far_part(const tsr_coop_t *coop, int what,
					   const tsr_gpu_target_t &target, tsr_gpu_inside_t part)
{
	const int64_t bytes = tsr_gpu_dtype_bytes(target.dtype);
	return tsr_gpu_far_rows(coop, what, target.mine + (part.row * target.ld + part.col) * bytes,
				target.ld * bytes, part.cols * bytes, part.rows,
				tsr_peer(coop, target.remote));
}

/** One thread puts the elements that the mask selects, run by run. */
TSR_DEV bool tsr_gpu_far_put_runs(const tsr_coop_t *coop, int place, const tsr_gpu_target_t &target,
				  const tsr_gpu_inside_t &part)
{
	const int64_t bytes = tsr_gpu_dtype_bytes(target.dtype);
	for (int64_t row = part.row; row < part.row + part.rows; row++)
		for (int64_t col = part.col, end; col < part.col + part.cols; col = end + 1) {
			for (end = col;
			     end < part.col + part.cols && target.mask(row, end, target.ctx);)
				end++;
			if (end == col)
				continue;
			const tsr_gpu_inside_t run = {row, col, 1, end - col};
			tsr_gpu_request_t want =
				tsr_gpu_far_part(coop, TSR_GPU_ASK_PUT, target, run);
			want.bits =
				(uint64_t)(((row - part.row) * part.cols + col - part.col) * bytes);
			if (!tsr_gpu_far_ask(coop->context, place, &want))
				return false;
		}
	return true;
}

/** The part of the tile that is inside the view. */
template <typename F> TSR_DEV tsr_gpu_inside_t tsr_gpu_far_tile(const tsr_gpu_target_t &target)
{
	return tsr_gpu_far_inside(tsr_gpu_target_view(target), target.at, F::rows, F::cols);
}

/**
 * The target that a store writes: itself, or for a rank of another node the room
 * of `a`, which tsr_gpu_far_stored sends.
 */
template <typename F>
TSR_DEV tsr_gpu_target_t tsr_gpu_far_store(tsr_coop_t *coop, const tsr_gpu_target_t &target,
					   tsr_gpu_asking_t *a)
{
	if (!target.far)
		return target;
	const tsr_gpu_inside_t part = tsr_gpu_far_tile<F>(target);
	tsr_pos_t first;
	first.row = part.row;
	first.col = part.col;
	*a = tsr_gpu_far_begin(coop);
	return tsr_gpu_target_in(target, tsr_gpu_far_in_room(a->room, tsr_gpu_target_view(target),
							     first, part.cols));
}

template <typename F>
TSR_DEV void tsr_gpu_far_stored(tsr_coop_t *coop, const tsr_gpu_target_t &target,
				tsr_gpu_asking_t *a)
{
	const tsr_gpu_inside_t part = tsr_gpu_far_tile<F>(target);
	if (a->room && part.rows > 0 && !target.mask) {
		tsr_gpu_far_send(coop, a, tsr_gpu_far_part(coop, TSR_GPU_ASK_PUT, target, part));
	} else if (a->room && part.rows > 0) {
		bool good = true;
		tsr_port_drain<TSR_SCOPE_SYSTEM>();
		tsr_gpu_meet(coop);
		if (tsr_gpu_leads(coop))
			good = tsr_gpu_far_put_runs(coop, a->place, target, part);
		if (!tsr_gpu_tell(coop, good))
			a->room = 0;
	}
	tsr_gpu_far_end(coop, *a);
}

/**
 * Writes a band of the tile, which the scratch memory has, to the room, as the
 * owner will add it.
 */
template <typename D, int COLS, typename V>
TSR_DEV void tsr_gpu_far_band(const tsr_coop_t *coop, char *room, const tsr_gpu_inside_t &part,
			      tsr_pos_t at, const V *scratch, int first, int rows)
{
	typename D::stored_t *to = (typename D::stored_t *)room;
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread; e < rows * COLS; e += coop->threads) {
		const int64_t row = at.row + first + e / COLS - part.row,
			      col = at.col + e % COLS - part.col;
		if (row >= 0 && row < part.rows && col >= 0 && col < part.cols)
			to[row * part.cols + col] = tsr_gpu_encode<D>(scratch[e]);
	}
}

/** tsr_store_add to a rank of another node. */
template <typename D, typename F>
TSR_DEV void tsr_gpu_far_add(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag,
			     int kind)
{
	const tsr_gpu_inside_t part = tsr_gpu_far_tile<F>(target);
	tsr_gpu_asking_t a = tsr_gpu_far_begin(coop);
	if (a.room && part.rows > 0) {
		typedef typename F::value_t value_t;
		const value_t *scratch = tsr_gpu_scratch<value_t>(coop);
		TSR_GPU_NO_UNROLL
		for (int first = 0; first < F::rows; first += F::band) {
			const int rows = F::rows - first < F::band ? F::rows - first : (int)F::band;
			tsr_gpu_frag_lay(coop, frag, first);
			tsr_gpu_meet(coop);
			tsr_gpu_far_band<D, F::cols>(coop, a.room, part, target.at, scratch, first,
						     rows);
			tsr_gpu_meet(coop);
		}
		tsr_gpu_request_t want = tsr_gpu_far_part(coop, TSR_GPU_ASK_EACH, target, part);
		want.kind = (uint8_t)kind;
		want.op = TSR_GPU_OP_ADD;
		want.bytes = sizeof(typename D::stored_t);
		tsr_gpu_far_send(coop, &a, want);
	}
	tsr_gpu_far_end(coop, a);
}

#endif

/*
 * Body of tsr_store_add (dev/value.h): a band of rows at a time passes through
 * the scratch memory, as for stores, and is added from there.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_ADD_H
#define TESSERA_GPU_DEV_FRAGMENTS_ADD_H

#include "gpu/dev/fragments/value.h"

#include TSR_PORT_ADD

/**
 * Evaluates `call_` with `type_` standing for an element type that devices can
 * add.
 */
#define TSR_GPU_BY_ADDED(dtype_, type_, call_)                        \
	switch (dtype_) {                                             \
	case TSR_F32: {                                               \
		typedef tsr_gpu_f32 type_;                            \
		call_;                                                \
	} break;                                                      \
	case TSR_F16: {                                               \
		typedef tsr_gpu_f16 type_;                            \
		call_;                                                \
	} break;                                                      \
	default: { /* tsr_gpu_adds_to has seen that it is no other */ \
		typedef tsr_gpu_bf16 type_;                           \
		call_;                                                \
	} break;                                                      \
	}

/**
 * Adds elements first .. last-1 of a group: one by one, or for 16-bit types in
 * pairs that share a word.
 */
template <typename D, typename V>
TSR_DEV void tsr_gpu_add_some(typename D::stored_t *at, const V *x, int first, int last)
{
	TSR_GPU_NO_UNROLL
	for (int j = first; j < last; j++) {
		if constexpr (sizeof(typename D::stored_t) == 2) {
			if (j + 1 < last && (uintptr_t)(at + j) % 4 == 0) {
				const uint32_t low = tsr_gpu_encode<D>(x[j]),
					       high = tsr_gpu_encode<D>(x[j + 1]);
				tsr_port_add_pair<D>((uint32_t *)(at + j), low | high << 16);
				j++;
				continue;
			}
		}
		tsr_port_add_one<D>(at + j, tsr_gpu_encode<D>(x[j]));
	}
}

/**
 * Adds the scratch memory's band of `rows` rows to elements of type D,
 * beginning with the tile's row `first`. Partner of each add: any atomic on the
 * same element. Litmus: CoINC.rlx.diffGPU-ss.
 */
template <typename D, int COLS, typename V>
TSR_DEV void tsr_gpu_band_add(const tsr_coop_t *coop, const tsr_gpu_target_t &target,
			      const V *scratch, int first, int rows)
{
	typedef typename D::stored_t stored_t;
	constexpr int group = tsr_gpu_group<stored_t, COLS>::size;
	const bool packs = group > 1 && tsr_gpu_packs<stored_t>(target);
	TSR_GPU_NO_UNROLL
	for (int e = coop->thread * group; e < rows * COLS; e += coop->threads * group) {
		const int64_t row = target.at.row + first + e / COLS,
			      col = target.at.col + e % COLS;
		const int from = col < 0 ? (int)tsr_gpu_least(-col, group) : 0;
		/* below `from` if the group is outside */
		const int until = (int)tsr_gpu_least(target.cols - col, group);
		stored_t *at = (stored_t *)target.data + (row * target.ld + col);
		if (row < 0 || row >= target.rows)
			continue;
		if (packs && from == 0 && until == group) {
			tsr_gpu_pack<stored_t> pack;
			for (int j = 0; j < 16 / (int)sizeof(stored_t); j++)
				pack.element[j] = tsr_gpu_encode<D>(scratch[e + j]);
			tsr_port_add_pack<D>(at, pack);
		} else {
			tsr_gpu_add_some<D>(at, scratch + e, from, until);
		}
	}
}

/**
 * Whether elements of the view can be added to. Debug builds note a mistake;
 * the call then does nothing.
 */
TSR_DEV bool tsr_gpu_adds_to(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
	if (!tsr_gpu_accepts_view(coop, view, peer))
		return false;
	if (view.space != TSR_SPACE_HEAP) {
#if defined(TSR_DEBUG)
		tsr_gpu_fault(coop, TSR_GPU_NOTE_POINTER, view.data, tsr_gpu_view_bytes(view),
			      peer);
#endif
		return false;
	}
	if (view.dtype == TSR_F32 || view.dtype == TSR_F16 || view.dtype == TSR_BF16)
		return true;
#if defined(TSR_DEBUG)
	tsr_gpu_fault(coop, TSR_GPU_NOTE_DTYPE, view.data, 0, view.dtype);
#endif
	return false;
}

TSR_DEV_FRAG void tsr_store_add(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				const tsr_frag_t *frag, int peer)
{
	typedef typename tsr_frag_t::value_t value_t;
	if (!tsr_gpu_adds_to(coop, view, peer))
		return;
	const tsr_gpu_target_t target = tsr_gpu_target(coop, view, at, peer);
	const value_t *scratch = tsr_gpu_scratch<value_t>(coop);
	tsr_port_settle(coop);
	if (target.far) {
		TSR_GPU_BY_ADDED(target.dtype, D,
				 (tsr_gpu_far_add<D>(coop, target, frag,
						     target.dtype == TSR_F32 ? TSR_GPU_WORD_F32
						     : target.dtype == TSR_F16
							     ? TSR_GPU_WORD_F16
							     : TSR_GPU_WORD_BF16)))
		return;
	}
	const uint64_t begun = tsr_gpu_record_now();
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < tsr_frag_t::rows; first += tsr_frag_t::band) {
		const tsr_coop_t seldom = tsr_gpu_seldom(coop);
		const int rows = (int)tsr_gpu_least(tsr_frag_t::rows - first, tsr_frag_t::band);
		tsr_gpu_frag_lay(&seldom, frag, first);
		tsr_gpu_meet_shared(coop);
		TSR_GPU_BY_ADDED(target.dtype, D,
				 (tsr_gpu_band_add<D, tsr_frag_t::cols>(&seldom, target, scratch,
									first, rows)))
		tsr_gpu_meet_shared(coop);
	}
	tsr_gpu_record_stored<tsr_frag_t>(coop, begun, coop->posted, target);
}

#endif

/*
 * Fragments in layouts of the port in which a thread has elements that are
 * adjacent in memory. It loads and stores them itself, without the scratch
 * memory. Tiles that reach past the view's edge, that are not aligned for this,
 * or that have another type in memory, use the scratch memory as all others do.
 */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_DIRECT_H
#define TESSERA_GPU_DEV_FRAGMENTS_DIRECT_H

#include "gpu/dev/fragments/target.h"

/** The unit of a move: BYTES of adjacent elements, of type S. */
template <typename S, int BYTES> struct __attribute__((aligned(BYTES))) tsr_gpu_part {
	S element[BYTES / sizeof(S)];
};

/** The size of that unit, if `length` elements of `size` bytes are adjacent. */
TSR_DEV int tsr_gpu_part_bytes(int length, int size)
{
	return length * size >= 16 ? 16 : length * size;
}

/**
 * Whether the whole tile is inside the view, and its rows are aligned to units.
 */
template <typename F, typename D>
TSR_DEV bool tsr_gpu_is_whole(const tsr_gpu_target_t &target, int bytes)
{
	const uint64_t size = sizeof(typename D::stored_t);
	return F::cols % (bytes / (int)size) == 0 && target.dtype == (int32_t)D::code &&
	       !target.mask && target.at.row >= 0 && target.at.col >= 0 &&
	       target.at.row + F::rows <= target.rows && target.at.col + F::cols <= target.cols &&
	       ((uintptr_t)target.data +
		(uint64_t)(target.at.row * target.ld + target.at.col) * size) %
			       (uint64_t)bytes ==
		       0 &&
	       (uint64_t)target.ld * size % (uint64_t)bytes == 0;
}

/**
 * The address of this thread's element i, in a tile that is completely inside.
 */
template <typename F, typename S>
TSR_DEV S *tsr_gpu_whole_at(const tsr_coop_t *coop, const tsr_gpu_target_t &target, int i)
{
	const int64_t row = target.at.row + tsr_gpu_row<F>(coop, i),
		      col = target.at.col + tsr_gpu_col<F>(coop, i);
	return (S *)target.data + (row * target.ld + col);
}

/**
 * Runs the body for each unit of a thread that multiplies: it begins with
 * element j of piece p, which is the thread's element i. The condition is
 * checked once, so that loads do not wait for each other.
 */
#define TSR_GPU_EACH_PART(F_, coop_, count_, p_, j_, i_)                                           \
	TSR_GPU_UNROLL                                                                             \
	for (int p_ = 0; p_ < F_::capacity && p_ * tsr_port_layout<F_>::length((coop_)->threads) < \
						      tsr_gpu_most<F_>(coop_);                     \
	     p_++)                                                                                 \
		TSR_GPU_UNROLL                                                                     \
	for (int j_ = 0; j_ < tsr_port_layout<F_>::length((coop_)->threads); j_ += (count_))       \
		if (int i_ = tsr_port_layout<F_>::piece((coop_)->threads, p_, j_);                 \
		    tsr_port_layout<F_>::inside((coop_), i_))

template <typename D, int BYTES, typename F>
TSR_DEV void tsr_gpu_parts_load(const tsr_coop_t *coop, const tsr_gpu_target_t &target, F *frag)
{
	typedef typename D::stored_t stored_t;
	typedef tsr_gpu_part<stored_t, BYTES> part_t;
	constexpr int count = BYTES / (int)sizeof(stored_t);
	if (!tsr_port_layout<F>::multiplies(coop))
		return;
	TSR_GPU_EACH_PART(F, coop, count, p, j, i)
	{
		const part_t part =
			*(const part_t *)tsr_gpu_whole_at<F, const stored_t>(coop, target, i);
		TSR_GPU_UNROLL
		for (int n = 0; n < count; n++) {
			const int at = tsr_port_layout<F>::piece(coop->threads, p, j + n);
			if constexpr (F::packed)
				tsr_gpu_set_bits(frag, at, part.element[n]);
			else
				tsr_gpu_set(
					frag, at,
					tsr_gpu_decode<typename F::value_t, D>(part.element[n]));
		}
	}
}

template <typename D, int BYTES, typename F>
TSR_DEV void tsr_gpu_parts_store(const tsr_coop_t *coop, const tsr_gpu_target_t &target,
				 const F *frag)
{
	typedef typename D::stored_t stored_t;
	typedef tsr_gpu_part<stored_t, BYTES> part_t;
	constexpr int count = BYTES / (int)sizeof(stored_t);
	if (!tsr_port_layout<F>::multiplies(coop))
		return;
	TSR_GPU_EACH_PART(F, coop, count, p, j, i)
	{
		part_t part;
		TSR_GPU_UNROLL
		for (int n = 0; n < count; n++)
			part.element[n] = tsr_gpu_encode<D>(tsr_gpu_get(
				frag, tsr_port_layout<F>::piece(coop->threads, p, j + n)));
		*(part_t *)tsr_gpu_whole_at<F, stored_t>(coop, target, i) = part;
	}
}

/**
 * Loads the tile in this way, as elements of type D. Returns false if that is
 * not possible.
 */
template <typename D, typename F>
TSR_DEV bool tsr_gpu_load_parts(tsr_coop_t *coop, const tsr_gpu_target_t &target, F *frag)
{
	const int bytes = tsr_gpu_part_bytes(tsr_port_layout<F>::length(coop->threads),
					     (int)sizeof(typename D::stored_t));
	if (!tsr_gpu_is_whole<F, D>(target, bytes))
		return false;
	if (bytes == 16)
		tsr_gpu_parts_load<D, 16>(coop, target, frag);
	else if (bytes == 8)
		tsr_gpu_parts_load<D, 8>(coop, target, frag);
	else if (bytes == 4)
		tsr_gpu_parts_load<D, 4>(coop, target, frag);
	else
		tsr_gpu_parts_load<D, sizeof(typename D::stored_t)>(coop, target, frag);
	return true;
}

template <typename D, typename F>
TSR_DEV bool tsr_gpu_store_parts(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	const int bytes = tsr_gpu_part_bytes(tsr_port_layout<F>::length(coop->threads),
					     (int)sizeof(typename D::stored_t));
	if (!tsr_gpu_is_whole<F, D>(target, bytes))
		return false;
	if (bytes == 16)
		tsr_gpu_parts_store<D, 16>(coop, target, frag);
	else if (bytes == 8)
		tsr_gpu_parts_store<D, 8>(coop, target, frag);
	else if (bytes == 4)
		tsr_gpu_parts_store<D, 4>(coop, target, frag);
	else
		tsr_gpu_parts_store<D, sizeof(typename D::stored_t)>(coop, target, frag);
	return true;
}

/** The same for the tile's own type, or for the type of sums. */
template <typename F>
TSR_DEV bool tsr_gpu_load_directly(tsr_coop_t *coop, const tsr_gpu_target_t &target, F *frag)
{
	if constexpr (F::by_port > 0) {
		if (tsr_port_layout<F>::length(coop->threads) == 0)
			return false;
		if (tsr_gpu_load_parts<typename F::dtype_t>(coop, target, frag))
			return true;
		if constexpr ((int)F::dtype_t::code != TSR_F32 && !F::operand)
			return tsr_gpu_load_parts<tsr_gpu_f32>(coop, target, frag);
	}
	return false;
}

/** The same for a store of sums. */
template <typename F>
TSR_DEV bool tsr_gpu_store_directly(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	if constexpr (F::by_port > 0 && !F::operand) {
		if (tsr_port_layout<F>::length(coop->threads) == 0)
			return false;
		if (tsr_gpu_store_parts<typename F::dtype_t>(coop, target, frag))
			return true;
		if constexpr ((int)F::dtype_t::code != TSR_F32)
			return tsr_gpu_store_parts<tsr_gpu_f32>(coop, target, frag);
	}
	return false;
}

#endif

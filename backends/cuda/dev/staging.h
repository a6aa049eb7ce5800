/*
 * How a finished tile leaves: consumers lay it down in shared memory and post where it goes; three warps store it from there,
 * sixteen bytes a thread, while the consumers multiply the next. What goes to a peer and to my own memory too they read back from
 * my own, so that consumers need not wait for a link before they can lay the next tile down.
 *
 * Not by the copy engine: it takes some fifty cycles for each row of a tile, before which loads wait; and product and remote stores
 * then took the sum of their times (bench/results/). And not all at once, for all blocks end a tile at about the same time: remote
 * stores of a tile are spread over the next tile's product.
 */
#ifndef TESSERA_CUDA_STAGING_H
#define TESSERA_CUDA_STAGING_H

#include "cuda/dev/pipeline.h"

/* ---- the consumers */

/** Until the `number`-th store has been made; one thread. Partner: the arrival in tsr_cuda_storers. Litmus: MP.rel.acq.sameWG-ww.
 */
TSR_DEV void tsr_cuda_await_store(uint32_t number)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	tsr_port_store<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->awaited, number + 1);
	tsr_cuda_mbarrier_wait(tsr_cuda_shared_address(&pipeline->ended[number % TSR_CUDA_STORES_MOST]),
			       number / TSR_CUDA_STORES_MOST % 2);
}

TSR_DEV void tsr_port_settle(tsr_coop_t *coop)
{
	coop->kept.to = 0; /* what comes next may write there */
	if (coop->settled == coop->posted)
		return;
	/* One thread waits, then all meet: a thread that came late to a barrier of two phases could mistake the next for its own.
	 */
	if (tsr_gpu_leads(coop))
		tsr_cuda_await_store(coop->posted - 1);
	tsr_gpu_meet(coop);
	coop->settled = coop->posted;
	coop->unfenced = 1;
}

/** Until the staging memory can be overwritten. Stores are made in turn, so that the last which reads it tells. */
TSR_DEV void tsr_cuda_take_staging(tsr_coop_t *coop)
{
	if (coop->staged <= coop->settled)
		return;
	/* A store that as many have been posted behind as there are places had ended before the last of these was. */
	if (tsr_gpu_leads(coop) && coop->posted - coop->staged < TSR_CUDA_STORES_MOST)
		tsr_cuda_await_store(coop->staged - 1);
	tsr_gpu_meet(coop);
	coop->staged = 0;
}

/** Posts a store, once its place is free. Partner of the arrival: the wait in tsr_cuda_storers. Litmus: MP.rel.acq.sameWG-ww. */
TSR_DEV void tsr_cuda_post(tsr_coop_t *coop, tsr_cuda_store_t store)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	uint32_t number = coop->posted++, place = number % TSR_CUDA_STORES_MOST;
	if (!tsr_gpu_leads(coop))
		return;
	if (number >= TSR_CUDA_STORES_MOST)
		tsr_cuda_await_store(number - TSR_CUDA_STORES_MOST);
	pipeline->store[place] = store;
	tsr_cuda_mbarrier_arrive(tsr_cuda_shared_address(&pipeline->posted[place]));
}

/** Two neighbours of a row, rounded to D; the first in the lower half. */
template <typename D> TSR_DEV uint32_t tsr_cuda_pair(float first, float second)
{
	uint32_t pair;
	if constexpr ((int)D::code == TSR_BF16)
		__asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
	else
		__asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
	return pair;
}

TSR_DEV void tsr_cuda_shared_write(uint32_t address, uint32_t word)
{
	__asm__ volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

/** Lays columns first .. first + part_cols - 1 down, once what stood there has been stored. */
template <typename F> TSR_DEV void tsr_cuda_lay(tsr_coop_t *coop, const F *frag, int first)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	uint32_t staging = tsr_cuda_shared_address(coop->scratch->bytes);
	tsr_cuda_take_staging(coop);
	TSR_GPU_UNROLL
	for (int i = 0; i < F::elements / TSR_CUDA_CONSUMER_THREADS; i += 2) {
		int row = tsr_gpu_row<F>(coop, i), col = tsr_gpu_col<F>(coop, i);
		int first_col = i % tsr_port_layout<F>::band_elements / 4 * 8; /* without the thread's part, so a constant */
		if (first_col < first || first_col >= first + division::part_cols)
			continue;
		tsr_cuda_shared_write(staging + (uint32_t)(row * division::pitch_bytes + (col - first) * 2),
				      tsr_cuda_pair<typename F::dtype_t>(frag->v[i], frag->v[i + 1]));
	}
	tsr_gpu_meet(coop);
}

/** How much of the tile lies inside the target's view, and where it begins in my own memory. */
template <typename F> TSR_DEV tsr_gpu_kept_t tsr_cuda_clip(const tsr_gpu_target_t &target, const F *frag)
{
	tsr_gpu_kept_t clip;
	clip.to = target.mine + (target.at.row * target.ld + target.at.col) * 2;
	clip.ld = target.ld;
	clip.rows = (int)tsr_gpu_least(target.rows - target.at.row, F::rows);
	clip.cols = (int)tsr_gpu_least(target.cols - target.at.col, F::cols);
	clip.stamp = frag->stamp;
	return clip;
}

/** Whether storers find the tile, just as it is to be sent, in my own memory. */
TSR_DEV bool tsr_cuda_is_kept(const tsr_gpu_kept_t &kept, const tsr_gpu_kept_t &clip)
{
	return kept.to && kept.to == clip.to && kept.stamp == clip.stamp && kept.ld == clip.ld && kept.rows == clip.rows &&
	       kept.cols == clip.cols;
}

/** The store of `cols` columns from `first` on. */
TSR_DEV tsr_cuda_store_t tsr_cuda_store_of(const tsr_gpu_target_t &target, const tsr_gpu_kept_t &clip, int first, int cols)
{
	tsr_cuda_store_t store;
	store.to = target.data + (target.at.row * target.ld + target.at.col + first) * 2;
	store.from = 0;
	store.pitch_bytes = target.ld * 2;
	store.rows = (uint16_t)clip.rows;
	store.row_bytes = (uint16_t)(2 * cols);
	store.stamp = (uint32_t)clip.stamp & 0x7fffffffu;
	store.remote = target.remote != 0;
	return store;
}

/** Whether storers can store the tile: 16-bit elements as they are laid down, in global memory, at multiples of 16 bytes. */
template <typename F> TSR_DEV bool tsr_cuda_stores(const tsr_gpu_target_t &target)
{
	return tsr_cuda_pipeline()->staged && target.dtype == (int32_t)F::dtype_t::code && target.space != TSR_SPACE_SHARED &&
	       target.at.row >= 0 && target.at.col >= 0 && tsr_gpu_packs<uint16_t>(target);
}

/** Lays the tile down, unless it still is, and posts the store of each part. */
template <typename F>
TSR_DEV void tsr_cuda_post_parts(tsr_coop_t *coop, const tsr_gpu_target_t &target, const tsr_gpu_kept_t &clip, const F *frag)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	TSR_GPU_UNROLL
	for (int first = 0; first < F::cols; first += division::part_cols) {
		if (division::parts > 1 || coop->laid != frag->stamp)
			tsr_cuda_lay(coop, frag, first);
		if (clip.rows <= 0 || first >= clip.cols)
			continue;
		tsr_cuda_post(coop, tsr_cuda_store_of(target, clip, first,
						      (int)tsr_gpu_least(clip.cols - first, division::part_cols)));
		coop->staged = coop->posted;
	}
	coop->laid = division::parts > 1 ? 0 : frag->stamp;
}

/** Posts the tile's store: from my own memory where it is kept there and the store goes to a peer's. */
template <typename F> TSR_DEV void tsr_cuda_post_tile(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	const tsr_gpu_kept_t clip = tsr_cuda_clip(target, frag);
	if (target.remote && tsr_cuda_is_kept(coop->kept, clip)) {
		tsr_cuda_store_t store = tsr_cuda_store_of(target, clip, 0, clip.cols);
		store.from = clip.to;
		tsr_cuda_post(coop, store);
		return;
	}
	tsr_cuda_post_parts(coop, target, clip, frag);
	if (!target.remote && clip.rows > 0 && clip.cols > 0)
		coop->kept = clip;
}

/** Whether consumers can write the tile where it belongs themselves: 16-bit elements in shared memory, all of them, in pairs. */
template <typename F> TSR_DEV bool tsr_cuda_writes(const tsr_gpu_target_t &target)
{
	return target.dtype == (int32_t)F::dtype_t::code && target.space == TSR_SPACE_SHARED && !target.mask &&
	       target.at.row >= 0 && target.at.col >= 0 && target.at.row + F::rows <= target.rows &&
	       target.at.col + F::cols <= target.cols && (target.at.col | target.ld) % 2 == 0 && (uintptr_t)target.data % 4 == 0;
}

template <typename F> TSR_DEV void tsr_cuda_write(const tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	int ld = (int)target.ld;
	uint32_t to = tsr_cuda_shared_address(target.data) + 2u * (uint32_t)((int)target.at.row * ld + (int)target.at.col);
	TSR_GPU_UNROLL
	for (int i = 0; i < F::elements / TSR_CUDA_CONSUMER_THREADS; i += 2)
		tsr_cuda_shared_write(to + 2u * (uint32_t)(tsr_gpu_row<F>(coop, i) * ld + tsr_gpu_col<F>(coop, i)),
				      tsr_cuda_pair<typename F::dtype_t>(frag->v[i], frag->v[i + 1]));
	tsr_gpu_meet(coop);
}

template <typename F> TSR_DEV bool tsr_port_store_frag(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	if constexpr (tsr_port_layout<F>::dealt) {
		if (!tsr_gpu_by_port<F>(coop))
			return false;
		if (tsr_cuda_stores<F>(target)) {
			tsr_cuda_post_tile(coop, target, frag);
			return true;
		}
		if (tsr_cuda_writes<F>(target)) {
			tsr_cuda_write(coop, target, frag);
			return true;
		}
	}
	return false;
}

/* ---- the storers */

/** How far a tile's remote stores have come, and how far they may: a share for each chunk that the loader has asked for since. */
typedef struct tsr_cuda_pace {
	int32_t stamp; /* of the tile */
	uint32_t begin, share_bytes, sent_bytes;
} tsr_cuda_pace_t;

/** Before the `number`-th store sends `bytes` more: a rest, unless consumers wait for it, or all has been loaded. */
TSR_DEV void tsr_cuda_keep_pace(tsr_cuda_pace_t *pace, uint32_t number, uint32_t bytes)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	pace->sent_bytes += bytes;
	while (tsr_port_load<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->awaited) <= number) {
		uint32_t loaded = tsr_port_load<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->loaded);
		if (loaded == TSR_CUDA_LOADED_ALL || (uint64_t)(loaded - pace->begin + 1) * pace->share_bytes >= pace->sent_bytes)
			return;
		__nanosleep(100);
	}
}

/** One part of a store: each storer copies units of 16 bytes in turn, then rows' last bytes; `thread` counts the storers. */
template <typename T>
TSR_DEV void tsr_cuda_store_part(int thread, tsr_cuda_store_t part, const char *from, int64_t from_pitch, tsr_cuda_pace_t *pace,
				 uint32_t number)
{
	typedef tsr_gpu_unit<16>::type unit_t;
	enum { at_once = 4, usual_units = tsr_cuda_division<T>::part_cols / 8 };
	const int units = part.row_bytes / 16, all = part.rows * units;
	TSR_GPU_NO_UNROLL
	for (int u = thread; u < all; u += at_once * TSR_CUDA_STORER_THREADS) {
		unit_t unit[at_once];
		char *to[at_once];
		if (part.remote)
			tsr_cuda_keep_pace(pace, number, at_once * TSR_CUDA_STORER_THREADS * 16);
		TSR_GPU_UNROLL
		for (int j = 0; j < at_once; j++) {
			int v = u + j * TSR_CUDA_STORER_THREADS, row = units == usual_units ? v / usual_units : v / units;
			to[j] = part.to + row * part.pitch_bytes + (v - row * units) * 16;
			if (v < all)
				unit[j] = *(const unit_t *)(from + row * from_pitch + (v - row * units) * 16);
		}
		TSR_GPU_UNROLL
		for (int j = 0; j < at_once; j++)
			if (u + j * TSR_CUDA_STORER_THREADS < all)
				*(unit_t *)to[j] = unit[j];
	}
	for (int row = thread; units * 16 < part.row_bytes && row < part.rows; row += TSR_CUDA_STORER_THREADS)
		for (int byte = units * 16; byte < part.row_bytes; byte += 2)
			*(uint16_t *)(part.to + row * part.pitch_bytes + byte) = *(const uint16_t *)(from + row * from_pitch + byte);
}

/**
 * A store: of the part that has been laid down, or of a kept tile by the parts in which it was stored, so that each storer reads
 * of it what it has stored itself.
 */
template <typename T>
TSR_DEV void tsr_cuda_store_rows(int thread, const unsigned char *staging, tsr_cuda_store_t store, tsr_cuda_pace_t *pace,
				 uint32_t number)
{
	enum { part_bytes = tsr_cuda_division<T>::part_cols * 2 };
	TSR_GPU_NO_UNROLL
	for (int first = 0; first < store.row_bytes; first += part_bytes) {
		tsr_cuda_store_t part = store;
		part.to += first;
		part.row_bytes = (uint16_t)tsr_gpu_least(store.row_bytes - first, part_bytes);
		if (store.from)
			tsr_cuda_store_part<T>(thread, part, store.from + first, store.pitch_bytes, pace, number);
		else
			tsr_cuda_store_part<T>(thread, part, (const char *)staging, tsr_cuda_division<T>::pitch_bytes, pace, number);
	}
}

/** The storers' loop, until the consumers have nothing more. `chunks`: of a tile. */
template <typename T> TSR_DEV void tsr_cuda_storers(int thread, const unsigned char *staging, int64_t chunks, int ranks)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	tsr_cuda_pace_t pace = {0, 0, (uint32_t)((int64_t)T::M * T::N * 2 * (ranks - 1) / (chunks > 0 ? chunks : 1)) + 1, 0};
	TSR_GPU_NO_UNROLL
	for (uint32_t number = 0;; number++) {
		uint32_t place = number % TSR_CUDA_STORES_MOST;
		/* Partner: the arrival in tsr_cuda_post. Litmus: MP.rel.acq.sameWG-ww. */
		tsr_cuda_mbarrier_wait(tsr_cuda_shared_address(&pipeline->posted[place]), number / TSR_CUDA_STORES_MOST % 2);
		const tsr_cuda_store_t store = pipeline->store[place];
		if (!store.to)
			return;
		if (store.stamp != (uint32_t)pace.stamp) {
			pace.stamp = (int32_t)store.stamp;
			pace.begin = tsr_port_load<TSR_RELAXED, TSR_SCOPE_BLOCK>(&pipeline->loaded);
			pace.sent_bytes = 0;
		}
		tsr_cuda_store_rows<T>(thread, staging, store, &pace, number);
		/* The warp's stores come before its arrival. Partner: tsr_cuda_await_store. Litmus: MP.rel.acq.sameWG-ww. */
		__syncwarp();
		if (thread % 32 == 0)
			tsr_cuda_mbarrier_arrive(tsr_cuda_shared_address(&pipeline->ended[place]));
	}
}

#endif

/*
 * How a finished tile leaves: consumers lay it down in shared memory and post where it goes; three warps store it from there,
 * sixteen bytes a thread, while the consumers multiply the next. Several stores of one tile share what was laid down once.
 *
 * Not by the copy engine: product and remote stores then took the sum of their times (bench/results/), as if its loads waited
 * behind stores to a busy link. Storers spread a tile's remote stores over the next tile's product, for all blocks end a tile at
 * about the same time.
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
	tsr_port_settle(coop);
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

/** The store of what has been laid down, as far as the target's edges allow. */
template <typename F> TSR_DEV tsr_cuda_store_t tsr_cuda_store_of(const tsr_gpu_target_t &target, const F *frag, int first)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	tsr_cuda_store_t store;
	store.to = target.data + (target.at.row * target.ld + target.at.col + first) * 2;
	store.pitch_bytes = target.ld * 2;
	store.rows = (int32_t)tsr_gpu_least(target.rows - target.at.row, F::rows);
	store.row_bytes = 2 * (int32_t)tsr_gpu_least(target.cols - target.at.col - first, division::part_cols);
	store.stamp = frag->stamp;
	store.remote = target.remote;
	return store;
}

/** Whether storers can store the tile: 16-bit elements as they are laid down, in global memory, at multiples of 16 bytes. */
template <typename F> TSR_DEV bool tsr_cuda_stores(const tsr_gpu_target_t &target)
{
	return tsr_cuda_pipeline()->staged && target.dtype == (int32_t)F::dtype_t::code && target.space != TSR_SPACE_SHARED &&
	       target.at.row >= 0 && target.at.col >= 0 && tsr_gpu_packs<uint16_t>(target);
}

/** Posts the tile's store, laid down before where the staging memory does not hold it from another store. */
template <typename F> TSR_DEV void tsr_cuda_post_tile(tsr_coop_t *coop, const tsr_gpu_target_t &target, const F *frag)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	TSR_GPU_UNROLL
	for (int first = 0; first < F::cols; first += division::part_cols) {
		if (division::parts > 1 || coop->laid != frag->stamp)
			tsr_cuda_lay(coop, frag, first);
		if (target.at.row < target.rows && target.at.col + first < target.cols)
			tsr_cuda_post(coop, tsr_cuda_store_of(target, frag, first));
	}
	coop->laid = division::parts > 1 ? 0 : frag->stamp;
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

/** Each storer its part of a store; `thread` counts the storers. */
template <typename T>
TSR_DEV void tsr_cuda_store_rows(int thread, const unsigned char *staging, tsr_cuda_store_t store, tsr_cuda_pace_t *pace,
				 uint32_t number)
{
	typedef tsr_cuda_division<T> division;
	typedef tsr_gpu_unit<16>::type unit_t;
	enum { at_once = 4 };
	const int units = store.row_bytes / 16, all = store.rows * units;
	TSR_GPU_NO_UNROLL
	for (int u = thread; u < all; u += at_once * TSR_CUDA_STORER_THREADS) {
		unit_t unit[at_once];
		char *to[at_once];
		if (store.remote)
			tsr_cuda_keep_pace(pace, number, at_once * TSR_CUDA_STORER_THREADS * 16);
		TSR_GPU_UNROLL
		for (int j = 0; j < at_once; j++) {
			int v = u + j * TSR_CUDA_STORER_THREADS,
			    row = units == division::part_cols / 8 ? v / (division::part_cols / 8) : v / units;
			to[j] = store.to + row * store.pitch_bytes + (v - row * units) * 16;
			if (v < all)
				unit[j] = *(const unit_t *)(staging + row * division::pitch_bytes + (v - row * units) * 16);
		}
		TSR_GPU_UNROLL
		for (int j = 0; j < at_once; j++)
			if (u + j * TSR_CUDA_STORER_THREADS < all)
				*(unit_t *)to[j] = unit[j];
	}
	for (int row = thread; units * 16 < store.row_bytes && row < store.rows; row += TSR_CUDA_STORER_THREADS)
		for (int byte = units * 16; byte < store.row_bytes; byte += 2)
			*(uint16_t *)(store.to + row * store.pitch_bytes + byte) =
				*(const uint16_t *)(staging + row * division::pitch_bytes + byte);
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
		tsr_cuda_store_t store = pipeline->store[place];
		if (!store.to)
			return;
		if (store.stamp != pace.stamp) {
			pace.stamp = store.stamp;
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

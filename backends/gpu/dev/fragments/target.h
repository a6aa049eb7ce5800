/* A tile's place in memory, and the moves of its elements to and from it. */
#ifndef TESSERA_GPU_DEV_FRAGMENTS_TARGET_H
#define TESSERA_GPU_DEV_FRAGMENTS_TARGET_H

#include "gpu/dev/far.h"
#include "gpu/dev/fragments/frag.h"
#include "gpu/dev/memory.h"
#include "gpu/dev/record.h"

TSR_DEV int64_t tsr_gpu_least(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

/**
 * A place in memory for the tile at `at`: the address of the view's element 0,
 * 0 on the selected peer, and the limits of accesses.
 */
typedef struct tsr_gpu_target {
	char *data;
	int64_t rows, cols, ld;
	tsr_pos_t at;
	int32_t dtype, space;
	int32_t remote; /* the peer's distance behind my rank; 0: my own memory */
	bool far;       /* the peer is on another node: `data` is no address */
	char *mine;     /* what `data` would be in my own memory */
	tsr_mask_fn mask;
	const void *ctx;
	double other; /* value that a load gives to elements that it does not access */
} tsr_gpu_target_t;

/** The i for which tsr_peer(coop, i) is `peer`. */
TSR_DEV int tsr_gpu_ranks_after(const tsr_coop_t *coop, int peer)
{
	const int after = peer - tsr_rank(coop);
	return after < 0 ? after + tsr_size(coop) : after;
}

TSR_DEV tsr_gpu_target_t tsr_gpu_target(const tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
					int peer)
{
	tsr_gpu_target_t target;
	target.data = tsr_gpu_view_address(coop, view, peer);
	target.rows = view.rows;
	target.cols = view.cols;
	target.ld = view.ld;
	target.at = at;
	target.dtype = view.dtype;
	target.space = view.space;
	target.remote = tsr_gpu_ranks_after(coop, peer);
	target.far = view.space != TSR_SPACE_SHARED && tsr_gpu_is_far(coop, peer);
	target.mine = tsr_gpu_view_address(coop, view, tsr_rank(coop));
	target.mask = 0;
	target.ctx = 0;
	target.other = 0;
	return target;
}

TSR_DEV bool tsr_gpu_touches(const tsr_gpu_target_t &target, int64_t row, int64_t col)
{
	return row >= 0 && row < target.rows && col >= 0 && col < target.cols &&
	       (!target.mask || target.mask(row, col, target.ctx));
}

/* ---- for the record: the bytes of a tile's part that is inside; none in shared memory */

#if defined(TSR_RECORDED)
template <typename F> TSR_DEV uint64_t tsr_gpu_target_bytes(const tsr_gpu_target_t &target)
{
	const int64_t rows = tsr_gpu_least(target.at.row + F::rows, target.rows) -
			     (target.at.row > 0 ? target.at.row : 0),
		      cols = tsr_gpu_least(target.at.col + F::cols, target.cols) -
			     (target.at.col > 0 ? target.at.col : 0);
	if (target.space == TSR_SPACE_SHARED || rows <= 0 || cols <= 0)
		return 0;
	return (uint64_t)(rows * cols * tsr_gpu_dtype_bytes(target.dtype));
}
#endif

/** A tile was stored since `begun`, unless the coop has posted it: then others record it. */
template <typename F>
TSR_DEV void tsr_gpu_record_stored(const tsr_coop_t *coop, uint64_t begun, uint32_t posted,
				   const tsr_gpu_target_t &target)
{
#if defined(TSR_RECORDED)
	if (coop->posted == posted)
		tsr_gpu_record_written(coop, begun, tsr_peer(coop, target.remote),
				       tsr_gpu_target_bytes<F>(target));
#else
	(void)coop, (void)begun, (void)posted, (void)target;
#endif
}

/** A tile is loaded; and: it is loaded from every rank. */
template <typename F>
TSR_DEV void tsr_gpu_record_loaded(const tsr_coop_t *coop, const tsr_gpu_target_t &target)
{
#if defined(TSR_RECORDED)
	tsr_gpu_record_read(coop, tsr_peer(coop, target.remote), tsr_gpu_target_bytes<F>(target));
#else
	(void)coop, (void)target;
#endif
}

template <typename F>
TSR_DEV void tsr_gpu_record_reduced(const tsr_coop_t *coop, const tsr_gpu_target_t &target)
{
#if defined(TSR_RECORDED)
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_gpu_record_read(coop, tsr_peer(coop, i), tsr_gpu_target_bytes<F>(target));
#else
	(void)coop, (void)target;
#endif
}

/**
 * The number of elements of a row that are moved at a time: sixteen bytes of
 * them, if every row of the tile begins at a multiple of sixteen and the row's
 * length is a whole number of such groups.
 */
template <typename S, int COLS> struct tsr_gpu_group {
	enum { size = COLS % (16 / (int)sizeof(S)) == 0 ? 16 / (int)sizeof(S) : 1 };
};

template <typename S> TSR_DEV bool tsr_gpu_packs(const tsr_gpu_target_t &target)
{
	return (((uintptr_t)target.data +
		 (uint64_t)(target.at.row * target.ld + target.at.col) * sizeof(S)) %
			16 ==
		0) &&
	       (uint64_t)target.ld * sizeof(S) % 16 == 0 && !target.mask;
}

#endif

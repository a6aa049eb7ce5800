/*
 * Every function over data and tiles, for every dtype that a tile can have, by
 * blocks and by workers. Compiled, not run.
 */
#include "tessera/dev.h"

typedef struct probe_args {
	tsr_view_t a, b, c;
	TSR_HEAP void *data;
	int64_t bytes;
	int32_t peer, other_peer;
} probe_args_t;

TSR_FN int probe_mask(int64_t row, int64_t col, const void *ctx)
{
	return row + col < *(const int64_t *)ctx;
}

TSR_FN float probe_map(float x, int64_t row, int64_t col, const void *ctx)
{
	return x * 2.0f + (float)(row - col) + (float)*(const int64_t *)ctx;
}

TSR_FN float probe_map_rows(float x, float row_value, const void *ctx)
{
	(void)ctx;
	return x - row_value;
}

TSR_FN tsr_part_t probe_order(int64_t task, const void *ctx)
{
	tsr_pos_t at = {task * *(const int64_t *)ctx, 0};
	return tsr_whole(at);
}

TSR_FN tsr_from_t probe_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	(void)ctx;
	return tsr_from((int)((chunk.at.row + chunk.k0 + chunk.k1) % tsr_size(loader)),
			(int)(chunk.at.col % tsr_size(loader)));
}

/*
 * One kernel a dtype: all that fragments can do. Extents that neither divide
 * each other nor the block.
 */
#define PROBE_TILE(dtype_, M_, N_, K_)                                                          \
	TSR_TILE(dtype_##_tile, dtype_, M_, N_, K_);                                            \
	TSR_FN void probe_epilogue_##dtype_(tsr_coop_t *me, dtype_##_tile_frag_t *acc,          \
					    tsr_pos_t at, void *ctx)                            \
	{                                                                                       \
		const probe_args_t *a = *(const probe_args_t **)ctx;                            \
		tsr_store(me, a->c, at, acc, a->peer);                                          \
	}                                                                                       \
	TSR_KERNEL(probe_tiles_##dtype_, probe_args_t, a)                                       \
	{                                                                                       \
		tsr_pos_t at = {TSR_TILE_M(dtype_##_tile), TSR_TILE_N(dtype_##_tile)};          \
		TSR_FRAG(dtype_##_tile, c, block);                                              \
		TSR_FRAG_A(dtype_##_tile, x, block);                                            \
		TSR_FRAG_B(dtype_##_tile, y, block);                                            \
		TSR_FRAG_ROWS(dtype_##_tile, rows, block);                                      \
		tsr_frag_zero(block, c);                                                        \
		tsr_load(block, x, a->a, at, a->peer);                                          \
		tsr_load_masked(block, y, a->b, at, probe_mask, &a->bytes, 1.0, a->peer);       \
		tsr_tile_dot(block, c, x, y);                                                   \
		tsr_frag_map(block, c, at, probe_map, &a->bytes);                               \
		tsr_frag_reduce_rows(block, rows, c, a->bytes, TSR_REDUCE_MAX);                 \
		tsr_frag_map_rows(block, c, rows, probe_map_rows, &a->bytes);                   \
		tsr_frag_save(block, a->data, c);                                               \
		tsr_frag_add(block, c, a->data);                                                \
		tsr_frag_map(block, x, at, probe_map, &a->bytes);                               \
		tsr_part_t part = {at, 0, TSR_TILE_K(dtype_##_tile) + 1, 0};                    \
		tsr_gemm_mainloop(block, c, a->a, a->b, part, probe_gate, &a->bytes);           \
		tsr_store_masked(block, a->c, at, c, probe_mask, &a->bytes, a->peer);           \
		tsr_tile_store(block, a->a, at, x);                                             \
		tsr_tile_load(block, y, a->b, at);                                              \
		tsr_store(block, a->b, at, y, a->other_peer);                                   \
		tsr_store(block, a->b, at, rows, a->other_peer);                                \
	}                                                                                       \
	TSR_KERNEL(probe_gemm_##dtype_, probe_args_t, a)                                        \
	{                                                                                       \
		tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block), a->bytes}; \
		struct {                                                                        \
			const probe_args_t *args;                                               \
		} ctx = {a};                                                                    \
		tsr_gemm(dtype_##_tile, block, a->a, a->b, tasks, probe_order, probe_gate,      \
			 probe_epilogue_##dtype_, &ctx);                                        \
	}

PROBE_TILE(f64, 24, 20, 12)
PROBE_TILE(f32, 33, 17, 5)
PROBE_TILE(f16, 32, 48, 32)
PROBE_TILE(bf16, 64, 64, 32)
PROBE_TILE(i32, 16, 16, 16)
PROBE_TILE(i8, 16, 32, 64)
PROBE_TILE(u8, 8, 8, 8)

typedef struct probe_shared {
	TSR_SHARED_TILES(bf16_tile, stage, 2);
	TSR_SHARED_TILES(f32_tile, other, 1);
} probe_shared_t;

TSR_KERNEL(probe_pointers, probe_args_t, a)
{
	size_t bytes = (size_t)a->bytes;
	tsr_role(block, "probe");
	tsr_put(block, a->data, a->a.data, bytes, a->peer);
	tsr_get(block, a->data, a->a.data, bytes, a->peer);
	tsr_copy(block, a->data, a->peer, a->a.data, a->other_peer, bytes);
	tsr_put_2d(block, a->c, a->a, a->peer);
	tsr_get_2d(block, a->c, a->a, a->peer);
	tsr_copy_2d(block, a->c, a->peer, a->a, a->other_peer);
	tsr_flush(block, a->peer);
}

TSR_KERNEL_SPLIT(probe_workers_stage, 2, probe_shared_t, probe_args_t, a)
{
	tsr_pos_t at = {0, 0};
	tsr_view_t stage = tsr_view_shared(shared->stage[tsr_worker_index(worker)],
					   TSR_TILE_DTYPE(bf16_tile), TSR_TILE_M(bf16_tile),
					   TSR_TILE_N(bf16_tile), TSR_TILE_N(bf16_tile));
	TSR_FRAG(bf16_tile, c, worker);
	tsr_tile_load(worker, c, a->a, at);
	tsr_tile_store(worker, stage, at, c);
	tsr_sync(block);
	tsr_put_2d(worker, a->c, stage, a->peer);
	tsr_get_2d(worker, stage,
		   tsr_view_part(a->c, at, tsr_tiles(a->bytes, 3), tsr_worker_count(worker)),
		   a->peer);
}

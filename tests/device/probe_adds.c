/* Tiles that are added to memory: which adds they compile to. Compiled, not run. */
#include "tessera/dev.h"

typedef struct probe_adds_args {
	tsr_view_t view;
	int32_t peer, reserved;
} probe_adds_args_t;

/* A band of rows by adds of 16 bytes, and the edges by pairs and single elements. */
#define PROBE_ADD(dtype_, code_)                                                               \
	TSR_TILE(dtype_##_tile, dtype_, 32, 32, 16);                                           \
	TSR_KERNEL(probe_store_add_##dtype_, probe_adds_args_t, a)                             \
	{                                                                                      \
		const tsr_pos_t at = {TSR_TILE_M(dtype_##_tile), TSR_TILE_N(dtype_##_tile)};   \
		const tsr_view_t view =                                                        \
			tsr_view(a->view.data, code_, a->view.rows, a->view.cols, a->view.ld); \
		TSR_FRAG(dtype_##_tile, x, block);                                             \
		tsr_frag_zero(block, x);                                                       \
		tsr_store_add(block, view, at, x, a->peer);                                    \
	}

PROBE_ADD(f32, TSR_F32)
PROBE_ADD(f16, TSR_F16)
PROBE_ADD(bf16, TSR_BF16)

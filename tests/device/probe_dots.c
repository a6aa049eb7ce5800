/*
 * Products of fragments: tiles that matrix units take as they are held, some
 * that are staged for them, and some of types without.
 */
#include "tessera/dev.h"

typedef struct probe_dots_args {
	tsr_view_t a, b, c;
} probe_dots_args_t;

#define PROBE_DOTS(name_, dtype_, M_, N_, K_)                     \
	TSR_TILE(tile_##name_, dtype_, M_, N_, K_);               \
	TSR_KERNEL(probe_dot_##name_, probe_dots_args_t, args)    \
	{                                                         \
		const tsr_pos_t at = {0, 0};                      \
		TSR_FRAG(tile_##name_, c, block);                 \
		TSR_FRAG_A(tile_##name_, a, block);               \
		TSR_FRAG_B(tile_##name_, b, block);               \
		tsr_tile_load(block, c, args->c, at);             \
		tsr_tile_load(block, a, args->a, at);             \
		tsr_tile_load(block, b, args->b, at);             \
		tsr_tile_dot(block, c, a, b);                     \
		tsr_tile_store(block, args->c, at, c);            \
	}                                                         \
	TSR_KERNEL(probe_dot_bt_##name_, probe_dots_args_t, args) \
	{                                                         \
		const tsr_pos_t at = {0, 0};                      \
		TSR_FRAG(tile_##name_, c, block);                 \
		TSR_FRAG_A(tile_##name_, a, block);               \
		TSR_FRAG_BT(tile_##name_, b, block);              \
		tsr_tile_load(block, c, args->c, at);             \
		tsr_tile_load(block, a, args->a, at);             \
		tsr_tile_load(block, b, args->b, at);             \
		tsr_tile_dot_bt(block, c, a, b);                  \
		tsr_tile_store(block, args->c, at, c);            \
	}
PROBE_DOTS(bf16_64x64x64, bf16, 64, 64, 64)
PROBE_DOTS(f16_64x32x32, f16, 64, 32, 32)
PROBE_DOTS(bf16_33x17x5, bf16, 33, 17, 5)
PROBE_DOTS(bf16_128x128x64, bf16, 128, 128, 64)
PROBE_DOTS(f32_64x32x16, f32, 64, 32, 16)

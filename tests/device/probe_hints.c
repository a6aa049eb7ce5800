/*
 * Loads, stores and puts with cache hints: which accesses they compile to
 * (tests/house/device_code.py). Compiled, not run.
 */
#include "tessera/dev.h"

typedef struct probe_hint_args {
	tsr_view_t view;
	TSR_HEAP void *dst, *src;
	int64_t size_bytes;
	int32_t peer, reserved;
} probe_hint_args_t;

TSR_TILE(hint_tile, f32, 32, 32, 16);

#define PROBE_HINT(name_, hint_)                                                             \
	TSR_KERNEL(probe_store_hint_##name_, probe_hint_args_t, a)                           \
	{                                                                                    \
		const tsr_pos_t at = {32, 32};                                               \
		TSR_FRAG(hint_tile, x, block);                                               \
		tsr_load_hint(block, x, tsr_view(a->src, TSR_F32, 64, 64, 64), at, a->peer,  \
			      hint_);                                                        \
		tsr_store_hint(block, tsr_view(a->dst, TSR_F32, 64, 64, 64), at, x, a->peer, \
			       hint_);                                                       \
	}                                                                                    \
	TSR_KERNEL(probe_put_hint_##name_, probe_hint_args_t, a)                             \
	{                                                                                    \
		tsr_put_hint(block, a->dst, a->src, (size_t)a->size_bytes, a->peer, hint_);  \
	}

PROBE_HINT(stream, TSR_HINT_STREAM)
PROBE_HINT(through, TSR_HINT_THROUGH)

/*
 * Partial sums that are sent and added, and tiles of all ranks that become one.
 * Compiled, not run.
 */
#include "tessera/dev.h"

typedef struct probe_sent_args {
	tsr_view_t view;
	int32_t peer, reserved;
} probe_sent_args_t;

#define PROBE_REDUCE(dtype_)                                           \
	TSR_TILE(reduce_##dtype_, dtype_, 64, 64, 16);                 \
	TSR_KERNEL(probe_all_reduce_##dtype_, probe_sent_args_t, a)    \
	{                                                              \
		const tsr_pos_t at = {64, 64};                         \
		TSR_FRAG(reduce_##dtype_, x, block);                   \
		tsr_all_reduce(block, x, a->view, at, TSR_REDUCE_SUM); \
	}
PROBE_REDUCE(f32)
PROBE_REDUCE(bf16)

/* Elements of 16 bytes a thread, and (33 x 17) one by one. */
#define PROBE_SEND(name_, dtype_, M_, N_, as_)                        \
	TSR_TILE(name_##_sent, dtype_, M_, N_, 16);                   \
	TSR_KERNEL(probe_frag_send_##name_, probe_sent_args_t, a)     \
	{                                                             \
		TSR_FRAG(name_##_sent, x, block);                     \
		tsr_frag_zero(block, x);                              \
		tsr_frag_send(block, a->view.data, x, as_, a->peer);  \
	}                                                             \
	TSR_KERNEL(probe_frag_add_sent_##name_, probe_sent_args_t, a) \
	{                                                             \
		const tsr_pos_t at = {0, 0};                          \
		TSR_FRAG(name_##_sent, x, block);                     \
		tsr_frag_zero(block, x);                              \
		tsr_frag_add_sent(block, x, a->view.data, as_);       \
		tsr_tile_store(block, a->view, at, x);                \
	}

PROBE_SEND(f32, f32, 64, 64, TSR_F32)
PROBE_SEND(bf16, bf16, 128, 128, TSR_BF16)
PROBE_SEND(odd, f16, 33, 17, TSR_F16)

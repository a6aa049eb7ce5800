/* A put to a peer, and the same by raw pointers: ci/checks/translation compares their loops. */
#include "tessera/dev.h"

typedef unsigned __int128 probe_unit_t;

typedef struct probe_args {
	TSR_HEAP void *dst, *src;
	int64_t size_bytes;
	int32_t peer, reserved;
} probe_args_t;

TSR_KERNEL_WIDE(probe_translated, probe_args_t, a)
{
	tsr_put(block, a->dst, a->src, (size_t)a->size_bytes, a->peer);
}

TSR_KERNEL_WIDE(probe_raw, probe_args_t, a)
{
	const int64_t step = block->threads;
	const probe_unit_t *src = (const probe_unit_t *)tsr_port_global(a->src) + block->thread;
	probe_unit_t *dst = (probe_unit_t *)tsr_port_global(a->dst) + block->thread;
#pragma unroll 1
	for (int64_t left = a->size_bytes / 16 - block->thread; left > 7 * step; left -= 8 * step) {
		probe_unit_t held[8];
#pragma unroll
		for (int i = 0; i < 8; i++)
			held[i] = src[i * step];
#pragma unroll
		for (int i = 0; i < 8; i++)
			dst[i * step] = held[i];
		src += 8 * step;
		dst += 8 * step;
	}
}

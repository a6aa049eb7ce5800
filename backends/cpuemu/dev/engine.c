/* What the emulated device's copy engine does: a block of its own, which the device's blocks leave room for. */
#include "cpuemu/dev/internal.h"

#include "cpuemu/dev/engine.h"

static tsr_view_t bytes_view(const void *data, size_t pitch_bytes, const tsr_device_copy_t *copy)
{
	return (tsr_view_t){.data = (TSR_HEAP void *)(uintptr_t)data,
			    .rows = (int64_t)copy->rows,
			    .cols = (int64_t)copy->row_bytes,
			    .ld = (int64_t)pitch_bytes,
			    .dtype = TSR_U8,
			    .space = TSR_SPACE_HEAP};
}

static void engine_copy(tsr_coop_t *block, tsr_coop_t *worker, const void *args, void *shared)
{
	const tsr_device_copy_t *copy = args;
	const tsr_cpu_env_t *env = block->block->env;
	const unsigned char *mine = env->base[env->rank] + ((const unsigned char *)copy->dst - env->base[copy->peer]);
	(void)worker;
	(void)shared;
	tsr_role(block, "copy engine");
	tsr_put_2d(block, bytes_view(mine, copy->dst_pitch_bytes, copy), bytes_view(copy->src, copy->src_pitch_bytes, copy),
		   copy->peer);
	tsr_flush(block, copy->peer); /* what ends with the stream's next work beginning is complete */
}

/* By hand, so that it is none of the program's kernels. */
const tsr_kernel_t tsr_cpu_engine = {
	.abi = TSR_KERNEL_ABI,
	.workers = 1,
	.name = "tsr_stream_put_2d",
	.variant = "",
	.unit = "",
	.args_bytes = sizeof(tsr_device_copy_t),
	.cpu = engine_copy,
};

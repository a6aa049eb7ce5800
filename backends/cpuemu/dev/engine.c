/*
 * What the emulated device's copy engine does: a block of its own, which takes
 * no other block's place. Reports name the host's call. The host has checked
 * the views, so they are not checked again.
 */
#include "cpuemu/dev/engine.h"

#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/events.h"

static const char engine_call[] = "tsr_stream_put_2d";

static void engine_copy(tsr_coop_t *block, tsr_coop_t *worker, const void *args, void *shared)
{
	const tsr_device_copy_t *copy = args;
	tsr_mem_t to = {.at = copy->dst, .rank = copy->peer},
		  from = {.rank = block->block->env->rank};
	const uint64_t bytes = (uint64_t)copy->row_bytes * copy->rows;
	(void)worker;
	(void)shared;
	block->file = copy->file;
	block->line = copy->line;
	tsr_role(block, "copy engine");
	tsr_mem_note(block, engine_call, &to);
	tsr_mem_note(block, engine_call, &from);
	tsr_mem_count(block, &from, TSR_MEM_READ, bytes);
	tsr_mem_count(block, &to, TSR_MEM_WRITE, bytes);
	tsr_mem_copy(&to, to.at, copy->dst_pitch_bytes, &from, copy->src, copy->src_pitch_bytes,
		     copy->row_bytes, copy->rows);
	tsr_cpu_event_sent(block);
	/* its end promises that the bytes are in the peer's memory: no kernel behind it flushes
	 * them */
	if (to.explored)
		tsr_exploration_flush(tsr_cpu_exploration(block));
}

/* By hand, so that it is none of the program's kernels. */
const tsr_kernel_t tsr_cpu_engine = {
	.abi = TSR_KERNEL_ABI,
	.workers = 1,
	.name = engine_call,
	.variant = "",
	.unit = "",
	.args_bytes = sizeof(tsr_device_copy_t),
	.cpu = engine_copy,
};

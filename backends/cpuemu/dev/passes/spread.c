/* The passes of a TSR_EACH as by so many threads, in plain runs. */
#include "cpuemu/dev/passes/passes.h"

static tsr_cpu_part_t of_thread(const tsr_cpu_passes_t *passes, const tsr_coop_t *coop)
{
	return (tsr_cpu_part_t){TSR_CPU_PART_MOD, coop->block->env->spread, passes->turn};
}

/**
 * Whether shared memory can be put back: other workers of the block may use it
 * at the same time.
 */
static bool has_shared_alone(const tsr_coop_t *coop)
{
	return coop->block->kernel->workers == 1 && coop->block->shared_bytes > 0;
}

void tsr_cpu_spread_begin(tsr_coop_t *coop)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	passes->turn = 0;
	tsr_cpu_turn(coop, NULL, NULL, of_thread(passes, coop),
		     (tsr_cpu_part_t){TSR_CPU_PART_NONE, 0, 0});
	if (!has_shared_alone(coop))
		return;
	memcpy(passes->left[TSR_CPU_LEFT_SECOND], coop->block->shared, coop->block->shared_bytes);
	memcpy(passes->left[TSR_CPU_LEFT_FIRST], coop->block->shared, coop->block->shared_bytes);
	passes->before = passes->left[TSR_CPU_LEFT_SECOND];
}

bool tsr_cpu_spread_turn(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	const tsr_cpu_block_t *block = coop->block;
	const bool shared = has_shared_alone(coop);
	unsigned char *left = passes->left[TSR_CPU_LEFT_FIRST];
	if (passes->turn == 0)
		tsr_cpu_frames_keep(&passes->state[TSR_CPU_END_FIRST], call);
	for (size_t i = 0; shared && i < block->shared_bytes; i++)
		if (block->shared[i] != passes->before[i])
			left[i] = block->shared[i];
	passes->turn++;
	if (passes->turn < block->env->spread && passes->turn < passes->count) {
		tsr_cpu_turn(coop, call, shared ? passes->before : NULL, of_thread(passes, coop),
			     (tsr_cpu_part_t){TSR_CPU_PART_NONE, 0, 0});
		return true;
	}
	if (shared)
		memcpy(block->shared, left, block->shared_bytes);
	tsr_cpu_frames_resume(&passes->state[TSR_CPU_END_FIRST], call);
	return false;
}

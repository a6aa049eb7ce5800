/* The turns in which the passes of a TSR_EACH are made, whatever they are for. */
#include "cpuemu/dev/passes/passes.h"

#include <limits.h>

#include "cpuemu/dev/memory/explored.h"

bool tsr_cpu_is_second(const tsr_cpu_passes_t *passes, int position)
{
	uint32_t hash = ((uint32_t)position + 1) * UINT32_C(0x9e3779b1) ^ passes->mix;
	if (!passes->mix)
		return (position >> passes->bit & 1) == passes->one;
	hash = (hash ^ hash >> 15) * UINT32_C(0x85ebca77);
	return (hash ^ hash >> 13) >> 31;
}

static bool is_in(const tsr_cpu_passes_t *passes, const tsr_cpu_part_t *part, int position)
{
	switch (part->kind) {
	case TSR_CPU_PART_SIDE:
		return tsr_cpu_is_second(passes, position) == (part->a != 0);
	case TSR_CPU_PART_ONE:
		return position == part->a;
	case TSR_CPU_PART_MOD:
		return position % part->a == part->b;
	default:
		return false;
	}
}

int tsr_cpu_passes_next(tsr_cpu_passes_t *passes)
{
	for (; passes->now < 2; passes->now++, passes->position = 0)
		while (passes->position < passes->count) {
			const int position = passes->position++;
			if (is_in(passes, &passes->part[passes->now], position))
				return passes->first + position * passes->stride;
		}
	return INT_MAX;
}

void tsr_cpu_turn(tsr_coop_t *coop, tsr_cpu_call_t *call, const unsigned char *from,
		  tsr_cpu_part_t one, tsr_cpu_part_t other)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	const tsr_cpu_block_t *block = coop->block;
	passes->part[0] = one;
	passes->part[1] = other;
	passes->now = passes->position = 0;
	if (from && block->shared_bytes > 0)
		memcpy(block->shared, from, block->shared_bytes);
	if (call)
		tsr_cpu_frames_resume(&passes->state[TSR_CPU_BEFORE], call);
}

/** One buffer for the stacks, and one for each copy of shared memory. False: no memory. */
static bool take_memory(tsr_coop_t *coop, size_t stack_bytes)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	unsigned char *stacks = tsr_cpu_arena_take(coop, TSR_CPU_STATES * stack_bytes);
	if (!stacks)
		return false;
	for (int i = 0; i < TSR_CPU_STATES; i++) {
		passes->state[i].stack = stacks + (size_t)i * stack_bytes;
		passes->state[i].bytes = stack_bytes;
	}
	for (int i = 0; i < TSR_CPU_COPIES && coop->block->shared_bytes > 0; i++) {
		passes->left[i] = tsr_cpu_arena_take(coop, coop->block->shared_bytes);
		if (passes->left[i])
			continue;
		for (; i >= 0; i--) /* the stacks, too */
			tsr_cpu_arena_drop(coop);
		return false;
	}
	return true;
}

static void drop_memory(tsr_coop_t *coop)
{
	const int copies = coop->block->shared_bytes > 0 ? TSR_CPU_COPIES : 0;
	for (int i = 0; i < copies + 1; i++)
		tsr_cpu_arena_drop(coop);
}

bool tsr_cpu_passes_begin(tsr_coop_t *coop, const tsr_cpu_call_t *call)
{
	tsr_cpu_passes_t *passes = coop->worker->passes;
	if (!take_memory(coop, tsr_cpu_frames_bytes(coop, call)))
		return false;
	tsr_cpu_frames_keep(&passes->state[TSR_CPU_BEFORE], call);
	if (tsr_cpu_exploration(coop))
		tsr_cpu_explored_begin(coop);
	else
		tsr_cpu_spread_begin(coop);
	return true;
}

bool tsr_cpu_passes_end(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	const bool more = tsr_cpu_exploration(coop) ? tsr_cpu_explored_turn(coop, call)
						    : tsr_cpu_spread_turn(coop, call);
	if (!more)
		drop_memory(coop);
	return more;
}

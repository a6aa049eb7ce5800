/*
 * What is checked of a collective call when a block makes it: its state here, and
 * where ranks are explored, what the others pass.
 */
#include <string.h>

#include "common/dev/states.h"
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/memory.h"

#define STATE_CURE "allocate what the state's _bytes call says for the ranks of the kernel's team"
#define CLEARED_CURE                                                                         \
	"clear a state before its first use, with tsr_memset_heap on every rank, and store " \
	"nothing there"

/** Whether the state's last byte belongs to the allocation of its first. */
static bool holds(const tsr_coop_t *coop, const tsr_mem_t *state, size_t bytes)
{
	const tsr_host_t *host = coop->block->env->host;
	const unsigned char *base = coop->block->env->base[host->rank];
	const size_t offset = (size_t)(state->at - base);
	char name[32];
	size_t first, last;
	return host->find_allocation(host->ctx, offset, name, &first) &&
	       host->find_allocation(host->ctx, offset + bytes - 1, name, &last) &&
	       last == first + bytes - 1;
}

/**
 * Whether the words that share the count's line are 0, as nothing writes them.
 * The count is not read: other ranks add to it.
 */
static bool is_cleared(tsr_coop_t *coop, const tsr_mem_t *count)
{
	uint64_t words[TSR_GATHER_LINE_WORDS];
	if (!tsr_cpu_exploration(coop))
		memcpy(words + 1, (const uint64_t *)(const void *)count->at + 1,
		       sizeof words - sizeof *words);
	else if (!tsr_exploration_peek(tsr_cpu_exploration(coop), count->at, words, sizeof words))
		return true;
	for (int i = 1; i < TSR_GATHER_LINE_WORDS; i++)
		if (words[i] != 0)
			return false;
	return true;
}

void tsr_cpu_collective(tsr_coop_t *coop, const char *call, const TSR_HEAP void *state,
			const TSR_HEAP uint64_t *count, uint64_t per_round, TSR_HEAP void *to,
			size_t reach_bytes, size_t size_bytes, int root, int64_t words,
			uint64_t how)
{
	const int me = tsr_rank(coop);
	const size_t bytes = (size_t)words * sizeof *count,
		     line = (per_round > 1 ? TSR_GATHER_LINE_WORDS : 1) * sizeof *count;
	tsr_mem_t counts, all, whole = {.at = NULL};
	if (!tsr_mem_reach(coop, call, count, line, sizeof *count, me, TSR_MEM_WRITE, &counts) ||
	    !tsr_mem_reach(coop, call, state, bytes, sizeof *count, me, TSR_MEM_WRITE, &all))
		return;
	if (coop->block->index == 0 && !holds(coop, &all, bytes))
		(void)tsr_cpu_misuse(coop, call, STATE_CURE, "with a state that is too small");
	if (per_round > 1 && !is_cleared(coop, &counts))
		(void)tsr_cpu_misuse(coop, call, CLEARED_CURE,
				     "with a state that is not cleared, or is other memory");
	if (!tsr_cpu_exploration(coop) ||
	    (to && reach_bytes > 0 &&
	     !tsr_mem_reach(coop, call, to, reach_bytes, 1, me, TSR_MEM_WRITE, &whole)))
		return;
	const tsr_collective_t collective = {
		.state = all.at,
		.count = counts.at,
		.count_per_round = per_round,
		.team = coop->block->team->key,
		.to = whole.at,
		.size_bytes = size_bytes,
		.root = root,
		.how = how,
	};
	tsr_explored_collective(coop, call, &collective);
}

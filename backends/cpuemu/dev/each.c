/*
 * TSR_EACH (dev/coop.h): a loop of the kernel's own, whose accesses of shared
 * memory are plain C. Where blocks are explored, what the passes have changed is
 * found by comparison, and told as one access of the loop.
 */
#include "cpuemu/dev/memory/explored.h"

#define CALL "TSR_EACH"
enum { WORD_BYTES = 4 };

/** Whether the loop changes memory that an exploration looks at. */
static bool is_watched(const tsr_coop_t *coop)
{
	return tsr_cpu_exploration(coop) && coop->block->shared_bytes > 0;
}

int tsr_cpu_each_begin(tsr_coop_t *coop)
{
	const tsr_cpu_block_t *block = coop->block;
	if (coop->kind == TSR_CPU_LOADER) {
		tsr_cpu_misuse(coop, CALL, "a gate may wait and read atomics; it runs on its own",
			       "in a gate");
		return INT32_MAX; /* no pass */
	}
	if (!is_watched(coop))
		return coop->index;
	/* what takes no memory there does not return */
	memcpy(tsr_cpu_arena_take(coop, block->shared_bytes), block->shared, block->shared_bytes);
	return coop->index;
}

/**
 * Whether a pass has written the byte. It may have written what stood there: of
 * a word that it has changed, a byte of undefined memory counts as written.
 */
static bool is_changed(const unsigned char *before, const unsigned char *after, size_t at,
		       size_t bytes)
{
	const size_t word = at / WORD_BYTES * WORD_BYTES,
		     length = bytes - word < WORD_BYTES ? bytes - word : WORD_BYTES;
	return before[at] != after[at] ||
	       (before[at] == TSR_CPU_POISON && memcmp(before + word, after + word, length) != 0);
}

/** Tells of each run of changed bytes: `after` is what the loop has left. */
static void tell_changes(const tsr_mem_t *mem, const unsigned char *before,
			 const unsigned char *after, size_t bytes)
{
	for (size_t first = 0, end; first < bytes; first = end) {
		const size_t word = bytes - first < WORD_BYTES ? bytes - first : WORD_BYTES;
		end = first;
		if (first % WORD_BYTES == 0 && memcmp(before + first, after + first, word) == 0) {
			end += word;
			continue;
		}
		while (end < bytes && is_changed(before, after, end, bytes))
			end++;
		if (end > first)
			tsr_mem_write(mem, mem->at + first, after + first, end - first);
		else
			end++;
	}
}

/** Other workers may go on while this is told, so the loop's end is kept first. */
int tsr_cpu_each_end(tsr_coop_t *coop)
{
	const tsr_cpu_block_t *block = coop->block;
	const size_t bytes = block->shared_bytes;
	tsr_mem_t mem;
	if (!is_watched(coop))
		return 0;
	const tsr_cpu_arena_t *arena = &coop->worker->arena;
	const unsigned char *before = arena->slot[arena->depth - 1].data;
	unsigned char *after = tsr_cpu_arena_take(coop, bytes);
	memcpy(after, block->shared, bytes);
	if (memcmp(before, after, bytes) != 0 &&
	    tsr_mem_reach(coop, CALL, (TSR_HEAP void *)block->shared, bytes, 1, tsr_rank(coop),
			  TSR_MEM_WRITE, &mem))
		tell_changes(&mem, before, after, bytes);
	tsr_cpu_arena_drop(coop);
	tsr_cpu_arena_drop(coop);
	return 0;
}

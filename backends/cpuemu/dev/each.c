/*
 * TSR_EACH (dev/coop.h): a loop of the kernel's own, whose accesses of shared
 * memory are plain C. Where blocks are explored, what the passes have changed is
 * found by comparison, and told as one access of the loop; and the passes are
 * made as by the threads of a GPU (passes/passes.h).
 */
#include <limits.h>
#include <stdlib.h>

#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/passes/passes.h"

#define CALL "TSR_EACH"
enum { WORD_BYTES = 4, LINE_BYTES = 256 };

/** Whether the loop changes memory that an exploration looks at. */
static bool is_watched(const tsr_coop_t *coop)
{
	return tsr_cpu_exploration(coop) && coop->block->shared_bytes > 0;
}

/** The worker's passes of `count`, if they are made in turns. */
static bool plan(tsr_coop_t *coop, int count)
{
	tsr_cpu_worker_t *worker = coop->worker;
	const bool wanted = tsr_cpu_exploration(coop) || coop->block->env->spread > 1;
	const int left = count > coop->index ? count - coop->index : 0,
		  passes = left / coop->count + (left % coop->count > 0);
	if (!TSR_CPU_FRAMES || !wanted || passes < 2)
		return false;
	if (!worker->passes)
		worker->passes = calloc(1, sizeof *worker->passes);
	if (!worker->passes)
		return false;
	worker->passes->first = coop->index;
	worker->passes->stride = coop->count;
	worker->passes->count = passes;
	worker->passes->planned = true;
	return true;
}

int tsr_cpu_each_step(tsr_coop_t *coop, int count)
{
	tsr_cpu_worker_t *worker = coop->worker;
	if (worker->in_each) {
		tsr_cpu_misuse(coop, CALL,
			       "let one loop end before the next one begins, and leave none by "
			       "break, return or goto",
			       "in another TSR_EACH");
		worker->in_each = false; /* it is told once */
		if (worker->passes)
			worker->passes->planned = false;
		return coop->count;
	}
	return coop->kind != TSR_CPU_LOADER && plan(coop, count) ? 0 : coop->count;
}

int tsr_cpu_each_began(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	const tsr_cpu_block_t *block = coop->block;
	tsr_cpu_worker_t *worker = coop->worker;
	if (coop->kind == TSR_CPU_LOADER) {
		tsr_cpu_misuse(coop, CALL, "a gate may wait and read atomics; it runs on its own",
			       "in a gate");
		return INT_MAX; /* no pass */
	}
	worker->in_each = true;
	if (is_watched(coop)) {
		/* what takes no memory there does not return */
		worker->before = tsr_cpu_arena_take(coop, block->shared_bytes);
		memcpy(worker->before, block->shared, block->shared_bytes);
	}
	if (!worker->passes || !worker->passes->planned)
		return coop->index;
	worker->passes->before = worker->before;
	return tsr_cpu_passes_begin(coop, call) ? tsr_cpu_passes_next(worker->passes) : INT_MAX;
}

int tsr_cpu_each_next(tsr_coop_t *coop)
{
	return tsr_cpu_passes_next(coop->worker->passes);
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
		const size_t line = bytes - first < LINE_BYTES ? bytes - first : LINE_BYTES,
			     word = bytes - first < WORD_BYTES ? bytes - first : WORD_BYTES;
		end = first;
		if (first % LINE_BYTES == 0 && memcmp(before + first, after + first, line) == 0) {
			end += line;
			continue;
		}
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
static void tell(tsr_coop_t *coop)
{
	const tsr_cpu_block_t *block = coop->block;
	const size_t bytes = block->shared_bytes;
	const unsigned char *before = coop->worker->before;
	unsigned char *after = tsr_cpu_arena_take(coop, bytes);
	tsr_mem_t mem;
	memcpy(after, block->shared, bytes);
	if (memcmp(before, after, bytes) != 0 &&
	    tsr_mem_reach(coop, CALL, (TSR_HEAP void *)block->shared, bytes, 1, tsr_rank(coop),
			  TSR_MEM_WRITE, &mem))
		tell_changes(&mem, before, after, bytes);
	tsr_cpu_arena_drop(coop);
	tsr_cpu_arena_drop(coop);
}

int tsr_cpu_each_ended(tsr_coop_t *coop, tsr_cpu_call_t *call)
{
	tsr_cpu_worker_t *worker = coop->worker;
	if (coop->kind == TSR_CPU_LOADER)
		return 0;
	if (worker->passes && worker->passes->planned) {
		if (tsr_cpu_passes_end(coop, call))
			return tsr_cpu_passes_next(worker->passes); /* at the loop's begin */
		worker->passes->planned = false;
	}
	worker->in_each = false;
	if (is_watched(coop))
		tell(coop);
	return 0;
}

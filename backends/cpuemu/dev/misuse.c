/* What is wrong with a call, in one sentence. */
#include <stdarg.h>
#include <stdio.h>

#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/memory.h"
#include "cpuemu/events.h"
#include "src/base/os/clock.h"
#include "tessera/dtype.h"
#include "tessera/program.h"

bool tsr_cpu_misuse(tsr_coop_t *coop, const char *call, const char *cure, const char *what, ...)
{
	const tsr_cpu_block_t *block = coop->block;
	char detail[256], sentence[640], who[TSR_WHO_TEXT], place[TSR_CPU_PLACE_TEXT];
	va_list arguments;
	va_start(arguments, what);
	vsnprintf(detail, sizeof detail, what, arguments);
	va_end(arguments);
	if (tsr_cpu_exploration(coop)) {
		snprintf(sentence, sizeof sentence, "%s; %s", detail, cure);
		tsr_explored_misuse(coop, call, sentence);
	}
	snprintf(sentence, sizeof sentence, "kernel %s, block %d, worker %d of %s: %s %s at %s; %s",
		 block->kernel->name, block->index, coop->worker->index,
		 tsr_cpu_member(coop, tsr_rank(coop), who), coop->part_of ? coop->part_of : call,
		 detail, tsr_cpu_place(coop, place), cure);
	tsr_cpu_launch_fail(block->launch, TSR_ERR_KERNEL, sentence);
	return false;
}

static bool in_shared(const tsr_cpu_block_t *block, uintptr_t at, size_t bytes)
{
	uintptr_t offset = at - (uintptr_t)block->shared;
	return block->shared && offset < block->shared_bytes &&
	       bytes <= block->shared_bytes - offset;
}

bool tsr_mem_reach_slow(tsr_coop_t *coop, const char *call, const TSR_HEAP void *pointer,
			size_t bytes, size_t align, int peer, tsr_mem_access_t access,
			tsr_mem_t *mem)
{
	const tsr_cpu_env_t *env = coop->block->env;
	uintptr_t at = (uintptr_t)pointer, offset = at - (uintptr_t)env->base[env->rank];
	if ((unsigned)peer >= (unsigned)tsr_size(coop))
		return tsr_cpu_misuse(coop, call, TSR_RANKS_CURE, "to rank %d of a %s of %d", peer,
				      tsr_cpu_circle(coop), tsr_size(coop));
	if (access == TSR_MEM_WRITE && coop->kind == TSR_CPU_LOADER)
		return tsr_cpu_misuse(coop, call,
				      "a gate waits and reads atomics; write in the epilogue",
				      "in a gate");
	if (at % align != 0)
		return tsr_cpu_misuse(coop, call, "align flags and atomics to their size",
				      "of an address that is not aligned to %zu", align);
	if (in_shared(coop->block, at, bytes)) {
		if (peer != tsr_rank(coop))
			return tsr_cpu_misuse(coop, call,
					      "shared memory belongs to one block: name the own "
					      "rank, or use the heap",
					      "of shared memory to rank %d", peer);
		*mem = (tsr_mem_t){.at = coop->block->shared +
					 (at - (uintptr_t)coop->block->shared),
				   .rank = env->rank,
				   .shared = true};
		tsr_mem_note(coop, call, mem);
		return true;
	}
	if (offset < env->heap_bytes)
		return tsr_cpu_misuse(coop, call,
				      "check the size of the transfer against the allocation",
				      "of %s from offset %zu of a heap of %s", TSR_SIZE(bytes),
				      (size_t)offset, TSR_SIZE(env->heap_bytes));
	return tsr_cpu_misuse(coop, call,
			      "the pointer is always the caller's own: pass one that "
			      "tsr_heap_alloc gave to this rank",
			      "of %s outside this rank's heap and the block's shared memory",
			      TSR_SIZE(bytes));
}

bool tsr_mem_reach_shared(tsr_coop_t *coop, const char *call, const char *what,
			  const int32_t *words, int count, tsr_mem_access_t access, tsr_mem_t *mem)
{
	if (!tsr_mem_reach(coop, call, (const TSR_HEAP void *)words, (size_t)count * sizeof *words,
			   sizeof *words, tsr_rank(coop), access, mem))
		return false;
	return mem->shared ||
	       tsr_cpu_misuse(coop, call, "hand it an array of the block's shared memory",
			      "of %s that are not in shared memory", what);
}

/** The bytes that a view spans; false where its numbers make no matrix. */
static bool view_bytes(tsr_view_t view, size_t *bytes_out)
{
	size_t element = tsr_cpu_bytes(view.dtype);
	int64_t before, elements, bytes;
	if (element == 0 || view.rows < 1 || view.cols < 1 || view.ld < view.cols ||
	    __builtin_mul_overflow(view.rows - 1, view.ld, &before) ||
	    __builtin_add_overflow(before, view.cols, &elements) ||
	    __builtin_mul_overflow(elements, (int64_t)element, &bytes))
		return false;
	*bytes_out = (size_t)bytes;
	return true;
}

bool tsr_mem_reach_part(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_view_t part,
			bool masked, int peer, tsr_mem_access_t access, tsr_mem_t *mem)
{
	size_t bytes;
	if (tsr_cpu_bytes(part.dtype) == 0 && *tsr_dtype_name((tsr_dtype_t)part.dtype) != '?')
		return tsr_cpu_misuse(coop, call, "take f16 or bf16, or move the bytes as u8",
				      "of a view of %s, which is reserved for a later version",
				      tsr_dtype_name((tsr_dtype_t)part.dtype));
	if (tsr_cpu_bytes(part.dtype) == 0)
		return tsr_cpu_misuse(coop, call, "make views by tsr_view, with a tsr_dtype_t",
				      "of a view of dtype %d, which is none", part.dtype);
	if (!view_bytes(part, &bytes))
		return tsr_cpu_misuse(
			coop, call,
			"extents are positive, rows at least as far apart as they are long",
			"of a view of %lld x %lld elements of %s with rows %lld apart",
			(long long)part.rows, (long long)part.cols,
			tsr_dtype_name((tsr_dtype_t)part.dtype), (long long)part.ld);
	if (!tsr_mem_locate(coop, call, part.data, bytes, tsr_cpu_bytes(part.dtype), peer, access,
			    mem))
		return false;
	if (mem->shared != (part.space == TSR_SPACE_SHARED))
		return tsr_cpu_misuse(
			coop, call,
			"make views of the heap by tsr_view, of shared memory by tsr_view_shared",
			"of a view that names the wrong kind of memory");
	mem->owner = mem->at - ((uintptr_t)part.data - (uintptr_t)view.data);
	if (!masked)
		tsr_mem_inside(mem, mem->at, bytes);
	return true;
}

bool tsr_mem_reach_view(tsr_coop_t *coop, const char *call, tsr_view_t view, int peer,
			tsr_mem_access_t access, tsr_mem_t *mem)
{
	return tsr_mem_reach_part(coop, call, view, view, false, peer, access, mem);
}

void tsr_mem_count(tsr_coop_t *coop, const tsr_mem_t *mem, tsr_mem_access_t access, uint64_t bytes)
{
	tsr_record_entry_t *record = &coop->worker->record;
	bool mine = mem->rank == coop->block->env->rank;
	if (mem->shared)
		return;
	if (access == TSR_MEM_READ) {
		*(mine ? &record->local_read_bytes : &record->remote_read_bytes) += bytes;
		return;
	}
	*(mine ? &record->local_written_bytes : &record->remote_written_bytes) += bytes;
	if (mine)
		return;
	if (record->first_remote_ns == 0)
		record->first_remote_ns = tsr_now_ns();
	tsr_cpu_event_send(coop, mem->rank, bytes);
}

/* tsr_store_add: a tile is added to memory, each element by an atomic of its own. */
#include "cpuemu/dev/fragments/value.h"
#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/dev/memory/far.h"
#include "cpuemu/events.h"

enum { STAGE = 512 }; /* elements of a row that are converted at a time */

/** What elements of a view are added as. False: a misuse was noted. */
static bool kind_of(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_mem_kind_t *kind_out)
{
	const char *name = tsr_dtype_name((tsr_dtype_t)view.dtype);
	if (view.space != TSR_SPACE_HEAP)
		return tsr_cpu_misuse(
			coop, call,
			"add to the heap; in shared memory load, tsr_frag_zip and store",
			"to a view of shared memory");
	switch (view.dtype) {
	case TSR_F32:
		*kind_out = TSR_MEM_F32;
		return true;
	case TSR_F16:
		*kind_out = TSR_MEM_F16;
		return true;
	case TSR_BF16:
		*kind_out = TSR_MEM_BF16;
		return true;
	default:
		return tsr_cpu_misuse(coop, call, "devices add to elements of f32, f16 and bf16",
				      "to a view of %s", name);
	}
}

/**
 * Adds elements of `dtype`, whose bits stand at `from`, to those at `to`.
 *  Partner: whatever atomics, of whichever rank, touch the same element;
 *  relaxed, so that they order nothing. Litmus: CoINC.rlx.diffGPU-ss.
 */
static void add_elements(tsr_mem_t mem, tsr_mem_kind_t kind, unsigned char *to,
			 const unsigned char *from, int64_t count)
{
	const size_t bytes = tsr_mem_kind_bytes(kind);
	if (mem.far) {
		tsr_far_each(&mem, to, kind, TSR_CPU_ADD, from, (size_t)count);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		tsr_explored_atomic_t add = {.kind = kind,
					     .op = TSR_CPU_ADD,
					     .order = TSR_RELAXED,
					     .scope = TSR_SCOPE_SYSTEM};
		memcpy(&add.bits, from + (size_t)i * bytes, bytes); /* little-endian */
		mem.at = to + (size_t)i * bytes;
		if (mem.explored)
			(void)tsr_explored_atomic(&mem, &add);
		else
			(void)tsr_mem_atomic(&mem, kind, TSR_CPU_ADD, add.bits, TSR_RELAXED,
					     TSR_SCOPE_SYSTEM);
	}
}

static void add_row(const tsr_patch_t *patch, tsr_mem_kind_t kind, int32_t dtype,
		    const tsr_frag_t *frag, int64_t row)
{
	_Alignas(64) unsigned char stage[STAGE * sizeof(float)];
	for (int64_t col = patch->col0, n; col < patch->col1; col += n) {
		n = patch->col1 - col < STAGE ? patch->col1 - col : STAGE;
		tsr_row_narrow(dtype, stage, frag->held, tsr_frag_at(frag, row, col), (size_t)n);
		add_elements(patch->mem, kind, tsr_patch_run(patch, row, col, col + n), stage, n);
	}
}

void tsr_store_add(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
		   int peer)
{
	const tsr_tile_rows_t rows = tsr_frag_share(coop, frag);
	tsr_mem_kind_t kind = TSR_MEM_F32;
	tsr_patch_t patch;
	if (!kind_of(coop, __func__, view, &kind) || rows.first >= rows.last ||
	    !tsr_patch_find(coop, __func__, view, at, &rows, false, peer, TSR_MEM_WRITE, &patch) ||
	    patch.row0 >= patch.row1 || !tsr_frag_has_values(coop, __func__, frag))
		return;
	tsr_mem_count(coop, &patch.mem, TSR_MEM_WRITE,
		      (uint64_t)((patch.row1 - patch.row0) * (patch.col1 - patch.col0)) *
			      patch.element);
	for (int64_t row = patch.row0; row < patch.row1; row++)
		add_row(&patch, kind, view.dtype, frag, row);
	tsr_cpu_event_sent(coop);
}

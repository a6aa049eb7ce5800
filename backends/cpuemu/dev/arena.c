/* The arena of a thread: fragments and panels, taken and given back in the order of C's scopes. */
#include <stdlib.h>

#include "cpuemu/dev/internal.h"

void *tsr_cpu_arena_take(tsr_coop_t *coop, size_t bytes)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	if (arena->depth == TSR_CPU_ARENA_DEPTH) {
		tsr_cpu_misuse(coop, "TSR_FRAG", "let scopes end, or loops reuse one", "with more than %d fragments alive",
			       TSR_CPU_ARENA_DEPTH);
		return NULL;
	}
	int i = arena->depth;
	if (arena->slot[i].bytes < bytes) {
		void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
		if (!data) {
			tsr_cpu_misuse(coop, "TSR_FRAG", "use smaller tiles or fewer resident blocks",
				       "found no host memory for %zu bytes", bytes);
			return NULL;
		}
		free(arena->slot[i].data);
		arena->slot[i].data = data;
		arena->slot[i].bytes = bytes;
	}
	arena->slot[i].owner = arena;
	arena->depth++;
	return arena->slot[i].data;
}

void tsr_cpu_arena_drop(tsr_coop_t *coop)
{
	coop->worker->arena.depth--;
}

void tsr_cpu_arena_clear(tsr_cpu_arena_t *arena)
{
	for (int i = 0; i < TSR_CPU_ARENA_DEPTH; i++)
		free(arena->slot[i].data);
}

/** Rows and columns by use; the share of rows by the coop. */
static void frag_shape(const tsr_coop_t *coop, tsr_cpu_tile_t tile, enum tsr_cpu_frag_use use, tsr_frag_t *frag)
{
	bool real = tile.dtype == TSR_F64 || tile.dtype == TSR_F32 || tile.dtype == TSR_F16 || tile.dtype == TSR_BF16;
	int64_t first, last;
	frag->tile = tile;
	frag->rows = use == TSR_CPU_FRAG_B ? tile.k : tile.m;
	frag->cols = use == TSR_CPU_FRAG_ROWS ? 1 : use == TSR_CPU_FRAG_A ? tile.k : tile.n;
	frag->held = !real ? TSR_I32 : tile.dtype == TSR_F64 ? TSR_F64 : TSR_F32;
	frag->dtype = use == TSR_CPU_FRAG_A || use == TSR_CPU_FRAG_B ? tile.dtype : frag->held;
	tsr_cpu_share(coop, frag->rows, &first, &last);
	frag->first = use == TSR_CPU_FRAG_B ? 0 : (int32_t)first;
	frag->last = use == TSR_CPU_FRAG_B ? frag->rows : (int32_t)last;
}

tsr_frag_t *tsr_cpu_frag_take(tsr_coop_t *coop, tsr_cpu_tile_t tile, enum tsr_cpu_frag_use use)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	tsr_frag_t shape;
	frag_shape(coop, tile, use, &shape);
	size_t bytes = (size_t)shape.rows * (size_t)shape.cols * tsr_cpu_bytes(shape.held);
	shape.elements = tsr_cpu_arena_take(coop, bytes);
	if (!shape.elements)
		return &arena->none;
	memset(shape.elements, 0xff, bytes); /* undefined at first: NaN, or -1 */
	tsr_frag_t *frag = &arena->slot[arena->depth - 1].frag;
	*frag = shape;
	return frag;
}

void tsr_cpu_frag_drop(tsr_frag_t *const *frag)
{
	if ((*frag)->elements) /* `none` has no elements and lies in no slot */
		((tsr_cpu_slot_t *)*frag)->owner->depth--;
}

/*
 * Fragments, and private buffers of threads. What stands in a fragment means
 * nothing here, so all of them stand in one place.
 */
#include <stdlib.h>

#include "cpuemu/dev/fragments/value.h"

enum { SHARED_BYTES = 1 << 20 };
static _Alignas(64) unsigned char shared_elements[SHARED_BYTES];

void *tsr_cpu_arena_take(tsr_coop_t *coop, size_t bytes)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	tsr_cpu_slot_t *slot = &arena->slot[arena->depth];
	if (arena->depth == TSR_CPU_ARENA_DEPTH) {
		tsr_cpu_misuse(coop, "TSR_FRAG", "let scopes end, or loops reuse one",
			       "with more than %d fragments alive", TSR_CPU_ARENA_DEPTH);
		return NULL;
	}
	slot->owner = arena;
	arena->depth++;
	if (bytes <= SHARED_BYTES)
		return shared_elements;
	if (slot->bytes < bytes) {
		free(slot->data);
		slot->data = malloc(bytes);
		slot->bytes = slot->data ? bytes : 0;
	}
	return slot->data;
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

tsr_frag_t *tsr_cpu_frag_take(tsr_coop_t *coop, tsr_cpu_tile_t tile, enum tsr_cpu_frag_use use)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	const bool whole = tile.dtype != TSR_F64 && tile.dtype != TSR_F32 &&
			   tile.dtype != TSR_F16 && tile.dtype != TSR_BF16;
	const bool left = use == TSR_CPU_FRAG_A, right = use == TSR_CPU_FRAG_B,
		   turned = use == TSR_CPU_FRAG_BT;
	tsr_frag_t shape = {.tile = tile,
			    .use = use,
			    .rows = right    ? tile.k
				    : turned ? tile.n
					     : tile.m,
			    .cols = use == TSR_CPU_FRAG_ROWS ? 1
				    : left || turned         ? tile.k
							     : tile.n,
			    .held = whole                   ? TSR_I32
				    : tile.dtype == TSR_F64 ? TSR_F64
							    : TSR_F32};
	shape.dtype = left || right || turned ? tile.dtype : shape.held;
	shape.last = shape.rows; /* a coop is one thread */
	shape.elements = tsr_cpu_arena_take(coop, (size_t)shape.rows * (size_t)shape.cols *
							  tsr_cpu_bytes(shape.held));
	if (!shape.elements)
		return &arena->none;
	tsr_frag_t *frag = &arena->slot[arena->depth - 1].frag;
	*frag = shape;
	return frag;
}

void tsr_cpu_frag_drop(tsr_frag_t *const *frag)
{
	if ((*frag)->elements)
		((tsr_cpu_slot_t *)*frag)->owner->depth--;
}

bool tsr_frag_is_mine(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag)
{
	(void)coop;
	(void)call;
	(void)frag;
	return true;
}

bool tsr_frag_has_values(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag)
{
	(void)coop;
	(void)call;
	(void)frag;
	return true;
}

bool tsr_frag_is_rows(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag)
{
	(void)coop;
	(void)call;
	return frag->elements != NULL;
}

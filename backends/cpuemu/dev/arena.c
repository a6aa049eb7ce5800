/* The arena of a thread: fragments and panels, taken and given back in the order of C's scopes. */
#include <stdlib.h>

#include "cpuemu/dev/fragments/value.h"
#include "tessera/program.h"

/* ------------------------------------------------------------------ spare buffers */

/*
 * While blocks are explored, all of them exist at one time, on one thread. If
 * each allocated buffers of its own, each would cause page faults in every
 * schedule. So a block reuses buffers that other blocks have freed.
 */

/** Takes a spare buffer that is large enough, and less than twice as large. */
static bool take_spare(tsr_cpu_env_t *env, size_t bytes, tsr_cpu_slot_t *slot)
{
	for (int i = env->spares - 1; i >= 0; i--) {
		if (env->spare[i].bytes < bytes || env->spare[i].bytes / 2 > bytes)
			continue;
		slot->data = env->spare[i].data;
		slot->bytes = env->spare[i].bytes;
		env->spares--;
		memmove(&env->spare[i], &env->spare[i + 1],
			(size_t)(env->spares - i) * sizeof env->spare[0]);
		return true;
	}
	return false;
}

static void give_spare(tsr_cpu_env_t *env, tsr_cpu_slot_t *slot)
{
	if (env->spares == TSR_CPU_SPARES) {
		free(env->spare[0].data);
		env->spares--;
		memmove(&env->spare[0], &env->spare[1], (size_t)env->spares * sizeof env->spare[0]);
	}
	env->spare[env->spares++] = (tsr_cpu_spare_t){slot->data, slot->bytes};
	slot->data = NULL;
	slot->bytes = 0;
}

/* ------------------------------------------------------------------ buffers */

/** False: no memory. */
static bool grow(tsr_coop_t *coop, size_t bytes, tsr_cpu_slot_t *slot)
{
	if (coop->block->env->host->exploration && take_spare(coop->block->env, bytes, slot))
		return true;
	void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!data)
		return false;
	free(slot->data);
	slot->data = data;
	slot->bytes = bytes;
	return true;
}

void *tsr_cpu_arena_take(tsr_coop_t *coop, size_t bytes)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	if (arena->depth == TSR_CPU_ARENA_DEPTH) {
		tsr_cpu_misuse(coop, "TSR_FRAG", "let scopes end, or loops reuse one",
			       "with more than %d fragments alive", TSR_CPU_ARENA_DEPTH);
		return NULL;
	}
	tsr_cpu_slot_t *slot = &arena->slot[arena->depth];
	if (slot->bytes < bytes && !grow(coop, bytes, slot)) {
		tsr_cpu_misuse(coop, "TSR_FRAG", "use smaller tiles or fewer resident blocks",
			       "found no host memory for %s", TSR_SIZE(bytes));
		return NULL;
	}
	slot->owner = arena;
	arena->depth++;
	return slot->data;
}

void tsr_cpu_arena_drop(tsr_coop_t *coop)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	arena->depth--;
	if (coop->block->env->host->exploration)
		give_spare(coop->block->env, &arena->slot[arena->depth]);
}

void tsr_cpu_arena_clear(tsr_cpu_arena_t *arena)
{
	for (int i = 0; i < TSR_CPU_ARENA_DEPTH; i++)
		free(arena->slot[i].data);
}

/** Rows and columns by use; the share of rows by the coop. */
static void frag_shape(const tsr_coop_t *coop, tsr_cpu_tile_t tile, enum tsr_cpu_frag_use use,
		       tsr_frag_t *frag)
{
	bool real = tile.dtype == TSR_F64 || tile.dtype == TSR_F32 || tile.dtype == TSR_F16 ||
		    tile.dtype == TSR_BF16;
	bool right = use == TSR_CPU_FRAG_B || use == TSR_CPU_FRAG_BT;
	int64_t first, last;
	frag->tile = tile;
	frag->use = use;
	frag->rows = use == TSR_CPU_FRAG_B ? tile.k : use == TSR_CPU_FRAG_BT ? tile.n : tile.m;
	frag->cols = use == TSR_CPU_FRAG_ROWS                          ? 1
		     : use == TSR_CPU_FRAG_A || use == TSR_CPU_FRAG_BT ? tile.k
								       : tile.n;
	frag->held = !real ? TSR_I32 : tile.dtype == TSR_F64 ? TSR_F64 : TSR_F32;
	frag->dtype = use == TSR_CPU_FRAG_A || right ? tile.dtype : frag->held;
	tsr_cpu_share(coop, frag->rows, &first, &last);
	frag->first = right ? 0 : (int32_t)first;
	frag->last = right ? frag->rows : (int32_t)last;
}

tsr_frag_t *tsr_cpu_frag_take(tsr_coop_t *coop, tsr_cpu_tile_t tile, enum tsr_cpu_frag_use use)
{
	tsr_cpu_arena_t *arena = &coop->worker->arena;
	tsr_frag_t shape = {.set = false};
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

bool tsr_frag_is_mine(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag)
{
	const bool right = frag->use == TSR_CPU_FRAG_B || frag->use == TSR_CPU_FRAG_BT;
	int64_t first, last;
	tsr_cpu_share(coop, frag->rows, &first, &last);
	if (!frag->elements || right || (frag->first == first && frag->last == last))
		return true;
	return tsr_cpu_misuse(coop, call, "declare it with the coop that makes the call",
			      "of a fragment of %d x %d elements that another coop has declared",
			      (int)frag->rows, (int)frag->cols);
}

bool tsr_frag_has_values(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag)
{
	if (!tsr_frag_is_mine(coop, call, frag))
		return false;
	if (frag->set || !frag->elements) /* or the arena is exhausted, which has been noted */
		return true;
	return tsr_cpu_misuse(coop, call,
			      "give its elements values first: tsr_frag_zero, or a load",
			      "of a fragment of %d x %d elements that nothing has given values",
			      (int)frag->rows, (int)frag->cols);
}

bool tsr_frag_is_rows(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag)
{
	if (!frag->elements || (frag->rows == frag->tile.m && frag->cols == 1))
		return frag->elements != NULL && tsr_frag_is_mine(coop, call, frag);
	return tsr_cpu_misuse(coop, call, "declare it with TSR_FRAG_ROWS",
			      "of a fragment of %d x %d elements", (int)frag->rows,
			      (int)frag->cols);
}

void tsr_cpu_frag_drop(tsr_frag_t *const *frag)
{
	if ((*frag)->elements) /* `none` has no elements and lies in no slot */
		((tsr_cpu_slot_t *)*frag)->owner->depth--;
}

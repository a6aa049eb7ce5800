/* Accumulators in memory, in the order of the backend: handed from coop to coop. */
#include "cpuemu/dev/value.h"

enum { SAVED_ALIGN_BYTES = 16 };

/** A fragment in memory: row by row, in the type in which it is held. False: a misuse was noted. */
static bool saved_view(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag, const TSR_HEAP void *memory, tsr_view_t *view)
{
	if (frag->rows != frag->tile.m || frag->cols != frag->tile.n)
		return tsr_cpu_misuse(coop, call, "only accumulators are saved", "of an operand or of rows, %d x %d",
				      (int)frag->rows, (int)frag->cols);
	if ((uintptr_t)memory % SAVED_ALIGN_BYTES != 0)
		return tsr_cpu_misuse(coop, call, "align it to 16 bytes", "of memory at %p", (const void *)memory);
	*view = (tsr_view_t){(TSR_HEAP void *)(uintptr_t)memory, frag->rows, frag->cols, frag->cols, frag->held, TSR_SPACE_HEAP};
	return true;
}

void tsr_frag_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag)
{
	const tsr_pos_t origin = {0, 0};
	tsr_view_t view;
	if (saved_view(coop, __func__, frag, memory, &view))
		tsr_frag_store(coop, __func__, view, origin, frag, tsr_rank(coop));
}

static void add_element(int32_t held, unsigned char *to, const unsigned char *x)
{
	if (held == TSR_F64)
		*(double *)(void *)to += *(const double *)(const void *)x;
	else if (held == TSR_F32)
		*(float *)(void *)to += *(const float *)(const void *)x;
	else
		*(uint32_t *)(void *)to += *(const uint32_t *)(const void *)x;
}

void tsr_frag_add(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory)
{
	const tsr_pos_t origin = {0, 0};
	tsr_view_t view;
	if (!saved_view(coop, __func__, frag, memory, &view) || !tsr_frag_has_values(coop, __func__, frag))
		return;
	tsr_frag_t *saved = tsr_cpu_frag_take(coop, frag->tile, TSR_CPU_FRAG_C);
	tsr_frag_load(coop, __func__, saved, view, origin, tsr_rank(coop));
	for (int64_t row = frag->first; saved->elements && row < frag->last; row++)
		for (int64_t col = 0; col < frag->cols; col++)
			add_element(frag->held, tsr_frag_at(frag, row, col), tsr_frag_at(saved, row, col));
	tsr_cpu_frag_drop(&saved);
}

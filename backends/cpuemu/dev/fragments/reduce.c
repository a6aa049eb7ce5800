/* tsr_reduce and tsr_all_reduce: one tile of all ranks becomes one. */
#include "cpuemu/dev/fragments/value.h"

#define DEFINE_COMBINE(name_, type_, sum_t_)                                        \
	static void name_(type_ *x, const type_ *y, int64_t count, tsr_reduce_t op) \
	{                                                                           \
		for (int64_t i = 0; i < count; i++) {                               \
			if (op == TSR_REDUCE_SUM)                                   \
				x[i] = (type_)((sum_t_)x[i] + (sum_t_)y[i]);        \
			else if (op == TSR_REDUCE_MAX ? y[i] > x[i] : y[i] < x[i])  \
				x[i] = y[i];                                        \
		}                                                                   \
	}
DEFINE_COMBINE(combine_f32, float, float)
DEFINE_COMBINE(combine_f64, double, double)
DEFINE_COMBINE(combine_i32, int32_t, uint32_t)

/** Takes the next rank's elements into the thread's own. */
static void combine(tsr_frag_t *x, const tsr_frag_t *y, tsr_reduce_t op)
{
	const int64_t count = (int64_t)(x->last - x->first) * x->cols;
	void *to = tsr_frag_at(x, x->first, 0);
	const void *from = tsr_frag_at(y, x->first, 0);
	if (x->held == TSR_F32)
		combine_f32(to, from, count, op);
	else if (x->held == TSR_F64)
		combine_f64(to, from, count, op);
	else
		combine_i32(to, from, count, op);
}

/** False: a misuse was noted. */
static bool reduce(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		   tsr_pos_t at, tsr_reduce_t op, int64_t apart)
{
	const int me = tsr_rank(coop);
	if (!frag->elements)
		return false;
	if (frag->rows != frag->tile.m || frag->cols != frag->tile.n)
		return tsr_cpu_misuse(coop, call, "reduce into an accumulator: TSR_FRAG",
				      "into an operand or rows, %d x %d", (int)frag->rows,
				      (int)frag->cols);
	if (view.space != TSR_SPACE_HEAP)
		return tsr_cpu_misuse(coop, call, "reduce what all ranks have in the heap",
				      "of a view of shared memory");
	tsr_frag_t *next = tsr_cpu_frag_take(coop, frag->tile, TSR_CPU_FRAG_C);
	tsr_frag_load(coop, call, frag, view, at, apart == 0 ? 0 : me);
	for (int rank = 1; rank < tsr_size(coop) && next->elements; rank++) {
		view.data = (TSR_HEAP char *)view.data + apart;
		tsr_frag_load(coop, call, next, view, at, apart == 0 ? rank : me);
		if (next->set && frag->first < frag->last)
			combine(frag, next, op);
	}
	tsr_cpu_frag_drop(&next);
	return frag->set;
}

void tsr_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at, tsr_reduce_t op)
{
	(void)reduce(coop, __func__, frag, view, at, op, 0);
}

void tsr_cpu_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		    tsr_reduce_t op, int64_t apart)
{
	(void)reduce(coop, "tsr_reduce", frag, view, at, op, apart);
}

void tsr_all_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		    tsr_reduce_t op)
{
	if (!reduce(coop, __func__, frag, view, at, op, 0))
		return;
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_frag_store(coop, __func__, view, at, frag, tsr_peer(coop, i));
}

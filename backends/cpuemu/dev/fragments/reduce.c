/* tsr_reduce and tsr_all_reduce: one tile of all ranks becomes one. */
#include "cpuemu/dev/arithmetic/extremes.h"
#include "cpuemu/dev/fragments/value.h"

#include "common/dev/partials.h"

#define DEFINE_COMBINE(type_name_, type_, sum_t_)                                                  \
	static void combine_##type_name_(type_ *x, const type_ *y, int64_t count, tsr_reduce_t op) \
	{                                                                                          \
		for (int64_t i = 0; i < count; i++)                                                \
			x[i] = op == TSR_REDUCE_SUM   ? (type_)((sum_t_)x[i] + (sum_t_)y[i])       \
			       : op == TSR_REDUCE_MAX ? tsr_larger_##type_name_(x[i], y[i])        \
						      : tsr_smaller_##type_name_(x[i], y[i]);      \
	}
DEFINE_COMBINE(f32, float, float)
DEFINE_COMBINE(f64, double, double)
DEFINE_COMBINE(i32, int32_t, uint32_t)

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

/** What ranks have: as tsr_cpu_reduce and tsr_cpu_reduce_nodes are told. */
typedef struct given {
	tsr_coop_t *coop;
	const char *call;
	tsr_view_t view;
	tsr_pos_t at;
	tsr_reduce_t op;
	int64_t apart;
	const tsr_partials_t *partials; /* null: what each rank has can be read */
} given_t;

static void take(tsr_frag_t *into, const tsr_frag_t *more, tsr_reduce_t op)
{
	if (more->set && into->first < into->last)
		combine(into, more, op);
}

/** What the members of a node have together, in the team's order. */
static void reduce_members(const given_t *g, int node, tsr_frag_t *into, tsr_frag_t *next)
{
	const int members = tsr_port_node_members(g->coop, node);
	for (int i = 0; i < members; i++) {
		const int rank = tsr_port_node_member(g->coop, node, i);
		tsr_view_t view = g->view;
		view.data = (TSR_HEAP char *)view.data + rank * g->apart;
		tsr_frag_load(g->coop, g->call, i == 0 ? into : next, view, g->at,
			      g->apart == 0 ? rank : tsr_rank(g->coop));
		if (i > 0)
			take(into, next, g->op);
	}
}

/** The same, or what another node has given. */
static void reduce_node(const given_t *g, int node, tsr_frag_t *into, tsr_frag_t *next)
{
	const int me = tsr_rank(g->coop), mine = tsr_port_node(g->coop, me);
	if (g->partials == NULL || node == mine)
		reduce_members(g, node, into, next);
	else
		tsr_frag_load(g->coop, g->call, into,
			      tsr_partial(g->partials, node < mine ? node : node - 1,
					  tsr_port_node_members(g->coop, node)),
			      g->at, me);
}

/** Each node's members first, then the nodes: the same bits, whoever computes them. */
static void reduce_nodes(const given_t *g, tsr_frag_t *frag, tsr_frag_t *node, tsr_frag_t *next)
{
	reduce_node(g, 0, frag, next);
	for (int k = 1; k < tsr_port_nodes(g->coop); k++) {
		reduce_node(g, k, node, next);
		take(frag, node, g->op);
	}
}

/** False: a misuse was noted. */
static bool reduce(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		   tsr_pos_t at, tsr_reduce_t op, int64_t apart, const tsr_partials_t *partials)
{
	if (!frag->elements)
		return false;
	if (frag->rows != frag->tile.m || frag->cols != frag->tile.n)
		return tsr_cpu_misuse(coop, call, "reduce into an accumulator: TSR_FRAG",
				      "into an operand or rows, %d x %d", (int)frag->rows,
				      (int)frag->cols);
	if (view.space != TSR_SPACE_HEAP)
		return tsr_cpu_misuse(coop, call, "reduce what all ranks have in the heap",
				      "of a view of shared memory");
	const given_t given = {coop, call, view, at, op, apart, partials};
	tsr_frag_t *node = tsr_cpu_frag_take(coop, frag->tile, TSR_CPU_FRAG_C),
		   *next = tsr_cpu_frag_take(coop, frag->tile, TSR_CPU_FRAG_C);
	if (next->elements)
		reduce_nodes(&given, frag, node, next);
	tsr_cpu_frag_drop(&next);
	tsr_cpu_frag_drop(&node);
	return frag->set;
}

void tsr_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at, tsr_reduce_t op)
{
	(void)reduce(coop, __func__, frag, view, at, op, 0, NULL);
}

void tsr_cpu_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		    tsr_reduce_t op, int64_t apart)
{
	(void)reduce(coop, "tsr_reduce", frag, view, at, op, apart, NULL);
}

void tsr_cpu_reduce_node(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			 tsr_reduce_t op)
{
	const given_t given = {coop, "tsr_reduce", view, at, op, 0, NULL};
	tsr_frag_t *next = tsr_cpu_frag_take(coop, frag->tile, TSR_CPU_FRAG_C);
	if (next->elements)
		reduce_members(&given, tsr_port_node(coop, tsr_rank(coop)), frag, next);
	tsr_cpu_frag_drop(&next);
}

void tsr_cpu_reduce_nodes(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			  const tsr_partials_t *partials)
{
	(void)reduce(coop, "tsr_reduce", frag, view, at, (tsr_reduce_t)partials->op, 0, partials);
}

void tsr_all_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		    tsr_reduce_t op)
{
	if (!reduce(coop, __func__, frag, view, at, op, 0, NULL))
		return;
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_frag_store(coop, __func__, view, at, frag, tsr_peer(coop, i));
}

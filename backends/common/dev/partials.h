/*
 * What the members of other nodes have together, as a rank is given it to combine
 * (node_sums.h). No memory accesses. C11 and C++17.
 *
 * A port whose teams may span nodes defines:
 *   tsr_port_combine_node(coop, dst, src, op, to): combines what the members of
 *   my node have in `src`, and stores it to `dst` of rank `to`; `dst` has the
 *   dtype of tsr_partial_dtype
 *   tsr_port_combine_nodes(coop, dst, src, partials, to): combines that of my
 *   node and the partials of the others, in the order of nodes, and stores it to
 *   `dst` of rank `to`
 * Both meet nobody, and their views are alike and not empty.
 */
#ifndef TESSERA_COMMON_DEV_PARTIALS_H
#define TESSERA_COMMON_DEV_PARTIALS_H

#include "common/dev/views.h"

/** The partials of all other nodes for one chunk, and which share of it a block has. */
typedef struct tsr_partials {
	TSR_HEAP unsigned char *first; /* of the first other node, in my memory */
	int64_t apart;                 /* bytes from one node's to the next one's */
	int64_t rows, cols;            /* of the chunk; no gaps between rows */
	int32_t index, blocks;
	int32_t dtype; /* of what is combined */
	int32_t op;
} tsr_partials_t;

/**
 * The dtype of what `members` ranks have together. Sums are not rounded before
 * all nodes are in them. What one rank has alone, or is chosen, needs no rounding.
 */
TSR_FN int32_t tsr_partial_dtype(int32_t dtype, tsr_reduce_t op, int members)
{
	if (op != TSR_REDUCE_SUM || members == 1 || dtype == TSR_F64)
		return dtype;
	return dtype == TSR_I32 || dtype == TSR_I8 || dtype == TSR_U8 ? (int32_t)TSR_I32
								      : (int32_t)TSR_F32;
}

/** The partial of the `at`-th other node. */
TSR_FN tsr_view_t tsr_partial(const tsr_partials_t *p, int at, int members)
{
	const tsr_view_t view = {p->first + at * p->apart,
				 p->rows,
				 p->cols,
				 p->cols,
				 tsr_partial_dtype(p->dtype, (tsr_reduce_t)p->op, members),
				 TSR_SPACE_HEAP};
	return tsr_combine_part(view, p->index, p->blocks);
}

#endif

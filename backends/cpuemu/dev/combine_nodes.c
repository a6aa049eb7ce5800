/*
 * What common/dev/node_sums.h asks of a port that combines in a node first. A
 * partial is stored to another node, and each tile of it is one message there. So
 * tiles are large, and those of one row are long.
 */
#include "common/dev/partials.h"
#include "cpuemu/dev/internal.h"

TSR_TILE(rows_f32, f32, 16, 512, 16);
TSR_TILE(rows_f64, f64, 16, 512, 16);
TSR_TILE(rows_i32, i32, 16, 512, 16);
TSR_TILE(line_f32, f32, 1, 8192, 16);
TSR_TILE(line_f64, f64, 1, 8192, 16);
TSR_TILE(line_i32, i32, 1, 8192, 16);

typedef struct noded {
	tsr_view_t dst, src;
	const tsr_partials_t *partials; /* null: of my node alone */
	tsr_reduce_t op;
	int to;
} noded_t;

#define COMBINE_TILES(tile_)                                                                       \
	static void combine_##tile_(tsr_coop_t *coop, const noded_t *c)                            \
	{                                                                                          \
		tsr_pos_t at;                                                                      \
		for (at.row = 0; at.row < c->src.rows; at.row += TSR_TILE_M(tile_))                \
			for (at.col = 0; at.col < c->src.cols; at.col += TSR_TILE_N(tile_)) {      \
				TSR_FRAG(tile_, frag, coop);                                       \
				if (c->partials)                                                   \
					tsr_cpu_reduce_nodes(coop, frag, c->src, at, c->partials); \
				else                                                               \
					tsr_cpu_reduce_node(coop, frag, c->src, at, c->op);        \
				tsr_store(coop, c->dst, at, frag, c->to);                          \
			}                                                                          \
	}
COMBINE_TILES(rows_f32)
COMBINE_TILES(rows_f64)
COMBINE_TILES(rows_i32)
COMBINE_TILES(line_f32)
COMBINE_TILES(line_f64)
COMBINE_TILES(line_i32)

static void combine_tiles(tsr_coop_t *coop, const noded_t *c)
{
	const int32_t dtype = c->src.dtype;
	const bool line = c->src.rows == 1;
	if (dtype == TSR_F64)
		(line ? combine_line_f64 : combine_rows_f64)(coop, c);
	else if (dtype == TSR_I32 || dtype == TSR_I8 || dtype == TSR_U8)
		(line ? combine_line_i32 : combine_rows_i32)(coop, c);
	else
		(line ? combine_line_f32 : combine_rows_f32)(coop, c);
}

void tsr_port_combine_node(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op,
			   int to)
{
	combine_tiles(coop, &(noded_t){dst, src, NULL, op, to});
}

void tsr_port_combine_nodes(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
			    const tsr_partials_t *partials, int to)
{
	combine_tiles(coop, &(noded_t){dst, src, partials, (tsr_reduce_t)partials->op, to});
}

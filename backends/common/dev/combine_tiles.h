/*
 * One tile of all ranks becomes one: what the collectives that combine are made
 * of (combine.h, one_shot.h).
 *
 * A port defines tsr_port_reduce(coop, frag, view, at, op, apart): tsr_reduce
 * (dev/value.h) if `apart` is 0; otherwise the view is of what rank 0 has given,
 * in my own memory, and what each next rank has given lies `apart` bytes behind.
 */
#ifndef TESSERA_COMMON_DEV_COMBINE_TILES_H
#define TESSERA_COMMON_DEV_COMBINE_TILES_H

#include "common/dev/views.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/reduction.h"
#include "tessera/dev/tile.h"
#include "tessera/dev/value.h"

TSR_TILE(tsr_combined_f32, f32, 16, 64, 16);
TSR_TILE(tsr_combined_f64, f64, 16, 64, 16);
TSR_TILE(tsr_combined_i32, i32, 16, 64, 16);

/** What is combined, and where it goes: to one rank, or with TSR_ANY_RANK to all. */
typedef struct tsr_combine {
	tsr_view_t dst, src;
	tsr_reduce_t op;
	int32_t to;
	int64_t apart; /* bytes from what rank r has given to what rank r + 1 has; 0: each its own */
} tsr_combine_t;

/*
 * One tile. The type of the elements is a constant, so that the code is for one
 * type.
 */
#define TSR_COMBINE_TILE(name_, held_, code_)                                                    \
	TSR_FN void tsr_combine_##name_(tsr_coop_t *block, const tsr_combine_t *c, tsr_pos_t at) \
	{                                                                                        \
		const tsr_view_t src = tsr_view(c->src.data, code_, c->src.rows, c->src.cols,    \
						c->src.ld),                                      \
				 dst = tsr_view(c->dst.data, code_, c->dst.rows, c->dst.cols,    \
						c->dst.ld);                                      \
		TSR_FRAG(tsr_combined_##held_, frag, block);                                     \
		tsr_port_reduce(block, frag, src, at, c->op, c->apart);                          \
		if (c->to == TSR_ANY_RANK)                                                       \
			tsr_store_all(block, dst, at, frag);                                     \
		else                                                                             \
			tsr_store(block, dst, at, frag, c->to);                                  \
	}
TSR_COMBINE_TILE(f64, f64, TSR_F64)
TSR_COMBINE_TILE(f32, f32, TSR_F32)
TSR_COMBINE_TILE(f16, f32, TSR_F16)
TSR_COMBINE_TILE(bf16, f32, TSR_BF16)
TSR_COMBINE_TILE(i32, i32, TSR_I32)
TSR_COMBINE_TILE(i8, i32, TSR_I8)
TSR_COMBINE_TILE(u8, i32, TSR_U8)

TSR_FN void tsr_combine_tile(tsr_coop_t *block, const tsr_combine_t *c, tsr_pos_t at)
{
	switch (c->src.dtype) {
	case TSR_F64:
		tsr_combine_f64(block, c, at);
		break;
	case TSR_F32:
		tsr_combine_f32(block, c, at);
		break;
	case TSR_F16:
		tsr_combine_f16(block, c, at);
		break;
	case TSR_BF16:
		tsr_combine_bf16(block, c, at);
		break;
	case TSR_I32:
		tsr_combine_i32(block, c, at);
		break;
	case TSR_I8:
		tsr_combine_i8(block, c, at);
		break;
	default:
		tsr_combine_u8(block, c, at);
		break;
	}
}

#endif

/* What common/dev/combine.h and one_shot.h ask of a port that combines: tile by tile. */
#include "common/dev/views.h"
#include "common/dev/words.h"
#include "cpuemu/dev/internal.h"

TSR_TILE(combined_f32, f32, 16, 64, 16);
TSR_TILE(combined_f64, f64, 16, 64, 16);
TSR_TILE(combined_i32, i32, 16, 64, 16);
enum { HEIGHT = TSR_TILE_M(combined_f32), WIDTH = TSR_TILE_N(combined_f32) };

typedef struct combined {
	tsr_view_t dst, src;
	tsr_reduce_t op;
	int to;
	int64_t apart;
} combined_t;

#define COMBINE_TILE(held_)                                                                   \
	static void combine_tile_##held_(tsr_coop_t *coop, const combined_t *c, tsr_pos_t at) \
	{                                                                                     \
		TSR_FRAG(combined_##held_, frag, coop);                                       \
		tsr_cpu_reduce(coop, frag, c->src, at, c->op, c->apart);                      \
		if (c->to == TSR_ANY_RANK)                                                    \
			tsr_store_all(coop, c->dst, at, frag);                                \
		else                                                                          \
			tsr_store(coop, c->dst, at, frag, c->to);                             \
	}
COMBINE_TILE(f32)
COMBINE_TILE(f64)
COMBINE_TILE(i32)

static void combine_tiles(tsr_coop_t *coop, const combined_t *c)
{
	const int32_t dtype = c->src.dtype;
	tsr_pos_t at;
	for (at.row = 0; at.row < c->src.rows; at.row += HEIGHT)
		for (at.col = 0; at.col < c->src.cols; at.col += WIDTH)
			if (dtype == TSR_F64)
				combine_tile_f64(coop, c, at);
			else if (dtype == TSR_I32 || dtype == TSR_I8 || dtype == TSR_U8)
				combine_tile_i32(coop, c, at);
			else
				combine_tile_f32(coop, c, at);
}

/** One row is cut into lines, which fill tiles, and what is left. */
static void combine_view(tsr_coop_t *coop, combined_t c)
{
	const tsr_view_t dst = c.dst, src = c.src;
	const int64_t lines = src.cols / WIDTH * WIDTH, left = src.cols - lines;
	if (src.rows != 1) {
		combine_tiles(coop, &c);
		return;
	}
	c.dst = tsr_view_flat(dst, 0, lines, WIDTH);
	c.src = tsr_view_flat(src, 0, lines, WIDTH);
	combine_tiles(coop, &c);
	c.dst = tsr_view_flat(dst, lines, left, left);
	c.src = tsr_view_flat(src, lines, left, left);
	combine_tiles(coop, &c);
}

void tsr_port_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to)
{
	combine_view(coop, (combined_t){dst, src, op, to, 0});
}

void tsr_port_combine_as(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to)
{
	tsr_port_combine(coop, dst, src, op, to);
}

/** All messages are taken to the room, as they lie in the words, and combined from there. */
tsr_wait_result_t tsr_port_combine_words(tsr_coop_t *coop, tsr_view_t dst,
					 tsr_one_shot_words_t words, uint32_t epoch,
					 tsr_reduce_t op)
{
	const int64_t apart = 4 * words.apart;
	combined_t c = {dst, dst, op, tsr_rank(coop), apart};
	tsr_wait_result_t how = TSR_WAIT_OK;
	c.src.data = words.room;
	c.src.ld = 4 * words.row_words / tsr_element_bytes(dst.dtype);
	for (int from = 0; from < tsr_size(coop) && how == TSR_WAIT_OK; from++) {
		tsr_view_t place = c.src;
		place.data = (TSR_HEAP unsigned char *)place.data + from * apart;
		how = tsr_port_take_words(coop, place, words.first + from * words.apart,
					  words.row_words, epoch, from);
	}
	if (how == TSR_WAIT_OK)
		combine_view(coop, c);
	return how;
}

/*
 * Message passing with the value family: the producer loads a tile into
 * registers, stores it into the next rank's mailbox, and signals. A message of
 * 40 x 56 is no multiple of the tile; what lies outside is not touched.
 */
#include "message_passing.h"

TSR_TILE(tile, f32, 32, 32, 16);

/** From `src` in my memory to `peer`'s copy of `dst`, tile by tile. */
TSR_FN void move(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src, int peer)
{
	TSR_FRAG(tile, t, block);
	for (int64_t row = 0; row < src.rows; row += TSR_TILE_M(tile)) {
		for (int64_t col = 0; col < src.cols; col += TSR_TILE_N(tile)) {
			tsr_pos_t at = {row, col};
			tsr_load(block, t, src, at, tsr_rank(block));
			tsr_store(block, dst, at, t, peer);
		}
	}
}

TSR_FN void produce(tsr_coop_t *block, const mp_args_t *a)
{
	for (uint64_t m = 1; m <= MESSAGES; m++) {
		if (m > SLOTS)
			/* partner: the signal in consume */
			tsr_wait(block, &a->flags->retired, m - SLOTS, mp_next(block));
		move(block, mp_slot(a->mailbox, m), mp_message(a->source, m), mp_next(block));
		/* partner: the wait in consume */
		tsr_signal(block, &a->flags->ready, m, TSR_SIGNAL_SET, mp_next(block));
	}
}

TSR_FN void consume(tsr_coop_t *block, const mp_args_t *a)
{
	for (uint64_t m = 1; m <= MESSAGES; m++) {
		/* partner: the signal in produce */
		tsr_wait(block, &a->flags->ready, m, mp_previous(block));
		move(block, mp_message(a->results, m), mp_slot(a->mailbox, m), tsr_rank(block));
		/* partner: the wait in produce */
		tsr_signal(block, &a->flags->retired, m, TSR_SIGNAL_SET, mp_previous(block));
	}
}

TSR_KERNEL(message_passing_load_store, mp_args_t, a)
{
	if (tsr_block_index(block) == 0)
		produce(block, a);
	else
		consume(block, a);
}

TSR_MAIN(world, argc, argv)
{
	return mp_run(world, &message_passing_load_store);
}

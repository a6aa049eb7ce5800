/*
 * Message passing with the pointer family: the producer puts a message into the
 * next rank's mailbox and signals, in one operation: who acquires the signal
 * sees the data.
 */
#include "message_passing.h"

enum { MESSAGE_BYTES = ROWS * COLS * sizeof(float) };

TSR_FN void produce(tsr_coop_t *block, const mp_args_t *a)
{
	for (uint64_t m = 1; m <= MESSAGES; m++) {
		if (m > SLOTS)
			/* partner: the signal in consume */
			tsr_wait(block, &a->flags->retired, m - SLOTS, mp_next(block));
		tsr_put_signal(block, mp_slot(a->mailbox, m).data, mp_message(a->source, m).data,
			       MESSAGE_BYTES, &a->flags->ready,
			       /* partner: the wait in consume */
			       m, TSR_SIGNAL_SET, mp_next(block));
	}
}

TSR_FN void consume(tsr_coop_t *block, const mp_args_t *a)
{
	for (uint64_t m = 1; m <= MESSAGES; m++) {
		/* partner: the put_signal in produce */
		tsr_wait(block, &a->flags->ready, m, mp_previous(block));
		tsr_put(block, mp_message(a->results, m).data, mp_slot(a->mailbox, m).data,
			MESSAGE_BYTES, tsr_rank(block));
		/* partner: the wait in produce */
		tsr_signal(block, &a->flags->retired, m, TSR_SIGNAL_SET, mp_previous(block));
	}
}

TSR_KERNEL(message_passing_put_signal, mp_args_t, a)
{
	if (tsr_block_index(block) == 0)
		produce(block, a);
	else
		consume(block, a);
}

TSR_MAIN(world, argc, argv)
{
	return mp_run(world, &message_passing_put_signal);
}

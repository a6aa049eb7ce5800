/* Each rank sends its square to every rank, and adds up what it got. */
#include "squares.h"
#include "tessera/dev.h"

TSR_KERNEL(add_squares, squares_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block);
	const int64_t square = (int64_t)(me + 1) * (me + 1);
	int64_t sum = 0;

	for (int peer = 0; peer < size; peer++) {
		tsr_put_value(block, &a->mine->from[me], square, peer);
		tsr_signal(block, &a->mine->ready[me], 1, TSR_SIGNAL_SET, peer);
	}
	for (int peer = 0; peer < size; peer++) {
		/* partner: that rank's tsr_signal; litmus: MP.rel.acq.diffGPU-ss */
		tsr_wait(block, &a->mine->ready[peer], 1, peer);
		sum += tsr_get_value(block, &a->mine->from[peer], me);
	}
	tsr_put_value(block, &a->mine->sum, sum, me);
}

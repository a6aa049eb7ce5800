/*
 * Words that carry their own flag: one relaxed access of 64 bits a word, and no
 * fence; compiled for the golden lines as probe_atomics.c is.
 */
#include "tessera/dev.h"

typedef struct probe_args {
	TSR_HEAP uint64_t *words;
	TSR_HEAP unsigned char *data;
	uint64_t size_bytes;
	uint32_t epoch;
	int32_t peer;
} probe_args_t;

TSR_KERNEL(probe_put_marked, probe_args_t, a)
{
	tsr_put_marked(block, a->words, a->data, a->size_bytes, a->epoch, a->peer);
}

TSR_KERNEL(probe_put_all_marked, probe_args_t, a)
{
	tsr_put_all_marked(block, a->words, a->data, a->size_bytes, a->epoch);
}

TSR_KERNEL(probe_take_marked, probe_args_t, a)
{
	tsr_take_marked(block, a->data, a->words, a->size_bytes, a->epoch, a->peer);
}

TSR_KERNEL(probe_take_marked_until, probe_args_t, a)
{
	tsr_take_marked_until(block, a->data, a->words, a->size_bytes, a->epoch, a->peer, 1000000);
}

/* The stores hang on the loads: nothing stands between but the coop's meeting. */
TSR_KERNEL(probe_take_then_put_marked, probe_args_t, a)
{
	if (tsr_take_marked(block, a->data, a->words, 16, a->epoch, a->peer) == TSR_WAIT_OK)
		tsr_put_marked(block, a->words, a->data, 16, a->epoch + 1, a->peer);
}

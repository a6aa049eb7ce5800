/* Each rank puts a number into the next rank's memory, with a signal. */
#include "tessera/dev.h"
#include "tessera/tessera.h"
#include <stdio.h>

typedef struct mail {
	int64_t mine, received;
	uint64_t ready; /* 1: `received` is there */
} mail_t;

typedef struct hello_args {
	TSR_HEAP mail_t *mail;
} hello_args_t;

TSR_KERNEL(hello, hello_args_t, a)
{
	int next = (tsr_rank(block) + 1) % tsr_size(block);
	int previous = (tsr_rank(block) + tsr_size(block) - 1) % tsr_size(block);
	tsr_put_signal(block, &a->mail->received, &a->mail->mine, sizeof(int64_t), &a->mail->ready,
		       1, TSR_SIGNAL_SET, next);
	tsr_wait(block, &a->mail->ready, 1, previous);
}

TSR_MAIN(world, argc, argv)
{
	mail_t mail = {1000 + tsr_world_rank(world), 0, 0};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, sizeof mail, 0, "mail", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &mail, sizeof mail));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world)); /* every rank's mail is ready to be written */
	TSR_TRY(tsr_launch(stream, &hello, 1, &(hello_args_t){(TSR_HEAP mail_t *)heap}));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, &mail, heap, sizeof mail));
	printf("rank %d of %d received %d\n", tsr_world_rank(world), tsr_world_size(world),
	       (int)mail.received);
	TSR_TRY(tsr_stream_destroy(stream));
	return tsr_heap_free(world, heap) == TSR_OK ? 0 : tsr_fail(world);
}

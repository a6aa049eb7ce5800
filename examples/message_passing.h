/*
 * What the two message-passing examples share: who sends to whom, where a
 * message lies, and the host half.
 * Each rank sends MESSAGES messages to the next rank, through a mailbox of
 * SLOTS slots in the receiver's memory, and receives as many from the rank
 * before. Two edges keep it right:
 *   READY    "message m is in your mailbox": raised by the producer, waited for
 *            by the consumer;
 *   RETIRED  "the slot of message m may be written again": raised by the
 *   consumer, waited for by the producer.
 * Both count messages from 1 and only grow, so nothing is ever reset.
 */
#ifndef EXAMPLES_MESSAGE_PASSING_H
#define EXAMPLES_MESSAGE_PASSING_H

#include <stdio.h>
#include <stdlib.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { MESSAGES = 12, SLOTS = 2, ROWS = 40, COLS = 56 };

typedef struct mp_flags {
	uint64_t ready;   /* messages that stand in my mailbox, or stood there */
	uint64_t retired; /* messages that the next rank has taken out of its mailbox */
} mp_flags_t;

typedef struct mp_args {
	tsr_view_t source;  /* what I send, message below message */
	tsr_view_t mailbox; /* SLOTS messages */
	tsr_view_t results; /* what I received, message below message */
	TSR_HEAP mp_flags_t *flags;
} mp_args_t;

TSR_FN int mp_next(const tsr_coop_t *me)
{
	return (tsr_rank(me) + 1) % tsr_size(me);
}

TSR_FN int mp_previous(const tsr_coop_t *me)
{
	return (tsr_rank(me) + tsr_size(me) - 1) % tsr_size(me);
}

/** Message `m`, from 1 on, in a view of many. */
TSR_FN tsr_view_t mp_message(tsr_view_t all, uint64_t m)
{
	tsr_pos_t at = {(int64_t)(m - 1) * ROWS, 0};
	return tsr_view_part(all, at, ROWS, COLS);
}

/** The slot of message `m` in a mailbox. */
TSR_FN tsr_view_t mp_slot(tsr_view_t mailbox, uint64_t m)
{
	tsr_pos_t at = {(int64_t)((m - 1) % SLOTS) * ROWS, 0};
	return tsr_view_part(mailbox, at, ROWS, COLS);
}

/** Everything a rank has in the heap. */
typedef struct mp_memory {
	tsr_tensor_t source, mailbox, results, flags;
} mp_memory_t;

static tsr_status_t mp_allocate(tsr_world_t *world, mp_memory_t *memory, mp_args_t *args)
{
	const int64_t all[2] = {MESSAGES * ROWS, COLS}, slots[2] = {SLOTS * ROWS, COLS},
		      flags[1] = {2};
	tsr_status_t status;

	/* The seed is the sender's rank, so that the receiver can tell what must arrive; -1 is
	 * poison. */
	if ((status = tsr_tensor_rand(world, TSR_F32, 2, all, (uint64_t)tsr_world_rank(world),
				      &memory->source)) != TSR_OK ||
	    (status = tsr_tensor_full(world, TSR_F32, 2, slots, -1, &memory->mailbox)) != TSR_OK ||
	    (status = tsr_tensor_full(world, TSR_F32, 2, all, -1, &memory->results)) != TSR_OK ||
	    (status = tsr_tensor_zeros(world, TSR_I64, 1, flags, &memory->flags)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->source, &args->source)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->mailbox, &args->mailbox)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->results, &args->results)) != TSR_OK)
		return status;
	args->flags = (TSR_HEAP mp_flags_t *)memory->flags.data;
	return tsr_barrier(world); /* every rank's flags are zero before a kernel raises one */
}

static tsr_status_t mp_free(tsr_world_t *world, mp_memory_t *memory)
{
	tsr_status_t status = tsr_tensor_free(world, &memory->flags);
	if (status == TSR_OK)
		status = tsr_tensor_free(world, &memory->results);
	if (status == TSR_OK)
		status = tsr_tensor_free(world, &memory->mailbox);
	return status == TSR_OK ? tsr_tensor_free(world, &memory->source) : status;
}

/**
 * Compares what arrived with what the previous rank's source must be, bit for
 * bit; returns how many elements differ.
 */
static tsr_status_t mp_verify(tsr_world_t *world, const mp_memory_t *memory, int *wrong_out)
{
	const int count = MESSAGES * ROWS * COLS;
	int previous = (tsr_world_rank(world) + tsr_world_size(world) - 1) % tsr_world_size(world),
	    wrong = 0;
	float *received = (float *)malloc(sizeof(float) * (size_t)count);

	if (!received)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for %d floats: end other programs", count);
	tsr_status_t status = tsr_tensor_read(world, &memory->results, received);
	for (int i = 0; i < count && status == TSR_OK; i++)
		wrong += received[i] != tsr_random_f32((uint64_t)previous, (uint64_t)i);
	free(received);
	if (status == TSR_OK)
		*wrong_out = wrong;
	return status;
}

/** The example: block 0 of `kernel` produces, block 1 consumes, at the same time. */
static int mp_run(tsr_world_t *world, const tsr_kernel_t *kernel)
{
	mp_memory_t memory;
	mp_args_t args;
	tsr_stream_t *stream;
	int wrong = 0;

	TSR_TRY(mp_allocate(world, &memory, &args));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	tsr_launch_desc_t launch = TSR_LAUNCH_DESC(stream, kernel, 2, &args);
	/* blocks that wait for each other and for peers are on the device together */
	TSR_TRY(tsr_launch_group(&launch, 1));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(mp_verify(world, &memory, &wrong));
	printf("rank %d of %d: %d messages of %d x %d: %s\n", tsr_world_rank(world),
	       tsr_world_size(world), MESSAGES, ROWS, COLS, wrong ? "WRONG" : "ok");
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(mp_free(world, &memory));
	return wrong ? 1 : 0;
}

#endif

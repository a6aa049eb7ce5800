/*
 * copied KIND: copies that the host puts on streams, with one mistake each, for
 * what finds them. Rank 0 sends a matrix every round through one buffer here
 * and one there: a kernel fills the buffer, a kernel waits until rank 1 has
 * read what came, a copy, and a kernel that signals. Rank 1 keeps what comes.
 *
 *     overwrite  the next round's kernel, on another stream, fills the buffer
 *                without waiting for the copy
 *     early      the copy, on another stream, does not wait for the kernel that
 *                fills the buffer
 *     signal     the signal, on another stream, does not wait for the copy
 *     retired    nobody asks whether rank 1 has read the round before
 *     host       the host of rank 0 reads, at home, what a copy to itself
 *                brings, without waiting for it
 *     slack      the copy goes on behind its allocation
 *     word       kernels hold every place of rank 0's device, and wait for a
 *                flag that a copy brings, which releases nothing
 *     none       none of these, all on one stream
 *     events     nor here, where the copy has a stream of its own, between
 *                events
 *     held       nor here: kernels hold every place of rank 0's device, until
 *                the host knows that a copy has ended
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { OVERWRITE, EARLY, SIGNAL, RETIRED, HOST, SLACK, WORD, NONE, EVENTS, HELD, KINDS };
static const char *const kinds[KINDS] = {"overwrite", "early", "signal", "retired", "host",
					 "slack",     "word",  "none",   "events",  "held"};

enum { ROUNDS = 2, ROWS = 3, COLS = 5, LD = 8 };

typedef struct flags {
	uint64_t ready, retired, go, one;
} flags_t;

typedef struct copied_args {
	tsr_view_t fresh, sent, inbox, got; /* fresh, got: of this round */
	TSR_HEAP flags_t *flags;
	uint64_t round;
	int32_t kind, reserved;
} copied_args_t;

/** Rank 0. */
TSR_KERNEL(fill_buffer, copied_args_t, a)
{
	tsr_put_2d(block, a->sent, a->fresh, 0);
}

/**
 * Rank 0, before the copy. Partner: the signal of keep_inbox. Litmus:
 * MP.reuse.diffGPU-ss, with the copy as the second write.
 */
TSR_KERNEL(wait_retired, copied_args_t, a)
{
	tsr_wait(block, &a->flags->retired, a->round - 1, 1);
}

/**
 * Rank 0. Partner: the wait of keep_inbox. Litmus: MP.rel.acq.diffGPU-ss, with
 * the copy before it as the first write.
 */
TSR_KERNEL(signal_ready, copied_args_t, a)
{
	tsr_signal(block, &a->flags->ready, a->round, TSR_SIGNAL_SET, 1);
}

/** Rank 1. */
TSR_KERNEL(keep_inbox, copied_args_t, a)
{
	tsr_wait(block, &a->flags->ready, a->round, 0);
	tsr_put_2d(block, a->got, a->inbox, 1);
	tsr_signal(block, &a->flags->retired, a->round, TSR_SIGNAL_SET, 0);
}

/**
 * Rank 0, whose device it fills. Partner: the signal of let_go; of a word that
 * is copied there is none.
 */
TSR_KERNEL(hold_device, copied_args_t, a)
{
	tsr_wait(block, &a->flags->go, 1, TSR_ANY_RANK);
}

/** Rank 1. */
TSR_KERNEL(let_go, copied_args_t, a)
{
	tsr_signal(block, &a->flags->go, 1, TSR_SIGNAL_SET, 0);
}

typedef struct lanes {
	/* of what fills, copies, signals: one where the mistake needs no more */
	tsr_stream_t *stream[3];
	tsr_event_t *event[3]; /* behind each */
} lanes_t;

/** What follows on `later` comes behind what is on `earlier`. */
static tsr_status_t order(const lanes_t *lanes, int earlier, int later, bool unless)
{
	if (unless || lanes->stream[earlier] == lanes->stream[later])
		return TSR_OK;
	const tsr_status_t status = tsr_event_record(lanes->event[earlier], lanes->stream[earlier]);
	return status == TSR_OK ? tsr_stream_wait_event(lanes->stream[later], lanes->event[earlier])
				: status;
}

static tsr_status_t send_round(const lanes_t *lanes, const copied_args_t *a)
{
	tsr_view_t inbox = a->inbox, sent = a->sent;
	inbox.rows = sent.rows = ROWS + (a->kind == SLACK);
	tsr_status_t status = order(lanes, 1, 0, a->kind == OVERWRITE);
	if (status == TSR_OK)
		status = tsr_launch(lanes->stream[0], &fill_buffer, 1, a);
	if (status == TSR_OK)
		status = order(lanes, 0, 1, a->kind == EARLY);
	if (status == TSR_OK && a->kind != RETIRED)
		status = tsr_launch(lanes->stream[1], &wait_retired, 1, a);
	if (status == TSR_OK)
		status = tsr_stream_put_2d(lanes->stream[1], inbox, sent, a->kind == HOST ? 0 : 1);
	if (status == TSR_OK)
		status = order(lanes, 1, 2, a->kind == SIGNAL);
	return status == TSR_OK ? tsr_launch(lanes->stream[2], &signal_ready, 1, a) : status;
}

static tsr_status_t run_rounds(tsr_world_t *world, const lanes_t *lanes, copied_args_t *a)
{
	const tsr_view_t fresh = a->fresh, got = a->got;
	tsr_status_t status = TSR_OK;
	for (a->round = 1; status == TSR_OK && a->round <= ROUNDS; a->round++) {
		const size_t at = (size_t)(a->round - 1) * ROWS * COLS;
		a->fresh.data = (TSR_HEAP int32_t *)fresh.data + at;
		a->got.data = (TSR_HEAP int32_t *)got.data + at;
		status = tsr_world_rank(world) == 0
				 ? send_round(lanes, a)
				 : tsr_launch(lanes->stream[0], &keep_inbox, 1, a);
	}
	return status;
}

/** The copy ends, or the host would not go on to tell rank 1 to let the device go. */
static tsr_status_t run_held(tsr_world_t *world, const lanes_t *lanes, const copied_args_t *a)
{
	tsr_device_props_t props = {.size = sizeof props};
	int nothing = 0;
	tsr_status_t status = tsr_world_device(world, &props);
	if (status == TSR_OK && tsr_world_rank(world) == 0) {
		status = tsr_launch(lanes->stream[0], &hold_device, props.resident_blocks, a);
		if (status == TSR_OK)
			status = tsr_stream_put_2d(lanes->stream[1], a->inbox, a->fresh, 1);
		if (status == TSR_OK)
			status = tsr_stream_sync(lanes->stream[1]);
	}
	if (status == TSR_OK)
		status = tsr_team_broadcast(tsr_world_team(world), &nothing, sizeof nothing, 0);
	if (status != TSR_OK || tsr_world_rank(world) == 0)
		return status;
	return tsr_launch(lanes->stream[0], &let_go, 1, a);
}

/** A copy to myself ends the wait of those who fill the device. */
static tsr_status_t run_word(tsr_world_t *world, const lanes_t *lanes, const copied_args_t *a)
{
	const tsr_view_t one = {&a->flags->one,   1,      sizeof(uint64_t),
				sizeof(uint64_t), TSR_U8, TSR_SPACE_HEAP};
	const tsr_view_t go = {&a->flags->go,    1,      sizeof(uint64_t),
			       sizeof(uint64_t), TSR_U8, TSR_SPACE_HEAP};
	const uint64_t value = 1;
	tsr_device_props_t props = {.size = sizeof props};
	tsr_status_t status = tsr_world_device(world, &props);
	if (status == TSR_OK)
		status = tsr_memcpy_to_heap(world, &a->flags->one, &value, sizeof value);
	if (status != TSR_OK || tsr_world_rank(world) != 0)
		return status;
	status = tsr_launch(lanes->stream[0], &hold_device, props.resident_blocks, a);
	return status == TSR_OK ? tsr_stream_put_2d(lanes->stream[1], go, one, 0) : status;
}

/** Matrices, and what they hold at first: numbers of each rank, and zeros. */
typedef struct matrices {
	tsr_tensor_t fresh, sent, inbox, got, flags;
} matrices_t;

static tsr_status_t make_matrices(tsr_world_t *world, matrices_t *m)
{
	const int64_t rounds[2] = {ROUNDS * ROWS, COLS}, one[2] = {ROWS, LD},
		      flags[1] = {sizeof(flags_t) / sizeof(uint64_t)};
	tsr_status_t status = tsr_tensor_randint(world, TSR_I32, 2, rounds, 1, 1000, 7, &m->fresh);
	if (status == TSR_OK)
		status = tsr_tensor_zeros(world, TSR_I32, 2, one, &m->sent);
	if (status == TSR_OK)
		status = tsr_tensor_zeros(world, TSR_I32, 2, one, &m->inbox);
	if (status == TSR_OK)
		status = tsr_tensor_zeros(world, TSR_I32, 2, rounds, &m->got);
	return status == TSR_OK ? tsr_tensor_zeros(world, TSR_I64, 1, flags, &m->flags) : status;
}

static tsr_view_t view_of(const tsr_tensor_t *tensor, int64_t ld)
{
	return (tsr_view_t){tensor->data, ROWS, COLS, ld, TSR_I32, TSR_SPACE_HEAP};
}

/** Whether rank 1 has what rank 0 has sent: all rounds, or (held) the first in its inbox. */
static tsr_status_t check_copies(tsr_world_t *world, const matrices_t *m, int kind, int *wrong_out)
{
	int32_t sent[ROUNDS * ROWS * COLS], got[ROUNDS * ROWS * COLS], inbox[ROWS * LD];
	tsr_status_t status = tsr_memcpy_from_heap(world, sent, m->fresh.data, sizeof sent);
	if (status == TSR_OK)
		status = tsr_memcpy_from_heap(world, got, m->got.data, sizeof got);
	if (status == TSR_OK)
		status = tsr_memcpy_from_heap(world, inbox, m->inbox.data, sizeof inbox);
	if (status == TSR_OK)
		status = tsr_team_broadcast(tsr_world_team(world), sent, sizeof sent, 0);
	for (int i = 0; kind == HELD && i < ROWS * COLS; i++)
		got[i] = inbox[i / COLS * LD + i % COLS];
	const size_t bytes = kind == HELD ? ROWS * COLS * sizeof *sent : sizeof sent;
	*wrong_out = tsr_world_rank(world) == 1 && memcmp(sent, got, bytes) != 0;
	return status;
}

TSR_MAIN(world, argc, argv)
{
	matrices_t m;
	lanes_t lanes;
	int32_t seen;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	int wrong = 0;
	if (kind == KINDS || tsr_world_size(world) != 2) {
		fprintf(stderr, "copied: say one of the kinds, and start two ranks\n");
		return 2;
	}
	TSR_TRY(make_matrices(world, &m));
	for (int i = 0; i < 3; i++) {
		TSR_TRY(tsr_stream_create(tsr_world_team(world), &lanes.stream[i]));
		TSR_TRY(tsr_event_create(world, &lanes.event[i]));
	}
	TSR_TRY(tsr_barrier(world));
	copied_args_t args = {.fresh = view_of(&m.fresh, COLS),
			      .sent = view_of(&m.sent, LD),
			      .inbox = view_of(&m.inbox, LD),
			      .got = view_of(&m.got, COLS),
			      .flags = (TSR_HEAP flags_t *)m.flags.data,
			      .kind = kind};
	const lanes_t line = {{lanes.stream[0], lanes.stream[0], lanes.stream[0]}, {NULL}};
	const bool in_line = kind == NONE || kind == RETIRED || kind == SLACK;
	TSR_TRY(kind == HELD   ? run_held(world, &lanes, &args)
		: kind == WORD ? run_word(world, &lanes, &args)
			       : run_rounds(world, in_line ? &line : &lanes, &args));
	if (kind == HOST)
		TSR_TRY(tsr_memcpy_from_heap(world, &seen, m.inbox.data, sizeof seen));
	TSR_TRY(tsr_barrier(world));
	if (kind != HOST && kind != WORD)
		TSR_TRY(check_copies(world, &m, kind, &wrong));
	for (int i = 0; i < 3; i++) {
		TSR_TRY(tsr_stream_destroy(lanes.stream[i]));
		TSR_TRY(tsr_event_destroy(lanes.event[i]));
	}
	return wrong;
}

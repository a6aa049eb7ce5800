/*
 * hosts KIND: what hosts do beside their kernels, on two ranks. Rank 0's kernel
 * puts a number to rank 1 and signals. Rank 1's kernel waits and copies the
 * number. Rank 1's host reads the copy, and fails if it is wrong.
 *
 *     unsynced  the host of rank 1 reads without waiting for its stream
 *     early     the host of rank 1 writes where its kernel does, without
 *               waiting
 *     foreign   the host of rank 0 reads what rank 1's kernel puts back to it,
 *               after its own stream alone
 *     lost      nobody signals; all hosts are at their end
 *     stuck     nobody signals; the host of rank 1 waits for its stream, and
 *               the others for the host of rank 1
 *     calls     rank 1 makes a tsr_barrier where the others make a
 *               tsr_team_broadcast
 *     sizes     rank 1 broadcasts another number of bytes
 *     ended     rank 1 is at its end where the others make a tsr_barrier
 *     tensor    the host of rank 1 reads a tensor without waiting for its
 *               stream, behind an address of a call taken
 *     pointer   the same by a pointer to the call, which says no place
 *     right     it waits; what rank 1's kernel puts back is complete with the
 *               kernel's end, and rank 0 reads it behind a barrier
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { UNSYNCED, EARLY, FOREIGN, LOST, STUCK, CALLS, SIZES, ENDED, TENSOR, POINTER, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"unsynced", "early",   "foreign", "lost",
					 "stuck",    "calls",   "sizes",   "ended",
					 "tensor",   "pointer", "right"};

enum { NUMBER = 41 };

typedef struct hosts_box {
	uint64_t number, came, sum, back, ready;
} hosts_box_t;

typedef struct hosts_args {
	TSR_HEAP hosts_box_t *box;
	int64_t kind;
} hosts_args_t;

TSR_KERNEL(copy_number, hosts_args_t, a)
{
	if (tsr_rank(block) == 0) {
		tsr_put(block, &a->box->came, &a->box->number, sizeof(uint64_t), 1);
		if (a->kind != LOST && a->kind != STUCK)
			tsr_signal(block, &a->box->ready, (uint64_t)1, TSR_SIGNAL_SET, 1);
	} else if (tsr_rank(block) == 1) {
		tsr_wait(block, &a->box->ready, (uint64_t)1,
			 a->kind == LOST || a->kind == STUCK ? TSR_ANY_RANK : 0);
		tsr_put(block, &a->box->sum, &a->box->came, sizeof(uint64_t), 1);
		tsr_put(block, &a->box->back, &a->box->came, sizeof(uint64_t), 0);
	}
}

/** Collective calls that do not go together, which stand on lines of their own. */
static int meet(tsr_world_t *world, int64_t kind)
{
	const int me = tsr_world_rank(world);
	uint64_t data[2] = {0, 0};
	if (me == 1 && kind == ENDED)
		return 0;
	if (me == 1 && kind == CALLS)
		TSR_TRY(tsr_barrier(world));
	else if (me == 1)
		TSR_TRY(tsr_team_broadcast(tsr_world_team(world), data, sizeof data, 0));
	else if (kind == ENDED || kind == STUCK)
		TSR_TRY(tsr_barrier(world));
	else
		TSR_TRY(tsr_team_broadcast(tsr_world_team(world), data, sizeof *data, 0));
	return 0;
}

/** Reads what the kernel writes, too early. */
static int read_early(tsr_world_t *world, const hosts_args_t *args)
{
	tsr_status_t (*const by_pointer)(tsr_world_t *, const tsr_tensor_t *, void *) =
		&tsr_tensor_read;
	const tsr_tensor_t sum = {
		.data = &args->box->sum, .dtype = TSR_I64, .dims = 1, .shape = {1}, .stride = {1}};
	int64_t value;
	if (tsr_world_rank(world) != 1)
		return 0;
	if (args->kind == POINTER)
		TSR_TRY(by_pointer(world, &sum, &value));
	else
		TSR_TRY(tsr_tensor_read(world, &sum, &value));
	return 0;
}

static int run(tsr_world_t *world, tsr_stream_t *stream, const hosts_args_t *args)
{
	const int me = tsr_world_rank(world);
	const uint64_t other = 7;
	uint64_t sum = 0;
	TSR_TRY(tsr_launch(stream, &copy_number, 1, args));
	if (args->kind == LOST)
		return 0;
	if (args->kind == STUCK && me != 1)
		return meet(world, args->kind);
	if (args->kind == TENSOR || args->kind == POINTER)
		return read_early(world, args);
	if (args->kind == CALLS || args->kind == SIZES || args->kind == ENDED)
		return meet(world, args->kind);
	if (args->kind == EARLY && me == 1)
		TSR_TRY(tsr_memcpy_to_heap(world, &args->box->sum, &other, sizeof other));
	if (args->kind != UNSYNCED)
		TSR_TRY(tsr_stream_sync(stream));
	if (args->kind == RIGHT)
		TSR_TRY(tsr_barrier(world));
	if ((args->kind == FOREIGN || args->kind == RIGHT) && me == 0)
		TSR_TRY(tsr_memcpy_from_heap(world, &sum, &args->box->back, sizeof sum));
	else if (me == 1)
		TSR_TRY(tsr_memcpy_from_heap(world, &sum, &args->box->sum, sizeof sum));
	else
		return 0;
	return sum == NUMBER || args->kind == EARLY ? 0 : 3;
}

TSR_MAIN(world, argc, argv)
{
	const hosts_box_t first = {.number = NUMBER};
	hosts_args_t args = {NULL, 0};
	TSR_HEAP void *box;
	tsr_stream_t *stream;
	args.kind = planted_kind(argc, argv, kinds, KINDS);
	if (args.kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "hosts: say one of the kinds, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof first, 0, "box", &box));
	TSR_TRY(tsr_memcpy_to_heap(world, box, &first, sizeof first));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.box = (TSR_HEAP hosts_box_t *)box;
	return run(world, stream, &args);
}

/* A measurement of moves: what sizes, ways, pairs and all ranks at once have in common. */
#ifndef TESSERA_TOOLS_PERF_MOVE_H
#define TESSERA_TOOLS_PERF_MOVE_H

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

/** Source and destination on every rank; one rank moves from one rank's to another's. */
typedef struct perf_move {
	perf_run_t *run;
	int actor; /* who moves */
	tsr_tensor_t source;
	TSR_HEAP void *destination;
	int from, to;
	const tsr_kernel_t *kernel; /* null: the device's copy engine moves */
	perf_move_args_t args;
	perf_move_args_t plain; /* what the plain kernel gets; no bytes: it is not compared */
	int blocks;
	size_t messages;  /* of an operation, one behind the other; times are those of one */
	uint64_t repeats; /* operations of a sample */
	unsigned char *expected, *received; /* on rank `to`, where it verifies */
} perf_move_t;

/** The ranks and the kernel of the options' operation, by `actor` with `other`. */
perf_move_t perf_move_of(perf_run_t *run, int actor, int other);

/** The memory on every rank; `checks`: what is moved will be verified. Collective. */
tsr_status_t perf_move_open(perf_move_t *move, size_t size_bytes, bool checks);

/** After `status` of what came between; gives that back, or its own. Collective. */
tsr_status_t perf_move_close(perf_move_t *move, tsr_status_t status);

/** As much of a size as the operation moves: load and store move whole rows of tiles. */
size_t perf_move_bytes(perf_op_t op, size_t size_bytes);

/** An operation of one message: its arguments, blocks, and what each block moves at a time. */
tsr_status_t perf_move_whole(perf_move_t *move, size_t size_bytes);

/** An operation of `messages` messages by so many blocks: its arguments. */
void perf_move_divided(perf_move_t *move, size_t message_bytes, size_t messages, int blocks);

/** Times `repeats` operations; not collective. */
tsr_status_t perf_move_time(const perf_move_t *move, uint64_t repeats, double *ns_out);

/** On the host, where it reaches both ends: the same by memcpy; 0 where it does not. */
double perf_move_time_memcpy(const perf_move_t *move, uint64_t repeats);

/** Warms up, and finds how many operations make a sample long enough: on the rank that moves. */
tsr_status_t perf_move_warm_up(perf_move_t *move);

/** A perf_sample_fn for a perf_move_t, on the rank that moves. */
tsr_status_t perf_move_sample(void *move, perf_pair_t *pair);

/** Verifies and measures; `*pair_out` on the rank that moves. Collective. */
tsr_status_t perf_move_measure(perf_move_t *move, perf_pair_t *pair_out, int64_t *wrong_out);

#endif

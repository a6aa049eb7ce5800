/* A measurement of moves: what sizes, ways, pairs and all ranks at once have in common. */
#ifndef TESSERA_TOOLS_PERF_MOVE_H
#define TESSERA_TOOLS_PERF_MOVE_H

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

/** Every rank has a source and a destination. Rank `actor` moves from rank `from` to rank `to`. */
typedef struct perf_move {
	perf_run_t *run;
	int actor;
	tsr_tensor_t source;
	TSR_HEAP void *destination;
	int from, to;
	const tsr_kernel_t *kernel; /* null: the device's copy engine moves */
	perf_move_args_t args;
	perf_move_args_t
		plain; /* arguments of the plain kernel; no bytes: it is not the reference */
	int blocks;
	size_t messages;  /* that an operation consists of; samples are times of one message */
	uint64_t repeats; /* operations of a sample */
	unsigned char *expected, *received; /* on rank `to`, where it verifies */
} perf_move_t;

/** Chooses ranks and kernel for the options' operation, by `actor` with `other`. */
perf_move_t perf_move_of(perf_run_t *run, int actor, int other);

/** Allocates the memory. `checks`: what is moved will be verified. Collective. */
tsr_status_t perf_move_open(perf_move_t *move, size_t size_bytes, bool checks);

/** Frees the memory. Gives `status` back, or the error of freeing. Collective. */
tsr_status_t perf_move_close(perf_move_t *move, tsr_status_t status);

/** Bytes that the operation moves of a size: load and store move whole rows of tiles. */
size_t perf_move_bytes(perf_op_t op, size_t size_bytes);

/** Prepares an operation of one message: arguments, number of blocks, chunks. */
tsr_status_t perf_move_whole(perf_move_t *move, size_t size_bytes);

/** Prepares an operation of `messages` messages by `blocks` blocks. */
void perf_move_divided(perf_move_t *move, size_t message_bytes, size_t messages, int blocks);

/** Times `repeats` operations; not collective. */
tsr_status_t perf_move_time(const perf_move_t *move, uint64_t repeats, double *ns_out);

/** Times the same by the host's memcpy. 0: the host cannot reach the memory. */
double perf_move_time_memcpy(const perf_move_t *move, uint64_t repeats);

/**
 * Number of operations in the first launch, for a fast machine: it should outlast a
 * launch. To a rank of another node each is a message.
 */
uint64_t perf_move_guess(const perf_run_t *run, size_t size_bytes);

/** Warms up, and chooses the operations of a sample. On the rank that moves. */
tsr_status_t perf_move_warm_up(perf_move_t *move);

/** A perf_sample_fn for a perf_move_t, on the rank that moves. */
tsr_status_t perf_move_sample(void *move, perf_pair_t *pair);

/** Verifies and measures; `*pair_out` on the rank that moves. Collective. */
tsr_status_t perf_move_measure(perf_move_t *move, perf_pair_t *pair_out, int64_t *wrong_out);

#endif

/*
 * The kernels of `tessera perf`, and what the host hands to them. Each repeats
 * its operation inside one launch.
 */
#ifndef TESSERA_TOOLS_PERF_KERNELS_KERNELS_H
#define TESSERA_TOOLS_PERF_KERNELS_KERNELS_H

#include "tessera/kernel.h"
#include "tessera/types.h"

/**
 * put, get, copy: `size_bytes` from one rank's copy of `src` to another's copy
 * of `dst`; the blocks take chunks of it in turn.
 */
typedef struct perf_move_args {
	TSR_HEAP void *dst;
	TSR_HEAP void *src;
	uint64_t size_bytes, chunk_bytes, repeats;
	int32_t src_peer, dst_peer;
	int32_t keeps, reserved; /* load and store: PERF_KEEPS_* */
} perf_move_args_t;

enum {
	PERF_KEEPS_NOTHING, /* only moves */
	PERF_KEEPS_TILES,   /* for the host to verify */
	PERF_KEEPS_SUMS     /* never; see perf_load */
};

TSR_KERNEL_DECLARE(perf_put);
TSR_KERNEL_DECLARE(perf_get);
TSR_KERNEL_DECLARE(perf_copy);

/**
 * load, store: tiles of f32 of the source to registers, registers to tiles of
 * the destination. Rows have PERF_TILE_COLS elements; the size is that of whole
 * rows, or of a part of one.
 */
enum { PERF_TILE_COLS = 128 };
TSR_KERNEL_DECLARE(perf_load);
TSR_KERNEL_DECLARE(perf_store);

/**
 * Their reference on a GPU: plain 16-byte loads and stores. `dst` and `src` are
 * addresses that the host has found, aligned to 16. The size is a multiple of
 * 16; chunks and peers are not used. Does nothing on a CPU.
 */
TSR_KERNEL_DECLARE(perf_plain);

/**
 * put --via bulk: the chunks of perf_put by the copy engines of multiprocessors,
 * through shared memory. Sizes are multiples of 16. Does nothing where there is
 * no such engine.
 */
TSR_KERNEL_DECLARE(perf_bulk_put);

/** signal: epochs first .. first + rounds - 1 go to `partner` and back. Its memory, in the heap: */
typedef struct perf_pingpong_args {
	TSR_HEAP uint64_t *flag;   /* a flag a rank: raised by the partner */
	TSR_HEAP uint64_t *missed; /* rounds whose wait did not end well are added here */
	uint64_t first, rounds;
	int32_t partner, leads;
	/* perf_put_signal: a message of `size_bytes` goes with each signal, from `outbox` to the
	 * other's `inbox`. perf_message: a message of `size_bytes` a round goes from the leader to
	 * its partner, which keeps a copy. */
	TSR_HEAP void *outbox, *inbox, *kept; /* `rounds` messages each */
	uint64_t size_bytes;
	/* perf_marked: the message of perf_put_signal in words that carry their own flag. Each rank
	 * takes it from here to `kept`. */
	TSR_HEAP uint64_t *words;
} perf_pingpong_args_t;

/**
 * signal --scope block, device: the same between the two workers of a block,
 * and the two blocks of a launch, of one rank.
 */
typedef struct perf_local_args {
	/* two flags in the heap, for the blocks; those of workers are in shared memory */
	TSR_HEAP uint64_t *flags;
	TSR_HEAP uint64_t *missed;
	uint64_t first, rounds;
	/* with a message under each signal: `rounds` words of the first side's, and where the
	 * second side keeps what it finds; null: none */
	TSR_HEAP uint64_t *outbox, *inbox, *kept;
} perf_local_args_t;

TSR_KERNEL_DECLARE(perf_signal_in_block);
TSR_KERNEL_DECLARE(perf_signal_in_device);

TSR_KERNEL_DECLARE(perf_signal);
TSR_KERNEL_DECLARE(perf_bare_signal);
TSR_KERNEL_DECLARE(perf_put_signal);
TSR_KERNEL_DECLARE(perf_message);
TSR_KERNEL_DECLARE(perf_marked);

/** atomic: makes the operation `repeats` times at `peer`'s copy of the word. */
typedef struct perf_atomic_args {
	TSR_HEAP uint64_t *word;
	TSR_HEAP uint64_t *wrong;  /* old values that came out of order are counted here */
	TSR_HEAP uint64_t *gained; /* the operations' differences are added here */
	uint64_t first, repeats;   /* the first operation's number on this rank */
	int32_t peer, reserved;
} perf_atomic_args_t;

TSR_KERNEL_DECLARE(perf_atomic_add);
TSR_KERNEL_DECLARE(perf_atomic_and);
TSR_KERNEL_DECLARE(perf_atomic_or);
TSR_KERNEL_DECLARE(perf_atomic_xor);
TSR_KERNEL_DECLARE(perf_atomic_min);
TSR_KERNEL_DECLARE(perf_atomic_max);
TSR_KERNEL_DECLARE(perf_atomic_xchg);
TSR_KERNEL_DECLARE(perf_atomic_cas);
/** Their reference on a GPU: relaxed loads of the word. */
TSR_KERNEL_DECLARE(perf_atomic_loads);

/** barrier: meets all ranks `repeats` times. */
typedef struct perf_barrier_args {
	TSR_HEAP void *state;      /* tsr_barrier_state_t */
	TSR_HEAP uint64_t *missed; /* barriers that did not end well are added here */
	uint64_t repeats;
	/* perf_meeting: in round i every rank tells the others i between two barriers, and keeps
	 * what it was told. */
	TSR_HEAP uint64_t *rounds; /* i for i from 0 to repeats - 1 */
	TSR_HEAP uint64_t *told;   /* TSR_MAX_RANKS of them */
	TSR_HEAP uint64_t *kept;   /* TSR_MAX_RANKS a round */
} perf_barrier_args_t;

TSR_KERNEL_DECLARE(perf_barrier);
TSR_KERNEL_DECLARE(perf_meeting);

/**
 * Collectives: `repeats` times, by all blocks, every time in the same memory. Each
 * side is one row of elements.
 */
typedef struct perf_collective_args {
	tsr_view_t dst, src;
	TSR_HEAP void *state; /* tsr_all_gather_state_t of perf_all_gather, else the other one */
	TSR_HEAP uint64_t *missed; /* calls that did not end well are added here, of each block */
	uint64_t src_bytes, repeats;
} perf_collective_args_t;

enum { PERF_ROOT = 0 };

TSR_KERNEL_DECLARE(perf_all_gather);
TSR_KERNEL_DECLARE(perf_all_to_all);
TSR_KERNEL_DECLARE(perf_broadcast);
TSR_KERNEL_DECLARE(perf_gather);
TSR_KERNEL_DECLARE(perf_scatter);
TSR_KERNEL_DECLARE(perf_all_reduce);
TSR_KERNEL_DECLARE(perf_reduce);
TSR_KERNEL_DECLARE(perf_reduce_scatter);

#endif

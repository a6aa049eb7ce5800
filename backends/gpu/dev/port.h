/*
 * The common part of the ports for GPUs that is needed before the contracts are
 * read: words of C that C++ lacks, the coop, the macros.
 *
 * A port (backends/<name>/dev/port.h) defines first:
 *
 *   TSR_PORT_DEVICE                   marks a device function
 *   TSR_PORT_SHARED                   marks a block's static shared memory
 *   TSR_PORT_ENTRY(threads)           begins a kernel for blocks of `threads`
 *   TSR_PORT_BY_VALUE(type)           a kernel's parameter
 *   TSR_PORT_WIDE_THREADS             threads of a block that moves data, no
 *                                     fewer than those of worker 0
 *   TSR_PORT_MAIN_THREADS             threads of worker 0 in a block of several
 *   TSR_PORT_MOVER_THREADS            threads of every other worker, no more
 *                                     than the two above
 *   TSR_PORT_PART_THREADS             threads of a worker of tsr_split: as many
 *                                     as meet without a barrier
 *   TSR_PORT_BLOCK_THREADS(workers)   threads of a block
 *   TSR_RELAXED ... TSR_SEQ_CST, TSR_SCOPE_*   constants for the compiler's
 *     atomics
 *
 * and names six headers.
 *
 * TSR_PORT_LAYOUT has struct tsr_port_layout<F>, the distribution of fragments
 * of type F over a coop's threads. together(threads) is 0 if a coop of this
 * size gets elements in turn. Otherwise the port distributes them: element i of
 * a thread, of most(threads) and at most `capacity`, is at row(coop, i),
 * col(coop, i) of the tile, if multiplies(coop) (the thread has any) and
 * inside(coop, i). together(threads) consecutive elements, from a multiple of
 * that number on, are in the same TSR_GPU_BAND_ROWS rows, the first of which is
 * a multiple of that. Several threads may hold an element; owns(coop) says that
 * it belongs to this one. evenly(threads): no element is held twice, and all
 * threads hold the same number. length(threads) elements are adjacent in a row
 * of the tile: element j of the thread's p-th such unit is its piece(threads,
 * p, j). 0: the port does not move them itself. Of accumulators,
 * keeps_rows(threads) says that a thread's elements lie in at most `row_slots`
 * rows: element i in its slot(i), which is row slot_row(coop, slot) of the tile.
 * Several threads may have a row; owns_rows(coop) says that those of this thread
 * belong to it.
 *
 * TSR_PORT_DOT has two products by the port's matrix unit; each returns whether
 * it computed the product. tsr_port_dot(coop, acc, a, b) multiplies fragments
 * in registers. tsr_port_multiply(coop, acc, a, b, depth) adds the product of M
 * rows of `depth` elements and `depth` rows of N in the scratch memory.
 *
 * TSR_PORT_OUTGOING has tsr_port_store_frag(coop, target, frag), which stores a
 * fragment in the port's own way and returns whether it did. Such stores may
 * end later; until then they read what the coop has stored in its own memory.
 * All the coop's threads call tsr_port_settle(coop) before anything later in
 * program order that accesses memory: it waits until these stores have ended,
 * and clears coop->kept. tsr_port_signal_later(coop, flag, value, op, peer) makes a
 * tsr_signal part of them, behind those that there are, and returns whether it
 * did. tsr_port_send_stored(coop) sends what the coop has
 * just stored in its own memory to all other ranks, and returns whether it did.
 * tsr_port_stage<F>(coop, peer) returns memory in which the coop may leave the
 * elements of an accumulator F, up to 4 bytes each, that are for `peer`;
 * tsr_port_send_staged(coop, frag, staged, to, element_bytes, peer) sends them to
 * `to`, perhaps later. Null: the coop stores to the peer itself.
 *
 * TSR_PORT_ADD has tsr_port_add_pack<D>(at, pack), tsr_port_add_pair<D>(at,
 * pair) and tsr_port_add_one<D>(at, x). They add to global memory; each element
 * is an atomic of its own, relaxed, at system scope. Their addresses are
 * multiples of 16 bytes, of 4 bytes (pairs of 16-bit types), and of the
 * element's size. D is tsr_gpu_f32, _f16 or _bf16.
 *
 * TSR_PORT_GEMM has tsr_port_gemm, with the parameters of tsr_gpu_gemm
 * (gpu/gemm.h).
 *
 * TSR_PORT_GEMM also has tsr_port_copy_in_bulk(coop, job), which copies rows of
 * bytes in the port's own way, and returns whether it did.
 *
 * TSR_PORT_ATTEND has tsr_port_attend, with the parameters of tsr_gpu_attend
 * (gpu/attend.h), but for three views and a scale in place of the second.
 *
 * CUDA's port also names TSR_PORT_BULK, the header of copies in bulk through
 * shared memory, for `tessera perf`, which measures them.
 *
 * A port may define TSR_PORT_MEET_SHARED(coop): tsr_gpu_meet_shared
 * (gpu/coop.h), if that costs less than tsr_gpu_meet.
 *
 * A port may define TSR_PORT_UNPACKS_EARLY as 1, if its compiler takes small elements
 * apart right behind their load, and so waits for it (tsr_gpu_loaded, gpu/convert.h).
 *
 * Then it defines these device functions:
 *
 *   int tsr_port_thread(), tsr_port_block()
 *     Index of the thread in its block, of the block in its launch.
 *   unsigned char *tsr_port_dynamic_shared()
 *     The launch's dynamic shared memory.
 *   void tsr_port_meet_block()
 *     A meeting of all threads of the block. The earlier accesses of each are
 *     performed at block scope before it, and any thread may release them.
 *   void tsr_port_meet_worker(worker, threads)
 *     The same for the threads of one worker.
 *   uint64_t tsr_port_clock()
 *     Ticks of a clock that all blocks share.
 *   void tsr_port_pause(), tsr_port_rest(polls)
 *     Between two polls of a flag. The first takes almost no time; the second
 *     takes a small part of the time that so many polls have taken, and at
 *     most some microseconds.
 *   uint64_t tsr_port_ballot(bool)
 *     Of the TSR_PORT_PART_THREADS threads that meet without a barrier: bit i is
 *     what thread i says. All of them call it.
 *   T *tsr_port_global(T *p)
 *     p, known to point to global memory.
 *   T tsr_port_constant(const T *p)
 *     The value in global memory that is not written while the kernel runs.
 *   bool tsr_port_is_shared(T *p)
 *     Whether p points to shared memory.
 *   tsr_port_unit_t
 *     A type of 16 bytes. tsr_port_write_hinted<hint>(void *at, unit) stores
 *     it with STREAM or THROUGH of dev/hint.h; tsr_port_read_streaming(at)
 *     loads it. Addresses are multiples of 16.
 *   void tsr_port_forget(T *value)
 *     The compiler computes nothing from the 64-bit value before this call.
 *     May do nothing.
 *   float or double tsr_port_read_here(value)
 *     The same value. The compiler computes nothing from it before this call.
 *     May do nothing.
 *   float tsr_port_exp2(float), tsr_port_log2(float)
 *     To some units in the last place; 2^0 is exactly 1, and 2^-inf is 0.
 *   float tsr_port_widen_f16(bits), uint16_t tsr_port_round_f16(float),
 *   uint16_t tsr_port_round_bf16(float)
 *     Roundings are to nearest, ties to even; overflow gives infinity.
 *   void tsr_port_fence<order, scope>()
 *     Each thread's own fence, complete when it returns.
 *   void tsr_port_drain<scope>()
 *     Called before a meeting after which one thread releases for all.
 *   void tsr_port_refresh<scope>()
 *     Called after a meeting before which one thread acquired for all; until
 *     then that thread may not have acquired for itself, either.
 *   tsr_port_load, _store, _xchg, _add, _and, _or, _xor, _min, _max,
 *   _cas <order, scope>(p, ...)
 *     Ordered accesses of one thread to my or a peer's memory or to shared
 *     memory: u32 and u64 (add: every type; min and max: every integer). cas
 *     also takes the failure order and returns the old value.
 */
#ifndef TESSERA_GPU_DEV_PORT_H
#define TESSERA_GPU_DEV_PORT_H

#include "gpu/dev/context.h"

/* Kernels are written in C; device compilers read them as C++. */
#define restrict __restrict__
#define _Static_assert static_assert
#define _Alignas alignas
#define _Alignof alignof
#define _Bool bool

#define TSR_DEV static inline __attribute__((always_inline, unused)) TSR_PORT_DEVICE
#define TSR_DEV_OWN TSR_DEV
#define TSR_FN TSR_DEV
#define TSR_DEV_FRAG template <typename tsr_frag_t> TSR_DEV
#define TSR_DEV_FRAG_ROWS template <typename tsr_frag_t, typename tsr_rows_t> TSR_DEV
#define TSR_DEV_ROWS template <typename tsr_rows_t> TSR_DEV
#define TSR_DEV_FRAG_DOT \
	template <typename tsr_frag_t, typename tsr_frag_a_t, typename tsr_frag_b_t> TSR_DEV
#define TSR_DEV_FRAG_DOT_BT \
	template <typename tsr_frag_t, typename tsr_frag_a_t, typename tsr_frag_bt_t> TSR_DEV
#define TSR_DEV_STATE template <typename tsr_state_t> TSR_DEV
#define TSR_DEV_STATE_FRAG \
	template <typename tsr_state_t, typename tsr_frag_t, typename tsr_rows_t> TSR_DEV

/** Whether an order releases, and whether it acquires. */
template <int ORDER>
constexpr bool tsr_gpu_releases =
	ORDER == TSR_RELEASE || ORDER == TSR_ACQ_REL || ORDER == TSR_SEQ_CST;
template <int ORDER>
constexpr bool tsr_gpu_acquires =
	ORDER == TSR_ACQUIRE || ORDER == TSR_ACQ_REL || ORDER == TSR_SEQ_CST;

#define TSR_GPU_UNROLL _Pragma("unroll")
#define TSR_GPU_NO_UNROLL _Pragma("unroll 1")
#define TSR_GPU_UNROLL_BY_4 _Pragma("unroll 4")

enum { TSR_GPU_SENT_HEADER_BYTES = 16 }; /* before the elements of tsr_frag_send */

enum {
	/* A fragment's elements are distributed over the coop's threads in turn. A fragment has
	 * room for the coop with the fewest threads. */
	TSR_GPU_FEWEST_THREADS = TSR_PORT_MOVER_THREADS
};

/**
 * Shared memory for the threads of a coop. Each worker has its own; the block
 * has words of its own, and uses worker 0's scratch memory.
 */
typedef struct tsr_gpu_shared {
	/* words that one thread gives to the others: for the block, for each worker; used in
	 * turn */
	uint64_t told[1 + TSR_GPU_MAX_WORKERS][2];
} tsr_gpu_shared_t;

typedef struct __attribute__((aligned(16))) tsr_gpu_scratch {
	unsigned char bytes[TSR_GPU_SCRATCH_BYTES];
} tsr_gpu_scratch_t;

/** A block or worker. Each of its threads has a copy. */
typedef struct tsr_coop {
	const tsr_gpu_context_t *context;
	uint64_t *told;
	tsr_gpu_scratch_t *scratch;
	int thread, threads; /* this thread's index in the coop, and the number of threads */
	int worker, workers; /* index in the block, and number of workers of the block */
	int whole;           /* the coop is the block */
	int turn;            /* the word of `told` to use next */
	uint32_t posted;     /* stores so far that the port makes in its own way */
	int unended;         /* some of them may not have ended */
	int has_senders;     /* other threads make such stores: TSR_PORT_OUTGOING */
	/* the last store was to my own memory, and a store to a peer can be copied from there */
	int kept;
	/* stamps given to fragments so far; each change of a fragment gives it a new one */
	int stamps;
	const char *file; /* place of the call in the source */
	int line;
} tsr_coop_t;

TSR_DEV tsr_coop_t *tsr_gpu_at(tsr_coop_t *coop, const char *file, int line)
{
	coop->file = file;
	coop->line = line;
	return coop;
}

#define TSR_AT(coop_) tsr_gpu_at((coop_), __FILE__, __LINE__)
/* for a call without a place the host reports the place of the launch */
#define TSR_AT_LAUNCH(coop_) (coop_)
#define TSR_PART_OF_NONE ((const char *)0)
/* reports of this port name no call */
#define TSR_PART_OF(coop_, call_) ((void)(coop_), (void)(call_))

#if !defined(TSR_PORT_UNPACKS_EARLY)
#define TSR_PORT_UNPACKS_EARLY 0
#endif

/* this port does not compare them */
#define TSR_COLLECTIVE(coop_, call_, state_, count_, per_round_, to_, reach_, size_, root_, \
		       words_, how_)                                                        \
	((void)(coop_))
/* code for worlds over several nodes (common/dev/nodes.h) is an image of its own */
#if defined(TSR_NODES)
#define TSR_PORT_NODES 1
#else
#define TSR_PORT_NODES 0
#endif
/* the note says where, and the emulator says what */
#define TSR_REFUSE(coop_, call_, cure_, ...) \
	tsr_gpu_fault((coop_), TSR_GPU_NOTE_COLLECTIVE, 0, 0, 0)

#define TSR_PORT_BODIES "gpu/dev/bodies.h"

#include "gpu/dev/macros.h"

#endif

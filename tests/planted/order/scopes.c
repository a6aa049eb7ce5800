/*
 * Messages passed with the right and with too narrow a scope: `scopes CASE`.
 * The payload is moved by plain accesses, and what the case does with the flag
 * has to order them. On a processor every case gives right results;
 * ThreadSanitizer has to report those that tests/cli/tsan/scopes.sh calls
 * wrong, and no other.
 *
 * The sender is worker 0 of block 0 of rank 0. The receiver is another worker
 * of its block, another block (the last) of its rank, or block 0 of the last
 * rank; a third in between, where there is one, is block 1 of rank 0.
 */
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { COUNT = 64, ROUNDS = 3, LOOKS = 1 << 24 };

typedef struct pass_args {
	TSR_HEAP int32_t *from, *inbox, *copy; /* COUNT elements each */
	/* at the sender: the receiver runs, and has read the round before */
	TSR_HEAP uint64_t *here;
	TSR_HEAP uint64_t *flag;   /* at the receiver, and unused at the others */
	TSR_HEAP uint64_t *passed; /* at the sender: to the one in between */
} pass_args_t;

TSR_FN int last_rank(tsr_coop_t *coop)
{
	return tsr_size(coop) - 1;
}

TSR_FN int sends(tsr_coop_t *coop)
{
	return tsr_rank(coop) == 0 && tsr_block_index(coop) == 0 && tsr_worker_index(coop) == 0;
}

TSR_FN int receives(tsr_coop_t *coop)
{
	if (tsr_size(coop) > 1)
		return tsr_rank(coop) == last_rank(coop) && tsr_block_index(coop) == 0;
	return tsr_block_index(coop) == tsr_block_count(coop) - 1 &&
	       tsr_worker_index(coop) == tsr_worker_count(coop) - 1;
}

TSR_FN int hands_on(tsr_coop_t *coop)
{
	return tsr_rank(coop) == 0 && tsr_block_index(coop) == 1;
}

/**
 * No receiver that comes late: starting its thread would order what this is to
 * leave unordered. Litmus: MP.reuse.diffGPU-ss.
 */
TSR_FN void write_payload(tsr_coop_t *coop, const pass_args_t *a, uint64_t round)
{
	if (tsr_wait(coop, a->here, round, last_rank(coop)) == TSR_WAIT_OK)
		tsr_put(coop, a->inbox, a->from, COUNT * sizeof(int32_t), last_rank(coop));
}

TSR_FN void read_payload(tsr_coop_t *coop, const pass_args_t *a)
{
	tsr_get(coop, a->copy, a->inbox, COUNT * sizeof(int32_t), last_rank(coop));
}

/*
 * Looks at a flag of `rank_` until it is there, with an order and a scope:
 * literals. A bound, so that nothing hangs.
 */
#define LOOK(coop_, flag_, value_, rank_, order_, scope_)                                       \
	for (int looks = 0; looks < LOOKS && tsr_atomic_load((coop_), (flag_), (rank_), order_, \
							     scope_) < (value_);)               \
	looks++

#define HERE(coop_) tsr_signal((coop_), a->here, round, TSR_SIGNAL_SET, 0)

/*
 * Kernels: what the sender does around and after its payload, and the receiver
 * around its own. `me` is either's coop.
 */
#define SENDER_AND_RECEIVER(send_, receive_)                 \
	for (uint64_t round = 1; round <= ROUNDS; round++) { \
		if (sends(me)) {                             \
			send_;                               \
		} else if (receives(me)) {                   \
			HERE(me);                            \
			receive_;                            \
		}                                            \
	}
#define BLOCKS(name_, send_, receive_)               \
	TSR_KERNEL(name_, pass_args_t, a)            \
	{                                            \
		tsr_coop_t *me = block;              \
		SENDER_AND_RECEIVER(send_, receive_) \
	}
#define WORKERS(name_, send_, receive_)                           \
	TSR_KERNEL_SPLIT(name_, 2, pass_shared_t, pass_args_t, a) \
	{                                                         \
		tsr_coop_t *me = worker;                          \
		(void)block, (void)shared;                        \
		SENDER_AND_RECEIVER(send_, receive_)              \
	}

typedef struct pass_shared {
	uint64_t nothing;
} pass_shared_t;

#define WRITE write_payload(me, a, round)
#define READ read_payload(me, a)
#define STORE(order_, scope_) \
	tsr_atomic_store(me, a->flag, round, last_rank(me), TSR_##order_, TSR_SCOPE_##scope_)
#define UNTIL(order_, scope_) \
	LOOK(me, a->flag, round, last_rank(me), TSR_##order_, TSR_SCOPE_##scope_)
#define FENCE(order_, scope_) tsr_fence(me, TSR_##order_, TSR_SCOPE_##scope_)

/* -------------------------------------------------------- accesses: MP.rel.acq of the catalogue */

/*
 * One kernel for each pair of scopes, for blocks or ranks and for workers.
 * Litmus: MP.rel.acq.diffGPU-ss and its like.
 */
#define PAIR(name_, send_scope_, receive_scope_)                                                \
	BLOCKS(name_, WRITE; STORE(RELEASE, send_scope_), UNTIL(ACQUIRE, receive_scope_); READ) \
	WORKERS(workers_##name_, WRITE;                                                         \
		STORE(RELEASE, send_scope_), UNTIL(ACQUIRE, receive_scope_); READ)
PAIR(block_block, BLOCK, BLOCK)
PAIR(block_device, BLOCK, DEVICE)
PAIR(device_block, DEVICE, BLOCK)
PAIR(device_device, DEVICE, DEVICE)
PAIR(device_system, DEVICE, SYSTEM)
PAIR(system_device, SYSTEM, DEVICE)
PAIR(system_system, SYSTEM, SYSTEM)

/*
 * The orders are named by none but the case. Litmus: MP.rlx.acq.diffGPU-ss,
 * MP.rel.rlx.diffGPU-ss.
 */
BLOCKS(relaxed_store, WRITE; STORE(RELAXED, SYSTEM), UNTIL(ACQUIRE, SYSTEM); READ)
BLOCKS(relaxed_load, WRITE; STORE(RELEASE, SYSTEM), UNTIL(RELAXED, SYSTEM); READ)
BLOCKS(seq_cst, WRITE; STORE(SEQ_CST, SYSTEM), UNTIL(SEQ_CST, SYSTEM); READ)
/* A flush orders nothing for others. */
BLOCKS(flushed, WRITE; tsr_flush(me, last_rank(me)); STORE(RELAXED, SYSTEM), UNTIL(ACQUIRE, SYSTEM);
       READ)

/* ------------------------------------------------------------------ signals */

BLOCKS(signal_wait, WRITE; tsr_signal(me, a->flag, round, TSR_SIGNAL_SET, last_rank(me)),
			   tsr_wait(me, a->flag, round, 0);
       READ)
BLOCKS(signal_add, WRITE;
       tsr_signal(me, a->flag, 1, TSR_SIGNAL_ADD, last_rank(me)), tsr_wait(me, a->flag, round, 0);
       READ)

/*
 * Partners: each other, with scopes that include each other or not. Litmus:
 * MP.rel.acq.sameGPU-aa, MP.rel.acq.sameWG-ww.
 */
#define LOCAL(name_, send_scope_, receive_scope_)                                            \
	BLOCKS(name_, WRITE; tsr_signal_local(me, a->flag, round, TSR_SCOPE_##send_scope_),  \
			     tsr_wait_local(me, a->flag, round, TSR_SCOPE_##receive_scope_); \
	       READ)                                                                         \
	WORKERS(workers_##name_, WRITE;                                                      \
		tsr_signal_local(me, a->flag, round, TSR_SCOPE_##send_scope_),               \
		tsr_wait_local(me, a->flag, round, TSR_SCOPE_##receive_scope_);              \
		READ)
LOCAL(local_block, BLOCK, BLOCK)
LOCAL(local_device, DEVICE, DEVICE)
LOCAL(local_device_block, DEVICE, BLOCK)

/* Between ranks the other half of a local signal is an atomic. */
BLOCKS(store_wait_local, WRITE;
       STORE(RELEASE, SYSTEM), tsr_wait_local(me, a->flag, round, TSR_SCOPE_DEVICE); READ)
BLOCKS(signal_local_load, WRITE; tsr_signal_local(me, a->flag, round, TSR_SCOPE_DEVICE),
				 LOOK(me, a->flag, round, 0, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
       READ)

/* ------------------------------------------------------------------ fences */

/*
 * Litmus: MP.frel.facq.diffGPU-ss, with the scopes of the fences too narrow or
 * not, and what is moved past them.
 */
BLOCKS(fences, WRITE; FENCE(RELEASE, SYSTEM); STORE(RELAXED, SYSTEM), UNTIL(RELAXED, SYSTEM);
       FENCE(ACQUIRE, SYSTEM); READ)
BLOCKS(fences_device, WRITE; FENCE(RELEASE, DEVICE); STORE(RELAXED, DEVICE), UNTIL(RELAXED, DEVICE);
       FENCE(ACQUIRE, DEVICE); READ)
BLOCKS(fence_acquire, WRITE; FENCE(RELEASE, SYSTEM); STORE(RELAXED, SYSTEM), UNTIL(ACQUIRE, SYSTEM);
       READ)
BLOCKS(release_fence, WRITE; STORE(RELEASE, SYSTEM), UNTIL(RELAXED, SYSTEM); FENCE(SEQ_CST, SYSTEM);
       READ)
BLOCKS(fence_narrow, WRITE; FENCE(RELEASE, DEVICE); STORE(RELAXED, SYSTEM), UNTIL(ACQUIRE, SYSTEM);
       READ)
BLOCKS(narrow_fence, WRITE; STORE(RELEASE, SYSTEM), UNTIL(RELAXED, SYSTEM); FENCE(ACQUIRE, DEVICE);
       READ)
BLOCKS(fence_early, FENCE(RELEASE, SYSTEM); WRITE; STORE(RELAXED, SYSTEM), UNTIL(ACQUIRE, SYSTEM);
       READ)
BLOCKS(early_fence, WRITE; STORE(RELEASE, SYSTEM), FENCE(ACQUIRE, SYSTEM); UNTIL(RELAXED, SYSTEM);
       READ; FENCE(RELEASE, SYSTEM))

/* A fence of a narrow scope does not take away what one of a wide scope has kept. */
BLOCKS(two_fences, WRITE; FENCE(ACQ_REL, SYSTEM); FENCE(RELEASE, BLOCK);
       STORE(RELAXED, SYSTEM), UNTIL(ACQUIRE, SYSTEM); READ)

/* ------------------------------------------------------------------ release sequences */

/*
 * Between the sender's release and the receiver block 1 of rank 0 writes: the
 * sender raises the flag to 1, it to 2, and so on. That it comes after the
 * sender orders nothing for the receiver, which acquires its value alone:
 * tsr_wait polls relaxed.
 * Litmus: MP.rs.rmw.diffGPU-sss, MP.rs.store.diffGPU-ss,
 * MP.rs.narrow.diffGPU-sas.
 */
#define BETWEEN(name_, write_)                                                                   \
	TSR_KERNEL(name_, pass_args_t, a)                                                        \
	{                                                                                        \
		int to = last_rank(block);                                                       \
		for (uint64_t round = 1; round <= ROUNDS; round++) {                             \
			if (sends(block)) {                                                      \
				write_payload(block, a, round);                                  \
				tsr_atomic_store(block, a->flag, 2 * round - 1, to, TSR_RELEASE, \
						 TSR_SCOPE_SYSTEM);                              \
				tsr_signal(block, a->passed, round, TSR_SIGNAL_SET, 0);          \
			} else if (hands_on(block)) {                                            \
				tsr_wait(block, a->passed, round, 0);                            \
				write_;                                                          \
			} else if (receives(block)) {                                            \
				HERE(block);                                                     \
				tsr_wait(block, a->flag, 2 * round, 0);                          \
				read_payload(block, a);                                          \
			}                                                                        \
		}                                                                                \
	}
BETWEEN(continued, tsr_atomic_add(block, a->flag, (uint64_t)1, to, TSR_RELAXED, TSR_SCOPE_SYSTEM))
BETWEEN(continued_narrow,
	tsr_atomic_add(block, a->flag, (uint64_t)1, to, TSR_RELAXED, TSR_SCOPE_DEVICE))
BETWEEN(cut, tsr_atomic_store(block, a->flag, 2 * round, to, TSR_RELAXED, TSR_SCOPE_SYSTEM))

/* A wider addition goes on with a sequence, but does not widen the release at its head. */
BLOCKS(widened, WRITE;
       tsr_atomic_store(me, a->flag, 2 * round - 1, last_rank(me), TSR_RELEASE, TSR_SCOPE_BLOCK);
       tsr_atomic_add(me, a->flag, (uint64_t)1, last_rank(me), TSR_RELAXED, TSR_SCOPE_DEVICE),
       tsr_wait_local(me, a->flag, 2 * round, TSR_SCOPE_DEVICE);
       READ)

/*
 * A compare-and-swap that fails releases nothing; one that succeeds does.
 * Litmus: MP.cas.diffGPU-ss, MP.cas.failed.diffGPU-ss.
 */
BLOCKS(cas, WRITE; tsr_atomic_cas(me, a->flag, round - 1, round, last_rank(me), TSR_RELEASE,
				  TSR_RELAXED, TSR_SCOPE_SYSTEM),
		   UNTIL(ACQUIRE, SYSTEM);
       READ)
BLOCKS(cas_failed, WRITE; tsr_atomic_cas(me, a->flag, round + 7, round, last_rank(me), TSR_RELEASE,
					 TSR_RELAXED, TSR_SCOPE_SYSTEM);
       tsr_atomic_add(me, a->flag, (uint64_t)1, last_rank(me), TSR_RELAXED, TSR_SCOPE_SYSTEM),
       UNTIL(ACQUIRE, SYSTEM);
       READ)

/* ------------------------------------------------------------------ hand over hand */

/*
 * To block 1 by one scope, on to the receiver by the system's: happens-before
 * does not ask which. Litmus: ISA2.ra.GPU+SYS-as.
 */
#define RELAY(name_, scope_)                                                       \
	TSR_KERNEL(name_, pass_args_t, a)                                          \
	{                                                                          \
		for (uint64_t round = 1; round <= ROUNDS; round++) {               \
			if (sends(block)) {                                        \
				write_payload(block, a, round);                    \
				tsr_signal_local(block, a->passed, round, scope_); \
			} else if (hands_on(block)) {                              \
				tsr_wait_local(block, a->passed, round, scope_);   \
				tsr_signal(block, a->flag, round, TSR_SIGNAL_SET,  \
					   last_rank(block));                      \
			} else if (receives(block)) {                              \
				HERE(block);                                       \
				tsr_wait(block, a->flag, round, 0);                \
				read_payload(block, a);                            \
			}                                                          \
		}                                                                  \
	}
RELAY(relay_device, TSR_SCOPE_DEVICE)
RELAY(relay_block, TSR_SCOPE_BLOCK)

/* ------------------------------------------------------------------ the host's half */

typedef struct pass_case {
	const char *name;
	const tsr_kernel_t *kernel;
} pass_case_t;

static const tsr_kernel_t *kernel_of(const char *name)
{
#define CASE(name_)              \
	{                        \
#name_, &(name_) \
	}
#define CASES(name_) CASE(name_), CASE(workers_##name_)
	static const pass_case_t cases[] = {
		CASES(block_block),     CASES(block_device),
		CASES(device_block),    CASES(device_device),
		CASES(device_system),   CASES(system_device),
		CASES(system_system),   CASES(local_block),
		CASES(local_device),    CASES(local_device_block),
		CASE(relaxed_store),    CASE(relaxed_load),
		CASE(seq_cst),          CASE(flushed),
		CASE(signal_wait),      CASE(signal_add),
		CASE(store_wait_local), CASE(signal_local_load),
		CASE(fences),           CASE(fences_device),
		CASE(fence_acquire),    CASE(release_fence),
		CASE(fence_narrow),     CASE(narrow_fence),
		CASE(fence_early),      CASE(early_fence),
		CASE(two_fences),       CASE(continued),
		CASE(continued_narrow), CASE(cut),
		CASE(widened),          CASE(cas),
		CASE(cas_failed),       CASE(relay_device),
		CASE(relay_block),
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(name, cases[i].name) == 0)
			return cases[i].kernel;
	return NULL;
}

/** `scopes CASE BLOCKS` */
TSR_MAIN(world, argc, argv)
{
	int64_t shape[1] = {COUNT}, flags[1] = {3 * 16};
	tsr_tensor_t from, inbox, copy, words;
	tsr_stream_t *stream;
	const tsr_kernel_t *kernel = argc == 3 ? kernel_of(argv[1]) : NULL;
	int blocks = argc == 3 && strcmp(argv[2], "1") != 0 ? 2 : 1;
	if (!kernel) {
		fprintf(stderr, "scopes: no such case; tests/cli/tsan/scopes.sh knows them all\n");
		return 2;
	}
	TSR_TRY(tsr_tensor_randint(world, TSR_I32, 1, shape, 0, 1000, 7, &from));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I32, 1, shape, &inbox));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I32, 1, shape, &copy));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, flags, &words));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	pass_args_t args = {.from = (TSR_HEAP int32_t *)from.data,
			    .inbox = (TSR_HEAP int32_t *)inbox.data,
			    .copy = (TSR_HEAP int32_t *)copy.data};
	args.here = (TSR_HEAP uint64_t *)words.data;
	args.flag = args.here + 16;
	args.passed = args.here + 32;
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are zero */
	TSR_TRY(tsr_launch(stream, kernel, blocks, &args));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_barrier(world)); /* and may be released */
	return 0;
}

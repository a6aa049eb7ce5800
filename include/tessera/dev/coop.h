/*
 * Coops: the threads that make a call together. A coop is a thread block, or
 * one of its workers. It says who acts; scopes of memory (TSR_SCOPE_*) are
 * something else.
 */
#ifndef TESSERA_DEV_COOP_H
#define TESSERA_DEV_COOP_H

#include "tessera/dev/port.h"

/**
 * This rank's number in the team of the stream, and the number of ranks of that
 * team. Any coop; they never wait.
 */
TSR_DEV int tsr_rank(const tsr_coop_t *coop);
TSR_DEV int tsr_size(const tsr_coop_t *coop);

/**
 * The `i`-th peer to visit, with i from 0 to tsr_size - 1: this rank first,
 * then the ranks after it in turn. So the ranks do not all push to rank 0 at
 * the same time.
 */
TSR_DEV int tsr_peer(const tsr_coop_t *coop, int i);

/**
 * 1 if this device can reach the heap of `peer` by loads and stores; 0 if `peer`
 * is on another node, so that each access is a message. All calls work either
 * way. A kernel asks where it would rather move a tile once than load it often.
 * Any coop; never waits.
 */
TSR_DEV int tsr_peer_is_mapped(const tsr_coop_t *coop, int peer);

/**
 * The index of the block in its launch, and the number of blocks of the launch.
 */
TSR_DEV int tsr_block_index(const tsr_coop_t *coop);
TSR_DEV int tsr_block_count(const tsr_coop_t *coop);

/**
 * The index of the worker in its block (0 for the coop of a block), and the
 * number of workers of the block.
 */
TSR_DEV int tsr_worker_index(const tsr_coop_t *coop);
TSR_DEV int tsr_worker_count(const tsr_coop_t *coop);

/**
 * A meeting of the coop's threads: what each thread did before it happens
 * before what each does after it (block scope). Needed between two calls of one
 * coop that touch the same memory, if no other call between them meets:
 * docs/order-in-a-block.md.
 *
 * Called by:  block (all its workers), or worker. On the emulator the wait has
 *             the world's deadline.
 * Completion: when all threads have arrived.
 */
TSR_DEV void tsr_sync(tsr_coop_t *coop);

/**
 * tsr_split makes at most so many workers, whatever the device: the length of an
 * array in shared memory that has an element for each worker.
 */
enum { TSR_MAX_SPLIT = 32 };

/**
 * Divides a block that moves data into workers: as many as suit the device
 * (tsr_worker_count of the result, 1 .. TSR_MAX_SPLIT; one on the emulator, one
 * or two under `tessera check`). While one worker waits for a flag or for data,
 * another can store. Returns the caller's worker. Calls with it are collective
 * over that worker alone; calls with `block` are still collective over the whole
 * block.
 *
 * Called by:  a block with one worker (all kernels but TSR_KERNEL_SPLIT), any
 *             number of times; not in a gate or an epilogue.
 * Workers may: make all calls except those on fragments and tsr_gemm.
 * Ordering:   the block meets: what it did before happens before what the
 *             workers do (block scope). A worker's release covers only its own
 *             accesses; a later release of the block covers those of all
 *             workers.
 * Errors:     TSR_ERR_KERNEL on the emulator, if a worker makes the call, or a
 *             block with several workers.
 * Source:     ParallelKittens, section 3.2.3 and appendix D: the communicator,
 *             which has multiprocessors of its own.
 */
TSR_DEV tsr_coop_t tsr_split(tsr_coop_t *block);

/**
 * Names the caller's role in the record of the run (tessera/record.h), of which
 * 23 characters are kept. Does nothing, and on GPUs leaves no code, if nothing
 * is recorded. `role` is a string literal.
 */
TSR_DEV void tsr_role(tsr_coop_t *coop, const char *role);

/**
 * Puts an event of the author's own into the record of the run
 * (tsr_record_event): `name`, a string literal of which 31 characters are kept,
 * `value`, and the time. Does nothing, and on GPUs leaves no code, if nothing is
 * recorded.
 *
 * Called by:  block or worker, and in gates and epilogues; once for the coop.
 *             Never waits, orders nothing.
 * Source:     Iris paper, section 3.4.
 */
TSR_DEV void tsr_mark(tsr_coop_t *coop, const char *name, int64_t value);

/**
 * Assigns roles to the blocks of a launch: the first blocks get role 0, the
 * next ones role 1, and so on. `shares[role]` is the number of blocks of a
 * role; less than 1 means none. The last role also gets all blocks that are
 * left. Devices start blocks in the order of their index. So give the first
 * roles to blocks that others wait for: they become resident first.
 * If the launch has fewer blocks than the shares add up to, the first roles
 * lose blocks. Each role with a share keeps at least one, as long as there are
 * enough blocks for that.
 * Returns the role of this block, from 0 to roles - 1. Writes the block's index
 * among the blocks of its role to `*index`, and their number to `*count`.
 *
 * Called by:  block or worker, any thread. Never waits.
 * Source:     ParallelKittens, section 3.2.3: multiprocessors that communicate;
 *             Iris paper, section 4.2.2, Listing 5.
 */
TSR_DEV int tsr_role_of(const tsr_coop_t *block, const int32_t *shares, int roles, int *index,
			int *count);

/**
 * Exclusive prefix sum: each of the `count` values in shared memory becomes the
 * sum of the values before it. Returns the sum of all to all threads. Sums wrap
 * around at 32 bits. Without values (count < 1) the sum is 0, and the coop
 * meets.
 *
 * Called by:  block (values of the block), or worker (values that no other
 *             worker touches meanwhile); not in a gate.
 * Meetings:   before and after, as tsr_sync. So earlier stores of the coop are
 *             summed, and its later reads find the sums.
 * Errors:     as in dev/pointer.h; on the emulator also values outside shared
 *             memory.
 */
TSR_DEV int32_t tsr_coop_scan(tsr_coop_t *coop, int32_t *values, int count);

/**
 * Stable counting placement: gives each of `count` keys the next free place of
 * its bin. For i = 0, 1, .. count - 1 in this order, places[i] becomes
 * totals[keys[i]], which then grows by 1. So equal keys get rising places in the
 * order of i. `totals` holds the first place of each of the `bins` bins before
 * the call (all 0: the numbers within a bin), and the place behind its last one
 * afterwards. A negative key gets the place -1 and is not counted. Totals wrap
 * around at 32 bits.
 *
 * Called by:  block (arrays of the block), or worker (arrays that no other
 *             worker touches meanwhile); not in a gate.
 * Memory:     `places`, `keys` and `totals` are in shared memory. `places` may
 *             be null: the totals alone are counted. It may be `keys`, which it
 *             replaces. Otherwise no two arrays overlap. count < 1 changes
 *             nothing, and the coop meets.
 * Meetings:   before and after, as tsr_sync.
 * Errors:     as in dev/pointer.h; on the emulator also arrays outside shared
 *             memory. A key of `bins` or more ends the launch with
 *             TSR_ERR_KERNEL on the emulator, and on GPUs in debug builds.
 * Source:     counting sort; ParallelKittens, section 4.3: the places of tokens
 *             at their experts.
 */
TSR_DEV void tsr_coop_place(tsr_coop_t *coop, int32_t *places, const int32_t *keys, int count,
			    int32_t *totals, int bins);

/*
 * A loop whose passes the coop's threads share:
 *
 *   TSR_EACH(coop, i, count) {
 *           shared->row[i] = shared->first + i;
 *   }
 *
 * `i` is declared by the loop, an int. The passes i = 0 .. count - 1 are each
 * made once, by one thread, in no fixed order; count < 1: none. The body reads
 * and writes the block's shared memory, and variables declared in it. It may
 * read others, which have one value in all threads. It makes no device calls,
 * does not change `i`, and does not leave the loop (break, return, goto);
 * `continue` ends a pass.
 *
 * Called by:  block (each worker makes its share), or worker; not in a gate.
 *             `coop` is a variable or another expression without side effects.
 *             `count` is evaluated once.
 * Meetings:   none. So a tsr_sync is needed before others read what the passes
 *             wrote, and before the passes read what others wrote. The body's
 *             accesses are plain C.
 * Errors:     TSR_ERR_KERNEL on the emulator, in a gate and in another such
 *             loop. `tessera check` makes the passes several times, as by the
 *             threads of a GPU, and reports passes that touch what others write,
 *             locals that go from pass to pass, and calls
 *             (docs/order-in-a-block.md). A plain run on the emulator makes them
 *             one after the other, or as TESSERA_SPREAD_PASSES says.
 */
#if !defined(TSR_EACH)
#error "the port does not define loops whose passes the threads share"
#endif

/** Clears shared memory, with a tsr_sync before and after. Called by: block. */
TSR_DEV void tsr_shared_clear(tsr_coop_t *block, void *shared, size_t size_bytes);

#endif

/* Words that carry their own flag: 32 bits of data with 32 of epoch. */
#ifndef TESSERA_DEV_MARKED_H
#define TESSERA_DEV_MARKED_H

#include "tessera/dev/port.h"

/*
 * For small messages, where a signal behind the data would take longer than the
 * data. Each word of 4 bytes travels in a u64 with the epoch above it, stored by
 * one relaxed access. Whoever finds the epoch has the data: nothing is released
 * and nothing waited for but the words themselves. A message takes twice its
 * bytes on the link.
 *
 * The words (`dst` of a put, `src` of a take) are TSR_MARKED_WORDS(size_bytes)
 * u64 of the heap, aligned to 8, zero at first. Only these calls touch them
 * while they are in use. Word i holds the bytes 4 * i to 4 * i + 3 of the
 * message in its low half; bytes behind the message's end are 0. The message
 * (`src` of a put, `dst` of a take) is in the heap or in shared memory, at any
 * alignment; multiples of 4 are fastest.
 *
 * Epochs:     a take waits until each word has exactly `epoch`, and never
 *             compares by >=. Each message of a buffer has another epoch than
 *             the one before. Zeroed words have the epoch 0, so begin with
 *             another one. After 0xffffffff comes 0. The rounds are counted in
 *             device memory or by the kernel; arguments are repeated with a
 *             replayed graph.
 * Reuse:      a word may be put again when the rank that took it has told so:
 *             by a word that it put after its take, by a signal, or by a
 *             barrier. If each rank of a team puts to all and takes from all in
 *             every round, two buffers by parity of the epoch are enough:
 *             whoever puts round e + 2 has taken everybody's round e + 1, which
 *             all had put after they had taken round e. With one buffer a word
 *             is overwritten before it is taken, and the take waits for ever.
 *             A message of zero bytes has no word, and tells nothing.
 *             Each word has one coop that puts it, or coops that something else
 *             orders.
 * Ordering:   a word carries itself and nothing else: no other word, and no
 *             memory beside it. Reading that after a take is a race. If the
 *             words shall carry more, the sender makes a
 *             tsr_fence(TSR_RELEASE, TSR_SCOPE_SYSTEM) before the put, and the
 *             receiver a tsr_fence(TSR_ACQUIRE, TSR_SCOPE_SYSTEM) after the
 *             take. That holds for a message that one call has put and one call
 *             takes, of all its words. A signal costs no more.
 *             A take that returned TSR_WAIT_OK has read all its words before
 *             any later store of the coop exists: those stores hang on what it
 *             found. So a put after a take tells that the words may be
 *             overwritten, without a fence. That holds for TSR_WAIT_OK alone.
 * Litmus:     LB.marked.diffGPU-ss and, as the threads of a coop share the
 *             words, LB.marked.WG+SYS-wss. MP.marked.diffGPU-ss for memory
 *             beside a word; MP.frel.facq.diffGPU-ss with fences.
 * Called by:  block or worker. A take waits and writes, so no gate makes it.
 * Errors:     as in dev/pointer.h. Zero bytes put nothing and wait for nothing.
 * Source:     NCCL's protocol LL (Hu et al., "Demystifying NCCL", 2025); parity
 *             in place of clearing: the same.
 */

/**
 * Puts my `src` into `peer`'s copy of the words `dst`, with `epoch`.
 *
 * Meetings:   none, as of tsr_put: each thread moves its part and goes on. So
 *             the coop meets before the call if other threads wrote `src`, and
 *             after it before `src` is written again.
 * Completion: when `peer` takes the words. Progress does not need it to run.
 * Partner:    tsr_take_marked on `peer`.
 */
TSR_DEV void tsr_put_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
			    size_t size_bytes, uint32_t epoch, int peer);

/** The same to every rank, this one included. Reads `src` once. */
TSR_DEV void tsr_put_all_marked(tsr_coop_t *coop, TSR_HEAP uint64_t *dst, const TSR_HEAP void *src,
				size_t size_bytes, uint32_t epoch);

/**
 * Waits until all of my words `src` have `epoch`, and copies their data to
 * `dst`.
 *
 * Meetings:   before and after, whatever the result. So all threads may read
 *             `dst` after the call, and may have read an older message there
 *             before it.
 * Deadlines:  as of tsr_wait (dev/signal.h), for the whole call. The wait
 *             record names the first word that did not come; `expected` and
 *             `seen` are epochs, and `cmp` is TSR_CMP_EQ.
 * @param from  the rank that is to put the words, for reports; or TSR_ANY_RANK.
 * @return TSR_WAIT_OK, or TSR_WAIT_ABORTED; then `dst` is undefined.
 * Partner:    tsr_put_marked, tsr_put_all_marked.
 */
TSR_DEV tsr_wait_result_t tsr_take_marked(tsr_coop_t *coop, TSR_HEAP void *dst,
					  const TSR_HEAP uint64_t *src, size_t size_bytes,
					  uint32_t epoch, int from);

/**
 * The same with its own deadline, in nanoseconds from the call.
 * @return also TSR_WAIT_EXPIRED: the world goes on, and the words may still
 *         come.
 */
TSR_DEV tsr_wait_result_t tsr_take_marked_until(tsr_coop_t *coop, TSR_HEAP void *dst,
						const TSR_HEAP uint64_t *src, size_t size_bytes,
						uint32_t epoch, int from, uint64_t deadline_ns);

#endif

/*
 * Pointer family: calls that move data between the memories of ranks. The
 * pointer is always mine; the rank argument is always the peer.
 */
#ifndef TESSERA_DEV_POINTER_H
#define TESSERA_DEV_POINTER_H

#include "tessera/dev/port.h"

/*
 * For all of them:
 *   Called by:  block or worker.
 *   Ordering:   weak accesses of the caller. They are ordered with other
 *               accesses only through the caller's later release (tsr_signal, a
 *               releasing atomic, tsr_sync) and, for reads, through its earlier
 *               acquire.
 *   Meetings:   none. All the coop's threads make the call; each moves its part
 *               and goes on. So the coop must meet (tsr_sync, or another call
 *               that meets) between two of its calls that touch the same bytes,
 *               if one of them writes. That includes two writes, and a first
 *               call that reads its source when the second reuses it.
 *               docs/order-in-a-block.md lists the calls that meet.
 *               `tessera check` reports a missing meeting as a coop-race.
 *   Completion: after the call returns, and the coop has met, it may reuse the
 *               source. The destination is complete at the peer for a coop that
 *               acquires a later signal; or after tsr_flush; or when the kernel
 *               has ended. After the kernel's end, later work on its stream
 *               sees the data. The host sees it after tsr_stream_sync or
 *               tsr_event_sync, and other ranks see it after a tsr_barrier
 *               behind that.
 *   Progress:   does not need the peer to run.
 *   Errors:     a rank outside the team, or memory outside the heap, ends the
 *               launch with TSR_ERR_KERNEL (always on the emulator; on GPUs in
 *               debug builds). Zero bytes, rows or columns do nothing.
 *   Source:     Iris paper, section 3.3.2 and Table 3.
 */

/** Copies `size_bytes` from my `src` to `peer`'s copy of `dst`. */
TSR_DEV void tsr_put(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		     size_t size_bytes, int peer);

/**
 * Copies `size_bytes` from my `src` to every rank's copy of `dst`; to mine too,
 * unless `dst` is `src`. The result is that of a put to each rank. But `src` is
 * read only once, which fills the links to several peers better.
 */
TSR_DEV void tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			 size_t size_bytes);

/** Copies `size_bytes` from `peer`'s copy of `src` to my `dst`. */
TSR_DEV void tsr_get(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		     size_t size_bytes, int peer);

/**
 * Copies `size_bytes` from `src_peer`'s copy of `src` to `dst_peer`'s copy of
 * `dst`. Either rank may be mine or another.
 */
TSR_DEV void tsr_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer, const TSR_HEAP void *src,
		      int src_peer, size_t size_bytes);

/**
 * The same for matrices of one dtype: the overlap of both views' extents. `src`
 * of a put and `dst` of a get may be shared memory. The whole view is moved;
 * tsr_view_part selects a tile.
 */
TSR_DEV void tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
TSR_DEV void tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src);
TSR_DEV void tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
TSR_DEV void tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			 int src_peer);

/**
 * Scatters words: `peer`'s copy of dst[index[i]] becomes value[i], for i = 0 ..
 * count - 1. Negative indices are left out. Two passes with one index are a
 * race. (tsr_scatter, dev/collective.h, is another call: a collective that
 * deals out the parts of a view.)
 *
 * Memory:     `dst` is my address in the heap. `index` and `value` are in shared
 *             memory. Each thread stores 4 bytes at a time.
 * Errors:     also, on the emulator, `index` or `value` outside shared memory.
 *             count < 1 does nothing.
 * Source:     NVSHMEM's p, from each thread; ParallelKittens, section 4.3.
 */
TSR_DEV void tsr_put_scattered(tsr_coop_t *coop, TSR_HEAP int32_t *dst, const int32_t *index,
			       const int32_t *value, int count, int peer);

/**
 * Completes my earlier stores and puts to `peer`, those of all the coop's
 * threads: they are in its memory when the call returns. The coop meets. Orders
 * nothing for other ranks; a signal does.
 *
 * Called by:  block or worker, for its own accesses.
 */
TSR_DEV void tsr_flush(tsr_coop_t *coop, int peer);

/**
 * Declares what this rank writes in the allocation that holds `slab`: its
 * kernels write only `slab`, in any rank's copy, until they declare another
 * part. `tessera check` reports a write outside it (foreign-slab). Otherwise
 * the call does nothing, and it orders nothing.
 *
 * Called by:  block or worker, before the first such write.
 */
TSR_DEV void tsr_declare_writes(tsr_coop_t *coop, tsr_view_t slab);

/*
 * One value that needs no memory of mine: a count, an offset, a pointer.
 * NVSHMEM calls these p and g.
 *
 *   void tsr_put_value(coop, p, value, peer)
 *       writes `value` to `peer`'s copy of *p
 *   T    tsr_get_value(coop, p, peer)
 *       returns `peer`'s copy of *p, the same for all threads of the coop
 *
 * `p` is my address of a u32, i32, u64, i64, f32 or f64 in the heap, aligned to
 * its size, or in shared memory (then `peer` is my own rank). The call is a
 * weak access of one thread, and has no meeting, although all threads get the
 * result of a get. In all else the rules above hold. The value is no flag:
 * nobody may wait for it (use tsr_signal). If others change the word meanwhile,
 * it is a race (use tsr_atomic_load and tsr_atomic_store).
 */
#if !defined(tsr_put_value) || !defined(tsr_get_value)
#error "the port does not define puts and gets of values"
#endif

/*
 * One record, to or from a variable of the kernel: an entry of a routing table,
 * or the place of a group's rows, for example.
 *
 *   void tsr_put_record(coop, p, record, peer)
 *       copies *record to `peer`'s copy of *p
 *   void tsr_get_record(coop, record, p, peer)
 *       copies `peer`'s copy of *p to *record, in each thread of the coop
 *
 * `p` is my address in the heap, or in shared memory (then `peer` is my own
 * rank). `record` points to a variable of the caller with the type of *p: a
 * plain struct with the same layout on hosts and devices, of 4 to 256 bytes in
 * multiples of 4, aligned to 4, 8 or 16. Anything else does not compile. Both
 * calls are weak accesses without a meeting: one thread puts a record, and
 * every thread gets it for itself. In all else the rules above hold. A record
 * is more than one access: reading it while others write it is a race, and may
 * give a mixture of both.
 */
#if !defined(tsr_put_record) || !defined(tsr_get_record)
#error "the port does not define puts and gets of records"
#endif

#endif

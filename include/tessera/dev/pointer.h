/*
 * Pointer family: data moves between memories. The pointer is always mine, the
 * rank argument always the peer.
 */
#ifndef TESSERA_DEV_POINTER_H
#define TESSERA_DEV_POINTER_H

#include "tessera/dev/port.h"

/*
 * For all of them:
 *   Called by:  block or worker.
 *   Ordering:   weak accesses of the caller: no order with anything but through
 *               its later release (tsr_signal, a releasing atomic, tsr_sync)
 *               and, for what they read, its earlier acquire.
 *   Meetings:   none. All the coop's threads make the call, each its part, and
 *               go on: between two calls of one coop that touch the same bytes,
 *               one of them writing, the coop meets (tsr_sync, or another call
 *               that does), also where both write, and where the first one
 *               reads its source, which the second reuses. Which calls meet:
 *               docs/order-in-a-block.md. `tessera check` reports who does not
 *               as a coop-race.
 *   Completion: when the call returns the source may be reused by this coop
 *               after it has met; the destination is complete at the peer only
 *               for who acquires a later signal, or after tsr_flush; or when
 *               the kernel has ended: for what follows on its stream, for the
 *               host after tsr_stream_sync or tsr_event_sync, and for other
 *               ranks after a tsr_barrier behind that.
 *   Progress:   does not need the peer to run.
 *   Errors:     a rank outside the world, or memory outside the heap, ends the
 *               launch with TSR_ERR_KERNEL (always on the emulator; debug
 *               builds elsewhere). Zero bytes, rows or columns do nothing.
 *   Source:     Iris paper, section 3.3.2 and Table 3.
 */

/** Copies `size_bytes` from my `src` to `peer`'s copy of `dst`. */
TSR_DEV void tsr_put(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		     size_t size_bytes, int peer);

/**
 * Copies `size_bytes` from my `src` to every rank's copy of `dst`, mine
 * included unless that is where `src` is. The same as a put to each of them,
 * but `src` is read once: links to several peers are filled better so.
 */
TSR_DEV void tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			 size_t size_bytes);

/** Copies `size_bytes` from `peer`'s copy of `src` to my `dst`. */
TSR_DEV void tsr_get(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
		     size_t size_bytes, int peer);

/**
 * Copies from `src_peer`'s copy of `src` to `dst_peer`'s copy of `dst`; any
 * pair of ranks, mine or not.
 */
TSR_DEV void tsr_copy(tsr_coop_t *coop, TSR_HEAP void *dst, int dst_peer, const TSR_HEAP void *src,
		      int src_peer, size_t size_bytes);

/**
 * The same for matrices: the overlap of both views' extents, same dtype. `src`
 * of puts and `dst` of a get may be shared memory. The whole of the view is
 * moved; tsr_view_part cuts out a tile.
 */
TSR_DEV void tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
TSR_DEV void tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src);
TSR_DEV void tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
TSR_DEV void tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			 int src_peer);

/**
 * My earlier stores and puts to `peer`, of all the coop's threads, are complete
 * in its memory when this returns: they meet. Orders nothing for others: a
 * signal does. Called by: block or worker, for its own accesses.
 */
TSR_DEV void tsr_flush(tsr_coop_t *coop, int peer);

/**
 * Declares what this rank writes: of the allocation that `slab` lies in, its
 * kernels write `slab` alone, in any rank's copy, until they declare another
 * part. `tessera check` reports a write outside it (foreign-slab). Elsewhere
 * the call does nothing.
 * Called by: block or worker, before the first such write. Orders nothing.
 */
TSR_DEV void tsr_declare_writes(tsr_coop_t *coop, tsr_view_t slab);

/*
 * One value, without memory of mine that holds it: a count, an offset, a
 * pointer's worth. What NVSHMEM calls p and g.
 *
 *   void tsr_put_value(coop, p, value, peer)
 *       `value` comes to `peer`'s copy of *p
 *   T    tsr_get_value(coop, p, peer)
 *       the value of `peer`'s copy of *p, the same for all threads of the coop
 *
 * `p` is my address of a u32, i32, u64, i64, f32 or f64 in the heap, aligned to
 * its size, or in shared memory (`peer` is then my own rank). A weak access of
 * one thread, and in all else as above: it is no flag, and nobody may wait for
 * it (tsr_signal); where others change the word meanwhile it is a race
 * (tsr_atomic_load, tsr_atomic_store). They meet nobody, though all threads are
 * given the result of a get.
 */
#if !defined(tsr_put_value) || !defined(tsr_get_value)
#error "the port does not define puts and gets of values"
#endif

/*
 * One record, to or from a variable of the kernel: an entry of a routing table,
 * the place of a group's rows.
 *
 *   void tsr_put_record(coop, p, record, peer)
 *       *record comes to `peer`'s copy of *p
 *   void tsr_get_record(coop, record, p, peer)
 *       `peer`'s copy of *p comes to *record, of each thread of the coop
 *
 * `p` is my address in the heap, or in shared memory (`peer` is then my own
 * rank). `record` points to a variable of the caller, of the type of *p: a
 * plain struct with the same layout on hosts and devices, of 4 to 256 bytes in
 * multiples of 4, aligned to 4, 8 or 16. Anything else does not compile. Weak
 * accesses, and in all else as above: a record is put by one thread and read by
 * every thread for itself, so they meet nobody. A record is not one access: who
 * reads it while others write it is in a race, and may see a part of each.
 */
#if !defined(tsr_put_record) || !defined(tsr_get_record)
#error "the port does not define puts and gets of records"
#endif

#endif

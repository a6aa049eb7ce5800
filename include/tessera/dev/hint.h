/*
 * Cache hints: loads, stores and puts that tell caches whether the data will be
 * used again.
 */
#ifndef TESSERA_DEV_HINT_H
#define TESSERA_DEV_HINT_H

#include "tessera/dev/port.h"
#include "tessera/dev/tile.h"

/*
 * tsr_load, tsr_store, tsr_put and tsr_put_2d with a hint for caches. The
 * contracts in dev/value.h and dev/pointer.h hold for these calls too: a hint
 * changes no result and orders nothing. Write the hint as a name of tsr_hint_t
 * (types.h) in the call itself, so that it costs nothing.
 *
 * Effect:     on the data that a load reads, or that a store or a put writes,
 *             in whole units of 16 bytes. No effect if rows of a tile do not
 *             begin at multiples of 16 bytes, at edges, and in shared memory.
 * Backends:   CUDA: .cs and .wt. gfx942: nt and sc0 sc1; gfx90a: glc slc and
 *             glc. The emulator's caches take no hints, and `tessera check`
 *             explores the same schedules with and without them.
 * Cost:       the threads that make the call store the tile themselves. In the
 *             epilogue of a main loop, tsr_store may leave that to other
 *             threads.
 * Errors:     as those of the calls without a hint.
 * Source:     Iris paper, section 3.4 (cache_modifier), and Listing 5, which
 *             stores with ".wt".
 */
TSR_DEV_FRAG void tsr_load_hint(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				int peer, tsr_hint_t hint);
TSR_DEV_FRAG void tsr_store_hint(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_frag_t *frag, int peer, tsr_hint_t hint);
TSR_DEV void tsr_put_hint(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			  size_t size_bytes, int peer, tsr_hint_t hint);
TSR_DEV void tsr_put_2d_hint(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer,
			     tsr_hint_t hint);

#endif

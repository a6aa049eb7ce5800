/* Cache hints: loads, stores and puts of what will, or will not, be used again. */
#ifndef TESSERA_DEV_HINT_H
#define TESSERA_DEV_HINT_H

#include "tessera/dev/port.h"
#include "tessera/dev/tile.h"

/*
 * tsr_load, tsr_store, tsr_put and tsr_put_2d with a hint for caches. What
 * dev/value.h and dev/pointer.h say of the calls without it holds for these: a
 * hint changes no result and orders nothing. It is written as a name of
 * tsr_hint_t (types.h) in the call itself, so that it costs nothing.
 *
 * Effect:     on what a load reads, and on what a store or a put writes, in
 *             whole units of 16 bytes. There is none where rows of a tile do
 *             not begin at multiples of 16 bytes, at edges, and in shared
 *             memory.
 * Backends:   CUDA: .cs and .wt. gfx942: nt and sc0 sc1; gfx90a: glc slc and
 *             glc. The emulator has no caches that take hints, and what
 *             `tessera check` explores does not depend on them.
 * Cost:       a tile that is stored with a hint is stored by the threads that
 *             make the call, also in the epilogue of a main loop, where
 *             tsr_store may leave it to others.
 * Errors:     as those of the calls without a hint.
 * Source:     Iris paper, section 3.4 (cache_modifier), and Listing 5, which
 *             stores so (".wt").
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

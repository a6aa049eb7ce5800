/* The ladder that picks the port. */
#ifndef TESSERA_DEV_PORT_H
#define TESSERA_DEV_PORT_H

/*
 * A port's port.h defines, before any contract is read:
 *   TSR_FN            a kernel author's own device function
 *   TSR_DEV           a function of this API
 *   TSR_DEV_FRAG      one over fragments of any configuration: may make
 *                     `tsr_frag_t` a template parameter
 *   TSR_DEV_FRAG_ROWS the same for `tsr_frag_t` and `tsr_rows_t`
 *   TSR_DEV_ROWS      the same for `tsr_rows_t`
 *   TSR_DEV_FRAG_DOT  the same for `tsr_frag_t`, `tsr_frag_a_t` and
 *   `tsr_frag_b_t` TSR_DEV_FRAG_DOT_BT  the same for `tsr_frag_t`,
 *   `tsr_frag_a_t` and `tsr_frag_bt_t`
 *   TSR_AT(coop)      the coop, with the call's place in the source noted where
 *                     the port keeps it
 *   TSR_PART_OF(coop, "tsr_...")
 *                     a statement: what the coop calls next is part of that
 *                     call, in whose name reports tell of it, where the port
 *                     keeps it; TSR_PART_OF_NONE: of none any more
 *   TSR_COLLECTIVE(coop, "tsr_...", state, count, per_round, to, size)
 *                     a statement: the coop makes its part of a call that all
 *                     ranks make, for a port that compares them: by which
 *                     state; which of its words counts rounds, and by how much;
 *                     what is written on all ranks (or null), in pieces of
 *                     which size
 *
 *   tsr_coop_t, tsr_frag_t and the macros that dev/kernel.h, dev/tile.h,
 *   dev/atomic.h, dev/signal.h, dev/word.h and dev/gemm.h
 * describe TSR_PORT_BODIES   the header with the bodies, read after the
 *                            contracts
 *
 * A port that cannot give an ordering that these contracts promise stops with
 * #error. Missing beats weak.
 */
#if defined(__HIP__)
#include "hip/dev/port.h"
#elif defined(__CUDACC__)
#include "cuda/dev/port.h"
#else
#include "cpuemu/dev/port.h"
#endif

#endif

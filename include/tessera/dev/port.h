/* Selects the port: the device code of one backend. */
#ifndef TESSERA_DEV_PORT_H
#define TESSERA_DEV_PORT_H

/*
 * A port's port.h defines the following before any contract is read:
 *   TSR_FN            a kernel author's own device function
 *   TSR_DEV           a function of this API
 *   TSR_DEV_OWN       a function for kernels of the library's own
 *   TSR_DEV_FRAG      one that takes fragments of any configuration: it may
 *                     make `tsr_frag_t` a template parameter
 *   TSR_DEV_FRAG_ROWS the same for `tsr_frag_t` and `tsr_rows_t`
 *   TSR_DEV_ROWS      the same for `tsr_rows_t`
 *   TSR_DEV_FRAG_DOT  the same for `tsr_frag_t`, `tsr_frag_a_t` and
 *                     `tsr_frag_b_t`
 *   TSR_DEV_FRAG_DOT_BT
 *                     the same for `tsr_frag_t`, `tsr_frag_a_t` and
 *                     `tsr_frag_bt_t`
 *   TSR_DEV_STATE     the same for `tsr_state_t`
 *   TSR_DEV_STATE_FRAG
 *                     the same for `tsr_state_t`, `tsr_frag_t` and `tsr_rows_t`
 *   TSR_AT(coop)      the coop; a port that keeps call sites notes the file
 *                     and line in it
 *   TSR_AT_LAUNCH(coop)
 *                     the same for a call that has no place of its own to
 *                     report, because the kernel is the library's: reports
 *                     name the place where the host launched the kernel
 *   TSR_PART_OF(coop, "tsr_...")
 *                     a statement: the coop's next calls are part of this
 *                     call, and reports name it instead of them, if the port
 *                     keeps call sites; TSR_PART_OF_NONE ends that
 *   TSR_COLLECTIVE(coop, "tsr_...", state, count, per_round, to, reach, size,
 *                  root, words, how)
 *                     a statement: the coop makes its part of a call that all
 *                     ranks make, for a port that compares such calls.
 *                     `state` is the state of the call; `count` is the word
 *                     of it that grows by `per_round` in each round; `to` is
 *                     the memory that ranks reach on others, or null, and
 *                     `reach` the bytes from there on that must be the
 *                     caller's; `size`, in bytes, `root` and `how`, a number made
 *                     of parameters, are the same on all ranks; `words` of
 *                     8 bytes from `state` on are the call's. A `count` that
 *                     grows by more than 1 has 15 words behind it that stay 0
 *   TSR_REFUSE(coop, "tsr_...", cure, format, ...)
 *                     a statement: the call was used wrongly. Ends the world
 *                     with TSR_ERR_KERNEL. A port that formats no text says
 *                     less
 *
 *   tsr_coop_t, tsr_frag_t and the macros that dev/kernel.h, dev/coop.h,
 *   dev/tile.h, dev/atomic.h, dev/signal.h, dev/word.h, dev/gemm.h and
 *   dev/attend.h describe
 *
 *   TSR_PORT_BODIES   the header with the bodies, read after the contracts
 *
 * A port that cannot give an ordering that these contracts promise stops with
 * #error. A missing operation is better than a weak one.
 */
#if defined(__HIP__)
#include "hip/dev/port.h"
#elif defined(__CUDACC__)
#include "cuda/dev/port.h"
#else
#include "cpuemu/dev/port.h"
#endif

#endif

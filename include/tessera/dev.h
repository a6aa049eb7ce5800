/*
 * The whole device API: everything that a kernel may call.
 *
 * A kernel is written once, in the C that C11 and C++17 share, and compiled for
 * every backend. The host half of the same file is C11; device compilers do not
 * see it. A program for the emulator alone may be C++17, kernels included. A
 * kernel works with tiles and blocks, never with lanes.
 *
 * Words that the contracts use:
 *
 *   coop      the threads that make a call together: a thread block, or one of
 *             the workers into which it is split. Every call takes a
 *             tsr_coop_t, and is collective and uniform over it: all its
 *             threads make the call with the same arguments
 *   my        of the calling rank
 *   peer      any rank of the stream's team, mine included
 *   copy      memory at the same offset of another rank's heap: "`peer`'s copy
 *             of `dst`" for my pointer `dst`
 *   meet      a coop meets when what each of its threads did before happens
 *             before what each of them does after, as in tsr_sync
 *   weak      an access without an order of its own, not atomic
 *
 *   dev/kernel.h      defining a kernel
 *   dev/coop.h        blocks and workers: their numbers, meetings, roles; work
 *                     that their threads share
 *   dev/view.h        matrices in memory
 *   dev/pointer.h     put, get, copy; scattered words, one value, one record
 *   dev/value.h       load and store: register tiles and any rank's memory
 *   dev/hint.h        loads, stores and puts with a hint for caches
 *   dev/atomic.h      atomics and fences, each with an order and a scope
 *   dev/signal.h      signals, waits, barriers
 *   dev/marked.h      words that carry their own flag, for small messages
 *   dev/word.h        waits for words, by any comparison
 *   dev/lock.h        locks between coops of all ranks
 *   dev/tile.h        tiles in registers, arithmetic on them
 *   dev/gemm.h        the main loop of a matrix product
 *   dev/attend.h      the main loop of attention, and the merge of its partial
 *                     results
 *   dev/orders.h      orders of tiles and blocks
 *   dev/collective.h  all-gather, all-to-all, broadcast, gather and scatter, by
 *                     all blocks of all ranks
 *   dev/reduction.h   the same, which combine: reduce-scatter, all-reduce,
 *                     reduce
 *   dev/sum.h         weighted sums of chosen rows
 *
 * These headers are the contract. Each port, backends/<name>/dev/, has the
 * bodies. Paths in comments, such as docs/order-in-a-block.md, are those of the
 * sources. An installation has them below share/doc/tessera/ or lib/tessera/.
 */
#ifndef TESSERA_DEV_H
#define TESSERA_DEV_H

#include "tessera/kernel.h"
#include "tessera/types.h"

#include "tessera/dev/port.h"

#include "tessera/dev/atomic.h"
#include "tessera/dev/attend.h"
#include "tessera/dev/collective.h"
#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/hint.h"
#include "tessera/dev/kernel.h"
#include "tessera/dev/lock.h"
#include "tessera/dev/marked.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/pointer.h"
#include "tessera/dev/reduction.h"
#include "tessera/dev/signal.h"
#include "tessera/dev/sum.h"
#include "tessera/dev/tile.h"
#include "tessera/dev/value.h"
#include "tessera/dev/view.h"
#include "tessera/dev/word.h"

#include TSR_PORT_BODIES

#include "tessera/dev/site.h"

#endif

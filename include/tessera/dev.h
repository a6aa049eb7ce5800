/*
 * The device API, whole: what a kernel may say.
 *
 * A kernel is written once, in the C that C11 and C++17 share, and compiled for
 * every backend. The host half of its file is C11: device compilers are not
 * shown it (tools/device_half). A program that runs on the emulator alone may
 * be C++17, kernels and all. A kernel sees tiles and blocks, never lanes. Every
 * call takes the tsr_coop_t that makes it (the block or one of its workers) and
 * is collective and uniform over it: all its threads make the call with the
 * same arguments.
 *
 *   dev/kernel.h      defining a kernel
 *   dev/coop.h        who am I; meeting; workers
 *   dev/view.h        matrices in memory
 *   dev/pointer.h     put, get, copy; one value, one record
 *   dev/value.h       load, store: a register tile and anyone's memory
 *   dev/hint.h        the same, and puts, with a hint for caches
 *   dev/atomic.h      atomics and fences, order and scope
 *   dev/signal.h      signals, waits, barriers
 *   dev/word.h        waits for words, by any comparison
 *   dev/lock.h        one coop of all ranks at a time
 *   dev/tile.h        tiles in registers, arithmetic on them
 *   dev/gemm.h        the matrix product's main loop
 *   dev/orders.h      which tile comes when
 *   dev/collective.h  all-gather, by all blocks of all ranks
 *
 * These headers are the contract. The bodies come from one port:
 * backends/<name>/dev/.
 */
#ifndef TESSERA_DEV_H
#define TESSERA_DEV_H

#include "tessera/kernel.h"
#include "tessera/types.h"

#include "tessera/dev/port.h"

#include "tessera/dev/atomic.h"
#include "tessera/dev/collective.h"
#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/hint.h"
#include "tessera/dev/kernel.h"
#include "tessera/dev/lock.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/pointer.h"
#include "tessera/dev/signal.h"
#include "tessera/dev/tile.h"
#include "tessera/dev/value.h"
#include "tessera/dev/view.h"
#include "tessera/dev/word.h"

#include TSR_PORT_BODIES

#include "tessera/dev/site.h"

#endif

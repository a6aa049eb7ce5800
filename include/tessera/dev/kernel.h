/* Defining a kernel. */
#ifndef TESSERA_DEV_KERNEL_H
#define TESSERA_DEV_KERNEL_H

#include "tessera/dev/port.h"

/*
 * TSR_KERNEL(name, args_t, a) { body }
 *
 *   Defines the kernel `name`. The body runs once a block and sees
 *     tsr_coop_t *block   the block
 *     const args_t *a     the launch's arguments
 *   and leaves in the host program `const tsr_kernel_t name`, to be handed to
 *   tsr_launch.
 *   `args_t` is a plain struct with the same layout in C and C++ (fixed-width
 *   integers, TSR_HEAP pointers, views).
 *
 * TSR_KERNEL_WIDE(name, args_t, a) { body }
 *
 *   The same for a block that moves data: as wide as is of use to the device's
 *   memory and links (1024 threads on CUDA), so that a few blocks saturate
 *   them. The whole API serves in it but main loops and register tiles: a
 *   thread has few registers.
 *
 * TSR_KERNEL_SHARED(name, shared_t, args_t, a) { body }
 *
 *   TSR_KERNEL for a block with shared memory. The body sees also
 *     shared_t *shared    the block's shared memory: its content is undefined
 *                         at first (the emulator poisons it)
 *
 * TSR_KERNEL_SPLIT(name, workers, shared_t, args_t, a) { body }
 *
 *   TSR_KERNEL for a block that is split into `workers` workers (a literal),
 *   each of which runs the body. It sees also
 *     tsr_coop_t *worker  the worker that runs this copy
 *     shared_t *shared    the block's shared memory, as above
 *   Worker 0 is the one that may run main loops: the backend gives it the
 *   threads that takes. The others move data.
 *   Calls with `block` are made by all workers together, those with `worker` by
 *   one alone.
 *
 * Locals of a body, and of all that it calls, are each thread's own. An
 * emulated worker has 1 MiB for them, and a GPU's thread as many registers as
 * the device gives it, then memory that is slow. Larger arrays belong into the
 * heap or into shared memory; a kernel that leaves the stack of an emulated
 * worker ends its process with SIGSEGV, and is a finding of `tessera check`.
 *
 * TSR_FN
 *
 *   Marks a device function of the author's own: `TSR_FN int f(...) { }`. It is
 *   always inlined on devices. Functions that are handed to the API (order,
 *   gate, epilogue, mask, map) are TSR_FN.
 *
 * TSR_VARIANT
 *
 *   Where a translation unit holds one of several variants of its kernels (see
 *   TSR_TILE), it defines TSR_VARIANT as the variant's name, an identifier's
 *   tail such as bf16_64x64x32, before including tessera/dev.h. The kernel
 *   `name` becomes the object name__bf16_64x64x32; the host picks one by
 *   tsr_kernel_find(name, variant).
 */
#if !defined(TSR_KERNEL) || !defined(TSR_KERNEL_WIDE) || !defined(TSR_KERNEL_SHARED) || \
	!defined(TSR_KERNEL_SPLIT) || !defined(TSR_FN)
#error "the port does not define kernels"
#endif

#endif

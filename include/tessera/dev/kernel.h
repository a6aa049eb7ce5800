/* Macros that define a kernel. */
#ifndef TESSERA_DEV_KERNEL_H
#define TESSERA_DEV_KERNEL_H

#include "tessera/dev/port.h"

/*
 * TSR_KERNEL(name, args_t, a) { body }
 *
 *   Defines the kernel `name`. The body runs once for each block and sees
 *     tsr_coop_t *block   the block
 *     const args_t *a     the launch's arguments
 *   The macro also defines `const tsr_kernel_t name` for the host; pass it to
 *   tsr_launch. Other source files declare it by TSR_KERNEL_DECLARE(name)
 *   (tessera/kernel.h), which C++ needs: the descriptor has a name of C.
 *   `args_t` is a plain struct with the same layout in C and C++ (fixed-width
 *   integers, TSR_HEAP pointers, views).
 *
 * TSR_KERNEL_WIDE(name, args_t, a) { body }
 *
 *   The same for a block that moves data. It has as many threads as the
 *   device's memory and links can use (1024 on CUDA), so that a few blocks
 *   saturate them. It may make all calls except main loops and those on
 *   register tiles, because each thread has few registers.
 *
 * TSR_KERNEL_SHARED(name, shared_t, args_t, a) { body }
 *
 *   TSR_KERNEL for a block with shared memory. The body also sees
 *     shared_t *shared    the block's shared memory: its content is undefined
 *                         at first. The emulator poisons it, and ends the
 *                         world if a worker has written up to 1 KiB beside it
 *
 * TSR_KERNEL_SPLIT(name, workers, shared_t, args_t, a) { body }
 *
 *   TSR_KERNEL for a block that is split into `workers` workers (a literal).
 *   Each worker runs the body. The body also sees
 *     tsr_coop_t *worker  the worker that runs this copy
 *     shared_t *shared    the block's shared memory, as above
 *   Only worker 0 may run main loops: the backend gives it the threads that
 *   they need. The other workers move data.
 *   All workers make a call with `block` together. One worker alone makes a
 *   call with `worker`.
 *
 * Local variables of a body, and of the functions that it calls, belong to each
 * thread. A worker on the emulator has 1 MiB for them. A thread on a GPU has
 * the device's registers, and slow memory beyond them. Put larger arrays into
 * the heap or into shared memory. A kernel that overflows the stack of an
 * emulated worker ends its process with SIGSEGV; `tessera check` reports it as
 * a finding. For a single frame that is much too large, that takes the
 * compiler's -fstack-clash-protection, which `tessera cc` passes to it.
 *
 * TSR_FN
 *
 *   Marks a device function of the kernel's author: `TSR_FN int f(...) { }`. It
 *   is always inlined on devices. Functions that are passed to the API (order,
 *   gate, epilogue, mask, map) must be TSR_FN.
 *
 * TSR_VARIANT
 *
 *   If a translation unit contains one of several variants of its kernels (see
 *   TSR_TILE), it defines TSR_VARIANT before it includes tessera/dev.h. The
 *   value is the variant's name, such as bf16_64x64x32; it must be usable as
 *   the end of an identifier. The kernel `name` becomes the object
 *   name__bf16_64x64x32. The host selects a variant with tsr_kernel_find(name,
 *   variant).
 */
#if !defined(TSR_KERNEL) || !defined(TSR_KERNEL_WIDE) || !defined(TSR_KERNEL_SHARED) || \
	!defined(TSR_KERNEL_SPLIT) || !defined(TSR_FN)
#error "the port does not define kernels"
#endif

#endif

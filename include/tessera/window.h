/*
 * Windows: memory of the program's own that kernels of all ranks work on, as if
 * it were in the heap. For data that another library has allocated and that a
 * copy into the heap would double.
 */
#ifndef TESSERA_WINDOW_H
#define TESSERA_WINDOW_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What memory of a window must begin at, and be as long as: a multiple of so
 * many bytes. On the emulator it is the size of a page. 0: the world's backend
 * has no windows. The same on every rank.
 *
 * Called by:  any thread.
 * @return     0 also for a null `world`.
 */
TSR_API size_t tsr_window_unit_bytes(const tsr_world_t *world);

/**
 * Makes `size_bytes` of the program's memory, from `memory` on, a part of this
 * rank's heap, with the contents that it has. Each rank gives memory of its
 * own. `*pointer_out` is that memory as an address of the heap, which has the
 * same offset on every rank: it and all addresses behind it are taken by every
 * call that takes memory of tsr_heap_alloc, in kernels and on the host: puts,
 * gets, tiles, signals, atomics, collectives, operands of main loops, views and
 * streams. It differs from `memory`; both are the same bytes.
 *
 * While the window is registered, the host may also read and write at `memory`,
 * as at an address of tsr_native_pointer: Tessera orders such accesses by
 * streams (first wait for the launch that writes), and no report contains
 * them. Under `tessera check` the host may not, because each access must be
 * seen: `memory` is inaccessible there until the window is released, and
 * tsr_memcpy_to_heap and tsr_memcpy_from_heap take its place.
 *
 * On the emulator the pages of the memory move to the heap's file, which all
 * ranks have mapped. This has four consequences. No other thread may write to
 * the memory during this call and tsr_window_release. The memory must not be
 * freed, unmapped or resized before the window is released. A child that the
 * process forks shares the pages with it, and does not get a copy. The window
 * takes `size_bytes` of the heap (TESSERA_HEAP_SIZE), but no further memory.
 *
 * Windows that are registered when the world ends are released then.
 *
 * Called by:  every rank, one thread a rank (collective), with the same size
 *             and name.
 * @param memory  readable and writable private memory of this process, such as
 *                that of malloc, whose address is a multiple of
 *                tsr_window_unit_bytes: that of aligned_alloc or mmap.
 * @param size_bytes  a multiple of tsr_window_unit_bytes.
 * @param name  the window's name in reports. The library copies it. Null means
 *              "unnamed".
 * Errors:     TSR_ERR_ARGUMENT (null, unaligned or missing memory; memory that
 *             is part of another window, of a heap, or of another rank's memory
 *             in this call; memory that is shared with other processes, or that
 *             may not be written), TSR_ERR_UNSUPPORTED (the backend has no
 *             windows: GPUs have none yet), TSR_ERR_NO_MEMORY (no room in the
 *             heap), TSR_ERR_SYSTEM, TSR_ERR_MISMATCH, and those of
 *             tsr_barrier. The call succeeds on all ranks or on none.
 * Source:     MPI_Win_create, ncclCommWindowRegister and
 *             nvshmemx_buffer_register.
 */
TSR_API tsr_status_t tsr_window_register(tsr_world_t *world, void *memory, size_t size_bytes,
					 const char *name, TSR_HEAP void **pointer_out);

/**
 * Ends a window. First waits for this rank's streams and for every rank, so
 * that no kernel still uses it. Afterwards the memory is the program's alone,
 * at the address that it gave, with what was written to it last.
 *
 * Called by:  every rank (collective), with its own pointer to the same window:
 *             what tsr_window_register gave. Null on every rank is TSR_OK.
 * Errors:     TSR_ERR_NOT_FOUND (the pointer is no window's: it was released
 *             before, or never registered), TSR_ERR_MISMATCH, and those of
 *             tsr_stream_sync and tsr_barrier: then the window is registered as
 *             before. TSR_ERR_ARGUMENT (the program has unmapped or freed the
 *             memory) and TSR_ERR_SYSTEM: the window has ended on every rank,
 *             but its room in the heap stays taken.
 */
TSR_API tsr_status_t tsr_window_release(tsr_world_t *world, TSR_HEAP void *pointer);

#ifdef __cplusplus
}
#endif
#endif

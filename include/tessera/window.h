/*
 * Windows: memory of the program's own that kernels of all ranks work on, as if
 * it were in the heap. For data that another library has allocated and that a
 * copy into the heap would double.
 */
#ifndef TESSERA_WINDOW_H
#define TESSERA_WINDOW_H

#include <stddef.h>

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What memory of a window must begin at, and be as long as: a multiple of so
 * many bytes. The size of a page on the emulator, 2 MiB on CUDA. 0: the world has
 * no windows, because its backend has none (hip), or because heaps are shared by
 * TESSERA_CUDA_HEAP=ipc; tsr_window_register says which. The same on every rank.
 *
 * Called by:  any thread.
 * @return     0 also for a null `world`.
 */
TSR_API size_t tsr_window_unit_bytes(const tsr_world_t *world);

/**
 * Allocates memory of this rank's device that tsr_window_register takes: the
 * program's, and in no heap. On CUDA it is memory that cuMemCreate has made and
 * that other processes can map; kernels of this GPU and the vendor's copies work
 * on it as on any other. On the emulator it is memory of mmap, which holds 0. On
 * GPUs its contents are undefined. What is not freed when the world ends is freed
 * then.
 *
 * Called by:  any thread. Not collective.
 * @param size_bytes  rounded up to a multiple of tsr_window_unit_bytes: register
 *                    that many bytes.
 * Errors:     TSR_ERR_ARGUMENT (null, 0 bytes), TSR_ERR_NO_MEMORY (the device's
 *             memory is full), TSR_ERR_UNSUPPORTED (the backend has no windows),
 *             TSR_ERR_SYSTEM.
 * Source:     ncclMemAlloc. That maps memory on all GPUs of a node at once; here
 *             peers map it when it is registered, and no longer than that.
 */
TSR_API tsr_status_t tsr_window_alloc(tsr_world_t *world, size_t size_bytes, void **memory_out);

/**
 * Frees what tsr_window_alloc gave to this rank. No kernel and no copy may use it
 * any more.
 *
 * Called by:  any thread. Not collective. Null is TSR_OK.
 * Errors:     TSR_ERR_NOT_FOUND (tsr_window_alloc did not give it, or it was
 *             freed before), TSR_ERR_ARGUMENT (a window has a part of it: call
 *             tsr_window_release first), TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_window_free(tsr_world_t *world, void *memory);

/**
 * The same for allocators of frameworks, which know no world: the two functions
 * that a pool of PyTorch calls (torch.cuda.MemPool, by CUDAPluggableAllocator),
 * so that its tensors can be registered. Memory is of the GPU with this number
 * among those that the process sees, on CUDA only. The caller frees it, with the
 * size that it asked for; a window that is registered keeps it until its release.
 * tessera.torch_pool in Python makes such a pool.
 *
 * Called by:  any thread, with or without a world. `stream` is ignored.
 * @return     null if there is no memory, no such GPU or no CUDA;
 *             tsr_last_error says why.
 */
TSR_API void *tsr_pool_alloc(ptrdiff_t size_bytes, int device, void *stream);
TSR_API void tsr_pool_free(void *memory, ptrdiff_t size_bytes, int device, void *stream);

/**
 * Makes `size_bytes` of the program's memory, from `memory` on, a part of this
 * rank's heap, with the contents that it has. Each rank gives memory of its
 * own. `*pointer_out` is that memory as an address of the heap, which has the
 * same offset on every rank: it and all addresses behind it are taken by every
 * call that takes memory of tsr_heap_alloc, in kernels and on the host: puts,
 * gets, tiles, signals, atomics, collectives, operands of main loops, views and
 * streams. It differs from `memory`; both are the same bytes.
 *
 * While the window is registered, the program may also read and write at
 * `memory`, as at an address of tsr_native_pointer: Tessera orders such accesses
 * by streams (first wait for the launch that writes), and no report contains
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
 * On CUDA the memory gets a second address, in addresses that every rank keeps
 * behind its heap, and peers map it at the same offset. So a window takes nothing
 * of the heap, and nobody need pause. If the program frees the memory, the window
 * keeps it until its release. What one call of cuMemCreate has made becomes a
 * window from its begin on; several that are mapped one behind the other, as
 * allocators that grow do, may be one window. If the window ends inside of the
 * last of them, the rest of that one is mapped too, and no call may use it. Only
 * memory that was made with a descriptor
 * (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) can reach peers:
 * tsr_window_alloc and ncclMemAlloc make such memory, cudaMalloc does not.
 *
 * Windows that are registered when the world ends are released then.
 *
 * Called by:  every rank, one thread a rank (collective), with the same size
 *             and name.
 * @param memory  that of tsr_window_alloc. Or, on the emulator, readable and
 *                writable private memory of this process, such as that of
 *                malloc, whose address is a multiple of tsr_window_unit_bytes:
 *                that of aligned_alloc or mmap. Or, on CUDA, other memory of this
 *                rank's GPU as above.
 * @param size_bytes  a multiple of tsr_window_unit_bytes.
 * @param name  the window's name in reports. The library copies it. Null: as
 *              for tsr_heap_alloc.
 * Errors:     TSR_ERR_ARGUMENT (null, unaligned or missing memory; memory that
 *             is part of another window, of a heap, or of another rank's memory
 *             in this call; on the emulator memory that is shared with other
 *             processes, or that may not be written; on CUDA memory of
 *             cudaMalloc, of the host or of another GPU, managed memory, memory
 *             without a descriptor, and memory that begins inside of what
 *             cuMemCreate has made), TSR_ERR_UNSUPPORTED (the world has no
 *             windows), TSR_ERR_NO_MEMORY (no room in the heap or behind it),
 *             TSR_ERR_SYSTEM, TSR_ERR_MISMATCH, and those of tsr_barrier. The
 *             call succeeds on all ranks or on none.
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
 *             before. TSR_ERR_ARGUMENT (on the emulator: the program has unmapped
 *             or freed the memory) and TSR_ERR_SYSTEM: the window has ended on
 *             every rank, but its room stays taken.
 */
TSR_API tsr_status_t tsr_window_release(tsr_world_t *world, TSR_HEAP void *pointer);

#ifdef __cplusplus
}
#endif
#endif

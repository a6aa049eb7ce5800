/* Streams: kernel launches, copies to peers, and events. */
#ifndef TESSERA_STREAM_H
#define TESSERA_STREAM_H

#include "tessera/args.h"
#include "tessera/kernel.h"
#include "tessera/team.h"
#include "tessera/tensor.h"
#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * CUDA graphs: launches, groups, copies, collectives, events and waits for
 * events may be captured from a stream (tsr_stream_native) and replayed. They
 * make no other call of the driver, and what advances from run to run (epochs,
 * the flags of barriers and collectives) is in device memory.
 *   - Launch each kernel once before it is captured: the first launch loads its
 *     code, which a capture forbids.
 *   - Replays are collective as the launches are: every rank replays equally
 *     often.
 *   - No call that waits or allocates belongs into a capture: tsr_stream_sync,
 *     tsr_barrier, tsr_heap_alloc and their like.
 *   - Capture nothing while a record is on (tsr_record_start). It contains no
 *     replay.
 *   - A failure of a replay is reported as one of the captured launch. If 4096
 *     launches followed that one, the report cannot name the kernel.
 */

/**
 * A queue of launches and copies of one rank. Each begins when the one before
 * it has ended. Different streams are not ordered among each other. A stream
 * belongs to a team; its kernels see the ranks of that team.
 */
typedef struct tsr_stream tsr_stream_t;

/** A point in a stream, with a time stamp. */
typedef struct tsr_event tsr_event_t;

/**
 * Creates a stream of `team`, such as tsr_world_team(world).
 *
 * Called by:  any thread of the rank (not collective).
 * Errors:     TSR_ERR_ARGUMENT, TSR_ERR_NO_MEMORY, TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_stream_create(tsr_team_t *team, tsr_stream_t **stream_out);

/**
 * Makes a stream of one that the program or a framework has: `native` is a
 * cudaStream_t or CUstream, or a hipStream_t, of this rank's device
 * (tsr_device_props_t.ordinal) and its primary context; null is the vendor's
 * default stream. Work that the program queues there and work of Tessera are in
 * one order. The program keeps its stream: it must live longer than this one,
 * which tsr_stream_destroy ends without it.
 *
 * tsr_stream_sync, tsr_stream_destroy, tsr_barrier and the other calls that
 * wait for this rank's streams wait for the program's work there too.
 *
 * Called by:  any thread of the rank (not collective). Makes no call of the
 *             vendor's, so the stream may be one that is being captured.
 * Errors:     those of tsr_stream_create; TSR_ERR_UNSUPPORTED on the emulator,
 *             which has no such streams. A stream of another device is refused
 *             by the first launch on it.
 */
TSR_API tsr_status_t tsr_stream_from_native(tsr_team_t *team, void *native,
					    tsr_stream_t **stream_out);

/**
 * The vendor's stream behind a stream, for calls of other libraries: a
 * cudaStream_t or a hipStream_t. Valid as long as the stream. Any thread.
 *
 * Errors:     TSR_ERR_ARGUMENT (null), TSR_ERR_UNSUPPORTED (the emulator).
 */
TSR_API tsr_status_t tsr_stream_native(const tsr_stream_t *stream, void **native_out);

/** The team of a stream. Any thread. */
TSR_API tsr_team_t *tsr_stream_team(const tsr_stream_t *stream);

/**
 * Waits for the stream's work, then destroys the stream. Null is TSR_OK.
 *
 * Errors:     those of tsr_stream_sync; the stream is destroyed even then.
 */
TSR_API tsr_status_t tsr_stream_destroy(tsr_stream_t *stream);

/**
 * Waits until all work on the stream has ended. Then all stores of its kernels
 * and copies are complete, in peers' memory too, even if the kernels did not
 * flush them. Every rank sees them after a later tsr_barrier.
 *
 * Errors:     TSR_ERR_TIMEOUT (a wait in a kernel expired; the sentence is its
 *             wait record), TSR_ERR_KERNEL (a kernel misused the API),
 *             TSR_ERR_PEER_LOST, TSR_ERR_ABORTED.
 */
TSR_API tsr_status_t tsr_stream_sync(tsr_stream_t *stream);

/**
 * Starts `kernel` with `blocks` blocks, after the stream's earlier work. Copies
 * `args` (kernel->args_bytes) before it returns. The stream's earlier work, and
 * what the host did before the call, happen before the kernel. If the device
 * cannot hold all blocks at the same time, the rest start when others end: a
 * kernel whose blocks wait for each other, or for a peer, must fit.
 *
 * Called by:  any thread of the rank; returns without waiting for the kernel.
 * Errors:     TSR_ERR_ARGUMENT (blocks < 1, or a null pointer),
 *             TSR_ERR_UNSUPPORTED (no code for this backend, too much shared
 *             memory or too many workers), TSR_ERR_ABORTED.
 */
TSR_API tsr_status_t tsr_launch(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
				const void *args);

/**
 * tsr_launch with the size of `*args`, which must be the size that the kernel
 * takes. 0 means that the size is unknown; it is not checked then. In a program
 * that includes tessera/tessera.h, tsr_launch is a macro that makes this call:
 * with `sizeof *args`, or with 0 if `args` is null or a `void *`. If the
 * compiler optimises and sees the kernel's definition (because the same file
 * defines the kernel and launches `&kernel`), a wrong size does not compile.
 *
 * Errors:     as in tsr_launch; TSR_ERR_ARGUMENT also if the sizes differ (the
 *             sentence names both).
 */
TSR_API tsr_status_t tsr_launch_sized(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
				      const void *args, size_t args_bytes);

/** One launch of a group. TSR_LAUNCH_DESC makes it and fills in the sizes. */
typedef struct tsr_launch_desc {
	size_t size; /* sizeof this struct, the same for all elements of an array */
	tsr_stream_t *stream;
	const tsr_kernel_t *kernel;
	int blocks;
	const void *args;
	/* size of `*args`, which must be the kernel's; 0: unknown, and not checked */
	size_t args_bytes;
} tsr_launch_desc_t;

/**
 * A tsr_launch_desc_t with these members, its own size and the size of the
 * arguments. Use it as an argument of a call, or to initialise a variable or an
 * element of an array.
 */
#define TSR_LAUNCH_DESC(stream_, kernel_, blocks_, ...)                                            \
	(TSR_LITERAL(tsr_launch_desc_t){sizeof(tsr_launch_desc_t), (stream_),                      \
					tsr_kernel_for((kernel_), TSR_POINTEE_BYTES(__VA_ARGS__)), \
					(blocks_), (__VA_ARGS__), TSR_POINTEE_BYTES(__VA_ARGS__)})

/**
 * Starts kernels that wait for each other, so that all their blocks are on the
 * device together.
 *
 * Errors:     as in tsr_launch_sized; TSR_ERR_ARGUMENT also for two launches on
 *             one stream; TSR_ERR_RESIDENCY if the blocks do not fit on the
 *             device together (the sentence says how many do). After an error
 *             nothing was started.
 */
TSR_API tsr_status_t tsr_launch_group(const tsr_launch_desc_t *launches, int count);

/**
 * Copies `src` of my heap to `peer`'s copy of `dst`, after the stream's earlier
 * work. `peer` is a rank of the stream's team. The copy needs no thread block:
 * the device's copy engine (DMA) makes it, if the device has one. Both views
 * name my heap and have the same extents and element type. In each view the
 * distance between rows may be any number that is not less than their length.
 * `peer` may be me; then the rows of the two views must not overlap.
 *
 * A copy engine takes nothing from kernels but bandwidth, while a kernel's
 * stores to peers delay its own loads. So this call suits copies that are large
 * and known on the host. Each copy costs the engine some microseconds, whatever
 * its size. On a GPU, copies that are queued when the world ends may still be
 * made.
 *
 * Orders:     the copy reads `src` after the stream's earlier work. That work,
 *             and what the host did before the call, happen before the copy.
 *             The copy has ended, with its bytes in the peer's memory, when the
 *             stream's later work begins. Other ranks do not learn of it: a
 *             kernel later on the stream, or behind an event, must signal them
 *             (READY). A kernel before the copy must have waited until `dst`
 *             may be overwritten (RETIRED).
 * Litmus:     MP.rel.acq.diffGPU-ss, with the copy as the first write.
 * Called by:  any thread of the rank (not collective). Returns without waiting
 *             for the copy. Views without elements: TSR_OK, and nothing is
 *             done.
 * Errors:     TSR_ERR_ARGUMENT (a null pointer; a rank outside the team; views
 *             that differ, leave the heap or overlap), TSR_ERR_ABORTED,
 *             TSR_ERR_NO_MEMORY, TSR_ERR_SYSTEM (rows 2 GiB apart or more, on
 *             an engine that counts in 31 bits). After an error nothing is
 *             copied.
 * Source:     the "on stream" operations of NVSHMEM; ParallelKittens, section
 *             3.1.2 (copy engines for large copies), with a distance between
 *             rows added.
 */
TSR_API tsr_status_t tsr_stream_put_2d(tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src,
				       int peer);

/** Creates and destroys an event. Any thread of the rank. */
TSR_API tsr_status_t tsr_event_create(tsr_world_t *world, tsr_event_t **event_out);
TSR_API tsr_status_t tsr_event_destroy(tsr_event_t *event);

/**
 * Marks the point after the stream's work so far. Recording the event again
 * moves the mark.
 */
TSR_API tsr_status_t tsr_event_record(tsr_event_t *event, tsr_stream_t *stream);

/**
 * Later work of `stream` begins after the event's last recorded mark is
 * reached. An event that was never recorded counts as reached.
 */
TSR_API tsr_status_t tsr_stream_wait_event(tsr_stream_t *stream, tsr_event_t *event);

/**
 * Waits on the host until the mark is reached. Errors: those of
 * tsr_stream_sync.
 */
TSR_API tsr_status_t tsr_event_sync(tsr_event_t *event);

/**
 * Nanoseconds between two reached marks.
 *
 * Errors:     TSR_ERR_ARGUMENT (one of them was not recorded, or is not reached
 *             yet).
 */
TSR_API tsr_status_t tsr_event_elapsed_ns(const tsr_event_t *begin, const tsr_event_t *end,
					  uint64_t *ns_out);

#ifdef __cplusplus
}
#endif
#endif

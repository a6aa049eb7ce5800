/* Streams: launches, copies to peers, events. */
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

/**
 * A queue of launches and copies of one rank: each begins when the one before
 * it has ended. Streams have no order among each other. A stream belongs to a
 * team, whose ranks its kernels see.
 */
typedef struct tsr_stream tsr_stream_t;

/** A point in a stream, with a time stamp. */
typedef struct tsr_event tsr_event_t;

/**
 * A stream of `team`, such as tsr_world_team(world). Any thread of the rank;
 * not collective. Errors: TSR_ERR_ARGUMENT, TSR_ERR_NO_MEMORY, TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_stream_create(tsr_team_t *team, tsr_stream_t **stream_out);

/**
 * Waits for the stream's work, then releases it. Null is TSR_OK. Errors: those
 * of tsr_stream_sync; released all the same.
 */
TSR_API tsr_status_t tsr_stream_destroy(tsr_stream_t *stream);

/**
 * Waits until all work given to the stream has ended. All that its kernels and
 * copies have stored is complete then, in peers' memory too, whether or not
 * they flushed it; after a tsr_barrier behind it every rank sees it.
 *
 * Errors: TSR_ERR_TIMEOUT (a wait in a kernel expired: the sentence is its wait
 *         record), TSR_ERR_KERNEL (a kernel misused the API),
 *         TSR_ERR_PEER_LOST, TSR_ERR_ABORTED.
 */
TSR_API tsr_status_t tsr_stream_sync(tsr_stream_t *stream);

/**
 * Starts `kernel` on `blocks` blocks behind the stream's earlier work. `args`
 * (kernel->args_bytes) are copied before it returns.
 * A stream's earlier launches, and what the host did before the call, happen
 * before the kernel.
 * Blocks past the device's resident limit start when others end: a kernel whose
 * blocks wait for each other or for a peer must fit.
 * Called by: any thread of the rank. Errors: TSR_ERR_ARGUMENT (blocks < 1,
 * null), TSR_ERR_UNSUPPORTED (no code for this backend,
 *            too much shared memory or too many workers), TSR_ERR_ABORTED.
 */
TSR_API tsr_status_t tsr_launch(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
				const void *args);

/**
 * tsr_launch, with the size of what `args` points to: it must be the kernel's.
 * Where `args_bytes` is 0 it is not known, and not compared. A program that
 * includes tessera/tessera.h makes this call wherever it calls tsr_launch: with
 * `sizeof *args`, and with 0 where `args` is null or a `void *`. Where the
 * compiler optimises and sees the kernel's definition, as in a file that
 * defines it and launches `&kernel`, another size does not compile.
 * Errors: as tsr_launch; TSR_ERR_ARGUMENT also where the sizes differ (says
 * both).
 */
TSR_API tsr_status_t tsr_launch_sized(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
				      const void *args, size_t args_bytes);

/** One launch of a group. Made by TSR_LAUNCH_DESC, which knows the sizes. */
typedef struct tsr_launch_desc {
	size_t size; /* sizeof this struct, the same in all of an array */
	tsr_stream_t *stream;
	const tsr_kernel_t *kernel;
	int blocks;
	const void *args;
	/* of what `args` points to, which must be the kernel's; 0: not known, and not compared */
	size_t args_bytes;
} tsr_launch_desc_t;

/**
 * A launch of a group, whose members are as those of tsr_launch: with its own
 * size and that of the arguments. An argument of a call, or what a variable or
 * a part of an array begins as.
 */
#define TSR_LAUNCH_DESC(stream_, kernel_, blocks_, ...)                                            \
	(TSR_LITERAL(tsr_launch_desc_t){sizeof(tsr_launch_desc_t), (stream_),                      \
					tsr_kernel_for((kernel_), TSR_POINTEE_BYTES(__VA_ARGS__)), \
					(blocks_), (__VA_ARGS__), TSR_POINTEE_BYTES(__VA_ARGS__)})

/**
 * Starts kernels that wait for each other: all their blocks are on the device
 * together.
 * Errors: as tsr_launch_sized, TSR_ERR_ARGUMENT also for two of one stream, and
 *         TSR_ERR_RESIDENCY where the blocks do not fit together (says how many
 *         do); then nothing was started.
 */
TSR_API tsr_status_t tsr_launch_group(const tsr_launch_desc_t *launches, int count);

/**
 * Copies `src` of my heap to the copy of `dst` at `peer`, a rank of the
 * stream's team, behind the stream's earlier work, without a block: by the
 * device's own engine for copies (DMA) where it has one. Both views name my
 * heap and have the same extents and element type; rows may be any distance
 * apart that is not less than they are long. `peer` may be me, where rows of
 * one must not overlap rows of the other. An engine takes nothing from kernels
 * but bandwidth, where a kernel's stores to peers hold up its own loads: so
 * this serves what is large and known on the host. A copy costs the engine some
 * microseconds, whatever it moves. What is queued when the world ends may still
 * be made on a GPU.
 *
 * Orders: it reads `src` after the stream's earlier work, and what that did and
 * the host did before the call happens before it. It has ended, its bytes in
 * the peer's memory, when the stream's later work begins. No other rank knows:
 * a signal by a kernel behind it on the stream, or behind an event, releases it
 * (READY), and the kernel before it has waited until `dst` may be written
 * (RETIRED). Litmus: MP.rel.acq.diffGPU-ss, with the copy as the first write.
 *
 * Called by: any thread of the rank; returns at once; not collective. Without
 * elements: TSR_OK, nothing is done.
 * Errors: TSR_ERR_ARGUMENT (null, a rank outside the team, views that differ,
 *         leave the heap or overlap), TSR_ERR_ABORTED, TSR_ERR_NO_MEMORY,
 *         TSR_ERR_SYSTEM (rows 2 GiB apart or more, where the engine counts in
 *         31 bits); then nothing is copied.
 * Source: "on stream" operations as NVSHMEM has; ParallelKittens, section
 * 3.1.2: copy engines for what is large, here with rows apart.
 */
TSR_API tsr_status_t tsr_stream_put_2d(tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src,
				       int peer);

/** Any thread of the rank. */
TSR_API tsr_status_t tsr_event_create(tsr_world_t *world, tsr_event_t **event_out);
TSR_API tsr_status_t tsr_event_destroy(tsr_event_t *event);

/** Marks the point behind the stream's work so far. Recording again moves the mark. */
TSR_API tsr_status_t tsr_event_record(tsr_event_t *event, tsr_stream_t *stream);

/**
 * Later work of `stream` begins after the event's last recorded mark is
 * reached. An event never recorded is reached.
 */
TSR_API tsr_status_t tsr_stream_wait_event(tsr_stream_t *stream, tsr_event_t *event);

/** Waits on the host for the mark. Errors: those of tsr_stream_sync. */
TSR_API tsr_status_t tsr_event_sync(tsr_event_t *event);

/**
 * Nanoseconds from one reached mark to another. Errors: TSR_ERR_ARGUMENT where
 * one was not recorded or is not reached.
 */
TSR_API tsr_status_t tsr_event_elapsed_ns(const tsr_event_t *begin, const tsr_event_t *end,
					  uint64_t *ns_out);

#ifdef __cplusplus
}
#endif
#endif

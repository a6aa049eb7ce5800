/*
 * The record of a run, host half: which launches are recorded where, and what
 * is read of them. Kernels of images that keep a record (TSR_IMAGE_RECORDED)
 * write it to device memory, as gpu/dev/context.h says.
 */
#ifndef TESSERA_GPU_RECORD_H
#define TESSERA_GPU_RECORD_H

#include "gpu/gpu.h"

/** A device's clock and the host's (tsr_now_ns) at one moment, and how far both may be apart. */
typedef struct tsr_gpu_moment {
	uint64_t ticks, host_ns, error_ns;
} tsr_gpu_moment_t;

/** A launch since the record was started, or a copy. */
typedef struct tsr_gpu_recorded {
	const tsr_kernel_t *kernel; /* null: a copy */
	int stream, blocks;
	int lanes_each; /* of a block; 0: it kept no record */
	size_t first_lane;
	int size, *ranks; /* of the team: ranks in the world */
	/* of a copy: how long after the start it began and ended, by the vendor's events */
	void *events[2];
	uint64_t bytes;
	int peer;
} tsr_gpu_recorded_t;

typedef struct tsr_gpu_recording {
	bool on;
	bool read; /* rows are of the last launch too */
	/* device memory */
	tsr_gpu_lane_t *lanes;
	tsr_gpu_chunk_t *chunks;
	uint32_t *chunks_taken;
	size_t lanes_used;
	tsr_gpu_recorded_t *launches;
	int launch_count, launch_room;
	const tsr_kernel_t *unrecorded; /* a kernel that was launched and keeps no record */
	tsr_gpu_moment_t begin, end;
	void *begun; /* the vendor's event beside `begin` */
	tsr_record_entry_t *entries;
	tsr_record_event_t *events;
	int entry_count, event_count, entry_room, event_room;
} tsr_gpu_recording_t;

enum {
	TSR_GPU_LANES = (32 << 20) / sizeof(tsr_gpu_lane_t),
	TSR_GPU_CHUNKS = (32 << 20) / sizeof(tsr_gpu_chunk_t)
};

/* ------------------------------------------------------------ record.c */

/** With the lock: whether a launch of the kernel is to keep a record, and can. */
bool tsr_gpu_records(const tsr_gpu_t *gpu, const tsr_device_t *device, const tsr_kernel_t *kernel);

/**
 * With the lock: where a launch is recorded; nothing where none is. Errors:
 * TSR_ERR_NO_MEMORY (too many launches).
 */
tsr_status_t tsr_gpu_record_launch(tsr_gpu_t *gpu, const tsr_device_launch_t *launch,
				   const tsr_gpu_function_t *function,
				   tsr_gpu_record_t *record_out);

/**
 * With the lock and the device current: notes a copy between two events of its
 * stream. `begin` is to be called before it, `end` behind it; neither does
 * anything where nothing is recorded.
 */
void tsr_gpu_record_copy_begin(tsr_device_t *device, const tsr_device_stream_t *stream,
			       const tsr_device_copy_t *copy);
void tsr_gpu_record_copy_end(tsr_device_t *device, const tsr_device_stream_t *stream);

/** With the device current: when it is closed. */
void tsr_gpu_record_drop(tsr_device_t *device);

/* ------------------------------------------------------------ clock.c */

/**
 * With the device current and idle: compares its clock with the host's. Errors:
 * TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_gpu_clock_compare(tsr_device_t *device, tsr_gpu_moment_t *moment_out);

/** Ticks as the host's time; 0 remains 0. */
uint64_t tsr_gpu_clock_ns(const tsr_gpu_t *gpu, const tsr_gpu_recording_t *recording,
			  uint64_t ticks);

/* ------------------------------------------------------------ record_rows.c */

/** With the device current and idle: reads rows from what kernels have written. */
tsr_status_t tsr_gpu_record_read(tsr_device_t *device, tsr_gpu_recording_t *recording);

#endif

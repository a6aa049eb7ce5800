/*
 * Worlds of GPUs over several nodes, host half. Couriers carry what kernels ask
 * of far heaps to the net (courier.c), and what far ranks ask of this rank's heap
 * is served on the device (serve.c).
 */
#ifndef TESSERA_GPU_FAR_NODES_H
#define TESSERA_GPU_FAR_NODES_H

#include "gpu/gpu.h"
#include "src/net/net.h"

enum {
	TSR_GPU_COURIERS = 4, /* threads; each has requests of its own */
	TSR_GPU_STAGES = 8,   /* parts of memory for what comes: each for a message */
	TSR_GPU_STAGE_BYTES = TSR_NET_STAGED_BYTES
};

/** Host memory that the device can access. */
typedef struct tsr_gpu_shared_memory {
	void *memory; /* null: none */
	uint64_t on_device;
} tsr_gpu_shared_memory_t;

/** A courier. */
typedef struct tsr_gpu_courier {
	tsr_device_t *device;
	int first; /* of its requests; the next is TSR_GPU_COURIERS behind it */
	pthread_t thread;
	bool started;
} tsr_gpu_courier_t;

typedef struct tsr_gpu_nodes {
	/* what kernels ask for */
	tsr_gpu_shared_memory_t requests, rooms;
	void *words; /* device memory: tsr_gpu_far_t, and the words that it names */
	_Atomic uint32_t stop;
	tsr_gpu_courier_t courier[TSR_GPU_COURIERS];
	/* what far ranks ask for: used by whoever serves the net, one at a time */
	void *stream;
	void *module, *serve, *carry, *stack; /* the library's own kernels */
	tsr_gpu_shared_memory_t stages, old;
	int stage; /* the next */
	bool busy; /* the stream has work whose end nobody has seen */
} tsr_gpu_nodes_t;

/** With the device current: addresses for the heap of a far rank, with nothing behind them. */
tsr_status_t tsr_gpu_far_reserve(tsr_device_t *device, int rank);
void tsr_gpu_far_release(tsr_device_t *device, int rank);

/** tsr_heap_ops_t.serve, and what undoes it, with the device current. */
tsr_status_t tsr_gpu_nodes_serve(tsr_device_t *device, tsr_net_memory_t *memory_out);
void tsr_gpu_nodes_drop(tsr_device_t *device);

/** Starts the couriers; and tsr_heap_ops_t.leave_net, which ends them. */
tsr_status_t tsr_gpu_couriers_start(tsr_device_t *device);
void tsr_gpu_couriers_stop(tsr_device_t *device);

/**
 * With the device current: launches the kernel that copies rows to a far heap,
 * for which `copy->dst` is an address that only names the place. Returns the
 * driver's code.
 */
int tsr_gpu_far_carry(tsr_device_stream_t *stream, const tsr_device_copy_t *copy);

/** What kernels that have ended have written to far heaps is there when it returns. */
void tsr_gpu_far_flush(const tsr_gpu_t *gpu);

/** The calls of the net: src/net/net.h. */
void tsr_gpu_serve_memory(tsr_device_t *device, tsr_net_memory_t *memory_out);

#endif

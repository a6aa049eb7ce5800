/* The emulated device: opening, properties, and the table of the backend. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpuemu/device.h"
#include "src/base/error.h"
#include "src/base/settings/options.h"

static tsr_status_t device_probe(int *count_out)
{
	*count_out = 1;
	return TSR_OK;
}

static int usable_cpus(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/**
 * A rank's part of the processors. On one node at least two: one block runs
 * while another one waits. Between nodes the thread that serves messages takes
 * one of them.
 */
static int parallel_blocks(const tsr_host_t *host, int cpus, int resident)
{
	int ranks = 0;
	for (int r = 0; r < host->size; r++)
		ranks += !tsr_host_is_far(host, r);
	const bool far = ranks < host->size;
	const int least = far ? 1 : 2, share = cpus / ranks - far,
		  blocks = share < least ? least : share;
	return blocks < resident ? blocks : resident;
}

static tsr_status_t device_open(const tsr_host_t *host, tsr_device_t **device_out)
{
	tsr_options_t options;
	tsr_status_t status = tsr_options_read(&options);
	if (status != TSR_OK)
		return status;
	tsr_device_t *device = calloc(1, sizeof *device);
	if (!device)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the emulated device; free some");
	device->env.host = host;
	device->env.rank = host->rank;
	device->env.size = host->size;
	device->env.cpus = usable_cpus();
	device->env.spread = options.spread_passes;
	snprintf(device->props.name, sizeof device->props.name, "CPU emulator");
	device->props.ordinal = -1;
	device->props.resident_blocks = options.resident_blocks;
	device->props.parallel_blocks =
		parallel_blocks(host, device->env.cpus, options.resident_blocks);
	device->props.workers_per_block = options.max_workers;
	device->props.shared_bytes = options.shared_bytes;
	pthread_mutex_init(&device->lock, NULL);
	pthread_cond_init(&device->work, NULL);
	pthread_cond_init(&device->changed, NULL);
	device->queue_tail = &device->queue;
	device->ready_tail = &device->ready;
	tsr_cpu_explore_open(device);
	*device_out = device;
	return TSR_OK;
}

static void device_close(tsr_device_t *device)
{
	tsr_cpu_pool_close(device);
	tsr_cpu_record_drop(device);
	for (int i = 0; i < device->env.spares; i++)
		free(device->env.spare[i].data);
	pthread_cond_destroy(&device->changed);
	pthread_cond_destroy(&device->work);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

static tsr_status_t device_properties(tsr_device_t *device, tsr_device_props_t *props_out)
{
	*props_out = device->props;
	return TSR_OK;
}

static const tsr_device_ops_t device_ops = {
	.size = sizeof(tsr_device_ops_t),
	.probe = device_probe,
	.open = device_open,
	.close = device_close,
	.properties = device_properties,
};

const tsr_backend_t tsr_backend_cpuemu = {
	.abi = TSR_BACKEND_ABI,
	.name = "cpuemu",
	.thread_ranks = true,
	.gates = true,
	.device = &device_ops,
	.heap = &tsr_cpu_heap_ops,
	.window = &tsr_cpu_window_ops,
	.team = &tsr_cpu_team_ops,
	.stream = &tsr_cpu_stream_ops,
	.event = &tsr_cpu_event_ops,
	.record = &tsr_cpu_record_ops,
};

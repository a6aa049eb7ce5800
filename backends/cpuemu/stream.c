/* Streams: what the host calls. The order of things is in schedule.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpuemu/dev/engine.h"
#include "cpuemu/device.h"
#include "cpuemu/shared.h"
#include "src/base/error.h"

static tsr_status_t no_memory(const char *what)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no host memory for %s; free some, or launch fewer blocks", what);
}

tsr_status_t tsr_cpu_failure_status(const tsr_device_t *device, const tsr_cpu_failure_t *failure)
{
	if (failure->status != TSR_OK)
		return tsr_error(failure->status, "%s", failure->sentence);
	/* Relaxed: it says that the world has ended, and orders nothing. */
	if (atomic_load_explicit(&device->env.host->words->aborted, memory_order_relaxed) != 0)
		return tsr_error(TSR_ERR_ABORTED, "the world has ended: another rank or an earlier "
						  "call failed; see what it said");
	return TSR_OK;
}

void tsr_cpu_launch_fail(tsr_cpu_launch_t *launch, tsr_status_t status, const char *sentence)
{
	tsr_device_t *device = launch->stream->device;
	tsr_cpu_failure_t *failure = &launch->stream->failure;
	pthread_mutex_lock(&device->lock);
	if (failure->status == TSR_OK) {
		failure->status = status;
		snprintf(failure->sentence, sizeof failure->sentence, "%s", sentence);
	}
	pthread_mutex_unlock(&device->lock);
	device->env.host->abort_world(device->env.host->ctx, status, sentence);
}

static tsr_status_t stream_create(tsr_device_t *device, const tsr_device_team_t *team,
				  tsr_device_stream_t **stream_out)
{
	tsr_device_stream_t *stream = calloc(1, sizeof *stream);
	if (!stream)
		return no_memory("a stream");
	stream->device = device;
	stream->team = team;
	stream->tail = &stream->head;
	pthread_mutex_lock(&device->lock);
	stream->index = device->streams_created++;
	stream->next = device->streams;
	device->streams = stream;
	pthread_mutex_unlock(&device->lock);
	*stream_out = stream;
	return TSR_OK;
}

static tsr_status_t no_native(void)
{
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "the emulator runs on the CPU and has no streams of CUDA or HIP: make one "
			 "with tsr_stream_create, or set TESSERA_BACKEND");
}

static tsr_status_t stream_adopt(tsr_device_t *device, const tsr_device_team_t *team, void *native,
				 tsr_device_stream_t **stream_out)
{
	(void)device, (void)team, (void)native, (void)stream_out;
	return no_native();
}

static tsr_status_t stream_native(const tsr_device_stream_t *stream, void **native_out)
{
	(void)stream, (void)native_out;
	return no_native();
}

static void stream_destroy(tsr_device_stream_t *stream)
{
	tsr_device_t *device = stream->device;
	pthread_mutex_lock(&device->lock);
	for (tsr_device_stream_t **s = &device->streams; *s; s = &(*s)->next)
		if (*s == stream) {
			*s = stream->next;
			break;
		}
	pthread_mutex_unlock(&device->lock);
	if (tsr_cpu_explored(device))
		tsr_exploration_edge_drop(tsr_cpu_explored(device), stream->order);
	free(stream);
}

/* ------------------------------------------------------------------ launches */

static tsr_status_t launch_check(const tsr_device_t *device, const tsr_device_launch_t *l)
{
	const tsr_kernel_t *k = l->kernel;
	const tsr_device_props_t *props = &device->props;
	if (!k || !l->stream || l->blocks < 1 || (k->args_bytes > 0 && !l->args))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a launch of %d blocks of %s; it takes a stream, a kernel, its "
				 "arguments and at least one "
				 "block",
				 l->blocks, k ? k->name : "no kernel");
	if (k->abi != TSR_KERNEL_ABI || !k->cpu)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"kernel %s has no code for cpuemu; build its source with a C compiler too",
			k->name);
	if (k->workers > (uint32_t)props->workers_per_block)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"kernel %s splits a block into %u workers, the device into %d at most; set "
			"TESSERA_CPUEMU_WORKERS",
			k->name, (unsigned)k->workers, props->workers_per_block);
	if (k->shared_bytes > props->shared_bytes)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"kernel %s uses %s of shared memory a block, the device has %s; set "
			"TESSERA_CPUEMU_SHARED_SIZE",
			k->name, TSR_SIZE(k->shared_bytes), TSR_SIZE(props->shared_bytes));
	return TSR_OK;
}

void tsr_cpu_launch_release(tsr_cpu_launch_t *launch)
{
	for (int i = 0; i < launch->slots; i++)
		tsr_cpu_shared_free(launch->slot[i].shared);
	free(launch->slot);
	free(launch);
}

static bool launch_make_slots(tsr_device_t *device, tsr_cpu_launch_t *launch)
{
	size_t shared_bytes = launch->kernel->shared_bytes;
	launch->slot = calloc((size_t)launch->slots, sizeof *launch->slot);
	if (!launch->slot)
		return false;
	for (int i = 0; i < launch->slots; i++) {
		tsr_cpu_block_t *block = &launch->slot[i];
		block->env = &device->env;
		block->team = launch->stream->team;
		block->launch = launch;
		block->kernel = launch->kernel;
		block->count = launch->blocks;
		block->shared_bytes = shared_bytes;
		block->next = launch->free_slots;
		launch->free_slots = block;
		if (shared_bytes == 0)
			continue;
		block->shared = tsr_cpu_shared_make(shared_bytes);
		if (!block->shared)
			return false;
	}
	return true;
}

static tsr_cpu_launch_t *launch_make(tsr_device_t *device, const tsr_device_launch_t *l)
{
	tsr_cpu_launch_t *launch = calloc(1, sizeof *launch + l->kernel->args_bytes);
	if (!launch)
		return NULL;
	launch->stream = l->stream;
	launch->kernel = l->kernel;
	launch->blocks = l->blocks;
	launch->file = l->file ? l->file : "";
	launch->line = l->file ? l->line : 0;
	launch->gate = l->gate;
	launch->slots = l->blocks < device->props.resident_blocks ? l->blocks
								  : device->props.resident_blocks;
	if (l->kernel->args_bytes > 0)
		memcpy(launch->args, l->args, l->kernel->args_bytes);
	if (!launch_make_slots(device, launch)) {
		launch->slots = launch->slot ? launch->slots : 0;
		tsr_cpu_launch_release(launch);
		return NULL;
	}
	return launch;
}

/** A unit with its launches, and an item for each. All or nothing. */
static tsr_cpu_unit_t *unit_make(tsr_device_t *device, const tsr_device_launch_t *launches,
				 int count, tsr_cpu_item_t **items)
{
	tsr_cpu_unit_t *unit = calloc(1, sizeof *unit + (size_t)count * sizeof(tsr_cpu_launch_t *));
	if (!unit)
		return NULL;
	for (unit->count = 0; unit->count < count; unit->count++) {
		int i = unit->count;
		items[i] = calloc(1, sizeof **items);
		unit->launch[i] = items[i] ? launch_make(device, &launches[i]) : NULL;
		if (!unit->launch[i]) {
			free(items[i]);
			break;
		}
		items[i]->kind = TSR_CPU_ITEM_LAUNCH;
		items[i]->launch = unit->launch[i];
		unit->launch[i]->unit = unit;
		unit->blocks += launches[i].blocks;
	}
	unit->waiting = unit->living = count;
	return unit;
}

static void unit_release(tsr_cpu_unit_t *unit, tsr_cpu_item_t **items)
{
	for (int i = 0; i < unit->count; i++) {
		tsr_cpu_launch_release(unit->launch[i]);
		free(items[i]);
	}
	free(unit);
}

/** With the lock: threads, record, and into the streams. */
static tsr_status_t unit_queue(tsr_device_t *device, tsr_cpu_unit_t *unit, tsr_cpu_item_t **items)
{
	for (int i = 0; i < unit->count; i++) {
		tsr_cpu_launch_t *launch = unit->launch[i];
		int threads = launch->slots * (int)launch->kernel->workers;
		if (unit->engine)
			launch->stream->copies = true;
		else if (launch->stream->threads < threads)
			launch->stream->threads = threads;
	}
	tsr_status_t status = tsr_cpu_pool_grow(device);
	for (int i = 0; status == TSR_OK && i < unit->count; i++)
		status = tsr_cpu_record_launch(device, unit->launch[i]);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < unit->count; i++)
		tsr_cpu_stream_push(unit->launch[i]->stream, items[i]);
	tsr_cpu_advance(device);
	return TSR_OK;
}

typedef enum unit_kind { ONE_LAUNCH, TOGETHER, ENGINE } unit_kind_t;

static tsr_status_t unit_start(tsr_device_t *device, const tsr_device_launch_t *launches, int count,
			       unit_kind_t kind)
{
	tsr_cpu_item_t **items = calloc((size_t)count, sizeof *items);
	tsr_cpu_unit_t *unit = items ? unit_make(device, launches, count, items) : NULL;
	tsr_status_t status = TSR_OK;
	if (!unit || unit->count < count) {
		status = no_memory("a launch");
	} else {
		unit->together = kind == TOGETHER;
		unit->engine = kind == ENGINE;
		pthread_mutex_lock(&device->lock);
		status = unit_queue(device, unit, items);
		pthread_mutex_unlock(&device->lock);
	}
	if (status != TSR_OK && unit)
		unit_release(unit, items);
	free(items);
	return status;
}

/**
 * A group's blocks fit together, and no two of its launches stand behind each
 * other on one stream.
 */
static tsr_status_t group_check(const tsr_device_t *device, const tsr_device_launch_t *launches,
				int count)
{
	long blocks = 0;
	for (int i = 0; i < count; i++) {
		blocks += launches[i].blocks;
		for (int j = 0; j < i; j++)
			if (launches[j].stream == launches[i].stream)
				return tsr_error(TSR_ERR_ARGUMENT,
						 "kernels %s and %s of one group are on the same "
						 "stream, where one waits for "
						 "the end of the other; give each a stream",
						 launches[j].kernel->name,
						 launches[i].kernel->name);
	}
	if (blocks > device->props.resident_blocks)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "the group has %ld blocks, and %d can be resident together; "
				 "launch fewer blocks, or set "
				 "TESSERA_CPUEMU_RESIDENT_BLOCKS",
				 blocks, device->props.resident_blocks);
	return TSR_OK;
}

static tsr_status_t stream_launch(tsr_device_t *device, const tsr_device_launch_t *launches,
				  int count, bool together)
{
	static const tsr_cpu_failure_t none = {TSR_OK, ""};
	tsr_status_t status = tsr_cpu_failure_status(device, &none);
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = launch_check(device, &launches[i]);
	if (status == TSR_OK && together)
		status = group_check(device, launches, count);
	if (status != TSR_OK || count < 1)
		return status;
	if (together)
		return unit_start(device, launches, count, TOGETHER);
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = unit_start(device, &launches[i], 1, ONE_LAUNCH);
	return status;
}

static tsr_status_t stream_copy(tsr_device_stream_t *stream, const tsr_device_copy_t *copy)
{
	static const tsr_cpu_failure_t none = {TSR_OK, ""};
	const tsr_device_launch_t launch = {.stream = stream,
					    .kernel = &tsr_cpu_engine,
					    .blocks = 1,
					    .args = copy,
					    .file = copy->file,
					    .line = copy->line};
	const tsr_status_t status = tsr_cpu_failure_status(stream->device, &none);
	return status == TSR_OK ? unit_start(stream->device, &launch, 1, ENGINE) : status;
}

/* ------------------------------------------------------------------ waiting */

/**
 * Has no deadline of its own: a kernel may compute for hours. It ends all the
 * same, because every wait inside a kernel has the world's deadline and returns
 * when the world ends, and every block then runs to its end.
 */
static tsr_status_t stream_sync(tsr_device_stream_t *stream)
{
	tsr_device_t *device = stream->device;
	pthread_mutex_lock(&device->lock);
	uint64_t all = stream->given;
	if (tsr_cpu_explored(device)) {
		pthread_mutex_unlock(&device->lock);
		tsr_cpu_explore_sync_stream(stream, all);
		pthread_mutex_lock(&device->lock);
	}
	while (stream->done < all)
		pthread_cond_wait(&device->changed, &device->lock);
	tsr_cpu_failure_t failure = stream->failure;
	stream->failure.status = TSR_OK;
	pthread_mutex_unlock(&device->lock);
	return tsr_cpu_failure_status(device, &failure);
}

static tsr_status_t stream_wait_event(tsr_device_stream_t *stream, tsr_device_event_t *event)
{
	tsr_device_t *device = stream->device;
	tsr_cpu_item_t *item = calloc(1, sizeof *item);
	if (!item)
		return no_memory("a wait for an event");
	pthread_mutex_lock(&device->lock);
	*item = (tsr_cpu_item_t){
		.kind = TSR_CPU_ITEM_WAIT, .event = event, .mark = event->recorded};
	event->users++;
	tsr_cpu_stream_push(stream, item);
	tsr_cpu_advance(device);
	pthread_mutex_unlock(&device->lock);
	return TSR_OK;
}

const tsr_stream_ops_t tsr_cpu_stream_ops = {
	.size = sizeof(tsr_stream_ops_t),
	.create = stream_create,
	.destroy = stream_destroy,
	.launch = stream_launch,
	.sync = stream_sync,
	.wait_event = stream_wait_event,
	.copy = stream_copy,
	.adopt = stream_adopt,
	.native = stream_native,
};

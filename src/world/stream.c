/* Streams and launches: argument checks, then the backend. */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/place.h"
#include "src/base/sized.h"
#include "src/collectives/far_calls.h"
#include "src/world/state_uses.h"
#include "src/world/stream.h"
#include "tessera/span.h"

/** Makes a stream; with `adopts`, of the vendor's stream `native`. */
static tsr_status_t create(const char *call, tsr_team_t *team, bool adopts, void *native,
			   tsr_stream_t **stream_out)
{
	if (team == NULL || stream_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: team and stream_out must not be null",
				 call);
	tsr_world_t *world = team->world;
	tsr_status_t status = tsr_boot_check_process(world->boot, call);
	if (status != TSR_OK)
		return status;
	const tsr_stream_ops_t *ops = world->backend->stream;
	tsr_stream_t *stream = calloc(1, sizeof *stream);
	if (stream == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a stream; free some");
	stream->world = world;
	stream->team = team;
	stream->order.unknown = adopts;
	pthread_mutex_lock(&world->streams_lock);
	status = adopts ? ops->adopt(world->device, team->device, native, &stream->device)
			: ops->create(world->device, team->device, &stream->device);
	if (status == TSR_OK) {
		stream->next = world->streams;
		world->streams = stream;
		stream->order.stream = world->streams_created++;
	}
	pthread_mutex_unlock(&world->streams_lock);
	if (status != TSR_OK) {
		free(stream);
		return status;
	}
	*stream_out = stream;
	return TSR_OK;
}

tsr_status_t tsr_stream_create(tsr_team_t *team, tsr_stream_t **stream_out)
{
	return create("tsr_stream_create", team, false, NULL, stream_out);
}

tsr_status_t tsr_stream_from_native(tsr_team_t *team, void *native, tsr_stream_t **stream_out)
{
	return create("tsr_stream_from_native", team, true, native, stream_out);
}

tsr_status_t tsr_stream_native(const tsr_stream_t *stream, void **native_out)
{
	if (stream == NULL || native_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_stream_native: stream and native_out must not be null");
	const tsr_status_t status =
		stream->world->backend->stream->native(stream->device, native_out);
	if (status == TSR_OK) {
		tsr_stream_t *mine = (tsr_stream_t *)stream; /* who has it may order it */
		pthread_mutex_lock(&mine->world->order_lock);
		mine->order.unknown = true;
		pthread_mutex_unlock(&mine->world->order_lock);
	}
	return status;
}

tsr_team_t *tsr_stream_team(const tsr_stream_t *stream)
{
	return stream->team;
}

tsr_status_t tsr_stream_destroy(tsr_stream_t *stream)
{
	if (stream == NULL)
		return TSR_OK;
	tsr_world_t *world = stream->world;
	tsr_status_t status = tsr_boot_check_process(world->boot, "tsr_stream_destroy");
	if (status != TSR_OK)
		return status;
	status = tsr_stream_sync(stream);
	pthread_mutex_lock(&world->streams_lock);
	for (tsr_stream_t **link = &world->streams; *link != NULL; link = &(*link)->next)
		if (*link == stream) {
			*link = stream->next;
			break;
		}
	world->backend->stream->destroy(stream->device);
	pthread_mutex_unlock(&world->streams_lock);
	tsr_uses_forget_stream(stream);
	tsr_order_drop(&stream->order);
	free(stream);
	return status;
}

tsr_status_t tsr_stream_sync(tsr_stream_t *stream)
{
	if (stream == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_stream_sync: stream must not be null");
	tsr_status_t status = tsr_boot_check_process(stream->world->boot, "tsr_stream_sync");
	if (status != TSR_OK)
		return status;
	tsr_order_t until = tsr_order_now(stream);
	tsr_span_begin("tsr_stream_sync", NULL);
	/* where it fails, the world has ended, and kernels end soon: they are waited for */
	status = tsr_collective_settle(stream->world, &until);
	const tsr_status_t synced = stream->world->backend->stream->sync(stream->device);
	status = tsr_world_result(stream->world, status == TSR_OK ? synced : TSR_ERR_ABORTED);
	tsr_span_end();
	tsr_order_synced(stream->world, &until);
	tsr_order_drop(&until);
	return status;
}

bool tsr_team_has_stream(const tsr_team_t *team)
{
	bool has = false;
	pthread_mutex_lock(&team->world->streams_lock);
	for (const tsr_stream_t *stream = team->world->streams; stream != NULL;
	     stream = stream->next)
		has = has || stream->team == team;
	pthread_mutex_unlock(&team->world->streams_lock);
	return has;
}

tsr_status_t tsr_world_sync_streams(tsr_world_t *world, const tsr_team_t *team)
{
	tsr_status_t first = TSR_OK;
	char sentence[1024] = "";
	pthread_mutex_lock(&world->streams_lock);
	for (tsr_stream_t *stream = world->streams; stream != NULL; stream = stream->next) {
		if (team != NULL && stream->team != team)
			continue;
		const tsr_status_t status = tsr_stream_sync(stream);
		if (first == TSR_OK && status != TSR_OK) {
			first = status;
			/* a later stream may fail otherwise */
			snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
		}
	}
	pthread_mutex_unlock(&world->streams_lock);
	return first == TSR_OK ? TSR_OK : tsr_error(first, "%s", sentence);
}

/** What can be told of one launch without asking the device. */
static tsr_status_t check_launch(const char *call, const tsr_launch_desc_t *launch)
{
	if (launch->stream == NULL || launch->kernel == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: stream and kernel must not be null (tsr_kernel_find returns "
				 "null where there is no such "
				 "kernel or variant)",
				 call);
	const tsr_kernel_t *kernel = launch->kernel;
	if (kernel->abi != TSR_KERNEL_ABI)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"the kernel %s was built for descriptor version %u, not %u: build it anew",
			kernel->name, kernel->abi, TSR_KERNEL_ABI);
	if (launch->blocks < 1)
		return tsr_error(TSR_ERR_ARGUMENT, "%s of %s on %d blocks: it takes at least 1",
				 call, kernel->name, launch->blocks);
	if (launch->args == NULL && kernel->args_bytes > 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s of %s without arguments: it takes %s of them", call,
				 kernel->name, TSR_SIZE(kernel->args_bytes));
	if (launch->args != NULL && launch->args_bytes != 0 &&
	    launch->args_bytes != kernel->args_bytes)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s of %s with arguments of %s: it takes %s; hand it the struct "
				 "that its TSR_KERNEL names",
				 call, kernel->name, TSR_SIZE(launch->args_bytes),
				 TSR_SIZE(kernel->args_bytes));
	const tsr_boot_t *boot = launch->stream->world->boot;
	const tsr_status_t status = tsr_boot_check_process(boot, call);
	if (status != TSR_OK)
		return status;
	return tsr_boot_ended(boot) == TSR_OK ? TSR_OK : TSR_ERR_ABORTED;
}

void tsr_world_note_launch(tsr_world_t *world)
{
	/* Relaxed: it hands nothing over. */
	if (world->options.check != NULL && world->host.exploration == NULL &&
	    !atomic_exchange_explicit(&world->launched, true, memory_order_relaxed))
		tsr_executor.launched(world->options.check);
}

/** The launch as the device takes it, with the place of the host's call. */
static tsr_device_launch_t at_this_call(const tsr_launch_desc_t *launch)
{
	return (tsr_device_launch_t){.stream = launch->stream->device,
				     .kernel = launch->kernel,
				     .blocks = launch->blocks,
				     .args = launch->args,
				     .file = tsr_place_here()->file,
				     .line = tsr_place_here()->line};
}

tsr_status_t tsr_launch_gated(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
			      const void *args, size_t args_bytes, const tsr_device_gate_t *gate)
{
	const tsr_launch_desc_t launch = {sizeof launch, stream, kernel, blocks, args, args_bytes};
	const tsr_status_t status = check_launch("tsr_launch", &launch);
	if (status != TSR_OK)
		return status;
	const tsr_world_t *world = stream->world;
	tsr_world_note_launch(stream->world);
	tsr_device_launch_t device_launch = at_this_call(&launch);
	device_launch.gate = *gate;
	tsr_log_to(world->log, TSR_LOG_DEBUG, "launches %s%s%s on %d blocks", kernel->name,
		   *kernel->variant ? " " : "", kernel->variant, blocks);
	tsr_span_begin("tsr_launch", kernel->name);
	const tsr_status_t launched =
		tsr_world_result(world, world->backend->stream->launch(world->device,
								       &device_launch, 1, false));
	tsr_span_end();
	return launched;
}

tsr_status_t tsr_launch_sized(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
			      const void *args, size_t args_bytes)
{
	const tsr_device_gate_t none = {.pass = NULL};
	return tsr_launch_gated(stream, kernel, blocks, args, args_bytes, &none);
}

tsr_status_t tsr_launch(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
			const void *args)
{
	return tsr_launch_sized(stream, kernel, blocks, args, 0);
}

/**
 * All of one world, and no two in one stream: what follows another in its
 * stream cannot be on the device with it.
 */
static tsr_status_t check_group(const tsr_launch_desc_t *launches, int count)
{
	for (int i = 0; i < count; i++) {
		const tsr_status_t status = check_launch("tsr_launch_group", &launches[i]);
		if (status != TSR_OK)
			return status;
		for (int j = 0; j < i; j++) {
			if (launches[j].stream == launches[i].stream)
				return tsr_error(TSR_ERR_ARGUMENT,
						 "tsr_launch_group: launches %d and %d are in one "
						 "stream, so they cannot be on the device "
						 "together: give each its own stream",
						 j, i);
			if (launches[j].stream->world != launches[i].stream->world)
				return tsr_error(
					TSR_ERR_ARGUMENT,
					"tsr_launch_group: launches %d and %d are of two worlds", j,
					i);
		}
	}
	return TSR_OK;
}

/** The caller's descriptors, which may be of another version, as this one's. */
static tsr_status_t take_group(const tsr_launch_desc_t *theirs, int count, tsr_launch_desc_t *ours)
{
	for (int i = 0; i < count; i++) {
		const tsr_launch_desc_t *const it =
			(const void *)((const char *)theirs + (size_t)i * theirs->size);
		const tsr_status_t status =
			TSR_SIZED_TAKE(tsr_launch_desc_t, args_bytes, it, &ours[i]);
		if (status != TSR_OK)
			return status;
		if (it->size != theirs->size)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "tsr_launch_group: launch 0 has a size of %zu and launch "
					 "%d one of %zu: make each by "
					 "TSR_LAUNCH_DESC",
					 theirs->size, i, it->size);
	}
	return TSR_OK;
}

static tsr_status_t launch_group(const tsr_launch_desc_t *launches, int count,
				 tsr_device_launch_t *device_launches)
{
	const tsr_status_t status = check_group(launches, count);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < count; i++)
		device_launches[i] = at_this_call(&launches[i]);
	tsr_world_t *world = launches[0].stream->world;
	tsr_world_note_launch(world);
	for (int i = 0; i < count; i++)
		tsr_log_to(world->log, TSR_LOG_DEBUG, "launches %s%s%s on %d blocks, %d of %d",
			   launches[i].kernel->name, *launches[i].kernel->variant ? " " : "",
			   launches[i].kernel->variant, launches[i].blocks, i + 1, count);
	tsr_span_begin("tsr_launch_group", launches[0].kernel->name);
	const tsr_status_t launched =
		tsr_world_result(world,
				 world->backend->stream->launch(world->device, device_launches,
								count, true));
	tsr_span_end();
	return launched;
}

tsr_status_t tsr_launch_group(const tsr_launch_desc_t *launches, int count)
{
	if (launches == NULL || count < 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_launch_group of %d launches: it takes at least 1", count);
	tsr_launch_desc_t *ours = calloc((size_t)count, sizeof *ours);
	tsr_device_launch_t *device_launches = calloc((size_t)count, sizeof *device_launches);
	tsr_status_t status =
		ours != NULL && device_launches != NULL
			? take_group(launches, count, ours)
			: tsr_error(TSR_ERR_NO_MEMORY,
				    "the host has no memory for a group of %d launches; free some",
				    count);
	if (status == TSR_OK)
		status = launch_group(ours, count, device_launches);
	free(ours);
	free(device_launches);
	return status;
}

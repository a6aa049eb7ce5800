/* What the library gives to a backend, and what anybody may ask about a world. */
#include <stdio.h>

#include "src/base/error.h"
#include "src/base/sized.h"
#include "src/base/text.h"
#include "src/collectives/agree.h"
#include "src/heap/rooms.h"
#include "src/world/host.h"

static void abort_world(void *ctx, tsr_status_t status, const char *sentence)
{
	tsr_world_t *world = ctx;
	char text[1024], apart[512];
	if (status == TSR_ERR_TIMEOUT) {
		snprintf(text, sizeof text, "%.500s%s", sentence,
			 tsr_collective_apart(world, apart, sizeof apart));
		sentence = text;
	}
	tsr_boot_abort(world->boot, status, sentence);
}

static bool find_allocation(void *ctx, size_t heap_offset, char name_out[32], size_t *offset_out)
{
	tsr_world_t *world = ctx;
	const char *name;
	size_t begin, size;
	pthread_mutex_lock(&world->allocator_lock);
	const bool found = tsr_heap_allocation(world, heap_offset, &name, &begin, &size);
	if (found) {
		tsr_text_cut(tsr_allocator_shown(name), 32, name_out);
		*offset_out = heap_offset - begin;
	}
	pthread_mutex_unlock(&world->allocator_lock);
	return found;
}

static void keep_wait_record(void *ctx, tsr_wait_record_t *record, const void *flag)
{
	tsr_world_t *world = ctx;
	size_t heap_offset, offset;
	if (flag != NULL && tsr_heap_offset(world, (uintptr_t)flag, &heap_offset) &&
	    find_allocation(ctx, heap_offset, record->allocation, &offset))
		record->offset_bytes = offset;
	tsr_boot_keep_wait_record(world->boot, record);
}

static int lost_rank(void *ctx)
{
	const tsr_world_t *world = ctx;
	return tsr_boot_lost_rank(world->boot);
}

void tsr_world_make_host(tsr_world_t *world)
{
	world->host = (tsr_host_t){
		.ctx = world,
		.rank = world->rank,
		.size = world->size,
		.process = tsr_boot_process(world->boot),
		.deadline_ns = world->options.deadline_ns,
		.words = tsr_boot_words(world->boot),
		.nodes = world->nodes,
		.exploration = tsr_boot_exploration(world->boot),
		.cuda_ipc = world->options.cuda_ipc,
		.hip_uncached = world->options.hip_uncached,
		.abort_world = abort_world,
		.keep_wait_record = keep_wait_record,
		.lost_rank = lost_rank,
		.find_allocation = find_allocation,
	};
}

int tsr_world_rank(const tsr_world_t *world)
{
	return world->rank;
}

int tsr_world_size(const tsr_world_t *world)
{
	return world->size;
}

int tsr_world_in_threads(const tsr_world_t *world)
{
	return world != NULL && tsr_boot_in_threads(world->boot);
}

const char *tsr_world_backend(const tsr_world_t *world)
{
	return world->backend->name;
}

uint64_t tsr_world_deadline_ns(const tsr_world_t *world)
{
	return world->options.deadline_ns;
}

tsr_status_t tsr_world_device(const tsr_world_t *world, tsr_device_props_t *props_out)
{
	if (world == NULL || props_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_world_device: world and props_out must not be null");
	tsr_device_props_t props;
	const tsr_status_t status = world->backend->device->properties(world->device, &props);
	return status == TSR_OK ? TSR_SIZED_GIVE(tsr_device_props_t, tile_depth, props_out, &props)
				: status;
}

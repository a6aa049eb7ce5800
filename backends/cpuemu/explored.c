/*
 * The device while all ranks are explored in one process. Blocks run as fibres,
 * and the exploration is told the order that streams and events make. schedule.c
 * decides when blocks begin, as in other runs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/device.h"
#include "cpuemu/shared.h"
#include "src/base/error.h"
#include "src/base/openblas.h"

/* ------------------------------------------------------------------ blocks */

/** What a worker's fibre is to run. */
typedef struct fibre {
	tsr_cpu_block_t *block;
	int index;
} fibre_t;

static tsr_worker_who_t who_of(const tsr_cpu_block_t *block, int worker)
{
	return (tsr_worker_who_t){.rank = block->env->rank,
				  .launch = block->launch->order,
				  .kernel = block->kernel->name,
				  .block = block->index,
				  .worker = worker,
				  .team = block->team->name,
				  .team_rank = block->team->rank};
}

/**
 * With the lock: the block's last worker has ended. Its shared memory and its
 * meeting go with it.
 */
static void end_block(tsr_device_t *device, tsr_cpu_block_t *block)
{
	tsr_exploration_t *exploration = tsr_cpu_explored(device);
	if (block->shared) {
		tsr_exploration_end_shared(exploration, block->shared);
		tsr_cpu_shared_reset(block->shared, block->shared_bytes);
	}
	tsr_exploration_end_meeting(exploration, block->explored);
	free(block->explored);
	block->explored = NULL;
	tsr_cpu_block_ended(block);
}

/** The worker's private data is in its frames: a second worker has it from the first, and apart. */
static void fibre_main(void *ctx)
{
	const fibre_t fibre = *(fibre_t *)ctx;
	tsr_cpu_block_t *block = fibre.block;
	tsr_device_t *device = block->launch->stream->device;
	tsr_cpu_worker_t worker = {0};
	free(ctx);
	tsr_cpu_run_worker(&worker, block, fibre.index);
	tsr_cpu_arena_clear(&worker.arena);
	free(worker.passes);
	tsr_exploration_end(tsr_cpu_explored(device), block->launch->end);
	pthread_mutex_lock(&device->lock);
	if (--block->unfinished == 0)
		end_block(device, block);
	pthread_mutex_unlock(&device->lock);
	tsr_exploration_changed(tsr_cpu_explored(device), device->env.rank);
}

static tsr_status_t begin_worker(tsr_device_t *device, tsr_cpu_block_t *block, int index)
{
	const tsr_worker_who_t who = who_of(block, index);
	fibre_t *fibre = calloc(1, sizeof *fibre);
	if (!fibre)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for a worker's fibre; launch fewer blocks");
	fibre->block = block;
	fibre->index = index;
	return tsr_exploration_begin(tsr_cpu_explored(device), &who, fibre_main, fibre,
				     block->launch->begin);
}

void tsr_cpu_explore_block(tsr_device_t *device, tsr_cpu_block_t *block)
{
	const tsr_worker_who_t who = who_of(block, 0);
	tsr_status_t status = TSR_OK;
	block->explored = calloc(1, sizeof *block->explored);
	if (!block->explored)
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "no host memory for a block's meeting; launch fewer blocks");
	if (status == TSR_OK && block->shared)
		status = tsr_exploration_add_shared(tsr_cpu_explored(device), &who, block->shared,
						    block->shared_bytes);
	for (int i = 0; status == TSR_OK && i < (int)block->kernel->workers; i++)
		status = begin_worker(device, block, i);
	if (status != TSR_OK)
		tsr_exploration_abort(tsr_cpu_explored(device), status, 0, tsr_last_error());
}

/** What the second worker has copied of the first's, and is not its own. */
static void forget_first(tsr_cpu_worker_t *worker)
{
	worker->passes = NULL;
	for (int i = 0; i < TSR_CPU_ARENA_DEPTH; i++)
		worker->arena.slot[i] = (tsr_cpu_slot_t){.data = NULL};
}

/** Whether each of two workers could go on with what the one has. */
static bool may_split(const tsr_coop_t *block)
{
	/* a copy of the block's coop, fragments, and the record are one worker's alone */
	return block == block->worker->whole && block->worker->arena.depth == 0 &&
	       !block->block->launch->entries && !block->block->launch->unit->engine;
}

void tsr_cpu_explore_split(tsr_coop_t *coop)
{
	tsr_cpu_block_t *block = coop->block;
	tsr_device_t *device = block->launch->stream->device;
	const tsr_worker_who_t second = who_of(block, 1);
	const int index =
		may_split(coop) ? tsr_exploration_split(tsr_cpu_explored(device), &second) : -1;
	if (index < 0)
		return;
	coop->index = coop->worker->index = index;
	coop->count = block->parts = 2;
	if (index == 1) {
		forget_first(coop->worker);
		return;
	}
	/* Relaxed: a count for guesses. */
	atomic_fetch_add_explicit(&block->env->running, 1, memory_order_relaxed);
	pthread_mutex_lock(&device->lock);
	block->unfinished++;
	pthread_mutex_unlock(&device->lock);
}

/* ------------------------------------------------------------------ edges */

/** Makes an edge where there is none yet. */
static tsr_edge_t *edge_of(tsr_device_t *device, tsr_edge_t **edge)
{
	tsr_exploration_t *exploration = tsr_cpu_explored(device);
	if (!*edge && tsr_exploration_edge(exploration, edge) != TSR_OK)
		tsr_exploration_abort(exploration, TSR_ERR_NO_MEMORY, 0, tsr_last_error());
	return *edge;
}

static void drop_edge(tsr_device_t *device, tsr_edge_t **edge)
{
	tsr_exploration_edge_drop(tsr_cpu_explored(device), *edge);
	*edge = NULL;
}

/** Orders the host's earlier work before the item. */
void tsr_cpu_explore_queued(tsr_device_stream_t *stream, tsr_cpu_item_t *item)
{
	tsr_device_t *device = stream->device;
	if (!tsr_cpu_explored(device))
		return;
	tsr_exploration_give(tsr_cpu_explored(device), edge_of(device, &item->after));
	if (item->kind == TSR_CPU_ITEM_LAUNCH)
		item->launch->order = device->launches++;
}

/**
 * A launch is about to join its unit: it comes after the host's call and all
 * that is before it on the stream.
 */
void tsr_cpu_explore_begins(tsr_device_stream_t *stream, tsr_cpu_item_t *item)
{
	tsr_device_t *device = stream->device;
	tsr_exploration_t *exploration = tsr_cpu_explored(device);
	if (!exploration)
		return;
	tsr_exploration_join(exploration, edge_of(device, &item->launch->begin), item->after);
	tsr_exploration_join(exploration, item->launch->begin, edge_of(device, &stream->order));
	(void)edge_of(device, &item->launch->end);
}

/**
 * An item has ended. Orders it, and the host's work before it was queued, before
 * the stream's later items.
 */
void tsr_cpu_explore_passed(tsr_device_stream_t *stream, tsr_cpu_item_t *item)
{
	tsr_device_t *device = stream->device;
	tsr_exploration_t *exploration = tsr_cpu_explored(device);
	if (!exploration)
		return;
	tsr_exploration_join(exploration, edge_of(device, &stream->order), item->after);
	if (item->kind == TSR_CPU_ITEM_WAIT)
		tsr_exploration_join(exploration, stream->order,
				     edge_of(device, &item->event->order));
	if (item->kind == TSR_CPU_ITEM_MARK)
		tsr_exploration_join(exploration, edge_of(device, &item->event->order),
				     stream->order);
	drop_edge(device, &item->after);
}

/** The last block has ended. Orders the launch before the stream's later items. */
void tsr_cpu_explore_launch_ended(tsr_cpu_launch_t *launch)
{
	tsr_device_stream_t *stream = launch->stream;
	tsr_device_t *device = stream->device;
	if (!tsr_cpu_explored(device))
		return;
	tsr_exploration_join(tsr_cpu_explored(device), edge_of(device, &stream->order),
			     launch->end);
	drop_edge(device, &launch->begin);
	drop_edge(device, &launch->end);
}

/* ------------------------------------------------------------------ waits of the host */

typedef struct sync {
	const uint64_t *done;
	uint64_t wanted;
} sync_t;

static bool sync_over(void *ctx)
{
	const sync_t *sync = ctx;
	return *sync->done >= sync->wanted;
}

void tsr_cpu_explore_sync_stream(tsr_device_stream_t *stream, uint64_t all)
{
	sync_t sync = {&stream->done, all};
	const tsr_host_wait_t wait = {.over = sync_over,
				      .ctx = &sync,
				      .what = TSR_HOST_WAIT_STREAM,
				      .call = "tsr_stream_sync"};
	tsr_exploration_wait(tsr_cpu_explored(stream->device), &wait);
	tsr_exploration_take(tsr_cpu_explored(stream->device),
			     edge_of(stream->device, &stream->order));
}

void tsr_cpu_explore_sync_event(tsr_device_event_t *event, uint64_t mark)
{
	sync_t sync = {&event->reached, mark};
	const tsr_host_wait_t wait = {.over = sync_over,
				      .ctx = &sync,
				      .what = TSR_HOST_WAIT_EVENT,
				      .call = "tsr_event_sync"};
	tsr_exploration_wait(tsr_cpu_explored(event->device), &wait);
	tsr_exploration_take(tsr_cpu_explored(event->device),
			     edge_of(event->device, &event->order));
}

/* ------------------------------------------------------------------ blocks that wait for room */

static void tell_unbegun(void *ctx, tsr_exploration_tell_fn tell, void *argument)
{
	const tsr_device_t *device = ctx;
	for (const tsr_cpu_unit_t *unit = device->queue; unit; unit = unit->next)
		for (int i = 0; i < unit->count; i++) {
			const tsr_cpu_launch_t *launch = unit->launch[i];
			for (int b = launch->begun; b < launch->blocks; b++) {
				const tsr_worker_who_t who = {.rank = device->env.rank,
							      .launch = launch->order,
							      .kernel = launch->kernel->name,
							      .block = b,
							      .team = launch->stream->team->name,
							      .team_rank =
								      launch->stream->team->rank};
				tell(argument, &who);
			}
		}
}

void tsr_cpu_explore_open(tsr_device_t *device)
{
	if (!tsr_cpu_explored(device))
		return;
	(void)tsr_openblas_prepare(); /* schedules are forked from this process */
	device->props.resident_blocks =
		tsr_exploration_room(tsr_cpu_explored(device), device->props.resident_blocks);
	device->props.parallel_blocks = device->props.resident_blocks;
	tsr_exploration_residency(tsr_cpu_explored(device), device->env.rank, tell_unbegun, device);
}

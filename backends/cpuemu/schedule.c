/*
 * The order in which work runs. A stream processes its items in order. A launch
 * at the head of its stream joins its unit, and a complete unit joins the
 * device's queue. Blocks begin strictly in the order of that queue, as many as
 * may be resident, so no launch starves. A copy by the copy engine begins when it
 * is at the head of its stream, however many blocks are resident.
 * The caller of each function holds the device's lock.
 */
#include <stdlib.h>

#include "cpuemu/device.h"

void tsr_cpu_stream_push(tsr_device_stream_t *stream, tsr_cpu_item_t *item)
{
	tsr_cpu_explore_queued(stream, item);
	*stream->tail = item;
	stream->tail = &item->next;
	stream->given++;
}

static void stream_pop(tsr_device_stream_t *stream)
{
	tsr_cpu_item_t *item = stream->head;
	stream->head = item->next;
	if (!stream->head)
		stream->tail = &stream->head;
	stream->done++;
	tsr_cpu_explore_passed(stream, item);
	if (item->event)
		tsr_cpu_event_unuse(item->event);
	free(item);
	pthread_cond_broadcast(&stream->device->changed);
}

static void block_begin(tsr_device_t *device, tsr_cpu_launch_t *launch)
{
	tsr_cpu_block_t *block = launch->free_slots;
	launch->free_slots = block->next;
	block->next = NULL;
	block->index = launch->begun++;
	block->taken = 0;
	block->parts = 0;
	block->unfinished = (int)launch->kernel->workers;
	/* Relaxed: the lock hands the block to its threads. */
	atomic_store_explicit(&block->arrived, 0, memory_order_relaxed);
	atomic_store_explicit(&block->phase, 0, memory_order_relaxed);
	atomic_store_explicit(&block->sleepers, 0, memory_order_relaxed);
	device->resident += !launch->unit->engine;
	if (tsr_cpu_explored(device)) {
		tsr_cpu_explore_block(device, block);
		return;
	}
	*device->ready_tail = block;
	device->ready_tail = &block->next;
	for (uint32_t i = 0; i < launch->kernel->workers; i++)
		pthread_cond_signal(&device->work);
}

static void unit_join(tsr_device_t *device, tsr_cpu_unit_t *unit)
{
	if (--unit->waiting > 0)
		return;
	if (unit->engine) {
		block_begin(device, unit->launch[0]);
		return;
	}
	*device->queue_tail = unit;
	device->queue_tail = &unit->next;
}

/** Moves a stream by one item. False: its head has to wait. */
static bool stream_step(tsr_device_stream_t *stream)
{
	tsr_cpu_item_t *item = stream->head;
	if (!item)
		return false;
	switch (item->kind) {
	case TSR_CPU_ITEM_LAUNCH:
		if (!item->submitted) {
			tsr_cpu_explore_begins(stream, item);
			unit_join(stream->device, item->launch->unit);
		}
		item->submitted = true;
		return false; /* goes on when its last block has ended */
	case TSR_CPU_ITEM_MARK:
		tsr_cpu_event_reached(item->event, item->mark, &stream->failure);
		break;
	case TSR_CPU_ITEM_WAIT:
		if (item->event->reached < item->mark)
			return false;
		break;
	}
	stream_pop(stream);
	return true;
}

/** Begins as many blocks of the unit as fit. True: all its blocks have begun. */
static bool unit_admit(tsr_device_t *device, tsr_cpu_unit_t *unit)
{
	if (unit->together && device->resident + unit->blocks > device->props.resident_blocks)
		return false;
	for (int i = 0; i < unit->count; i++)
		while (unit->launch[i]->begun < unit->launch[i]->blocks) {
			if (device->resident == device->props.resident_blocks)
				return false;
			block_begin(device, unit->launch[i]);
		}
	return true;
}

void tsr_cpu_advance(tsr_device_t *device)
{
	/* an event that is reached may let another stream go on */
	for (bool moved = true; moved;) {
		moved = false;
		for (tsr_device_stream_t *stream = device->streams; stream; stream = stream->next)
			while (stream_step(stream))
				moved = true;
	}
	while (device->queue && unit_admit(device, device->queue)) {
		device->queue = device->queue->next;
		if (!device->queue)
			device->queue_tail = &device->queue;
	}
}

static void launch_ended(tsr_cpu_launch_t *launch)
{
	tsr_device_stream_t *stream = launch->stream;
	tsr_cpu_unit_t *unit = launch->unit;
	tsr_cpu_explore_launch_ended(launch);
	tsr_cpu_launch_release(launch);
	if (--unit->living == 0)
		free(unit);
	stream_pop(stream);
}

void tsr_cpu_block_ended(tsr_cpu_block_t *block)
{
	tsr_cpu_launch_t *launch = block->launch;
	tsr_device_t *device = launch->stream->device;
	block->next = launch->free_slots;
	launch->free_slots = block;
	device->resident -= !launch->unit->engine;
	if (++launch->ended == launch->blocks)
		launch_ended(launch);
	tsr_cpu_advance(device);
}

/*
 * The record of a run: every worker writes the entry that was made for it when
 * its kernel was launched, and appends to its list of events.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cpuemu/device.h"
#include "cpuemu/events.h"
#include "src/base/error.h"

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no host memory for the record of a launch; record fewer launches");
}

/** Who the entries belong to. What they did is written by the workers. */
static void entries_name(const tsr_cpu_launch_t *launch, int order, tsr_record_entry_t *entries)
{
	int workers = (int)launch->kernel->workers;
	for (int i = 0; i < launch->blocks * workers; i++) {
		tsr_record_entry_t *entry = &entries[i];
		entry->launch = order;
		entry->stream = launch->stream->index;
		entry->block = i / workers;
		entry->worker = i % workers;
		snprintf(entry->kernel, sizeof entry->kernel, "%s", launch->kernel->name);
		snprintf(entry->variant, sizeof entry->variant, "%s", launch->kernel->variant);
	}
}

tsr_status_t tsr_cpu_record_launch(tsr_device_t *device, tsr_cpu_launch_t *launch)
{
	if (!device->recording)
		return TSR_OK;
	int count = launch->blocks * (int)launch->kernel->workers;
	tsr_cpu_recorded_t *grown = realloc(device->recorded, ((size_t)device->recorded_count + 1) *
								      sizeof *device->recorded);
	if (!grown)
		return no_memory();
	device->recorded = grown;
	tsr_record_entry_t *entries = calloc((size_t)count, sizeof *entries);
	tsr_cpu_events_t *events = calloc((size_t)count, sizeof *events);
	if (!entries || !events) {
		free(entries);
		free(events);
		return no_memory();
	}
	entries_name(launch, device->recorded_count, entries);
	device->recorded[device->recorded_count++] = (tsr_cpu_recorded_t){entries, events, count};
	launch->entries = entries;
	launch->events = events;
	return TSR_OK;
}

void tsr_cpu_record_drop(tsr_device_t *device)
{
	for (int i = 0; i < device->recorded_count; i++) {
		for (int j = 0; j < device->recorded[i].count; j++)
			free(device->recorded[i].events[j].event);
		free(device->recorded[i].events);
		free(device->recorded[i].entries);
	}
	free(device->recorded);
	device->recorded = NULL;
	device->recorded_count = 0;
}

static tsr_status_t record_start(tsr_device_t *device)
{
	pthread_mutex_lock(&device->lock);
	tsr_cpu_record_drop(device);
	device->recording = true;
	pthread_mutex_unlock(&device->lock);
	return TSR_OK;
}

static tsr_status_t record_stop(tsr_device_t *device)
{
	pthread_mutex_lock(&device->lock);
	device->recording = false;
	pthread_mutex_unlock(&device->lock);
	return TSR_OK;
}

static tsr_status_t record_entry(const tsr_device_t *device, int index,
				 tsr_record_entry_t *entry_out)
{
	for (int i = 0, left = index; left >= 0 && i < device->recorded_count;
	     left -= device->recorded[i++].count)
		if (left < device->recorded[i].count) {
			*entry_out = device->recorded[i].entries[left];
			return TSR_OK;
		}
	return tsr_error(
		TSR_ERR_NOT_FOUND,
		"the record has no entry %d; count up from 0 to the first that is not found",
		index);
}

/** An event with what its worker's entry says of whose it is. */
static tsr_record_event_t event_of(const tsr_record_entry_t *entry, tsr_record_event_t event)
{
	event.size = sizeof event;
	event.launch = entry->launch;
	event.stream = entry->stream;
	event.block = entry->block;
	event.worker = entry->worker;
	return event;
}

static tsr_status_t record_event(const tsr_device_t *device, int index,
				 tsr_record_event_t *event_out)
{
	int left = index;
	for (int i = 0; left >= 0 && i < device->recorded_count; i++) {
		const tsr_cpu_recorded_t *r = &device->recorded[i];
		for (int j = 0; j < r->count; left -= r->events[j++].count)
			if (left < r->events[j].count) {
				*event_out = event_of(&r->entries[j], r->events[j].event[left]);
				return TSR_OK;
			}
	}
	return tsr_error(
		TSR_ERR_NOT_FOUND,
		"the record has no event %d; count up from 0 to the first that is not found",
		index);
}

const tsr_record_ops_t tsr_cpu_record_ops = {
	.size = sizeof(tsr_record_ops_t),
	.start = record_start,
	.stop = record_stop,
	.entry = record_entry,
	.event = record_event,
};

/* Entries and events of a record, from the lanes and chunks that kernels have written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/record.h"
#include "src/base/error.h"

_Static_assert((int)TSR_GPU_EVENT_MARK == (int)TSR_RECORD_MARK &&
		       (int)TSR_GPU_EVENT_PRODUCT == (int)TSR_RECORD_PRODUCT &&
		       (int)TSR_GPU_EVENT_WAIT == (int)TSR_RECORD_WAIT &&
		       (int)TSR_GPU_EVENT_SIGNAL == (int)TSR_RECORD_SIGNAL &&
		       (int)TSR_GPU_EVENT_SEND == (int)TSR_RECORD_SEND,
	       "kernels write the kinds of tessera/record.h");
_Static_assert(TSR_GPU_EVENTS_MOST == TSR_RECORD_EVENTS, "as the contract says");

enum { MOST_LANES = 32 }; /* of a block */

/** What is read, and the rows that are made of it. */
typedef struct reading {
	const tsr_gpu_t *gpu;
	tsr_gpu_recording_t *recording;
	tsr_gpu_lane_t *lanes; /* copies in host memory */
	tsr_gpu_chunk_t *chunks;
	uint32_t chunk_count;
} reading_t;

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for the rows of a record; free some");
}

/** The next row of a list that grows; null where there is no memory. */
static void *next_row(void *rows, int *count, int *room, size_t row_bytes)
{
	void **list = rows;
	if (*count == *room) {
		const int more = *room ? 2 * *room : 256;
		void *grown = realloc(*list, (size_t)more * row_bytes);
		if (!grown)
			return NULL;
		*list = grown;
		*room = more;
	}
	return (char *)*list + (size_t)(*count)++ * row_bytes;
}

static uint64_t ns_of(const reading_t *reading, uint64_t ticks)
{
	return tsr_gpu_clock_ns(reading->gpu, reading->recording, ticks);
}

/* ------------------------------------------------------------ events */

static int rank_of(const tsr_gpu_recorded_t *launch, int member)
{
	return member >= 0 && member < launch->size ? launch->ranks[member] : -1;
}

/** Which flag it is: an allocation and a place in it. */
static void name_flag(const reading_t *reading, const tsr_gpu_event_t *from,
		      tsr_record_event_t *event)
{
	const tsr_gpu_t *gpu = reading->gpu;
	size_t offset, in_allocation;
	if (!tsr_gpu_offset(gpu, from->more.of.address, &offset)) {
		/* as the device counts it: the address's lower bits */
		event->offset_bytes = from->more.of.address & 0xffffffu;
		snprintf(event->name, sizeof event->name, "shared memory");
		return;
	}
	event->offset_bytes = offset;
	if (gpu->host->find_allocation(gpu->host->ctx, offset, event->name, &in_allocation))
		event->offset_bytes = in_allocation;
}

static tsr_record_event_t event_of(const reading_t *reading, const tsr_gpu_recorded_t *launch,
				   const tsr_record_entry_t *entry, const tsr_gpu_event_t *from)
{
	tsr_record_event_t event = {.size = sizeof event,
				    .launch = entry->launch,
				    .stream = entry->stream,
				    .block = entry->block,
				    .worker = entry->worker,
				    .kind = (int)from->kind,
				    .peer = rank_of(launch, from->peer),
				    .owner = reading->gpu->host->rank,
				    .value = from->value,
				    .begin_ns = ns_of(reading, from->begin),
				    .end_ns = ns_of(reading, from->end)};
	if (from->kind == TSR_GPU_EVENT_MARK) {
		snprintf(event.name, sizeof event.name, "%.31s", from->more.name);
	} else if (from->kind == TSR_GPU_EVENT_WAIT || from->kind == TSR_GPU_EVENT_SIGNAL) {
		event.owner = rank_of(launch, from->more.of.owner);
		name_flag(reading, from, &event);
	} else {
		event.bytes = from->more.of.bytes;
	}
	return event;
}

/** The events of a lane, from its list of chunks. */
static tsr_status_t add_events(const reading_t *reading, const tsr_gpu_recorded_t *launch,
			       const tsr_record_entry_t *entry, const tsr_gpu_lane_t *lane)
{
	tsr_gpu_recording_t *r = reading->recording;
	uint32_t chunk = lane->first_chunk;
	for (uint32_t i = 0; i < lane->events; i++) {
		if (i > 0 && i % TSR_GPU_EVENTS_EACH == 0)
			chunk = reading->chunks[chunk - 1].next;
		if (chunk == 0 || chunk > reading->chunk_count)
			return tsr_error(TSR_ERR_SYSTEM,
					 "the record of kernel %s on rank %d is not whole: a "
					 "kernel may have crashed, or still be running",
					 entry->kernel, reading->gpu->host->rank);
		tsr_record_event_t *event =
			next_row(&r->events, &r->event_count, &r->event_room, sizeof *event);
		if (!event)
			return no_memory();
		*event = event_of(reading, launch, entry,
				  &reading->chunks[chunk - 1].event[i % TSR_GPU_EVENTS_EACH]);
	}
	return TSR_OK;
}

/* ------------------------------------------------------------ entries */

static tsr_record_entry_t named(const tsr_gpu_recording_t *r, int number)
{
	const tsr_gpu_recorded_t *launch = &r->launches[number];
	const uint64_t error_ns =
		r->begin.error_ns > r->end.error_ns ? r->begin.error_ns : r->end.error_ns;
	tsr_record_entry_t entry = {.size = sizeof entry,
				    .launch = number,
				    .stream = launch->stream,
				    .clock_error_ns = error_ns};
	if (launch->kernel) {
		snprintf(entry.kernel, sizeof entry.kernel, "%s", launch->kernel->name);
		snprintf(entry.variant, sizeof entry.variant, "%s", launch->kernel->variant);
	}
	return entry;
}

static tsr_record_entry_t entry_of(const reading_t *reading, int number, int block,
				   const tsr_gpu_lane_t *lane)
{
	const uint64_t khz = reading->gpu->launch.clock_khz;
	tsr_record_entry_t entry = named(reading->recording, number);
	entry.block = block;
	entry.worker = lane->worker;
	memcpy(entry.role, lane->role, sizeof lane->role);
	entry.role[sizeof entry.role - 1] = '\0';
	entry.products = lane->products;
	entry.operand_bytes = lane->operand_bytes;
	entry.local_written_bytes = lane->local_written_bytes;
	entry.local_read_bytes = lane->local_read_bytes;
	entry.remote_written_bytes = lane->remote_written_bytes;
	entry.remote_read_bytes = lane->remote_read_bytes;
	/* a sender is known when its first send has ended */
	entry.begin_ns = ns_of(reading, lane->first_remote && lane->first_remote < lane->begin
						? lane->first_remote
						: lane->begin);
	entry.end_ns = ns_of(reading, lane->end);
	entry.first_remote_ns = ns_of(reading, lane->first_remote);
	entry.last_remote_ns = ns_of(reading, lane->last_remote);
	entry.first_product_ns = ns_of(reading, lane->first_product);
	entry.last_product_ns = ns_of(reading, lane->last_product);
	entry.wait_ns = (uint64_t)((double)lane->waited * 1e6 / (double)khz);
	entry.events = lane->events;
	entry.events_lost = lane->lost;
	return entry;
}

/** The lanes of a block that did something, by the numbers of their workers. */
static int sort_lanes(const tsr_gpu_lane_t *lanes, int count,
		      const tsr_gpu_lane_t *sorted[MOST_LANES])
{
	int used = 0;
	for (int i = 0; i < count && i < MOST_LANES; i++) {
		if (!lanes[i].begin)
			continue;
		int at = used++;
		for (; at > 0 && sorted[at - 1]->worker > lanes[i].worker; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &lanes[i];
	}
	return used;
}

static tsr_status_t add_block(const reading_t *reading, int number, int block)
{
	tsr_gpu_recording_t *r = reading->recording;
	const tsr_gpu_recorded_t *launch = &r->launches[number];
	const tsr_gpu_lane_t *sorted[MOST_LANES];
	const int used = sort_lanes(reading->lanes + launch->first_lane +
					    (size_t)block * (size_t)launch->lanes_each,
				    launch->lanes_each, sorted);
	for (int i = 0; i < used; i++) {
		const tsr_record_entry_t entry = entry_of(reading, number, block, sorted[i]);
		tsr_record_entry_t *row =
			next_row(&r->entries, &r->entry_count, &r->entry_room, sizeof *row);
		if (!row)
			return no_memory();
		*row = entry;
		const tsr_status_t status = add_events(reading, launch, &entry, sorted[i]);
		if (status != TSR_OK)
			return status;
	}
	return TSR_OK;
}

/** A copy: one worker without events. Times are by the vendor's events, from the record's start. */
static tsr_status_t add_copy(tsr_device_t *device, const reading_t *reading, int number)
{
	tsr_gpu_recording_t *r = reading->recording;
	const tsr_gpu_recorded_t *copy = &r->launches[number];
	const bool remote = copy->peer != reading->gpu->host->rank;
	float ms[2] = {0, 0};
	for (int i = 0; i < 2; i++)
		if (copy->events[i])
			(void)reading->gpu->vendor->calls->event_elapsed(device, &ms[i], r->begun,
									 copy->events[i]);
	tsr_record_entry_t entry = named(r, number);
	snprintf(entry.kernel, sizeof entry.kernel, "tsr_stream_put_2d");
	snprintf(entry.role, sizeof entry.role, "copy engine");
	entry.begin_ns = r->begin.host_ns + (uint64_t)((double)ms[0] * 1e6);
	entry.end_ns = r->begin.host_ns + (uint64_t)((double)ms[1] * 1e6);
	entry.local_read_bytes = copy->bytes;
	*(remote ? &entry.remote_written_bytes : &entry.local_written_bytes) = copy->bytes;
	entry.first_remote_ns = remote ? entry.begin_ns : 0;
	entry.last_remote_ns = remote ? entry.end_ns : 0;
	tsr_record_entry_t *row =
		next_row(&r->entries, &r->entry_count, &r->entry_room, sizeof *row);
	if (!row)
		return no_memory();
	*row = entry;
	return TSR_OK;
}

/* ------------------------------------------------------------ all of it */

static tsr_status_t add_launches(tsr_device_t *device, const reading_t *reading)
{
	tsr_gpu_recording_t *r = reading->recording;
	tsr_status_t status = TSR_OK;
	r->entry_count = r->event_count = 0;
	for (int i = 0; status == TSR_OK && i < r->launch_count; i++) {
		if (!r->launches[i].kernel)
			status = add_copy(device, reading, i);
		for (int block = 0; status == TSR_OK && r->launches[i].lanes_each > 0 &&
				    block < r->launches[i].blocks;
		     block++)
			status = add_block(reading, i, block);
	}
	return status;
}

tsr_status_t tsr_gpu_record_read(tsr_device_t *device, tsr_gpu_recording_t *r)
{
	reading_t reading = {.gpu = tsr_gpu_of(device), .recording = r};
	uint32_t taken = 0;
	tsr_status_t status = tsr_gpu_copy_from(device, &taken, r->chunks_taken, sizeof taken);
	reading.chunk_count = taken < TSR_GPU_CHUNKS ? taken : TSR_GPU_CHUNKS;
	reading.lanes = malloc(r->lanes_used * sizeof *reading.lanes + 1);
	reading.chunks = malloc(reading.chunk_count * sizeof *reading.chunks + 1);
	if (status == TSR_OK && (!reading.lanes || !reading.chunks))
		status = no_memory();
	if (status == TSR_OK && r->lanes_used > 0)
		status = tsr_gpu_copy_from(device, reading.lanes, r->lanes,
					   r->lanes_used * sizeof *reading.lanes);
	if (status == TSR_OK && reading.chunk_count > 0)
		status = tsr_gpu_copy_from(device, reading.chunks, r->chunks,
					   reading.chunk_count * sizeof *reading.chunks);
	if (status == TSR_OK)
		status = add_launches(device, &reading);
	free(reading.lanes);
	free(reading.chunks);
	return status;
}

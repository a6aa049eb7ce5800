/* The record of a run: kept by the backend. */
#include "tessera/record.h"
#include "src/base/error.h"
#include "src/base/sized.h"
#include "src/world/world.h"

static tsr_status_t check_keeps_record(const char *call, const tsr_world_t *world)
{
	if (world == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: world must not be null", call);
	if (world->backend->record == NULL)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"%s: the backend %s keeps no record of a run: use TESSERA_BACKEND=cpuemu",
			call, world->backend->name);
	return TSR_OK;
}

tsr_status_t tsr_record_start(tsr_world_t *world)
{
	const tsr_status_t status = check_keeps_record("tsr_record_start", world);
	return status == TSR_OK ? world->backend->record->start(world->device) : status;
}

tsr_status_t tsr_record_stop(tsr_world_t *world)
{
	const tsr_status_t status = check_keeps_record("tsr_record_stop", world);
	return status == TSR_OK ? world->backend->record->stop(world->device) : status;
}

tsr_status_t tsr_record_entry(const tsr_world_t *world, int index, tsr_record_entry_t *entry_out)
{
	tsr_status_t status = check_keeps_record("tsr_record_entry", world);
	if (status != TSR_OK)
		return status;
	if (entry_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_record_entry: entry_out must not be null");
	tsr_record_entry_t entry;
	status = world->backend->record->entry(world->device, index, &entry);
	return status == TSR_OK
		       ? TSR_SIZED_GIVE(tsr_record_entry_t, clock_error_ns, entry_out, &entry)
		       : status;
}

tsr_status_t tsr_record_event(const tsr_world_t *world, int index, tsr_record_event_t *event_out)
{
	tsr_status_t status = check_keeps_record("tsr_record_event", world);
	if (status != TSR_OK)
		return status;
	if (event_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_record_event: event_out must not be null");
	tsr_record_event_t event;
	status = world->backend->record->event(world->device, index, &event);
	return status == TSR_OK ? TSR_SIZED_GIVE(tsr_record_event_t, end_ns, event_out, &event)
				: status;
}

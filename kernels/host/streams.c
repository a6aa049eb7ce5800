#include "kernels/host/streams.h"

#include "kernels/host/errors.h"

static tsr_status_t create_event(tsr_world_t *world, tsr_event_t **event)
{
	return *event ? TSR_OK : tsr_event_create(world, event);
}

static tsr_status_t create_stream(tsr_world_t *world, tsr_stream_t **stream)
{
	return *stream ? TSR_OK : tsr_stream_create(tsr_world_team(world), stream);
}

tsr_status_t streams_create(tsr_world_t *world, int sides, int marks, streams_t *streams)
{
	tsr_status_t status = create_stream(world, &streams->main);
	if (status == TSR_OK && sides > 0)
		status = create_event(world, &streams->forked);
	for (int i = 0; status == TSR_OK && i < sides; i++) {
		status = create_stream(world, &streams->side[i]);
		if (status == TSR_OK)
			status = create_event(world, &streams->joined[i]);
	}
	for (int i = 0; status == TSR_OK && i < marks; i++)
		status = create_event(world, &streams->mark[i]);
	return status;
}

tsr_status_t streams_fork(const streams_t *streams, int sides)
{
	tsr_status_t status = tsr_event_record(streams->forked, streams->main);
	for (int i = 0; status == TSR_OK && i < sides; i++)
		status = tsr_stream_wait_event(streams->side[i], streams->forked);
	return status;
}

tsr_status_t streams_join(const streams_t *streams, int sides)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < sides; i++) {
		status = tsr_event_record(streams->joined[i], streams->side[i]);
		if (status == TSR_OK)
			status = tsr_stream_wait_event(streams->main, streams->joined[i]);
	}
	return status;
}

tsr_status_t streams_sync(const streams_t *streams)
{
	tsr_status_t status = tsr_stream_sync(streams->main);
	for (int i = 0; i < STREAMS_SIDES && streams->side[i]; i++)
		status = error_first(status, tsr_stream_sync(streams->side[i]));
	return status;
}

static tsr_status_t destroy_events(tsr_event_t *const *events, int count)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < count; i++)
		if (events[i])
			status = error_first(status, tsr_event_destroy(events[i]));
	return status;
}

tsr_status_t streams_destroy(streams_t *streams)
{
	tsr_status_t status = tsr_stream_destroy(streams->main);
	for (int i = 0; i < STREAMS_SIDES; i++)
		status = error_first(status, tsr_stream_destroy(streams->side[i]));
	status = error_first(status, destroy_events(streams->joined, STREAMS_SIDES));
	status = error_first(status, destroy_events(streams->mark, STREAMS_MARKS));
	status = error_first(status, destroy_events(&streams->forked, 1));
	*streams = (streams_t){.main = NULL};
	return status;
}

/* Streams and events, as src/world stores them. */
#ifndef TESSERA_WORLD_STREAM_H
#define TESSERA_WORLD_STREAM_H

#include "src/world/order.h"
#include "src/world/team.h"
#include "tessera/stream.h"

struct tsr_stream {
	tsr_world_t *world;
	tsr_team_t *team;
	tsr_device_stream_t *device;
	struct tsr_stream *next; /* in world->streams */
	tsr_order_t order;       /* guarded by world->order_lock */
};

struct tsr_event {
	tsr_world_t *world;
	tsr_device_event_t *device;
	tsr_order_t order; /* the same */
};

/**
 * Returns a backend's status; if the world has ended meanwhile, with the
 * sentence that ended it.
 */
tsr_status_t tsr_world_result(const tsr_world_t *world, tsr_status_t status);

/** As tsr_launch_sized, with a gate, where the backend has gates. */
tsr_status_t tsr_launch_gated(tsr_stream_t *stream, const tsr_kernel_t *kernel, int blocks,
			      const void *args, size_t args_bytes, const tsr_device_gate_t *gate);

/** Reports the first launch, once, if tessera check times a run. */
void tsr_world_note_launch(tsr_world_t *world);

#endif

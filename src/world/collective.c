/* Collective calls on host memory. */
#include <stdio.h>

#include "src/base/error.h"
#include "src/world/world.h"

tsr_status_t tsr_world_exchange(tsr_world_t *world, const char *call, const char *arguments, const void *mine, void *all,
				size_t size_bytes)
{
	return tsr_boot_exchange(world->boot, call, arguments, mine, all, size_bytes);
}

tsr_status_t tsr_barrier(tsr_world_t *world)
{
	if (world == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_barrier: world must not be null");
	const tsr_status_t status = tsr_world_sync_streams(world);
	if (status != TSR_OK) {
		tsr_boot_abort(world->boot, status, tsr_last_error()); /* this rank never comes: the others must not wait for it */
		return status;
	}
	return tsr_world_exchange(world, "tsr_barrier", "", NULL, NULL, 0);
}

tsr_status_t tsr_broadcast(tsr_world_t *world, void *data, size_t size_bytes, int root)
{
	if (world == NULL || (data == NULL && size_bytes > 0))
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_broadcast: world and data must not be null");
	if (root < 0 || root >= world->size)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_broadcast from rank %d: the world has ranks 0 to %d", root,
				 world->size - 1);
	char arguments[32];
	snprintf(arguments, sizeof arguments, "root %d", root);
	return tsr_boot_broadcast(world->boot, "tsr_broadcast", arguments, data, size_bytes, root);
}

tsr_status_t tsr_allgather(tsr_world_t *world, const void *mine, void *all, size_t size_bytes)
{
	if (world == NULL || ((mine == NULL || all == NULL) && size_bytes > 0))
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_allgather: world, mine and all must not be null");
	return tsr_world_exchange(world, "tsr_allgather", "", mine, all, size_bytes);
}

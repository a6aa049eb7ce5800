/* Teams: their tables in device memory. */
#include "hip/device.h"

tsr_status_t tsr_hip_make_table(tsr_device_t *device, size_t size_bytes, void **table_out)
{
	void *table = NULL;
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_check(&device->hip, device->hip.mem_alloc(&table, size_bytes), "see whether the GPU's memory is full",
			       "making the table of a team on rank %d", device->gpu.host->rank);
	tsr_hip_leave(device, before);
	if (status == TSR_OK)
		*table_out = table;
	return status;
}

tsr_status_t tsr_hip_fill_table(tsr_device_t *device, void *table, const void *bytes, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_copy_to(device, table, bytes, size_bytes);
	tsr_hip_leave(device, before);
	return status;
}

void tsr_hip_drop_table(tsr_device_t *device, void *table)
{
	int before;
	if (tsr_hip_enter(device, &before) != TSR_OK)
		return;
	(void)device->hip.mem_free(table);
	tsr_hip_leave(device, before);
}

static tsr_status_t team_create(tsr_device_t *device, const tsr_host_team_t *host, tsr_device_team_t **team_out)
{
	return tsr_gpu_team_create(&device->gpu, device, host, team_out);
}

static void team_destroy(tsr_device_t *device, tsr_device_team_t *team)
{
	tsr_gpu_team_destroy(&device->gpu, team);
}

const tsr_team_ops_t tsr_hip_team_ops = {
	.size = sizeof(tsr_team_ops_t),
	.create = team_create,
	.destroy = team_destroy,
};

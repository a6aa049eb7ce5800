/* Teams: their tables in device memory. */
#include "cuda/device.h"

tsr_status_t tsr_cuda_make_table(tsr_device_t *device, size_t size_bytes, void **table_out)
{
	CUdeviceptr table = 0;
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_check(&device->cu, device->cu.mem_alloc(&table, size_bytes),
				"see nvidia-smi whether the GPU's memory is full", "making the table of a team on rank %d",
				device->gpu.host->rank);
	tsr_cuda_leave(device);
	if (status == TSR_OK)
		*table_out = (void *)(uintptr_t)table;
	return status;
}

tsr_status_t tsr_cuda_fill_table(tsr_device_t *device, void *table, const void *bytes, size_t size_bytes)
{
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_copy_to(device, (CUdeviceptr)(uintptr_t)table, bytes, size_bytes);
	tsr_cuda_leave(device);
	return status;
}

void tsr_cuda_drop_table(tsr_device_t *device, void *table)
{
	if (tsr_cuda_enter(device) != TSR_OK)
		return;
	(void)device->cu.mem_free((CUdeviceptr)(uintptr_t)table);
	tsr_cuda_leave(device);
}

static tsr_status_t team_create(tsr_device_t *device, const tsr_host_team_t *host, tsr_device_team_t **team_out)
{
	return tsr_gpu_team_create(&device->gpu, device, host, team_out);
}

static void team_destroy(tsr_device_t *device, tsr_device_team_t *team)
{
	tsr_gpu_team_destroy(&device->gpu, team);
}

const tsr_team_ops_t tsr_cuda_team_ops = {
	.size = sizeof(tsr_team_ops_t),
	.create = team_create,
	.destroy = team_destroy,
};

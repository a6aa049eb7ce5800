/* Teams: a table in device memory of where the members' heaps are. */
#include <stdlib.h>

#include "gpu/gpu.h"
#include "src/base/error.h"

/** A team that has ended, or null. */
static tsr_device_team_t *take_spare(tsr_gpu_t *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	tsr_device_team_t *team = gpu->spare_teams;
	if (team)
		gpu->spare_teams = team->next;
	pthread_mutex_unlock(&gpu->lock);
	return team;
}

static void keep_spare(tsr_gpu_t *gpu, tsr_device_team_t *team)
{
	pthread_mutex_lock(&gpu->lock);
	team->next = gpu->spare_teams;
	gpu->spare_teams = team;
	pthread_mutex_unlock(&gpu->lock);
}

static tsr_status_t make(tsr_gpu_t *gpu, tsr_device_t *device, tsr_device_team_t **team_out)
{
	void *table;
	tsr_device_team_t *team = calloc(1, sizeof *team);
	if (!team)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for a team; free some");
	const tsr_status_t status = gpu->vendor->make_table(device, (size_t)gpu->host->size * sizeof *team->away, &table);
	if (status != TSR_OK) {
		free(team);
		return status;
	}
	team->away = table;
	*team_out = team;
	return TSR_OK;
}

tsr_status_t tsr_gpu_team_create(tsr_gpu_t *gpu, tsr_device_t *device, const tsr_host_team_t *host, tsr_device_team_t **team_out)
{
	int64_t away[TSR_MAX_RANKS];
	tsr_device_team_t *team = take_spare(gpu);
	tsr_status_t status = team ? TSR_OK : make(gpu, device, &team);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < host->size; i++)
		away[i] = gpu->away[host->ranks[i]];
	status = gpu->vendor->fill_table(device, team->away, away, (size_t)host->size * sizeof *away);
	if (status != TSR_OK) {
		keep_spare(gpu, team);
		return status;
	}
	team->host = host;
	*team_out = team;
	return TSR_OK;
}

void tsr_gpu_team_destroy(tsr_gpu_t *gpu, tsr_device_team_t *team)
{
	team->host = NULL;
	keep_spare(gpu, team);
}

void tsr_gpu_teams_drop(tsr_gpu_t *gpu, tsr_device_t *device)
{
	tsr_device_team_t *team;
	while ((team = take_spare(gpu))) {
		gpu->vendor->drop_table(device, team->away);
		free(team);
	}
}

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

/** Of both tables of a team of all ranks, each of them on a node of its own. */
static size_t table_bytes(int size)
{
	return (size_t)size * sizeof(int64_t) +
	       (size_t)TSR_GPU_NODES_WORDS(size, size) * sizeof(int32_t);
}

static tsr_status_t make(tsr_device_t *device, tsr_device_team_t **team_out)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	void *table;
	int before;
	tsr_device_team_t *team = calloc(1, sizeof *team);
	if (!team)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for a team; free some");
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status == TSR_OK) {
		status = tsr_gpu_check(device,
				       gpu->vendor->calls->alloc(device, &table,
								 table_bytes(gpu->host->size)),
				       gpu->vendor->memory_is_full,
				       "making the table of a team on rank %d", gpu->host->rank);
		tsr_gpu_leave(device, before);
	}
	if (status != TSR_OK) {
		free(team);
		return status;
	}
	team->peer_offset = table;
	*team_out = team;
	return TSR_OK;
}

/**
 * Writes the team's nodes as tsr_gpu_context_t.nodes has them, in the world's
 * order; returns how many words they are.
 */
static size_t list_nodes(const tsr_gpu_t *gpu, const tsr_host_team_t *host, int32_t *words)
{
	const int size = host->size;
	int number[TSR_MAX_RANKS] = {0}, count = 0; /* of the world's nodes, in this team */
	int32_t members[TSR_MAX_RANKS] = {0}, *rank = words + 1, *node = rank + size,
		*place = node + size;
	for (int i = 0; i < size; i++)
		number[gpu->host->nodes[host->ranks[i]]] = 1;
	for (int n = 0; n < TSR_MAX_RANKS; n++)
		number[n] = number[n] ? count++ : -1;
	for (int i = 0; i < size; i++) {
		rank[i] = host->ranks[i];
		node[i] = number[gpu->host->nodes[host->ranks[i]]];
		place[i] = members[node[i]]++;
	}
	int32_t *begin = place + size, *member = begin + count + 1;
	words[0] = count;
	begin[0] = 0;
	for (int n = 0; n < count; n++)
		begin[n + 1] = begin[n] + members[n];
	for (int i = 0; i < size; i++)
		member[begin[node[i]] + place[i]] = i;
	return (size_t)TSR_GPU_NODES_WORDS(size, count);
}

static tsr_status_t fill(tsr_device_t *device, const tsr_device_team_t *team,
			 const tsr_host_team_t *host)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	int64_t peer_offset[TSR_MAX_RANKS];
	int32_t nodes[TSR_GPU_NODES_WORDS(TSR_MAX_RANKS, TSR_MAX_RANKS)];
	int before;
	for (int i = 0; i < host->size; i++)
		peer_offset[i] = gpu->peer_offset[host->ranks[i]];
	const size_t words = list_nodes(gpu, host, nodes);
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_copy_to(device, team->peer_offset, peer_offset,
				 (size_t)host->size * sizeof *peer_offset);
	if (status == TSR_OK && gpu->nodes)
		status = tsr_gpu_copy_to(device, team->peer_offset + gpu->host->size, nodes,
					 words * sizeof *nodes);
	tsr_gpu_leave(device, before);
	return status;
}

static tsr_status_t team_create(tsr_device_t *device, const tsr_host_team_t *host,
				tsr_device_team_t **team_out)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_device_team_t *team = take_spare(gpu);
	tsr_status_t status = team ? TSR_OK : make(device, &team);
	if (status != TSR_OK)
		return status;
	status = fill(device, team, host);
	if (status != TSR_OK) {
		keep_spare(gpu, team);
		return status;
	}
	team->host = host;
	*team_out = team;
	return TSR_OK;
}

static void team_destroy(tsr_device_t *device, tsr_device_team_t *team)
{
	team->host = NULL;
	keep_spare(tsr_gpu_of(device), team);
}

void tsr_gpu_teams_drop(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_device_team_t *team;
	while ((team = take_spare(gpu))) {
		(void)gpu->vendor->calls->release(device, team->peer_offset);
		free(team);
	}
}

const tsr_team_ops_t tsr_gpu_team_ops = {
	.size = sizeof(tsr_team_ops_t),
	.create = team_create,
	.destroy = team_destroy,
};

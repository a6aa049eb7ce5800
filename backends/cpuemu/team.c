/* Teams of the emulator: a table of the members' heaps. */
#include <stdlib.h>

#include "cpuemu/device.h"
#include "src/base/error.h"

/** FNV-1a of the ranks in their order. */
static uint64_t key_of(const tsr_host_team_t *host)
{
	uint64_t key = 14695981039346656037u;
	for (int i = 0; i < host->size; i++)
		key = (key ^ (uint64_t)host->ranks[i]) * 1099511628211u;
	return key;
}

/** Adds the members that are on a node of the world, if there are any. */
static void add_node(tsr_cpu_nodes_t *nodes, const tsr_host_team_t *host, const int *node_of,
		     int node)
{
	int end = nodes->first[nodes->count];
	for (int r = 0; r < host->size; r++) {
		if (node_of[host->ranks[r]] != node)
			continue;
		nodes->node[r] = nodes->count;
		nodes->place[r] = end - nodes->first[nodes->count];
		nodes->member[end++] = r;
	}
	if (end > nodes->first[nodes->count])
		nodes->first[++nodes->count] = end;
}

static tsr_status_t team_create(tsr_device_t *device, const tsr_host_team_t *host,
				tsr_device_team_t **team_out)
{
	tsr_device_team_t *team =
		calloc(1, sizeof *team + (size_t)host->size * sizeof team->base[0]);
	if (!team)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for a team of %d ranks; free some", host->size);
	team->host = host;
	team->rank = host->rank;
	team->size = host->size;
	team->ranks = host->ranks;
	team->key = key_of(host);
	if (tsr_cpu_explored(device))
		team->name = tsr_exploration_name(tsr_cpu_explored(device), host->name);
	team->heap = (tsr_cpu_window_t){.mine = device->env.base[device->env.rank],
					.bytes = device->env.heap_bytes,
					.base = team->base};
	for (int i = 0; i < host->size; i++)
		team->base[i] = device->env.base[host->ranks[i]];
	for (int node = 0; team->nodes.first[team->nodes.count] < host->size; node++)
		add_node(&team->nodes, host, device->env.host->nodes, node);
	*team_out = team;
	return TSR_OK;
}

static void team_destroy(tsr_device_t *device, tsr_device_team_t *team)
{
	(void)device;
	free(team);
}

const tsr_team_ops_t tsr_cpu_team_ops = {
	.size = sizeof(tsr_team_ops_t),
	.create = team_create,
	.destroy = team_destroy,
};

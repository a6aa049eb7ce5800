/* A world over several nodes. */
#include "src/world/nodes.h"

#include <sys/resource.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/log.h"
#include "src/net/net.h"
#include "src/world/team.h"

/** Ranks that are explored play at nodes, without a net: their heaps are all mapped. */
static void find_explored_nodes(tsr_world_t *world)
{
	world->node_count = 1;
	for (int r = 0; r < world->size; r++) {
		world->nodes[r] = tsr_executor.node(world->host.exploration, r);
		if (world->nodes[r] >= world->node_count)
			world->node_count = world->nodes[r] + 1;
	}
}

void tsr_world_find_nodes(tsr_world_t *world)
{
	/* ranks as threads have one control segment, and play at nodes */
	const bool threads = tsr_boot_in_threads(world->boot);
	const int asked = world->options.nodes;
	int first;
	if (world->host.exploration) {
		find_explored_nodes(world);
		return;
	}
	world->node_count = !threads              ? tsr_boot_nodes(world->boot)
			    : asked < world->size ? asked
						  : world->size;
	for (int r = 0; r < world->size; r++)
		world->nodes[r] =
			threads ? tsr_node_in_blocks(r, world->size, world->node_count, &first)
				: tsr_boot_node(world->boot, r);
}

int tsr_world_nodes(const tsr_world_t *world)
{
	return world->node_count;
}

int tsr_world_node(const tsr_world_t *world, int rank)
{
	return rank >= 0 && rank < world->size ? world->nodes[rank] : -1;
}

int tsr_team_nodes(const tsr_team_t *team)
{
	bool seen[TSR_MAX_RANKS] = {false};
	int nodes = 0;
	for (int i = 0; i < team->host.size; i++) {
		const int node = team->world->nodes[team->ranks[i]];
		nodes += !seen[node];
		seen[node] = true;
	}
	return nodes;
}

/** This rank's number among the members of its node, and the number of its node. */
static int place_in_node(const tsr_team_t *team, int *node_out)
{
	const int *nodes = team->world->nodes;
	const int mine = nodes[team->world->rank];
	int place = 0;
	for (int i = 0; i < team->host.rank; i++)
		place += nodes[team->ranks[i]] == mine;
	*node_out = mine;
	return place;
}

tsr_status_t tsr_team_split_node(tsr_team_t *parent, tsr_team_t **node_out, tsr_team_t **across_out)
{
	tsr_team_t *node_team = NULL, *across = NULL;
	int node;
	if (parent == NULL || (node_out == NULL && across_out == NULL))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_team_split_node: parent must not be null, and not both "
				 "node_out and across_out");
	const int place = place_in_node(parent, &node);
	tsr_status_t status =
		node_out != NULL ? tsr_team_split(parent, node, 0, "node", &node_team) : TSR_OK;
	if (status == TSR_OK && across_out != NULL)
		status = tsr_team_split(parent, place, node, "across", &across);
	if (status != TSR_OK) {
		/* the sentence is of the failure */
		if (node_team != NULL)
			(void)tsr_team_destroy(node_team);
		return status;
	}
	if (node_out != NULL)
		*node_out = node_team;
	if (across_out != NULL)
		*across_out = across;
	return TSR_OK;
}

static void end_world(void *ctx, tsr_status_t status, const char *sentence)
{
	const tsr_world_t *world = ctx;
	tsr_boot_abort(world->boot, status, sentence);
}

/**
 * Refuses a world that will not find enough descriptors: UCX ends the process
 * where it lacks one. A rank's end has about 13, and one for each far rank; of
 * ranks as threads one process has them all.
 */
static tsr_status_t check_descriptors(const tsr_world_t *world)
{
	enum { OF_AN_END = 16, OF_ALL_ELSE = 32 };
	const bool threads = tsr_boot_in_threads(world->boot);
	struct rlimit limit;
	unsigned long far = 0;
	for (int r = 0; r < world->size; r++)
		far += world->nodes[r] != world->nodes[world->rank];
	const unsigned long ends = threads ? (unsigned long)world->size : 1,
			    others = threads ? 0 : (unsigned long)world->size - far,
			    needed = ends * (OF_AN_END + far) + others + OF_ALL_ELSE;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM,
			 "%d ranks on %d nodes need about %lu descriptors in %s, which may have "
			 "%lu: raise the limit (ulimit -n)%s",
			 world->size, world->node_count, needed,
			 threads ? "this one process" : "each process",
			 (unsigned long)limit.rlim_cur,
			 threads ? ", or let ranks be processes" : "");
}

/** A key that rank 0 invents, and all ranks of the world share. */
static tsr_status_t share_key(tsr_world_t *world, tsr_key_t *key)
{
	if (world->rank == 0 && !tsr_random_bytes(key, sizeof *key))
		return tsr_error(TSR_ERR_SYSTEM,
				 "the kernel gives no random number for the key of a world");
	return tsr_boot_broadcast(world->boot, tsr_boot_call(world->boot), "key", key, sizeof *key,
				  0);
}

static tsr_status_t open_net(tsr_world_t *world, const tsr_key_t *key)
{
	const tsr_net_settings_t settings = {
		.rank = world->rank,
		.size = world->size,
		.node_of = world->nodes,
		.key = *key,
		.deadline_ns = world->options.deadline_ns,
		.interface = world->options.net_interface,
		.aborted = &world->host.words->aborted,
		.ctx = world,
		.fail = end_world,
		.plugin = world->options.net_plugin,
		.slow = {.delay_ns = world->options.net_delay_ns,
			 .jitter_ns = world->options.net_jitter_ns,
			 .bytes_per_s = world->options.net_rate},
	};
	world->host.net_calls = &tsr_net_calls;
	return tsr_net_open(&settings, &world->host.net);
}

/** Every rank learns every rank's address. */
static tsr_status_t exchange_addresses(tsr_world_t *world, tsr_net_memory_t *memory)
{
	unsigned char mine[TSR_NET_ADDRESS_BYTES], all[TSR_MAX_RANKS][TSR_NET_ADDRESS_BYTES];
	tsr_status_t status = tsr_net_address(world->host.net, mine);
	if (status == TSR_OK)
		status = tsr_world_exchange(world, tsr_boot_call(world->boot), "address", mine, all,
					    sizeof mine);
	if (status == TSR_OK)
		status =
			tsr_net_connect(world->host.net,
					(const unsigned char(*)[TSR_NET_ADDRESS_BYTES])all, memory);
	/* the net knows that the world has ended, and the world why */
	const tsr_status_t ended = tsr_boot_ended(world->boot);
	return status == TSR_ERR_ABORTED && ended != TSR_OK ? ended : status;
}

/** Nodes that are threads of one process need not meet. */
static void log_nodes(const tsr_world_t *world)
{
	const char *listens = tsr_boot_listens(world->boot);
	const bool apart =
		world->options.node >= 0 && world->options.node_network == TSR_NODES_IN_NAMESPACES;
	tsr_log(TSR_LOG_INFO, "%d nodes%s%s%s, connected by %s", world->node_count,
		apart ? " in network namespaces" : "",
		*listens ? ", which have met at " : " in one process", listens,
		tsr_net_description(world->host.net));
}

tsr_status_t tsr_world_connect_nodes(tsr_world_t *world)
{
	tsr_net_memory_t memory;
	tsr_key_t key;
	if (world->node_count < 2 || world->host.exploration)
		return TSR_OK;
	if (!world->backend->heap->serve)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "a world over %d nodes is nothing that the backend %s has: start "
				 "all ranks on one node, or set TESSERA_BACKEND=cpuemu",
				 world->node_count, world->backend->name);
	tsr_status_t status = check_descriptors(world);
	if (status == TSR_OK)
		status = world->backend->heap->serve(world->device, &memory);
	if (status == TSR_OK)
		status = share_key(world, &key);
	if (status == TSR_OK)
		status = open_net(world, &key);
	if (status == TSR_OK)
		status = exchange_addresses(world, &memory);
	if (status == TSR_OK && world->rank == 0)
		log_nodes(world);
	return status;
}

void tsr_world_disconnect_nodes(tsr_world_t *world)
{
	if (world->host.net && world->backend->heap->leave_net)
		world->backend->heap->leave_net(world->device);
	if (world->host.net)
		tsr_net_close(world->host.net);
	world->host.net = NULL;
	world->host.net_calls = NULL;
}

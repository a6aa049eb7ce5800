/* Collective calls on host memory. */
#include <stdio.h>

#include "src/base/error.h"
#include "src/world/team.h"
#include "tessera/span.h"

tsr_status_t tsr_world_exchange(tsr_world_t *world, const char *call, const char *arguments,
				const void *mine, void *all, size_t size_bytes)
{
	return tsr_boot_exchange(world->boot, call, arguments, mine, all, size_bytes);
}

/** The streams of `team`, or of all teams (null), then the members of `meeting`. */
static tsr_status_t meet(tsr_world_t *world, const tsr_team_t *team, tsr_meeting_t *meeting,
			 const char *call)
{
	tsr_status_t status = tsr_boot_check_process(world->boot, call);
	if (status != TSR_OK) /* the rank still comes */
		return status;
	tsr_span_begin(call, NULL);
	status = tsr_world_sync_streams(world, team);
	if (status != TSR_OK) /* this rank never comes: the others must not wait for it */
		tsr_boot_abort(world->boot, status, tsr_last_error());
	else
		status = tsr_meeting_exchange(meeting, call, "", NULL, NULL, 0);
	tsr_span_end();
	return status;
}

tsr_status_t tsr_barrier(tsr_world_t *world)
{
	if (world == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_barrier: world must not be null");
	return meet(world, NULL, tsr_boot_everybody(world->boot), "tsr_barrier");
}

tsr_status_t tsr_team_barrier(tsr_team_t *team)
{
	if (team == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_team_barrier: team must not be null");
	return meet(team->world, team, team->meeting, "tsr_team_barrier");
}

tsr_status_t tsr_team_broadcast(tsr_team_t *team, void *data, size_t size_bytes, int root)
{
	if (team == NULL || (data == NULL && size_bytes > 0))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_team_broadcast: team and data must not be null");
	if (root < 0 || root >= team->host.size)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_team_broadcast from rank %d: the %s has ranks 0 to %d", root,
				 team == team->world->team ? "world" : "team", team->host.size - 1);
	char arguments[32];
	snprintf(arguments, sizeof arguments, "root %d", root);
	return tsr_meeting_broadcast(team->meeting, "tsr_team_broadcast", arguments, data,
				     size_bytes, root);
}

tsr_status_t tsr_team_gather_all(tsr_team_t *team, const void *mine, void *all, size_t size_bytes)
{
	if (team == NULL || ((mine == NULL || all == NULL) && size_bytes > 0))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_team_gather_all: team, mine and all must not be null");
	return tsr_meeting_exchange(team->meeting, "tsr_team_gather_all", "", mine, all,
				    size_bytes);
}

/* Teams, as src/world stores them. */
#ifndef TESSERA_WORLD_TEAM_H
#define TESSERA_WORLD_TEAM_H

#include "src/base/text.h"
#include "src/world/world.h"
#include "tessera/team.h"

struct tsr_team {
	tsr_world_t *world;
	struct tsr_team *next; /* in world->teams, which does not contain the world's own team */
	tsr_meeting_t *meeting;
	tsr_device_team_t *device; /* null until the heaps are mapped */
	tsr_host_team_t host;      /* the backend keeps a pointer to it */
	uint64_t number;           /* of this rank's teams: none has that of another one */
	char name[TSR_TEAM_NAME];  /* "": the world's team */
	int ranks[];               /* ranks[i]: world rank of member i */
};

/**
 * Makes the team of all ranks, after the heaps are mapped. Errors:
 * TSR_ERR_NO_MEMORY, those of the backend.
 */
tsr_status_t tsr_world_make_team(tsr_world_t *world);

/** Releases all teams, when nobody uses them any more. */
void tsr_world_drop_teams(tsr_world_t *world);

/**
 * Waits for this rank's streams of `team`, or (null) of all teams; returns the
 * first failure. In src/world/stream.c.
 */
tsr_status_t tsr_world_sync_streams(tsr_world_t *world, const tsr_team_t *team);

/** The number of nodes on which the team has members. In src/world/nodes.c. */
int tsr_team_nodes(const tsr_team_t *team);

/** Whether this rank has a stream of the team. In src/world/stream.c. */
bool tsr_team_has_stream(const tsr_team_t *team);

#endif
